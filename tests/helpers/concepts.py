"""A small taxonomy in which some words mean several things, and random users who search for them."""

import polars as pl
from hypothesis import strategies as st

from coterie.core import randomness
from tests.helpers.concept_reference import Reference
from tests.helpers.small_trees import from_paths

SEED = 5
TREE = from_paths([
    ["world", "nature", "animal", "dog"], ["world", "nature", "animal", "cat"], ["world", "nature", "river", "bank"],
    ["world", "nature", "animal", "dog", "poodle", "toy"], ["world", "money", "bank"],
    ["world", "money", "bank", "loan"], ["world", "money", "port"],
    ["world", "drink", "wine", "port"], ["world", "drink", "wine", "claret"],
    ["world", "drink", "wine"], ["world", "sport"],
])  # fmt: skip
QUERIES = ["world", "nature", "animal", "dog", "dogs", "cat", "bank", "river bank", "loan", "old port", "port", "wine",
           "claret", "poodle", "toy", "sport", "xyzzy", "plugh", "the", "cheap dog", "red wine",
           "quux dog xyzzy"]  # fmt: skip
users = st.lists(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=8), min_size=2, max_size=17)


def keys(purpose, subjects):
    return randomness.keys(SEED, purpose, subjects)


def reference_of(queries, tree, categories, keys=keys):
    """The plain version for these queries."""
    distinct = pl.Series(sorted(set(queries)))
    means = {query: [] for query in distinct}
    for query, concept in tree.classify(distinct, unit="query", categories=categories).terms.select(
        "query", "concept"
    ).rows():  # fmt: skip
        means[distinct[query]].append(("concept", concept))

    def place(name):
        kind, value = name
        purpose = "tie between concepts" if kind == "concept" else "tie between queries"
        return int(keys(purpose, pl.Series([str(value)]))[0])

    return Reference(tree.parent, {q: tuple(found) or (("query", q),) for q, found in means.items()}, place)


def frame_of(people):
    rows = [(f"u{i:02}", query) for i, queries in enumerate(people) for query in queries]
    return pl.DataFrame(rows, schema=["user", "query"], orient="row")
