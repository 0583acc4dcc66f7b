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
                the largest S is named. Only queries that the adversary does not know of that user are targets: to
                recognise a query that is typed again takes no attack. Needs a method that keeps rows.

Nobody is named where all S are 0, which is a failure. Population: these users; targets are their profiles, or up to
2,000 of their later queries, drawn by the seed from the original, of each user the same number as far as they go. A
user is released in profiles who has a name, a query that is there. `before.profiles.recall`, `after` and `released` are
explained in measures/rates.py. Control: the user of whom the adversary knows what another one searched. `precision` is
the share of right guesses among guesses. `bound` is 100 / k where the release promises that k users share each profile.
How sure the adversary is of a guess, (S_1 - S_2) / S_1, is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import polars as pl

from coterie.core.log import in_time
from coterie.core.scores import Score
from coterie.measures.attacks import bound
from coterie.measures.comparison import Comparison
from coterie.measures.rates import Rate, Shares, figures_in, titled
from coterie.measures.subjects import drawn, keyed
from coterie.text.language import language_in

needs = frozenset({"record", "text"})
effort = 2
_rate = partial(Rate, risk="linkability")
RATES = {
    "profiles": _rate(
        "profiles.recall",
        "SimAttack on profiles: linked",
        "The same as a share of all profiles, also those without a guess.",
        unit="% of profiles",
        attacker="somebody who knows the earlier searches of active users tells which later profile is whose",
        control="what another user searched",
        bound="bound",
    ),
    "queries": _rate(
        "queries.recall",
        "SimAttack on queries: linked",
        "The same as a share of all queries, also those without a guess.",
        unit="% of queries",
        attacker="somebody who knows the earlier searches of active users tells who typed a later one, new to them",
        control="what another user searched",
    ),
}
SHOWN = {
    "after.profiles.precision": titled(
        "SimAttack on profiles: guesses that are right",
        "Somebody who knows the earlier searches of the most active users guesses to whom the later ones under one "
        "name belong. For releases with names.",
    ),
    **RATES["profiles"].shown,
    "after.queries.precision": titled(
        "SimAttack on queries: guesses that are right",
        "The same adversary guesses for each later query who typed it. For releases without names.",
    ),
    **RATES["queries"].shown,
}
figures = figures_in("attacks", 20, SHOWN, expected=True)
weighed = tuple(rate.weighed for rate in RATES.values())
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
    released, seed = comparison.released, comparison.seed
    rows = comparison.original.drop_nulls("subject")
    spoken = language_in(comparison.release.params)
    keywords = spoken.keywords(pl.col("item")).list.sort().list.join(" ").alias("keywords")
    users = rows.group_by("subject").len("n").sort("n", "subject", descending=[True, False]).head(USERS)
    own = _in_time(rows.join(users, on="subject", how="semi"))
    early = own.filter("early")
    known = early.select(pl.col("subject").alias("user"), keywords)
    late = _drawn_rows(own.join(early, on=["subject", "item"], how="anti"), seed)
    people = users.select(user="subject").sort("user")
    yield Score("users", users.height, "users known")
    yield from bound(comparison.release)

    def before() -> list[Score]:
        same = users.select(original="subject", released="subject")
        profiles = _scores("before", known, _profiles(rows, same, seed, keywords), "profiles", people)
        return [*profiles, *_scores("before", known, _single(late, keywords), "queries", late.select(user="subject"))]

    yield from comparison.of_log((__name__, seed, spoken), before)
    bare = released["subject"].null_count()
    if bare < released.height:
        names = comparison.names.join(users, left_on="original", right_on="subject", how="semi")
        yield from _scores("after", known, _profiles(released, names, seed, keywords), "profiles", people)
        if not bare:  # rows without a name beside others are looked at one by one
            return
    record = comparison.release.record
    if record is None or record.rows is None:
        why = "does not apply: neither names nor original rows"
        yield from (Score(f"after.queries{key}", None, why) for key in ("", ".precision", ".recall"))
    else:
        text = released.select("item", "subject").with_row_index("released_row").filter(pl.col("subject").is_null())
        text = text.drop("subject")
        became = late.drop("item").join(comparison.rows, on="row").join(text, on="released_row").sort("row", "item")
        attacked = _single(became.unique("row", keep="first", maintain_order=True), keywords)
        yield from _scores("after", known, attacked, "queries", late.select(user="subject"))


