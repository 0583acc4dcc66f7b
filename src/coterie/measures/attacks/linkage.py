"""Linkage: somebody who knows a few queries of a person looks for that person's name in the release.

The adversary knows 1, 2 or 5 distinct queries of a user, drawn at random from the original ones, or half of them (all
there are, where these are fewer), and takes the released name that fits best:

    1. the largest sum of weights of the known queries that stand under it, word for word;
    2. among equals, the largest sum of weights of the words of known queries that occur under it;
    3. among equals, the fewest distinct queries: known queries are a larger part of a small profile.

The weight of a text is ln(1 + n / names that have it), n = released names, so rare texts count most. Stop words do not
count. Between names that are still equal the adversary guesses: success = the user's names among them / all of them.
So it is where nothing is known that is in the release. A user of whom nothing is released is never found.

`after.half` is the share of attacked users whose name is found in the release, `before.half` the same on the original
under other names; `low` and `high` limit the 95 % interval (Wilson). `bound` is 100 / k where the release promises that
k users share each profile. Up to 1,000 users, drawn by the seed, are attacked, among all released names. A release
without names has nothing to link, and gets no number. Nor has one of concepts: this adversary reads words, and one who
knows the taxonomy finds more (`semantic_distance` has such a `linkage`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from coterie.core import randomness
from coterie.core.scores import Figure, Finding, Score, Weighed
from coterie.measures.attacks import bound, interval
from coterie.measures.attacks._clues import Clues, starts
from coterie.measures.comparison import Comparison
from coterie.text.language import ENGLISH, Language, language, language_in

_ENGLISH = language(ENGLISH)
needs = frozenset({"record", "text"})
effort = 3
ATTACKED = 1_000
KNOWLEDGE: Mapping[str, int | None] = {"one_query": 1, "two_queries": 2, "five_queries": 5, "half": None}
figures = (
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="after.one_query",
        title="Found by one query",
        reading="Users whose name somebody finds in the release who knows one of their queries, drawn at random. In "
        "brackets the 95% interval. Lower is safer.",
        before="before.one_query",
        beside=(("chance", "after.chance"), ("control", "after.one_query.control")),
    ),
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="after.two_queries",
        title="Found by two queries",
        reading="The same for somebody who knows two of their queries.",
        before="before.two_queries",
        beside=(("chance", "after.chance"), ("control", "after.two_queries.control")),
    ),
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="after.five_queries",
        title="Found by five queries",
        reading="The same for five.",
        before="before.five_queries",
        beside=(("chance", "after.chance"), ("control", "after.five_queries.control")),
    ),
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="after.half",
        title="Found by half of their queries",
        reading="The same for a random half of all their queries.",
        before="before.half",
        beside=(("chance", "after.chance"), ("control", "after.half.control")),
    ),
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="bound",
        title="Promised: found at most",
        reading="One in k, where the release promises that k users share each profile: even somebody who knows "
        "everything about a person can only guess among the k.",
    ),
    Figure(
        section="notes",
        key="after.names",
        title="Names in the release",
        if_zero="Nobody can be found by name: no row of the release carries one.",
    ),
)
weighed = (
    Weighed(
        risk="singling out",
        key="after.half",
        before="before.half",
        attacker="somebody who knows half of a person's queries finds the person's name",
        control="after.half.control",
        names="after.names",
    ),
)
findings = (
    Finding(
        risk="singling out",
        text="Somebody who knows half of a person's queries finds the person's name in {after.half} of cases; in the "
        "original under other names in {before.half}.",
        options="--record DIR",
    ),
    Finding(
        risk="singling out",
        text="That is bounded by 1/k = {bound} by construction, because the names of a group have the same profile: "
        "the figure says nothing about what can be learnt from the profile.",
        options="--record DIR",
    ),
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """The share of users found for each knowledge, in the original and in the release."""
    original, released = comparison.pairs_before, comparison.pairs_after
    people = original.select("subject").unique().sort("subject")
    known = draw(original, _sample(people, comparison.seed), comparison.seed)
    n, spoken = known["user"].n_unique(), language_in(comparison.release.params)
    yield Score("users", n, "users attacked")
    if (most := bound(comparison.release)) is not None:
        yield Score("bound", most, "% of users")
    themselves = people.select(original="subject", released="subject")
    key = (__name__, comparison.seed, spoken, n)
    yield from _scores("before", comparison.of_log(key, lambda: attack(known, original, themselves, spoken)), n)
    yield Score("after.names", released["subject"].n_unique(), "names")
    if released.is_empty():
        yield from (Score(f"after.{key}", None, "does not apply: no names") for key in KNOWLEDGE)
    else:
        yield from _scores("after", attack(known, released, comparison.names, spoken), n)
        yield Score("after.chance", _chance(known, released, comparison.names), "% of users")


def _chance(known: pl.DataFrame, released: pl.DataFrame, names: pl.DataFrame) -> float | None:
    """How often a name drawn at random is that of an attacked user, in percent."""
    users, every = known.select(original="user").unique(), released.select(released="subject").unique()
    own = names.unique().join(users, on="original", how="semi").join(every, on="released", how="semi").height
    return 100 * own / users.height / every.height if users.height else None


def _scores(moment: str, successes: pl.DataFrame, n: int) -> Iterator[Score]:
    for key in KNOWLEDGE:
        share = float(successes[key].sum()) / n if n else None
        yield Score(f"{moment}.{key}", None if share is None else 100 * share, "% of users")
        if share is not None:
            low, high = interval(share, n)
            yield Score(f"{moment}.{key}.low", 100 * low, "% of users")
            yield Score(f"{moment}.{key}.high", 100 * high, "% of users")
        if n > 1:
            yield Score(f"{moment}.{key}.control", 100 * float(successes[f"{key}.control"].sum()) / n, "% of users")


def _sample(people: pl.DataFrame, seed: int) -> pl.DataFrame:
    drawn = np.argsort(randomness.keys(seed, "linkage users", people["subject"]), kind="stable")[:ATTACKED]
    return people[np.sort(drawn)]


def draw(profiles: pl.DataFrame, users: pl.DataFrame, seed: int) -> pl.DataFrame:
    """user, position, half, item: what is known of each user, in the order in which it is learnt.

    One order for all knowledge: whoever knows two queries knows the one as well.
    """
    owned = profiles.join(users, on="subject")
    text = owned.select(pl.concat_str("subject", "item", separator="\0")).to_series()
    order = pl.Series("order", randomness.keys(seed, "linkage queries", text))
    learnt = owned.with_columns(order).sort("subject", "order", "item")
    position = pl.int_range(1, pl.len() + 1).over("subject")
    half = (pl.len().over("subject") + 1) // 2
    known = learnt.select(pl.col("subject").alias("user"), position.alias("position"), half.alias("half"), "item")
    most = max(number for number in KNOWLEDGE.values() if number)
    return known.filter(pl.col("position") <= pl.max_horizontal("half", pl.lit(most)))


def attack(
    known: pl.DataFrame, profiles: pl.DataFrame, names: pl.DataFrame, spoken: Language = _ENGLISH
) -> pl.DataFrame:  # fmt: skip
    """user and the success for each knowledge; `.control`: the same with what is known of somebody else.

    `known`: user, position, half, item. `profiles`: subject, item, each pair once. `names`: original, released.
    """
    sizes = profiles.group_by("subject").len("size").sort("subject").with_row_index("name")
    users = known.group_by("user").agg(pl.col("half").first()).sort("user").with_row_index("id")
    number = sizes.select("name", "subject")
    pairs = profiles.lazy().join(number.lazy(), on="subject").select("name", "item")
    items = profiles.lazy().select("item").unique()
    clues = known.join(users.select("id", "user"), on="user").select("id", "position", "item")
    queries = Clues.of(clues.select("id", "position", text="item"), items.with_columns(text="item"), pairs, users)
    split = clues.with_columns(text=spoken.keywords(pl.col("item"))).explode("text").drop_nulls("text")
    first = split.group_by("id", "text").agg(pl.col("position").min())
    spelled = items.with_columns(text=spoken.keywords(pl.col("item"))).explode("text").drop_nulls("text")
    words = Clues.of(first, spelled, pairs, users)
    own = users.join(names, left_on="user", right_on="original").join(number, left_on="released", right_on="subject")
    own = own.unique(["id", "name"]).sort("id", "name")
    first_own, mine = starts(own["id"], users.height), own["name"].to_numpy()
    size = sizes["size"].to_numpy()
    success, control = np.zeros((2, users.height, len(KNOWLEDGE)))
    is_best = np.zeros(size.size, np.bool_)
    for user, half in enumerate(users["half"].to_list()):
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
            somebody_else = (user + users.height // 2) % users.height
            is_best[best] = True
            for rate, person in ((success, user), (control, somebody_else)):
                rate[person, column] = is_best[mine[first_own[person] : first_own[person + 1]]].sum() / best.size
            is_best[best] = False
    rates = {"": success, ".control": control}
    return users.select("user").with_columns(
        pl.Series(key + end, rate[:, column]) for end, rate in rates.items() for column, key in enumerate(KNOWLEDGE)
    )
