"""Groups of users: what all methods that give a group one profile share.

`random_groups` is what every grouping is compared with; `release_groups` turns any grouping (a table GROUPS) into the
common profile of each group under a fresh name for each member. Which users belong together is what methods differ in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

import numpy as np
import polars as pl

from coterie.aggregate import EVENT, EVENT_ORDER, Scales, centroids, load_kernels
from coterie.kernels.mdav import Choice, choose
from coterie.kernels.minhash import smallest_word_hashes
from coterie.log import Log
from coterie.run import Draft, Run
from coterie.shapes import QUERIES

T = TypeVar("T")
R = TypeVar("R")
_ROWS_AT_ONCE = 20_000  # of the groups whose profiles are computed together; of no consequence for the result


def user_rows(log: Log) -> pl.LazyFrame:
    """The rows of users, with what profiles are made of."""
    return log.frame.select("user", *EVENT).filter(pl.col("user").is_not_null())


def user_names(log: Log) -> pl.Series:
    """The users, sorted."""
    return user_rows(log).select("user").unique().collect(engine="streaming")["user"].sort()


def word_hashes(queries: pl.Series) -> pl.Series:
    """The smallest hash of the words of each query: queries with common words tend to share it."""
    texts = queries.to_arrow(compat_level=pl.CompatLevel.oldest())
    start = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)
    return pl.Series(queries.name, smallest_word_hashes(start, data))


def random_groups(log: Log, run: Run, k: int) -> pl.LazyFrame:
    """Groups of k users at random, the last of up to 2k - 1."""
    names = user_names(log)
    order = np.argsort(run.keys("random partition", names), kind="stable")
    place = np.minimum(np.arange(len(names)) // k, len(names) // k - 1)
    columns = {"subject": names.gather(order), "group": place}
    return numbered(pl.DataFrame(columns, schema_overrides={"group": pl.UInt32})).lazy()


def numbered(groups: pl.DataFrame) -> pl.DataFrame:
    """Groups with running numbers, in the order of subjects."""
    return groups.with_columns(pl.col("group").rank("dense").cast(pl.UInt32) - 1).sort("subject")


def release_groups(
    log: Log,
    plan: pl.LazyFrame,
    run: Run,
    *,
    eq1: str = "text",
    attrs: str = "nearest",
    choice: Choice = choose,
) -> Draft:
    """The common profile of each group (SPEC 4.3), under a fresh name for each member.

    `choice` chooses the queries of a profile. Users who are in no group are not released; the record names them.
    """
    load_kernels()
    scales = Scales.of(log.frame)
    groups = plan.collect(engine="streaming").sort("subject")
    everybody = user_names(log)
    names = run.pseudonyms(groups["subject"], taken=everybody)
    grouped = groups.select(pl.col("subject").alias("original"), names.alias("released"), "group")
    members = everybody.alias("original").to_frame().join(grouped, on="original", how="left").sort("original")
    order = ("query",) if attrs == "drop" else EVENT_ORDER  # no more columns than are used
    rows = user_rows(log).select("user", *order).join(groups.lazy().rename({"subject": "user"}), on="user")
    done = Share(user_rows(log).select(pl.len()).collect(engine="streaming").item(), run.tell)

    def work(frame: pl.LazyFrame) -> pl.LazyFrame:
        found = frame.collect(engine="streaming").sort("group", "user", *order)
        return pl.concat([profiles(found.clear()), *in_threads(profiles, list(_slices(found)))]).lazy()

    def profiles(some: pl.DataFrame) -> pl.DataFrame:
        done.add(some.height)
        return centroids(some, scales, run.keys, eq1, attrs, choice)

    common = run.collect(run.map(rows, work, by=["group"]))
    alone, total = common.select(pl.col("alone").sum(), pl.len()).collect(engine="streaming").row(0)
    released = grouped.lazy().select(pl.col("released").alias("user"), "group").join(common, on="group")
    return Draft(frame=released.select(QUERIES.released), subjects=members.lazy(), warnings=_warnings(alone, total))


class Share:
    """Adds up rows from several threads and tells which share of all is done."""

    def __init__(self, total: int, tell: Callable[[float], None]) -> None:
        self._total, self._done, self._tell, self._lock = total, 0, tell, Lock()

    def add(self, rows: int) -> None:
        """So many rows more are done."""
        with self._lock:
            self._done += rows
            self._tell(self._done / self._total)


def in_threads(work: Callable[[T], R], parts: Sequence[T]) -> list[R]:
    """`work` on each part, in the order of the parts; kernels run without the interpreter lock."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(work, parts))


def _slices(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Whole groups, about _ROWS_AT_ONCE rows together."""
    ends = np.cumsum(rows["group"].rle().struct.field("len").to_numpy())
    start = 0
    for i, end in enumerate(ends):
        if end - start >= _ROWS_AT_ONCE or i == ends.size - 1:
            yield rows[start:end]
            start = end


def _warnings(alone: int, total: int) -> tuple[str, ...]:
    if not alone:
        return ()
    return (
        f"{alone:,} of {total:,} chosen queries, or their page, rank or time, stood for one user alone: what did is "
        "left out, of a time the day stays. The words are as some user typed them.",
    )
