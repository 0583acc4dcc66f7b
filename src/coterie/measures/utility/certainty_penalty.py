"""Normalized certainty penalty (NCP): how much of the words of the log the release leaves uncertain.

Each word of each row of the original costs between 0 and 1: 0 where it is released as it was typed, 1 where its query
was left out. NCP = sum of the costs / T, T = words of the original with repetitions, so 0 is a release of
everything and 1 of nothing. Rows are counted; with the prepare step `events`, searches are.

Where concepts are released in place of queries, a word whose concept is at or below the released one (of several, the
most specific) costs leaves below the released concept / leaves of the taxonomy, and 0 if that is one leaf. A word that
the taxonomy does not know, or that is not below, costs 1. Then there are also `terms.matched`, the words that the
taxonomy knows, and `ncp.matched`, the penalty of these alone. It must know what became what: the run record.

Otherwise it is for releases that only leave queries out: where a query is released more often than it was typed, there
is no word to compare it with.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie import taxonomies
from coterie.core.scores import Score
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import with_all_above
from coterie.taxonomies import Taxonomy
from coterie.text.words import words

needs: frozenset[str] = frozenset()
SHOWN = {
    "ncp": titled(
        "Certainty penalty (NCP)",
        "How much of the words of the log the release leaves out or makes less specific, from 0 (nothing) to 1 "
        "(all). Lower is more useful.",
        before="0 of 1",
    ),
}
figures = figures_in("utility", 40, SHOWN)
RELEASED, SUPPRESSED = 0.0, 1.0
"""What a word costs that is released as it is, and one that is not released."""


def measure(comparison: Comparison) -> Iterator[Score]:
    """The penalty of the log, T, and the number of words left out."""
    comparison.require_shape(QUERIES, "It counts the words of queries")
    concepts = comparison.has_concepts
    costs = _concept_costs(comparison) if concepts else _query_costs(comparison)
    total = int(costs["occurrences"].sum())
    yield Score("ncp", _mean(costs), "of 1")
    yield Score("terms", total, "words")
    yield Score("terms.suppressed", int(costs.filter(pl.col("penalty") == SUPPRESSED)["occurrences"].sum()), "words")
    if concepts:
        matched = costs.filter("matched")
        yield Score("terms.matched", int(matched["occurrences"].sum()), "words")
        yield Score("ncp.matched", _mean(matched), "of 1")


def _mean(costs: pl.DataFrame) -> float | None:
    total = int(costs["occurrences"].sum())
    return float((costs["occurrences"] * costs["penalty"]).sum()) / total if total else None


def _query_costs(comparison: Comparison) -> pl.DataFrame:
    if comparison.about_subjects:
        raise NotApplicableError("It is about releases that only leave queries out, and this one has common profiles.")
    return costs_of(*(items.rename({"n": "rows"}) for items in (comparison.items_before, comparison.items_after)))


def costs_of(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """occurrences, penalty: how many words of the original cost how much. Both tables: item, rows."""
    both = before.join(after, on="item", how="full", coalesce=True, suffix="_after").fill_null(0)
    kept, lost = pl.col("rows_after"), pl.col("rows") - pl.col("rows_after")
    if (both["rows_after"] > both["rows"]).any():
        raise NotApplicableError(
            "It is about releases that only leave queries out, and this one has queries more often than the original."
        )
    terms = words(pl.col("item")).list.eval(pl.element() != "").list.sum()
    return pl.concat(
        both.select((terms * rows).sum().cast(pl.Int64).alias("occurrences"), pl.lit(penalty).alias("penalty"))
        for rows, penalty in ((kept, RELEASED), (lost, SUPPRESSED))
    )


def _concept_costs(comparison: Comparison) -> pl.DataFrame:
    """occurrences, penalty, matched for a release of concepts."""
    record, by_query = comparison.release.record, not comparison.about_subjects
    if record is None or (by_query and record.rows is None):
        raise NotApplicableError("It must know which query became which concept. Give the run record: --record DIR.")
    if by_query:
        became = comparison.released.select(pl.col("item").alias("owner")).with_row_index("released_row")
        rows = comparison.original.join(comparison.rows, on="row", how="left").join(
            became, on="released_row", how="left"
        )
        sets = became.select("owner", pl.col("owner").alias("name")).unique()
    else:
        names = comparison.names.rename({"original": "subject", "released": "owner"})
        rows = comparison.original.join(names, on="subject", how="left")
        sets = comparison.released.select(pl.col("subject").alias("owner"), pl.col("item").alias("name")).unique()
    asked = rows.group_by("item", "owner").agg(pl.len().cast(pl.Int64).alias("rows"))
    parameters = record.run["parameters"]
    tree = taxonomies.load(parameters["taxonomy"])
    return concept_costs(asked, sets, tree, stop_words=not parameters.get("paper_compat", False))


def concept_costs(asked: pl.DataFrame, sets: pl.DataFrame, tree: Taxonomy, stop_words: bool) -> pl.DataFrame:
    """occurrences, penalty, matched: how many words, known to the taxonomy or not, cost how much.

    `asked` (item, owner, rows): how often queries were asked, and whose set of released concepts stands for them, or
    null; `sets` (owner, name): these sets.
    """
    items = asked.select(pl.col("item").unique().sort()).with_columns(
        pl.int_range(pl.len(), dtype=pl.Int32).alias("query")
    )
    terms = tree.classify(items["item"], stop_words=stop_words).terms.drop("rank")
    typed = items.select("query", words(pl.col("item")).alias("text")).with_columns(
        pl.int_ranges(pl.col("text").list.len(), dtype=pl.Int32).alias("word")
    )
    typed = typed.explode("text", "word").filter(pl.col("text") != "").drop("text")
    # A term of several words covers each of them; of two terms within one word the better counts.
    covers = terms.with_columns(
        pl.int_ranges("term", pl.col("term") + pl.col("words")).cast(pl.List(pl.Int32)).alias("word")
    )
    covers = covers.explode("word").select("query", "word", "concept")
    pairs = asked.drop_nulls("owner").join(items, on="item").select("query", "owner")
    wanted = pairs.join(covers.select("query", "concept").unique(), on="query").select("owner", "concept").unique()
    penalties = _cheapest(wanted, sets, tree)

    each = asked.join(items, on="item").select("query", "owner", "rows").join(typed, on="query")
    meant = covers.join(pairs, on="query").join(penalties, on=["owner", "concept"])
    best = meant.group_by("query", "owner", "word").agg(pl.col("penalty").min())
    familiar = covers.select("query", "word").unique().with_columns(pl.lit(True).alias("matched"))
    priced = each.join(best, on=["query", "owner", "word"], how="left").join(familiar, on=["query", "word"], how="left")
    priced = priced.with_columns(pl.col("penalty").fill_null(SUPPRESSED), pl.col("matched").fill_null(False))
    summed = priced.group_by("penalty", "matched").agg(pl.col("rows").sum().alias("occurrences"))
    return summed.select("occurrences", "penalty", "matched").sort("penalty", "matched")


def _cheapest(wanted: pl.DataFrame, sets: pl.DataFrame, tree: Taxonomy) -> pl.DataFrame:
    """owner, concept, penalty: the least that a concept costs among the released ones at or above it; none without."""
    whole = int(tree.leaves[0])
    leaves = pl.Series("leaves", tree.leaves).cast(pl.Int64)
    numbered = pl.DataFrame({"above": range(len(tree)), "leaves": leaves})
    # Some methods release plain labels, which may stand for any concept that has them.
    number = pl.concat([numbered.with_columns(names.alias("name")) for names in (tree.names, tree.labels)]).unique()
    released = sets.join(number, on="name").select("owner", "above", "leaves")
    ways = with_all_above(wanted.select(pl.col("concept").unique()).with_columns(above="concept"), tree, "above")
    above = wanted.join(ways, on="concept").join(released, on=["owner", "above"])
    price = pl.when(pl.col("leaves") == 1).then(RELEASED).otherwise(pl.col("leaves") / whole)
    return above.group_by("owner", "concept").agg(price.min().alias("penalty"))
