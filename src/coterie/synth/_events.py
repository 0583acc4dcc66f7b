"""What the generators of synthetic logs share about events: how many, when, which repeat one, what is clicked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl

from coterie.core.arrays import Floats, Ints
from coterie.synth._words import cumulative, pick, zipf

# Users. Randomness is keyed by blocks of this many users; changing the number changes every log.
BLOCK_USERS = 2_000
ID_STEP = 37  # ids have gaps, as in AOL: 657,426 users end near 24 million
LINES_MEAN, LINES_MEDIAN = 55.7, 20.0
LINES_PER_EVENT = 36.39 / 28.90
EVENTS_MAX = 50_000  # far out in the tail; keeps a user inside the three months

# Events.
EVENTS_PER_SESSION = 5.0
NEXT_PAGE = 0.27  # chance after the first event of a session
CLICKED = 0.45
GAP_MEDIAN, GAP_SIGMA = 70.0, 1.0  # seconds between events of a session, log-normal
RANK_EXPONENT, RANK_MAX = 2.0, 500
FIRST_DAY, DAYS = np.datetime64("2006-03-01", "s"), 92
HOURS = "30 18 11 8 6 8 14 24 36 46 52 54 55 56 57 58 58 57 58 62 66 66 58 44"  # weights


def activity(rng: np.random.Generator, size: int) -> Ints:
    """Events per user: one from each of `size` equal slices of the log-normal, for small logs."""
    quantiles = np.clip((rng.permutation(size) + rng.random(size)) / size, 1e-9, 1 - 1e-9)
    normal = NormalDist(sigma=np.sqrt(2 * np.log(LINES_MEAN / LINES_MEDIAN)))
    deviation = np.array([normal.inv_cdf(quantile) for quantile in quantiles.tolist()])
    events: Floats = LINES_MEDIAN / LINES_PER_EVENT * np.exp(deviation)
    counts: Ints = np.rint(events.clip(1, EVENTS_MAX)).astype(np.int64)
    return counts


@dataclass(frozen=True)
class Schedule:
    """When a block of users searched: sorted by user, then time; times differ within a user."""

    user: Ints
    position: Ints  # among the events of the user
    session: Ints
    seconds: Ints


def schedule(rng: np.random.Generator, counts: Ints) -> Schedule:
    user = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(user)) - (np.cumsum(counts) - counts)[user]
    begins = (position == 0) | (rng.random(len(user)) < 1 / EVENTS_PER_SESSION)
    session = np.cumsum(begins) - 1
    sessions = int(begins.sum())
    hour = pick(rng, cumulative([int(weight) for weight in HOURS.split()]), sessions)
    start = (rng.integers(DAYS, size=sessions) * 24 + hour) * 3600
    start += rng.integers(3600, size=sessions)
    gap = 1 + GAP_MEDIAN * np.exp(GAP_SIGMA * rng.standard_normal(len(user)))
    elapsed = np.cumsum(np.where(begins, 0, gap))
    seconds = start[session] + (elapsed - elapsed[begins][session]).astype(np.int64)

    order = np.lexsort((seconds, user))
    # At least a second between two events of a user, and none after the last day.
    far = user * (4 * DAYS * 86_400)
    seconds = np.maximum.accumulate(seconds[order] - position + far) - far + position
    seconds = np.minimum(seconds, DAYS * 86_400 - (counts[user] - position))
    return Schedule(user, position, session[order], seconds)


def first_typed(rng: np.random.Generator, events: Schedule, returns: float | Floats, habit: float = 1.0) -> Ints:
    """For each event the event where its query was first typed: itself, unless it repeats one.

    A query is repeated as the next page, or, with the chance `returns` (of all events, or of each), any earlier one of
    the user is. A `habit` above 1 prefers those of long ago.
    """
    here = np.arange(len(events.user))
    follows = np.diff(events.session, prepend=-1) == 0
    next_page = follows & (rng.random(len(here)) < NEXT_PAGE)
    back = (events.position > 0) & (rng.random(len(here)) < returns)
    earlier = here - events.position + (events.position * rng.random(len(here)) ** habit).astype(np.int64)
    origin = np.where(next_page, here - 1, np.where(back, earlier, here))
    while not np.array_equal(origin, further := origin[origin]):
        origin = further
    return origin


def ranks(rng: np.random.Generator, line: Ints) -> Ints:
    """Ranks of the clicks, rising within an event so that no line comes twice."""
    step = 1 + pick(rng, zipf(RANK_MAX, RANK_EXPONENT), len(line))
    total = np.cumsum(step)
    begins = np.diff(line, prepend=-1) > 0
    return np.minimum(total - (total - step)[begins][line], RANK_MAX)


def begin(rng: np.random.Generator, block: int, users: int) -> tuple[np.random.Generator, pl.Series]:
    """The stream of a block, and the ids of its users."""
    first = block * BLOCK_USERS
    size = min(BLOCK_USERS, users - first)
    numbers = (first + np.arange(size) + 1) * ID_STEP + rng.integers(ID_STEP, size=size)
    return rng, pl.Series(numbers).cast(pl.String)


def lines(
    rng: np.random.Generator,
    users: pl.Series,
    events: Schedule,
    queries: pl.Series,
    hosts: Callable[[Ints, Ints], pl.Series],
) -> pl.DataFrame:
    """The rows of a block: one for each click of an event, or one without. `hosts` are those of (event, rank)."""
    size = len(events.user)
    clicks = rng.geometric(CLICKED / (CLICKED + LINES_PER_EVENT - 1), size)
    clicks[rng.random(size) >= CLICKED] = 0
    line = np.repeat(np.arange(size), np.maximum(clicks, 1))
    rank = ranks(rng, line)
    clicked = pl.Series(clicks > 0).gather(line)
    time = FIRST_DAY + events.seconds.astype("timedelta64[s]")
    return pl.select(
        user=users.gather(events.user[line]),
        time=pl.Series(time.astype("datetime64[us]")[line]),
        query=queries.gather(line),
        rank=pl.when(clicked).then(pl.Series(rank, dtype=pl.Int32)),
        url=pl.when(clicked).then(hosts(line, rank)),
    )
