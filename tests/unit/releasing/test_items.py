"""Planned items are kept or replaced, then what accompanies them and who asked follows the parameters."""

from dataclasses import dataclass
from datetime import datetime

import polars as pl
import pytest

from coterie.core.plan import Plan
from coterie.core.shapes import VISITS
from coterie.releasing.items import ReleasesItems, keep_items, replace_items
from tests.helpers.hand_made_logs import NOON, log_of, rows_of
from tests.helpers.runs import a_run

LOG = log_of(
    ("user", "query", "url", "rank", "time"),
    ("a", "tea", "x", 1, NOON),
    ("b", "tea", "x", 1, NOON),
    ("c", "tea", "y", 3, NOON),
    ("c", "rum", "y", 4, NOON),
    (None, "tea", None, None, None),
    ("d", "beer", "z", 5, NOON),
)
DAY = datetime(2006, 3, 1)
KEEP = pl.LazyFrame(
    {"item": ["tea", "beer", "wine"], "degree": [3, 1, 9]}, schema={"item": pl.String, "degree": pl.UInt32}
)
REPLACE = pl.LazyFrame({"item": ["tea", "rum", "wine"], "into": ["drink", "drink", "drink"]})
KEPT_COST = (
    "Exact times, ranks and clicked pages of single people are kept: whoever knows when somebody searched can find "
    "the row."
)
NOTES = {
    "keep": (KEPT_COST,),
    "common": (
        "Released rows that keep what accompanies the query, of 5: the day 40.0%, the week 0.0%, the month 0.0%, "
        "url 40.0%, rank 40.0%.",
    ),
    "drop": (),
}
ROWS = {
    "keep": [
        (0, None, NOON, "tea", 1, "x"),
        (1, None, NOON, "tea", 1, "x"),
        (2, None, NOON, "tea", 3, "y"),
        (4, None, None, "tea", None, None),
        (5, None, NOON, "beer", 5, "z"),
    ],
    "common": [
        (0, None, DAY, "day", "tea", 1, "x"),
        (1, None, DAY, "day", "tea", 1, "x"),
        (2, None, None, None, "tea", None, None),
        (4, None, None, None, "tea", None, None),
        (5, None, None, None, "beer", None, None),
    ],
    "drop": [(0, "tea"), (1, "tea"), (2, "tea"), (4, "tea"), (5, "beer")],
}  # fmt: skip
ROWS["drop"] = [(row, None, None, query, None, None) for row, query in ROWS["drop"]]
COLUMNS = {attrs: ["row", "user", "time", "query", "rank", "url"] for attrs in ROWS}
COLUMNS["common"].insert(3, "time_level")


def test_rows_of_planned_items_are_kept():
    kept = keep_items(LOG, KEEP, a_run())
    assert rows_of(kept) == [row for row in rows_of(LOG) if row[3] in ("tea", "beer")]
    assert kept.history == LOG.history
    twice = pl.concat([KEEP, KEEP])
    assert rows_of(keep_items(LOG, twice, a_run())) == rows_of(kept)


def test_rows_of_planned_items_get_what_replaces_them():
    replaced = replace_items(LOG, REPLACE, a_run())
    assert rows_of(replaced, "row", "user", "query", "url") == [
        (0, "a", "drink", "x"),
        (1, "b", "drink", "x"),
        (2, "c", "drink", "y"),
        (3, "c", "drink", "y"),
        (4, None, "drink", None),
    ]
    assert dict(replaced.frame.collect_schema()) == dict(LOG.frame.collect_schema())


@dataclass(frozen=True, kw_only=True)
class Asked(ReleasesItems):
    """What a method that releases items is asked for."""

    def promises(self, facts):
        raise NotImplementedError

    plan = promises


def asked(k, users, attrs):
    return Asked(k=k, users=users, attrs=attrs)


