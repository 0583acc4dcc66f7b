"""How well does the released profile of users tell what they search for later?

The release is made of the earlier part of the log; the later part, which no method saw, is the yardstick. For each user
the overlap (`measures/category_shares.py`) of their later queries with

    released    the profile that was released for them
    own         their own earlier queries, unprotected
    stranger    the earlier queries of other users, the mean of 20 drawn at random

is averaged over users, at several levels of the taxonomy (WordNet: 5, 7 and 8), and

    retained = 100 (released - stranger) / (own - stranger)

so 0 % is a profile that tells no more than a stranger's, and 100 % one that tells as much as their own. `retained` is
the mean of the levels; `low` and `high` are its 95 % interval over users (1,000 bootstrap samples, groups held fixed).
Profiles of few queries overlap less with anything, so compare only releases with profiles of the same size. Users with
fewer than 10 later queries are not asked; above 2,000 users a random sample is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core import randomness
from coterie.core.scores import Figure, Score
from coterie.errors import NotApplicableError
from coterie.measures.category_shares import Meaning, levels_of, overlaps, profile_names
from coterie.measures.comparison import Comparison

needs = frozenset({"record", "later", "taxonomy"})
figures = (
    Figure(
        section="utility",
        order=90,
        key="retained",
        title="Later searches foretold",
        reading="How well their profile tells what users searched for afterwards, which no method saw: 0% is the "
        "profile of a stranger, 100% their own unprotected one. In brackets the 95% interval over users. Compare with "
        "random groups.",
        before="100%",
    ),
)
LEAST_LATER = 10
MOST_USERS = 2_000
STRANGERS = 20
SAMPLES = 1_000
_KINDS = ("released", "own", "stranger")


def measure(comparison: Comparison) -> Iterator[Score]:
    """What is retained at each level and over all, with its interval."""
    later: pl.DataFrame = comparison.given("later").drop_nulls()
    names = profile_names(comparison)
    earlier = comparison.original.select("subject", "item").drop_nulls()
    released = (
        comparison.released.rename({"subject": "released"})
        .join(names, on="released")
        .select(pl.col("original").alias("subject"), "item")
    )
    users = _asked(later, earlier, comparison.seed)
    if users.is_empty():
        raise NotApplicableError(f"No user of the original has {LEAST_LATER} later queries.")
    meaning = Meaning.of(comparison.given("taxonomy"), earlier["item"], later["item"], released["item"])
    pairs = _strangers(users, earlier["subject"].unique().sort(), comparison.seed)
    levels = levels_of(meaning.tree)
    tables = [_overlaps(meaning, level, users, pairs, earlier, later, released) for level in levels]
    yield Score("users", users.len(), "users with later queries")
    yield from _retained("", tables, comparison.seed)
    for level, table in zip(levels, tables, strict=True):
        for kind in _KINDS:
            yield Score(f"level_{level}.{kind}", _mean(table[kind].to_numpy()), "overlap")
        yield from _retained(f"level_{level}.", [table], comparison.seed)


def _asked(later: pl.DataFrame, earlier: pl.DataFrame, seed: int) -> pl.Series:
    """Users of the original with enough later queries; a sample where there are many."""
    many = later.group_by("subject").len("n").filter(pl.col("n") >= LEAST_LATER)
    users = many.join(earlier, on="subject", how="semi")["subject"].sort()
    order = np.argsort(randomness.keys(seed, "users with later queries", users), kind="stable")[:MOST_USERS]
    return users.gather(np.sort(order))


def _strangers(users: pl.Series, everybody: pl.Series, seed: int) -> pl.DataFrame:
    """subject, stranger: other users for each user, at random."""
    if everybody.len() < 2:
        raise NotApplicableError("It compares users with strangers, and there is one user only.")
    start = randomness.keys(seed, "strangers", users)
    place = pl.DataFrame({"subject": everybody}).with_row_index("place")
    own = pl.DataFrame({"subject": users}).join(place, on="subject", maintain_order="left")["place"].to_numpy()
    steps = [np.random.Generator(np.random.Philox(int(s))).integers(1, everybody.len(), STRANGERS) for s in start]
    who = (own[:, None] + np.stack(steps)) % everybody.len()  # a step of 1 or more never leads to oneself
    return pl.DataFrame(
        {
            "subject": users.gather(np.repeat(np.arange(users.len()), STRANGERS)),
            "stranger": everybody.gather(who.ravel()),
        }
    )


def _overlaps(
    meaning: Meaning,
    level: int,
    users: pl.Series,
    pairs: pl.DataFrame,
    earlier: pl.DataFrame,
    later: pl.DataFrame,
    released: pl.DataFrame,
) -> pl.DataFrame:
    """released, own, stranger of each user whose later queries reach the level."""
    mine = later.filter(pl.col("subject").is_in(users.implode()))
    wanted, before, after = (meaning.shares(rows, level) for rows in (mine, earlier, released))
    numbered = pairs.with_row_index("pair")
    wanted_of_pairs = numbered.join(wanted, on="subject").select("pair", "category", "share")
    of_strangers = numbered.join(before, left_on="stranger", right_on="subject").select("pair", "category", "share")
    strangers = (
        numbered.join(overlaps(wanted_of_pairs, of_strangers, "pair"), on="pair", how="left")
        .group_by("subject", maintain_order=True)
        .agg(pl.col("overlap").fill_null(0.0).mean().alias("stranger"))
    )
    of_users = wanted.select("subject").unique(maintain_order=True)
    for kind, table in (("released", after), ("own", before)):
        of_users = of_users.join(overlaps(wanted, table, "subject").rename({"overlap": kind}), on="subject", how="left")
    return of_users.join(strangers, on="subject", how="left").fill_null(0.0).sort("subject")


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    return float(values.mean()) if values.size else None


def _retained(prefix: str, tables: list[pl.DataFrame], seed: int) -> Iterator[Score]:
    """The share retained, averaged over levels, with the interval of samples of users drawn anew."""
    users = pl.concat([table["subject"] for table in tables]).unique().sort()
    stream = np.random.Generator(np.random.Philox(int(randomness.keys(seed, "bootstrap", pl.Series(["users"]))[0])))
    weights = np.stack([np.ones(users.len()), *(_drawn(stream, users.len()) for _ in range(SAMPLES))])
    place = pl.DataFrame({"subject": users}).with_row_index("place")
    of_levels = []
    for table in tables:
        rows = table.join(place, on="subject", maintain_order="left")
        weight = weights[:, rows["place"].to_numpy()]
        # Not `@`: the sums of a linear algebra library depend on its threads.
        released, own, stranger = (np.einsum("su,u->s", weight, rows[kind].to_numpy()) for kind in _KINDS)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_levels.append(np.where(own > stranger, 100 * (released - stranger) / (own - stranger), np.nan))
    whole = np.mean(of_levels, axis=0) if of_levels else np.full(SAMPLES + 1, np.nan)
    drawn = whole[1:][~np.isnan(whole[1:])]
    low, high = np.quantile(drawn, [0.025, 0.975]) if drawn.size else (np.nan, np.nan)
    for key, number in (("retained", whole[0]), ("retained.low", low), ("retained.high", high)):
        yield Score(prefix + key, None if np.isnan(number) else float(number), "%")


def _drawn(stream: np.random.Generator, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How often each of n users is drawn, in n draws with replacement."""
    return np.bincount(stream.integers(0, n, n), minlength=n).astype(np.float64)
