"""What friends see: how much of a user's profile is in what they handed to friends, to all together and to the one who
got most of it.

Every query that is handed over is seen by a friend: who hides from the engine shows themselves to friends. `curious`
is the same for those who write it down. With forwarding a friend cannot be sure that a query is that of whom it came
from; here they are taken to be. Friends who refuse are taken to have been asked before they saw the query; where it
comes with the question, as with `coterie peer`, those who refuse see it, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coterie.core.arrays import Floats, Ints
from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.kernels import COLLUDING, CURIOUS
from coterie.lab.simulate.measures.exposure import exposure_to, levels

figures = ("together.mean", "worst.mean", "worst.events")


def measure(case: Case) -> Iterator[Score]:
    """Exposure to friends, and the share of events that the one who got most of them saw."""
    network, world, first = case.network(), case.world, case.seen.first
    assert first is not None  # noqa: S101 (a network comes with it)
    honest = case.seen.honest
    with_friends = honest & (network.degrees > 0)
    if not with_friends.any():
        raise NotApplicableError("nobody who does what the protocol says has friends")
    handed = np.where(first >= 0, world.author, -1)
    together, _ = levels(case, handed)
    yield Score("together.mean", float(np.nanmean(together[honest])), "%")
    friend = np.where(first >= 0, network.graph.friend[np.maximum(first, 0)], 0)
    noting = np.isin(case.seen.behaviour[friend], (CURIOUS, COLLUDING))
    if np.isin(case.seen.behaviour, (CURIOUS, COLLUDING)).any():
        noted, _ = levels(case, np.where(noting, handed, -1))
        yield Score("curious.mean", float(np.nanmean(noted[honest])), "%")
    owner = np.repeat(np.arange(world.n_users), network.degrees)
    pairs, times = np.unique(first[first >= 0] * world.queries.len() + world.query[first >= 0], return_counts=True)
    each = exposure_to(*world.asked, pairs, times, owner, world.queries.len())
    got = np.bincount(first[first >= 0], minlength=owner.size)
    events = np.bincount(world.author, minlength=world.n_users)
    yield Score("worst.mean", float(_largest(each, owner, world.n_users)[with_friends].mean()), "%")
    share = 100 * _largest(got.astype(np.float64), owner, world.n_users) / np.maximum(events, 1)
    yield Score("worst.events", float(share[with_friends].mean()), "% of events")


def _largest(values: Floats, owner: Ints, n: int) -> Floats:
    largest = np.zeros(n)
    np.maximum.at(largest, owner, values)
    return largest
