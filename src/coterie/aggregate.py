"""The centroid C of SPEC 4.3 and the arrays it works on: shared by everything that builds profiles of several users.

A profile is the list of a user's events (time, query, rank, url). `encode` turns sorted rows into arrays for the
kernels, `centroids` gives the common profile of each group of users. Ties are broken by random keys of user and query
string, so neither the order of rows nor the number of blocks or threads changes an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.kernels.hausdorff import BUSY, MISSING, STEPS, Floats, Ints, Masks, Trees, new_scratch
from coterie.kernels.mdav import NEAREST, SAME_STRING, Averages, Choice, Strings, averages, choose, mdav
from coterie.kernels.minhash import smallest_word_hashes
from coterie.shapes import QUERIES, TIME

Keys = Callable[[str, pl.Series], NDArray[np.uint64]]
"""Random keys for a purpose and each of some subjects, as `Run.keys` gives them."""

EVENT = ("time", "query", "rank", "url")
EVENT_ORDER = ("query", "time", "rank", "url")
"""How the events of a user are sorted; the first of several equals is the first in this order."""
_SECOND = 1_000_000
_MAX_LABELS = 32
_TIMES_TOLD_APART = 16
_ADDRESS = re.compile(r"[0-9.]*")
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]*:)?//")
_NO_HOST = re.compile(r"""[\s\\:"'<>()\[\]{}|^`,;=%&*!$+~]""")
_PORT = re.compile(r":[0-9]*$")
_WEIGHTS = {"text": (1.0, 2.0), "printed": (2.0, 1.0)}
_ROWS = {name: QUERIES.schema[name] for name in ("user", *EVENT)}
_CENTROID = {
    "group": pl.UInt32,
    **{name: QUERIES.schema[name] for name in EVENT},
    "alone": pl.Boolean,
}


@dataclass(frozen=True, kw_only=True)
class Scales:
    """max - min over the whole log of time (seconds), rank, words per query and events per user (SPEC 1.3)."""

    time: int
    rank: int
    words: int
    size: int

    @classmethod
    def of(cls, frame: pl.LazyFrame) -> Scales:
        """The scales of a log; rows without a user are nobody's."""
        values = {
            "time": _seconds(),
            "rank": pl.col("rank").cast(pl.Int64),
            "words": pl.col("query").str.count_matches("[^ ]+").cast(pl.Int64),
        }
        ends = [end.alias(f"{n}.{i}") for n, v in values.items() for i, end in enumerate((v.min(), v.max()))]
        users = frame.filter(pl.col("user").is_not_null()).group_by("user").agg(pl.len().cast(pl.Int64), *ends)
        widths = [(pl.col(f"{name}.1").max() - pl.col(f"{name}.0").min()).alias(name) for name in values]
        found = users.select(*widths, (pl.col("len").max() - pl.col("len").min()).alias("size"))
        row = found.collect(engine="streaming").row(0, named=True)
        return cls(**{name: width or 0 for name, width in row.items()})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Profiles:
    """Users and their events as arrays, and what the numbers in them stand for."""

    trees: Trees
    strings: Strings
    users: pl.Series
    queries: pl.Series
    hosts: list[list[str]]
    """Labels of each host from the right."""


