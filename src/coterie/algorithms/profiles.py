"""The common profile C of several users (paper 000): what a group of users is released as.

A query that one member alone typed, or whose time, rank or host comes from one alone, has the month of its time and
no more. What other times are cut to is said by whoever asks for profiles, and each time says what it was cut to.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from coterie.algorithms.events import (
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
from coterie.algorithms.kernels import choosing
from coterie.algorithms.kernels.hausdorff import MISSING, new_workspace
from coterie.algorithms.kernels.mdav import (
    NEAREST,
    SAME_STRING,
    Averages,
    ChooseQueries,
    ChooseWithLimit,
    QueryStrings,
    averages,
    choose,
)
from coterie.algorithms.words import stem_hashes
from coterie.core.arrays import Ints, offsets
from coterie.core.shapes import LEVEL, QUERIES
from coterie.text.hosts import host_of
from coterie.text.language import ENGLISH, language

_CENTROID = {
    "group": pl.UInt32,
    **{name: QUERIES.schema[name] for name in EVENT},
    LEVEL: pl.String,
    "alone": pl.Boolean,
}
EXACT = "exact"
"""Times of profiles are averages, to the second."""
_CUTS = {EXACT: "1s", "hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q"}
_AS_COARSE_AS_MONTHS = ("month", "quarter")


@dataclass(frozen=True, kw_only=True)
class QueryRule:
    """Which queries of its members stand in a profile.

    `shares` says how many each member gives and which (`kernels/mdav.py`, `kernels/choosing.py`), nobody more than
    `max_share` of the profile; with `herding` others are chosen, as many of each member (`kernels/choosing.py`).
    """

    shares: ChooseWithLimit = choose
    herding: bool = False
    max_share: float = 1.0
    language: str = ENGLISH

    def __reduce__(self) -> tuple[Any, ...]:
        """Kernels travel by their names, so that those are loaded elsewhere which are compiled there."""
        return _rule, (self.shares.__module__, self.shares.__name__, self.herding, self.max_share, self.language)

    def chooser(self, rows: pl.DataFrame) -> ChooseQueries:
        """The rule for the users of `rows`: group, user, QUERY and, where they count, PAGE."""
        if not self.herding:
            return lambda members, start, strings: self.shares(members, start, strings, self.max_share)
        vectors = _row_vectors(rows, self.language)

        def herded(members: Ints, start: Ints, strings: QueryStrings) -> Ints:
            chosen = self.shares(members, start, strings, self.max_share)
            if chosen.size * int((start[members + 1] - start[members]).sum()) > choosing.PAIRS:
                return chosen
            ends = np.searchsorted(chosen, np.stack([start[members], start[members + 1]]))
            return choosing.herd(members, ends[1] - ends[0], start, strings, vectors)

        return herded


def _rule(module: str, name: str, herding: bool, max_share: float, language: str) -> QueryRule:
    shares = getattr(import_module(module), name)
    return QueryRule(shares=shares, herding=herding, max_share=max_share, language=language)


BY_SHARES = QueryRule()


def centroids(
    rows: pl.DataFrame,
    scales: Scales,
    keys: Keys,
    eq1: str = "text",
    attrs: str = "nearest",
    rule: QueryRule = BY_SHARES,
    times: str = EXACT,
) -> pl.DataFrame:
    """The common profile of each group: group, time, query, rank, url, what the time is cut to, and whether some of it
    is one user's alone.

    `rows` has group, user and EVENT, sorted by group, user and EVENT_ORDER. `times` says what times are cut to, if at
    all, or that there are none ("drop").
    """
    if rows.is_empty():
        return pl.DataFrame(schema=_CENTROID)
    if attrs == "drop":
        return _queries_alone(rows, keys, rule)
    encoded = encode(rows, scales, keys, eq1)
    events = encoded.events
    groups = rows["group"].gather(events.user_start[:-2])
    sizes = groups.rle().struct.unnest()
    mode = NEAREST if attrs == "nearest" else SAME_STRING
    members = np.arange(len(groups), dtype=np.int64)
    starts, workspace = offsets(sizes["len"].to_numpy()), new_workspace(events)
    chooser = rule.chooser(rows)
    averaged = averages(members, starts, mode, events, encoded.strings, workspace, choose_queries=chooser)
    return _with_times_cut(_decode(averaged, sizes["value"], encoded), rows, times)


def _queries_alone(rows: pl.DataFrame, keys: Keys, rule: QueryRule) -> pl.DataFrame:
    """Common profiles without times, ranks and hosts: no distances are needed."""
    owner, query = rows[USER].rle_id().cast(pl.Int64).to_numpy(), numbers_of(rows[QUERY])
    user_start = offsets(np.bincount(owner))
    users = rows[USER].gather(user_start[:-1])
    queries = rows[QUERY].gather(np.unique(query, return_index=True)[1])
    strings = strings_of(owner, query, keys("tie between users", users), keys("tie between queries", queries))
    groups = rows["group"].gather(user_start[:-1]).rle().struct.unnest()
    start = offsets(groups["len"].to_numpy())
    choose_queries = rule.chooser(rows)
    chosen = [choose_queries(np.arange(a, b), user_start, strings) for a, b in pairwise(start)]
    profiles = pl.DataFrame({
        "group": groups["value"].gather(np.repeat(np.arange(len(chosen)), [c.size for c in chosen])),
        QUERY: queries.gather(query[np.concatenate(chosen)]),
    })  # fmt: skip
    with_owners = _with_owners(profiles, rows).rename({"typed_alone": "alone"})
    return pl.DataFrame({name: with_owners.get_column(name, default=None) for name in _CENTROID}, schema=_CENTROID)


def _with_owners(profiles: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Profiles, and whether each query was typed by one member of the group alone."""
    who = rows.select("group", QUERY, pl.col(USER).rle_id().alias("who"))
    one = (pl.col("who").min() == pl.col("who").max()).alias("typed_alone")
    typed = who.group_by("group", QUERY).agg(one)
    return profiles.join(typed, on=["group", QUERY], how="left", maintain_order="left")


