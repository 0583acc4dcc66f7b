"""SimAttack: the engine names the author of each late query by what it knows of people (measures/attacks/simattack.py).

`true_past`   it knows what everybody really searched for in the past, as if protection began only now
`mixed_past`  it only ever saw what was submitted under each identity, and takes that for the identity's own past

The engine knows who the friends of an identity are and names one of them, or of all users where a request cannot be
linked. Of up to 20,000 late queries, `recall` is the share whose author is named, `precision` the same among those with
a guess; a guess among m equals counts 1 / m. What never left a machine is never named. `naive` is the recall of taking
the identity for the author. Where queries are forwarded, an engine may also look among friends of friends; the better
of the two is told. Whoever hides among nobody (without friends, or without a group) is named. `told.recall` is the
same for an engine whom colluding friends tell who handed them a query.

With fake queries that stand in one request with the real one, the engine must name the pair of query and author. Under
one's own name it must pick the real one; where nothing fits, at random. Where fakes are requests of their own under
one's name, it takes for real what fits that name better than the middle of all requests does: `auc` says how well real
and fake ones can be told apart at any bound, 50 % is not at all. Where nobody knows which requests belong together,
guesses about fake ones lower the precision.

Fake queries, as sets of words: what protocols send beside what somebody means.

    dictionary   as many words as the real query, each drawn among the 50 of most similar frequency on either side
    others       a query that another user searches for in the last third, which the adversary does not know
    walk         as many words as the real query: a word by its frequency, then words that stand in a past query with
                 the one before
    past         a query that another user searched for in the past

Draws belong to the purpose and the seed; the same events get the same fakes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coterie.core import randomness
from coterie.core.arrays import Flags, Floats, Ints, Short, offsets
from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.kernels import Guesses, Known, Sets, attack, by_frequency, drawn_of_others, walks
from coterie.lab.simulate.protection import Fakes
from coterie.lab.simulate.world import World

figures = ("true_past.recall", "mixed_past.recall")
Candidates = tuple[Ints, Short]
"""Lists of people, one after the other, and where each begins; no list at all means everybody."""
SCALE = 1e9
SELF = 0.5
"""A query with at least this similarity to its author's own past points at them; a client can compute it."""


def measure(case: Case) -> Iterator[Score]:
    """Recall and precision for both engines."""
    targets, seen, world = case.targets, case.seen, case.world
    yield Score("attacked", float(targets.size), "late queries")
    if (seen.identity[targets] >= 0).any():
        yield Score("naive.recall", float(100 * (seen.identity[targets] == world.author[targets]).mean()), "%")
    found = named(case, world.true_past)
    yield from _scores("true_past", *found)
    pointing = self_similarity(case, targets) >= SELF
    repeats = world.repeats[targets]
    yield Score("pointing", float(100 * pointing.mean()), "% of late queries")
    for name, those in {"pointing": pointing, "others": ~pointing, "repeats": repeats, "new": ~repeats}.items():
        if those.any():
            yield Score(f"true_past.recall.{name}", float(100 * found[0][those].mean()), "% of these")
    told = case.told[targets] if not seen.fakes.n else np.zeros(targets.size, dtype=np.bool_)
    if told.any():
        yield Score("true_past.told.recall", _share(told, found[0]), "% of late queries")
    if (seen.identity[~world.late] >= 0).any():
        guessed = named(case, mixed_past(case))
        yield from _scores("mixed_past", *guessed)
        if told.any():
            yield Score("mixed_past.told.recall", _share(told, guessed[0]), "% of late queries")


def _share(told: Flags, right: Floats) -> float:
    """Recall of an engine that need not guess where it was told."""
    return float(100 * np.where(told, 1.0, right).mean())


def mixed_past(case: Case) -> Known:
    """What the engine holds of the past under each identity, with the fake queries in it."""
    world, seen = case.world, case.seen
    if not seen.fakes.n:
        return world.known(seen.identity)
    early = np.flatnonzero(~world.late & (seen.identity >= 0))
    fakes = made_up(world, seen.fakes, early, case.seed, "past")
    return world.known(seen.identity, more=fakes, more_of=np.repeat(seen.identity[early], seen.fakes.n))


