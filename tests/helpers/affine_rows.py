"""Random logs in which many queries are affine."""

import random

import polars as pl
from hypothesis import strategies as st

from coterie.core.log import Log
from coterie.core.shapes import QUERIES

_WORDS = ("cell", "phone", "case", "nokia", "the", "of", "天气", "ärger", "x", "😀")
_QUERIES = st.lists(st.sampled_from(_WORDS), min_size=0, max_size=6).map(" ".join)
_ODD = st.sampled_from(["", " ", "  cell  phone ", "cell phone\xa0case", "once", "cell " * 60 + "x", "the of"])
_ODD_ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from("abcdefgh")),
        st.one_of(st.none(), st.integers(0, 3)),
        st.one_of(_QUERIES, _QUERIES, _QUERIES, _ODD),
    ),
    min_size=1,
    max_size=60,
)


def crowded_rows(seed):
    """Some people who ask for few things in many ways: most of their queries are affine to others."""
    draw = random.Random(seed)
    words = draw.sample(_WORDS, draw.randint(3, 6))
    queries = [" ".join(draw.choices(words, k=draw.randint(1, 4))) for _ in range(draw.randint(5, 14))]
    people = "abcdefgh"[: draw.randint(3, 8)]
    times = (None, 0, 1)
    return [(draw.choice(people), draw.choice(times), draw.choice(queries)) for _ in range(draw.randint(15, 60))]


ROWS = st.one_of(_ODD_ROWS, st.integers(0, 2**32 - 1).map(crowded_rows))
FUNCTION_WORDS = st.sampled_from([frozenset(), frozenset({"the", "of"}), frozenset({"cell", "phone", "天气"})])
THETAS = st.sampled_from([0.3, 0.5, 0.7, 0.8, 0.9, 1.0])


def log_of(rows):
    numbered = [(at, user, time, query, None, None) for at, (user, time, query) in enumerate(rows)]
    schema = {name: QUERIES.schema[name] for name in ("row", *QUERIES.released)}
    frame = pl.DataFrame(numbered, schema={**schema, "time": pl.Int64}, orient="row")
    return Log(frame=frame.with_columns(pl.col("time").cast(schema["time"])).lazy(), shape=QUERIES)
