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
from math import floor

import polars as pl

from coterie.core.log import Log
from coterie.promises._phrase_recount import pieces, users_with_phrases

PROFILES = 1_000
"""Most profiles that are looked at."""
_LONGEST = 6  # words of a phrase that is no whole query
_EPSILON = 1e-5  # of a row
_Counts = Mapping[str, int]


def unlike_profiles(
    profiles: pl.DataFrame,
    typed: pl.LazyFrame,
    people: pl.DataFrame,
    original: Log,
    m: int,
    stop_words: Collection[str],
    seed: object,
) -> tuple[int, int]:
    """How many profiles are not what the queries of their people give, and how many were looked at.

    `profiles` has group, item and rows; `typed` group, user and item, a line for each row of the original; `people`
    group and user. `seed` is that of the run.
    """
    numbers = profiles["group"].unique().sort().to_list()
    looked_at = numbers if len(numbers) <= PROFILES else secrets.SystemRandom().sample(numbers, PROFILES)
    chosen = pl.col("group").is_in(looked_at)
    counted = typed.filter(chosen).group_by("group", "user", "item").len("n").collect(engine="streaming")
    phrases = _cut(counted["item"].unique(), original, m, stop_words)
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
    wanted: dict[str, Fraction] = defaultdict(Fraction)
    for own in giving:
        for phrase, n in own.items():
            wanted[phrase] += Fraction(size * n, own.total() * len(giving))
    if released.keys() - wanted.keys():
        return False
    with_row: dict[Fraction, list[str]] = defaultdict(list)
    without: dict[Fraction, list[str]] = defaultdict(list)
    for phrase, share in wanted.items():
        more = released.get(phrase, 0) - floor(share)
        if more not in (0, 1):
            return False
        (with_row if more else without)[share - floor(share)].append(phrase)
    if with_row and without and min(with_row) + _EPSILON < max(without):
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


def _cut(queries: pl.Series, original: Log, m: int, stop_words: Collection[str]) -> dict[str, list[str]]:
    """The phrases of each of some distinct queries."""
    words = pieces(queries).group_by("text", maintain_order=True).agg("word", "follows")
    listed = {queries[text]: list(_runs(word, follows)) for text, word, follows in words.iter_rows()}
    allowed = {
        query: [run for run in runs if not {"", *stop_words} & {run[3].lower(), run[4].lower()}]
        for query, runs in listed.items()
    }
    texts = pl.Series("phrase", sorted({run[2] for runs in allowed.values() for run in runs}), dtype=pl.String)
    users = dict(users_with_phrases(original, texts).iter_rows())
    shape = original.shape
    rows = original.frame.select(pl.col(shape.subject).alias("user"), pl.col(shape.item).alias("query")).drop_nulls()
    typers = rows.filter(pl.col("query").is_in(queries.implode())).group_by("query").agg(pl.col("user").n_unique())
    whole = dict(typers.collect(engine="streaming").iter_rows())
    return {query: [query] if whole[query] >= m else list(_taken(allowed[query], users, m)) for query in listed}


_Run = tuple[int, int, str, str, str]
"""Its first word, its number of words, its text, and the words at its ends."""


def _runs(words: list[str], follows: list[bool]) -> Iterator[_Run]:
    for first in range(len(words)):
        text = ""
        for last in range(first, min(first + _LONGEST, len(words))):
            text += words[last] if last == first or follows[last] else " " + words[last]
            yield first, last - first + 1, text, words[first], words[last]


def _taken(runs: list[_Run], users: _Counts, m: int) -> Iterator[str]:
    """The runs that a query is cut into: long ones first, then those that few have, then from the left."""
    taken = 0  # a bit for each word
    for first, length, text, _, _ in sorted(
        (run for run in runs if users[run[2]] >= m), key=lambda run: (-run[1], users[run[2]], run[0])
    ):
        mask = ((1 << length) - 1) << first
        if not taken & mask:
            taken |= mask
            yield text
