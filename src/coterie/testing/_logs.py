"""Hand-made logs of a few rows. Nothing here is real."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from coterie.core.log import Log, Step
from coterie.core.shapes import QUERIES, TERMS, VISITS

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
    schema = {name: QUERIES.schema[name] for name in ("row", *QUERIES.released)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return Log(frame=frame.lazy(), shape=QUERIES, history=(Step(name="read"),))


def visits_log() -> Log:
    """An access log of the same people."""
    rows = [
        (number, user, f"10.0.0.{number % 7}", _START + timedelta(minutes=minutes), "GET",
         "/" + query.replace(" ", "/"), 200 if rank is None else 304, 100 * (rank or 1),
         url, f"Browser/{number % 5}")
        for number, (user, minutes, query, rank, url) in enumerate(_QUERIES)
    ]  # fmt: skip
    schema = {name: VISITS.schema[name] for name in ("row", *VISITS.released)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return Log(frame=frame.lazy(), shape=VISITS, history=(Step(name="read"),))


def terms_log(owned: bool = False) -> Log:
    """Seven documents as vectors of terms; `owned`: with their six owners."""
    rows = [(doc, term, weight, owner) for doc, owner, terms in _TERMS for term, weight in terms.items()]
    frame = pl.DataFrame(rows, schema=TERMS.schema, orient="row")
    return Log(
        frame=(frame if owned else frame.drop(TERMS.owner)).lazy(), shape=TERMS, history=(Step(name="read"),)
    )  # fmt: skip
