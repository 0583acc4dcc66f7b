"""A recorded stream, delivered at least once and broken off anywhere, is counted exactly once."""

import json
import random
from dataclasses import dataclass
from datetime import timedelta

import pytest

from coterie.apps.gate.consume import consume, next_offset
from coterie.errors import InputError, ParameterError
from tests.helpers.gates import START, gate_in, lines_in, rows_of, totals


@dataclass
class Recorded:
    """A message as it was recorded."""

    number: int
    row: dict | bytes
    part: int = 0
    failed: str | None = None

    def topic(self):
        return "searches"

    def partition(self):
        return self.part

    def offset(self):
        return self.number

    def value(self):
        return self.row if isinstance(self.row, bytes) else json.dumps(self.row).encode()

    def error(self):
        return self.failed


def _stream():
    rows = rows_of(*((f"u{n % 5}", f"q{n % 7}", n / 10) for n in range(200)))
    return [
        Recorded(n // 2, {"user": user, "query": query, "time": f"{time:%Y-%m-%dT%H:%M:%SZ}", "more": 1}, n % 2)
        for n, (user, query, time, _) in enumerate(rows.iter_rows())
    ]


def _live(folder):
    """A gate whose clock is near the end of the day."""
    return gate_in(folder, clock=lambda: START + timedelta(hours=22))


def test_a_stream_with_restarts_is_counted_once(tmp_path):
    stream, draw = _stream(), random.Random(2)
    with _live(tmp_path / "whole") as gate:
        consume(gate, stream, batch=13)
        gate.end_window()
    expected = totals(lines_in(tmp_path / "whole" / "out"))
    assert sum(count for _, _, count in expected) == 200
    reached = 0
    while reached < 200:
        gate = _live(tmp_path / "broken")
        start = min(2 * next_offset(gate, "searches", part) + part for part in (0, 1))
        assert start <= reached + 1
        reached = min(200, start + draw.randint(1, 60))
        again = max(0, start - draw.randint(0, 20))  # delivered before
        consume(gate, [*stream[again:reached], None], batch=7, patience=0)
        gate.abandon()
    with _live(tmp_path / "broken") as gate:
        gate.end_window()
    assert totals(lines_in(tmp_path / "broken" / "out")) == expected


def test_what_is_no_row_is_counted_as_bad(tmp_path):
    with gate_in(tmp_path) as gate:
        consume(gate, [Recorded(0, b"no JSON"), Recorded(1, {"user": "a"}), Recorded(2, b"[]")])
        assert (gate.counts.bad, next_offset(gate, "searches", 0)) == (3, 3)


def test_steps_that_look_at_several_messages_are_refused(tmp_path):
    gate = gate_in(tmp_path)
    with gate.abandoned(), pytest.raises(ParameterError, match="looks at several rows"):
        consume(gate, [], steps="default,drop_short")


def test_errors_of_the_stream_show_no_value(tmp_path):
    gate = gate_in(tmp_path)
    with pytest.raises(InputError, match="reported an error"):
        consume(gate, [Recorded(0, {"query": "qzqueryq"}, failed="qzqueryq")])
    with pytest.raises(InputError, match="ISO 8601") as error:
        consume(gate, [Recorded(0, {"query": "tea", "time": "qzqueryq"})])
    assert "qzqueryq" not in str(error.value)
    gate.abandon()


def test_messages_of_a_window_that_has_ended_meanwhile_are_counted(tmp_path):
    """The gate was down at the end of the window, and all of its messages come at once."""
    with gate_in(tmp_path) as gate:
        consume(gate, [None, *_stream()[:20], None, *_stream()[20:]], batch=13)
        assert (gate.counts.events, gate.counts.late) == (200, 0)
        consume(gate, [None], quiet=0)
        assert gate.status()["held"] == gate.status()["open"] == 0, "nothing more comes: the clock has ended it"
