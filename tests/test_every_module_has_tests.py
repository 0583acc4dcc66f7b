"""Every public module has a test module of its name, or one that says "Covers:" and its path in the first docstring.

`src/coterie/core/plan.py` is tested by `tests/unit/core/test_plan.py`, by a module of that name in `tests/property` and
the like, or by one whose docstring has the line "Covers: core/plan.py, core/run.py".
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
SRC = TESTS.parent / "src" / "coterie"
_OF_MANY = ("__init__", "cli", "kernels", "method", "model", "release")
_KINDS = ("property", "golden", "attack", "e2e")
_COVERS = re.compile(r"^Covers: (.*?)(?:\n\n|\Z)", re.M | re.S)


def _public_modules() -> list[str]:
    """Paths of modules others may use, without packages that only have a docstring and imports."""
    paths = [path for path in sorted(SRC.rglob("*.py")) if not re.match("_(?!_init)", path.name)]
    return [str(path.relative_to(SRC)) for path in paths if path.name != "__init__.py" or _defines_something(path)]


def _defines_something(path: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.parse(path.read_text()).body)


def _subject(module: str) -> str:
    """The word a module is called by: its own name, or that of its package where many have a file of that name."""
    path = Path(module)
    return path.stem if path.stem not in _OF_MANY else path.parent.name or "coterie"


def _of_that_name(module: str) -> list[Path]:
    parts = Path(module).parts
    room = "/".join(parts[:2]) if parts[0] in ("apps", "lab") else parts[0]
    if parts[:2] == ("algorithms", "kernels"):
        folders = [TESTS / "unit" / "algorithms" / "kernels"]
    else:
        folders = [TESTS / kind for kind in (f"unit/{room}", *_KINDS)]
    names = (f"test_{_subject(module)}.py", f"{_subject(module)}_test.py")
    nested = [path for folder in folders for name in names for path in folder.rglob(name)]
    is_room = Path(module).name == "__init__.py" or "/" not in module
    return [*nested, *((TESTS / "unit").glob(names[0]) if is_room else ())]


@cache
def _covers() -> dict[Path, tuple[str, ...]]:
    """What each test module says it covers."""
    lists = {}
    for path in [*TESTS.rglob("test_*.py"), *TESTS.rglob("*_test.py")]:
        doc = ast.get_docstring(ast.parse(path.read_text())) or ""
        if path != Path(__file__) and (line := _COVERS.search(doc)):
            lists[path] = tuple(re.split(r",\s+", line[1].strip().rstrip(".")))
    return lists


def test_a_module_is_tested():
    named = {module for modules in _covers().values() for module in modules}
    untested = [module for module in _public_modules() if module not in named and not _of_that_name(module)]
    assert not untested, "\n".join(f"{module}: write tests/unit/.../test_{_subject(module)}.py" for module in untested)


def test_covers_is_true():
    """What is named is there, has no test module of its own name, and is spoken of in the tests."""
    wrong = [f"{path.relative_to(TESTS)}: {what}" for path in _covers() for what in _wrong_in(path)]
    assert not wrong, "\n".join(wrong)


def _wrong_in(path: Path) -> Iterator[str]:
    code = path.read_text().partition('"""')[2].partition('"""')[2]
    for module in _covers()[path]:
        if not (SRC / module).is_file():
            yield f"{module} is not there"
        if _of_that_name(module):
            yield f"{module} has a test module of its name already"
        if not re.search(rf"\b{_subject(module).lstrip('_')}\b", code):
            yield f"no test here speaks of {module}"
