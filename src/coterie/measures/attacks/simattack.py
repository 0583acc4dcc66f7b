"""SimAttack: somebody who knows what people searched earlier guesses who searched later.

The attack of Petit et al. (2016). Queries become sets of keywords, without stop words. For a query q and a user whose
known queries are q_1 .. q_n:

    s_i = |q ∩ q_i| / √(|q| |q_i|), in ascending order
    S = s_1, then S ← α s_i + (1 - α) S for i = 2 .. n, α = 0.6

The adversary knows the first two thirds (in time) of the original rows of the 200 most active users, and names one of
them:

    profiles    In a release with names, for each profile of these users: each query in its last third, at most its
                last 50, has one vote, which goes to users in proportion to S (a sum of S itself would favour those of
                whom much is known), and the user with most votes is named. A guess among m users with equally many
                counts 1 / m when right. Where s names have the same queries it does not say which of them is right,
                and counts 1 / s of that.
    queries     In a release without names, for each released query from the last third of these users: the user with
                the largest S is named. Needs a method that keeps rows.

Nobody is named where all S are 0. `after.profiles.precision` is the share of right guesses among guesses, `recall`
among all that was attacked, each with its 95 % interval; `before` is the same attack on the original. `.chance` is a
known user drawn at random in place of the best fit, `.control` the one user whom somebody would name every time who
knows how much everybody searches and nothing else. `bound` is 100 / k where the release promises that k users share
each profile. How sure the adversary is of a guess, (S_1 - S_2) / S_1, is not reported. Up to 2,000 profiles or queries,
drawn by the seed, are attacked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.core import randomness
from coterie.core.scores import Figure, Score, Weighed
from coterie.core.split import in_time
from coterie.measures.attacks import bound, interval
from coterie.measures.comparison import Comparison
from coterie.text.language import language_in

needs = frozenset({"record", "text"})
effort = 2
figures = (
    Figure(
        section="attacks",
        order=20,
        expected=True,
        key="after.profiles.precision",
        title="SimAttack on profiles: guesses that are right",
        reading="Somebody who knows the earlier searches of the most active users guesses to whom the later ones under "
        "one name belong. For releases with names.",
        before="before.profiles.precision",
        beside=(("chance", "after.profiles.precision.chance"), ("control", "after.profiles.precision.control")),
    ),
    Figure(
        section="attacks",
        order=20,
        expected=True,
        key="after.profiles.recall",
        title="SimAttack on profiles: linked",
        reading="The same as a share of all profiles, also those without a guess.",
        before="before.profiles.recall",
        beside=(("chance", "after.profiles.recall.chance"), ("control", "after.profiles.recall.control")),
    ),
    Figure(
        section="attacks",
        order=20,
        expected=True,
        key="after.queries.precision",
        title="SimAttack on queries: guesses that are right",
        reading="The same adversary guesses for each later query who typed it. For releases without names.",
        before="before.queries.precision",
        beside=(("chance", "after.queries.precision.chance"), ("control", "after.queries.precision.control")),
    ),
    Figure(
        section="attacks",
        order=20,
        expected=True,
        key="after.queries.recall",
        title="SimAttack on queries: linked",
        reading="The same as a share of all queries, also those without a guess.",
        before="before.queries.recall",
        beside=(("chance", "after.queries.recall.chance"), ("control", "after.queries.recall.control")),
    ),
)
weighed = (
    Weighed(
        risk="linkability",
        key="after.profiles.recall",
        before="before.profiles.recall",
        attacker="somebody who knows the earlier searches of active users tells which later profile is whose",
        control="after.profiles.recall.control",
    ),
    Weighed(
        risk="linkability",
        key="after.queries.recall",
        before="before.queries.recall",
        attacker="somebody who knows the earlier searches of active users tells who typed a later query",
        control="after.queries.recall.control",
    ),
)
ALPHA = 0.6
USERS = 200
TARGETS = 2_000
LAST = 50
_PAIRS_AT_ONCE = 5_000_000  # of a target and a known query with a common word; of no consequence for the result
_DIGITS = 9  # equal fits are those that agree so far


@dataclass(frozen=True, eq=False, repr=False)
class Targets:
    """What is attacked, and the truth about it."""

    queries: pl.DataFrame
    """target, keywords: one line for each query of a target."""
    owners: pl.DataFrame
    """target, user: those of the known users who are behind it."""
    names: pl.DataFrame
    """target, names: how many names look like this."""


def measure(comparison: Comparison) -> Iterator[Score]:
    """Precision and recall on the original and on the release."""
    released = comparison.released
    rows = comparison.original.drop_nulls("subject")
    keywords = (
        language_in(comparison.release.params).keywords(pl.col("item")).list.sort().list.join(" ").alias("keywords")
    )
    users = rows.group_by("subject").len("n").sort("n", "subject", descending=[True, False]).head(USERS)
    own = _in_time(rows.join(users, on="subject", how="semi"))
    known = own.filter("early").select(pl.col("subject").alias("user"), keywords)
    names = comparison.names.join(users, left_on="original", right_on="subject", how="semi")
    yield Score("users", users.height, "users known")
    if (most := bound(comparison.release)) is not None:
        yield Score("bound", most, "%")
    if released["subject"].null_count() < released.height:
        same = users.select(original="subject", released="subject")
        key = (__name__, comparison.seed, language_in(comparison.release.params), "profiles")
        yield from comparison.of_log(
            key, lambda: [*_scores("before", known, _profiles(rows, same, comparison.seed, keywords), "profiles")]
        )
        yield from _scores("after", known, _profiles(released, names, comparison.seed, keywords), "profiles")
        return
    late = own.filter(~pl.col("early"))
    key = (__name__, comparison.seed, language_in(comparison.release.params), "queries")
    yield from comparison.of_log(
        key, lambda: [*_scores("before", known, _single(late, comparison.seed, keywords), "queries")]
    )
    record = comparison.release.record
    if record is None or record.rows is None:
        why = "does not apply: neither names nor original rows"
        yield from (Score(f"after.queries{key}", None, why) for key in ("", ".precision", ".recall"))
    else:
        text = released.select("item").with_row_index("released_row")
        became = late.drop("item").join(comparison.rows, on="row").join(text, on="released_row")
        yield from _scores("after", known, _single(became, comparison.seed, keywords), "queries")


def _scores(moment: str, known: pl.DataFrame, targets: Targets, kind: str) -> Iterator[Score]:
    attacked = targets.names.height
    guesses = attack(known, targets)
    right = float(guesses["success"].sum())
    precision = 100 * right / guesses.height if guesses.height else None
    recall = 100 * right / attacked if attacked else None
    yield Score(f"{moment}.{kind}", attacked, f"{kind} attacked")
    rates = (("precision", precision, guesses.height, "% of guesses"), ("recall", recall, attacked, f"% of {kind}"))
    for rate, share, n, unit in rates:
        yield Score(f"{moment}.{kind}.{rate}", share, unit)
        if share is not None:
            for end, limit in zip(("low", "high"), interval(share / 100, n), strict=True):
                yield Score(f"{moment}.{kind}.{rate}.{end}", 100 * limit, unit)
    guessed = targets.names.join(guesses, on="target", how="semi")
    for rate, some, unit in (("precision", guessed, "% of guesses"), ("recall", targets.names, f"% of {kind}")):
        chance, control = _without_knowledge(targets, some, known["user"].n_unique())
        yield Score(f"{moment}.{kind}.{rate}.chance", chance, unit)
        yield Score(f"{moment}.{kind}.{rate}.control", control, unit)


def _without_knowledge(targets: Targets, some: pl.DataFrame, users: int) -> tuple[float | None, float | None]:
    """How often a known user drawn at random is right about some targets, and one and the same user at best."""
    if some.is_empty() or not users:
        return None, None
    owned = targets.owners.join(some, on="target").with_columns(part=1 / pl.col("names"))
    by_user = owned.sort("user", "target").group_by("user", maintain_order=True).agg(pl.col("part").sum())["part"]
    right, best = float(by_user.sum()), float(by_user.max() or 0.0)  # type: ignore[arg-type]
    return 100 * right / users / some.height, 100 * best / some.height


# --- what is attacked ----------------------------------------------------------------------------


def _in_time(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of subjects and times; `place` within the subject and whether it is in the first two thirds."""
    place = pl.int_range(pl.len()).over("subject")
    early = 3 * (pl.col("place") + 1) <= 2 * pl.len().over("subject")
    return in_time(rows, "subject", "item", "time").with_columns(place=place).with_columns(early=early)


