"""What protocols share: their parameters, and how a file of `protocols/` becomes one.

A protocol is a frozen dataclass named as its file, with `protect(world, seed)`, which returns what is Seen.

What an engine, friends and others see when people protect themselves: the result of a protocol.

An engine holds requests, each under an identity: a user who submits for themselves or for friends, or nobody, where
requests cannot be linked. What is answered on the searcher's own machine is never seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import Bytes
from coterie.core.arrays import Flags, Floats, Ints, Short
from coterie.core.log import Log
from coterie.core.params import Choice, Flag, Range, check_params
from coterie.core.registry import name_of
from coterie.lab.simulate.graphs import Network
from coterie.lab.simulate.kernels import COLLUDING, CURIOUS, FREE_RIDER, HONEST, SELFISH
from coterie.lab.simulate.world import World

FAKES = ("none", "dictionary", "others", "walk", "past")


@dataclass(frozen=True, kw_only=True)
class Protection(ABC):
    """Parameters of all protocols, and what they do."""

    answer_repeats: Annotated[
        bool, Flag(), "answer a query that its author searched for before from their own machine"
    ] = False

    def __post_init__(self) -> None:
        check_params(self, name_of(self))

    @abstractmethod
    def protect(self, world: World, seed: int) -> Seen:
        """What the engine and friends see."""

    def simulated(self, log: Log, measures: Sequence[str] | None, seed: int | None) -> pl.DataFrame:
        """The scores of a log that this protocol protected, for studies: name, key, value, unit."""
        from coterie.lab.simulate.run import simulate

        return simulate(log, self, measures=measures, seed=seed).scores

    def leaving(self, world: World) -> Flags:
        """Which events leave the machine of their author."""
        return ~world.repeats if self.answer_repeats else np.ones(world.n_events, dtype=np.bool_)

    def seen(self, world: World, identity: Short | int, **more: Any) -> Seen:
        """What is seen where nothing but the identity is special."""
        left = self.leaving(world)
        nothing: dict[str, Any] = {
            "messages": np.zeros(world.n_events),
            "rounds": np.zeros(world.n_events),
            "behaviour": np.zeros(world.n_users, dtype=np.uint8),
        }
        return Seen(identity=np.where(left, identity, LOCAL).astype(np.int32), **{**nothing, **more})


@dataclass(frozen=True, kw_only=True)
class WithFakes(Protection):
    """Parameters of protocols that may send queries that nobody means."""

    fakes: Annotated[
        str, Choice(*FAKES), "what fake queries are: words of a dictionary, other people's queries, walks, or the past"
    ] = "none"
    n_fakes: Annotated[int, Range(1, 50), "fake queries for each real one"] = 3

    def made_up(self) -> Fakes:
        """The fake queries, one request with the real one."""
        return Fakes() if self.fakes == "none" else Fakes(kind=self.fakes, n=self.n_fakes)


@dataclass(frozen=True, kw_only=True)
class AlwaysFakes(Protection):
    """Parameters of protocols that are about fake queries of one kind."""

    n_fakes: Annotated[int, Range(1, 50), "fake queries for each real one"] = 3


def spread(values: NDArray[Any], left: Flags) -> Floats:
    """Values of the events that left, with 0 for all others."""
    whole = np.zeros(left.size)
    whole[left] = values
    return whole


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
