"""A log split in time, by hand; tests/property/test_meaning_measures.py has the laws."""

from datetime import datetime

import polars as pl

import coterie
from coterie.core.log import chronological, halves, in_time, without_outsiders


def _log(rows):
    frame = pl.DataFrame(rows, schema=["user", "time", "query"], orient="row")
    return coterie.log(frame.with_columns(pl.col("time").cast(pl.Datetime("us"))))


def _queries(log):
    return log.frame.select("user", "query").collect().rows()


DAYS = [datetime(2020, 2, day) for day in range(1, 8)]


def test_each_user_has_an_earlier_and_a_later_half_and_the_earlier_one_is_the_larger():
    log = _log([("ann", DAYS[2], "c"), ("ann", DAYS[0], "a"), ("ann", DAYS[1], "b"), ("bob", DAYS[6], "x")])
    first, second = chronological(log)
    assert _queries(first) == [("ann", "a"), ("ann", "b"), ("bob", "x")]
    assert _queries(second) == [("ann", "c")]


def test_rows_of_nobody_are_in_neither_part():
    first, second = chronological(_log([("ann", DAYS[0], "a"), (None, DAYS[0], "b"), ("ann", DAYS[1], "c")]))
    assert _queries(first) + _queries(second) == [("ann", "a"), ("ann", "c")]


def test_equal_sizes_leave_out_users_with_too_few_rows():
    enough = [("ann", day, f"a{day.day}") for day in DAYS[:6]]
    few = [("bob", day, f"b{day.day}") for day in DAYS[:5]]
    first, second = chronological(_log(enough + few), size=4)
    assert _queries(first) == [("ann", f"a{n}") for n in (1, 2, 3, 4)]
    assert _queries(second) == [("ann", "a5"), ("ann", "a6")]


def test_without_times_the_alphabet_does_not_decide():
    rows = pl.DataFrame({"user": ["ann"] * 6, "query": list("abcdef")})
    ordered = in_time(rows, "user", "query", "")["query"].to_list()
    assert ordered != list("abcdef")
    assert in_time(rows.reverse(), "user", "query", "")["query"].to_list() == ordered


def test_halves_have_whole_users_each_in_one_of_them():
    rows = [(f"user {n}", DAYS[n % 7], f"q{n}") for n in range(9)] * 2 + [(None, DAYS[0], "nobody's")]
    first, second = halves(_log(rows))
    names = [{user for user, _ in _queries(part)} for part in (first, second)]
    assert [len(each) for each in names] == [5, 4]
    assert not names[0] & names[1]
    assert None not in names[0] | names[1]
    assert len(_queries(first)) == 10, "all rows of a user"
    again, _ = halves(_log(rows[::-1]))
    assert {user for user, _ in _queries(again)} == names[0], "the order of rows does not matter"


def test_outsiders_are_a_share_of_the_people():
    log = _log([(f"p{n}", day, "a") for n in range(10) for day in DAYS[:2]])
    inside, outside = without_outsiders(log, 0.2)
    people = [set(part.frame.collect()["user"]) for part in (inside, outside)]
    assert [len(each) for each in people] == [8, 2]
    assert not people[0] & people[1]
    again = without_outsiders(_log([(f"p{n}", day, "a") for n in reversed(range(10)) for day in DAYS[:2]]), 0.2)
    assert set(again[1].frame.collect()["user"]) == people[1]
