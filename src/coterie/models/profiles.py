"""The common profile C of several users (SPEC 4.3): what a group of users is released as."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from coterie.core.arrays import Ints, Masks, offsets
from coterie.core.shapes import QUERIES
from coterie.kernels.hausdorff import MISSING, new_workspace
from coterie.kernels.mdav import NEAREST, SAME_STRING, Averages, ChooseQueries, averages, choose, mdav
from coterie.models.events import (
    EVENT,
    PAGE,
    QUERY,
    RANK,
    SECOND,
    TIME,
    USER,
    EncodedEvents,
    Keys,
    Scales,
    encode,
    numbers_of,
    strings_of,
)

_ROWS = {name: QUERIES.schema[name] for name in (USER, *EVENT)}
_CENTROID = {
    "group": pl.UInt32,
    **{name: QUERIES.schema[name] for name in EVENT},
    "alone": pl.Boolean,
}


def centroids(
    rows: pl.DataFrame,
    scales: Scales,
    keys: Keys,
    eq1: str = "text",
    attrs: str = "nearest",
    choose_queries: ChooseQueries = choose,
) -> pl.DataFrame:
    """The common profile of each group: group, time, query, rank, url, and whether one user alone stands behind it.

    `rows` has group, user and EVENT, sorted by group, user and EVENT_ORDER. `choose_queries` chooses the queries.
    """
    if rows.is_empty():
        return pl.DataFrame(schema=_CENTROID)
    if attrs == "drop":
        return _queries_alone(rows, keys, choose_queries)
    encoded = encode(rows, scales, keys, eq1)
    events = encoded.events
    groups = rows["group"].gather(events.user_start[:-2])
    sizes = groups.rle().struct.unnest()
    mode = NEAREST if attrs == "nearest" else SAME_STRING
    members = np.arange(len(groups), dtype=np.int64)
    starts, workspace = offsets(sizes["len"].to_numpy()), new_workspace(events)
    averaged = averages(members, starts, mode, events, encoded.strings, workspace, choose_queries=choose_queries)
    return _decode(averaged, sizes["value"], encoded)


def _queries_alone(rows: pl.DataFrame, keys: Keys, choose_queries: ChooseQueries) -> pl.DataFrame:
    """Common profiles without times, ranks and hosts: no distances are needed."""
    owner, query = rows[USER].rle_id().cast(pl.Int64).to_numpy(), numbers_of(rows[QUERY])
    user_start = offsets(np.bincount(owner))
    users = rows[USER].gather(user_start[:-1])
    queries = rows[QUERY].gather(np.unique(query, return_index=True)[1])
    strings = strings_of(owner, query, keys("tie between users", users), keys("tie between queries", queries))
    groups = rows["group"].gather(user_start[:-1]).rle().struct.unnest()
    start = offsets(groups["len"].to_numpy())
    chosen = [choose_queries(np.arange(a, b), user_start, strings) for a, b in pairwise(start)]
    profiles = pl.DataFrame({
        "group": groups["value"].gather(np.repeat(np.arange(len(chosen)), [c.size for c in chosen])),
        QUERY: queries.gather(query[np.concatenate(chosen)]),
    })  # fmt: skip
    typed = rows.group_by("group", QUERY).agg((pl.col(USER).n_unique() == 1).alias("alone"))
    with_owners = profiles.join(typed, on=["group", QUERY], how="left", maintain_order="left")
    return pl.DataFrame({name: with_owners.get_column(name, default=None) for name in _CENTROID}, schema=_CENTROID)


def load_kernels() -> None:
    """Compile the kernels of groups and profiles, or load them where they are compiled, before threads need them."""
    rows, scales = _four_users()
    for attrs in ("nearest", "same_string"):
        load_centroids(attrs=attrs)
    encoded = encode(rows.drop("group"), scales, _places)
    mdav(2, encoded.events, encoded.strings, new_workspace(encoded.events))


def load_centroids(eq1: str = "text", attrs: str = "nearest", choose_queries: ChooseQueries = choose) -> None:
    """The same for the kernels of profiles alone."""
    centroids(*_four_users(), _places, eq1, attrs, choose_queries)


def _four_users() -> tuple[pl.DataFrame, Scales]:
    four = {USER: ["a", "b", "c", "d"], QUERY: ["a", "b", "a b", "c d"]}
    rows = pl.DataFrame([four.get(name, [None] * 4) for name in (USER, *EVENT)], schema=_ROWS)
    return rows.with_columns(pl.lit(0, dtype=pl.UInt32).alias("group")), Scales.of(rows.lazy())


def _places(_: str, subjects: pl.Series) -> Masks:
    return np.arange(len(subjects), dtype=np.uint64)


def _decode(averaged: Averages, groups: pl.Series, encoded: EncodedEvents) -> pl.DataFrame:
    total = int(averaged.start[-1])
    query = encoded.events.query[averaged.event[:total]]
    pairs = np.stack([averaged.host[:total], averaged.depth[:total]])
    different, which = np.unique(pairs, axis=1, return_inverse=True)
    names = [
        None if host == MISSING else ".".join(reversed(encoded.hosts[host][:depth])) for host, depth in different.T
    ]
    return pl.DataFrame(
        {
            "group": groups.gather(np.repeat(np.arange(len(groups)), np.diff(averaged.start))),
            TIME: _nullable(averaged.time[:total]) * SECOND,
            QUERY: encoded.queries.gather(query),
            RANK: _nullable(averaged.rank[:total]),
            PAGE: pl.Series(names, dtype=pl.String).gather(which.reshape(-1)),
            "alone": averaged.alone[:total] == 1,
        },
        strict=False,
    ).with_columns(
        pl.col(TIME).cast(QUERIES.schema[TIME]), pl.col(RANK).cast(pl.Int32), pl.col("group").cast(pl.UInt32)
    )


def _nullable(values: Ints) -> pl.Series:
    series = pl.Series(values, dtype=pl.Int64)
    return series.set(series == MISSING, None)
