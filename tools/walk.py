"""Which modules and functions one release passes through, from the command to the file.

    .venv/bin/python tools/walk.py                     # the table for three methods
    .venv/bin/python tools/walk.py affinity --modules  # the modules of one, in the order of their first call

Counts Python functions of the package only, comprehensions and lambdas with the function around them. A crossing is a
call from one room into another; collects are calls that bring rows of a polars frame to this process. The log has
1,000 synthetic users, and kernels are compiled by a first run that is not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

SRC = Path(__file__).parents[1] / "src" / "coterie"
METHODS = ("suppress_rare", "affinity", "interest_microaggregate")
_COLLECTING = {"collect", "collect_all", "collect_batches", "sink_csv", "sink_parquet", "sink_ndjson", "sink_ipc"}


class Walk:
    """What was called between `start` and `stop`."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.functions: set[tuple[str, str]] = set()
        self.calls = self.crossings = self.collects = 0

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """What `sys.setprofile` calls."""
        if event != "call":
            return
        code = frame.f_code
        caller = frame.f_back
        module = _module(code.co_filename)
        from_here = _module(caller.f_code.co_filename) if caller else None
        if code.co_name in _COLLECTING and _asked_by_us(frame):
            self.collects += 1
        if module is None or code.co_name.startswith("<"):  # comprehensions, lambdas, and the import of a module
            return
        self.modules.setdefault(module)
        self.functions.add((module, code.co_qualname))
        self.calls += 1
        if from_here and from_here.split(".")[0] != module.split(".")[0]:
            self.crossings += 1


def _asked_by_us(frame: FrameType) -> bool:
    """Whether a method of polars was called by the package, and not by polars itself."""
    if "/polars/" not in frame.f_code.co_filename:
        return False
    caller = frame.f_back
    while caller is not None and caller.f_code.co_name == "wrapper":  # of methods with deprecated parameters
        caller = caller.f_back
    return caller is not None and _module(caller.f_code.co_filename) is not None


def _module(file: str) -> str | None:
    """A name such as `core.log`, or None outside of the package."""
    path = Path(file)
    return ".".join(path.relative_to(SRC).with_suffix("").parts) if path.is_relative_to(SRC) else None


def walked(method: str, log: Path, folder: Path) -> Walk:
    """One release of the log through the command line, in this process."""
    from coterie.cli.main import main

    walk = Walk()
    for turn in ("first", "counted"):
        command = ["anonymize", method, str(log), "-o", str(folder / f"{turn}.tsv"), "-k", "5", "--history", "none"]
        if turn == "counted":
            sys.setprofile(walk)
        sys.argv = ["coterie", *command]
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.setprofile(None)
        if code:
            raise SystemExit(f"{' '.join(command)}: exit code {code}")
    return walk


def _row(method: str, log: Path) -> str:
    """The line of one method, walked in a process of its own: what another one loaded or kept does not count."""
    done = subprocess.run(
        [sys.executable, __file__, method, "--log", str(log)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def main() -> None:
    """Print the table, or the line or the modules of one method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", nargs="?")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--modules", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        log = asked.log or Path(name) / "synth.tsv"
        if asked.log is None:
            subprocess.run(
                [sys.executable, "-m", "coterie", "synth", "-o", str(log), "--users", "1000", "--seed", "1"],
                check=True, capture_output=True,
            )  # fmt: skip
        if asked.method is None:
            print(f"{'method':<26}{'modules':>9}{'functions':>11}{'calls':>9}{'crossings':>11}{'collects':>10}")
            for method in METHODS:
                print(_row(method, log))
            return
        walk = walked(asked.method, log, Path(name))
        if asked.modules:
            print(*walk.modules, sep="\n")
        print(
            f"{asked.method:<26}{len(walk.modules):>9}{len(walk.functions):>11}{walk.calls:>9,}"
            f"{walk.crossings:>11,}{walk.collects:>10}"
        )


if __name__ == "__main__":
    main()
