"""Who asked: nobody, a fresh name for a few queries, for each session or day, or one for each person."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.core.params import Attrs
from coterie.core.shapes import QUERIES
from coterie.releasing.names import Users, rename_subjects
from tests.helpers import reference
from tests.helpers.hand_made_logs import NOON, log_of, rows_of
from tests.helpers.runs import a_run

COLUMNS = ["row", "user", "time", "query", "rank", "url"]
SUBJECTS = {"original": pl.String, "released": pl.String, "group": pl.UInt32}
PERSON_COST = (
    "Rows are linked by person: everything one person asked can be read together. This is how people were found in "
    "the AOL log of 2006. Use users=drop unless you cannot."
)
SESSION_COST = (
    "Rows are linked within sessions: what one person asked without a pause of more than {} minutes can be read "
    "together."
)


def _at(minutes):
    return None if minutes is None else NOON + timedelta(minutes=minutes)


def _log(*rows, **more):
    return log_of(("user", "time", "query"), *((user, _at(minutes), query) for user, minutes, query in rows), **more)


LOG = _log(
    ("b", 0, "tea"),
    ("a", 0, "tea"),
    ("a", 30, "rum"),
    ("a", 61, "beer"),
    (None, 5, "tea"),
    ("b", None, "wine"),
    ("c", 0, "gin"),
)
KEPT = replace(LOG, frame=LOG.frame.filter(pl.col("query") != "gin"))


def _names(labels, seed=1, taken="abc"):
    return a_run(seed=seed).pseudonyms(pl.Series(labels), pl.Series(list(taken))).to_list()


def test_nobody():
    draft = rename_subjects(KEPT, LOG, "drop", a_run())
    assert draft.frame.collect_schema().names() == COLUMNS
    assert dict(draft.frame.collect_schema()) == {name: QUERIES.schema[name] for name in COLUMNS}
    assert rows_of(draft.frame, "row", "user", "query") == [
        (row, None, query) for row, query in enumerate(["tea", "tea", "rum", "beer", "tea", "wine"])
    ]
    assert dict(draft.subjects.collect_schema()) == SUBJECTS
    assert rows_of(draft.subjects) == [(user, None, None) for user in "abc"]
    assert draft.warnings == ()


def test_one_name_for_each_person():
    draft = rename_subjects(KEPT, LOG, "pseudonym", a_run())
    a, b = _names(["a", "b"])
    assert draft.frame.collect_schema().names() == COLUMNS
    assert rows_of(draft.frame, "user") == [(b,), (a,), (a,), (a,), (None,), (b,)]
    assert rows_of(draft.frame, "query") == rows_of(KEPT, "query")
    assert dict(draft.subjects.collect_schema()) == SUBJECTS
    # Somebody of whom nothing is released is in the record, without a name.
    assert rows_of(draft.subjects) == [("a", a, None), ("b", b, None), ("c", None, None)]
    assert draft.warnings == (PERSON_COST,)


def test_one_name_for_each_session():
    draft = rename_subjects(KEPT, LOG, "session", a_run())
    a0, a1, b0 = _names(["a\0" + "0", "a\0" + "1", "b\0" + "0"])
    assert draft.frame.collect_schema().names() == COLUMNS
    # A pause of 30 minutes is survived, one of 31 is not; a row without a time is in the first session.
    assert rows_of(draft.frame, "user") == [(b0,), (a0,), (a0,), (a1,), (None,), (b0,)]
    assert dict(draft.subjects.collect_schema()) == SUBJECTS
    assert sorted(rows_of(draft.subjects), key=str) == sorted(
        [("a", a0, None), ("a", a1, None), ("b", b0, None), ("c", None, None)], key=str
    )
    assert draft.warnings == (SESSION_COST.format(30),)


def test_one_name_for_each_day():
    log = _log(("a", 0, "tea"), ("a", 719, "rum"), ("a", 721, "tea"), ("b", 0, "tea"), ("b", None, "tea"))
    draft = rename_subjects(log, log, "day", a_run())
    day = (NOON - datetime(1970, 1, 1)).days
    a0, a1, b0 = _names([f"a\0{day}", f"a\0{day + 1}", f"b\0{day}"], taken="ab")
    # A row without a time belongs to no day, and has no name.
    assert rows_of(draft.frame, "user") == [(a0,), (a0,), (a1,), (b0,), (None,)]
    assert draft.frame.collect_schema().names() == COLUMNS
    assert "everything one person asked on a day" in draft.warnings[0]


def test_a_few_queries_in_a_row_have_one_name():
    rows = [("a", 0, "tea"), ("a", 5, "rum"), ("a", 5, "rum"), ("a", 9, "gin"), ("a", 39, "gin"), ("a", 40, "gin")]
    log = _log(*rows, ("b", 0, "tea"), ("b", None, "tea"), (None, 0, "tea"))
    draft = rename_subjects(log, log, "mini", a_run(), link_queries=2, link_minutes=30)
    a0, a1, a2, b0 = _names(["a\0" + "0", "a\0" + "1", "a\0" + "2", "b\0" + "0"], taken="ab")
    assert rows_of(draft.frame, "user") == [(a0,), (a0,), (a0,), (a1,), (a1,), (a2,), (b0,), (None,), (None,)]
    assert draft.frame.collect_schema().names() == COLUMNS
    assert draft.warnings[0].startswith(
        "Rows are linked in small units: up to 2 queries that one person asked within 30 minutes can be read together."
    )


MINUTES = st.one_of(st.none(), st.integers(0, 90))
TYPED = st.lists(st.tuples(st.sampled_from([None, *"ab"]), MINUTES, st.sampled_from("tuvw")), max_size=30)


@given(TYPED, st.integers(1, 4), st.sampled_from([1, 10, 30]))
def test_a_few_queries_are_the_plain_ones(typed, queries, minutes):
    """Of the rows that are left, by the times that they had; rows may say less of these by now."""
    log = _log(*typed, ("c", 0, "t"))
    silent = log.frame.filter(pl.col("query") != "w").with_columns(pl.lit(None, QUERIES.schema["time"]).alias("time"))
    draft = rename_subjects(
        replace(log, frame=silent), log, "mini", a_run(), link_queries=queries, link_minutes=minutes
    )  # fmt: skip
    kept = [(user, _at(at), query) for user, at, query in [*typed, ("c", 0, "t")] if query != "w"]
    names = [name for (name,) in rows_of(draft.frame, "user")]
    pairs = set(zip(reference.few_queries(kept, queries, minutes), names, strict=True))
    units = [unit for unit, _ in pairs]
    assert len(units) == len(set(units)) == len({name for _, name in pairs})
    assert all((unit is None) == (name is None) for unit, name in pairs)


def test_sessions_are_those_before_rows_were_left_out():
    log = _log(("a", 0, "tea"), ("a", 25, "rum"), ("a", 50, "tea"), ("a", 81, "tea"))
    kept = replace(log, frame=log.frame.filter(pl.col("query") == "tea"))
    a0, a1 = _names(["a\0" + "0", "a\0" + "1"])
    assert rows_of(rename_subjects(kept, log, "session", a_run()).frame, "row", "user") == [(0, a0), (2, a0), (3, a1)]


def test_sessions_that_were_numbered_are_kept():
    log = log_of(
        ("user", "time", "query", "session"),
        *(("a", _at(minutes), "tea", session) for minutes, session in ((0, 3), (1, 4), (500, 4))),
        ("b", NOON, "tea", 3),
        steps=("lowercase", "sessions(minutes=10)"),
    )
    draft = rename_subjects(log, log, "session", a_run())
    a3, a4, b3 = _names(["a\0" + "3", "a\0" + "4", "b\0" + "3"])
    assert rows_of(draft.frame, "user") == [(a3,), (a4,), (a4,), (b3,)]
    assert draft.frame.collect_schema().names() == COLUMNS
    assert draft.warnings == (SESSION_COST.format(10),)


def test_the_minutes_are_those_of_the_whole_log():
    numbered = _log(("a", 0, "tea"), steps=("sessions(minutes=7)",))
    draft = rename_subjects(replace(numbered, history=()), numbered, "session", a_run())
    assert draft.warnings == (SESSION_COST.format(7),)


@pytest.mark.parametrize("users", ["session", "pseudonym"])
def test_no_new_name_is_that_of_somebody_in_the_whole_log(users):
    label = {"session": "a\0" + "0", "pseudonym": "a"}[users]
    (drawn,) = _names([label], taken="")
    log = _log(("a", 0, "tea"), (drawn, 0, "rum"))
    kept = replace(log, frame=log.frame.filter(pl.col("query") == "tea"))
    draft = rename_subjects(kept, log, users, a_run())
    ((name,),) = rows_of(draft.frame, "user")
    assert name != drawn
    assert [name] == _names([label], taken=["a", drawn])


def test_names_do_not_depend_on_the_order_of_rows():
    backwards = replace(LOG, frame=LOG.frame.reverse())
    for users in ("session", "pseudonym"):
        there, back = (rename_subjects(log, log, users, a_run(seed=5)) for log in (LOG, backwards))
        assert rows_of(there.frame) == rows_of(back.frame)


def test_a_log_of_nobody():
    log = _log((None, 0, "tea"))
    for users in ("drop", "session", "pseudonym"):
        draft = rename_subjects(log, log, users, a_run())
        assert rows_of(draft.frame, "user", "query") == [(None, "tea")]
        assert draft.subjects.collect().height == 0


def test_what_methods_may_be_asked_for():
    for kind, names in ((Users, ("drop", "mini", "session", "day", "pseudonym")), (Attrs, ("common", "keep", "drop"))):
        base, choice, words = get_args(kind)
        assert base is str
        assert all(choice.accepts(name, str) for name in names)
        assert not choice.accepts("other", str)
        assert words


@pytest.mark.parametrize("users", ["drop", "session", "pseudonym"])
def test_the_record_lists_people_in_the_order_of_their_ids(users):
    many = _log(*((f"u{n:02}", 90 * session, "tea") for n in range(30) for session in range(2)))
    subjects = rename_subjects(many, many, users, a_run()).subjects.collect()
    assert subjects.equals(subjects.sort("original", "released"))
