"""Witness: somebody who saw a person type one rare query looks for what else that person asked.

Of each attacked user the witness saw the released query that the fewest names have (among equals, one drawn by the
seed), and reads what stands under a name that has it; where several have it, under one of them at random. Other
queries of that user which stand there are learnt:

    unique      users with a query that stands under one name only, which is theirs (% of attacked users, 95 % interval)
    queries     other queries learnt, mean over users, counted as expected values
    share       the same as a part of the user's other queries, mean over users who have any
    .chance     the same for somebody who saw nothing and reads what stands under a name drawn at random

`before` is the same on the original, under other names. Up to 1,000 users, drawn by the seed, are attacked; a user of
whom nothing is released loses nothing. Rows without names are not linked to anything, so nothing is learnt. Methods
that release rare queries (`affinity`) are open to it unless users are dropped: `users = session` leaves what was asked
within half an hour, `users = pseudonym` everything that is released.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core import randomness
from coterie.core.scores import Figure, Score, Weighed
from coterie.measures.attacks import interval
from coterie.measures.comparison import Comparison

needs = frozenset({"record", "text"})
weighed = (
    Weighed(
        risk="singling out",
        key="after.unique",
        before="before.unique",
        attacker="somebody who saw a person type their rarest released query finds the person's name for certain",
        control="after.unique.chance",
        names="after.names",
    ),
)
ATTACKED = 1_000
figures = (
    Figure(
        section="attacks",
        order=30,
        expected=True,
        key="after.unique",
        title="A rare query under one name only",
        reading="Users whom somebody finds for certain who saw them type their rarest released query. Where no row has "
        "a name, nobody is found.",
        before="before.unique",
        beside=(("chance", "after.unique.chance"),),
    ),
    Figure(
        section="attacks",
        order=30,
        expected=True,
        key="after.share",
        title="What a witness of that query reads besides",
        reading="Share of a user's other queries that stand under the name which has the query, mean over users.",
        before="before.share",
        beside=(("chance", "after.share.chance"),),
    ),
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """What a witness learns from the original under other names, and from the release."""
    original, released = comparison.pairs_before, comparison.pairs_after
    people = original.select("subject").unique().sort("subject")
    drawn = np.argsort(randomness.keys(comparison.seed, "witness users", people["subject"]), kind="stable")[:ATTACKED]
    users = people[np.sort(drawn)]
    themselves = people.select(original="subject", released="subject")
    yield Score("users", users.height, "users attacked")
    yield from _scores("before", witness(users, original, original, themselves, comparison.seed))
    yield Score("after.names", released["subject"].n_unique(), "names")
    yield from _scores("after", witness(users, original, released, comparison.names, comparison.seed))


def _scores(moment: str, learnt: pl.DataFrame) -> Iterator[Score]:
    part = (pl.col("read") / pl.col("others")).filter(pl.col("others") > 0)
    unique, queries, share = learnt.select(pl.col("unique").mean(), pl.col("read").mean(), share=100 * part.mean()).row(
        0
    )
    yield Score(f"{moment}.unique", None if unique is None else 100 * unique, "% of users")
    if unique is not None:
        for end, limit in zip(("low", "high"), interval(unique, learnt.height), strict=True):
            yield Score(f"{moment}.unique.{end}", 100 * limit, "% of users")
    yield Score(f"{moment}.queries", queries, "queries")
    yield Score(f"{moment}.share", share, "%")
    by_chance = (pl.col("anywhere") / pl.col("others")).filter(pl.col("others") > 0).mean()
    share, unique = learnt.select(by_chance, pl.col("a_name").mean()).row(0)
    yield Score(f"{moment}.share.chance", None if share is None else 100 * share, "%")
    yield Score(f"{moment}.unique.chance", None if unique is None else 100 * unique, "% of users")


def witness(
    users: pl.DataFrame, original: pl.DataFrame, released: pl.DataFrame, names: pl.DataFrame, seed: int
) -> pl.DataFrame:
    """subject, others, unique, read of each of the `users`; anywhere and a_name: by chance, under any name.

    `original` and `released`: subject, item, each pair once. `names`: original, released.
    """
    owned = original.join(users, on="subject")
    having = released.join(owned, on="item", how="semi").group_by("item").len("names")
    seen = _rarest(owned.join(having, on="item"), seed)
    under = released.rename({"subject": "name"})
    own = names.rename({"original": "subject", "released": "name"}).unique()
    hits = seen.join(own, on="subject").join(under, on=["name", "item"], how="semi")
    others = hits.join(under.rename({"item": "other"}), on="name").filter(pl.col("other") != pl.col("item"))
    learnt = others.join(owned.rename({"item": "other"}), on=["subject", "other"], how="semi")
    read = learnt.group_by("subject").agg((pl.len() / pl.col("names").first()).alias("read"))
    unique = hits.filter(pl.col("names") == 1).select("subject", pl.lit(True).alias("unique"))
    table = owned.group_by("subject").agg((pl.len().cast(pl.Int64) - 1).alias("others"))
    every = released["subject"].n_unique()
    anywhere = owned.join(having, on="item").join(seen.select("subject", seen="item"), on="subject")
    anywhere = (
        anywhere.filter(pl.col("item") != pl.col("seen"))
        .group_by("subject")
        .agg(anywhere=pl.col("names").sum() / every)
    )
    a_name = own.join(released.select(name="subject").unique(), on="name", how="semi").group_by("subject")
    for each in (unique, read, anywhere, a_name.agg(a_name=pl.len() / every)):
        table = table.join(each, on="subject", how="left")
    # Sorted, so that means are taken in one order and come out the same to the last bit.
    return table.with_columns(
        pl.col("unique").fill_null(False), pl.col("read", "anywhere", "a_name").fill_null(0.0)
    ).sort("subject")


def _rarest(choices: pl.DataFrame, seed: int) -> pl.DataFrame:
    """subject, item, names: of each subject the item that the fewest names have."""
    rarest = choices.filter(pl.col("names") == pl.col("names").min().over("subject"))
    text = rarest.select(pl.concat_str("subject", "item", separator="\0")).to_series()
    drawn = pl.Series("drawn", randomness.keys(seed, "witness query", text))
    ordered = rarest.with_columns(drawn).sort("subject", "drawn", "item")
    return ordered.unique("subject", keep="first", maintain_order=True).drop("drawn")
