"""Profiles of groups as attacks see them: what stands in each, who is behind it, and which one fits what is known.

Items and users are numbers here: items those of `texts`, users and groups their places in the order of a table.

Clues: what an adversary knows of users, and which released names (or groups) it points to.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.arrays import offsets
from coterie.core.promise import to_dict
from coterie.core.scores import Score
from coterie.core.shapes import LEVEL
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import Z
from coterie.measures.subjects import keyed
from coterie.text.language import Language, language_in
from coterie.text.words import JOINT, words_and_letters

KNOWLEDGE: Mapping[str, int | None] = {"one_query": 1, "two_queries": 2, "five_queries": 5, "half": None}
"""How many distinct queries of a person are known; never more than half of theirs, so that some are left to learn."""
FIVE = "five_queries"
POINTS = "% points"
_CUTS = {"week": "1w", "month": "1mo", "quarter": "1q"}
_MOST_WORDS = 40  # of a query that are looked through for shorter texts


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Profiles:
    """Groups of users, the profile that each group shares, and what its members typed."""

    texts: pl.DataFrame
    """item, text: all strings of the original and of the release."""
    members: pl.DataFrame
    """user, group; `user` is the name in the original."""
    rows: pl.DataFrame
    """group, item, n: how often each string stands in the profile of a group."""
    days: pl.DataFrame
    """group, item, day: on which days, or first days of weeks, months or quarters; none where there are no times."""
    typed: pl.DataFrame
    """user, item, n: how often each user of the original typed a string."""
    typed_days: pl.DataFrame
    """user, item, day."""
    least_users: int
    """How many users of the log have each string of the release, at least, as it promises."""
    spoken: Language

    @cached_property
    def words(self) -> pl.DataFrame:
        """item, word: the distinct words of all strings, without stop words."""
        keywords = self.spoken.keywords(pl.col("text"))
        return self.texts.select("item", word=keywords).explode("word").drop_nulls("word")

    @cached_property
    def stems(self) -> pl.DataFrame:
        """item, stem: their distinct stems."""
        distinct = self.words["word"].unique().sort()
        stems = pl.DataFrame({"word": distinct, "stem": self.spoken.stems(distinct)})
        return self.words.join(stems, on="word").select("item", "stem").unique()

    def strings(self, items: pl.DataFrame) -> pl.DataFrame:
        """item, text: the different strings in a table of items."""
        return items.select("item").unique().join(self.texts, on="item").sort("item")

    def related(self, queries: pl.DataFrame, stands: pl.DataFrame, strings: pl.DataFrame) -> pl.DataFrame:
        """item, other: known queries and the strings that stand in them (`stands`), or in which they stand."""
        around = parts_of(self.strings(queries), strings).select(item="part", other="whole")
        return pl.concat([stands.select(item="whole", other="part"), around])

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.members["group"].n_unique())


def profiles_of(comparison: Comparison, besides: pl.Series | None = None) -> Profiles:
    """The profiles of a release, by the groups of its run record; `besides`: further strings that get numbers."""
    record = comparison.record.subjects.drop_nulls(["released", "group"]).collect(engine="streaming")
    grouped = record.select(user="original", name="released", group="group")
    if grouped.is_empty():
        raise NotApplicableError("No users of this release share a profile, so there is no group to look into.")
    if grouped["user"].n_unique() < grouped.height:
        raise NotApplicableError("Some users have several names in this release; it looks at releases with one each.")
    numbers = keyed(grouped.select("group").unique(), comparison.seed, "groups")
    numbers = numbers.sort("drawn", "group").with_row_index("number")  # no order of groups that an adversary lacks
    members = grouped.join(numbers, on="group").select("user", "name", pl.col("number").alias("group")).sort("user")
    names = members.group_by("group").agg(pl.col("name").min())
    cut = _CUTS.get(comparison.release.params.get("times", ""), "1d")
    released = comparison.released
    if LEVEL in released.columns:  # the month of a row that one member alone typed does not say the day
        exact = pl.col(LEVEL).replace_strict(_CUTS, default="1d") == cut
        released = released.with_columns(time=pl.when(exact).then("time"))
    released = released.join(names, left_on="subject", right_on="name").select("group", "item", "time")
    return _numbered(comparison, members.select("user", "group"), released, besides, cut)


def everybody_alone(comparison: Comparison) -> Profiles:
    """The original under other names: each user is a group."""
    users = keyed(comparison.original.select(user="subject").drop_nulls().unique(), comparison.seed, "alone")
    members = users.sort("drawn", "user").with_row_index("group").select("user", "group")
    rows = comparison.original.join(members, left_on="subject", right_on="user").select("group", "item", "time")
    return _numbered(comparison, members.sort("user"), rows)


def _numbered(
    comparison: Comparison,
    members: pl.DataFrame,
    released: pl.DataFrame,
    besides: pl.Series | None = None,
    cut: str = "1d",
) -> Profiles:
    """`cut`: what times of the release are cut to, so that whoever knows a day looks for what holds it."""
    typed = comparison.original.select("item", "time", user="subject").drop_nulls("user")
    strings = [typed["item"], released["item"], *([] if besides is None else [besides])]
    texts = pl.concat(strings).unique().sort().alias("text").to_frame().with_row_index("item")

    def by_number(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.rename({"item": "text"}).join(texts, on="text").drop("text")

    def counted(rows: pl.DataFrame, who: str) -> pl.DataFrame:
        return rows.group_by(who, "item").agg(pl.len().cast(pl.Int64).alias("n")).sort(who, "item")

    def dated(rows: pl.DataFrame, who: str) -> pl.DataFrame:
        day = pl.col("time").dt.truncate(cut).dt.date().cast(pl.Int32)
        days = rows.drop_nulls("time").select(who, "item", day=day)
        return days.unique().sort(who, "item", "day")

    typed, released = by_number(typed), by_number(released)
    return Profiles(
        texts=texts,
        members=members,
        rows=counted(released, "group"),
        days=dated(released, "group"),
        typed=counted(typed, "user"),
        typed_days=dated(typed, "user"),
        least_users=max([1, *(to_dict(promise).get("m", 1) for promise in comparison.release.promises)]),
        spoken=language_in(comparison.release.params),
    )


# --- what is known ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Known:
    """What an adversary knows of the attacked users."""

    users: pl.DataFrame
    """id, user, group, distinct (queries they typed), fold, and how many are known by each key of KNOWLEDGE."""
    queries: pl.DataFrame
    """id, position, item: in the order in which they are learnt."""
    groupless: pl.Series
    """Those who were drawn as well and are in no group, so that every attack on them fails."""

    @property
    def n(self) -> int:
        """How many users are attacked."""
        return self.users.height

    def by(self, key: str) -> pl.DataFrame:
        """id, item: what is known with so much knowledge."""
        amounts = self.users.select("id", pl.col(key).alias("amount"))
        known = self.queries.join(amounts, on="id").filter(pl.col("position") <= pl.col("amount"))
        return known.select("id", "item").sort("id", "item")


def draw_known(profiles: Profiles, seed: int, most: int) -> Known:
    """Up to `most` users with two queries or more, drawn by the seed, and the queries of theirs that are known."""
    owned = profiles.typed.with_columns(distinct=pl.len().over("user")).filter(pl.col("distinct") > 1)
    drawn = keyed(owned.select("user", "distinct").unique(), seed, "attacked users", "user")
    drawn = drawn.sort("drawn", "user").head(most)
    users = drawn.join(profiles.members, on="user").select("user", "group", "distinct", "drawn")
    users = users.sort("user").with_row_index("id")
    half = pl.col("distinct") // 2
    amounts = [(half if n is None else pl.min_horizontal(half, pl.lit(n))).alias(key) for key, n in KNOWLEDGE.items()]
    users = users.with_columns((pl.col("drawn") // 2**32 % 2).cast(pl.Int64).alias("fold"), *amounts)
    theirs = owned.join(users.select("user", "id"), on="user").join(profiles.texts, on="item")
    place = pl.int_range(1, pl.len() + 1).over("id")
    theirs = keyed(theirs, seed, "known queries", "user", "text").sort("id", "drawn", "item")
    queries = theirs.select("id", place.alias("position"), "item")
    half_of = queries.join(users.select("id", most=pl.col("half")), on="id")
    return Known(
        users=users.drop("drawn"),
        queries=half_of.filter(pl.col("position") <= pl.col("most")),
        groupless=drawn.join(profiles.members, on="user", how="anti")["user"],
    )


def parts_of(parts: pl.DataFrame, wholes: pl.DataFrame) -> pl.DataFrame:
    """part, whole: items of `parts` that stand in items of `wholes`, word for word and one after the other.

    Both tables have item and text. A text stands in itself. Of parts with the same words the last one is meant.

    From every place of every whole we read on, all places at once, one word further in each round, as long as some part
    begins so; few places are left after the first.
    """
    shorter = pl.DataFrame({"part": parts["item"].cast(pl.UInt32), "words": words_and_letters(parts["text"])})
    longer = pl.DataFrame({"whole": wholes["item"].cast(pl.UInt32), "words": words_and_letters(wholes["text"])})
    size, run = pl.col("words").list.len(), pl.col("words").list.join(" ").alias("run")
    shorter = shorter.with_columns(run, size=size).unique("run", keep="last", maintain_order=True)
    found = [longer.with_columns(run).join(shorter, on="run").select("part", "whole")]  # however long they are
    looked_through = longer.select("whole", pl.col("words").list.head(_MOST_WORDS)).filter(size > 0)
    words = looked_through.with_columns(end=size.cum_sum()).explode("words").with_row_index("place")
    at = words.select("whole", "place", "end", run=pl.col("words").str.strip_prefix(JOINT))
    for length in range(1, min(int(shorter["size"].to_numpy().max(initial=0)), _MOST_WORDS) + 1):
        begin = shorter.filter(pl.col("size") >= length).select(run=pl.col("words").list.head(length).list.join(" "))
        at = at.join(begin.unique(), on="run", how="semi")
        found.append(at.join(shorter.filter(pl.col("size") == length), on="run").select("part", "whole"))
        at = at.with_columns(pl.col("place") + 1).filter(pl.col("place") < pl.col("end"))
        at = at.with_columns(run=pl.concat_str("run", words["words"].gather(at["place"]), separator=" "))
    return pl.concat(found).unique().sort("part", "whole")


def cut_into(parts: pl.DataFrame, wholes: pl.DataFrame) -> pl.DataFrame:
    """part, whole, n: texts of `wholes` cut into texts of `parts`: the longest first, then left and right of it.

    Both tables have item and text, `parts` also `users`: of parts with the same number of words the one with the fewest
    users is taken, of several the first. A text that is one of the parts stays whole.
    """
    numbers = {run: (users, item) for (item, run), users in zip(_runs(parts), parts["users"], strict=True)}
    longest = max(map(len, numbers), default=0)
    counts: Counter[tuple[int, int]] = Counter()
    for whole, run in _runs(wholes):
        if run in numbers:
            counts[numbers[run][1], whole] += 1
            continue
        open_parts = [run]
        while open_parts:
            words = open_parts.pop()
            for n in range(min(longest, len(words)), 0, -1):
                fits = [(numbers[part], at) for at in range(len(words) - n + 1)
                        if (part := _as_text(words[at : at + n])) in numbers]  # fmt: skip
                if fits:
                    (_, item), at = min(fits, key=lambda fit: (fit[0][0], fit[1]))
                    counts[item, whole] += 1
                    open_parts += [words[:at], words[at + n :]]
                    break
    rows = [(part, whole, n) for (part, whole), n in counts.items()]
    schema = {"part": pl.UInt32, "whole": pl.UInt32, "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("part", "whole")


def _runs(texts: pl.DataFrame) -> Iterator[tuple[int, tuple[str, ...]]]:
    """item, words of each text."""
    for item, words in zip(texts["item"], words_and_letters(texts["text"]).to_list(), strict=True):
        yield item, tuple(words)


def _as_text(words: tuple[str, ...]) -> tuple[str, ...]:
    """Some words in a row as they would be if a text began with them."""
    return (words[0].removeprefix(JOINT), *words[1:])


def having(typed: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """user, item, n: which items stand in what users typed (user, item, n), and in how many rows."""
    theirs = typed.join(parts, left_on="item", right_on="whole").group_by("user", "part").agg(pl.col("n").sum())
    return theirs.rename({"part": "item"}).sort("user", "item")


# --- which group fits -------------------------------------------------------------------------------


def find_groups(
    profiles: Profiles, known: Known, keys: Sequence[str], days: bool = False
) -> dict[str, NDArray[np.int64]]:
    """For each knowledge the group that each attacked user is believed to be in.

    A group is scored by known queries that stand in its profile, by their words, by their stems, and, where days are
    known, by queries on the same day; the weight of a text is ln(1 + groups / groups that have it). Which of these
    scores is used was found out on other users (the other fold); ties are broken by the sum of all scores and then by
    the size of the profile.
    """
    words, stems = (each.rename({each.columns[1]: "text"}) for each in (profiles.words, profiles.stems))
    own = profiles.rows.select("group", "item")
    clues = [_clues(own, known.queries, each, known.users) for each in (profiles.texts, words, stems)]
    if days:
        clues.append(_dated_clues(profiles, known))
    size = np.zeros(profiles.groups, np.int64)
    np.add.at(size, own["group"].to_numpy(), 1)
    amounts = known.users.select(pl.col(keys).cast(pl.Int64)).to_numpy()
    chosen = best_names(clues, amounts, size)
    right = chosen == known.users["group"].to_numpy()[None, :, None]
    fold = known.users["fold"].to_numpy()
    groups = np.zeros((known.n, len(keys)), np.int64)
    for each in (0, 1):
        scoring = right[:, fold != each].sum(axis=1).argmax(axis=0)  # of equals the first
        for column, use in enumerate(scoring):
            groups[fold == each, column] = chosen[use, fold == each, column]
    return {key: groups[:, column] for column, key in enumerate(keys)}


def _clues(own: pl.DataFrame, queries: pl.DataFrame, texts: pl.DataFrame, users: pl.DataFrame) -> Clues:
    """The texts (item, text) of known queries, each from where it is first learnt."""
    known = queries.join(texts, on="item").group_by("id", "text").agg(pl.col("position").min())
    return Clues.of(known, texts.lazy(), own.lazy().rename({"group": "name"}), users)


def _dated_clues(profiles: Profiles, known: Known) -> Clues:
    """Known queries with the days on which they were typed."""
    dated = pl.concat_str("item", "day", separator=" ")
    days = known.queries.join(known.users.select("id", "user"), on="id").join(profiles.typed_days, on=["user", "item"])
    own = profiles.days.select("group", item=dated)
    texts = pl.concat([days.select(item=dated), own.select("item")]).unique().with_columns(text="item")
    return _clues(own, days.select("id", "position", item=dated), texts, known.users)


# --- numbers ----------------------------------------------------------------------------------------


def difference(key: str, values: NDArray[np.float64]) -> Iterator[Score]:
    """The mean of differences, one for each user, in percentage points with its 95 % interval (normal)."""
    if values.size < 2:
        yield Score(key, None, POINTS)
        return
    mean, half = float(values.mean()), Z * float(values.std(ddof=1)) / math.sqrt(values.size)
    for end, limit in (("", mean), (".low", mean - half), (".high", mean + half)):
        yield Score(f"{key}{end}", 100 * limit, POINTS)


# --- clues ----------------------------------------------------------------------------------------


PARTS = 1_000_000  # weights are whole millionths, so that equal sums are equal in whatever order they are added


@dataclass(frozen=True, eq=False, repr=False)
class Clues:
    """Known texts (queries or words) by user, and the names that have them."""

    of_user: NDArray[np.int64]
    """Where the clues of each user begin in `position` and `text`."""
    position: NDArray[np.int64]
    text: NDArray[np.int64]
    of_text: NDArray[np.int64]
    """Where the names that have a text begin in `name`."""
    name: NDArray[np.int64]
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, known: pl.DataFrame, spelled: pl.LazyFrame, pairs: pl.LazyFrame, users: pl.DataFrame) -> Clues:
        """`known`: id, position, text. `spelled`: the texts of each released item. `pairs`: name, item."""
        texts = known.select("text").unique().sort("text").with_row_index("number")
        having = spelled.join(texts.lazy(), on="text").select("item", "number").join(pairs, on="item")
        owned = having.select("number", "name").unique().collect(engine="streaming").sort("number", "name")
        clues = known.join(texts, on="text").sort("id", "position", "number")
        of_text = starts(owned["number"], texts.height)
        n = pairs.select(pl.col("name").n_unique()).collect(engine="streaming").item()
        return cls(
            of_user=starts(clues["id"], users.height),
            position=clues["position"].to_numpy().astype(np.int64),
            text=clues["number"].to_numpy().astype(np.int64),
            of_text=of_text,
            name=owned["name"].to_numpy().astype(np.int64),
            # A text that no name has adds its weight to nobody.
            weight=np.rint(PARTS * np.log1p(n / np.maximum(np.diff(of_text), 1))).astype(np.int64),
        )

    def add(self, user: int, above: int, upto: int, scores: NDArray[np.int64]) -> None:
        """Add the weights of what the user's clues above < position <= upto tell to the scores of names."""
        from coterie.algorithms.kernels.clues import add

        begin, end = self.of_user[user], self.of_user[user + 1]
        begin += np.searchsorted(self.position[begin:end], above, side="right")
        add(
            begin, end, upto, self.position, self.text, self.of_text, self.name, self.weight, scores
        )  # fmt: skip


