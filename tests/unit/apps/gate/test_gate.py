"""One gate: who comes out and when, what is left out, and what a state refuses.

Covers: apps/gate/rules.py
"""

import errno
import json
from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.apps.gate import Gate, Rules
from coterie.apps.gate import state as states
from coterie.errors import InputError, InternalError, MissingError, ParameterError
from tests.helpers.gates import LATER, START, gate_in, lines_in, rows_of, totals


def test_a_query_comes_out_with_the_k_th_person_and_all_that_was_held(tmp_path):
    gate = gate_in(tmp_path, k=3)
    gate.offer_many(rows_of(("ann", "tea", 1), ("ann", "tea", 2), ("bob", "tea", 3), ("bob", "rare", 3)))
    gate.offer_many(rows_of(("bob", "other", 7)))
    gate.commit()
    assert lines_in(tmp_path / "out").height == 0, "two people are not enough"
    gate.offer_many(rows_of(("cyd", "tea", 8), ("dan", "more", 13)))
    gate.commit()
    assert lines_in(tmp_path / "out").rows() == [("queries from 2024-03-07", "tea", "2024-03-07", 4)]
    gate.close()
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert [part["closed"] for part in index["parts"]] == ["2024-03-07 12:00:00"]
    assert (tmp_path / "out" / index["parts"][0]["name"]).exists()


def test_a_day_only_where_k_people_asked_on_it(tmp_path):
    with gate_in(tmp_path, window="7d", flush="7d") as gate:
        gate.offer_many(
            rows_of(("a", "tea", 1), ("b", "tea", 2), ("a", "tea", 25), ("a", "maps", 1), ("b", "maps", 26))
        )
    assert lines_in(tmp_path / "out").sort("item", "detail").rows() == [
        ("queries from 2024-03-07", "maps", None, 2),
        ("queries from 2024-03-07", "tea", None, 1),
        ("queries from 2024-03-07", "tea", "2024-03-07", 2),
    ]


def test_what_fewer_than_k_people_add_waits_for_the_end_of_the_window(tmp_path):
    rows = rows_of(("a", "tea", 1), ("b", "tea", 2), ("a", "tea", 7), ("c", "maps", 13))
    with gate_in(tmp_path / "window") as gate:
        gate.offer_many(rows)
    names = [path.name for path in sorted((tmp_path / "window" / "out").glob("part-*.tsv"))]
    assert names == ["part-000001-2024-03-07T060000.tsv", "part-000002-2024-03-07T180000.tsv"], (
        "the window ended by the clock while the part of 18 o'clock was open"
    )
    tables = lines_in(tmp_path / "window" / "out")["table"].to_list()
    assert tables == ["queries from 2024-03-07", "rest of queries from 2024-03-07"]
    with gate_in(tmp_path / "part", rest="part") as gate:
        gate.offer_many(rows)
    names = [path.name for path in sorted((tmp_path / "part" / "out").glob("part-*.tsv"))]
    assert names == ["part-000001-2024-03-07T060000.tsv", "part-000002-2024-03-07T120000.tsv"]


def test_pages_come_out_where_k_people_clicked_them_for_the_query(tmp_path):
    page, other = "http://a.example/", "http://b.example/"
    with gate_in(tmp_path) as gate:
        gate.offer_many(rows_of(("a", "tea", 1, page), ("b", "tea", 1, page), ("c", "tea", 2, other)))
    clicks = lines_in(tmp_path / "out").filter(pl.col("table").str.contains("clicks"))
    assert clicks.rows() == [("clicks from 2024-03-07", "tea", page, 2)]


def test_rows_of_a_window_that_ended_are_late_and_those_of_next_week_too_early(tmp_path):
    with gate_in(tmp_path, clock=lambda: START + timedelta(hours=30)) as gate:
        gate.offer_many(rows_of(("a", "tea", 25), ("b", "tea", 1), ("c", "tea", 24 * 7), ("d", "tea", 26)))
        gate.offer_many(
            pl.DataFrame({"user": ["e"], "query": ["tea"], "time": [None]}, schema_overrides={"time": pl.Datetime})
        )
    assert (gate.counts.late, gate.counts.ahead, gate.counts.timeless, gate.counts.events) == (1, 1, 1, 2)


def test_a_clock_that_goes_backwards_changes_nothing(tmp_path):
    times = iter([START + timedelta(hours=h) for h in (1, 9, 2, 3, 2, 2, 2, 2)])
    gate = gate_in(tmp_path, clock=lambda: next(times))
    gate.offer("a", "tea")
    gate.offer("b", "tea")  # at 9
    gate.offer("a", "maps")  # at 2: the window is still open
    gate.offer("b", "maps")
    gate.tick()
    gate.tick()
    gate.end_window()
    gate.commit()
    gate.abandon()
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "maps", 2), ("2024-03-07", "tea", 2)]
    assert gate.counts.late == 0


