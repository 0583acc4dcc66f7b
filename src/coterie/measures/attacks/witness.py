"""Witness: somebody who saw a person type a query looks for what else that person asked.

What can be read together is a unit: all rows under one name, or a row without one (`measures/subjects.py`). The witness
knows

    one_query       one search of the person, any of them
    query_and_day   the same, and the day; a week, month or quarter in the release fits each of its days, no time fits
                    all
    two_queries     two different ones, which the person typed one after the other, and both stand in the unit

and guesses among the people behind the rows that fit: success is 1 / people if the person is one of them, and 0 if not.
Population: people of the original, up to 1,000 drawn by the seed; targets are all their searches, and those are
released that the release has of them. Control: a guess among all people of the original, 1 / people. `before`, `after`
and `released` are explained in measures/rates.py.

    own_query                 people with a search that is theirs alone: the witness saw just that one. Its targets are
                               the people themselves, those released of whom any search is there; no control
    after.one_query.alone      searches that one unit alone fits, and it is theirs: found for certain
    after.one_query.outsiders  searches of people who are not in the log (`--outsiders LOG`) that one unit alone fits:
                               a witness who is certain, and wrong. It is shown and never subtracted
    after.one_query.read       further queries of theirs in the unit, mean over searches that one unit alone fits

A witness of a rare query does better. In the figures that follow, they saw the released query that the fewest names
have (among equals, one drawn by the seed), and read what stands under a name that has it; where several have it, under
one of them at random. Other queries of that user which stand there are learnt:

    unique      users with a query that stands under one name only, which is theirs (% of attacked users, 95 % interval)
    queries     other queries learnt, mean over users, counted as expected values
    share       the same as a part of the user's other queries, mean over users who have any
    .chance     the same for somebody who saw nothing and reads what stands under a name drawn at random

They choose the query with the release in hand, so these figures have no targets drawn from the original, and no
decision weighs them: it weighs `one_query`, `own_query` and `query_and_day`. `before` is the same on the original,
under other names, where each person is under one name. A user of whom nothing is released loses nothing. Rows without
names are not linked to anything, so nothing further is read. Methods that release rare queries (`affinity`) are open to
it unless users are dropped: `users = session` leaves what was asked within half an hour, `users = pseudonym` everything
that is released.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison, everybody
from coterie.measures.rates import OF_RELEASED, Rate, Shares, figures_in, mean, sentences, share_of, titled
from coterie.measures.subjects import drawn, keyed, rarer_first, units_of

needs = frozenset({"record", "text"})
ATTACKED = 1_000
_UNIT = "% of searches"
ONE = Rate(
    "one_query",
    "Found by one search",
    "Searches by any of which somebody finds the person: one in the number of people whose rows fit; mean over users. "
    "In brackets the 95% interval. Lower is safer.",
    unit=_UNIT,
    attacker="somebody who saw one search of a person guesses who typed it among the people whose rows fit",
    control="a guess among all people of the log",
)
OWN = Rate(
    "own_query",
    "People with a search that is theirs alone",
    "Whoever saw that search finds the person for certain, whatever else the person typed.",
    unit="% of users",
    beside=(OF_RELEASED,),
    attacker="somebody who saw the search that one person alone typed finds that person for certain",
)
DAY = Rate(
    "query_and_day",
    "Found by one search and its day",
    "The same for somebody who also knows the day.",
    unit=_UNIT,
    attacker="somebody who saw one search of a person, and knows the day, guesses who typed it among the people whose "
    "rows fit both",
    control="a guess among all people of the log",
)
TWO = Rate(
    "two_queries", "Found by two searches", "The same for two different searches, one after the other.", unit=_UNIT
)
RARE = {
    "after.unique": titled(
        "A rare query under one name only",
        "Users whom somebody finds for certain who saw them type their rarest released query. Where no row has a name, "
        "nobody is found.",
        beside=(("chance", "after.unique.chance"),),
    ),
    "after.share": titled(
        "What a witness of that query reads besides",
        "Share of a user's other queries that stand under the name which has the query, mean over users.",
        beside=(("chance", "after.share.chance"),),
    ),
}
SHOWN = {
    **ONE.shown,
    **OWN.shown,
    "after.one_query.outsiders": titled(
        "Found by one search, though not in the log",
        "The same for people who are not in the log: how often a witness is wrong.",
    ),
    **DAY.shown,
    **TWO.shown,
}
figures = (*figures_in("attacks", 30, RARE, expected=True), *figures_in("attacks", 31, SHOWN))
weighed = (ONE.weighed, OWN.weighed, DAY.weighed)
findings = sentences(
    "singling out",
    "Somebody who saw a person search for one thing guesses who it was among the people whose rows fit, and is right "
    "in {after.one_query} of cases; of what was released in {released.one_query}; in the log itself in "
    "{before.one_query}.",
)
_NO_DAY = -(2**31)
_SPANS = {"hour": "1d", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q"}


def measure(comparison: Comparison) -> Iterator[Score]:
    """What a witness learns from the original under other names, and from the release."""
    original, released, seed = comparison.pairs_before, comparison.pairs_after, comparison.seed
    people, names = everybody(original), everybody(released)
    users = drawn(people["subject"], ATTACKED, seed, "witness users").to_frame()
    owned = original.join(users, on="subject", how="semi")
    themselves = users.select(original="subject", released="subject")
    yield Score("users", users.height, "users attacked")

    def before() -> list[Score]:
        having = _names_having(original, owned)
        return list(_scores("before", _learnt(owned, having, owned, people.height, themselves, seed)))

    yield from comparison.of_log((__name__, seed), before)
    yield Score("after.names", names.height, "names")
    theirs = comparison.names.join(users, left_on="original", right_on="subject", how="semi")
    under = released.join(theirs.select(subject="released"), on="subject", how="semi")
    having = _names_having(released, owned)
    yield from _scores("after", _learnt(owned, having, under, names.height, theirs, seed))
    yield from _by_unit(comparison, users)


def _names_having(pairs: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """item, names: how many names have each of the items that some people own; those that none has are left out."""
    return pairs.join(owned, on="item", how="semi").group_by("item").len("names")


def _scores(moment: str, learnt: pl.DataFrame) -> Iterator[Score]:
    part = (pl.col("read") / pl.col("others")).filter(pl.col("others") > 0)
    queries, share = learnt.select(pl.col("read").mean(), share=100 * part.mean()).row(0)
    yield from mean(f"{moment}.unique", learnt["unique"].cast(pl.Float64).to_numpy(), "% of users")
    yield Score(f"{moment}.queries", queries, "queries")
    yield Score(f"{moment}.share", share, "%")
    by_chance = (pl.col("anywhere") / pl.col("others")).filter(pl.col("others") > 0).mean()
    share, unique = learnt.select(by_chance, pl.col("a_name").mean()).row(0)
    yield Score(f"{moment}.share.chance", None if share is None else 100 * share, "%")
    yield Score(f"{moment}.unique.chance", None if unique is None else 100 * unique, "% of users")


# --- a search, any of them ---------------------------------------------------------------------------


def _by_unit(comparison: Comparison, users: pl.DataFrame) -> Iterator[Score]:
    """What units tell somebody who saw one search or two."""
    try:
        units = units_of(comparison)
    except NotApplicableError as error:  # counts in place of rows, or nobody knows whose rows these are
        yield Score("units", None, f"does not apply: {error}")
        return
    seen = comparison.original.join(users, on="subject", how="semi")
    others = comparison.given("outsiders") if comparison.has("outsiders") else None
    if others is not None:
        yield Score("outsiders", others["subject"].n_unique(), "people who are not in the log")
    typed = comparison.original.select(person="subject", item="item").drop_nulls().unique()
    seed, known_of = comparison.seed, {rate.name: known(seen, rate.name) for rate in (ONE, DAY, TWO)}
    chance, only_one = 1 / max(1, typed["person"].n_unique()), pl.col("units") == 1

    def told(moment: str, rows: pl.DataFrame) -> Iterator[Score]:
        for rate in (ONE, DAY, TWO):
            kind = rate.name
            hits = fits(known_of[kind], rows, kind)
            yield from rate.scores(moment, Shares.of(targets_of(hits, chance)))
            if rate is ONE:
                yield from OWN.scores(moment, Shares.of(_own_queries(hits)))
            yield from mean(f"{moment}.{kind}.alone", share_of(hits, only_one & pl.col("own")), _UNIT)
            yield Score(f"{moment}.{kind}.read", _read(hits, rows, typed), "queries")
            if others is not None:
                foreign = fits(known(others, kind), rows, kind)
                yield from mean(f"{moment}.{kind}.outsiders", share_of(foreign, only_one), _UNIT)

    if others is None:
        yield from comparison.of_log((__name__, seed, units.cut_by), lambda: list(told("before", units.before)))
    else:
        yield from told("before", units.before)
    yield from told("after", units.after)


def targets_of(hits: pl.DataFrame, chance: float) -> pl.DataFrame:
    """What `fits` found as targets (measures/rates.py): success is 1 / people where the person is one of them."""
    return hits.select("n", person="subject", released="own", success=1 / pl.col("people"), control=pl.lit(chance))


def _own_queries(hits: pl.DataFrame) -> pl.DataFrame:
    """Each person as a target: found by a search that nobody else has, which common ones do not hide."""
    alone = (pl.col("own") & (pl.col("people") == 1)).any()
    return hits.group_by(person="subject").agg(released=pl.col("own").any(), success=alone).with_columns(
        n=pl.lit(1), control=pl.lit(0.0)
    )  # fmt: skip


def known(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    """subject, item, other, day, n: what a witness can know, and how often it was typed.

    `rows`: row, subject, item, time. `other` is the next search, for two_queries; `day` is for query_and_day.
    """
    rows = rows.drop_nulls(["subject", "item"]).sort("subject", "time", "item", "row")
    other, day = pl.lit(None, pl.String), pl.lit(_NO_DAY, pl.Int32)
    if kind == "two_queries":
        other = pl.col("item").shift(-1).over("subject")
    if kind == "query_and_day":
        day = pl.col("time").dt.date().cast(pl.Int32)
    table = rows.select("subject", "item", other=other, day=day)
    if kind == "two_queries":
        table = table.filter(pl.col("other") != pl.col("item"))
    table = table.drop_nulls("day")
    return table.group_by("subject", "item", "other", "day").len("n").sort("subject", "item", "other", "day")


def fits(known: pl.DataFrame, rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    """What is known, with how many `units` fit and how many `people` are behind them, one `unit`, and if an `own` fits.

    `rows`: unit, person, item, time, level (how exact that is; null: as it was logged).
    """
    clues = known.select("item", "other", "day").unique()
    stand = rows.join(clues, on="item", how="semi")
    if kind == "query_and_day":
        stand = stand.with_columns(day=pl.col("time").dt.date().cast(pl.Int32).fill_null(_NO_DAY))
        held = stand.select("unit", "person", "item", "day", "level").unique()
        on = ["item", "day", "level"]
        found = _days_that_fit(clues).join(held, left_on=["item", "fits", "level"], right_on=on, nulls_equal=True)
        found = found.select("item", "other", "day", "unit", "person").unique()
    elif kind == "two_queries":
        having = rows.select("unit", "item").unique()
        pairs = rarer_first(clues, "item", "other", having.rename({"item": "value"}))
        one = rows.select("unit", "person", "item").unique()
        found = pairs.join(one, left_on="first", right_on="item")
        found = found.join(having, left_on=["unit", "second"], right_on=["unit", "item"], how="semi")
    else:
        found = clues.join(stand.select("unit", "person", "item").unique(), on="item")
    key = ["item", "other", "day"]
    counted = found.group_by(key).agg(
        pl.col("unit").n_unique().alias("units"), pl.col("person").n_unique().alias("people"), pl.col("unit").min()
    )
    theirs = found.select(*key, subject="person", own=pl.lit(True)).unique()
    hits = known.join(counted, on=key, how="left", nulls_equal=True, maintain_order="left")
    hits = hits.join(theirs, on=[*key, "subject"], how="left", nulls_equal=True, maintain_order="left")
    return hits.with_columns(pl.col("units", "people").fill_null(0).cast(pl.Int64), pl.col("own").fill_null(False))


def _days_that_fit(clues: pl.DataFrame) -> pl.DataFrame:
    """item, other, day, fits, level: what a released time may show for each day that is known, and say of itself."""
    date = pl.col("day").cast(pl.Date)
    shown = [(level, date.dt.truncate(unit).cast(pl.Int32)) for level, unit in ((None, "1d"), *_SPANS.items())]
    tables = [clues.with_columns(fits=day, level=pl.lit(level, pl.String)) for level, day in shown]
    nothing = clues.with_columns(fits=pl.lit(_NO_DAY, pl.Int32), level=pl.lit(None, pl.String))
    return pl.concat([*tables, nothing]).unique()


def _read(hits: pl.DataFrame, rows: pl.DataFrame, typed: pl.DataFrame) -> float | None:
    """Further queries of the same person in the unit, mean over searches that it alone fits."""
    found = hits.filter((pl.col("units") == 1) & pl.col("own"))
    if found.is_empty():
        return None
    held = rows.select("unit", "person", "item").unique().join(found.select("unit").unique(), on="unit", how="semi")
    theirs = held.join(typed, on=["person", "item"], how="semi").group_by("unit").len("there")
    known = pl.lit(1) + pl.col("other").is_not_null().cast(pl.Int64)
    further = found.join(theirs, on="unit", how="left", maintain_order="left").select(
        "n", further=(pl.col("there").fill_null(0).cast(pl.Int64) - known).clip(0)
    )
    return float(np.average(further["further"].to_numpy(), weights=further["n"].to_numpy()))


# --- a rare query ------------------------------------------------------------------------------------


def _learnt(
    owned: pl.DataFrame, having: pl.DataFrame, released: pl.DataFrame, every: int, names: pl.DataFrame, seed: int
) -> pl.DataFrame:
    """subject, others, unique, read of each user; anywhere and a_name: by chance, under any name.

    `owned`: subject, item of the users, each pair once; `having`: item, names: how many of `every` name have it;
    `released`: subject, item: at least what stands under the names of these users; `names`: original, released.
    """
    seen = _rarest(owned.join(having, on="item"), seed)
    under = released.rename({"subject": "name"})
    own = names.rename({"original": "subject", "released": "name"}).unique()
    hits = seen.join(own, on="subject").join(under, on=["name", "item"], how="semi")
    others = hits.join(under.rename({"item": "other"}), on="name").filter(pl.col("other") != pl.col("item"))
    learnt = others.join(owned.rename({"item": "other"}), on=["subject", "other"], how="semi")
    read = learnt.group_by("subject").agg((pl.len() / pl.col("names").first()).alias("read"))
    unique = hits.filter(pl.col("names") == 1).select("subject", pl.lit(True).alias("unique"))
    table = owned.group_by("subject").agg((pl.len().cast(pl.Int64) - 1).alias("others"))
    anywhere = owned.join(having, on="item").join(seen.select("subject", seen="item"), on="subject")
    further = anywhere.filter(pl.col("item") != pl.col("seen")).group_by("subject")
    anywhere = further.agg(anywhere=pl.col("names").sum() / every)
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
    ordered = keyed(rarest, seed, "witness query", "subject", "item").sort("subject", "drawn", "item")
    return ordered.unique("subject", keep="first", maintain_order=True).drop("drawn")