@pytest.mark.parametrize("attrs", ["keep", "common", "drop"])
def test_a_release_of_kept_items(attrs):
    draft = asked(2, "drop", attrs).release(LOG, Plan(table=KEEP), a_run())
    assert draft.frame.collect_schema().names() == COLUMNS[attrs]
    assert rows_of(draft.frame) == ROWS[attrs]
    assert draft.warnings == NOTES[attrs]
    assert rows_of(draft.subjects) == [(user, None, None) for user in "abcd"]


def test_a_release_of_kept_items_for_other_k():
    one, three = (asked(k, "drop", "common").release(LOG, Plan(table=KEEP), a_run()) for k in (1, 3))
    assert rows_of(one.frame, "rank", "url") == [(1, "x"), (1, "x"), (3, "y"), (None, None), (5, "z")]
    assert rows_of(three.frame, "rank", "url") == [(None, None)] * 5


def test_details_are_counted_for_what_is_released_in_place_of_items():
    """Two users share page y under the new item, though not under the old ones."""
    log = log_of(("user", "query", "url"), ("a", "tea", "y"), ("b", "rum", "y"), ("b", "rum", "z"), ("c", "beer", "z"))
    draft = asked(2, "drop", "common").release(log, Plan(table=REPLACE), a_run())
    assert rows_of(draft.frame, "row", "query", "url") == [(0, "drink", "y"), (1, "drink", "y"), (2, "drink", None)]
    three = asked(3, "drop", "common").release(log, Plan(table=REPLACE), a_run())
    assert rows_of(three.frame, "url") == [(None,)] * 3
    kept = asked(2, "drop", "keep").release(log, Plan(table=REPLACE), a_run())
    assert rows_of(kept.frame, "url") == [("y",), ("y",), ("z",)]
    assert kept.warnings == (KEPT_COST,)


def test_names_come_from_the_whole_log_and_costs_add_up():
    run = a_run(seed=3)
    names = run.pseudonyms(pl.Series(["a", "b", "c", "d"]), pl.Series(list("abcd"))).to_list()
    for draft, there in (
        (asked(2, "pseudonym", "keep").release(LOG, Plan(table=KEEP), run), "abcd"),
        (asked(2, "pseudonym", "keep").release(LOG, Plan(table=REPLACE), run), "abc"),
    ):
        became = dict(zip("abcd", names, strict=True))
        assert rows_of(draft.subjects) == [(user, became[user] if user in there else None, None) for user in "abcd"]
        assert rows_of(draft.frame, "user") == [(became.get(LOG_USERS[row]),) for (row,) in rows_of(draft.frame, "row")]
        assert len(draft.warnings) == 2
        assert draft.warnings[0].startswith("Rows are linked by person")
        assert draft.warnings[1] == KEPT_COST


LOG_USERS = ["a", "b", "c", "c", None, "d"]


def test_sessions_are_those_of_the_whole_log():
    """The row between two kept ones bridges the pause."""
    times = [datetime(2006, 3, 1, 12, minute) for minute in (0, 25, 50)]
    log = log_of(
        ("user", "query", "time"),
        *(("a", query, time) for query, time in zip(["tea", "rum", "tea"], times, strict=True)),
    )
    draft = asked(2, "session", "drop").release(log, Plan(table=KEEP), a_run())
    assert len(set(rows_of(draft.frame, "user"))) == 1
    assert draft.frame.collect().height == 2


def test_columns_that_point_at_a_person_are_always_empty():
    visits = log_of(
        ("user", "path", "address", "referrer", "agent", "method"),
        ("a", "/", "10.0.0.1", "/from", "browser", "GET"),
        shape=VISITS,
    )
    plan = Plan(table=pl.LazyFrame({"item": ["/"], "degree": [1]}))
    for attrs, method in (("keep", "GET"), ("common", None), ("drop", None)):
        draft = asked(2, "drop", attrs).release(visits, plan, a_run())
        assert rows_of(draft.frame, "path", "address", "referrer", "agent", "method") == [
            ("/", None, None, None, method)
        ]
