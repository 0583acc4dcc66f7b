"""A case: a world, the protocol, and what it let others see; what measures of simulations look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from coterie.core import randomness
from coterie.core.arrays import Flags, Ints, Short, offsets
from coterie.errors import NotApplicableError
from coterie.lab.simulate.graphs import Network
from coterie.lab.simulate.kernels import COLLUDING
from coterie.lab.simulate.protection import Protection, Seen
from coterie.lab.simulate.world import World

TARGETS = 20_000
"""Late events that are attacked."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """One simulation, as measures see it."""

    world: World = field(repr=False)
    protocol: Protection
    seen: Seen = field(repr=False)
    seed: int = field(repr=False)

    @cached_property
    def targets(self) -> Ints:
        """The late events that are attacked, also those that nobody saw."""
        late = np.flatnonzero(self.world.late)
        drawn = randomness.stream(self.seed, "attacked queries").permutation(late.size)[:TARGETS]
        return late[np.sort(drawn)]

    @cached_property
    def told(self) -> Flags:
        """Which events their authors handed to a friend who tells the engine."""
        if self.seen.network is None or self.seen.first is None:
            return np.zeros(self.world.n_events, dtype=np.bool_)
        first = self.seen.first
        if not self.seen.network.graph.friend.size:
            return np.zeros(first.size, dtype=np.bool_)
        friend = self.seen.network.graph.friend[np.maximum(first, 0)]
        return np.asarray((first >= 0) & (self.seen.behaviour[friend] == COLLUDING))

    def pairs(self, who: Short | Ints) -> tuple[Ints, Ints]:
        """who * queries + query of events that are somebody's, ascending, and how often."""
        return np.unique(self.world.pair_keys(who)[np.greater_equal(who, 0)], return_counts=True)

    def network(self) -> Network:
        """Who knows whom; NotApplicableError where the protocol knows no friends."""
        if self.seen.network is None:
            raise NotApplicableError("it is about friends, and this protocol has none")
        return self.seen.network

    def candidates(self, events: Ints) -> tuple[Ints, Short]:
        """Who may have written each of the events, by its identity: nobody's list is empty, as is that of all."""
        if self.seen.candidates is not None:
            start, people = self.seen.candidates
            return _rows(start, people, events)
        identity = self.seen.identity[events].astype(np.int64)
        if self.seen.network is None:
            return offsets((identity >= 0).astype(np.int64)), identity[identity >= 0].astype(np.int32)
        graph = self.seen.network.graph
        known = np.maximum(identity, 0)
        friends = np.where(identity >= 0, np.diff(graph.start)[known], 0)
        start = offsets(friends + (identity >= 0))
        people = np.empty(start[-1], dtype=np.int32)
        people[start[:-1][identity >= 0]] = identity[identity >= 0]
        at = np.repeat(graph.start[known] - offsets(friends)[:-1], friends) + np.arange(friends.sum())
        people[np.repeat(start[:-1] + 1 - offsets(friends)[:-1], friends) + np.arange(friends.sum())] = graph.friend[at]
        return start, people


def _rows(start: Ints, people: Short, rows: Ints) -> tuple[Ints, Short]:
    sizes = (start[rows + 1] - start[rows]).astype(np.int64)
    begin = offsets(sizes)
    return begin, people[np.repeat(start[rows] - begin[:-1], sizes) + np.arange(begin[-1])]
