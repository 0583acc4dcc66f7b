"""No protection: everybody submits their own queries under their own name; with `fakes`, made-up ones beside them."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.lab.simulate.protection import Seen, WithFakes
from coterie.lab.simulate.world import World


@dataclass(frozen=True, kw_only=True)
class Unprotected(WithFakes):
    """The searcher is the identity."""

    def protect(self, world: World, seed: int) -> Seen:  # noqa: ARG002 (nothing is drawn here)
        """What the engine sees."""
        return self.seen(world, world.author, fakes=self.made_up())
