"""What users search for, as shares of the categories of a taxonomy: for measures of how much meaning a release keeps.

The profile of users at level l has for each category at depth l the share of their mapped terms that lie under it.
Terms that reach a concept above that depth, or none, count for nothing; so does their number, which makes profiles of
different sizes comparable. The overlap of two profiles is Σ_c min(share, share): 0 for nothing in common, 1 for the
same interests.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from coterie import taxonomies
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.taxonomies import Taxonomy

_WORDNET_LEVELS = (5, 7, 8)
_OTHER_LEVELS = (1, 2, 3)


def levels_of(tree: Taxonomy) -> tuple[int, ...]:
    """Which levels to compare: WordNet tells little apart above the fifth, trees of categories at once."""
    wanted = _WORDNET_LEVELS if tree.name == "wordnet" else _OTHER_LEVELS
    return tuple(level for level in wanted if level <= tree.height) or (1,)


def profile_names(comparison: Comparison) -> pl.DataFrame:
    """original, released: who got which profile, in releases that have one profile for each user."""
    if comparison.log.shape is not QUERIES:
        raise NotApplicableError(f"It is about what queries mean, and this log is {comparison.log.shape.name}.")
    names = comparison.names
    if names.is_empty() or names["original"].is_duplicated().any():
        raise NotApplicableError("It is about releases with one profile for each user.")
    return names


@dataclass(frozen=True, eq=False, repr=False)
class Meaning:
    """The concepts of all items that are compared."""

    tree: Taxonomy
    concepts: pl.DataFrame
    """item, concept: one row for each term."""

    @classmethod
    def of(cls, name: str, *items: pl.Series) -> Meaning:
        """Look up all items in the taxonomy of that name or file."""
        tree = taxonomies.load(name)
        distinct = pl.concat([part.drop_nulls() for part in items]).unique().sort()
        classified = tree.classify(distinct)
        if not classified.mapped.any():
            raise NotApplicableError("No query has a word that the taxonomy knows, so meaning cannot be compared.")
        terms = classified.terms
        return cls(tree, terms.select(distinct.gather(terms["query"]).alias("item"), "concept"))

    def shares(self, rows: pl.DataFrame, level: int) -> pl.DataFrame:
        """subject, category, share: the profiles of the subjects of `rows` (subject, item) at one level."""
        at_level = pl.Series("category", self.tree.ancestor_at(level)).gather(self.concepts["concept"])
        categories = self.concepts.select("item", at_level).filter(pl.col("category") >= 0)
        counts = rows.group_by("subject", "item").len("n")
        per_category = counts.join(categories, on="item").group_by("subject", "category").agg(pl.col("n").sum())
        share = pl.col("n") / pl.col("n").sum().over("subject")
        return per_category.sort("subject", "category").select("subject", "category", share.alias("share"))


def overlaps(one: pl.DataFrame, other: pl.DataFrame, by: str) -> pl.DataFrame:
    """`by`, overlap: of the profiles with the same `by` in both tables; nobody who has nothing in common."""
    both = one.join(other, on=[by, "category"]).sort(by, "category")
    least = pl.min_horizontal("share", "share_right").sum()
    return both.group_by(by, maintain_order=True).agg(least.alias("overlap"))
