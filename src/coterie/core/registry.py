"""The registry: a name is a file name.

Built-in members are the files of a folder (those that start with `_` are not members), or folders with a file
`method.py`. Everybody else adds members
through entry points, Coterie's own applications and simulations as well as other packages: one of the group
`coterie.<kind>` names a module, one of the group `coterie.folders` is called after the kind and names a package whose
files are members. Nothing registers at import.

Lists that come along as data are found here, too: words in TOML files beside the modules that use them, which nobody
computes with. A file says in its first lines what is in it and, where it has one, its source. It is read once, on first
use.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from keyword import iskeyword
from types import ModuleType
from typing import Any, NamedTuple

from coterie.errors import InputError, ParameterError, UnknownNameError, did_you_mean


class _Kind(NamedTuple):
    """A kind of members."""

    folders: tuple[str, ...] = ()
    """Where those of Coterie are."""
    parts: tuple[str, ...] = ()
    """What a member must have to be used at all; the testing kit asks for more."""
    example: str = ""


_KINDS = {
    "methods": _Kind(("methods",), ("accepts", "promises", "plan", "release", "learn"), "methods/_template.py"),
    "promises": _Kind(
        ("promises",),
        (
            "headline",
            "sentence",
            "limits",
            "releases",
            "evidence",
            "check",
            "of_foreign",
            "anywhere",
            "levels",
            "covers",
        ),
        "promises/query_k_anonymity.py",
    ),
    "formats": _Kind(("reading/formats",), ("shape", "expected", "load"), "reading/formats/excite.py"),
    "steps": _Kind(("steps",), ("__call__",), "steps/drop_empty.py"),
    "embeddings": _Kind(("embeddings",)),
    "measures": _Kind(("measures/privacy", "measures/utility", "measures/attacks")),
    "protocols": _Kind((), ("protect",), "lab/simulate/protocols/unlinkable.py"),
    "simulation_measures": _Kind(),
    "engines": _Kind((), ("addresses", "takes", "session_for", "read", "log", "examine"), "engines/clusters.py"),
}


def names(kind: str) -> list[str]:
    """All names of a kind, built-in and third-party, sorted."""
    return sorted({*_built_in(kind), *added(kind)})


def module(kind: str, name: str) -> ModuleType:
    """The module behind a name."""
    return importlib.import_module(path_of(kind, name))


def path_of(kind: str, name: str) -> str:
    """What to import for a name."""
    path = _built_in(kind).get(name)
    if path is not None:
        return path
    if point := added(kind).get(name):
        return point.module
    what = kind[:-1].replace("_", " ")
    raise UnknownNameError(
        f"No {what} is called {name!r}.{did_you_mean(name, names(kind))} Known: {', '.join(names(kind))}."
    )


def member(kind: str, name: str) -> Any:
    """The class of that kind and name: the CamelCase of its file name."""
    cls = getattr(module(kind, name), class_name(name), None)
    if cls is None:
        raise _incomplete(kind, name, f"has no class {class_name(name)}")
    return complete(kind, name, cls)


def complete(kind: str, name: str, given: Any) -> Any:
    """What is given if it has all that its kind needs; InputError where it was made for another version of Coterie."""
    abstract = getattr(given, "__abstractmethods__", ())
    missing = [part for part in _KINDS[kind].parts if part in abstract or not hasattr(given, part)]
    if missing:
        raise _incomplete(kind, name, f"lacks {', '.join(missing)}")
    return given


def _incomplete(kind: str, name: str, fault: str) -> InputError:
    return InputError(
        f"The {kind[:-1]} {name} {fault}: it was made for another version of Coterie. Ask those who made it for a "
        f"newer one; coterie/{_KINDS[kind].example or kind} shows what a {kind[:-1]} has."
    )


def name_in(kind: str, given: str | ModuleType) -> str:
    """The name of a member that is given by its name or as its module."""
    if isinstance(given, str):
        return given
    for name in names(kind):
        if module(kind, name) is given:
            return name
    raise InputError(
        f"No {kind[:-1]} is the module {getattr(given, '__name__', type(given).__name__)}. Give its name, by which its "
        f"file or its entry point is called."
    )


def method(name: str) -> Any:
    """The method class of that name."""
    return member("methods", name)


def method_with(name: str, params: Mapping[str, Any]) -> Any:
    """The method of that name with these parameters."""
    cls = method(name)
    known = [field.name for field in fields(cls)]
    for given in params:
        if given not in known:
            raise ParameterError(
                f"{name} has no parameter {given!r}.{did_you_mean(given, known)} Its parameters: {', '.join(known)}."
            )
    try:
        return cls(**params)
    except TypeError:
        lacking = [f.name for f in fields(cls) if f.name not in params and f.default is MISSING]
        raise ParameterError(f"{name} needs {' and '.join(lacking)}.") from None


def methods_for(shape: Any) -> list[str]:
    """The built-in methods that accept tables of a shape, with its further details where it has some."""
    every = ((name, method(name)) for name in sorted(_built_in("methods")))
    fitting = [(name, cls) for name, cls in every if shape.plain in cls.accepts]
    return [name for name, cls in fitting if not shape.further or cls.further_details]


def name_of(method: Any) -> str:
    """The name of a method, or of its class: that of its file, or of its folder."""
    cls = method if isinstance(method, type) else type(method)
    return cls.__module__.removesuffix(".method").rpartition(".")[2]


def class_name(name: str) -> str:
    """`suppress_rare` becomes `SuppressRare`; a word that Python keeps for itself ends with `_`: `None_`."""
    words = "".join(part.capitalize() for part in name.split("_"))
    return f"{words}_" if iskeyword(words) else words


def _built_in(kind: str) -> dict[str, str]:
    paths: dict[str, str] = {}
    packages = [f"coterie.{folder.replace('/', '.')}" for folder in _KINDS[kind].folders]
    for package in [*packages, *(point.value for name, point in added("folders").items() if name == kind)]:
        for entry in files(package).iterdir():
            stem, dot, suffix = entry.name.rpartition(".")
            if dot and suffix == "py" and not stem.startswith("_"):
                paths[stem] = f"{package}.{stem}"
            elif entry.joinpath("method.py").is_file():
                paths[entry.name] = f"{package}.{entry.name}.method"
    return paths


def added(group: str) -> dict[str, EntryPoint]:
    """The entry points of the group `coterie.<group>`; of Coterie's own only those whose files are there."""
    return {point.name: point for point in _entry_points(group) if _is_there(point.module)}


@cache
def _entry_points(group: str) -> list[EntryPoint]:
    return list(entry_points(group=f"coterie.{group}"))


def _is_there(module: str) -> bool:
    return not module.startswith("coterie.") or file_of(module) is not None


def file_of(module: str) -> Any:
    """The file of a module of Coterie, which is not imported for it; None where there is none."""
    *folders, name = module.split(".")[1:]
    place = files("coterie").joinpath(*folders)
    candidates = (place.joinpath(f"{name}.py"), place.joinpath(name, "__init__.py"))
    return next((file for file in candidates if file.is_file()), None)


@cache
def text_at(package: str, path: str) -> str:
    """The text of a file of a package of Coterie: `text_at("text", "data/census_first_names.txt")`."""
    return files(f"coterie.{package}").joinpath(path).read_text(encoding="utf-8")


@cache
def table_at(package: str, path: str) -> dict[str, Any]:
    """A TOML file of a package of Coterie; not to be changed by whoever gets it."""
    return tomllib.loads(text_at(package, path))
