"""What is in a taxonomy, and how much of a log it covers: numbers only, as name, key, value, unit."""

from __future__ import annotations

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.taxonomies import Taxonomy
from coterie.taxonomies.lexicon import Unit

_SCHEMA = {"name": pl.String, "key": pl.String, "value": pl.Float64, "unit": pl.String}


def describe(tree: Taxonomy) -> pl.DataFrame:
    """The size of a taxonomy."""
    lexicon = tree.lexicon
    rows = [
        ("taxonomy", "concepts", len(tree), "concepts"),
        ("taxonomy", "leaves", int(tree.leaves[0]), "concepts"),
        ("taxonomy", "depth", tree.height, "levels"),
        ("taxonomy", "words", len(lexicon.words), "words"),
        ("taxonomy", "forms", lexicon.form_start.size - 1, "forms"),
        ("taxonomy", "senses", lexicon.senses.size, "senses"),
    ]
    sizes = np.bincount(tree.depth).tolist()
    rows += [("taxonomy", f"level_{level}", size, "concepts") for level, size in enumerate(sizes)]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def cover(log: Log, tree: Taxonomy, *, unit: Unit = "term", categories: int = 1, phrases: bool = True) -> pl.DataFrame:
    """How much of a log a taxonomy knows, and down to which level (paper 003, figure 2)."""
    item = pl.col(log.shape.item).alias("item")
    counted = log.frame.select(item).drop_nulls().group_by("item").len("rows").collect(engine="streaming").sort("item")
    rows = counted["rows"].to_numpy().astype(np.int64)
    classified = tree.classify(counted["item"], unit=unit, categories=categories, phrases=phrases)
    shares = [
        ("coverage", "unmapped.distinct_queries", 100 * classified.unmapped_share(), "%"),
        ("coverage", "unmapped.queries", 100 * classified.unmapped_share(rows), "%"),
    ]
    for level, terms, queries in tree.coverage(classified, rows).iter_rows():
        shares += [
            ("coverage", f"level_{level}.terms", 100 * terms, "%"),
            ("coverage", f"level_{level}.queries", 100 * queries, "%"),
        ]
    return pl.DataFrame(shares, schema=_SCHEMA, orient="row")
