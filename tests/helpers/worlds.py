"""Worlds that tests of simulations share."""

from functools import cache

import coterie
from coterie.lab.simulate.world import World
from coterie.synth import synthesize
from tests.helpers.hand_made_logs import NOON, log_of


@cache
def synthetic_world(users=60):
    """A synthetic log as arrays."""
    log = coterie.log(synthesize(users, 7, "people"))
    return World.of(coterie.prepare(log, ["normalize", "drop_empty"]))


def world_of(*rows):
    """A world of rows (user, minute, query, url)."""
    columns = ("user", "time", "query", "url")
    times = [(user, None if minute is None else NOON.replace(minute=minute), q, u) for user, minute, q, u in rows]
    return World.of(log_of(columns, *times))


def scores(simulation):
    """(name, key) -> value."""
    return {(name, key): value for name, key, value, _ in simulation.scores.iter_rows()}
