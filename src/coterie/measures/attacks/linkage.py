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
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.scores import Figure, Score
from coterie.measures.attacks import bound, interval
from coterie.measures.comparison import Comparison
from coterie.text.language import ENGLISH, Language, language, language_in

_ENGLISH = language(ENGLISH)
needs = frozenset({"record", "text"})
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
    ),
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="after.two_queries",
        title="Found by two queries",
        reading="The same for somebody who knows two of their queries.",
        before="before.two_queries",
    ),
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="after.five_queries",
        title="Found by five queries",
        reading="The same for five.",
        before="before.five_queries",
    ),
    Figure(
        section="attacks",
        order=10,
        expected=True,
        key="after.half",
        title="Found by half of their queries",
        reading="The same for a random half of all their queries.",
        before="before.half",
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
_PARTS = 1_000_000  # weights are whole millionths, so that equal sums are equal in whatever order they are added


def measure(comparison: Comparison) -> Iterator[Score]:
    """The share of users found for each knowledge, in the original and in the release."""
    original, released = comparison.pairs_before, comparison.pairs_after
    people = original.select("subject").unique().sort("subject")
    known = draw(original, _sample(people, comparison.seed), comparison.seed)
    n, spoken = known["user"].n_unique(), language_in(comparison.release.params)
    yield Score("users", n, "users attacked")
    if (most := bound(comparison.release)) is not None:
        yield Score("bound", most, "% of users")
    yield from _scores(
        "before", attack(known, original, people.select(original="subject", released="subject"), spoken), n
    )
    yield Score("after.names", released["subject"].n_unique(), "names")
    if released.is_empty():
        yield from (Score(f"after.{key}", None, "does not apply: no names") for key in KNOWLEDGE)
    else:
        yield from _scores("after", attack(known, released, comparison.names, spoken), n)


def _scores(moment: str, successes: pl.DataFrame, n: int) -> Iterator[Score]:
    for key in KNOWLEDGE:
        share = float(successes[key].sum()) / n if n else None
        yield Score(f"{moment}.{key}", None if share is None else 100 * share, "% of users")
        if share is not None:
            low, high = interval(share, n)
            yield Score(f"{moment}.{key}.low", 100 * low, "% of users")
            yield Score(f"{moment}.{key}.high", 100 * high, "% of users")


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
    """user and the success for each knowledge.

    `known`: user, position, half, item. `profiles`: subject, item, each pair once. `names`: original, released.
    """
    sizes = profiles.group_by("subject").len("size").sort("subject").with_row_index("name")
    users = known.group_by("user").agg(pl.col("half").first()).sort("user").with_row_index("id")
    number = sizes.select("name", "subject")
    pairs = profiles.lazy().join(number.lazy(), on="subject").select("name", "item")
    items = profiles.lazy().select("item").unique()
    clues = known.join(users.select("id", "user"), on="user").select("id", "position", "item")
    queries = _Clues.of(clues.select("id", "position", text="item"), items.with_columns(text="item"), pairs, users)
    split = clues.with_columns(text=spoken.keywords(pl.col("item"))).explode("text").drop_nulls("text")
    first = split.group_by("id", "text").agg(pl.col("position").min())
    spelled = items.with_columns(text=spoken.keywords(pl.col("item"))).explode("text").drop_nulls("text")
    words = _Clues.of(first, spelled, pairs, users)
    own = users.join(names, left_on="user", right_on="original").join(number, left_on="released", right_on="subject")
    own = own.unique(["id", "name"]).sort("id", "name")
    starts, mine = _starts(own["id"], users.height), own["name"].to_numpy()
    size = sizes["size"].to_numpy()
    success = np.zeros((users.height, len(KNOWLEDGE)))
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
            success[user, column] = np.isin(mine[starts[user] : starts[user + 1]], best).sum() / best.size
    return users.select("user").with_columns(pl.Series(key, success[:, column]) for column, key in enumerate(KNOWLEDGE))


@dataclass(frozen=True, eq=False, repr=False)
class _Clues:
    """Known texts (queries or words) by user, and the names that have them."""

    of_user: NDArray[np.int64]
    """Where the clues of each user begin in `position` and `text`."""
    position: NDArray[np.int64]
    text: NDArray[np.uint32]
    of_text: NDArray[np.int64]
    """Where the names that have a text begin in `name`."""
    name: NDArray[np.uint32]
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, known: pl.DataFrame, spelled: pl.LazyFrame, pairs: pl.LazyFrame, users: pl.DataFrame) -> _Clues:
        """`known`: id, position, text. `spelled`: the texts of each released item. `pairs`: name, item."""
        texts = known.select("text").unique().sort("text").with_row_index("number")
        having = spelled.join(texts.lazy(), on="text").select("item", "number").join(pairs, on="item")
        owned = having.select("number", "name").unique().collect(engine="streaming").sort("number", "name")
        clues = known.join(texts, on="text").sort("id", "position", "number")
        of_text = _starts(owned["number"], texts.height)
        owners = np.maximum(np.diff(of_text), 1)  # a text that no name has adds its weight to nobody
        n = pairs.select(pl.col("name").n_unique()).collect(engine="streaming").item()
        return cls(
            of_user=_starts(clues["id"], users.height),
            position=clues["position"].to_numpy(),
            text=clues["number"].to_numpy(),
            of_text=of_text,
            name=owned["name"].to_numpy(),
            weight=np.rint(_PARTS * np.log1p(n / owners)).astype(np.int64),
        )

    def add(self, user: int, above: int, upto: int, scores: NDArray[np.int64]) -> None:
        """Add the weights of what the user's clues above < position <= upto tell to the scores of names."""
        begin, end = self.of_user[user], self.of_user[user + 1]
        low, high = begin + np.searchsorted(self.position[begin:end], [above, upto], side="right")
        for text in self.text[low:high]:
            scores[self.name[self.of_text[text] : self.of_text[text + 1]]] += self.weight[text]


def _starts(ids: pl.Series, n: int) -> NDArray[np.int64]:
    return np.searchsorted(ids.to_numpy(), np.arange(n + 1))