def encode(rows: pl.DataFrame, scales: Scales, keys: Keys, eq1: str = "text", busy: int = BUSY) -> Profiles:
    """Rows (user, time, query, rank, url), those of a user together and in EVENT_ORDER, as arrays."""
    owner = rows["user"].rle_id().cast(pl.Int64).to_numpy()
    user_start = _starts(np.bincount(owner))
    users = rows["user"].gather(user_start[:-1])
    queries = rows["query"].unique().sort()
    query = _numbers(rows["query"])
    room = int(np.diff(user_start).max())  # the average record has at most as many events as the largest user
    host, depth, hosts, host_start, host_labels = _hosts(rows["url"])
    query_start, query_words, words = _words(queries)
    word_start, chars, lengths = _chars(words)
    fractions, code_start, codes = _codes(lengths)
    run_first = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(query, prepend=-1))
    user_runs = np.searchsorted(run_first, user_start)
    widths = (scales.time, scales.rank, scales.words, scales.size, *_WEIGHTS[eq1])
    length = queries.str.count_matches("[^ ]+").cast(pl.Int64).to_numpy().astype(np.int64)[query]
    time = rows.select(_seconds()).to_series().fill_null(MISSING).to_numpy()
    rank = rows["rank"].cast(pl.Int64).fill_null(MISSING).to_numpy()
    top_label = np.append(host_labels, 0)[host_start[np.where(host == MISSING, 0, host)]]
    about_when = time // max(1, int(scales.time) // _TIMES_TOLD_APART)
    alike = np.stack([length, rank, depth, np.where(host == MISSING, MISSING, top_label), about_when, time])
    user_bundles, bundle_start, bundle_events = _bundles(user_start, alike, busy)
    trees = Trees(
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
    strings = _strings(owner, query, keys("tie between users", users), keys("tie between queries", queries))
    return Profiles(trees=trees, strings=strings, users=users, queries=queries, hosts=hosts)


def centroids(
    rows: pl.DataFrame,
    scales: Scales,
    keys: Keys,
    eq1: str = "text",
    attrs: str = "nearest",
    choice: Choice = choose,
) -> pl.DataFrame:
    """The common profile of each group: group, time, query, rank, url, and whether one user alone stands behind it.

    `rows` has group, user and EVENT, sorted by group, user and EVENT_ORDER. `choice` chooses the queries.
    """
    if rows.is_empty():
        return pl.DataFrame(schema=_CENTROID)
    if attrs == "drop":
        return _queries_alone(rows, keys, choice)
    profiles = encode(rows, scales, keys, eq1)
    trees = profiles.trees
    groups = rows["group"].gather(trees.user_start[:-2])
    sizes = groups.rle().struct.unnest()
    mode = NEAREST if attrs == "nearest" else SAME_STRING
    members = np.arange(len(groups), dtype=np.int64)
    starts, scratch = _starts(sizes["len"].to_numpy()), new_scratch(trees)
    found = averages(members, starts, mode, trees, profiles.strings, scratch, choice=choice)
    return _decode(found, sizes["value"], profiles)


def _queries_alone(rows: pl.DataFrame, keys: Keys, choice: Choice) -> pl.DataFrame:
    """Common profiles without times, ranks and hosts: no distances are needed."""
    owner, query = rows["user"].rle_id().cast(pl.Int64).to_numpy(), _numbers(rows["query"])
    user_start = _starts(np.bincount(owner))
    users = rows["user"].gather(user_start[:-1])
    queries = rows["query"].gather(np.unique(query, return_index=True)[1])
    strings = _strings(owner, query, keys("tie between users", users), keys("tie between queries", queries))
    groups = rows["group"].gather(user_start[:-1]).rle().struct.unnest()
    start = _starts(groups["len"].to_numpy())
    chosen = [choice(np.arange(a, b), user_start, strings) for a, b in pairwise(start)]
    profiles = pl.DataFrame({
        "group": groups["value"].gather(np.repeat(np.arange(len(chosen)), [c.size for c in chosen])),
        "query": queries.gather(query[np.concatenate(chosen)]),
    })  # fmt: skip
    typed = rows.group_by("group", "query").agg((pl.col("user").n_unique() == 1).alias("alone"))
    found = profiles.join(typed, on=["group", "query"], how="left", maintain_order="left")
    return pl.DataFrame({name: found.get_column(name, default=None) for name in _CENTROID}, schema=_CENTROID)


def load_kernels() -> None:
    """Compile the kernels of groups and profiles, or load them where they are compiled, before threads need them."""
    rows, scales = _four_users()
    for attrs in ("nearest", "same_string"):
        load_centroids(attrs=attrs)
    profiles = encode(rows.drop("group"), scales, _places)
    mdav(2, profiles.trees, profiles.strings, new_scratch(profiles.trees))


def load_centroids(eq1: str = "text", attrs: str = "nearest", choice: Choice = choose) -> None:
    """The same for those of profiles alone."""
    centroids(*_four_users(), _places, eq1, attrs, choice)


def _four_users() -> tuple[pl.DataFrame, Scales]:
    four = {"user": ["a", "b", "c", "d"], "query": ["a", "b", "a b", "c d"]}
    rows = pl.DataFrame([four.get(name, [None] * 4) for name in ("user", *EVENT)], schema=_ROWS)
    return rows.with_columns(pl.lit(0, dtype=pl.UInt32).alias("group")), Scales.of(rows.lazy())


def _places(_: str, subjects: pl.Series) -> NDArray[np.uint64]:
    return np.arange(len(subjects), dtype=np.uint64)


def word_hashes(texts: pl.Series) -> pl.Series:
    """The smallest hash of the words of each text."""
    arrow = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    start = np.frombuffer(arrow.buffers()[1], dtype=np.int64)[arrow.offset : arrow.offset + len(arrow) + 1]
    data = np.frombuffer(arrow.buffers()[2] or b"", dtype=np.uint8)
    return pl.Series(texts.name, smallest_word_hashes(start, data))


def host_of(url: str) -> str:
    """A url without scheme, user, port and path, in lower case; nothing where that is no host name."""
    text = url.lower()
    text = _SCHEME.sub("", text)
    text = re.split("[/?#]", text, maxsplit=1)[0].rpartition("@")[2]
    text = _PORT.sub("", text).strip(". ")
    return "" if _NO_HOST.search(text) else text


def _decode(found: Averages, groups: pl.Series, profiles: Profiles) -> pl.DataFrame:
    total = int(found.start[-1])
    query = profiles.trees.query[found.event[:total]]
    pairs = np.stack([found.host[:total], found.depth[:total]])
    different, which = np.unique(pairs, axis=1, return_inverse=True)
    names = [
        None if host == MISSING else ".".join(reversed(profiles.hosts[host][:depth])) for host, depth in different.T
    ]
    return pl.DataFrame(
        {
            "group": groups.gather(np.repeat(np.arange(len(groups)), np.diff(found.start))),
            "time": _nullable(found.time[:total]) * _SECOND,
            "query": profiles.queries.gather(query),
            "rank": _nullable(found.rank[:total]),
            "url": pl.Series(names, dtype=pl.String).gather(which.reshape(-1)),
            "alone": found.alone[:total] == 1,
        },
        strict=False,
    ).with_columns(pl.col("time").cast(TIME), pl.col("rank").cast(pl.Int32), pl.col("group").cast(pl.UInt32))


def _nullable(values: Ints) -> pl.Series:
    series = pl.Series(values, dtype=pl.Int64)
    return series.set(series == MISSING, None)


def _seconds() -> pl.Expr:
    return pl.col("time").cast(pl.Int64) // _SECOND


def _starts(counts: NDArray[np.integer]) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _with_room(values: Ints, room: int) -> Ints:
    return np.concatenate([values, np.zeros(room, dtype=np.int64)]).astype(np.int64)


def _bundles(user_start: Ints, alike: Ints, busy: int) -> tuple[Ints, Ints, Ints]:
    """Bundles of each busy user, where they start, and their events: those that agree in all rows of `alike` but the
    last, sorted by that."""
    sizes = np.diff(user_start)
    owner = np.repeat(np.arange(sizes.size), np.where(sizes > busy, sizes, 0))
    events = np.flatnonzero(np.repeat(sizes > busy, sizes))
    events = events[np.lexsort([*alike[::-1, events], owner])]  # which leaves owners where they are
    apart = np.any(np.diff(np.vstack([owner, alike[:-1, events]]), axis=1), axis=0)
    first = np.flatnonzero(np.append(True, apart))[: events.size]
    return _starts(np.bincount(owner[first], minlength=sizes.size)), np.append(first, events.size), events


def _numbers(values: pl.Series) -> Ints:
    """The place of each value among the distinct ones, sorted."""
    return (values.rank("dense").cast(pl.Int64) - 1).to_numpy().astype(np.int64)


def _words(queries: pl.Series) -> tuple[Ints, Ints, pl.Series]:
    """Distinct words of each query, sorted, as numbers; and the words."""
    pairs = (
        pl.DataFrame({"query": np.arange(len(queries)), "word": queries.str.split(" ")})
        .explode("word")
        .filter(pl.col("word") != "")
        .unique()
        .sort("query", "word")
    )
    counts = np.bincount(pairs["query"].to_numpy(), minlength=len(queries))
    return _starts(counts), _numbers(pairs["word"]), pairs["word"].unique().sort()


def _chars(words: pl.Series) -> tuple[Ints, Ints, Ints]:
    """Where each word starts, its characters as small numbers, and its length."""
    lengths = words.str.len_chars().cast(pl.Int64).to_numpy().astype(np.int64)
    points = np.frombuffer("".join(words.to_list()).encode("utf-32-le"), dtype="<u4")
    chars = np.unique(points, return_inverse=True)[1].astype(np.int64)
    return _starts(lengths), chars, lengths


def _letters(chars: Ints, word_start: Ints) -> Masks:
    bits = np.uint64(1) << (chars % 64).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, word_start[:-1]) if word_start.size > 1 else bits


