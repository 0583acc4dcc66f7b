"""Random logs: as many users as were asked for, and now and then everything that is odd."""

from hypothesis import find, given
from hypothesis import strategies as st

from coterie.core.shapes import QUERIES
from coterie.testing import strategies


@given(st.data(), st.integers(0, 8))
def test_a_log_has_the_users_that_were_asked_for(data, least):
    log = data.draw(strategies.logs(min_users=least, max_rows=5))
    rows = log.frame.collect()
    QUERIES.check(log.frame)
    assert rows["user"].drop_nulls().n_unique() >= least
    assert 1 <= rows.height <= 5 + least
    assert rows["row"].to_list() == list(range(rows.height))
    assert rows["query"].null_count() == 0


def test_odd_logs_are_drawn():
    odd = (
        lambda rows: rows["user"].null_count() > 0,
        lambda rows: rows.select("user", "time", "query").is_duplicated().any(),
        lambda rows: rows["query"].str.contains("[^ -~]").any(),
    )
    for wanted in odd:
        find(strategies.logs(), lambda log, wanted=wanted: wanted(log.frame.collect()))
