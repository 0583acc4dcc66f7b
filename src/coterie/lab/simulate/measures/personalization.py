"""How much of personalization is kept, over the last third of what each user searched for.

    kept       the cosine (64 directions, LSA) of a late query to the profile that the engine has of the identity that
               submits it: 0 is that of a random user's own profile, 100 that of the author's own
    refound    late clicks on a page that the same identity had clicked before for the same query: the engine could have
               put it first; `refound.unprotected` is the same where everybody submits their own

A request that cannot be linked has no profile: 0. What was answered on the author's own machine is left out of `kept`,
and counts as found again where the author had clicked that page for that query before. Fake queries are left out of
profiles, so with fakes under one's own name less is kept than this says.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.algorithms.kernels.lsa import products
from coterie.core import randomness
from coterie.core.arrays import Ints
from coterie.core.scores import Score
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.protection import LOCAL

figures = ("kept", "refound", "refound.unprotected")


def measure(case: Case) -> Iterator[Score]:
    """What is kept, and which clicks are found again."""
    world, identity = case.world, case.seen.identity
    with_words = np.abs(world.vectors).max(axis=1, initial=0) > 0
    late = world.late & (identity != LOCAL) & with_words[world.query]
    events = np.flatnonzero(late)
    yield Score("events", float(events.size), "late queries")
    yield Score("kept", _kept(case, events), "% of one's own profile")
    if world.click_event.size:
        yield Score("refound", _refound(case, identity), "% of late clicks")
        yield Score("refound.unprotected", _refound(case, world.author), "% of late clicks")


def _kept(case: Case, events: Ints) -> float | None:
    """(fit to the identity - fit to a random user) / (fit to oneself - fit to a random user)."""
    world, identity = case.world, case.seen.identity
    if not events.size or world.n_users < 2:
        return None
    query, author = world.query[events], world.author[events]
    away = randomness.stream(case.seed, "random users").integers(1, world.n_users, size=events.size)
    others = ((author + away) % world.n_users).astype(np.int32)
    own = products(world.vectors, query, world.interests, author).mean()
    random = products(world.vectors, query, world.interests, others)
    held = world.profiles(np.where(world.late, -1, identity))
    linked = identity[events] >= 0
    fit = random.copy()
    fit[linked] = products(world.vectors, query[linked], held, identity[events][linked])
    if own - random.mean() <= 0:
        return None
    kept = np.where(linked, fit, random)
    return float(100 * (kept.mean() - random.mean()) / (own - random.mean()))


def _refound(case: Case, identity: np.ndarray) -> float | None:
    """The share of late clicks on what the identity, or at home the author, had clicked for that query before."""
    world = case.world
    event = world.click_event
    clicks = pl.DataFrame(
        {"who": identity[event], "author": world.author[event], "query": world.query[event], "page": world.click_page}
    ).with_row_index("order")
    first = pl.col("order").min()
    before = pl.col("order") > first.over("who", "query", "page")
    before_at_home = pl.col("order") > first.over("author", "query", "page")
    found = pl.when(pl.col("who") == LOCAL).then(before_at_home).otherwise(before & (pl.col("who") >= 0))
    late = pl.Series(world.late[event])
    share = clicks.select(found.alias("found"))["found"].filter(late).mean()
    return None if share is None else 100 * float(share)  # type: ignore[arg-type]
