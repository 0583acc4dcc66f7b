"""TrackMeNot (Howe and Nissenbaum 2009): fake queries under one's own name, each a request of its own.

They come from feeds there; here they are queries that other users of the log search for in the last third.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coterie.core.params import Range
from coterie.lab.simulate.protection import AlwaysFakes, Fakes, Seen
from coterie.lab.simulate.world import World


@dataclass(frozen=True, kw_only=True)
class Trackmenot(AlwaysFakes):
    """Under one's own name."""

    n_fakes: Annotated[int, Range(1, 50), "fake queries for each real one"] = 1

    def protect(self, world: World, seed: int) -> Seen:  # noqa: ARG002 (fakes are drawn where they are attacked)
        """What the engine sees."""
        return self.seen(world, world.author, fakes=Fakes(kind="others", n=self.n_fakes, together=False))
