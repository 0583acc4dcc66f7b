"""Feed a parser mutated files: only errors of ours may come, and none may show what is in the file.

    python -m tests.fuzz.runner PARSER COUNT [--first N] [--seed S] [--together M]

In a process of its own, because native code that crashes or hangs takes its process with it. The file of an input is
made from the seed and its number alone, so `--first N` with a count of 1 repeats it. Opening a log costs more than
parsing a few lines, so for tests that must be quick M inputs stand in one file after the first 200, where lines are
parsed one by one.
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from coterie.errors import CoterieError, InternalError
from tests.fuzz.mutations import mutated
from tests.fuzz.parsers import CANARIES, PARSERS

SLOW = 10.0  # seconds of processor time that one small file may take
_ALONE = 200  # inputs that have a file of their own in any case
_TOLD = 100  # after how many inputs the parent hears that all is well


def main() -> int:
    """The number of findings, as an exit code of 0 or 1."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parser")
    arguments.add_argument("count", type=int)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--seed", default="coterie")
    arguments.add_argument("--together", type=int, default=1)
    given = arguments.parse_args()
    findings = 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        parser = PARSERS[given.parser]()
        parser.beside(folder)
        path = folder / parser.file
        end, number = given.first + given.count, given.first
        while number < end:
            if number % _TOLD == 0:
                print(number, flush=True)
            together = given.together if parser.by_line and number >= _ALONE else 1
            numbers = range(number, min(number + together, end))
            # Seeded by text, so that a number gives the same file whatever came before it.
            rngs = [random.Random(f"{given.seed} {given.parser} {each}") for each in numbers]
            path.write_bytes(b"\n".join(mutated(parser.samples, rng) for rng in rngs))
            fault = _fault(parser.parse, path)
            if fault:
                findings += 1
                kept = Path(tempfile.gettempdir()) / f"fuzz-{given.parser}-{number}"
                shutil.copy(path, kept)
                print(f"{given.parser} input {number} (kept as {kept}): {fault}", file=sys.stderr, flush=True)
            number += len(numbers)
    print(f"{given.count} inputs, {findings} findings", flush=True)
    return 1 if findings else 0


def _without_names(message: str, path: Path) -> str:
    """A message without the names of columns, which it may list: those of the first line, or keys of documents."""
    before, mark, after = message.partition("Its columns are: ")
    listed, _, rest = after.partition(". Say")
    text = path.read_bytes().decode("utf-8", "replace")
    first = text.partition("\n")[0]
    names = re.sub(r", and \d+ more$", "", listed).split(", ") if mark else []
    known = all(name in first or re.search(rf'"{re.escape(name)}"\s*:', text) for name in names)
    return before + rest if mark and known else message


def _fault(parse: Callable[[Path], object], path: Path) -> str:
    """What went wrong, or nothing."""
    started = time.process_time()
    try:
        parse(path)
    except InternalError as error:
        return f"an internal error: {error}"
    except CoterieError as error:
        shown = [canary for canary in CANARIES if canary in _without_names(str(error), path)]
        if shown:
            return f"a message shows a value: {error}"
    except BaseException as error:  # PanicException is no Exception
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} from {where.filename}:{where.lineno}"
    took = time.process_time() - started
    return f"it took {took:.1f} s" if took > SLOW else ""


if __name__ == "__main__":
    sys.exit(main())
