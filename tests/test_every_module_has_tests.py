"""Every public module has a test module of its name, or one that says "Covers:" and its path in the first docstring.

`src/coterie/core/plan.py` is tested by `tests/unit/core/test_plan.py`, by a module of that name in `tests/property` and
the like, or by one whose docstring has the line "Covers: core/plan.py, core/run.py".
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SRC = TESTS.parent / "src" / "coterie"
_KINDS = ("property", "golden", "attack", "e2e")
_COVERS = re.compile(r"^Covers: (.*?)(?:\n\n|\Z)", re.M | re.S)


def _public_modules() -> list[str]:
    """Paths of modules others may use, without packages that only have a docstring and imports."""
    paths = [path for path in sorted(SRC.rglob("*.py")) if not re.match("_(?!_init)", path.name)]
    return [str(path.relative_to(SRC)) for path in paths if path.name != "__init__.py" or _defines_something(path)]


def _defines_something(path: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.parse(path.read_text()).body)


def _subject(module: str) -> str:
    """The word a module is called by: its own name, or that of its package."""
    path = Path(module)
    return path.stem if path.stem != "__init__" else path.parent.name or "coterie"


def _of_that_name(module: str) -> list[Path]:
    room = Path(module).parts[0]
    folders = [TESTS / kind for kind in (("kernels",) if room == "kernels" else (f"unit/{room}", *_KINDS))]
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


@pytest.mark.parametrize("module", _public_modules())
def test_a_module_is_tested(module):
    named = [path for path, modules in _covers().items() if module in modules]
    assert _of_that_name(module) or named, f"write tests/unit/.../test_{_subject(module)}.py"


@pytest.mark.parametrize("path", _covers(), ids=lambda path: str(path.relative_to(TESTS)))
def test_covers_is_true(path):
    """What is named is there, has no test module of its own name, and is spoken of in the tests."""
    code = path.read_text().partition('"""')[2].partition('"""')[2]
    for module in _covers()[path]:
        assert (SRC / module).is_file(), module
        assert not _of_that_name(module), f"{module} has a test module of its name already"
        assert re.search(rf"\b{_subject(module).lstrip('_')}\b", code), f"no test here speaks of {module}"
