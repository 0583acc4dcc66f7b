"""What an engine, friends and others see when people protect themselves: the result of a protocol.

An engine holds requests, each under an identity: a user who submits for themselves or for friends, or nobody, where
requests cannot be linked. What is answered on the searcher's own machine is never seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coterie.core.arrays import Flags, Floats, Ints, Short
from coterie.kernels._arrays import Bytes
from coterie.kernels.friends import COLLUDING, CURIOUS, FREE_RIDER, HONEST, SELFISH
from coterie.simulate.graphs import Network

NOBODY, LOCAL = -1, -2
"""Identities that are no user: a request that cannot be linked, and none at all."""
BEHAVIOURS = {
    "honest": HONEST,
    "selfish": SELFISH,
    "free_riders": FREE_RIDER,
    "curious": CURIOUS,
    "colluding": COLLUDING,
}


@dataclass(frozen=True, kw_only=True)
class Fakes:
    """Queries that nobody means, which go with each one that somebody does."""

    kind: str = "none"
    n: int = 0
    together: bool = True
    """Whether they stand in one request with the real one, so that the engine knows that one of them is real."""
    adaptive: bool = False
    """Whether a query that points less at its author has fewer."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """What became of each event of a world."""

    identity: Short = field(repr=False)
    """Under whom the engine holds it: a user, NOBODY or LOCAL."""
    messages: Floats = field(repr=False)
    """How many messages it took between people, both ways."""
    rounds: Floats = field(repr=False)
    """How many of them one after the other."""
    behaviour: Bytes = field(repr=False)
    """Of each user."""
    fakes: Fakes = field(default_factory=Fakes)
    network: Network | None = None
    first: Ints | None = field(default=None, repr=False)
    """The friendship by which the author handed it over, -1 for none."""
    hops: Short | None = field(default=None, repr=False)
    refusals: Short | None = field(default=None, repr=False)
    candidates: tuple[Ints, Short] | None = field(default=None, repr=False)
    """Who may have written each event, as far as its identity tells: lists one after the other; None: see `network`."""
    notes: tuple[str, ...] = ()

    @property
    def left(self) -> Flags:
        """Whether an event left its author's machine."""
        return np.asarray(self.identity != LOCAL)

    @property
    def honest(self) -> Flags:
        """Users who do what the protocol says."""
        return np.asarray(self.behaviour == HONEST)
