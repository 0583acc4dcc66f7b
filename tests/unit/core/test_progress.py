"""What a task tells while it works, and what a terminal shows of it.

Covers: cli/bars.py
"""

import io

import pytest
from rich.console import Console

from coterie.cli.bars import Bars
from coterie.core.threads import Counted, Stages, share_of, stage_of


def test_counted_things_are_told_of_how_many_only_where_that_is_known():
    assert str(Counted(3, 10, "checks")) == "3/10 checks"
    assert str(Counted(1_000, what="MB")) == "1,000 MB"
    assert str(Counted(11, 10, "checks")) == "11 checks"  # more than were expected: the total was none


def test_no_share_follows_from_what_is_counted():
    assert share_of(Counted(1, 2)) is None
    assert share_of(0.25) == 0.25
    assert share_of(None) is None


def test_parts_of_a_stage_have_its_number():
    told = []
    stages = Stages(3, lambda name, how_far: told.append((name, how_far)))
    stages("read")
    stages("read: unpack", Counted(4, what="MB"))
    stages("read", 0.5)
    stages("plan")
    stages("read")  # once more: another stage
    assert told == [
        ("1/3 read", None),
        ("1/3 read: unpack", Counted(4, what="MB")),
        ("1/3 read", 0.5),
        ("2/3 plan", None),
        ("3/3 read", None),
    ]
    assert stage_of("read: unpack") == "read"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def bars(clock):
    return Bars(Console(file=io.StringIO(), width=100, force_terminal=False), clock)


def _seen(bars):
    """The lines of the bars as they are now."""
    console = Console(file=io.StringIO(), width=100)
    console.print(bars._display.get_renderable())
    return [" ".join(line.replace("━", "").replace("╸", "").split()) for line in console.file.getvalue().splitlines()]


def test_the_time_left_follows_from_a_share_and_runs_on(bars, clock):
    bars.step("read")
    assert _seen(bars) == ["read 0:00:00"]
    clock.now += 30
    bars.step("read", 0.25)
    assert _seen(bars) == ["read 0:00:30 1:30 left"]
    clock.now += 20
    assert _seen(bars) == ["read 0:00:50 1:10 left"]  # nothing was told meanwhile
    clock.now += 100
    assert _seen(bars) == ["read 0:02:30"]  # it takes longer than was thought: nobody knows how long


def test_too_early_nobody_knows_how_long_it_takes(bars, clock):
    bars.step("read")
    clock.now += 10
    bars.step("read", 0.001)
    assert _seen(bars) == ["read 0:00:10"]


def test_from_what_is_counted_no_time_follows(bars, clock):
    bars.step("verify")
    clock.now += 30
    bars.step("verify", Counted(5, 10, "checks"))
    assert _seen(bars) == ["verify 0:00:30 5/10 checks"]
    bars.step("verify", Counted(11, 10, "checks"))
    assert _seen(bars) == ["verify 0:00:30 11 checks"]


def test_what_is_over_keeps_its_time_and_only_the_last_stages_are_seen(bars, clock):
    for number in range(20):
        bars.step(f"{number}/20 stage", 0.5)
        clock.now += 3
    assert _seen(bars)[:-1] == [f"{number}/20 stage 0:00:03" for number in range(14, 19)]
    assert _seen(bars)[-1].startswith("19/20 stage")
