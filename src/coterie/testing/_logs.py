"""Hand-made logs of a few rows. Nothing here is real.

Larger made-up logs, drawn at random from a fixed seed: what hand-made logs of six people are too small to show.

Many people search for few things and few for many. Each number of people from one to six stands behind some item; and
beside each of these is an item with rows of nobody as well, which tip the scale where they are counted as a person.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

import polars as pl

from coterie.core.log import Log, Step
from coterie.core.shapes import QUERIES, TERMS, VISITS, Shape

_START = datetime(2020, 2, 3, 9, 0, 0)

# user, minutes after the start, query, rank, url
_QUERIES = [
    ("ann", 0, "weather", 1, "http://sky.example"),
    ("ann", 1, "weather", 2, "http://rain.example"),
    ("ann", 50, "bread recipe", None, None),
    ("ann", 55, "bread recipe without yeast", None, None),
    ("bob", 3, "weather", 1, "http://sky.example"),
    ("bob", 4, "bread recipe", 1, "http://oven.example"),
    ("bob", 1500, "ships of glass", None, None),
    ("cyd", 9, "weather", 1, "http://sky.example"),
    ("cyd", 10, "maps", None, None),
    ("cyd", 70, "bread recipe", 3, "http://oven.example"),
    ("dan", 20, "maps", 1, "http://atlas.example"),
    ("dan", 21, "weather", None, None),
    ("dan", 22, "tide tables north", 7, "http://moon.example"),
    ("dan", 23, "tide tables north", None, None),
    ("dan", 24, "tide tables north", None, None),
    ("eve", 32, "tide tables north", None, None),
    ("eve", 33, "maps", 1, "http://atlas.example"),
    ("eve", 34, "weather", 1, "http://sky.example"),
    ("eve", 2000, "bread recipe", 1, "http://oven.example"),
    ("fay", 40, "maps", 2, "http://globe.example"),
    ("fay", 41, "weather", 4, "http://snow.example"),
    ("fay", 41, "weather", 5, "http://hail.example"),
    (None, 60, "weather", None, None),
    (None, 61, "lost rows", None, None),
]

# doc, owner, terms with their weights
_TERMS = [
    ("a.txt", "ann", {"weather": 0.4, "rain": 0.3, "bread": 0.2, "glass": 0.1}),
    ("b.txt", "bob", {"weather": 0.5, "rain": 0.3, "ship": 0.2}),
    ("c.txt", "cyd", {"weather": 0.4, "snow": 0.3, "rain": 0.2, "map": 0.1}),
    ("d.txt", "dan", {"map": 0.5, "ship": 0.25, "tide": 0.25}),
    ("e.txt", "eve", {"map": 0.4, "ship": 0.3, "tide": 0.2, "moon": 0.1}),
    ("f.txt", "ann", {"map": 0.6, "tide": 0.3, "weather": 0.1}),
    ("g.txt", "fay", {"bread": 0.5, "oven": 0.3, "yeast": 0.2}),
]


def queries_log() -> Log:
    """A search log of six people and 24 rows."""
    rows = [
        (number, user, _START + timedelta(minutes=minutes), query, rank, url)
        for number, (user, minutes, query, rank, url) in enumerate(_QUERIES)
    ]
    return log_of(rows, QUERIES)


def log_of(rows: Sequence[tuple[object, ...]], shape: Shape) -> Log:
    """A log of rows that begin with their number."""
    schema = {name: shape.schema[name] for name in ("row", *shape.released)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return Log(frame=frame.lazy(), shape=shape, history=(Step(name="read"),))


def visits_log() -> Log:
    """An access log of the same people."""
    rows = [
        (number, user, f"10.0.0.{number % 7}", _START + timedelta(minutes=minutes), "GET",
         "/" + query.replace(" ", "/"), 200 if rank is None else 304, 100 * (rank or 1),
         url, f"Browser/{number % 5}")
        for number, (user, minutes, query, rank, url) in enumerate(_QUERIES)
    ]  # fmt: skip
    return log_of(rows, VISITS)


def terms_log(owned: bool = False) -> Log:
    """Seven documents as vectors of terms; `owned`: with their six owners."""
    rows = [(doc, term, weight, owner) for doc, owner, terms in _TERMS for term, weight in terms.items()]
    frame = pl.LazyFrame(rows, schema=TERMS.schema, orient="row")
    return Log(frame=frame if owned else frame.drop(TERMS.owner), shape=TERMS, history=(Step(name="read"),))


# --- larger logs ------------------------------------------------------------------------------------


_FROM = datetime(2020, 2, 3, 6)
_PEOPLE = 30
_EDGES = range(1, 7)
_THINGS = ("bread", "cake", "train", "boat", "river", "mountain", "dog", "cat", "doctor", "teacher", "guitar", "piano",
           "apple", "pear", "coffee", "tea", "lamp", "chair", "window", "garden")  # fmt: skip
_PLACES = ("market", "museum", "school", "harbor", "theater", "library")
_AGENTS = ("Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0",
           "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36")  # fmt: skip


def _asked() -> list[tuple[str | None, int, str]]:
    """Who, how many minutes after the start, and what: two words."""
    rng = random.Random("a larger log")  # noqa: S311 (made-up rows, not secrets)
    people = [f"person {number:02}" for number in range(_PEOPLE)]
    common = [f"{thing} {place}" for place in _PLACES[:2] for thing in _THINGS[:12]]
    rows: list[tuple[str | None, int, str]] = []
    for person in people:
        for _ in range(rng.choice((3, 6, 6, 14))):
            item = common[min(int(rng.expovariate(0.2)), len(common) - 1)]
            rows += [(person, rng.randrange(4000), item)] * rng.choice((1, 1, 1, 2))
    for size in _EDGES:
        for nobody in (False, True):
            item = f"{_THINGS[11 + size]} {_PLACES[2 + nobody]}"
            rows += [(person, rng.randrange(4000), item) for person in rng.sample(people, size)]
            rows += [(None, rng.randrange(4000), item)] * (2 * nobody)
    rng.shuffle(rows)
    return rows


@cache
def larger_log(shape: Shape) -> Log:
    """A log of thirty people, or of as many documents, of one of the shapes that are read."""
    rng = random.Random("details of it")  # noqa: S311 (made-up rows, not secrets)
    rows = _asked()
    frame = pl.DataFrame({
        "row": pl.Series(range(len(rows)), dtype=pl.UInt64),
        "user": [who for who, _, _ in rows],
        "time": [_FROM + timedelta(minutes=minutes) for _, minutes, _ in rows],
        "query": [item for _, _, item in rows],
    })  # fmt: skip
    if shape is QUERIES:
        ranks = [rng.choice((None, 1, 2, 3)) for _ in rows]
        urls = [
            rank and f"http://{item.split()[0]}.example/{rank}" for rank, (_, _, item) in zip(ranks, rows, strict=True)
        ]
        frame = frame.with_columns(pl.Series("rank", ranks, pl.Int32), pl.Series("url", urls, pl.String))
    elif shape is VISITS:
        agents = [_AGENTS[sum(map(ord, who or "")) % 2] for who, _, _ in rows]
        frame = frame.select(
            "row", "user", pl.lit("192.0.2.7").alias("address"), "time", pl.lit("GET").alias("method"),
            (pl.lit("/") + pl.col("query").str.replace(" ", "/")).alias("path"),
            pl.Series("status", [rng.choice((200, 304)) for _ in rows], pl.Int16),
            pl.Series("bytes", [rng.choice((100, 200)) for _ in rows], pl.Int64),
            pl.lit("https://search.example/").alias("referrer"), pl.Series("agent", agents),
        )  # fmt: skip
    elif shape is TERMS:
        words = frame.drop_nulls("user").select(
            pl.col("user").alias("doc"), pl.col("query").str.split(" ").alias("term")
        )
        frame = words.explode("term").group_by("doc", "term", maintain_order=True).len()
        frame = frame.select("doc", "term", (pl.col("len") / 16).alias("weight"))
    else:
        raise ValueError(f"no log of the shape {shape.name} is read from files")
    return Log(frame=frame.lazy(), shape=shape, history=(Step(name="read", counts={"lines": frame.height}),))
