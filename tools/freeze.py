"""Whether the package still does and can do what it did: `make freeze`. A tool for the time of one rebuilding.

    .venv/bin/python tools/freeze.py                    # compares with tests/freeze; exits 1, and names each difference
    .venv/bin/python tools/freeze.py --write            # records what there is today
    .venv/bin/python tools/freeze.py members options    # some files of facts only; with --write, too
    .venv/bin/python tools/freeze.py --spark            # files released on a cluster: make freeze-spark

It is deleted at the end of the second half of the house, with tools/freeze_facts.py (which says what a fact is),
tests/freeze and tests/test_freeze.py. Releases are made in three processes, with 1, 2 and 8 threads of polars; what
differs between them, or between blocks, stands there once for each. Scores may differ by 1e-9 of themselves. Left out:
digests of bytes in sidecars and records, days, and the version, which change by themselves.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FROZEN = ROOT / "tests" / "freeze"
THREADS = ("1", "2", "8")
OF_THREADS = {"releases", "other_parameters"}
_ABOUT = 1e-9

Facts = Mapping[str, Any]
"""Name of a file -> key -> value, or the lines of a page."""


def differences(before: Facts, now: Facts) -> Iterator[str]:
    """A line for each fact that is not as it was."""
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            yield f"{name}: {'new' if old is None else 'gone'}"
        elif isinstance(new, list):
            lines = difflib.unified_diff(old, new, n=0, lineterm="")
            yield from (f"{name}: {line}" for line in lines if not line.startswith(("---", "+++", "@@")))
        else:
            yield from _different(name, old, new)


def _different(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for key in sorted({*old, *new}):
        if key not in new:
            yield f"{name}: {key}: gone, was {old[key]}"
        elif key not in old:
            yield f"{name}: {key}: new, {new[key]}"
        elif old[key] != new[key] and not (name == "scores" and _alike(old[key], new[key])):
            yield f"{name}: {key}: was {old[key]}, is {new[key]}"


def _alike(old: str, new: str) -> bool:
    """Whether two scores are the same but for the last bits."""
    (a, unit), (b, other) = (text.split(" ", 1) if " " in text else (text, "") for text in (old, new))
    try:
        return unit == other and math.isclose(float(a), float(b), rel_tol=_ABOUT, abs_tol=1e-15)
    except ValueError:
        return False


def recorded(folder: Path = FROZEN) -> dict[str, Any]:
    """The facts that were written."""
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found[path.stem] = lines if path.name.startswith("page_") else dict(_read(lines))
    return found


def _read(lines: list[str]) -> Iterator[tuple[str, str]]:
    section = ""
    for line in lines:
        if line.startswith("["):
            section = line[1:-1]
        else:
            name, _, value = line.partition(" = ")
            yield f"{section}: {name}", value


def record(facts: Facts, folder: Path = FROZEN) -> None:
    """Write facts, one to a line, below what they are about; pages as they are."""
    folder.mkdir(exist_ok=True)
    for name, found in facts.items():
        lines = found if isinstance(found, list) else list(_lines(found))
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(facts: Mapping[str, str]) -> Iterator[str]:
    keys = sorted(tuple(key.rpartition(": ")[::2]) for key in facts)
    for section, names in groupby(keys, key=itemgetter(0)):
        yield f"[{section}]"
        yield from (f"{name} = {facts[f'{section}: {name}']}" for _, name in names)


def compute(wanted: list[str]) -> dict[str, Any]:
    """The facts of today, from one process for each number of threads and one for the rest; two at a time."""
    by_threads = not wanted or not OF_THREADS.isdisjoint(wanted)
    jobs = [("once", "2")] * (not OF_THREADS.issuperset(wanted) or not wanted)
    jobs += [("threads", threads) for threads in THREADS] if by_threads else []
    with ThreadPoolExecutor(2) as pool:
        done = dict(zip(jobs, pool.map(lambda job: _process(*job, wanted), jobs), strict=True))
    found = dict(done.get(("once", "2"), {}))
    for name in OF_THREADS & {name for facts in done.values() for name in facts}:
        found[name] = together({f"threads={job[1]}": facts[name] for job, facts in done.items() if name in facts})
    return found


def together(variants: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """What is the same in all variants under its key, and the rest under the key and the variant."""
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for facts in variants.values() for key in facts):
        values = {variant: facts.get(key) for variant, facts in variants.items()}
        if len(set(values.values())) == 1:
            found[key] = next(iter(variants.values()))[key]
        else:
            found |= {f"{key} @ {variant}": value for variant, value in values.items() if value is not None}
    return found


def _process(part: str, threads: str, wanted: list[str]) -> dict[str, Any]:
    own = {"POLARS_MAX_THREADS": threads, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "tools"))),
           "COTERIE_CACHE": "off", "TZ": "UTC", "COLUMNS": "100", "NO_COLOR": "1"}  # fmt: skip
    command = [sys.executable, "-W", "ignore", str(ROOT / "tools" / "freeze_facts.py"), part, *wanted]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, env={**os.environ, **own}, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{part} with {threads} threads: {done.stderr}")
    return json.loads(done.stdout)


def main(arguments: list[str]) -> int:
    wanted = [each for each in arguments if not each.startswith("--")]
    facts = {"walk": _process("spark", "2", [])["spark"]} if "--spark" in arguments else compute(wanted)
    if "--write" in arguments:
        record(facts)
        return 0
    before = {
        name: found for name, found in recorded().items() if name in facts or not (wanted or "--spark" in arguments)
    }
    if "--spark" in arguments:
        before = {"walk": {key: value for key, value in before["walk"].items() if key in facts["walk"]}}
    lines = list(differences(before, facts))
    print("\n".join(lines) if lines else f"All {sum(map(len, facts.values())):,} facts are as they were.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