def _single(rows: pl.DataFrame, seed: int, keywords: pl.Expr) -> Targets:
    """Each row is a target, and nothing looks like it."""
    label = rows.select(pl.concat_str("subject", pl.col("place").cast(pl.String), separator="\0")).to_series()
    drawn = rows[_draw(label, seed)].with_row_index("target")
    return Targets(
        queries=drawn.select("target", keywords),
        owners=drawn.select("target", pl.col("subject").alias("user")),
        names=drawn.select("target", pl.lit(1).alias("names")),
    )


def _profiles(rows: pl.DataFrame, names: pl.DataFrame, seed: int, keywords: pl.Expr) -> Targets:
    """The ends of the profiles under the `names` (original, released); names with the same end are one target."""
    sizes = rows.lazy().drop_nulls("subject").group_by("subject").agg(
        pl.min_horizontal(pl.len() - 2 * pl.len() // 3, pl.lit(LAST)).alias("end")
    ).collect(engine="streaming")  # fmt: skip
    # Only names with as many queries at their end as some name of a known user can look like it.
    of_known = sizes.join(names, left_on="subject", right_on="released", how="semi")
    alike = sizes.join(of_known, on="end", how="semi")
    ends = _in_time(rows.join(alike, on="subject")).filter(
        pl.col("place") >= pl.len().over("subject") - pl.col("end")
    ).with_columns(keywords)  # fmt: skip
    looks = ends.group_by("subject").agg(pl.col("keywords").sort())
    targets = looks.group_by("keywords").agg(pl.col("subject").sort()).with_columns(
        pl.col("subject").list.first().alias("first"), pl.col("subject").list.len().alias("names")
    )  # fmt: skip
    owners = targets.explode("subject").join(names, left_on="subject", right_on="released")
    targets = targets.join(owners, on="first", how="semi").sort("first")
    targets = targets[_draw(targets["first"], seed)].with_row_index("target")
    return Targets(
        queries=targets.select("target", "keywords").explode("keywords"),
        owners=targets.select("target", "first").join(owners, on="first").select("target", user="original").unique(),
        names=targets.select("target", "names"),
    )


def _draw(labels: pl.Series, seed: int) -> np.ndarray:
    return np.sort(np.argsort(randomness.keys(seed, "simattack", labels), kind="stable")[:TARGETS])


# --- the attack ----------------------------------------------------------------------------------


def attack(known: pl.DataFrame, targets: Targets) -> pl.DataFrame:
    """target, success: for each target about which there is a guess. `known`: user, keywords."""
    queries = targets.queries.group_by("target", "keywords").len("times")
    similar = similarity(known, queries.select("keywords").unique()).sort("keywords", "user")
    share = pl.col("fit") / pl.col("fit").sum().over("keywords")
    cast = queries.join(similar.with_columns(share.alias("share")), on="keywords").sort("target", "user", "keywords")
    votes = cast.group_by("target", "user").agg((pl.col("times") * pl.col("share")).sum().round(_DIGITS).alias("votes"))
    best = votes.filter(pl.col("votes") == pl.col("votes").max().over("target"))
    right = targets.owners.with_columns(right=1)
    guesses = best.join(right, on=["target", "user"], how="left").group_by("target").agg(
        (pl.col("right").fill_null(0).sum() / pl.len()).alias("chance")
    )  # fmt: skip
    success = (pl.col("chance") / pl.col("names")).alias("success")
    return guesses.join(targets.names, on="target").sort("target").select("target", success)


def similarity(known: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """keywords, user, fit: S for each of the distinct `queries` (keywords) and user, where it is not 0.

    In descending order the j-th s has the weight α (1 - α)^(j-1), and the last one, s_1, (1 - α)^(n-1). Zeros add
    nothing, so known queries without a common word are never looked at. Where c equal s stand at the places
    r + 1 .. r + c, their weights add up to (1 - α)^r (1 - (1 - α)^c).
    """
    totals = known.group_by("user").len("n")
    past = known.group_by("user", "keywords").len("times").with_row_index("past")
    words = pl.col("keywords").str.split(" ").alias("word")
    size = pl.col("keywords").str.split(" ").list.len()
    of_past = past.filter(pl.col("keywords") != "").select("past", "user", "times", size.alias("n_past"), words)
    of_past = of_past.explode("word")
    of_query = (
        queries.filter(pl.col("keywords") != "").sort("keywords").select("keywords", size.alias("n_query"), words)
    )
    of_query = of_query.explode("word").join(of_past.group_by("word").len("cost"), on="word", maintain_order="left")
    parts = of_query.with_columns(part=pl.col("cost").cast(pl.UInt64).cum_sum() // _PAIRS_AT_ONCE)
    # A query belongs to the part of its first word.
    parts = parts.with_columns(pl.col("part").first().over("keywords"))
    fits = [_smoothed(part, of_past, totals) for part in parts.partition_by("part", maintain_order=True)]
    return pl.concat([_NO_FITS, *fits])


_NO_FITS = pl.DataFrame(schema={"keywords": pl.String, "user": pl.String, "fit": pl.Float64})


def _smoothed(queries: pl.DataFrame, past: pl.DataFrame, totals: pl.DataFrame) -> pl.DataFrame:
    key = ["keywords", "user"]
    s = pl.len() / (pl.col("n_query").first() * pl.col("n_past").first()).sqrt()
    shared = (
        queries.lazy().join(past.lazy(), on="word").group_by(*key, "past").agg(s.alias("s"), pl.col("times").first())
    )
    levels = shared.group_by(*key, "s").agg(pl.col("times").sum().cast(pl.Float64))
    ordered = levels.sort(*key, "s", descending=[False, False, True])
    before = pl.col("times").cum_sum().over(key) - pl.col("times")
    rest = 1 - ALPHA
    weight = rest**before * (1 - rest ** pl.col("times"))
    sums = ordered.with_columns(part=pl.col("s") * weight).group_by(key, maintain_order=True).agg(
        pl.col("part").sum(), pl.col("times").sum(), pl.col("s").last()
    )  # fmt: skip
    without_zeros = pl.when(pl.col("times") == pl.col("n")).then(pl.col("s") * rest ** pl.col("n")).otherwise(0.0)
    fit = (pl.col("part") + without_zeros).alias("fit")
    return sums.join(totals.lazy(), on="user").select(*key, fit).collect()
