"""Regimes: the settings under which search data are shared, or are to be, as files. One TOML file per regime.

    method, parameters, prepare    what `coterie anonymize regime:NAME LOG -o OUT` does
    sources                        where each is known from
    ours                           numbers that nobody has published: what we put in their place
    unknown                        what is not public, and what of the regime is not in these settings

A regime is what its authors say, not a recommendation. What its release promises is what its method promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal

from coterie.core import registry
from coterie.core.declared import Declared, DeclaredFile, Scalar, as_declared, refuse_format, toml_table
from coterie.core.params import params_of
from coterie.core.plan import Method
from coterie.errors import UnknownNameError, did_you_mean

FORMAT = 1
PREFIX = "regime:"
"""What stands before the name of a regime in place of the name of a method."""


class Source(Declared, frozen=True, kw_only=True):
    """Where something is known from."""

    title: str
    date: str
    url: str
    says: str
    """What is taken from it, in our words."""


class Regime(Declared, frozen=True, kw_only=True):
    """One file."""

    format: int = FORMAT
    title: str
    status: Literal["in force", "in production", "published once", "proposed"]
    about: str
    method: str
    prepare: tuple[str, ...]
    parameters: dict[str, Scalar]
    """Of the method; all others are its defaults."""
    sources: tuple[Source, ...]
    ours: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """All parameters of the method."""
        defaults = {param.name: param.default for param in params_of(registry.method(self.method))}
        return {**defaults, **self.parameters}

    def make(self, **changes: Any) -> Method:
        """The method with the settings of the regime, but for what is changed."""
        method: Method = registry.method(self.method)(**{**self.parameters, **changes})
        return method

    def changed(
        self, params: Mapping[str, Any], steps: tuple[str, ...], details: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """The names of settings that are not those of the regime; `prepare` where steps are others, and `details`
        where further columns are released though the regime has no number of people for them."""
        mine = self.settings
        other = [name for name, value in params.items() if mine.get(name) != value]
        other += ["prepare"] if tuple(steps) != self.prepare else []
        other += ["details"] if details and "k_details" not in self.parameters else []
        return tuple(sorted(other))


def names() -> list[str]:
    """All regimes."""
    stems = (entry.name.rpartition(".") for entry in files(__name__).iterdir())
    return sorted(stem for stem, _, suffix in stems if suffix == "toml")


def load(name: str) -> Regime:
    """The regime of that name."""
    if name not in names():
        raise UnknownNameError(
            f"No regime is called {name!r}.{did_you_mean(name, names())} Known: {', '.join(names())}."
        )
    file = DeclaredFile(name=f"{name}.toml", toml=True)
    data = toml_table(files(__name__).joinpath(f"{name}.toml").read_bytes(), file)
    refuse_format(data, FORMAT, file)
    return as_declared(data, Regime, file)
