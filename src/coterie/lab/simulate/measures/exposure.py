"""How much of a user's profile the engine holds under their name: PEL (measures/privacy/exposure.py), of users who do
what the protocol says.

`uncertainty.above_70` is the share of users of whose profile the engine is missing more than 70 %, by degree too where
there are friends. `told` is the same for an engine whom colluding friends tell what they got from whom. PEL counts what
stands under a name; it does not ask whether somebody can tell whose it is. It also falls where repeats are answered at
home, though the engine then holds as many different queries as before. **Never read it without `simattack`.**
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from coterie.algorithms.kernels.exposure import exposure

from coterie.core.arrays import Flags, Floats, Ints
from coterie.core.scores import Score
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.kernels import COLLUDING
from coterie.lab.simulate.protection import BEHAVIOURS

figures = ("exposed.mean", "uncertainty.above_70", "uncertainty.above_80", "told.mean")
BUCKETS = ((0, 0), (1, 1), (2, 3), (4, 7), (8, 15), (16, 31), (32, 63), (64, None))


def measure(case: Case) -> Iterator[Score]:
    """Exposure of users, by behaviour and by degree."""
    world, seen = case.world, case.seen
    exposed, channel = levels(case, seen.identity)
    honest = seen.honest
    yield Score("users", float(honest.sum()), "users")
    yield from _summary("", exposed, channel, honest)
    for name, kind in BEHAVIOURS.items():
        those = seen.behaviour == kind
        if name != "honest" and those.any():
            yield Score(f"{name}.mean", float(np.nanmean(exposed[those])), "%")
    if (seen.behaviour == COLLUDING).any():
        told, told_channel = exposure(*world.asked, *_with_told(case), world.queries.len(), world.n_users)
        yield Score("told.mean", _mean(told, honest), "%")
        yield Score("told.channel.mean", _mean(told_channel, honest), "%")
    if seen.network is not None:
        yield from _by_degree(exposed, seen.network.degrees, honest)


def levels(case: Case, who: np.ndarray) -> tuple[Floats, Floats]:
    """exposed and channel of each user, if `who` are the identities of events."""
    return exposure(*case.world.asked, *case.pairs(who), case.world.queries.len(), case.world.n_users)


def _with_told(case: Case) -> tuple[Ints, Ints]:
    """What the engine holds under a name, and what colluding friends got from that name."""
    return case.pairs(np.where(case.told, case.world.author, case.seen.identity))


def _summary(prefix: str, exposed: Floats, channel: Floats, those: Flags) -> Iterator[Score]:
    there = those & ~np.isnan(exposed)
    for mode, values in (("exposed", exposed), ("channel", channel)):
        yield Score(f"{prefix}{mode}.mean", _mean(values, there), "%")
    yield Score(f"{prefix}exposed.median", float(np.median(exposed[there])) if there.any() else None, "%")
    yield Score(f"{prefix}exposed.p90", float(np.quantile(exposed[there], 0.9)) if there.any() else None, "%")
    for bound in (70, 80):
        above = float(100 * (100 - exposed[there] > bound).mean()) if there.any() else None
        yield Score(f"{prefix}uncertainty.above_{bound}", above, "% of users")


def _by_degree(exposed: Floats, degrees: Ints, honest: Flags) -> Iterator[Score]:
    for low, high in BUCKETS:
        those = honest & (degrees >= low) & (degrees <= (degrees.max() if high is None else high))
        if those.any():
            name = str(low) if low == high else f"{low}_or_more" if high is None else f"{low}_to_{high}"
            yield Score(f"degree.{name}.users", float(those.sum()), "users")
            yield Score(f"degree.{name}.mean", _mean(exposed, those), "%")
            for bound in (70, 80):
                above = float(100 * (100 - exposed[those] > bound).mean())
                yield Score(f"degree.{name}.above_{bound}", above, "% of users")


def _mean(values: Floats, those: Flags) -> float | None:
    return float(np.nanmean(values[those])) if those.any() else None