def _scores(moment: str, known: pl.DataFrame, targets: Targets, kind: str, drawn: pl.DataFrame) -> Iterator[Score]:
    """`drawn`: user, one line for each target of theirs that was drawn from the original."""
    guesses = attack(known, targets)
    yield Score(f"{moment}.{kind}", targets.names.height, f"{kind} attacked")
    made = guesses.group_by("target").agg(pl.col("success").sum()).sort("target")["success"]
    precision = 100 * float(made.to_numpy().mean()) if made.len() else None
    yield Score(f"{moment}.{kind}.precision", precision, "% of guesses")
    found = targets.owners.join(guesses, on=["target", "user"], how="left").select(
        "success", "control", person="user", n=pl.lit(1, pl.Int64), released=pl.lit(True)
    )
    # What was drawn and is not there is a failure. A person may have several profiles, and is drawn once.
    there = found.group_by("person").len("there")
    absent = drawn.group_by(person="user").len("n").join(there, on="person", how="left")
    absent = absent.with_columns(n=pl.col("n").cast(pl.Int64) - pl.col("there").fill_null(0).cast(pl.Int64))
    missing = absent.filter(pl.col("n") > 0).select("person", "n", released=pl.lit(False))
    yield from RATES[kind].scores(moment, Shares.of(pl.concat([found, missing], how="diagonal")))


# --- what is attacked ----------------------------------------------------------------------------


def _in_time(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of subjects and times; `place` within the subject and whether it is in the first two thirds."""
    place = pl.int_range(pl.len()).over("subject")
    early = 3 * (pl.col("place") + 1) <= 2 * pl.len().over("subject")
    return in_time(rows, "subject", "item", "time").with_columns(place=place).with_columns(early=early)


def _drawn_rows(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Up to so many rows, of each subject equally many as far as they go."""
    ordered = keyed(rows, seed, "simattack", "subject", "place").sort("drawn", "row")
    turn = pl.int_range(pl.len()).over("subject")
    return ordered.with_columns(turn=turn).sort("turn", "drawn", "row").head(TARGETS).sort("subject", "place")


def _single(rows: pl.DataFrame, keywords: pl.Expr) -> Targets:
    """Each row is a target, and nothing looks like it."""
    drawn = rows.with_row_index("target")
    return Targets(
        queries=drawn.select("target", keywords),
        owners=drawn.select("target", pl.col("subject").alias("user")),
        names=drawn.select("target", pl.lit(1).alias("names")),
    )


def _profiles(rows: pl.DataFrame, names: pl.DataFrame, seed: int, keywords: pl.Expr) -> Targets:
    """The ends of the profiles under the `names` (original, released); names with the same end are one target."""
    end = pl.min_horizontal(pl.len() - 2 * pl.len() // 3, pl.lit(LAST))
    sizes = rows.drop_nulls("subject").group_by("subject").agg(end=end)
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
    first = drawn(targets["first"], TARGETS, seed, "simattack")
    targets = targets.filter(pl.col("first").is_in(first.implode())).with_row_index("target")
    return Targets(
        queries=targets.select("target", "keywords").explode("keywords"),
        owners=targets.select("target", "first").join(owners, on="first").select("target", user="original").unique(),
        names=targets.select("target", "names"),
    )


# --- the attack ----------------------------------------------------------------------------------


def attack(known: pl.DataFrame, targets: Targets) -> pl.DataFrame:
    """target, user, success, control: of each owner of a target about which there is a guess. `known`: user, keywords.

    `control`: the same if the adversary knew of this user what another one searched: a guess at that other one.
    """
    queries = targets.queries.group_by("target", "keywords").len("times")
    similar = similarity(known, queries.select("keywords").unique()).sort("keywords", "user")
    share = pl.col("fit") / pl.col("fit").sum().over("keywords")
    cast = queries.join(similar.with_columns(share.alias("share")), on="keywords").sort("target", "user", "keywords")
    votes = cast.group_by("target", "user").agg((pl.col("times") * pl.col("share")).sum().round(_DIGITS).alias("votes"))
    best = votes.filter(pl.col("votes") == pl.col("votes").max().over("target")).select("target", "user")
    users = known.select("user").unique().sort("user")
    n = users.height
    users = users.with_columns(other=pl.col("user").gather((pl.int_range(n) + n // 2) % n))
    named = best.with_columns(part=1 / pl.len().over("target"))
    guesses = targets.owners.join(best.select("target").unique(), on="target").join(targets.names, on="target")
    guesses = guesses.join(users, on="user", how="left").join(named, on=["target", "user"], how="left")
    guesses = guesses.join(named, left_on=["target", "other"], right_on=["target", "user"], how="left", suffix="_other")
    parts = [(pl.col(part).fill_null(0) / pl.col("names")).alias(name)
             for part, name in (("part", "success"), ("part_other", "control"))]  # fmt: skip
    if n < 2:
        parts[1] = pl.lit(0.0).alias("control")
    return guesses.select("target", "user", *parts).sort("target", "user")


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
