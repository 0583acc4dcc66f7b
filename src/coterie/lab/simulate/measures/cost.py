"""What protection costs: messages, requests, refusals, load and time.

Messages are counted between people, both ways, refusals too. The busiest user is the one under whose name most queries
arrive, whom an engine would block first; as a multiple of the mean. Where the number of fakes depends on one's past,
requests are those of the last third. Time is a model, not a measurement: a message takes
40 ms and an engine 300 ms (medians of log-normal distributions, σ 0.5 and 0.3); messages one after the other add up.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coterie.core import randomness
from coterie.core.scores import Score
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.measures.simattack import n_fakes

figures = ("messages", "busiest", "milliseconds.p50")
_MESSAGE, _MESSAGE_SIGMA = 40.0, 0.5
_ENGINE, _ENGINE_SIGMA = 300.0, 0.3
_TIMED = 100_000  # events whose time is drawn


def measure(case: Case) -> Iterator[Score]:
    """Means over all queries."""
    world, seen = case.world, case.seen
    left = seen.left
    yield Score("at_home", float(100 * (~left).mean()), "% of queries")
    yield Score("messages", float(seen.messages.mean()), "for each query")
    those = np.flatnonzero(world.late) if seen.fakes.adaptive else np.arange(world.n_events)
    yield Score("requests", float((left[those] * (1.0 + n_fakes(case, those))).mean()), "for each query")
    if seen.refusals is not None:
        yield Score("refusals", float(seen.refusals.mean()), "for each query")
        yield Score("own", float(100 * (seen.identity == world.author).mean()), "% of queries")
    if (seen.identity >= 0).any():
        load = np.bincount(seen.identity[seen.identity >= 0], minlength=world.n_users)
        yield Score("busiest", float(load.max() / load.mean()), "× the mean")
    time = _times(case)
    for share in (50, 95):
        yield Score(f"milliseconds.p{share}", float(np.quantile(time, share / 100)), "ms (a model)")


def _times(case: Case) -> np.ndarray:
    stream = randomness.stream(case.seed, "times")
    some = stream.permutation(case.world.n_events)[:_TIMED]
    rounds = np.round(case.seen.rounds[some]).astype(np.int64)
    each = _MESSAGE * np.exp(_MESSAGE_SIGMA * stream.standard_normal(int(rounds.sum())))
    ways = np.bincount(np.repeat(np.arange(some.size), rounds), weights=each, minlength=some.size)
    engine = _ENGINE * np.exp(_ENGINE_SIGMA * stream.standard_normal(some.size))
    return np.where(case.seen.left[some], ways + engine, 0.0)
