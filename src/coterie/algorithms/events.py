"""Events of users as arrays for the kernels (paper 000).

A user's profile is the list of their events (time, query, rank, page). `encode` turns sorted rows into arrays. Ties are
broken by random keys of user and query string, so neither the order of rows nor the number of blocks or threads changes
an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from coterie.algorithms.kernels.hausdorff import BUSY, MISSING, STEPS, EventArrays
from coterie.algorithms.kernels.mdav import QueryStrings
from coterie.core.arrays import Floats, Ints, Masks, offsets, splitmix64
from coterie.core.run import Run
from coterie.core.shapes import QUERIES
from coterie.text.hosts import host_labels, host_of

Keys = Callable[[str, pl.Series], Masks]
"""Random keys for a purpose and each of some subjects, as `Run.keys` gives them."""

USER, TIME, QUERY, RANK, PAGE = QUERIES.subject, QUERIES.time, QUERIES.item, QUERIES.rank, QUERIES.page
EVENT = (TIME, QUERY, RANK, PAGE)
EVENT_ORDER = (QUERY, TIME, RANK, PAGE)
"""How the events of a user are sorted; the first of several equals is the first in this order."""
SECOND = 1_000_000
_TIMES_TOLD_APART = 16
_WEIGHTS = {"text": (1.0, 2.0), "printed": (2.0, 1.0)}


@dataclass(frozen=True, kw_only=True)
class Scales:
    """max - min over the whole log of time (seconds), rank, words per query and events per user (paper 000)."""

    time: int
    rank: int
    words: int
    size: int

    @classmethod
    def of_rows(cls, rows: pl.LazyFrame, run: Run) -> Scales:
        """The scales of the rows of users, wherever they are."""
        names = [field.name for field in fields(cls)]

        def ends(block: pl.LazyFrame) -> pl.LazyFrame:
            size = block.group_by(USER).agg(pl.len().cast(pl.Int64)).select("len").collect()["len"]
            values = {**_widths(), "size": pl.lit(size)}
            return block.select(
                end.alias(f"{n}.{i}") for n in names for i, end in enumerate((values[n].min(), values[n].max()))
            )

        found = run.small_blocks(rows, ends, [USER])
        widths = [(pl.col(f"{name}.1").max() - pl.col(f"{name}.0").min()).alias(name) for name in names]
        return cls(**{name: width or 0 for name, width in found.select(widths).row(0, named=True).items()})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EncodedEvents:
    """Users and their events as arrays, and what the numbers in them stand for."""

    events: EventArrays
    strings: QueryStrings
    users: pl.Series
    queries: pl.Series
    hosts: list[list[str]]
    """Labels of each host from the right."""


def encode(rows: pl.DataFrame, scales: Scales, keys: Keys, eq1: str = "text", busy: int = BUSY) -> EncodedEvents:
    """Rows (user, time, query, rank, url), those of a user together and in EVENT_ORDER, as arrays."""
    owner = rows[USER].rle_id().cast(pl.Int64).to_numpy()
    user_start = offsets(np.bincount(owner))
    users = rows[USER].gather(user_start[:-1])
    queries = rows[QUERY].unique().sort()
    query = numbers_of(rows[QUERY])
    room = int(np.diff(user_start).max())  # the average record has at most as many events as the largest user
    host, depth, hosts, host_start, host_labels = _hosts(rows[PAGE])
    query_start, query_words, words = _words(queries)
    word_start, chars, lengths = _chars(words)
    fractions, code_start, codes = _codes(lengths)
    run_first = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(query, prepend=-1))
    user_runs = np.searchsorted(run_first, user_start)
    widths = (scales.time, scales.rank, scales.words, scales.size, *_WEIGHTS[eq1])
    length = queries.str.count_matches("[^ ]+").cast(pl.Int64).to_numpy().astype(np.int64)[query]
    time = rows.select(_seconds()).to_series().fill_null(MISSING).to_numpy()
    rank = rows[RANK].cast(pl.Int64).fill_null(MISSING).to_numpy()
    top_label = np.append(host_labels, 0)[host_start[np.where(host == MISSING, 0, host)]]
    about_when = time // max(1, int(scales.time) // _TIMES_TOLD_APART)
    alike = np.stack([length, rank, depth, np.where(host == MISSING, MISSING, top_label), about_when, time])
    user_bundles, bundle_start, bundle_events = _bundles(user_start, alike, busy)
    events = EventArrays(
        user_start=np.append(user_start, user_start[-1]),
        user_runs=np.append(user_runs, user_runs[-1]).astype(np.int64),
        run_start=_with_room(np.append(run_first, owner.size), room),
        user_bundles=np.append(user_bundles, user_bundles[-1]),
        bundle_start=bundle_start,
        bundle_events=bundle_events,
        time=_with_room(time, room),
        rank=_with_room(rank, room),
        host=_with_room(host, room),
        depth=_with_room(depth, room),
        query=_with_room(query, room),
        length=_with_room(length, room),
        query_start=query_start,
        query_words=query_words,
        word_start=word_start,
        chars=chars,
        letters=_letters(chars, word_start),
        host_start=host_start,
        host_labels=host_labels,
        fractions=fractions,
        code_start=code_start,
        codes=codes,
        below=np.searchsorted(fractions, np.arange(STEPS + 2) / STEPS, side="right").astype(np.int64) - 1,
        widths=np.array(widths, dtype=np.float64),
    )
    strings = strings_of(owner, query, keys("tie between users", users), keys("tie between queries", queries))
    return EncodedEvents(events=events, strings=strings, users=users, queries=queries, hosts=hosts)


def _widths() -> dict[str, pl.Expr]:
    """What has a width over the whole log, of each row."""
    return {
        "time": _seconds(),
        "rank": pl.col(RANK).cast(pl.Int64),
        "words": pl.col(QUERY).str.count_matches("[^ ]+").cast(pl.Int64),
    }


def _seconds() -> pl.Expr:
    return pl.col(TIME).cast(pl.Int64) // SECOND


def _with_room(values: Ints, room: int) -> Ints:
    return np.concatenate([values, np.zeros(room, dtype=np.int64)]).astype(np.int64)


def _bundles(user_start: Ints, alike: Ints, busy: int) -> tuple[Ints, Ints, Ints]:
    """Bundles of each busy user, where they start, and their events: those that agree in all rows of `alike` but the
    last, sorted by that."""
    sizes = np.diff(user_start)
    owner = np.repeat(np.arange(sizes.size), np.where(sizes > busy, sizes, 0))
    events = np.flatnonzero(np.repeat(sizes > busy, sizes))
    events = events[np.lexsort([*alike[::-1, events], owner])]  # owners stay where they are
    apart = np.any(np.diff(np.vstack([owner, alike[:-1, events]]), axis=1), axis=0)
    first = np.flatnonzero(np.append(True, apart))[: events.size]
    return offsets(np.bincount(owner[first], minlength=sizes.size)), np.append(first, events.size), events


def numbers_of(values: pl.Series) -> Ints:
    """The place of each value among the distinct ones, sorted."""
    return (values.rank("dense").cast(pl.Int64) - 1).to_numpy().astype(np.int64)


def _words(queries: pl.Series) -> tuple[Ints, Ints, pl.Series]:
    """Distinct words of each query, sorted, as numbers; and the words."""
    pairs = (
        pl.DataFrame({QUERY: np.arange(len(queries)), "word": queries.str.split(" ")})
        .explode("word")
        .filter(pl.col("word") != "")
        .unique()
        .sort(QUERY, "word")
    )
    counts = np.bincount(pairs[QUERY].to_numpy(), minlength=len(queries))
    return offsets(counts), numbers_of(pairs["word"]), pairs["word"].unique().sort()


def _chars(words: pl.Series) -> tuple[Ints, Ints, Ints]:
    """Where each word starts, its characters as small numbers, and its length."""
    lengths = words.str.len_chars().cast(pl.Int64).to_numpy().astype(np.int64)
    points = np.frombuffer("".join(words.to_list()).encode("utf-32-le"), dtype="<u4")
    chars = np.unique(points, return_inverse=True)[1].astype(np.int64)
    return offsets(lengths), chars, lengths


def _letters(chars: Ints, word_start: Ints) -> Masks:
    bits = np.uint64(1) << (chars % 64).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, word_start[:-1]) if word_start.size > 1 else bits


def _codes(lengths: Ints) -> tuple[Floats, Ints, Ints]:
    """All distances that words of these lengths can have, sorted, and the place of each d / L among them."""
    present = np.union1d(lengths, [1])
    values = np.concatenate([np.arange(n + 1) / n for n in present])
    fractions, codes = np.unique(values, return_inverse=True)
    start = np.zeros(int(present[-1]) + 1, dtype=np.int64)
    start[present] = offsets(present + 1)[:-1]
    return fractions, start, codes.astype(np.int64)


def _hosts(urls: pl.Series) -> tuple[Ints, Ints, list[list[str]], Ints, Ints]:
    """Host and number of labels of each row, the labels of each host from the right, and these as numbers."""
    distinct = urls.drop_nulls().unique().sort()
    labels = [host_labels(host_of(url)) for url in distinct.to_list()]
    depths = np.array([0 if each == [""] else len(each) for each in labels], dtype=np.int64)
    host = urls.rank("dense").cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64) - 1
    depth = np.append(depths, 0)[host]
    host = np.where(depth == 0, MISSING, host)
    number: dict[str, int] = {}
    flat = [number.setdefault(label, len(number)) for each in labels for label in each]
    return (
        host,
        depth,
        labels,
        offsets(np.array([len(each) for each in labels], np.int64)),
        np.array(flat, dtype=np.int64),
    )


def strings_of(owner: Ints, query: Ints, user_keys: Masks, query_keys: Masks) -> QueryStrings:
    """The distinct query strings of each user by decreasing priority, and the events of each."""
    order = np.lexsort((query, owner))  # stable: events of a string stay in order
    change = np.flatnonzero((np.diff(owner[order]) != 0) | (np.diff(query[order]) != 0)) + 1
    first = np.concatenate([[0], change])
    count = np.diff(np.append(first, owner.size))
    who, what = owner[order[first]], query[order[first]]
    priority = splitmix64(user_keys[who] ^ query_keys[what])
    ranked = np.lexsort((what, ~priority, who))
    event_start = offsets(count[ranked])
    shift = np.repeat(first[ranked] - event_start[:-1], count[ranked])
    place = np.empty(user_keys.size, dtype=np.int64)
    place[np.argsort(~user_keys, kind="stable")] = np.arange(user_keys.size)
    return QueryStrings(
        user_place=place,
        string_start=offsets(np.bincount(who, minlength=user_keys.size)),
        event_start=event_start,
        events=order[np.arange(owner.size) + shift].astype(np.int64),
        priority=priority[ranked],
    )
