"""Groups of users: random ones, which every grouping is compared with, groups within blocks of similar users, and
unions of earlier groups.

Which users belong together is what methods differ in; here is what they share. Rows come with the column names of
QUERIES, whatever the log calls its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from coterie.algorithms.events import EVENT_ORDER, PAGE, QUERY, RANK, TIME, USER
from coterie.algorithms.words import word_hashes
from coterie.core.arrays import Ints
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.shapes import GROUPS
from coterie.core.threads import DoneSoFar, in_threads
from coterie.errors import InputError

Grouping = Callable[[pl.DataFrame], tuple[pl.Series, Ints, Ints]]
"""From rows (user and EVENT), sorted by user and EVENT_ORDER, to users, their numbers group by group, and where each
group starts among these."""
Uniting = Callable[[int, pl.DataFrame], Ints]
"""From a number and the members of groups (subject, group, numbered from 0), at least twice so many, to the union that
each group belongs to; each union has at least so many groups."""
_UNBLOCKED_USERS = 2_000
_BLOCK_USERS = 200
_NO_GROUPS = pl.DataFrame(schema={"subject": pl.String, "group": pl.UInt32})


def user_rows(log: Log) -> pl.LazyFrame:
    """The rows of users, with what profiles are made of."""
    shape = log.shape
    columns = {USER: shape.subject, TIME: shape.time, QUERY: shape.item, RANK: shape.rank, PAGE: shape.page}
    rows = log.frame.select(pl.col(column).alias(name) for name, column in columns.items())
    return rows.filter(pl.col(USER).is_not_null())


def rows_of_users(log: Log, run: Run, *columns: str) -> pl.LazyFrame:
    """The same where the rows are, with these columns or all."""
    shape = log.shape

    def rows(frame: pl.LazyFrame) -> pl.LazyFrame:
        found = user_rows(Log(frame=frame, shape=shape))
        return found.select(columns) if columns else found

    return run.each(log.frame, rows)


def user_names(log: Log, run: Run) -> pl.Series:
    """The users, sorted."""
    return run.small_blocks(rows_of_users(log, run, USER), lambda rows: rows.unique(), [USER])[USER].sort()


def random_groups(log: Log, run: Run, k: int) -> pl.LazyFrame:
    """Groups of k users at random, the last of up to 2k - 1."""
    return _in_a_row(_shuffled(log, run).sort("key", USER), k)


def size_groups(log: Log, run: Run, k: int) -> pl.LazyFrame:
    """Groups of k users with similar numbers of rows; users with the same number in random order."""
    return _in_a_row(_shuffled(log, run).sort("size", "key", USER), k)


def _shuffled(log: Log, run: Run) -> pl.DataFrame:
    """user, size (rows), key (random)"""
    rows = rows_of_users(log, run, USER)
    users = run.small_blocks(rows, lambda some: some.group_by(USER).agg(pl.len().alias("size")), [USER]).sort(USER)
    return users.with_columns(pl.Series("key", run.keys("random partition", users[USER])))


def _in_a_row(users: pl.DataFrame, k: int) -> pl.LazyFrame:
    """Each k users in a row are a group; the last one has up to 2k - 1."""
    place = np.minimum(np.arange(users.height) // k, users.height // k - 1)
    columns = {"subject": users[USER], "group": place}
    return numbered(pl.DataFrame(columns, schema_overrides={"group": pl.UInt32})).lazy()


def numbered(groups: pl.DataFrame) -> pl.DataFrame:
    """Groups with running numbers, in the order of subjects."""
    return groups.with_columns(pl.col("group").rank("dense").cast(pl.UInt32) - 1).sort("subject")


def united(groups: pl.LazyFrame, k: int, run: Run, unite: Uniting | None = None) -> pl.LazyFrame:
    """Groups of at least k users: those that are given, and unions of those that are too small. Nobody changes groups.

    `unite` says which of these belong together; else chance does. Where they are too few together, they join the
    smallest of the others.
    """
    unite = unite or partial(_by_chance, run)
    members = numbered(groups.collect(engine="streaming"))
    if members.height < k:
        raise InputError(
            f"The groups that are to be used again have {members.height:,} users in this log, and k is {k}. Use a "
            "smaller k, or groups of its own."
        )
    while True:
        size = np.bincount(members["group"].to_numpy())
        small, enough = np.flatnonzero(size < k), np.flatnonzero(size >= k)
        if small.size == 0:
            return GROUPS.check(members.lazy())
        union, least = np.arange(size.size), -(-k // int(np.median(size[small])))
        if small.size >= 2 * least:  # unions of groups smaller than most may still be too small, and come again
            in_small = members.filter(pl.col("group").is_in(small))
            union[small] = small[unite(least, numbered(in_small))]
        elif size[small].sum() >= k:
            union[small] = small[0]
        else:
            union[small] = enough[np.argmin(size[enough])]
        of_members = pl.Series("group", union[members["group"].to_numpy()], dtype=pl.UInt32)
        members = numbered(members.with_columns(of_members))


def _by_chance(run: Run, least: int, members: pl.DataFrame) -> Ints:
    """Unions of so many groups at random, the last of up to twice as many."""
    first = members.group_by("group").agg(pl.col("subject").min()).sort("group")["subject"]
    union = np.empty(len(first), dtype=np.int64)
    order = np.argsort(run.keys("unions of groups", first), kind="stable")
    union[order] = np.minimum(np.arange(len(first)) // least, len(first) // least - 1)
    return union


def groups_in_blocks(log: Log, run: Run, k: int, block_users: int, group: Grouping) -> pl.LazyFrame:
    """Groups that `group` makes of the users of each block, numbered over all blocks.

    A block has about `block_users` users, at least 2k; 0: all users up to 2,000, blocks of 200 above.
    """
    users = _with_blocks(_users(log, run), k, block_users)
    user_rows_with_block = run.join(rows_of_users(log, run), users.lazy().select(USER, "block"), [USER])
    done = DoneSoFar(int(users["size"].sum()), run.tell)

    def work(frame: pl.LazyFrame) -> pl.LazyFrame:
        rows = frame.collect(engine="streaming").sort("block", USER, *EVENT_ORDER)
        blocks = sorted(rows.partition_by("block", maintain_order=True), key=lambda b: -b.height)
        return pl.concat([_NO_GROUPS, *in_threads(grouped, blocks)]).lazy()

    def grouped(block: pl.DataFrame) -> pl.DataFrame:
        names, members, start = group(block)
        number = block["block"][0] + np.repeat(np.arange(start.size - 1), np.diff(start))
        done.add(block.height)
        columns = {"subject": names.gather(members), "group": number}
        return pl.DataFrame(columns, schema_overrides={"group": pl.UInt32})

    groups = run.small(run.blocks(user_rows_with_block, work, by=["block"], out=GROUPS))
    return numbered(groups).lazy()


def _with_blocks(users: pl.DataFrame, k: int, block_users: int) -> pl.DataFrame:
    """Users with the number of their block: neighbours in size class, then in their smallest word hash."""
    wanted = block_users or (_BLOCK_USERS if users.height > _UNBLOCKED_USERS else users.height)
    n_blocks = max(1, users.height // max(wanted, 2 * k))
    half_octave = -(pl.col("size").cast(pl.Int64) ** 2).bitwise_leading_zeros().cast(pl.Int64)
    ordered = users.sort(half_octave, "word", USER).with_row_index("place")
    number = pl.col("place").cast(pl.Int64) * n_blocks // users.height
    return ordered.with_columns(pl.col("place").min().over(number).cast(pl.UInt32).alias("block"))


def _users(log: Log, run: Run) -> pl.DataFrame:
    """Each user with the number of their rows and the smallest hash of their words, which similar users share."""
    word = pl.col(QUERY).map_batches(word_hashes, return_dtype=pl.UInt64, is_elementwise=True).alias("word")

    def facts(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.select(USER, word).group_by(USER).agg(pl.len().alias("size"), pl.col("word").min())

    return run.small_blocks(rows_of_users(log, run, USER, QUERY), facts, [USER])
