"""Information loss ratio: how far the entropy of queries moved.

    ILR = 100 |H_original - H_released| / H_original

per user (mean over users; also with each user capped at 100, since the ratio is unbounded) and for the whole log.
A user with H_original = 0 counts 0 when the released entropy is 0 too, and 100 otherwise. `few_queries` are the users
with one or two queries in the original.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Score
from coterie.measures.comparison import Comparison, of_few_queries
from coterie.measures.rates import figures_in, titled

needs = frozenset({"record", "text"})
SHOWN = {
    "whole_log": titled(
        "Information loss, whole log",
        "How far the variety of queries (their entropy) moved; 0% is unchanged. Lower is more useful.",
        over_k=30,
    ),
    "per_user_capped.mean": titled(
        "Information loss, mean over users",
        "The same for each user's own queries, each user counted up to 100%.",
        over_k=60,
    ),
}
figures = figures_in("utility", 20, SHOWN, expected=True, before="0.0%")


def measure(comparison: Comparison) -> Iterator[Score]:
    """The mean over users, plain and capped, and the ratio of the whole log."""
    losses = _of_users(comparison.profiles).rechunk()
    ratios, few = losses["loss"], losses.filter("few")["loss"]
    yield Score("per_user.mean", ratios.mean(), "%")  # type: ignore[arg-type]
    yield Score("per_user_capped.mean", ratios.clip(upper_bound=100).mean(), "%")  # type: ignore[arg-type]
    yield Score("per_user_capped.median", ratios.clip(upper_bound=100).median(), "%")  # type: ignore[arg-type]
    yield Score("per_user_capped.few_queries", few.clip(upper_bound=100).mean(), "%")  # type: ignore[arg-type]
    before, after = (_entropy(comparison, side) for side in ("before", "after"))
    yield Score("whole_log", loss(before, after), "%")


def loss(before: float, after: float) -> float:
    """The ratio for two entropies."""
    if before == 0:
        return 0.0 if after == 0 else 100.0
    return 100 * abs(before - after) / before


def _of_users(profiles: pl.DataFrame) -> pl.DataFrame:
    """subject, loss, few: the ratio of each user that has queries in the original, and whether these are few."""
    entropies = (
        profiles.with_columns(_part("before").alias("h0"), _part("after").alias("h1"))
        .group_by("subject", maintain_order=True)
        .agg(pl.col("before").sum().alias("n"), of_few_queries().alias("few"), pl.col("h0"), pl.col("h1"))
        # Sums of lists: others add up by chunks of a table, so that the last digit would depend on who is in it.
        .with_columns(pl.col("h0", "h1").list.sum())
    )
    same = (pl.col("h1") == 0).cast(pl.Float64)
    ratio = pl.when(pl.col("h0") == 0).then(100 * (1 - same)).otherwise(
        100 * (pl.col("h0") - pl.col("h1")).abs() / pl.col("h0")
    )  # fmt: skip
    return entropies.filter(pl.col("n") > 0).select("subject", ratio.alias("loss"), "few")


def _part(count: str) -> pl.Expr:
    """What an item adds to the entropy in bits of its user's counts; exactly 0 where the user has no other item."""
    p = pl.col(count) / pl.col(count).sum().over("subject")
    return pl.when((pl.col(count) > 0) & (p < 1)).then(-p * p.log(2)).otherwise(0.0)


def _entropy(comparison: Comparison, side: str) -> float:
    """Entropy in bits of the items of a log, from how many of them stand there how often."""
    frequencies = comparison.items.filter(pl.col(side) > 0).group_by(n=side).agg(pl.len().cast(pl.Int64).alias("items"))
    found = frequencies.sort("n")
    p = pl.col("n") / (pl.col("n") * pl.col("items")).sum()
    bits = pl.when(pl.col("items").sum() > 1).then(-(pl.col("items") * p * p.log(2)).sum()).otherwise(0.0)
    return float(found.select(bits).item())
