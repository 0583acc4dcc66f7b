"""CYCLOSA (Pires and others 2018): real and fake queries on different ways; the more a query points at its author, the
more fakes.

Fakes are past queries of others, each sent by another peer, so the engine does not know which requests belong together.
A query has round(n_fakes · S) of them, with S its similarity to its author's own past (measures/simattack.py). It knows
no sensitive topics here: nothing in a log says which they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from coterie.core.params import Range
from coterie.lab.simulate.protection import NOBODY, AlwaysFakes, Fakes, Seen
from coterie.lab.simulate.world import World


@dataclass(frozen=True, kw_only=True)
class Cyclosa(AlwaysFakes):
    """One peer carries each request and its answer."""

    n_fakes: Annotated[int, Range(1, 50), "fake queries for each real one, at most"] = 7

    def protect(self, world: World, seed: int) -> Seen:  # noqa: ARG002 (fakes are drawn where they are attacked)
        """What the engine sees."""
        messages = np.where(self.leaving(world), 2.0, 0.0)
        fakes = Fakes(kind="past", n=self.n_fakes, together=False, adaptive=True)
        return self.seen(world, NOBODY, messages=messages, rounds=messages, fakes=fakes)
