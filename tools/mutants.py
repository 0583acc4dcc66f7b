"""Mutation tests: change one thing in the code of a room, run the room's tests, and list the changes nobody noticed.

    tools/mutants.py [ROOM ...] [--sample N] [--seed S] [--part I/N] [--calls DIR] [--jobs J]

The mutants are those of mutmut's operators. Its runner does not work here: it forks after it has run tests, and the
threads of polars do not survive that; and it leaves out constants, properties and other decorated functions. Here each
mutant runs in a fork of a process that has imported polars and never used it, against those tests of the room that call
the mutated function. A survivor is a missing test, or does the same as the original: those are listed in
tests/mutants.md, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis  # noqa: F401 (imported once, before all forks)
import libcst as cst
import numba  # noqa: F401
import polars  # noqa: F401
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).parents[1]
EQUIVALENT = ROOT / "tests" / "mutants.md"
ROOMS = {
    "promises": (["src/coterie/promises"], ["tests/unit/promises"]),
    "releasing": (["src/coterie/releasing"], ["tests/unit/releasing"]),
    "randomness": (["src/coterie/core/randomness.py"], ["tests/unit/core/test_randomness.py"]),
}
EVERY_TEST = ""
SPARE_SECONDS = 60  # beyond five times what the tests take without a mutant


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: Path
    line: int
    original: str
    code: str

    @property
    def module(self) -> str:
        parts = self.path.relative_to("src").with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def __str__(self) -> str:
        lines = list(difflib.unified_diff(self.original.splitlines(), self.code.splitlines(), n=0, lineterm=""))[3:]
        before, after = (" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
        return f"`{self.path.relative_to('src/coterie')}`: `{before}` → `{after}`"


class _Mutations(cst.CSTVisitor):
    """All changes that the operators make, except in types, in what only type checkers see, and in `__all__`."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[int, cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_skipped(node):
            return False
        position = self.get_metadata(PositionProvider, node, None)
        for kind, operator in mutation_operators:
            if position is not None and isinstance(node, kind):
                self.changes += [(position.start.line, node, mutated) for mutated in operator(node)]
        return True


def _is_skipped(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.If):
        return isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
    if isinstance(node, cst.Subscript):
        return isinstance(node.value, cst.Name) and node.value.value == "Annotated"
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        return isinstance(target, cst.Name) and target.value == "__all__"
    return isinstance(node, cst.Annotation | cst.Import | cst.ImportFrom | cst.Decorator)


