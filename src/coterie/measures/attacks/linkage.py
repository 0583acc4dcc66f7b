"""Linkage: somebody who knows a few queries of a person looks for that person's name in the release.

The adversary knows 1, 2 or 5 distinct queries of a user, drawn at random from the original ones, or half of them (all
there are, where these are fewer), and takes the released name that fits best:

    1. the largest sum of weights of the known queries that stand under it, word for word;
    2. among equals, the largest sum of weights of the words of known queries that occur under it;
    3. among equals, the fewest distinct queries: known queries are a larger part of a small profile.

The weight of a text is ln(1 + n / names that have it), n = released names, so rare texts count most. Stop words do not
count. Between names that are still equal the adversary guesses: success = the user's names among them / all of them.
So it is where nothing is known that is in the release. A user of whom nothing is released is never found.

Population: people of the original, up to 1,000 drawn by the seed; released are those who have a name in the release.
`after.half` is how often their name is found there, `before.half` the same on the original under other names, and so
on (measures/rates.py). Control: what is known of another person. `bound` is 100 / k where the release promises that k
users share each profile. A release without names has nothing to link, and gets no number. Nor has one of concepts: this
adversary reads words, and one who knows the taxonomy finds more (`semantic_distance` has such a `linkage`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.scores import Figure, Score
from coterie.measures.attacks import bound
from coterie.measures.attacks._profiles import KNOWLEDGE, Clues, starts
from coterie.measures.comparison import Comparison, everybody
from coterie.measures.rates import CONTROL, Rate, Shares, figures_in, sentences, titled
from coterie.measures.subjects import drawn, keyed
from coterie.text.language import ENGLISH, Language, language, language_in

_ENGLISH = language(ENGLISH)
needs = frozenset({"record", "text"})
effort = 3
ATTACKED = 1_000
_UNIT = "% of users"
_rate = partial(Rate, unit=_UNIT, beside=(("chance", "after.chance"), CONTROL))
RATES = (
    _rate(
        "one_query",
        "Found by one query",
        "Users whose name somebody finds in the release who knows one of their queries, drawn at random. In brackets "
        "the 95% interval. Lower is safer.",
    ),
    _rate("two_queries", "Found by two queries", "The same for somebody who knows two of their queries."),
    _rate("five_queries", "Found by five queries", "The same for five."),
    _rate(
        "half",
        "Found by half of their queries",
        "The same for a random half of all their queries.",
        attacker="somebody who knows half of a person's queries finds the person's name",
        control="what is known of another person",
        bound="bound",
        names="after.names",
    ),
)
SHOWN = {key: shown for rate in RATES for key, shown in rate.shown.items()} | {
    "bound": titled(
        "Promised: found at most",
        "One in k, where the release promises that k users share each profile: even somebody who knows everything "
        "about a person can only guess among the k.",
    ),
}
figures = (
    *figures_in("attacks", 10, SHOWN, expected=True),
    Figure(
        section="notes",
        key="after.names",
        title="Names in the release",
        if_zero="Nobody can be found by name: no row of the release carries one.",
    ),
)
weighed = (RATES[-1].weighed,)
findings = sentences(
    "singling out",
    "Somebody who knows half of a person's queries finds the person's name in {after.half} of cases; in the original "
    "under other names in {before.half}.",
    "That is bounded by 1/k = {bound} by construction, because the names of a group have the same profile: the figure "
    "says nothing about what can be learnt from the profile.",
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """The share of users found for each knowledge, in the original and in the release."""
    original, released = comparison.pairs_before, comparison.pairs_after
    people, names = everybody(original), everybody(released)
    users = drawn(people["subject"], ATTACKED, comparison.seed, "linkage users").to_frame()
    known = draw(original, users, comparison.seed)
    n, spoken = known["user"].n_unique(), language_in(comparison.release.params)
    yield Score("users", n, "users attacked")
    yield from bound(comparison.release, "% of users")
    themselves = people.select(original="subject", released="subject")
    key = (__name__, comparison.seed, spoken, n)
    before = comparison.of_log(key, lambda: attack(known, original, themselves, spoken))
    for rate in RATES:
        yield from rate.scores("before", _shares(before, rate.name))
    yield Score("after.names", names.height, "names")
    if names.is_empty():
        yield from (Score(f"after.{key}", None, "does not apply: no names") for key in KNOWLEDGE)
        return
    after = attack(known, released, comparison.names, spoken)
    there = comparison.names.join(names, left_on="released", right_on="subject", how="semi")
    for rate in RATES:
        yield from rate.scores("after", _shares(after, rate.name, there["original"]))
    yield Score("after.chance", _chance(known, names, comparison.names), _UNIT)


def _shares(successes: pl.DataFrame, key: str, released: pl.Series | None = None) -> Shares:
    """Successes with one knowledge; each person is one target. `released`: who has a name, if not everybody has."""
    there = pl.lit(True) if released is None else pl.col("user").is_in(released.unique().implode())
    success = {"success": pl.col(key), "control": pl.col(f"{key}.control")}
    return Shares.of(successes.select(person="user", n=pl.lit(1), released=there, **success))


def _chance(known: pl.DataFrame, released: pl.DataFrame, names: pl.DataFrame) -> float | None:
    """How often a name drawn at random is that of an attacked user, in percent."""
    users, every = known.select(original="user").unique(), released.select(released="subject")
    own = names.unique().join(users, on="original", how="semi").join(every, on="released", how="semi").height
    return 100 * own / users.height / every.height if users.height else None


def draw(profiles: pl.DataFrame, users: pl.DataFrame, seed: int) -> pl.DataFrame:
    """user, position, half, item: what is known of each user, in the order in which it is learnt.

    One order for all knowledge: whoever knows two queries knows the one as well.
    """
    owned = keyed(profiles.join(users, on="subject"), seed, "linkage queries", "subject", "item")
    learnt = owned.sort("subject", "drawn", "item")
    position = pl.int_range(1, pl.len() + 1).over("subject")
    half = (pl.len().over("subject") + 1) // 2
    known = learnt.select(pl.col("subject").alias("user"), position.alias("position"), half.alias("half"), "item")
    most = max(number for number in KNOWLEDGE.values() if number)
    return known.filter(pl.col("position") <= pl.max_horizontal("half", pl.lit(most)))


def _others(n: int) -> NDArray[np.int64]:
    """For each user somebody else."""
    return (np.arange(n) + n // 2) % n


def attack(
    known: pl.DataFrame, profiles: pl.DataFrame, names: pl.DataFrame, spoken: Language = _ENGLISH
) -> pl.DataFrame:  # fmt: skip
    """user and the success for each knowledge; `.control`: the same with what is known of somebody else.

    `known`: user, position, half, item. `profiles`: subject, item, each pair once. `names`: original, released.
    """
    users = known.group_by("user").agg(pl.col("half").first()).sort("user").with_row_index("id")
    queries = known.join(users.select("id", "user"), on="user").select("id", "position", text="item")
    words = queries.with_columns(text=spoken.keywords(pl.col("text"))).explode("text").drop_nulls("text")
    words = words.group_by("id", "text").agg(pl.col("position").min())  # where each is learnt first
    ties, own, other = _fits(users, (queries, words), names, profiles, spoken)
    n, control = users.height, np.zeros(own.shape)
    if n > 1:
        control[_others(n)] = other / ties
    rates = {"": own / ties, ".control": control}
    return users.select("user").with_columns(
        pl.Series(key + end, rate[:, column]) for end, rate in rates.items() for column, key in enumerate(KNOWLEDGE)
    )


def _fits(
    users: pl.DataFrame, known: tuple[pl.DataFrame, pl.DataFrame], names: pl.DataFrame, profiles: pl.DataFrame,
    spoken: Language,
) -> NDArray[np.int64]:  # fmt: skip
    """For each user and knowledge how many names fit best, how many of them are the user's, and somebody else's.

    `users`: id, user, half. `known`: id, position, text of their queries, and of the words of these.
    """
    sizes = profiles.group_by("subject").len("size").sort("subject").with_row_index("name")
    number = sizes.select("name", "subject")
    pairs = profiles.lazy().join(number.lazy(), on="subject").select("name", "item")
    items = profiles.lazy().select("item").unique()
    queries = Clues.of(known[0], items.with_columns(text="item"), pairs, users)
    spelled = items.with_columns(text=spoken.keywords(pl.col("item"))).explode("text").drop_nulls("text")
    words = Clues.of(known[1], spelled, pairs, users)
    own = users.join(names, left_on="user", right_on="original").join(number, left_on="released", right_on="subject")
    own = own.unique(["id", "name"]).sort("id", "name")
    first_own, mine = starts(own["id"], users.height), own["name"].to_numpy()
    size, others = sizes["size"].to_numpy(), _others(users.height)
    found = np.zeros((3, users.height, len(KNOWLEDGE)), np.int64)
    is_best = np.zeros(size.size, np.bool_)
    for user, half in enumerate(users["half"].to_list() if size.size else []):
        amounts = [half if number is None else number for number in KNOWLEDGE.values()]
        by_query, by_word = np.zeros(size.size, np.int64), np.zeros(size.size, np.int64)
        learnt = 0
        for column in np.argsort(amounts, kind="stable"):
            queries.add(user, learnt, amounts[column], by_query)
            words.add(user, learnt, amounts[column], by_word)
            learnt = amounts[column]
            best = np.flatnonzero(by_query == by_query.max())
            best = best[by_word[best] == by_word[best].max()]
            best = best[size[best] == size[best].min()]
            is_best[best] = True
            right = (is_best[mine[first_own[person] : first_own[person + 1]]].sum() for person in (user, others[user]))
            found[:, user, column] = (best.size, *right)
            is_best[best] = False
    return found
