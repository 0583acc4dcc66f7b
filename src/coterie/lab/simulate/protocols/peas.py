"""PEAS (Petit and others 2015): an unlinkable channel, and fake queries from walks over words that are typed together.

A walk begins with a word of the group's past; the next word stands in a past query with it; it has as many words as the
real query, so it is likely a query and nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.lab.simulate.protection import NOBODY, AlwaysFakes, Fakes, Seen
from coterie.lab.simulate.world import World

_PROXIES = 2


@dataclass(frozen=True, kw_only=True)
class Peas(AlwaysFakes):
    """A receiver and an issuer carry each request and its answer."""

    def protect(self, world: World, seed: int) -> Seen:  # noqa: ARG002 (fakes are drawn where they are attacked)
        """What the engine sees."""
        messages = np.where(self.leaving(world), 2.0 * _PROXIES, 0.0)
        return self.seen(world, NOBODY, messages=messages, rounds=messages, fakes=Fakes(kind="walk", n=self.n_fakes))
