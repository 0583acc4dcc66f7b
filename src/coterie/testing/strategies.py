"""Hypothesis strategies: random logs that are small, full of ties, nulls and odd text."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import strategies as st

from coterie.core.log import Log
from coterie.core.shapes import QUERIES
from coterie.testing._logs import log_of

_WORDS = ("a", "b", "maps", "weather", "-", "ärger", "天气", "o'neill", 'say "hi"', "x,y", "007", "null")
_START = datetime(2020, 2, 3)


queries = st.one_of(
    st.sampled_from(_WORDS),
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join),
    st.text(min_size=1, max_size=8),
)
rows = st.tuples(
    st.one_of(st.none(), st.sampled_from([f"user{n}" for n in range(8)])),
    st.one_of(st.none(), st.integers(0, 5000).map(lambda count: _START + timedelta(minutes=count))),
    queries,
    st.one_of(st.none(), st.integers(1, 20)),
    st.one_of(st.none(), st.sampled_from(["http://a.example", "http://b.example", "c.example"])),
)
"""user, time, query, rank, url"""


@st.composite
def logs(draw: st.DrawFn, min_users: int = 0, max_rows: int = 40) -> Log:
    """A search log with at least `min_users` users."""
    drawn = draw(st.lists(rows, min_size=1, max_size=max_rows))
    drawn += [(f"user{n}", None, draw(queries), None, None) for n in range(min_users)]
    numbered = [(number, *row) for number, row in enumerate(drawn)]
    return log_of(numbered, QUERIES)
