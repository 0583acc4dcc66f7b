"""Give every user the same published profile as at least k - 1 others.

Paper: G. Navarro-Arribas, V. Torra, A. Erola and J. Castellà-Roca, "User k-anonymity for privacy preserving data mining
    of query logs", Information Processing and Management 48 (2012); SPEC 3 and 4.

Symbols: k = smallest size of a group; φ = the events of a user; d = distance of two users; C = the common profile of
    several users; x̄ = C of the users that are not grouped yet; x_r, x_s = the users farthest from x̄ and from x_r.

Promise: every released profile, that is everything published under one name, is shared by at least k users. A profile
    is made of queries that members of the group typed, word for word: a query that names a person by itself is
    released when it is chosen (the prepare step `scrub` removes those it recognizes). Rows without a user are not
    released.

Differs: E-000-1 (normalization by minimum), E-000-2 (weights of domain labels sum to 1), E-000-3 (`eq1 = text`: the
    words of two queries weigh twice as much as their number; `printed` is the formula as printed), E-000-4 (sum of
    weights 6), E-000-6 (the size of C is the rounded mean), E-000-7 (shares of query strings by largest remainders),
    E-000-8 (nothing is pruned by the triangle inequality), E-000-12 (x̄ = C(X), never a medoid). The paper does not say
    what times, ranks and pages are averaged over: each event of the group counts for the chosen event nearest to it, of
    several the first by user, query, time, rank and page. A page, a rank or a time of day that comes from one user
    alone is not released, also where others stand behind the same event without one, whatever `attrs` is. Pages are
    released as host names. x̄ is made with `attrs = nearest` always. Distances of times are at most 1, also to days. Of
    a host the part left of its 32nd label counts as one, and an address is one label. Where a group has more than 17
    million pairs of events and chosen events (a user with 7,000 rows and more), averages are over the same query
    string. Above 2,000 users MDAV runs within blocks of about 200 users of similar size and with common words
    (`block_users`); a block has at least 2k users. What that costs is measured in `docs/benchmarks.md`.

Cost: exact MDAV needs about n² / k distances of users for a block of n; with blocks of fixed size the cost for each
    user is constant. Memory: the rows of one engine block, and some tens of megabytes for each thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from coterie.aggregate import EVENT_ORDER, Scales, encode, load_kernels
from coterie.groups import Share, in_threads, numbered, random_groups, release_groups, user_rows, word_hashes
from coterie.kernels.hausdorff import new_scratch
from coterie.kernels.mdav import mdav
from coterie.log import Log
from coterie.params import Choice, Range, check_params
from coterie.promises import UserKAnonymity
from coterie.run import Draft, Run, enough_subjects
from coterie.shapes import GROUPS, QUERIES, Shape

_UNBLOCKED_USERS = 2_000
_BLOCK_USERS = 200


@dataclass(frozen=True, kw_only=True)
class Microaggregate:
    """Give every user the same published profile as at least k - 1 similar users."""

    k: Annotated[int, Range(2)] = 5
    eq1: Annotated[str, Choice("text", "printed")] = "text"
    attrs: Annotated[str, Choice("nearest", "same_string", "drop")] = "nearest"
    block_users: Annotated[int, Range(0)] = 0
    partition: Annotated[str, Choice("mdav", "random")] = "mdav"

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "experimental"
    holds_rows: ClassVar[bool] = True
    param_docs: ClassVar[dict[str, str]] = {
        "k": "smallest number of users that share a released profile",
        "eq1": "weights in the distance of queries: as the paper's text has them, or as its formula is printed",
        "attrs": "times, ranks, hosts: averaged over the nearest queries, over the same query, or none",
        "block_users": "users compared with each other, at least 2k; 0: all up to 2000 users, blocks of 200 above",
        "partition": "groups of similar users, or random ones to compare with",
    }

    def __post_init__(self) -> None:
        check_params(self, "microaggregate")

    def promise(self, n_subjects: int) -> UserKAnonymity:
        """At least k users behind each released profile."""
        enough_subjects("microaggregate", self.k, n_subjects)
        return UserKAnonymity(k=self.k)

    def baseline(self) -> Microaggregate | None:
        """The same with random groups."""
        return None if self.partition == "random" else replace(self, partition="random")

    def plan(self, log: Log, run: Run) -> pl.LazyFrame:
        """Step 1: who is grouped with whom; groups have k to 2k - 1 members."""
        if self.partition == "random":
            return random_groups(log, run, self.k)
        load_kernels()
        scales = Scales.of(log.frame)
        users = self._with_blocks(_users(log))
        rows = user_rows(log).join(users.lazy().select("user", "block"), on="user")
        done = Share(int(users["size"].sum()), run.tell)

        def work(frame: pl.LazyFrame) -> pl.LazyFrame:
            found = frame.collect(engine="streaming").sort("block", "user", *EVENT_ORDER)
            blocks = sorted(found.partition_by("block", maintain_order=True), key=lambda b: -b.height)
            return pl.concat([_NO_GROUPS, *in_threads(group, blocks)]).lazy()

        def group(block: pl.DataFrame) -> pl.DataFrame:
            profiles = encode(block, scales, run.keys, self.eq1)
            members, start = mdav(self.k, profiles.trees, profiles.strings, new_scratch(profiles.trees))
            number = block["block"][0] + np.repeat(np.arange(start.size - 1), np.diff(start))
            columns = {"subject": profiles.users.gather(members), "group": number}
            done.add(block.height)
            return pl.DataFrame(columns, schema_overrides={"group": pl.UInt32})

        groups = run.map(rows, work, by=["block"], out=GROUPS).collect(engine="streaming")
        return numbered(groups).lazy()

    def release(self, log: Log, plan: pl.LazyFrame, run: Run) -> Draft:
        """Steps 2 and 3: the common profile of each group, under a fresh name for each member."""
        return release_groups(log, plan, run, eq1=self.eq1, attrs=self.attrs)

    def _with_blocks(self, users: pl.DataFrame) -> pl.DataFrame:
        """Users with the number of their block: neighbours in size class, then in their smallest word hash."""
        wanted = self.block_users or (_BLOCK_USERS if users.height > _UNBLOCKED_USERS else users.height)
        n_blocks = max(1, users.height // max(wanted, 2 * self.k))
        half_octave = -(pl.col("size").cast(pl.Int64) ** 2).bitwise_leading_zeros().cast(pl.Int64)
        ordered = users.sort(half_octave, "word", "user").with_row_index("place")
        number = pl.col("place").cast(pl.Int64) * n_blocks // users.height
        return ordered.with_columns(pl.col("place").min().over(number).cast(pl.UInt32).alias("block"))


_NO_GROUPS = pl.DataFrame(schema={"subject": pl.String, "group": pl.UInt32})


def _users(log: Log) -> pl.DataFrame:
    """Each user with the number of her rows and the smallest hash of her words, which similar users share."""
    word = pl.col("query").map_batches(word_hashes, return_dtype=pl.UInt64, is_elementwise=True)
    rows = user_rows(log).select("user", word.alias("word"))
    return rows.group_by("user").agg(pl.len().alias("size"), pl.col("word").min()).collect(engine="streaming")
