"""An engine un-mixes identities: it splits what stands under each of them into persons.

It knows the network, that everybody spreads their queries evenly over themselves and their friends, and only what was
submitted. From the words under all identities it computes what words each person uses (30 rounds of `unmix`), and
gives each query under an identity to the one of its friends, or itself, who most likely wrote it. So it clusters the
queries of an identity into persons, and names them.

    recall      late queries whose author it names; beside `simattack mixed_past.recall`, which takes the mixture for
                the identity's own
    early       the same for the past, which it un-mixed
    rand        adjusted Rand index of the clusters under each identity against true authors, mean over all queries:
                0 is chance, 100 the truth
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coterie.core.arrays import Floats, Ints, Short
from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.kernels import name_authors, places, unmix

figures = ("recall", "rand")
ROUNDS = 30
_MOST = 50_000_000  # words of identities times members


def measure(case: Case) -> Iterator[Score]:
    """What it names rightly, and how well it clusters."""
    network, world, seen = case.network(), case.world, case.seen
    if seen.fakes.n:
        raise NotApplicableError("it takes all queries for real ones, and this protocol sends fake ones")
    graph = network.graph
    events = np.flatnonzero(seen.left)
    early = events[~world.late[events]]
    sets = world.sets_of(world.query[early])
    if not sets.word.size:
        raise NotApplicableError("nothing with words in it was submitted in the past")
    under = np.repeat(seen.identity[early].astype(np.int64), np.diff(sets.start))
    keys, counts = np.unique(under * world.vocabulary + sets.word, return_counts=True)
    identity, word = np.divmod(keys, max(world.vocabulary, 1))
    size = int((1 + np.diff(graph.start)[identity]).sum())
    if size > _MOST:
        raise NotApplicableError(f"un-mixing would look at {size:,} pairs of words and people; the most is {_MOST:,}")
    owned, place = np.unique(places(identity, word, graph, world.vocabulary), return_inverse=True)
    x = unmix(identity, counts.astype(np.float64), place.astype(np.int64), owned.size, graph, ROUNDS)
    people = owned // max(world.vocabulary, 1)
    sums = np.bincount(people, weights=x, minlength=world.n_users).astype(np.float64)

    def authors(of: Ints) -> Short:
        queries = world.sets_of(world.query[of])
        return name_authors(queries, seen.identity[of], owned, x, sums, world.vocabulary, graph)

    named = authors(early)
    yield Score("early", float(100 * (named == world.author[early]).mean()), "% of past queries")
    targets = case.targets[seen.left[case.targets]]
    right = authors(targets) == world.author[targets]
    yield Score("recall", float(100 * right.sum() / max(case.targets.size, 1)), "% of late queries")
    yield Score("rand", float(100 * rand_within(seen.identity[early], named, world.author[early])), "% beyond chance")


def rand_within(identity: Short, cluster: Short, author: Short) -> float:
    """The adjusted Rand index of clusters against authors within each identity, weighted by its queries."""
    total, weight = 0.0, 0
    order = np.argsort(identity, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(identity[order])) + 1):
        total += part.size * _rand(cluster[part], author[part])
        weight += part.size
    return total / max(weight, 1)


def _rand(one: Short, other: Short) -> float:
    _, first = np.unique(one, return_inverse=True)
    _, second = np.unique(other, return_inverse=True)
    both = _pairs(np.bincount(first * (second.max(initial=0) + 1) + second).astype(np.float64))
    a, b = _pairs(np.bincount(first).astype(np.float64)), _pairs(np.bincount(second).astype(np.float64))
    expected = a * b / max(one.size * (one.size - 1) / 2, 1)
    most = (a + b) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _pairs(counts: Floats) -> float:
    return float((counts * (counts - 1) / 2).sum())
