"""Groups of users: what all methods that give a group one profile share.

`random_groups` is what every grouping is compared with; `groups_in_blocks` lets a method group users that are alike
already, so that not all have to be compared. `share_profiles` gives a grouping (a table GROUPS) common profiles, under
a fresh name for each member, and `release_groups` does so with the profiles of SPEC 4.3. Which users belong together,
and what they have in common, is what methods differ in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.aggregate import EVENT, EVENT_ORDER, Scales, centroids, load_centroids, word_hashes
from coterie.kernels.mdav import Choice, choose
from coterie.log import Log
from coterie.run import Draft, Run
from coterie.shapes import GROUPS, QUERIES

T = TypeVar("T")
R = TypeVar("R")
Grouping = Callable[[pl.DataFrame], tuple[pl.Series, NDArray[np.int64], NDArray[np.int64]]]
"""From rows (user and EVENT), sorted by user and EVENT_ORDER, to users, their numbers group by group, and where each
group starts among these."""
_UNBLOCKED_USERS = 2_000
_BLOCK_USERS = 200
_ROWS_AT_ONCE = 20_000  # of the groups whose profiles are computed together; of no consequence for the result
_NO_GROUPS = pl.DataFrame(schema={"subject": pl.String, "group": pl.UInt32})


def user_rows(log: Log) -> pl.LazyFrame:
    """The rows of users, with what profiles are made of."""
    return log.frame.select("user", *EVENT).filter(pl.col("user").is_not_null())


def user_names(log: Log) -> pl.Series:
    """The users, sorted."""
    return user_rows(log).select("user").unique().collect(engine="streaming")["user"].sort()


def random_groups(log: Log, run: Run, k: int) -> pl.LazyFrame:
    """Groups of k users at random, the last of up to 2k - 1."""
    return _in_a_row(_shuffled(log, run).sort("key", "user"), k)


def size_groups(log: Log, run: Run, k: int) -> pl.LazyFrame:
    """Groups of k users with about as many rows; of users with equally many at random."""
    return _in_a_row(_shuffled(log, run).sort("size", "key", "user"), k)


def _shuffled(log: Log, run: Run) -> pl.DataFrame:
    """user, size (rows), key (random)"""
    users = user_rows(log).group_by("user").agg(pl.len().alias("size")).collect(engine="streaming").sort("user")
    return users.with_columns(pl.Series("key", run.keys("random partition", users["user"])))


def _in_a_row(users: pl.DataFrame, k: int) -> pl.LazyFrame:
    """k users after each other are a group, the last has up to 2k - 1."""
    place = np.minimum(np.arange(users.height) // k, users.height // k - 1)
    columns = {"subject": users["user"], "group": place}
    return numbered(pl.DataFrame(columns, schema_overrides={"group": pl.UInt32})).lazy()


def numbered(groups: pl.DataFrame) -> pl.DataFrame:
    """Groups with running numbers, in the order of subjects."""
    return groups.with_columns(pl.col("group").rank("dense").cast(pl.UInt32) - 1).sort("subject")


def groups_in_blocks(log: Log, run: Run, k: int, block_users: int, group: Grouping) -> pl.LazyFrame:
    """Groups that `group` makes of the users of each block, numbered over all blocks.

    A block has about `block_users` users, at least 2k; 0: all users up to 2,000, blocks of 200 above.
    """
    users = _with_blocks(_users(log), k, block_users)
    rows = user_rows(log).join(users.lazy().select("user", "block"), on="user")
    done = Share(int(users["size"].sum()), run.tell)

    def work(frame: pl.LazyFrame) -> pl.LazyFrame:
        found = frame.collect(engine="streaming").sort("block", "user", *EVENT_ORDER)
        blocks = sorted(found.partition_by("block", maintain_order=True), key=lambda b: -b.height)
        return pl.concat([_NO_GROUPS, *in_threads(grouped, blocks)]).lazy()

    def grouped(block: pl.DataFrame) -> pl.DataFrame:
        names, members, start = group(block)
        number = block["block"][0] + np.repeat(np.arange(start.size - 1), np.diff(start))
        done.add(block.height)
        columns = {"subject": names.gather(members), "group": number}
        return pl.DataFrame(columns, schema_overrides={"group": pl.UInt32})

    groups = run.map(rows, work, by=["block"], out=GROUPS).collect(engine="streaming")
    return numbered(groups).lazy()


def _with_blocks(users: pl.DataFrame, k: int, block_users: int) -> pl.DataFrame:
    """Users with the number of their block: neighbours in size class, then in their smallest word hash."""
    wanted = block_users or (_BLOCK_USERS if users.height > _UNBLOCKED_USERS else users.height)
    n_blocks = max(1, users.height // max(wanted, 2 * k))
    half_octave = -(pl.col("size").cast(pl.Int64) ** 2).bitwise_leading_zeros().cast(pl.Int64)
    ordered = users.sort(half_octave, "word", "user").with_row_index("place")
    number = pl.col("place").cast(pl.Int64) * n_blocks // users.height
    return ordered.with_columns(pl.col("place").min().over(number).cast(pl.UInt32).alias("block"))


def _users(log: Log) -> pl.DataFrame:
    """Each user with the number of her rows and the smallest hash of her words, which similar users share."""
    word = pl.col("query").map_batches(word_hashes, return_dtype=pl.UInt64, is_elementwise=True)
    rows = user_rows(log).select("user", word.alias("word"))
    return rows.group_by("user").agg(pl.len().alias("size"), pl.col("word").min()).collect(engine="streaming")


def share_profiles(
    log: Log,
    plan: pl.LazyFrame,
    run: Run,
    profiles: Callable[[pl.DataFrame], pl.DataFrame],
    order: Sequence[str] = EVENT_ORDER,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Who became whom (original, released, group), and what `profiles` makes of the rows of groups.

    `profiles` takes rows (group, user and `order`, no more columns than it uses) of some whole groups, sorted by these.
    Users who are in no group are not released; the record names them.
    """
    groups = plan.collect(engine="streaming").sort("subject")
    everybody = user_names(log)
    names = run.pseudonyms(groups["subject"], taken=everybody)
    grouped = groups.select(pl.col("subject").alias("original"), names.alias("released"), "group")
    members = everybody.alias("original").to_frame().join(grouped, on="original", how="left").sort("original")
    rows = user_rows(log).select("user", *order).join(groups.lazy().rename({"subject": "user"}), on="user")
    done = Share(user_rows(log).select(pl.len()).collect(engine="streaming").item(), run.tell)

    def work(frame: pl.LazyFrame) -> pl.LazyFrame:
        found = frame.collect(engine="streaming").sort("group", "user", *order)
        return pl.concat([profiles(found.clear()), *in_threads(some_profiles, list(_slices(found)))]).lazy()

    def some_profiles(some: pl.DataFrame) -> pl.DataFrame:
        done.add(some.height)
        return profiles(some)

    return members.lazy(), run.collect(run.map(rows, work, by=["group"]))


