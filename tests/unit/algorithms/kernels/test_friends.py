"""Friends who submit each other's queries: the kernel against its plain version.

Covers: lab/simulate/kernels.py
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.lab.simulate import kernels as kernel
from coterie.lab.simulate.graphs import by_rows
from tests.helpers.examples import examples
from tests.helpers.friends_reference import Friends

CHOICES = [kernel.UNIFORM, kernel.BALANCED, kernel.SIMILAR, kernel.STICKY, kernel.BEST_FIT]


def _both(n, ends, author, rules, behaviour, stream):
    """What the kernel and what the plain version make of it."""
    graph = by_rows(np.array(ends, dtype=np.int32), n)
    n_friends = graph.friend.size
    query = stream.integers(0, 5, author.size).astype(np.int32)
    words = stream.integers(0, 2**64, author.size, dtype=np.uint64)
    preferences = kernel.Preferences(
        weight=stream.random(n_friends) + 0.1,
        query_tag=words,
        own_tag=stream.integers(0, 2**64, n, dtype=np.uint64),
        friend_tag=stream.integers(0, 2**64, n_friends, dtype=np.uint64),
        vector=stream.integers(-3, 4, (5, 2)).astype(np.float32),
        interest=stream.integers(-3, 4, (n, 2)).astype(np.float32),
    )
    ways = kernel.replay(author, query, behaviour, rules, graph, preferences)
    rows = [graph.friend[graph.start[u] : graph.start[u + 1]].tolist() for u in range(n)]
    places = {(u, f): graph.start[u] + i for u, row in enumerate(rows) for i, f in enumerate(row)}
    plain = Friends(
        rows,
        behaviour.tolist(),
        rules,
        weight={pair: float(preferences.weight[e]) for pair, e in places.items()},
        tags={pair: int(preferences.friend_tag[e]) for pair, e in places.items()},
        own_tags=preferences.own_tag.tolist(),
        fit=lambda q, f: float((preferences.vector[q] * preferences.interest[f]).sum()),
    )
    expected = [plain.submit(i, int(author[i]), int(query[i]), int(words[i])) for i in range(author.size)]
    first = [None if e < 0 else int(graph.friend[e]) for e in ways.first]
    found = zip(ways.submitter.tolist(), first, ways.hops.tolist(), ways.refusals.tolist(), strict=True)
    return list(found), expected, graph, ways


@settings(max_examples=examples(60))
@given(
    n=st.integers(1, 9),
    choice=st.sampled_from(CHOICES),
    forward=st.sampled_from([0.0, 0.4, 1.0]),
    hops=st.integers(0, 3),
    credit=st.sampled_from([-1, 1, 3]),
    backoff=st.sampled_from([0, 1, 5]),
    seed=st.integers(0, 2**63 - 1),
    data=st.data(),
)
def test_the_kernel_is_the_plain_version(n, choice, forward, hops, credit, backoff, seed, data):
    ends = data.draw(st.lists(st.integers(0, n - 1), max_size=40).filter(lambda each: len(each) % 2 == 0))
    stream = np.random.default_rng(seed)
    author = stream.integers(0, n, 120).astype(np.int32)
    behaviour = stream.integers(0, 5, n).astype(np.uint8)
    rules = kernel.Rules(choice, forward, hops, credit, backoff, seed)
    found, expected, _, _ = _both(n, ends, author, rules, behaviour, stream)
    assert found == expected


def test_free_riders_and_selfish_people():
    """A ring of six: one never submits their own, one never those of others."""
    n, stream = 6, np.random.default_rng(1)
    ends = [end for u in range(n) for end in (u, (u + 1) % n)]
    behaviour = np.array([0, kernel.FREE_RIDER, 0, 0, kernel.SELFISH, 0], dtype=np.uint8)
    author = np.tile(np.arange(n, dtype=np.int32), 300)
    rules = kernel.Rules(kernel.BALANCED, 0.0, 0, kernel.NO_LIMIT, 5, 7)
    _, _, _, ways = _both(n, ends, author, rules, behaviour, stream)
    assert not (ways.submitter[author == 1] == 1).any()
    assert set(author[ways.submitter == 4].tolist()) == {4}
    assert 0 < ways.refusals.sum() < 300, "who refuses is asked less and less"


@pytest.mark.parametrize(("credit", "largest"), [(3, 3), (10, 10)])
def test_nobody_does_much_more_for_another_than_the_other_for_them(credit, largest):
    n, stream = 5, np.random.default_rng(1)
    ends = [end for u in range(n) for v in range(u) for end in (u, v)]
    author = np.concatenate([np.zeros(400, dtype=np.int32), stream.integers(0, n, 100).astype(np.int32)])
    rules = kernel.Rules(kernel.BALANCED, 0.0, 0, credit, 5, 7)
    _, _, graph, ways = _both(n, ends, author, rules, np.zeros(n, dtype=np.uint8), stream)
    given = np.bincount(ways.first[ways.first >= 0], minlength=graph.friend.size)
    assert (given - given[graph.back]).max() == largest
