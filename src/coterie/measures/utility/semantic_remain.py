"""Semantic remain percentage (SRP): how much of what users are interested in is left in what was released for them.

M_l(u, c) counts how often the terms of the queries of user u have a category at or below category c of level l. With z
for what was released for them,

    level_l             100 Σ_c min(M_l(u, c), M_l(z, c)) / Σ_c M_l(u, c)
    level_l.relative    100 Σ_c min(M_l(u, c) / Σ M_l(u), M_l(z, c) / Σ M_l(z))     free of the size of profiles
    up_to_l             the same with the categories of levels 1 to l together; up_to_l.relative

as means over users who have a category there; each level on its own, as in paper 003. `categories_1` counts the
likeliest category of each term, `categories_5` the five likeliest. The taxonomy is WordNet or one that is given.

SRP is a recall: it is high for a small user with a large profile, and at coarse levels for everybody. Random groups are
far above 100 / k, so compare with them (reports and studies show them) and look at the relative numbers and at deep
levels. A method that groups by the same taxonomy is measured with its own yardstick.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.scores import Glance, Score
from coterie.core.shapes import QUERIES
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.taxonomies import Taxonomy

needs = frozenset({"record", "taxonomy"})
effort = 3
SHOWN = {
    "categories_1.level_5.relative": titled(
        "Interests kept",
        "How far the shares of the categories that users searched for (WordNet's fifth level, or that of the "
        "taxonomy used) are those of what was released for them; mean over users. Compare with random groups.",
        glance=Glance(axis="interests kept", reading="More interests kept means more meaning left."),
    ),
    "categories_1.level_5": titled(
        "Semantic remain percentage",
        "The share of what users searched for, by category, that is still there. It is high for small users "
        "with large profiles, and for random groups too.",
    ),
}
figures = figures_in("utility", 80, SHOWN, before="100%")
LEVELS = (1, 2, 3, 4, 5, 6, 7, 8)
TOGETHER = (5, 8)
"""Levels up to which categories are also counted together."""
CATEGORIES = (1, 5)
_ROWS_AT_ONCE = 50_000  # of profiles; of no consequence for the result
_KEPT = 500_000  # items of an original whose concepts stay in memory for its other releases


def measure(comparison: Comparison) -> Iterator[Score]:
    """Means over users for each level, and for levels together."""
    comparison.require_shape(QUERIES, "It is about what queries mean")
    profiles = comparison.profiles
    tree = taxonomies.load(comparison.given("taxonomy"))
    concepts = _concepts(comparison, tree)
    for categories in CATEGORIES:
        shares = remaining(profiles, tree, concepts.filter(pl.col("rank") < categories))
        if categories == CATEGORIES[0]:
            yield Score("users", profiles["subject"].n_unique(), "users")
            yield Score("users.with_category", shares["subject"].n_unique(), "users")
        means = shares.group_by("levels").agg(pl.col("remain", "relative"))
        by_level = {levels: [float(np.mean(each)) for each in numbers] for levels, *numbers in means.rows()}
        for levels in _names(tree.height):
            remain, relative = by_level.get(levels, (None, None))
            yield Score(f"categories_{categories}.{levels}", remain, "%")
            yield Score(f"categories_{categories}.{levels}.relative", relative, "%")


def _concepts(comparison: Comparison, tree: Taxonomy) -> pl.DataFrame:
    """item, concept, rank of all items; those of the original are looked up once for all its releases."""
    typed = comparison.profiles.filter(pl.col("before") > 0)["item"].unique().sort()
    if typed.len() > _KEPT:
        return concepts_of(comparison.profiles["item"].unique().sort(), tree)
    known = comparison.of_log((__name__, comparison.given("taxonomy")), lambda: concepts_of(typed, tree))
    other = comparison.profiles.filter(pl.col("before") == 0)["item"].unique()
    other = other.filter(~other.is_in(typed.implode())).sort()
    return known if other.is_empty() else pl.concat([known, concepts_of(other, tree)])


def concepts_of(items: pl.Series, tree: Taxonomy) -> pl.DataFrame:
    """item, concept, rank: up to five concepts of each term of distinct items, the likeliest first."""
    terms = tree.classify(items, categories=max(CATEGORIES)).terms
    return terms.select(items.gather(terms["query"]).alias("item"), "concept", "rank")


def remaining(profiles: pl.DataFrame, tree: Taxonomy, concepts: pl.DataFrame) -> pl.DataFrame:
    """subject, levels, remain, relative; for users who have a category at these levels. `profiles` is sorted.

    `concepts`: item, concept, for each term.
    """
    times = concepts.group_by("item", "concept").len("times")
    return pl.concat([_of_some(some, times, tree) for some in (profiles.clear(), *_slices(profiles))])


def _of_some(profiles: pl.DataFrame, times: pl.DataFrame, tree: Taxonomy) -> pl.DataFrame:
    """The shares of some users; `times` says how often an item has each concept."""
    counts = [pl.col(name).cast(pl.Int64) * pl.col("times") for name in ("before", "after")]
    numbered = profiles.select("item", "before", "after", user=pl.col("subject").rle_id())
    of_concept = numbered.join(times, on="item").group_by("user", "concept").agg(count.sum() for count in counts)
    levels = []
    for level in LEVELS:
        node = pl.Series("node", tree.ancestor_at(level)).gather(of_concept["concept"])
        table = of_concept.select("user", node, "before", "after").filter(pl.col("node") >= 0)
        levels.append(table.group_by("user", "node").agg(pl.col("before", "after").sum()).with_columns(level=level))
    table = pl.concat(levels).sort("user", "level", "node")  # so that sums of floats are taken in one order
    single = _shares(table, "user", "level").with_columns(pl.format("level_{}", "level").alias("levels"))
    parts = [
        single.select("user", "levels", "remain", "relative").filter(pl.col("levels").is_in([*_names(tree.height)]))
    ]
    for name, level in _together(tree.height).items():
        shares = _shares(table.filter(pl.col("level") <= level), "user")
        parts.append(shares.select("user", pl.lit(name).alias("levels"), "remain", "relative"))
    subjects = profiles["subject"].rle().struct.field("value").alias("subject")
    shares = pl.concat(parts)
    return shares.select(subjects.gather(shares["user"]), "levels", "remain", "relative").sort("subject", "levels")


def _names(height: int) -> list[str]:
    """What is counted together, by level and for several: no more levels than the tree has."""
    return [*(f"level_{level}" for level in LEVELS if level <= height), *_together(height)]


def _together(height: int) -> dict[str, int]:
    levels = [level for level, before in zip(TOGETHER, (0, *TOGETHER), strict=False) if before < height]
    return {f"up_to_{level}": level for level in levels}


def _shares(table: pl.DataFrame, *by: str) -> pl.DataFrame:
    common = pl.min_horizontal("before", "after").sum() / pl.col("before").sum()
    part = [pl.col(column) / pl.col(column).sum() for column in ("before", "after")]
    relative = pl.min_horizontal(part).sum()
    shares = table.group_by(by, maintain_order=True).agg(
        (100 * common).alias("remain"),
        pl.when(pl.col("after").sum() > 0).then(100 * relative).otherwise(0.0).alias("relative"),
        pl.col("before").sum(),
    )
    return shares.filter(pl.col("before") > 0).drop("before")


def _slices(profiles: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Whole users, about _ROWS_AT_ONCE rows together."""
    ends = np.cumsum(profiles["subject"].rle().struct.field("len").to_numpy())
    start = 0
    while start < profiles.height:
        last = min(int(np.searchsorted(ends, start + _ROWS_AT_ONCE)), ends.size - 1)
        end = int(ends[last])
        yield profiles[start:end]
        start = end
