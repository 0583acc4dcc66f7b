"""Recount: are profiles of phrases what the queries of the people behind them give?

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
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from math import floor, lcm

import numpy as np
import polars as pl

from coterie.core.arrays import Ints
from coterie.promises._phrase_recount import TypedQueries, pieces

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
    if released.keys() - wanted.keys():
        return False
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
    users = everything.users_with_runs(wanted, n_runs)[number]
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
