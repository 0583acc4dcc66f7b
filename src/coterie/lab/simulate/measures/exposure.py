"""How much of a user's profile the engine holds under their name: PEL (measures/privacy/exposure.py), of users who do
what the protocol says.

`uncertainty.above_70` is the share of users of whose profile the engine is missing more than 70 %, by degree too where
there are friends. `told` is the same for an engine whom colluding friends tell what they got from whom. PEL counts what
stands under a name; it does not ask whether somebody can tell whose it is. It also falls where repeats are answered at
home, though the engine then holds as many different queries as before. **Never read it without `simattack`.**

With p(q) the share of q in a person's queries, H their entropy and r(q) = min(1, seen(q) / asked(q)):

    exposed = 100 Σ p r log2(1/p) / H
    channel = exposed + 100 Σ p (1-r) log2((1-r)/P⊥) / H,   P⊥ = Σ p (1-r)

Somebody with one distinct query has H = 0 and exposure 100 r.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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


# --- profiles as sorted counts ----------------------------------------------------------------------


def _found(keys: Ints, among: Ints) -> tuple[Flags, Ints]:
    """Which of some numbers are among ascending ones, and the places of those."""
    at = np.searchsorted(among, keys)
    found: Flags = np.append(among, -1)[at] == keys
    return found, at[found]


def _sums(of: Ints, values: Floats | Ints, n: int) -> Floats:
    """The sum of the values of each of n, in the order of the values."""
    return np.bincount(of, values, n).astype(np.float64, copy=False)


def _profiles(asked: Ints, n_asked: Ints, n_queries: int, people: int) -> tuple[Ints, Floats, Floats, Ints]:
    """Whose each query is, p of each, H of each person, and how many distinct queries they have."""
    person = asked // n_queries
    p = n_asked / _sums(person, n_asked, people)[person]
    distinct = np.bincount(person, minlength=people).astype(np.int64)
    return person, p, -_sums(person, p * np.log2(p), people), distinct


def exposure(
    asked: Ints, n_asked: Ints, seen: Ints, n_seen: Ints, n_queries: int, people: int
) -> tuple[Floats, Floats]:
    """exposed and channel of each person, NaN for those without queries.

    `asked` and `seen` are person * n_queries + query, ascending and distinct.
    """
    person, p, entropy, distinct = _profiles(asked, n_asked, n_queries, people)
    found, at = _found(asked, seen)
    r = np.zeros(asked.size)
    r[found] = np.minimum(1.0, n_seen[at] / n_asked[found])
    shown = -_sums(person, p * r * np.log2(p), people)
    erased = _sums(person, p * (1.0 - r), people)[person]
    with np.errstate(invalid="ignore", divide="ignore"):  # nothing is erased of some, and some have no queries
        told = np.where(r < 1.0, np.log2((1.0 - r) / erased), 0.0)
        absent = _sums(person, p * (1.0 - r) * told, people)
        exposed, channel = 100.0 * shown / entropy, 100.0 * (shown + absent) / entropy
    one = distinct == 1
    exposed[one] = channel[one] = 100.0 * _sums(person, r, people)[one]
    return exposed, channel


def exposure_to(asked: Ints, n_asked: Ints, seen: Ints, n_seen: Ints, owner: Ints, n_queries: int) -> Floats:
    """How much of the profile of owner[g] the group g of `seen` (g * n_queries + query) shows: exposed, 0 for none."""
    person, p, entropy, distinct = _profiles(asked, n_asked, n_queries, int(owner.max(initial=-1)) + 1)
    group = seen // n_queries
    found, at = _found(owner[group] * n_queries + seen % n_queries, asked)
    r = np.minimum(1.0, n_seen[found] / n_asked[at])
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = -100.0 * p[at] * r * np.log2(p[at]) / entropy[person[at]]
    parts = np.where(distinct[person[at]] == 1, 100.0 * r, parts)
    return _sums(group[found], parts, owner.size)