def _codes(lengths: Ints) -> tuple[Floats, Ints, Ints]:
    """All distances that words of these lengths can have, sorted, and the place of each d / L among them."""
    present = np.union1d(lengths, [1])
    values = np.concatenate([np.arange(n + 1) / n for n in present])
    fractions, codes = np.unique(values, return_inverse=True)
    start = np.zeros(int(present[-1]) + 1, dtype=np.int64)
    start[present] = _starts(present + 1)[:-1]
    return fractions, start, codes.astype(np.int64)


def _hosts(urls: pl.Series) -> tuple[Ints, Ints, list[list[str]], Ints, Ints]:
    """Host and number of labels of each row, the labels of each host from the right, and these as numbers."""
    known = urls.drop_nulls().unique().sort()
    labels = [_labels(host_of(url)) for url in known.to_list()]
    depths = np.array([0 if found == [""] else len(found) for found in labels], dtype=np.int64)
    host = urls.rank("dense").cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64) - 1
    depth = np.append(depths, 0)[host]
    host = np.where(depth == 0, MISSING, host)
    number: dict[str, int] = {}
    flat = [number.setdefault(label, len(number)) for found in labels for label in found]
    return host, depth, labels, _starts(np.array([len(f) for f in labels], np.int64)), np.array(flat, dtype=np.int64)


