"""A module imports only from the lines above it, in the tree of ARCHITECTURE.md; and a few sharper walls."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_SPEC = importlib.util.spec_from_file_location("budgets", ROOT / "tools" / "budgets.py")
budgets = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(budgets)
SRC = ROOT / "src" / "coterie"
_TREE = re.search(r"## Rooms.*?```\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.S)[1]
ORDER = [line.split()[0].rstrip("/").removesuffix(".py") for line in _TREE.splitlines() if line.strip()]
# Measures share the centroid and the distance of users with the methods: they are defined with them.
_FORBIDDEN = {
    "promises": ("methods", "releasing", "algorithms", "writing", "measures"),
    "measures": ("methods", "releasing"),
    "methods": ("engines", "writing", "measures"),
}
_KERNELS_MAY = ("numpy", "numba", "__future__", "collections", "typing", "hashlib", "logging", "ast", "pathlib",
                "functools", "importlib", "types", "os", "stat", "tempfile", "contextlib", "shutil")  # fmt: skip


def _files() -> list[Path]:
    return [path for path in sorted(SRC.rglob("*.py")) if path != SRC / "__init__.py"]


def _room(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


@cache
def _imports(path: Path) -> set[str]:
    """Names of modules imported anywhere in a file, also where only types need them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "coterie":
            names |= {f"coterie.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def _rooms_used(path: Path) -> set[str]:
    names = {name.split(".")[1] for name in _imports(path) if name.startswith("coterie.")}
    return names - {"__version__", _room(path)}


def test_the_tree_and_the_folders_agree():
    assert {_room(path) for path in _files()} == set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


def test_data_flows_in_one_direction():
    wrong = []
    for path in _files():
        above = ORDER[: ORDER.index(_room(path))]
        wrong += [f"{path.relative_to(SRC)} imports {room}" for room in sorted(_rooms_used(path) - set(above))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", _FORBIDDEN)
def test_the_walls(room):
    for path in _files():
        if _room(path) == room:
            assert not _rooms_used(path) & set(_FORBIDDEN[room]), path


def test_a_peer_knows_nothing_of_logs():
    """It waits for one query after the other, and none of it may end in a release."""
    for path in _files():
        if path.is_relative_to(SRC / "apps" / "peer") and path.name != "cli.py":
            assert _rooms_used(path) <= {"errors", "core", "text", "steps", "algorithms"}, path


def _is_kernel(path: Path) -> bool:
    return path.name == "kernels.py" or path.parent.name == "kernels"


def test_kernels_know_nothing_but_arrays():
    """Whatever is called kernels, wherever it lies: NumPy, numba and each other."""
    for path in filter(_is_kernel, _files()):
        for name in _imports(path):
            own = SRC.joinpath(*name.split(".")[1:])
            kernels = own.name == "kernels" or _is_kernel(own.with_suffix(".py")) or own.parent.name == "kernels"
            assert name.startswith(_KERNELS_MAY) or (name.startswith("coterie.") and kernels), (path, name)


def test_only_one_room_knows_spark():
    users = [path for path in _files() if any(name.startswith("pyspark") for name in _imports(path))]
    assert {path.parent for path in users} == {SRC / "apps" / "spark"}


def test_nobody_imports_an_application_or_research():
    """What they add is registered by entry points, as that of third parties is; nor do they import each other."""
    for path in _files():
        for ring in ("apps", "lab"):
            used = {name.split(".")[2] for name in _imports(path) if name.startswith(f"coterie.{ring}.")}
            own = path.relative_to(SRC).parts[1] if _room(path) == ring else None
            assert used <= {own}, path


def test_nobody_but_engines_asks_where_rows_are():
    """Everybody else has verbs, which do the same wherever rows are."""
    asking = re.compile(r"\.here\b|engine is (?:not )?HERE\b|\bengine is (?:not )?None")
    engines = (SRC / "engines", SRC / "apps", SRC / "testing", SRC / "jobs.py", SRC / "cli")  # --engine may be None
    found = {
        str(path.relative_to(SRC)): len(asking.findall(path.read_text(encoding="utf-8")))
        for path in _files()
        if not any(path.is_relative_to(place) for place in engines)
    }
    assert {path: n for path, n in found.items() if n} == {}


_COLLECTS = {  # in rooms that rows of a log pass through; these numbers only fall
    "api": 1,  # Figures.collect, which is about names of scores
    "algorithms": 18, "apps/gate": 6, "core": 7, "explain": 1, "lab": 5, "measures": 46, "methods": 33, "releasing": 9,
    "promises": 67, "reading": 21, "steps": 10, "writing": 5,
}  # fmt: skip


def test_rows_are_reached_through_verbs():
    """Where a frame is collected, its rows come to this machine; engines have verbs for what need not."""
    found: dict[str, int] = {}
    for path in _files():
        inside = str(path.relative_to(SRC).with_suffix(""))
        room = next((room for room in _COLLECTS if f"{inside}/".startswith(f"{room}/")), None)
        if room and inside != "core/run":  # where the verbs themselves are
            found[room] = found.get(room, 0) + path.read_text(encoding="utf-8").count(".collect(")
    assert {room: n for room, n in found.items() if n > _COLLECTS[room]} == {}
    assert found == _COLLECTS, "fewer than were allowed: lower the numbers"


def test_promises_are_judged_without_models_of_methods():
    """The wall once more, by what is really loaded."""
    import subprocess
    import sys

    code = (
        "import sys, coterie.promises\nfrom coterie.core import registry\n"
        "for name in registry.names('promises'): registry.module('promises', name)\n"
        "walls = ('coterie.methods', 'coterie.releasing', 'coterie.algorithms', 'numba')\n"
        "print([name for name in sys.modules if name.startswith(walls)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_algorithms_and_releasing_take_column_names_from_the_shape():
    columns = {"user", "query", "time", "rank", "url", "path", "address", "referrer", "agent"}
    others = {  # what bears the same name and is no column of a log
        ("algorithms/concepts.py", "query"),  # a unit of taxonomies
        ("algorithms/documents.py", "query"),
        ("algorithms/events.py", "time"),  # fields of Scales
        ("algorithms/events.py", "rank"),
    }
    spelled = []
    for path in _files():
        if _room(path) in ("algorithms", "releasing"):
            spelled += [
                f"{path.relative_to(SRC)}:{part.lineno}: {part.value}"
                for part in _strings_used(ast.parse(path.read_text(encoding="utf-8")))
                if part.value in columns and (str(path.relative_to(SRC)), part.value) not in others
            ]
    assert not spelled


def _strings_used(tree: ast.AST) -> set[ast.Constant]:
    """Texts that are given to calls, by position or by name, stand in subscripts or are keys; also in lists of them."""
    places: list[ast.AST] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call():
                places += [*node.args, *(keyword.value for keyword in node.keywords)]
            case ast.Subscript():
                places.append(node.slice)
            case ast.Dict():
                places += [key for key in node.keys if key is not None]
    parts = [part for place in places for part in (place.elts if isinstance(place, ast.List | ast.Tuple) else [place])]
    return {part for part in parts if isinstance(part, ast.Constant)}


def test_how_column_names_are_found():
    code = "f('a', on='b', by=['c', 'd']); x['e']; {'g': 1}; {**x}; h = 'no'"
    assert {part.value for part in _strings_used(ast.parse(code))} == {"a", "b", "c", "d", "e", "g"}


def test_modules_are_small_enough_to_read():
    long = {str(p.relative_to(SRC)): n for p in _files() if (n := len(p.read_text().splitlines())) > 900}
    assert not long


def test_the_verbs_are_the_public_names():
    from inspect import unwrap

    import coterie
    from coterie import api

    assert all(unwrap(getattr(coterie, name)) is getattr(api, name) for name in coterie.__all__)
    assert all(name not in ORDER for name in coterie.__all__), "a room never bears the name of a verb"


def test_no_room_is_larger_than_its_budget():
    """`tools/budgets.py` prints the table, and lowers ceilings with `--lower`."""
    assert not budgets.passed(budgets.sizes(), *budgets.ceilings())


def test_a_budget_names_the_room_that_passes_it_and_only_falls():
    size = budgets.Size
    rooms, of_all = {"core": size(100, 5), "text": size(40, 2)}, size(140, 7)
    assert budgets.passed({"core": size(101, 5), "text": size(30, 2)}, rooms, of_all) == [
        "core: 101 code lines in 5 files; at most 100 code lines in 5 files"
    ]
    lines = budgets.passed({"core": size(99, 5), "new": size(42, 2)}, rooms, of_all)
    assert [line.split(":")[0] for line in lines] == ["new", "text", "all rooms"]
    with pytest.raises(SystemExit, match="core: 99 code lines in 6 files"):
        budgets.lowered({"core": size(99, 6), "text": size(1, 1)}, rooms, of_all)
    assert budgets.lowered({"core": size(90, 4), "new": size(45, 3)}, rooms, of_all) == (
        {"core": size(90, 4), "new": size(45, 3)}, size(135, 7),
    )  # fmt: skip


def test_code_lines_are_neither_blank_nor_comment_nor_docstring():
    source = ['"""Doc,', "", 'two lines."""', "", "X = 1  # one", '"""Of X."""', "# none", "def f():", '    """Doc."""']
    source += ['    return """a', "", 'b"""', ""]
    assert budgets.code_lines("\n".join(source)) == 4
