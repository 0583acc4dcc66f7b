"""Nights, one after the other, give what one run over all of them gives."""

import shutil

import polars as pl
import pytest

import coterie
from coterie.apps.gate import Rules
from coterie.apps.gate.append import append_night
from coterie.errors import ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading.reading import Reading
from coterie.steps import parse_steps
from tests.helpers.gates import lines_in, rows_of, totals

NIGHTS = (
    [("a", "tea", 1), ("b", "tea", 2), ("a", "rare", 3)],
    [("c", "tea", 25), ("a", "maps", 26), ("b", "maps", 26)],
    [("c", "maps", 49), ("a", "tea", 50), ("b", "rare", 50)],
)


def _night(folder, number):
    path = folder / f"night{number}.parquet"
    rows_of(*NIGHTS[number]).write_parquet(path)
    return str(path)


def _append(folder, *paths, **given):
    how = {name: given.pop(name) for name in ("reading", "end_window", "note") if name in given}
    rules = Rules(
        **{"state": folder / "state", "output": folder / "out", "k": 3, "window": "7d", "rest": "part", **given}
    )
    return append_night("suppress_rare", paths, rules, steps=parse_steps("default"), **how)


def test_nights_together_are_one_run(tmp_path):
    counts = []
    for number in range(3):
        counts.append(len(_append(tmp_path, _night(tmp_path, number), audit=tmp_path / "audit")["new"]))
        log = coterie.log(pl.concat([rows_of(*night) for night in NIGHTS[: number + 1]]))
        whole = coterie.anonymize(log, SuppressRare(k=3), seed=1).to_polars().group_by("query").len() if number else []
        expected = sorted(whole.rows()) if number else []
        assert [(query, count) for _, query, count in totals(lines_in(tmp_path / "out"))] == expected
    assert counts == [0, 1, 1]
    original = coterie.read(sorted(map(str, (tmp_path / "audit").glob("*.parquet"))))
    for part in (tmp_path / "out").glob("part-*.tsv"):
        assert coterie.verify(part, original).exit_code == 0
        assert coterie.verify(part).exit_code == 3
    assert not lines_in(tmp_path / "out")["detail"].drop_nulls().len(), "no day had three people"


@pytest.mark.parametrize("named", [{}, {"user": "cookie"}], ids=["no column is named", "one column is named"])
def test_columns_are_guessed_in_the_first_night_for_all(tmp_path, named):
    for number in range(3):
        night = rows_of(*NIGHTS[number]).rename({"user": "cookie", "query": "q"})
        if number:
            night = night.with_columns(pl.lit("everybody").alias("user_id"))
        night.write_parquet(tmp_path / f"night{number}.parquet")
        numbers = _append(tmp_path, str(tmp_path / f"night{number}.parquet"), reading=Reading(columns=named))
        assert not numbers["known"]
    assert [query for _, query, _ in totals(lines_in(tmp_path / "out"))] == ["maps", "tea"]
    again = _append(tmp_path, str(tmp_path / "night0.parquet"), reading=Reading(columns=named))
    assert again["known"], "read alike, it is the same night"


def test_a_night_again_changes_nothing(tmp_path):
    for number in range(2):
        _append(tmp_path, _night(tmp_path, number))
    before = {path: path.read_bytes() for folder in ("state", "out") for path in (tmp_path / folder).iterdir()}
    shutil.copy(_night(tmp_path, 1), tmp_path / "copy.parquet")
    notes = []
    again = _append(tmp_path, str(tmp_path / "copy.parquet"), note=notes.append)
    assert (again["known"], again["new"]) == (True, [])
    assert notes == ["This night was appended before. Nothing was changed."]
    assert {path: path.read_bytes() for folder in ("state", "out") for path in (tmp_path / folder).iterdir()} == before


def test_rests_may_wait_for_the_window(tmp_path):
    for number in range(3):
        numbers = _append(tmp_path, _night(tmp_path, number), rest="window", end_window=number == 2)
    assert len(numbers["new"]) == 1
    assert [row[1:] for row in totals(lines_in(tmp_path / "out"))] == [("maps", 3), ("tea", 4)]
    late = _append(tmp_path, str(_other(tmp_path)), rest="window")
    assert late["late"] == 1


def _other(folder):
    rows_of(("z", "tea", 60)).write_parquet(folder / "other.parquet")
    return folder / "other.parquet"


def test_only_what_a_gate_can_do(tmp_path):
    with pytest.raises(ParameterError, match="not for affinity"):
        append_night("affinity", ["x"], Rules(state=tmp_path, output=tmp_path))


def test_windows_of_hours(tmp_path):
    _append(tmp_path, _night(tmp_path, 0), window="12h", k=2, end_window=True)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07 00:00:00", "tea", 2)]


@pytest.mark.parametrize("text", ["", "user\tquery\ttime\n"])
def test_an_empty_night_changes_nothing(tmp_path, text):
    (tmp_path / "quiet.tsv").write_text(text)
    notes = []
    assert _append(tmp_path, str(tmp_path / "quiet.tsv"), note=notes.append) == {"new": [], "known": False}
    _append(tmp_path, _night(tmp_path, 0))
    before = (tmp_path / "state" / "snapshot").read_bytes()
    quiet = _append(tmp_path, str(tmp_path / "quiet.tsv"), note=notes.append)
    assert (quiet["events"], quiet["new"], quiet["known"]) == (3, [], False)
    assert notes == ["There are no rows in this night."] * 2
    assert (tmp_path / "state" / "snapshot").read_bytes() == before


def test_rows_without_a_time_are_told_of(tmp_path):
    (tmp_path / "log.tsv").write_text("user\tquery\na\ttea\n")
    notes = []
    assert _append(tmp_path, str(tmp_path / "log.tsv"), note=notes.append)["timeless"] == 1
    assert notes == ["1 rows have no time, belong to no window, and were left out."]
