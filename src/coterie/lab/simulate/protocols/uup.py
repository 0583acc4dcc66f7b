"""UUP, the useless user profile: n users exchange their queries, and everybody submits somebody's.

Paper:   J. Castellà-Roca, A. Viejo and J. Herrera-Joancomartí, "Preserving user's privacy in web search engines"
         (2009).
Rounds:  users publish key shares; they encrypt their queries for the group; each re-encrypts and permutes the list in
         turn; they publish shares of the decryption; each submits one query and tells everybody the answer.
Differs:
    - A group is the next n events of different users in time, so nobody waits for those who search rarely.
    - Groups are replayed by drawing who gets which query; messages are counted, not encrypted.
    - The adversary of `simattack` knows who was in a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from coterie.core import randomness
from coterie.core.arrays import Ints, Short, offsets
from coterie.core.params import Range
from coterie.errors import ParameterError
from coterie.lab.simulate.protection import Protection, Seen, spread
from coterie.lab.simulate.world import World


@dataclass(frozen=True, kw_only=True)
class Uup(Protection):
    """Groups of users who shuffle their queries."""

    group: Annotated[int, Range(2, 100), "users who exchange their queries"] = 3

    def protect(self, world: World, seed: int) -> Seen:
        """What the engine sees."""
        if self.group > world.n_users:
            raise ParameterError(f"A group of {self.group} users cannot be made of the {world.n_users} of the log.")
        left = self.leaving(world)
        author = world.author[left]
        group = groups_in_time(author, self.group)
        stream = randomness.stream(seed, "uup")
        submitter = author.copy()
        in_group = np.flatnonzero(group >= 0)
        order = in_group[np.argsort(group[in_group], kind="stable")].reshape(-1, self.group)
        shuffled = stream.permuted(np.tile(np.arange(self.group), (order.shape[0], 1)), axis=1)
        submitter[order] = author[np.take_along_axis(order, shuffled, axis=1)]
        identity = np.zeros(world.n_events, dtype=np.int32)
        identity[left] = submitter
        alone = np.flatnonzero(group < 0)
        per_query = np.where(group >= 0, messages_of(self.group) / self.group, 0.0)
        notes = (f"Queries that found no group, submitted by their authors: {alone.size:,}.",) if alone.size else ()
        return self.seen(
            world,
            identity,
            messages=spread(per_query, left),
            rounds=spread(np.where(group >= 0, float(rounds_of(self.group)), 0.0), left),
            candidates=_candidates(world, left, author, order),
            notes=notes,
        )


def messages_of(n: int) -> int:
    """Messages of one exchange: key shares, queries to the first, the list from hand to hand and to all, shares of the
    decryption, answers."""
    return 3 * n * (n - 1) + 3 * (n - 1)


def rounds_of(n: int) -> int:
    """Messages one after the other in one exchange: three broadcasts, queries, n - 1 hands, the list, answers."""
    return n + 4


def groups_in_time(author: Short, n: int) -> Ints:
    """The group of each event: each joins the first group that waits for somebody and has not its author; -1: the
    groups that never had n members."""
    group = np.full(author.size, -1, dtype=np.int64)
    begun: list[list[int]] = []  # the events of each group, in the order in which groups began
    # Whoever is in a group stays there, and a full one stays full: nobody looks at a group again that was passed by.
    look_from: dict[int, int] = {}
    oldest = 0
    for place, who in enumerate(author.tolist()):
        while oldest < len(begun) and len(begun[oldest]) == n:
            oldest += 1
        at = max(look_from.get(who, 0), oldest)
        while at < len(begun) and len(begun[at]) == n:
            at += 1
        look_from[who] = at + 1
        if at == len(begun):
            begun.append([])
        begun[at].append(place)
        if len(begun[at]) == n:
            group[begun[at]] = begun[at][0]
    return group


def _candidates(world: World, left: np.ndarray, author: Short, order: Ints) -> tuple[Ints, Short]:
    """Who was in the group of each event; the author alone where there was none."""
    n = order.shape[1]
    of_left = np.ones(author.size, dtype=np.int64)
    of_left[order] = n
    sizes = np.zeros(world.n_events, dtype=np.int64)
    sizes[left] = of_left
    start = offsets(sizes)
    people = np.empty(start[-1], dtype=np.int32)
    begin = start[:-1][left]
    people[begin] = author  # those without a group; the others are overwritten
    people[begin[order][:, :, None] + np.arange(n)] = author[order][:, None, :]
    return start, people