def release_groups(
    log: Log, plan: pl.LazyFrame, run: Run, *, eq1: str = "text", attrs: str = "nearest", choice: Choice = choose
) -> Draft:
    """The common profile of each group (SPEC 4.3), under a fresh name for each member.

    `choice` chooses the queries of a profile.
    """
    load_centroids(eq1, attrs, choice)
    scales = Scales.of(log.frame)
    members, common = share_profiles(
        log,
        plan,
        run,
        lambda rows: centroids(rows, scales, run.keys, eq1, attrs, choice),
        ("query",) if attrs == "drop" else EVENT_ORDER,
    )
    alone, total = common.select(pl.col("alone").sum(), pl.len()).collect(engine="streaming").row(0)
    released = members.drop_nulls("group").select(pl.col("released").alias("user"), "group").join(common, on="group")
    return Draft(frame=released.select(QUERIES.released), subjects=members, warnings=_warnings(alone, total, attrs))


def typed_alone(alone: int, total: int) -> str:
    """How many queries of all profiles are somebody's own words."""
    return (
        f"{alone:,} of {total:,} chosen queries, word for word as they are released, one user of the group typed alone."
    )


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


def _warnings(alone: int, total: int, attrs: str) -> tuple[str, ...]:
    if not alone:
        return ()
    if attrs == "drop":
        return (typed_alone(alone, total),)
    return (
        f"{alone:,} of {total:,} chosen queries, or their page, rank or time, stood for one user alone: what did is "
        "left out, of a time the day stays. The words are as some user typed them.",
    )
