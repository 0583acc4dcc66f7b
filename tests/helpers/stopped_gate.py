"""A gate that is stopped between any two file operations. Run by tests/e2e/test_gate_command.py.

    python -m tests.helpers.stopped_gate states LOG FOLDER     keeps a copy of the folder before each operation
    python -m tests.helpers.stopped_gate kill LOG FOLDER N     ends like after `kill -9` before operation N

Input comes in small chunks, and a snapshot is made after each: so every moment of the work is met.
"""

import os
import shutil
import signal
import sys
from pathlib import Path
from unittest.mock import patch

from coterie.apps.gate import follow, run
from coterie.steps import parse_steps
from tests.helpers.gates import rules_in
from tests.helpers.stopped_writes import Listener


def work(log: Path, folder: Path) -> dict[str, object]:
    """Run the gate to the end of its input, from wherever it was."""
    # Only for this work: tests that share the process have chunks of their own.
    with patch.object(follow, "CHUNK", 2000), patch.multiple(run, _SOONEST=0.0, _COST=0, _PATIENCE=0.0):
        return run.run_gate([str(log)], rules_in(folder, k=3), steps=parse_steps("default"))


def _states(log: Path, folder: Path) -> None:
    place = folder / "gate"
    place.mkdir(parents=True)

    def keep(number: int) -> None:
        shutil.copytree(place, folder / f"state-{number:05}", symlinks=True)

    listener = Listener(place, keep)
    work(log, place)
    listener.listening = False


def _kill(log: Path, folder: Path, at: int) -> None:
    def end(number: int) -> None:
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    Listener(folder, end)
    work(log, folder)


if __name__ == "__main__":
    mode, log, folder, *rest = sys.argv[1:]
    if mode == "states":
        _states(Path(log), Path(folder))
    else:
        _kill(Path(log), Path(folder), int(rest[0]))
