"""Whom to count: rows before a window are of nobody."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.errors import InputError
from coterie.methods.allowlist import Allowlist
from coterie.methods.suppress_rare import SuppressRare
from coterie.releasing.names import within
from tests.helpers import reference
from tests.helpers import word_sets_reference as plain
from tests.helpers.hand_made import log_of

LAST = datetime(2026, 3, 31, 12)


def _log(rows):
    times = ((user, query, None if ago is None else LAST - timedelta(hours=ago)) for user, query, ago in rows)
    return log_of([{"user": user, "query": query, "time": time} for user, query, time in times])


def test_rows_before_the_window_are_of_nobody():
    log = _log([("a", "tea", 0), ("b", "tea", 47), ("c", "tea", 48), ("d", "tea", None)])
    assert within(log, "2d").to_polars()["user"].to_list() == ["a", "b", None, None]
    assert within(log, "all") is log


def test_without_times_there_is_no_window():
    with pytest.raises(InputError, match="without times there is no window"):
        within(_log([("a", "tea", None)]), "2d")


HOURS = st.one_of(st.none(), st.integers(1, 100))
ROWS = st.lists(st.tuples(st.sampled_from([None, *"abcd"]), st.sampled_from(["t", "t u", "u v", "t u v"]), HOURS))


@given(ROWS, st.sampled_from([1, 24, 60]))
def test_methods_count_as_the_plain_rules_do(rows, hours):
    rows = [*rows, *((user, "end", 0) for user in "abc")]
    counted = [(user if ago is not None and ago < hours else None, query) for user, query, ago in rows]
    log, window = _log(rows), f"{hours}h"
    released = set(coterie.anonymize(log, SuppressRare(k=2, window=window), seed=1).to_polars()["query"])
    assert released == {query for query, users in reference.degrees(counted).items() if users >= 2}
    released = set(coterie.anonymize(log, Allowlist(k=2, window=window), seed=1).to_polars()["query"])
    assert released == plain.allowed(counted, 2, 2, 10)
