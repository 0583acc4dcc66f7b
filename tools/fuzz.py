"""`make fuzz`: many mutated files for each parser, each parser in a process of its own; what is found is printed.

    python tools/fuzz.py [--count 100000] [--jobs 2] [--seed TEXT] [PARSER ...]

A process that says nothing for two minutes hangs, and one that dies has crashed: the last number it said is near the
input that did it.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
SILENCE = 120.0  # seconds
sys.path.insert(0, str(ROOT))


def main() -> int:
    """0 where nothing was found."""
    from tests.fuzz.parsers import PARSERS

    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parsers", nargs="*", metavar="PARSER", default=[])
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments.add_argument("--seed", default=str(time.time_ns()))
    given = arguments.parse_args()
    names = given.parsers or list(PARSERS)
    print(f"{given.count:,} inputs for each of {len(names)} parsers, seed {given.seed}", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        clean = list(pool.map(lambda name: _fuzz(name, given.count, given.seed), names))
    return 0 if all(clean) else 1


def _fuzz(name: str, count: int, seed: str) -> bool:
    """Whether a parser came through; says what it met and how fast it was."""
    started = time.monotonic()
    command = [sys.executable, "-m", "tests.fuzz.runner", name, str(count), "--seed", seed]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    said: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_listen, args=(process, said), daemon=True).start()
    last = "nothing"
    while True:
        try:
            line = said.get(timeout=SILENCE)
        except queue.Empty:
            process.kill()
            print(f"{name}: HANGS after input {last}", flush=True)
            return False
        if line is None:
            break
        last = line.strip()
    code = process.wait()
    crashed = " CRASHED" if code not in (0, 1) else ""
    rate = count / (time.monotonic() - started)
    print(f"{name}:{crashed} {last}; {rate:.0f} inputs a second", flush=True)
    return code == 0


def _listen(process: subprocess.Popen[str], said: queue.Queue[str | None]) -> None:
    for line in process.stdout or ():
        said.put(line)
    said.put(None)


if __name__ == "__main__":
    sys.exit(main())
