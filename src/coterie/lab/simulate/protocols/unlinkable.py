"""An unlinkable channel, such as Tor with a new way for each query: the engine sees queries and nobody behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.lab.simulate.protection import NOBODY, Seen, WithFakes
from coterie.lab.simulate.world import World

_RELAYS = 3


@dataclass(frozen=True, kw_only=True)
class Unlinkable(WithFakes):
    """Three relays carry each request and its answer."""

    def protect(self, world: World, seed: int) -> Seen:  # noqa: ARG002 (nothing is drawn here)
        """What the engine sees."""
        messages = np.where(self.leaving(world), 2.0 * _RELAYS, 0.0)
        return self.seen(world, NOBODY, messages=messages, rounds=messages, fakes=self.made_up())
