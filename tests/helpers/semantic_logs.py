"""Random logs of words that WordNet knows, and of some it does not."""

from functools import cache

import polars as pl
from hypothesis import strategies as st

import coterie
from coterie import taxonomies
from coterie.core.shapes import QUERIES

WORDS = ["dog", "cats", "new york hotels", "piano", "train", "bank loan", "weather", "qzx", "天气", "the", "qzx wyv"]
rows = st.tuples(st.integers(0, 12), st.sampled_from(WORDS))


def log_of(pairs):
    frame = pl.DataFrame(
        [(f"user{user}", None, query, None, None) for user, query in pairs],
        schema={name: QUERIES.schema[name] for name in QUERIES.released},
        orient="row",
    )
    return coterie.log(frame)


logs = st.lists(rows, min_size=8, max_size=60).filter(lambda pairs: len({u for u, _ in pairs}) >= 4)


@cache
def paths(query, unit, categories):
    """The concepts of a query, each as its path from below the root."""
    tree = taxonomies.load("wordnet")
    found = []
    for concept in tree.classify(pl.Series([query]), unit=unit, categories=categories).terms["concept"]:
        path = []
        while concept > 0:
            path.append(int(concept))
            concept = tree.parent[concept]
        found.append(path[::-1])
    return found