def weighted(having: pl.DataFrame, name: str) -> pl.DataFrame:
    """A table with the columns strings and having in place of which stands a weight."""
    weight = np.rint(PARTS * log1p(having.select(pl.col("strings") / pl.col("having")).to_series())).astype(np.int64)
    return having.drop("strings", "having").with_columns(pl.Series(name, weight))


def log1p(numbers: pl.Series) -> NDArray[np.float64]:
    """ln(1 + x) of each."""
    logarithms: NDArray[np.float64] = np.log1p(numbers.to_numpy())
    return logarithms


def _sizes(clues: Clues) -> tuple[int, int, int]:
    return clues.position.size, clues.weight.size, clues.name.size


def best_names(clues: Sequence[Clues], amounts: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of several kinds of clues, each user and column of `amounts` the name that fits best.

    That is the one with the highest score of that kind; among equals the one with the highest sum over all kinds, then
    the smallest one, then the first.
    """
    from coterie.algorithms.kernels.clues import best_names as best_by_column

    in_order = np.argsort(amounts, axis=1, kind="stable")
    clue, text, name = (offsets(np.array(sizes)) for sizes in zip(*map(_sizes, clues), strict=True))
    chosen = best_by_column(
        np.stack([each.of_user + first for each, first in zip(clues, clue[:-1], strict=True)]),
        np.concatenate([each.position for each in clues]),
        np.concatenate([each.text + first for each, first in zip(clues, text[:-1], strict=True)]),
        np.concatenate([each.of_text[:-1] + first for each, first in zip(clues, name[:-1], strict=True)] + [name[-1:]]),
        np.concatenate([each.name for each in clues]),
        np.concatenate([each.weight for each in clues]),
        np.take_along_axis(amounts, in_order, axis=1),
        size,
    )
    by_column = np.empty_like(chosen)
    np.put_along_axis(by_column, np.broadcast_to(in_order, chosen.shape).copy(), chosen, axis=2)
    return by_column


def starts(ids: pl.Series, n: int) -> NDArray[np.int64]:
    """Where the lines of each of n ids begin in sorted ids, and where the last ones end."""
    return np.searchsorted(ids.to_numpy(), np.arange(n + 1))