def _with_times_cut(profiles: pl.DataFrame, rows: pl.DataFrame, times: str) -> pl.DataFrame:
    """Profiles with times as coarse as asked for, and the month at most where something of a row is one member's."""
    alone, time = pl.col("alone") | pl.col("typed_alone"), pl.col(TIME)
    level = pl.lit(times)
    if times == "drop":
        time = pl.lit(None, QUERIES.schema[TIME]).alias(TIME)
    elif times not in _AS_COARSE_AS_MONTHS:
        level = pl.when(alone).then(pl.lit("month")).otherwise(level)
    cut = pl.when(level == "month").then(time.dt.truncate("1mo")).otherwise(time.dt.truncate(_CUTS.get(times, "1s")))
    level = pl.when(time.is_not_null()).then(level).alias(LEVEL)
    return _with_owners(profiles, rows).with_columns(cut, level, alone).select(*_CENTROID)


def _row_vectors(rows: pl.DataFrame, spoken: str) -> choosing.RowVectors:
    """Each row as a vector of equal entries: one for each stem of its query, one for the query, one for its host."""
    pages = rows[PAGE].drop_nulls().unique()
    hosts = pl.Series("host", [host_of(page).removeprefix("www.") or None for page in pages], dtype=pl.String)
    events = rows.select(QUERY, PAGE).join(pl.DataFrame([pages, hosts]), on=PAGE, how="left", maintain_order="left")
    kinds = events.select(QUERY, "host").unique(maintain_order=True).with_row_index("kind")
    kind = events.join(kinds, on=[QUERY, "host"], how="left", nulls_equal=True, maintain_order="left")["kind"]
    stems = stem_hashes(kinds[QUERY].unique(), language(spoken)).unique()
    first = pl.col("kind").first().cast(pl.UInt64)
    features = [
        kinds.join(stems, left_on=QUERY, right_on="text").select("kind", pl.lit(0).alias("part"), "word"),
        kinds.select("kind", pl.lit(1).alias("part"), first.over(QUERY).alias("word")),
        kinds.drop_nulls("host").select("kind", pl.lit(2).alias("part"), first.over("host").alias("word")),
    ]
    entries = pl.concat(features).sort("kind", "part", "word")
    columns = entries.select("part", "word").unique(maintain_order=True).with_row_index("column")
    entries = entries.join(columns, on=["part", "word"], how="left", maintain_order="left")
    count = np.bincount(entries["kind"].to_numpy(), minlength=kinds.height)
    return choosing.RowVectors(
        kind=kind.to_numpy().astype(np.int64),
        start=offsets(count),
        column=entries["column"].to_numpy().astype(np.int64),
        value=np.repeat(np.rint(choosing.UNIT / np.sqrt(count)).astype(np.int64), count),
        width=columns.height,
    )


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
