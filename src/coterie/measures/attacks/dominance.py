"""Dominance: how much of a common profile comes from one of its members.

k users stand behind a profile, and one of them may have typed most of it. Each row of a profile is shared out among the
members of the group who typed its string, or a longer query in which it stands word for word, in proportion to how
often they did; a row that no member has counts for nobody. The largest contributor is the member with most of it.

    largest.median, largest.max    share of the largest contributor, over profiles (% of rows)
    largest.above_half             profiles of which one member is more than half
    alone                          rows of all profiles that one member alone has (% of rows)
    equal.median                   what the median would be if all members of a group contributed alike: the control

In the original, under other names, each person is a profile of their own: `before.largest.median` and `before.alone`
are 100. All profiles are counted, each once, so that there is nothing to draw and no interval.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core.scores import Score
from coterie.measures.attacks._profiles import Profiles, having, parts_of, profiles_of
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, sentences, titled

needs = frozenset({"record", "text"})
SHOWN = {
    "largest.median": titled(
        "Largest contributor of a profile, median",
        "The share of a profile that comes from one member of its group. Lower is safer; one in k is the least.",
        before="before.largest.median",
    ),
    "largest.max": titled("Largest contributor of a profile, at most"),
    "alone": titled(
        "Rows of profiles that only one member typed",
        "No other member of the group is behind such a row, so whoever can tell whose it is learns it.",
        before="before.alone",
    ),
}
figures = figures_in("attacks", 50, SHOWN)
findings = sentences(
    "inference",
    "{alone} of the rows of profiles were typed by only one member of the group each; the largest contributor stands "
    "behind {largest.median} of a profile in the median, and behind {largest.max} at most.",
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """The largest contributor of each profile, and the rows that one member alone has."""
    profiles = profiles_of(comparison)
    yield from (Score(f"before.{key}", 100.0, "% of rows") for key in ("largest.median", "alone"))
    yield Score("profiles", profiles.groups, "profiles")
    sizes = profiles.members.group_by("group").len("members").with_columns(equal=100 / pl.col("members"))
    yield Score("equal.median", float(np.median(sizes["equal"].to_numpy())), "% of rows")
    shares = contributions(profiles)
    totals = profiles.rows.group_by("group").agg(rows=pl.col("n").sum())
    largest = shares.group_by("group").agg(part=pl.col("part").max()).join(totals, on="group").sort("group")
    percent = np.round(100 * largest["part"].to_numpy() / largest["rows"].to_numpy(), 9)
    if percent.size == 0:  # no row of a profile is of a member
        yield from (Score(key, None, "% of rows") for key in ("largest.median", "largest.max", "alone"))
        return
    yield Score("largest.median", float(np.median(percent)), "% of rows")
    yield Score("largest.max", float(percent.max()), "% of rows")
    yield Score("largest.above_half", int((percent > 50).sum()), "profiles")
    yield Score("alone", 100 * float(shares["alone"].to_numpy().sum() / totals["rows"].to_numpy().sum()), "% of rows")


def contributions(profiles: Profiles) -> pl.DataFrame:
    """group, user, part, alone: rows of the profile that come from each member, and those that nobody else has."""
    typed = profiles.typed.join(profiles.members, on="user")
    stands = parts_of(profiles.strings(profiles.rows), profiles.strings(typed))
    has = having(typed.select("user", "item", "n"), stands).rename({"n": "own"})
    has = has.join(profiles.members, on="user").join(profiles.rows, on=["group", "item"])
    key = ["group", "item"]
    has = has.with_columns(total=pl.col("own").sum().over(key), holders=pl.len().over(key)).sort(
        "group", "user", "item"
    )
    part = pl.col("n") * pl.col("own") / pl.col("total")
    alone = pl.col("n").filter(pl.col("holders") == 1)
    return has.group_by("group", "user", maintain_order=True).agg(part=part.sum(), alone=alone.sum())
