"""A module imports only from the lines above it (ARCHITECTURE.md); and a few sharper walls."""

import ast
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "coterie"
_ROOMS = """
errors scratch shapes params promises log registry randomness formats prepare split engines run text taxonomies kernels
apply aggregate concept_sets groups affine_queries embeddings interests methods recount recount_concepts recount_topics
verify write measures report verbs explain study synth demo testing console options cli_explain cli_taxonomy
cli __main__
"""
ORDER = _ROOMS.split()
# synth stands beside the verbs that read it; demo and testing use everything but the command line.
EXCEPTIONS = {("verbs", "synth")}


def _room(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def _imports(path: Path):
    """Names of modules imported from the package, and of other packages."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "coterie":
                yield from (f"coterie.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _files():
    return [path for path in SRC.rglob("*.py") if path != SRC / "__init__.py"]


def test_every_file_has_a_room():
    assert {_room(path) for path in _files()} <= set(ORDER)


def test_data_flows_in_one_direction():
    wrong = []
    for path in _files():
        here = _room(path)
        for name in _imports(path):
            if not name.startswith("coterie."):
                continue
            there = name.split(".")[1]
            if there == "__version__" or there == here or (here, there) in EXCEPTIONS:
                continue
            if ORDER.index(there) >= ORDER.index(here):
                wrong.append(f"{path.relative_to(SRC)} imports {name}")
    assert not wrong


def test_the_walls():
    for path in _files():
        here, names = _room(path), set(_imports(path))
        if here == "kernels":
            allowed = (
                "numpy",
                "numba",
                "coterie.kernels",
                "__future__",
                "collections",
                "typing",
                "hashlib",
                "logging",
                "pathlib",
                "contextlib",
                "functools",
            )
            assert all(name.startswith(allowed) for name in names), path
        if here in ("recount", "recount_concepts", "recount_topics", "verify", "measures"):
            # Measures share the centroid with the methods: κ-means and random groups are defined with it (SPEC 14). So
            # they do the distance of users by meaning (SPEC 11).
            shared = () if here == "measures" else ("coterie.aggregate", "coterie.concept_sets")
            forbidden = (
                "coterie.methods",
                "coterie.apply",
                "coterie.affine_queries",
                "coterie.groups",
                "coterie.interests",
                *shared,
            )
            assert not any(name.startswith(forbidden) for name in names), path
        if here in ("recount", "recount_concepts", "recount_topics", "verify"):
            assert not any(name.startswith("coterie.kernels") for name in names), path
        if here == "methods":
            assert not any(name.startswith("coterie.engines") for name in names), path
        assert not any(name.startswith("pyspark") for name in names) or path.name == "spark.py"


def test_modules_are_small_enough_to_read():
    long = {str(p.relative_to(SRC)): n for p in _files() if (n := len(p.read_text().splitlines())) > 660}
    assert not long


def test_the_verbs_are_the_public_names():
    import coterie
    from coterie import verbs

    assert all(getattr(coterie, name) is getattr(verbs, name) for name in coterie.__all__)
    import coterie.writing.files  # a module and a verb of one name: the verb stays

    assert callable(coterie.write)
