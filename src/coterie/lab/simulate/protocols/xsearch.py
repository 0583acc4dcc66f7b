"""X-Search (Ben Mokhtar and others 2017): a trusted proxy hides who asks and adds queries from the group's past.

The adversary of `simattack` knows that past, which flatters this protection: a fake query points at who asked it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.lab.simulate.protection import NOBODY, AlwaysFakes, Fakes, Seen
from coterie.lab.simulate.world import World


@dataclass(frozen=True, kw_only=True)
class Xsearch(AlwaysFakes):
    """One proxy carries each request and its answer."""

    def protect(self, world: World, seed: int) -> Seen:  # noqa: ARG002 (fakes are drawn where they are attacked)
        """What the engine sees."""
        messages = np.where(self.leaving(world), 2.0, 0.0)
        return self.seen(world, NOBODY, messages=messages, rounds=messages, fakes=Fakes(kind="past", n=self.n_fakes))
