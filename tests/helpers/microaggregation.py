"""Random users with events, as rows, as the plain version takes them, and as arrays."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import strategies as st

from coterie.algorithms.events import EVENT_ORDER, Scales, encode
from coterie.algorithms.kernels import hausdorff
from coterie.core import randomness
from coterie.core.arrays import splitmix64
from coterie.core.shapes import QUERIES
from tests.helpers.runs import a_run

SEED = 5
START = datetime(1969, 12, 31, 23, 59)
LONG = "ab" * 40
WORDS = ["a", "b", "ab", "ba", "aba", "maps", "map", "天气", "天", "ärger", LONG, LONG + "x", "x" + LONG[:-3] + "yy"]
words = st.one_of(st.sampled_from(WORDS), st.text(min_size=1, max_size=70).map(lambda w: w.replace(" ", "_")))
queries = st.one_of(
    st.sampled_from(["", " ", "maps", "maps maps", "map  ab"]), st.lists(words, min_size=1, max_size=4).map(" ".join)
)
URLS = ["http://www.x.org/a", "https://X.org:80", "y.org", "a.b.c.y.org", "com", "http://", "me@x.com", "[::1]:80"]
events = st.tuples(
    st.one_of(st.none(), st.integers(0, 4), st.integers(0, 200_000)).map(
        lambda s: None if s is None else START + timedelta(seconds=s)
    ),
    queries,
    st.one_of(st.none(), st.integers(1, 4), st.integers(1, 500)),
    st.one_of(st.none(), st.sampled_from(URLS)),
)


@st.composite
def people(draw, least=2, most=13):
    """Rows (user, time, query, rank, url); some users are alike."""
    profiles = draw(st.lists(st.lists(events, min_size=1, max_size=5), min_size=1, max_size=5))
    owners = draw(st.lists(st.integers(0, len(profiles) - 1), min_size=least, max_size=most))
    extra = draw(st.lists(st.tuples(st.integers(0, len(owners) - 1), events), max_size=6))
    rows = [(f"u{i}", *event) for i, which in enumerate(owners) for event in profiles[which]]
    return rows + [(f"u{i}", *event) for i, event in extra]


def frame_of(rows):
    schema = {name: QUERIES.schema[name] for name in QUERIES.released}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("user", *EVENT_ORDER)


def users_of(frame):
    """The log as the plain version takes it."""
    users = {}
    for user, time, query, rank, url in frame.rows():
        seconds = (
            None
            if time is None
            else int((time.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1))
        )
        users.setdefault(user, []).append((seconds, query, rank, url))
    return list(users.items())


def keys(purpose, subjects):
    return randomness.keys(SEED, purpose, subjects)


def priority(user, query):
    u = keys("tie between users", pl.Series([user]))
    if query is None:
        return int(u[0])
    return int(splitmix64(u ^ keys("tie between queries", pl.Series([query])))[0])


def scales_of(frame):
    """The scales of the rows of users."""
    return Scales.of_rows(frame.lazy().drop_nulls("user"), a_run())


def encoded(frame, eq1="text", busy=hausdorff.BUSY):
    return encode(frame, scales_of(frame), keys, eq1, busy)
