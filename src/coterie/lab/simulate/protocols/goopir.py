"""GooPIR (Domingo-Ferrer, Solanas and Castellà-Roca 2009): a query between fake ones from a dictionary, as one request.

Fake queries have as many words as the real one, each about as frequent. The dictionary is the vocabulary of the log.
"""

from __future__ import annotations

from dataclasses import dataclass

from coterie.lab.simulate.protection import AlwaysFakes, Fakes, Seen
from coterie.lab.simulate.world import World


@dataclass(frozen=True, kw_only=True)
class Goopir(AlwaysFakes):
    """Under one's own name."""

    def protect(self, world: World, seed: int) -> Seen:  # noqa: ARG002 (fakes are drawn where they are attacked)
        """What the engine sees."""
        return self.seen(world, world.author, fakes=Fakes(kind="dictionary", n=self.n_fakes))
