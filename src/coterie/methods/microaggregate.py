"""Give every user the same published profile as at least k - 1 others.

Paper: G. Navarro-Arribas, V. Torra, A. Erola and J. Castellà-Roca, "User k-anonymity for privacy preserving data mining
    of query logs", Information Processing and Management 48 (2012).

Symbols: k = smallest size of a group; φ = the events of a user; d = distance of two users; C = the common profile of
    several users; x̄ = C of the users that are not grouped yet; x_r, x_s = the users farthest from x̄ and from x_r.

Promise: every released profile, that is everything published under one name, is shared by at least k users. A profile
    is made of queries that members of the group typed, word for word: a query that names a person by itself is
    released when it is chosen (the prepare step `scrub` removes those it recognizes). Rows without a user are not
    released.
    With `publish = phrases` a profile is made of phrases in place of queries, and every phrase in it stands, word for
    word, in queries of at least `phrase_users` different users of the log.

Differs:
    - Differences are normalized by the minimum.
    - The weights of domain labels sum to 1.
    - With `eq1 = text` the words of two queries weigh twice as much as their number; `printed` is the formula
      as printed.
    - Weights sum to 6.
    - The size of C is the rounded mean.
    - Shares of query strings are filled by largest remainders.
    - Nothing is pruned by the triangle inequality.
    - X̄ = C(X), never a medoid. It is always made with `attrs = nearest`.
    - The paper does not say what times, ranks and pages are averaged over. Each event of the group counts for the
      chosen event nearest to it; of several, the first by user, query, time, rank and page.
    - A page or a rank that comes from one user alone is not released, whatever `attrs` is, even where others stand
      behind the same event without one. Pages are released as host names.
    - Averaged times are cut to the month (`times`): an average to the second of few events tells when they were, and
      nobody needs it of a profile. With a finer `times` the month still stands where one member alone typed the
      query, or alone has its time, rank or page.
    - With `choice = herding` each member gives as many queries, and those are chosen whose words, strings and hosts
      together are nearest to those of the whole group. With `max_share` what is above it is given to the others in
      proportion to their rows; a profile is shorter only where they have too few.
    - Distances of times are at most 1, also between a time and a day. Left of its 32nd label a host counts as one
      label, and so does an address.
    - Where a group has more than 17 million pairs of events and chosen events (a user with 7,000 rows or more),
      averages are over the same query string.
    - `publish = phrases` is our own (`docs/phrases.md`): who knows five queries of a person can then tell a further one
      far less often than from whole queries, which are the paper's rule and the default here.
    - Above 2,000 users MDAV runs within blocks of about 200 users of similar size and with common words
      (`block_users`); a block has at least 2k users. What that costs is measured in `docs/benchmarks.md`.

Cost: exact MDAV needs about n² / k distances of users for a block of n; with blocks of fixed size the cost for each
    user is constant. Memory: the rows of one engine block, and some tens of megabytes for each thread.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "maps"), ("bob", "maps"), ("cyd", "tides"), ("dan", "tides")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> coterie.anonymize(log, Microaggregate(k=2)).to_polars()["query"].sort().to_list()
    ['maps', 'maps', 'tides', 'tides']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.arrays import Ints
from coterie.core.log import Log
from coterie.core.params import Choice, Late, Range
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.threads import in_threads, thread_count
from coterie.releasing.profiles import BlockUsers, PublishesEvents, release_profiles

_ONE_THREAD = 300  # users of a block that one thread groups


@dataclass(frozen=True, kw_only=True)
class Microaggregate(PublishesEvents):
    """Give every user the same published profile as at least k - 1 similar users."""

    k: Annotated[int, Range(2), Late(), "smallest number of users that share a released profile"] = 5
    eq1: Annotated[
        str,
        Choice("text", "printed"),
        "weights in the distance of queries: as the paper's text has them, or as its formula is printed",
    ] = "text"
    attrs: Annotated[
        str,
        Choice("nearest", "same_string", "drop"),
        "times, ranks, hosts: averaged over the nearest queries, over the same query, or none",
    ] = "nearest"
    block_users: BlockUsers = 0
    partition: Annotated[
        str,
        Choice("mdav", "size", "random"),
        "groups of similar users; or, to compare with, of users with similar numbers of rows, or random ones",
    ] = "mdav"

    shown: ClassVar[str] = "k eq1 attrs times choice max_share block_users publish phrase_users language partition"

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        """Step 1: who is grouped with whom; groups have k to 2k - 1 members."""
        from coterie.algorithms import events, groups
        from coterie.algorithms.kernels import mdav
        from coterie.algorithms.kernels.hausdorff import new_workspace

        if self.partition == "random":
            return Plan(table=groups.random_groups(log, run, self.k))
        if self.partition == "size":
            return Plan(table=groups.size_groups(log, run, self.k))
        scales, keys = events.Scales.of_rows(groups.rows_of_users(log, run), run), run.keys

        def group(block: pl.DataFrame) -> tuple[pl.Series, Ints, Ints]:
            encoded = events.encode(block, scales, keys, self.eq1)
            # Where users are not cut into blocks, nothing else keeps the processors busy.
            threads = thread_count() if len(encoded.users) > _ONE_THREAD else 1
            workspace, *more = (new_workspace(encoded.events) for _ in range(threads))
            grouped = mdav.mdav(
                self.k, encoded.events, encoded.strings, workspace, more=more, side_by_side=in_threads
            )  # fmt: skip
            return encoded.users, *grouped

        return Plan(table=groups.groups_in_blocks(log, run, self.k, self.block_users, group))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Steps 2 and 3: the common profile of each group, under a fresh name for each member."""
        return release_profiles(log, plan, run, self, eq1=self.eq1)
