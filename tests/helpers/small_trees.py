"""Small taxonomies: random ones, and those of some paths."""

import numpy as np
import polars as pl
from hypothesis import strategies as st

from coterie.taxonomies import Taxonomy
from coterie.taxonomies.build import Categories, from_categories
from coterie.taxonomies.lexicon import Lexicon
from tests.helpers import generalize_reference as plain


def tree_of(parent):
    """A tree whose concept c is what the word w<c> means, with labels that several concepts share."""
    n = len(parent)
    lexicon = Lexicon(
        words=pl.Series("word", [f"w{c:03}" for c in range(n)]),
        form_start=np.arange(n + 1),
        form_words=np.arange(n, dtype=np.int32),
        sense_start=np.arange(n + 1),
        senses=np.arange(n, dtype=np.int32),
        stemmed=False,
        irregular=pl.DataFrame(schema={"word": pl.String, "base": pl.Int32}),
    )
    labels = pl.Series(
        "text", [("root", "thing", "thing (1)", f"kind {c}")[min(c, 3) if c % 5 else c % 3] for c in range(n)]
    )
    return Taxonomy(name="tiny", parent=np.array(parent, dtype=np.int32), labels=labels, lexicon=lexicon)


@st.composite
def trees(draw, most=14):
    """Parents of concepts that are numbered by depth."""
    free = [-1] + [draw(st.integers(0, c - 1)) for c in range(1, draw(st.integers(1, most)))]
    depth = [len(plain.way(free, c)) for c in range(len(free))]
    order = sorted(range(len(free)), key=lambda c: (depth[c], depth[free[c]] if c else 0, c))
    # Within a depth any order will do, but parents come before children.
    number = {old: new for new, old in enumerate(order)}
    return [-1 if free[old] < 0 else number[free[old]] for old in order]


def from_paths(paths, name="paths"):
    """The tree of some paths, each the labels from the root to a category."""
    categories = Categories()
    for path in paths:
        categories.add_path(path)
    return from_categories(categories, name).tree