def test_a_clock_that_was_set_back_by_days_loses_nothing(tmp_path):
    days = iter([0, 0, -3, -3, -3, -3, -3, -3])
    gate = gate_in(tmp_path, clock=lambda: START + timedelta(days=next(days), hours=7), arrival=True)
    gate.offer_many(rows_of(("a", "tea", 1)))
    gate.offer_many(rows_of(("b", "tea", 1)))
    gate.offer_many(rows_of(("c", "tea", 1)))
    gate.end_window()
    gate.commit()
    gate.abandon()
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 3)]
    assert gate.counts.late == 0


def test_rows_without_a_person_count_and_are_nobody(tmp_path):
    with gate_in(tmp_path) as gate:
        gate.offer_many(
            rows_of((None, "tea", 1), (None, "tea", 2), ("a", "tea", 1), (None, "maps", 1), ("b", "tea", 1))
        )
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 4)]


def test_a_gate_goes_on_where_it_stopped(tmp_path):
    for rows in ([("a", "tea", 1)], [("b", "tea", 2)], [("c", "maps", 9)]):
        gate = gate_in(tmp_path, k=2)
        gate.offer_many(rows_of(*rows), {"topic-0": gate.position.get("topic-0", 0) + 1})
        gate.close(keep_open=True)
    assert gate.position == {"topic-0": 3}
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 2)]


def test_what_was_not_committed_is_read_again(tmp_path):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1)), {"at": 1})
    gate.commit()
    gate.offer_many(rows_of(("b", "tea", 2), ("b", "tea", 7)), {"at": 3})
    gate.abandon()  # as after a kill: a part was staged, and no snapshot knows it
    assert list((tmp_path / "out").glob(".staged/*"))
    gate = gate_in(tmp_path)
    assert gate.position == {"at": 1}
    assert not (tmp_path / "out" / ".staged").exists()
    gate.offer_many(rows_of(("b", "tea", 2), ("b", "tea", 7)), {"at": 3})
    gate.close()
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 3)]


def test_a_part_that_the_state_knows_is_put_in_place(tmp_path, monkeypatch):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1), ("b", "tea", 2), ("b", "x", 7)))
    monkeypatch.setattr(gate.parts, "publish", lambda parts: None)  # killed between snapshot and name
    gate.commit()
    gate.abandon()
    assert not list((tmp_path / "out").glob("part-*"))
    gate_in(tmp_path).abandon()
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 2)]


def test_the_key_goes_with_its_window(tmp_path):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1)))
    gate.commit()
    first = (tmp_path / "key").read_bytes()
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    gate.offer_many(rows_of(("a", "tea", 25)))
    gate.commit()
    assert (tmp_path / "key").read_bytes() != first
    gate.close()  # by its clock the second window has ended, too
    assert not (tmp_path / "key").exists()
    assert states.required(tmp_path / "state")["key"] is None


def test_a_key_that_is_missing_or_another_one_is_refused(tmp_path):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1)))
    gate.commit()
    gate.abandon()
    (tmp_path / "key").rename(tmp_path / "elsewhere")
    with pytest.raises(MissingError, match="coterie gate forget"):
        gate_in(tmp_path)
    (tmp_path / "elsewhere").rename(tmp_path / "key")
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(ParameterError, match="read by others"):
        gate_in(tmp_path)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(ParameterError, match="another state"):
        Gate(state=tmp_path / "new", key=tmp_path / "key", output=tmp_path / "out")


def test_a_key_whose_first_snapshot_never_was(tmp_path, monkeypatch):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1), ("b", "tea", 2)))
    with monkeypatch.context() as patch:
        patch.setattr(gate._state, "save", lambda *given: (_ for _ in ()).throw(InputError("full")))
        with pytest.raises(InputError):
            gate.commit()
    gate.abandon()
    assert (tmp_path / "key").exists()
    with gate_in(tmp_path) as gate:
        gate.offer_many(rows_of(("a", "tea", 1), ("b", "tea", 2)))
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 2)]


def test_two_gates_cannot_share_a_state(tmp_path):
    gate = gate_in(tmp_path)
    with pytest.raises(ParameterError, match="Another gate works with"):
        gate_in(tmp_path)
    gate.abandon()
    gate_in(tmp_path).abandon()


@pytest.mark.parametrize("other", [{"k": 3}, {"window": "2d"}, {"flush": "1h"}, {"rest": "part"}, {"clicks": False}])
def test_a_state_keeps_its_numbers(tmp_path, other):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1)))
    gate.close(keep_open=True)
    with pytest.raises(ParameterError, match=f"other values of {next(iter(other))}"):
        gate_in(tmp_path, **other)
    gate_in(tmp_path).abandon()


