"""What each test costs in CPU seconds, and which ones `make test` leaves to `make test-all`.

tests/costs.txt lists the tests that cost at least 0.3 s, as `make costs` measured them with five examples of each
property test. `--quick` leaves out what costs more than 0.3 s by that list, but for the cheapest case of each test
function, which stays unless it costs more than a second, and for the digests of releases. Nothing fails or is left out
by the clock of the day: a test that is not listed runs.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

LEDGER = Path(__file__).parent / "costs.txt"
LISTED = 0.3
MOST = 0.3
MOST_OF_THE_CHEAPEST = 1.0
ALWAYS = {"tests/golden/releases_test.py::test_bytes_of_releases[1]"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out what tests/costs.txt says is expensive")
    parser.addoption("--costs", metavar="FOLDER", help="write what each test costs into a file of FOLDER")


@cache
def ledger() -> Mapping[str, float]:
    """The listed tests and their CPU seconds."""
    lines = LEDGER.read_text(encoding="utf-8").splitlines() if LEDGER.exists() else []
    return {name: float(seconds) for seconds, _, name in (line.partition(" ") for line in lines)}


def left_out(names: Sequence[str], costs: Mapping[str, float]) -> set[str]:
    """Which of these tests `--quick` does not run."""
    cases = defaultdict(list)
    for name in names:
        cases[name.partition("[")[0]].append(name)
    out = set()
    for all_cases in cases.values():
        cheapest = min(all_cases, key=lambda name: costs.get(name, 0.0))
        for name in all_cases:
            cost = costs.get(name, 0.0)
            if name not in ALWAYS and cost > (MOST_OF_THE_CHEAPEST if name == cheapest else MOST):
                out.add(name)
    return out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    out = left_out([item.nodeid for item in items], ledger())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
    items[:] = [item for item in items if item.nodeid not in out]


def _seconds() -> float:
    """CPU seconds of this process and of those it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = _seconds()
    yield
    if folder := item.config.getoption("--costs"):
        worker = os.environ.get("PYTEST_XDIST_WORKER", "one")
        with (Path(folder) / f"{worker}.txt").open("a", encoding="utf-8") as file:
            file.write(f"{_seconds() - before:.2f} {item.nodeid}\n")


def _renew(folder: Path) -> None:
    """Write the list anew from what `--costs` measured."""
    lines = [line for path in sorted(folder.glob("*.txt")) for line in path.read_text(encoding="utf-8").splitlines()]
    costs = {name: float(seconds) for seconds, _, name in (line.partition(" ") for line in lines)}
    listed = sorted((name, seconds) for name, seconds in costs.items() if seconds >= LISTED)
    LEDGER.write_text("".join(f"{seconds:.1f} {name}\n" for name, seconds in listed), encoding="utf-8")
    out = left_out(list(costs), dict(listed))
    left = sum(seconds for name, seconds in costs.items() if name not in out)
    print(
        f"{len(costs):,} tests, {sum(costs.values()):,.0f} CPU s; --quick: {len(costs) - len(out):,}, {left:,.0f} CPU s"
    )


if __name__ == "__main__":
    _renew(Path(sys.argv[1]))
