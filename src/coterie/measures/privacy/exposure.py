"""Profile exposure level: how much of a user's profile can be read in the release.

With p(q) the share of q in a user's n queries and r(q) = min(1, after(q)/before(q)) the part of it that is released:

    exposed = 100 Σ p r log2(1/p) / H          absence of a query teaches nothing (default of the papers)
    channel = exposed part + 100 Σ p (1-r) log2((1-r)/P⊥) / H,   P⊥ = Σ p (1-r)     the exact mutual information

A user with one distinct query has H = 0 and exposure 100 r. 0 means nothing of the profile is there, 100 all of it.
`few_queries` is the mean over users with one or two queries in the original.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Glance, Score
from coterie.measures.comparison import Comparison, of_few_queries
from coterie.measures.rates import figures_in, titled

needs = frozenset({"record", "text"})
THRESHOLD = 40  # paper 000 calls a user protected at or below this level
SHOWN = {
    "exposed.mean": titled(
        "Exposure, mean over users",
        "How much of a user's searches can be read in the release, from 0% (nothing) to 100% (all). It is "
        "counted as if the reader knew whose rows are whose. Lower is safer.",
        glance=Glance(axis="exposure", reading="Less exposure is safer."),
        over_k=40,
    ),
    "exposed.median": titled("Exposure, median user", "Half of the users are exposed less than this, half more."),
    f"exposed.above_{THRESHOLD}": titled(
        f"Users exposed above {THRESHOLD}%",
        f"In the research on query logs a user counts as protected up to {THRESHOLD}%; this is the share beyond.",
    ),
    "channel.mean": titled(
        "Exposure, counting what is absent",
        "The mean for a reader who also learns from what is missing. It is never the lower of the two.",
        over_k=50,
    ),
}
figures = figures_in("privacy", 10, SHOWN, expected=True, before="100.0%")


def measure(comparison: Comparison) -> Iterator[Score]:
    """Mean, quantiles and the share of users above the threshold, in both modes."""
    profiles = comparison.profiles
    few_queries = profiles.group_by("subject").agg(of_few_queries().alias("few"))
    levels = exposure_levels(profiles).join(few_queries, on="subject", maintain_order="left").rechunk()
    few = levels.filter("few")
    yield Score("users", levels.height, "users")
    yield Score("few_queries.users", few.height, "users")
    for mode in ("exposed", "channel"):
        level = pl.col(mode)
        summary = levels.select(
            level.mean().alias("mean"),
            level.median().alias("median"),
            level.quantile(0.1, "linear").alias("p10"),
            level.quantile(0.9, "linear").alias("p90"),
            pl.lit(few[mode].mean()).alias("few_queries"),
            (100 * (level > THRESHOLD).mean()).alias(f"above_{THRESHOLD}"),
        )
        for name, value in summary.row(0, named=True).items():
            yield Score(f"{mode}.{name}", value, "% of users" if name.startswith("above") else "%")


def exposure_levels(profiles: pl.DataFrame) -> pl.DataFrame:
    """subject, exposed, channel for each subject with a profile."""
    n = pl.col("before").sum().over("subject")
    p = pl.col("before") / n
    r = (pl.col("after") / pl.col("before")).clip(upper_bound=1.0)
    terms = profiles.lazy().filter(pl.col("before") > 0).select("subject", p.alias("p"), r.alias("r"))
    lost = pl.col("p") * (1 - pl.col("r"))
    # Sums of lists: others add up by chunks of a table, so that the last digit would depend on who is in it.
    of_user = terms.group_by("subject", maintain_order=True)
    erased = of_user.agg(lost.alias("erased")).with_columns(pl.col("erased").list.sum())
    absent = pl.when(lost > 0).then(lost * ((1 - pl.col("r")) / pl.col("erased")).log(2)).otherwise(0.0)
    sums = (
        terms.join(erased, on="subject", how="left", maintain_order="left")
        .with_columns(absent.alias("absent"))
        .group_by("subject", maintain_order=True)
        .agg(
            (-pl.col("p") * pl.col("p").log(2)).alias("entropy"),
            (-pl.col("p") * pl.col("r") * pl.col("p").log(2)).alias("shown"),
            pl.col("absent"),
            pl.col("r").first(),
            pl.len().alias("distinct"),
        )
        .with_columns(pl.col("entropy", "shown", "absent").list.sum())
    )
    single = pl.col("distinct") == 1
    exposed = pl.when(single).then(pl.col("r")).otherwise(pl.col("shown") / pl.col("entropy"))
    channel = pl.when(single).then(pl.col("r")).otherwise(
        (pl.col("shown") + pl.col("absent")) / pl.col("entropy")
    )  # fmt: skip
    return sums.select("subject", (100 * exposed).alias("exposed"), (100 * channel).alias("channel")).collect()