def mutants_of(paths: Sequence[str], sample: int, seed: int) -> tuple[list[Mutant], int]:
    """Some mutants of files and folders (0: all), and how many there are."""
    files = [file for path in map(Path, paths) for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    everything = []
    for file in files:
        wrapper, visitor = MetadataWrapper(cst.parse_module(file.read_text(encoding="utf-8"))), _Mutations()
        wrapper.visit(visitor)
        everything += [(file, wrapper.module, *change) for change in visitor.changes]
    size = min(sample or len(everything), len(everything))
    drawn = random.Random(seed).sample(everything, size)  # noqa: S311 (no secret)
    return [
        Mutant(file, line, module.code, module.deep_replace(node, mutated).code)
        for file, module, line, node, mutated in drawn
    ], len(everything)


class _Loader(importlib.abc.SourceLoader, importlib.abc.MetaPathFinder):
    """Gives the mutated code for one module."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:  # noqa: ARG002 (the protocol's)
        if name != self.mutant.module:
            return None
        file = self.get_filename(name)
        folder = [str(Path(file).parent)] if self.mutant.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, file, loader=self, submodule_search_locations=folder)

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002 (the protocol's)
        return str(ROOT / self.mutant.path)

    def get_data(self, path: str | bytes) -> bytes:  # noqa: ARG002 (the protocol's)
        return self.mutant.code.encode()


class _Calls:
    """Listens to which test calls which function of a room, and how long it takes."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.prefixes = tuple(str(ROOT / path) for path in paths)
        self.test = EVERY_TEST  # what runs while tests are collected concerns all of them
        self.callers: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)

    def trace(self, frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG002 (the protocol's)
        if frame.f_code.co_filename.startswith(self.prefixes) and frame.f_code.co_name != "<module>":
            self.callers[f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}"].add(self.test)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.test = item.nodeid.partition("::")[0]  # a fixture may serve the whole file

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.test = item.nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration


class _Only:
    """Keeps the chosen tests, the fastest first."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.seconds]
        items.sort(key=lambda item: self.seconds[item.nodeid])


def _tests(arguments: Sequence[str], plugin: object) -> int:
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments], plugins=[plugin]))


def _fork(work: Callable[[], int], log: Path | None = None) -> int:
    """Run `work` in a child; its number becomes the exit code."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        output = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = work()
        sys.stdout.flush()
        os._exit(code)
    except BaseException:  # a mutant may raise anything while it is imported
        os._exit(99)


def _calls(paths: Sequence[str], tests: Sequence[str]) -> tuple[dict[str, set[str]], dict[str, float]]:
    """Which tests call each function, and the seconds of each test, from a run without a mutant."""
    with tempfile.TemporaryDirectory() as folder:
        target, log = Path(folder) / "calls.json", Path(folder) / "log"

        def work() -> int:
            calls = _Calls(paths)
            threading.settrace(calls.trace)
            sys.settrace(calls.trace)
            code = _tests(tests, calls)
            sys.settrace(None)
            _write(target, calls.callers, calls.seconds)
            return code

        if os.waitstatus_to_exitcode(os.waitpid(_fork(work, log), 0)[1]):
            raise SystemExit(f"The tests fail without a mutant. Mend them first.\n{log.read_text()[-4000:]}")
        return _read(target)


def _write(target: Path, callers: dict[str, set[str]], seconds: dict[str, float]) -> None:
    target.write_text(json.dumps([{place: sorted(names) for place, names in callers.items()}, seconds]))


def _read(target: Path) -> tuple[dict[str, set[str]], dict[str, float]]:
    callers, seconds = json.loads(target.read_text())
    return {place: set(names) for place, names in callers.items()}, seconds


def _functions(path: Path) -> list[tuple[int, int]]:
    """First and last line of each function of a module and each method."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    functions = [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]
    return [
        (min([node.lineno, *(mark.lineno for mark in node.decorator_list)]), node.end_lineno or 0) for node in functions
    ]


def _chosen(mutant: Mutant, callers: dict[str, set[str]], seconds: dict[str, float]) -> dict[str, float]:
    """The tests that call the mutated function; all where it is outside of functions."""
    for first, last in _functions(mutant.path):
        if first <= mutant.line <= last:
            places = [f"{ROOT / mutant.path}:{line}" for line in range(first, last + 1)]
            names = set().union(*(callers.get(place, ()) for place in places))
            if EVERY_TEST not in names:
                return {test: took for test, took in seconds.items() if {test, test.partition("::")[0]} & names}
    return seconds


def _survivors(mutants: Sequence[Mutant], choose: Callable[[Mutant], dict[str, float]], jobs: int) -> list[Mutant]:
    """The mutants that no test noticed. One that takes far too long is noticed."""
    waiting, running, survivors = list(mutants)[::-1], dict[int, tuple[Mutant, float]](), []
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            if not (chosen := choose(mutant)):
                survivors.append(mutant)
                continue
            pid = _fork(lambda mutant=mutant, chosen=chosen: _tests_of_mutant(mutant, chosen))
            running[pid] = mutant, time.monotonic() + SPARE_SECONDS + 5 * sum(chosen.values())
        for pid, (mutant, deadline) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del running[pid]
                if status == 0:
                    survivors.append(mutant)
                    print(f"  - {mutant}" if mutant.code != mutant.original else "  unchanged: fine", flush=True)
                if len(waiting) % 50 == 0 and waiting:
                    print(f"  {len(waiting):,} to go, {len(survivors):,} survived so far", flush=True)
            elif time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return survivors


def _tests_of_mutant(mutant: Mutant, chosen: dict[str, float]) -> int:
    sys.meta_path.insert(0, _Loader(mutant))
    return _tests(sorted({test.partition("::")[0] for test in chosen}), _Only(chosen))


def _part(text: str) -> tuple[int, int]:
    number, parts = map(int, text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError
    return number, parts


def main() -> int:
    """Run the mutants of rooms; 1 if one survives that is not known to do the same as the original."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rooms", nargs="*", default=list(ROOMS), metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--sample", type=int, default=250, help="mutants of each room, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="I/N", help="each Nth mutant, from the Ith")
    parser.add_argument("--calls", type=Path, metavar="DIR", help="keep there which test calls what, for further parts")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once")
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    equivalent = EQUIVALENT.read_text(encoding="utf-8") if EQUIVALENT.exists() else ""
    summary, unexpected = [], 0
    for room in given.rooms:
        paths, tests = ROOMS[room]
        sample, total = mutants_of(paths, given.sample, given.seed)
        mutants = sample[given.part[0] - 1 :: given.part[1]]
        print(f"{room}: {len(mutants):,} of {total:,} mutants", flush=True)
        kept = given.calls / f"{room}.json" if given.calls else None
        if kept is not None and kept.exists():
            callers, seconds = _read(kept)
        else:
            callers, seconds = _calls(paths, tests)
            unchanged = replace(mutants[0], code=mutants[0].original)
            if not _survivors([unchanged], lambda _: seconds, 1):  # noqa: B023
                raise SystemExit("The tests fail in a fork, without any change.")
            if kept is not None:
                _write(kept, callers, seconds)
        survivors = _survivors(mutants, lambda mutant: _chosen(mutant, callers, seconds), given.jobs)  # noqa: B023
        missed = [mutant for mutant in survivors if str(mutant) not in equivalent]
        unexpected += len(missed)
        same = len(survivors) - len(missed)
        summary.append(
            f"{room}: {len(mutants) - len(survivors):,} killed, {len(missed):,} survived, {same:,} do the same"
        )
        summary += [f"  {count:,} in {path}" for path, count in Counter(mutant.path for mutant in missed).items()]
        summary += [f"  - {mutant}" for mutant in missed]
    print("\n".join(summary))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