@pytest.mark.parametrize(("given", "words"), [
    ({"k": 1}, "'k' parameter"),
    ({"k": 70_000}, "up to k"),
    ({"window": "30"}, "'window' parameter"),
    ({"flush": "soon"}, "--flush must be"),
    ({"flush": "1s"}, "a minute or more"),
    ({"window": "1d", "flush": "7h"}, "whole number of parts"),
    ({"rest": "never"}, "rest must be"),
    ({"kind": "xlsx"}, "does not say what to write"),
])  # fmt: skip
def test_wrong_numbers(tmp_path, given, words):
    with pytest.raises(ParameterError, match=words):
        gate_in(tmp_path, **given)


def test_rules_by_their_names_or_as_one_value(tmp_path):
    with Gate(Rules(state=tmp_path / "state", output=tmp_path / "out", k=3), shadow=1, window="1d") as gate:
        assert (gate.rules.k, gate.rules.shadow, gate.rules.window, gate.rules.flush) == (3, 1, "1d", "1h")
    with pytest.raises(TypeError, match="unexpected keyword argument 'windows'"):
        Gate(state=tmp_path / "state", output=tmp_path / "out", windows="1d")


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1)), {"at": 1})
    gate.commit()
    before = (tmp_path / "state" / "snapshot").read_bytes()

    def full(*_given):
        raise OSError(errno.ENOSPC, "No space left on device")

    gate.offer_many(rows_of(("b", "tea", 2), ("c", "x", 7)), {"at": 3})
    with monkeypatch.context() as patch:
        patch.setattr(states, "_write", full)
        with pytest.raises(InputError, match=r"disk of .* is full"):
            gate.commit()
    assert (tmp_path / "state" / "snapshot").read_bytes() == before
    assert not (tmp_path / "state" / "snapshot.new").exists()
    gate.commit()  # once there is room
    gate.abandon()
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 2)]


def test_a_gate_that_failed_while_it_counted_writes_no_snapshot(tmp_path, monkeypatch):
    gate = gate_in(tmp_path)

    def full(*_given):
        raise InputError("The disk is full.")

    monkeypatch.setattr(gate.parts, "stage", full)
    with pytest.raises(InputError):
        gate.offer_many(rows_of(("a", "tea", 1), ("b", "tea", 1), ("c", "x", 7)))
    with pytest.raises(InternalError, match="Open it again"):
        gate.commit()
    gate.abandon()


def test_rotating_forgets_what_is_held(tmp_path):
    gate = gate_in(tmp_path)
    gate.offer_many(rows_of(("a", "tea", 1), ("a", "maps", 1), ("b", "maps", 1)))
    gate.rotate()
    gate.offer_many(rows_of(("b", "tea", 2)))
    gate.close()
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "maps", 2)]


def test_rows_of_the_clock(tmp_path):
    gate = gate_in(tmp_path, arrival=True, clock=lambda: START)
    gate.offer_many(rows_of(("a", "tea", -999), ("b", "tea", 999)))
    gate.end_window()
    gate.commit()
    gate.abandon()
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 2)]


def test_tables_that_are_no_log(tmp_path):
    gate = gate_in(tmp_path)
    with pytest.raises(InputError, match="needs the columns 'query'"):
        gate.offer_many(pl.DataFrame({"user": ["a"]}))
    log = coterie.log(pl.DataFrame({"user": ["a"], "path": ["/"]}))
    with pytest.raises(InputError, match="This gate is for QUERIES"):
        gate.offer_many(log)
    assert repr(gate) == "Gate(k = 2, 0 events)"
    gate.close()


def test_the_buffer_is_counted_when_it_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.apps.gate.gate._BUFFER", 2)
    gate = gate_in(tmp_path)
    for user in "abc":
        gate.offer(user, "tea", time=START)
    assert gate.counts.events == 2
    assert gate.status()["open"] == 1
    gate.close()
    assert datetime(2030, 1, 1) == LATER
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 3)]


@pytest.mark.parametrize(
    "row",
    [
        (7, "qzqueryq"),
        ("a", None),
        ("a", "qzqueryq\ud800"),
        ("a", "qzqueryq", "2024-03-07"),
        ("a", "qzqueryq", None, 7),
    ],
)
def test_a_wrong_row_is_refused_at_once_and_loses_no_other(tmp_path, row):
    user, query, time, url = (*row, None, None)[:4]
    gate = gate_in(tmp_path)
    gate.offer("a", "tea", time=START)
    with pytest.raises(InputError, match="offered to a gate") as error:
        gate.offer(user, query, time=time, url=url)
    assert "qzqueryq" not in str(error.value)
    with pytest.raises(InputError, match="must hold times"):
        gate.offer_many(pl.DataFrame({"user": ["a"], "query": ["tea"], "time": ["2024-03-07"]}))
    gate.commit()
    assert gate.counts.events == 1
    gate.abandon()