def n_fakes(case: Case, events: Ints) -> Ints:
    """How many fake queries go with each event."""
    fakes = case.seen.fakes
    if not fakes.adaptive:
        return np.full(events.size, fakes.n, dtype=np.int64)
    return np.round(fakes.n * self_similarity(case, events)).astype(np.int64)


def self_similarity(case: Case, events: Ints) -> Floats:
    """S of each query to the past of its author, which they can compute themselves."""
    world, nobody = case.world, np.zeros(events.size + 1, dtype=np.int64)
    queries, authors = world.sets_of(world.query[events]), world.author[events]
    return attack(queries, authors, world.true_past, nobody, np.zeros(0, dtype=np.int32)).own / SCALE


def _scores(name: str, success: Floats, guesses: float, auc: float | None) -> Iterator[Score]:
    if auc is not None:
        yield Score(f"{name}.auc", 100 * auc, "%")
    yield Score(f"{name}.recall", float(100 * success.mean()) if success.size else None, "% of late queries")
    yield Score(f"{name}.precision", float(100 * success.sum() / guesses) if guesses else None, "% of guesses")


def named(case: Case, known: Known) -> tuple[Floats, float, float | None]:
    """How right the engine is about each target, how many guesses it makes, and how well fakes are told apart."""
    seen, fakes = case.seen, case.seen.fakes
    alone = seen.network is None and seen.candidates is None
    submitted = np.flatnonzero(seen.identity[case.targets] != -2)
    events = case.targets[submitted]
    whole = np.zeros(case.targets.size)
    if not events.size:
        return whole, 0.0, None
    under_own_name = alone and bool((seen.identity[events] >= 0).all())
    if under_own_name and fakes.n and not fakes.together:
        right, guesses, auc = _told_apart(case, events, known)
    elif under_own_name and not fakes.n:
        right, guesses, auc = np.ones(events.size), float(events.size), None
    else:
        right, guesses = _pairs(case, events, known)
        auc = None
    whole[submitted] = right
    return whole, guesses, auc


def _pairs(case: Case, events: Ints, known: Known) -> tuple[Floats, float]:
    """Success where the engine names a pair of query and author, and how many guesses it makes."""
    seen = case.seen
    if seen.network is None and seen.candidates is None and not (seen.identity[events] >= 0).any():
        return _pairs_among(case, events, known, _everybody())
    near = _pairs_among(case, events, known, case.candidates(events))
    if seen.hops is None or seen.hops.max(initial=0) < 2:
        return near
    far = _pairs_among(case, events, known, _friends_of_friends(case, events))
    return near if near[0].sum() >= far[0].sum() else far


def _pairs_among(case: Case, events: Ints, known: Known, candidates: Candidates) -> tuple[Floats, float]:
    """The same, where each event has its own list of people who may be the author."""
    world, fakes = case.world, case.seen.fakes
    # Who has no friends, or found no group, hides among nobody: no past is needed to name them.
    certain = np.diff(candidates[0]) == 1 if candidates[0].size else np.zeros(events.size, dtype=np.bool_)
    best = _best(case, events, world.sets_of(world.query[events]), 1, known, candidates)
    if not fakes.n:
        right = np.where(certain, 1.0, best.right / np.maximum(best.ties, 1))
        return right, float((certain | (best.fit > 0)).sum())
    other = _best(case, events, made_up(world, fakes, events, case.seed), fakes.n, known, candidates)
    if not fakes.together:
        sent = np.arange(fakes.n) < n_fakes(case, events)[:, None]
        right = best.right / np.maximum(best.ties, 1)
        return right, float((best.fit > 0).sum() + (sent & (other.fit.reshape(-1, fakes.n) > 0)).sum())
    fit = np.concatenate([best.fit[:, None], other.fit.reshape(-1, fakes.n)], axis=1)
    ties = np.concatenate([best.ties[:, None], other.ties.reshape(-1, fakes.n)], axis=1)
    largest = fit.max(axis=1)
    equal = np.where(fit == largest[:, None], ties, 0).sum(axis=1)
    right = np.where((best.fit == largest) & (largest > 0), best.right / np.maximum(equal, 1), 0.0)
    blind = certain & (largest == 0)  # one of them is real, whether it fits or not
    return np.where(blind, 1 / (1 + fakes.n), right), float((blind | (largest > 0)).sum())


