"""What protocols share: their parameters, and how a file of `protocols/` becomes one.

A protocol is a frozen dataclass named as its file, with `protect(world, seed)`, which returns what is Seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.core.arrays import Flags, Floats, Short
from coterie.core.params import Choice, Flag, Range, check_params
from coterie.core.registry import name_of
from coterie.simulate.seen import LOCAL, Fakes, Seen
from coterie.simulate.world import World

FAKES = ("none", "dictionary", "others", "walk", "past")


class Protects(Protocol):
    """What a protocol can do."""

    def protect(self, world: World, seed: int) -> Seen:
        """What the engine and friends see."""


@dataclass(frozen=True, kw_only=True)
class Protection:
    """Parameters of all protocols."""

    answer_repeats: Annotated[
        bool, Flag(), "answer a query that its author searched for before from their own machine"
    ] = False

    def __post_init__(self) -> None:
        check_params(self, name_of(self))

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
