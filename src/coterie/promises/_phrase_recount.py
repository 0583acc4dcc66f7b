"""Recount: which queries hold which phrases, word for word and one after the other, and who typed them.

Words end at spaces; each letter of a script without spaces is a word, too, so that a phrase may be part of such a text.
Runs of words are compared by hashes under secret keys, which nobody who made the release could prepare. Queries, people
and phrases are numbers, and the queries of a log are read once for all judges of a case.

Recount: are profiles of phrases what the queries of the people behind them give?

Names that are people, phrases that many have: somebody's phrases could still be published as if they were a group's. So
the queries of the people behind a profile are cut again (a query that m users typed stays whole; else the longest run
of words that m users have, of several the one that the fewest have, then the first; then what is left of the query).
The profile must have the mean of their shares, every person weighing the same; between phrases with equal remainders
the run's seed decides, and is asked again.

In a release of very many profiles some are looked at, drawn at random, so that nobody knows which.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, lcm
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.arrays import Ints, offsets
from coterie.core.log import Log
from coterie.core.promise import Case
from coterie.core.threads import in_threads
from coterie.text.words import LETTER_WITHOUT_SPACES

_LETTER = f"({LETTER_WITHOUT_SPACES})"
_EDGE = "\ufffe"  # in no text; around letters that are words
_MOST_WORDS = 100  # of a phrase that is looked for inside of queries; longer ones must be whole queries
_AT_ONCE = 500_000  # queries
_PEOPLE_AT_ONCE = 20_000
_GROUPS_AT_ONCE = 4_000
_SHARED = "typed queries"
_Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class Holding:
    """The phrases that stand in each query."""

    start: Ints
    phrase: Ints
    n_phrases: int

    @classmethod
    def of_pairs(cls, found: pl.DataFrame, n_queries: int, n_phrases: int) -> Holding:
        """From distinct pairs of a query and a phrase."""
        found = found.sort("query")
        sizes = np.bincount(found["query"].to_numpy(), minlength=n_queries)
        return cls(offsets(sizes), found["phrase"].to_numpy().astype(np.int64), n_phrases)

    def of(self, queries: Ints) -> tuple[Ints, Ints]:
        """How many phrases each of some queries holds, and these."""
        sizes = self.start[queries + 1] - self.start[queries]
        return sizes, self.phrase[_stretches(self.start[queries], sizes)]


class QueryTexts:
    """Distinct queries, in which phrases are looked for."""

    def __init__(self, texts: pl.Series) -> None:
        self.texts = texts
        self._key = secrets.randbits(63)
        self._factors = np.array([secrets.randbits(63) * 2 + 1 for _ in range(_MOST_WORDS)], np.uint64)
        begins = range(0, texts.len(), _AT_ONCE)
        parts = in_threads(lambda begin: _Words.of(texts[begin : begin + _AT_ONCE], self._key), begins)
        self._parts = list(zip(begins, parts, strict=True))

    def with_phrases(self, phrases: pl.Series) -> pl.DataFrame:
        """query, phrase: which queries hold which of some distinct phrases, by their places."""
        looked_for = _Words.of(phrases, self._key)
        found = self.with_runs(
            [(run.length, run.hashes, run.text) for run in looked_for.runs(self._factors, whole=True)]
        )
        longer = np.diff(looked_for.start) > _MOST_WORDS
        if not longer.any():
            return found
        whole = numbered(phrases, "phrase").filter(pl.Series(longer)).join(numbered(self.texts, "query"), on="text")
        return pl.concat([found, whole.select("query", "phrase")])

    def with_runs(self, wanted: Sequence[tuple[int, _Hashes, Ints]]) -> pl.DataFrame:
        """The same for runs of words: how many words, hashes that `runs_of` gives, and the number of each."""
        tables = {
            length: pl.DataFrame({"hash": hashes, "phrase": number.astype(np.uint32)})
            for length, hashes, number in wanted
        }

        def within(part: tuple[int, _Words]) -> list[pl.DataFrame]:
            begin, words = part
            found = []
            for run in words.runs(self._factors, until=max(tables, default=0)):
                if run.length in tables:
                    some = pl.DataFrame({"hash": run.hashes, "query": (run.text + begin).astype(np.uint32)})
                    found.append(some.join(tables[run.length], on="hash").select("query", "phrase").unique())
            return found

        found = [table for tables in in_threads(within, self._parts) for table in tables]
        return pl.concat([pl.DataFrame(schema={"query": pl.UInt32, "phrase": pl.UInt32}), *found])

    def runs_of(self, texts: pl.Series, longest: int) -> Iterator[_Runs]:
        """All runs of up to so many words in some texts."""
        return _Words.of(texts, self._key).runs(self._factors, until=longest)


class TypedQueries:
    """The distinct queries of a log, and who typed them."""

    def __init__(self, original: Log) -> None:
        shape = original.shape
        rows = original.frame.select(pl.col(shape.subject).alias("user"), pl.col(shape.item).alias("text")).drop_nulls()
        texts, self.people = (rows.select(name).unique().collect(engine="streaming")[name] for name in ("text", "user"))
        who = self.people.to_frame().lazy().with_row_index("person")
        lines = rows.join(numbered(texts, "query").lazy(), on="text").join(who, on="user")
        pair = pl.col("person").cast(pl.UInt64) * 2**32 + pl.col("query")
        pairs = lines.select(pair.alias("pair")).collect(engine="streaming")["pair"].sort().to_numpy()
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: pairs.size]]
        self._start = np.searchsorted(pairs >> np.uint64(32), np.arange(self.people.len() + 1, dtype=np.uint64))
        self._query = (pairs & np.uint64(2**32 - 1)).astype(np.uint32)
        self.queries = QueryTexts(texts)

    @classmethod
    def of(cls, case: Case, original: Log) -> TypedQueries:
        """Those of the original, which all judges of a case share."""
        if _SHARED not in case.shared:
            case.shared[_SHARED] = cls(original)
        found: TypedQueries = case.shared[_SHARED]
        return found

    def users_with(self, phrases: pl.Series) -> Ints:
        """How many users have each of some distinct phrases in a query."""
        return self.users_of_each(self.queries.with_phrases(phrases), phrases.len())

    def users_of_each(self, found: pl.DataFrame, n_phrases: int) -> Ints:
        """How many users have each phrase, or run of words, that was found (query, phrase); numbers are below n."""
        holding = Holding.of_pairs(found, self.queries.texts.len(), n_phrases)
        total, lock = np.zeros(holding.n_phrases, dtype=np.int64), Lock()

        def count(people: Ints) -> None:
            owner, phrase = self._phrases_of(people, holding)
            pairs = owner * holding.n_phrases + phrase
            pairs.sort()
            once = pairs[np.append(True, pairs[1:] != pairs[:-1])[: pairs.size]] % max(holding.n_phrases, 1)
            found = np.bincount(once, minlength=total.size)
            with lock:
                total[:] += found

        everybody = np.arange(self.people.len())
        in_threads(count, [everybody[at : at + _PEOPLE_AT_ONCE] for at in range(0, everybody.size, _PEOPLE_AT_ONCE)])
        return total

    def users_of(self, queries: pl.Series) -> dict[str, int]:
        """How many users typed each of some queries of the log."""
        users = pl.Series("users", np.bincount(self._query, minlength=self.queries.texts.len()))
        counted = self.queries.texts.to_frame("text").with_columns(users)
        return dict(counted.join(queries.to_frame("text"), on="text", how="semi").iter_rows())

    def owners_in(self, group: Ints, wanted: Ints, phrases: pl.Series) -> tuple[Ints, Ints]:
        """For pairs of a group and a phrase: of the people in the group who have it, the first and the last, or -1.

        `group` is that of each person, -1 for nobody's; `wanted` has pairs as group times the number of phrases plus
        the phrase.
        """
        found = self.queries.with_phrases(phrases)
        holding = Holding.of_pairs(found, self.queries.texts.len(), phrases.len())
        by_group = np.argsort(group, kind="stable")
        by_group = by_group[np.searchsorted(group[by_group], 0) :]
        of_groups = group[by_group]
        order = np.argsort(wanted, kind="stable")
        ends = [
            0,
            *(np.flatnonzero(np.diff(of_groups)) + 1)[_GROUPS_AT_ONCE - 1 :: _GROUPS_AT_ONCE].tolist(),
            by_group.size,
        ]
        first, last = np.full(wanted.size, -1), np.full(wanted.size, -1)
        sorted_wanted = wanted[order]

        def look(stretch: tuple[int, int]) -> None:
            a, b = stretch
            if a == b:
                return
            owner, phrase = self._phrases_of(by_group[a:b], holding)
            pairs = of_groups[a:b][owner] * holding.n_phrases + phrase
            sorting = np.argsort(pairs)
            pairs, people = pairs[sorting], by_group[a:b][owner[sorting]]
            limits = np.array([of_groups[a], of_groups[b - 1] + 1]) * holding.n_phrases
            low, high = np.searchsorted(sorted_wanted, limits)
            left = np.searchsorted(pairs, sorted_wanted[low:high])
            right = np.searchsorted(pairs, sorted_wanted[low:high], side="right")
            there = np.flatnonzero(right > left)
            if there.size:
                both = np.stack([left[there], right[there]], axis=1).ravel()
                padded = np.append(people, people[-1])
                first[order[low + there]] = np.minimum.reduceat(padded, both)[::2]
                last[order[low + there]] = np.maximum.reduceat(padded, both)[::2]

        in_threads(look, list(pairwise(ends)))
        return first, last

    def _phrases_of(self, people: Ints, holding: Holding) -> tuple[Ints, Ints]:
        """The phrases in the queries of some people: whose (by their place among these), and which; some repeatedly."""
        sizes = self._start[people + 1] - self._start[people]
        queries = self._query[_stretches(self._start[people], sizes)].astype(np.int64)
        phrases, phrase = holding.of(queries)
        return np.repeat(np.repeat(np.arange(people.size), sizes), phrases), phrase


def _stretches(first: Ints, sizes: Ints) -> Ints:
    """The numbers first[i], first[i] + 1 and so on, sizes[i] of them, for each i."""
    begin = offsets(sizes)
    return np.repeat(first - begin[:-1], sizes) + np.arange(begin[-1])


def numbered(texts: pl.Series, name: str) -> pl.DataFrame:
    """text, and its place under that name."""
    return texts.alias("text").to_frame().with_row_index(name)


def pieces(texts: pl.Series) -> pl.DataFrame:
    """text (its place), word, follows: the words of texts, and whether one follows the word before without a space."""
    table = texts.to_frame("word").with_row_index("text").with_columns(pl.col("word").str.split(" ")).explode("word")
    beyond_ascii = pl.col("word").str.len_bytes() != pl.col("word").str.len_chars()  # few words have such letters
    if not table.filter(beyond_ascii).select(pl.col("word").str.contains(_LETTER).any()).item():
        return table.with_columns(follows=pl.lit(False))
    parts = pl.col("word").str.replace_all(_LETTER, f"{_EDGE}${{1}}{_EDGE}").str.split(_EDGE)
    table = table.with_row_index("chunk").with_columns(parts).explode("word")
    # Nothing stands between two letters that meet, nor before the first or after the last one.
    table = table.filter((pl.col("word") != "") | (pl.len().over("chunk") == 1))
    follows = (pl.col("chunk") == pl.col("chunk").shift(1)).fill_null(False)
    return table.select("text", "word", follows=follows)


@dataclass(frozen=True, eq=False, repr=False)
class _Runs:
    """Runs of so many words in some texts."""

    length: int
    hashes: _Hashes
    first: Ints
    """The place of the first word among the words of all texts."""
    text: Ints


@dataclass(frozen=True, eq=False, repr=False)
class _Words:
    """The words of texts as hashes: as a text could begin with them, and as they follow the word before."""

    start: NDArray[np.int64]
    bare: _Hashes
    following: _Hashes

    @classmethod
    def of(cls, texts: pl.Series, key: int) -> _Words:
        table, word = pieces(texts), pl.col("word")
        start = offsets(np.bincount(table["text"].to_numpy(), minlength=texts.len()))
        bare = table.select(word.hash(seed=key)).to_series().to_numpy()
        if not table["follows"].any():
            return cls(start, bare, bare)
        following = pl.when("follows").then(pl.lit(_EDGE) + word).otherwise(word)
        return cls(start, bare, table.select(following.hash(seed=key)).to_series().to_numpy())

    def runs(self, factors: _Hashes, *, until: int = _MOST_WORDS, whole: bool = False) -> Iterator[_Runs]:
        """For each length all runs of so many words, or those that are `whole` texts."""
        sizes = np.diff(self.start)
        text = np.repeat(np.arange(sizes.size), sizes)
        left = self.start[1:][text] - np.arange(text.size)
        place = self.start[:-1][sizes > 0] if whole else np.arange(text.size)
        total = self.bare[place] * factors[0]
        for length in range(1, until + 1):
            if length > 1:
                enough = left[place] >= length
                place, total = place[enough], total[enough]
                total = total + self.following[place + length - 1] * factors[length - 1]
            if place.size == 0:
                return
            ended = left[place] == length
            if not whole:
                yield _Runs(length, total, place, text[place])
            elif ended.any():
                yield _Runs(length, total[ended], place[ended], text[place[ended]])


PROFILES = 1_000
"""Most profiles that are looked at."""
_LONGEST = 6  # words of a phrase that is no whole query
_EPSILON = 1e-5  # of a row
_Counts = Mapping[str, int]


def unlike_profiles(
    profiles: pl.DataFrame,
    typed: pl.LazyFrame,
    people: pl.DataFrame,
    everything: TypedQueries,
    m: int,
    stop_words: Collection[str],
    seed: object,
) -> tuple[int, int]:
    """How many profiles are not what the queries of their people give, and how many were looked at.

    `profiles` has group, item and rows; `typed` group, user and item, a line for each row of the original; `people`
    group and user; `everything` is what all users of the original typed. `seed` is that of the run.
    """
    numbers = profiles["group"].unique().sort().to_list()
    looked_at = numbers if len(numbers) <= PROFILES else secrets.SystemRandom().sample(numbers, PROFILES)
    chosen = pl.col("group").is_in(looked_at)
    counted = typed.filter(chosen).group_by("group", "user", "item").len("n").collect(engine="streaming")
    phrases = _cut(counted["item"].unique(), everything, m, stop_words)
    by_person: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for group, user, item, n in counted.select("group", "user", "item", "n").iter_rows():
        for phrase in phrases.get(item, ()):
            by_person[group][user][phrase] += n
    sizes = dict(people.filter(chosen).group_by("group").len().iter_rows())
    released: dict[int, dict[str, int]] = defaultdict(dict)
    for group, item, rows in profiles.filter(chosen).select("group", "item", "rows").iter_rows():
        released[group][item] = rows
    broken = sum(not _fits(released[group], [*by_person[group].values()], sizes[group], seed) for group in looked_at)
    return broken, len(looked_at)


def _fits(released: _Counts, giving: list[Counter[str]], people: int, seed: object) -> bool:
    """Whether a profile has the mean shares of those of its people who have phrases, by largest remainders."""
    size = floor(Fraction(sum(own.total() for own in giving), people) + Fraction(1, 2))
    if len(giving) < 2 or sum(released.values()) != size:
        return False
    row = lcm(*(own.total() for own in giving)) * len(giving)  # so many parts of a row, all shares are whole numbers
    wanted: dict[str, int] = defaultdict(int)
    for own in giving:
        part = size * row // (own.total() * len(giving))
        for phrase, n in own.items():
            wanted[phrase] += n * part
    return released.keys() <= wanted.keys() and _rounded(released, wanted, row, seed)


def _rounded(released: _Counts, wanted: _Counts, row: int, seed: object) -> bool:
    """Whether phrases have as many rows as they should, in parts of a row, and the largest remainders one more."""
    with_row: dict[int, list[str]] = defaultdict(list)
    without: dict[int, list[str]] = defaultdict(list)
    for phrase, share in wanted.items():
        rows, rest = divmod(share, row)
        more = released.get(phrase, 0) - rows
        if more not in (0, 1):
            return False
        (with_row if more else without)[rest].append(phrase)
    if with_row and without and Fraction(min(with_row), row) + _EPSILON < Fraction(max(without), row):
        return False
    equal = with_row.keys() & without.keys()
    return all(
        max(_tie(seed, phrase) for phrase in with_row[rest]) < min(_tie(seed, phrase) for phrase in without[rest])
        for rest in equal
    )


def _tie(seed: object, phrase: str) -> int:
    """The number by which a run decides between phrases with equal remainders."""
    key = hashlib.blake2b(str(seed).encode(), digest_size=32, person=b"coterie").digest()
    drawn = hashlib.blake2b(f"tie between phrases\0{phrase}".encode(), digest_size=8, key=key)
    return int.from_bytes(drawn.digest(), "little")


def _cut(queries: pl.Series, everything: TypedQueries, m: int, stop_words: Collection[str]) -> dict[str, list[str]]:
    """The phrases of each of some distinct queries."""
    words = pieces(queries)
    may_end = (~words["word"].str.to_lowercase().is_in(["", *sorted(stop_words)])).to_numpy()
    runs, wanted, n_runs = [], [], 0
    for run in everything.queries.runs_of(queries, _LONGEST):
        allowed = may_end[run.first] & may_end[run.first + run.length - 1]
        distinct, which = np.unique(run.hashes[allowed], return_inverse=True)
        wanted.append((run.length, distinct, n_runs + np.arange(distinct.size)))
        length = np.full(which.size, run.length)
        runs.append(np.stack([run.text[allowed], run.first[allowed], length, n_runs + which]))
        n_runs += distinct.size
    text, first, length, number = np.concatenate([np.zeros((4, 0), dtype=np.int64), *runs], axis=1)
    users = everything.users_of_each(everything.queries.with_runs(wanted), n_runs)[number]
    typers = everything.users_of(queries)
    whole = np.array([typers[query] >= m for query in queries.to_list()], dtype=np.bool_)
    cut = np.flatnonzero((users >= m) & ~whole[text])
    # Long runs first, then those that few have, then from the left.
    order = cut[np.lexsort((first[cut], users[cut], -length[cut], text[cut]))]
    texts = queries.to_list()
    found = {query: [query] if kept else [] for query, kept in zip(texts, whole.tolist(), strict=True)}
    spelled = words.select(pl.when("follows").then(pl.lit("")).otherwise(pl.lit(" ")) + pl.col("word")).to_series()
    spaced, follows = spelled.to_list(), words["follows"].to_list()
    for place, begin, end in _taken(text[order], first[order], length[order]):
        phrase = "".join(spaced[begin:end])
        found[texts[place]].append(phrase if follows[begin] else phrase[1:])
    return found


def _taken(text: Ints, first: Ints, length: Ints) -> Iterator[tuple[int, int, int]]:
    """The runs of each text that do not overlap with an earlier one: text, where it begins, and where it ends."""
    last, taken = -1, set[int]()
    for place, begin, words in zip(text.tolist(), first.tolist(), length.tolist(), strict=True):
        if place != last:
            last, taken = place, set()
        some = range(begin, begin + words)
        if taken.isdisjoint(some):
            taken.update(some)
            yield place, begin, begin + words