def _told_apart(case: Case, events: Ints, known: Known) -> tuple[Floats, float, float]:
    """Success where fakes are requests of their own under one's name."""
    world, fakes = case.world, case.seen.fakes
    own = case.candidates(events)
    real = _best(case, events, world.sets_of(world.query[events]), 1, known, own).fit
    made = _best(case, events, made_up(world, fakes, events, case.seed), fakes.n, known, own).fit
    bound = np.median(np.concatenate([real, made]))
    taken = real > bound
    return taken.astype(np.float64), float(taken.sum() + (made > bound).sum()), area(real, made)


def area(positive: Ints, negative: Ints) -> float:
    """The probability that a positive one is larger than a negative one, ties half."""
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, "left")
    up_to = np.searchsorted(ordered, positive, "right")
    return float((below + up_to).mean() / (2 * max(negative.size, 1)))


def _best(case: Case, events: Ints, queries: Sets, each: int, known: Known, candidates: Candidates) -> Guesses:
    """Who of the candidates fits `each` queries of each event best."""
    authors = np.repeat(case.world.author[events], each)
    return attack(queries, authors, known, *(_repeated(*candidates, each) if candidates[0].size else candidates))


def _friends_of_friends(case: Case, events: Ints) -> Candidates:
    """N[N[w]] for the identity of each event."""
    graph = case.network().graph
    rows: dict[int, np.ndarray] = {}
    lists = []
    for w in case.seen.identity[events].tolist():
        if w not in rows:
            near = np.append(graph.friend[graph.start[w] : graph.start[w + 1]], w)
            far = [graph.friend[graph.start[v] : graph.start[v + 1]] for v in near.tolist()]
            rows[w] = np.unique(np.concatenate([near, *far])).astype(np.int32)
        lists.append(rows[w])
    return offsets(np.array([each.size for each in lists])), np.concatenate(lists)


def _repeated(start: Ints, people: Short, each: int) -> Candidates:
    """The lists of candidates, each so many times."""
    sizes = np.repeat(np.diff(start), each)
    begin = offsets(sizes)
    return begin, people[np.repeat(np.repeat(start[:-1], each) - begin[:-1], sizes) + np.arange(begin[-1])]


def _everybody() -> Candidates:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)


# --- fake queries -----------------------------------------------------------------------------------


WINDOW = 50


def made_up(world: World, fakes: Fakes, events: Ints, seed: int, purpose: str = "") -> Sets:
    """`fakes.n` sets of words for each event, one after the other."""
    key = np.uint64(randomness.stream(seed, f"fakes {fakes.kind} {purpose}").integers(0, 2**64, dtype=np.uint64))
    of = np.repeat(events, fakes.n)
    early = np.flatnonzero(~world.late)
    nothing = not early.size or not np.diff(world.words.start)[world.query[early]].any()
    if fakes.kind in ("past", "walk") and nothing:
        raise NotApplicableError("fake queries come from the past, which has no words in this log")
    if fakes.kind in ("others", "past"):
        pool = early if fakes.kind == "past" else np.flatnonzero(world.late)
        chosen = drawn_of_others(world.author[of], world.author[pool], key)
        return world.sets_of(world.query[pool[chosen]])
    sizes = np.diff(world.words.start)[world.query[of]]
    real = world.sets_of(world.query[of])
    past = world.sets_of(world.query[early])
    frequency = np.bincount(past.word, minlength=world.vocabulary)
    if fakes.kind == "dictionary":
        order = np.argsort(-frequency, kind="stable").astype(np.int32)
        return _distinct(real.start, by_frequency(real, order, key, WINDOW))
    by_word = np.argsort(past.word, kind="stable")
    place = np.repeat(np.arange(early.size), np.diff(past.start))[by_word]
    start = offsets(frequency)
    return _distinct(offsets(sizes), walks(sizes, past, start, place.astype(np.int32), key))


def _distinct(start: Ints, word: np.ndarray) -> Sets:
    """Sets without words that stand in them twice."""
    sizes = np.diff(start)
    of = np.repeat(np.arange(sizes.size, dtype=np.int64), sizes)
    keys = np.unique((of << 32) | word.astype(np.int64))
    return Sets(offsets(np.bincount(keys >> 32, minlength=sizes.size)), (keys & 0xFFFFFFFF).astype(np.int32))
