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
from coterie.core.scores import Figure, Glance, Score
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.taxonomies import Taxonomy

needs = frozenset({"record", "taxonomy"})
effort = 3
figures = (
    Figure(
        section="utility",
        order=80,
        key="categories_1.level_5.relative",
        title="Interests kept",
        reading="How far the shares of the categories that users searched for (WordNet's fifth level, or that of the "
        "taxonomy used) are those of what was released for them; mean over users. Compare with random groups.",
        before="100%",
        glance=Glance(axis="interests kept", reading="More interests kept means more meaning left."),
    ),
    Figure(
        section="utility",
        order=80,
        key="categories_1.level_5",
        title="Semantic remain percentage",
        reading="The share of what users searched for, by category, that is still there. It is high for small users "
        "with large profiles, and for random groups too.",
        before="100%",
    ),
)
LEVELS = (1, 2, 3, 4, 5, 6, 7, 8)
TOGETHER = (5, 8)
"""Levels up to which categories are also counted together."""
CATEGORIES = (1, 5)
_ROWS_AT_ONCE = 50_000  # of profiles; of no consequence for the result


def measure(comparison: Comparison) -> Iterator[Score]:
    """Means over users for each level, and for levels together."""
    if comparison.log.shape is not QUERIES:
        raise NotApplicableError(f"It is about what queries mean, and this log is {comparison.log.shape.name}.")
    profiles = comparison.profiles
    tree = taxonomies.load(comparison.given("taxonomy"))
    for categories in CATEGORIES:
        shares = remaining(profiles, tree, categories)
        if categories == CATEGORIES[0]:
            yield Score("users", profiles["subject"].n_unique(), "users")
            yield Score("users.with_category", shares["subject"].n_unique(), "users")
        means = shares.group_by("levels").agg(pl.col("remain", "relative").mean())
        by_level = {levels: numbers for levels, *numbers in means.rows()}
        for levels in _names(tree.height):
            remain, relative = by_level.get(levels, (None, None))
            yield Score(f"categories_{categories}.{levels}", remain, "%")
            yield Score(f"categories_{categories}.{levels}.relative", relative, "%")


def remaining(profiles: pl.DataFrame, tree: Taxonomy, categories: int) -> pl.DataFrame:
    """subject, levels, remain, relative; for users who have a category at these levels. `profiles` is sorted."""
    items = profiles["item"].unique().sort()
    terms = tree.classify(items, categories=categories).terms
    concept = terms["concept"].to_numpy()
    of_item = items.gather(terms["query"])
    paths = [
        pl.DataFrame({"item": of_item, "node": tree.ancestor_at(level)[concept]}).with_columns(level=pl.lit(level))
        for level in LEVELS
    ]
    times = pl.concat(paths).filter(pl.col("node") >= 0).group_by("item", "level", "node").len("times")
    return pl.concat([_of_some(some, times, tree.height) for some in (profiles.clear(), *_slices(profiles))])


def _of_some(profiles: pl.DataFrame, times: pl.DataFrame, height: int) -> pl.DataFrame:
    """The shares of some users; `times` says how often an item has each category."""
    counts = (pl.col(name).cast(pl.Int64) * pl.col("times") for name in ("before", "after"))
    table = profiles.join(times, on="item").group_by("subject", "level", "node").agg(count.sum() for count in counts)
    table = table.sort("subject", "level", "node")  # so that sums of floats are taken in one order
    return pl.concat([_shares(table.filter(which), name) for name, which in _names(height).items()]).sort(
        "subject", "levels"
    )


def _names(height: int) -> dict[str, pl.Expr]:
    """What is counted together, and the levels it is made of: no more of them than the tree has."""
    single = {f"level_{level}": pl.col("level") == level for level in LEVELS if level <= height}
    together = [level for level, before in zip(TOGETHER, (0, *TOGETHER), strict=False) if before < height]
    return single | {f"up_to_{level}": pl.col("level") <= level for level in together}


def _shares(table: pl.DataFrame, name: str) -> pl.DataFrame:
    common = pl.min_horizontal("before", "after").sum() / pl.col("before").sum()
    part = [pl.col(column) / pl.col(column).sum() for column in ("before", "after")]
    relative = pl.min_horizontal(part).sum()
    shares = table.group_by("subject", maintain_order=True).agg(
        pl.lit(name).alias("levels"),
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