def _labels(host: str) -> list[str]:
    """The labels of a host from the right. An address is one label: it has no domain that others share."""
    return [host] if _ADDRESS.fullmatch(host) else host.rsplit(".", _MAX_LABELS - 1)[::-1]


def _strings(owner: Ints, query: Ints, user_keys: NDArray[np.uint64], query_keys: NDArray[np.uint64]) -> Strings:
    """The distinct query strings of each user by decreasing priority, and the events of each."""
    order = np.lexsort((query, owner))  # stable: events of a string stay in order
    change = np.flatnonzero((np.diff(owner[order]) != 0) | (np.diff(query[order]) != 0)) + 1
    first = np.concatenate([[0], change])
    count = np.diff(np.append(first, owner.size))
    who, what = owner[order[first]], query[order[first]]
    priority = mixed(user_keys[who] ^ query_keys[what])
    ranked = np.lexsort((what, ~priority, who))
    event_start = _starts(count[ranked])
    offsets = np.repeat(first[ranked] - event_start[:-1], count[ranked])
    place = np.empty(user_keys.size, dtype=np.int64)
    place[np.argsort(~user_keys, kind="stable")] = np.arange(user_keys.size)
    return Strings(
        user_place=place,
        string_start=_starts(np.bincount(who, minlength=user_keys.size)),
        event_start=event_start,
        events=order[np.arange(owner.size) + offsets].astype(np.int64),
        priority=priority[ranked],
    )


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
