"""Sets of words that enough users typed together, against plain sets."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.algorithms.kernels._arrays import owners_by
from coterie.core.arrays import offsets
from coterie.methods.allowlist import kernels as word_sets

N_WORDS, N_USERS = 6, 5
QUERIES = st.lists(
    st.tuples(
        st.lists(st.integers(0, N_WORDS - 1), max_size=6),
        st.sets(st.integers(0, N_USERS - 1), max_size=4),
    ),
    max_size=25,
)


def _stretches(lists):
    flat = [number for each in lists for number in each]
    return offsets(np.array([len(each) for each in lists], dtype=np.int64)), np.array(flat, dtype=np.int32)


def _arrays(queries, k):
    words = word_sets.distinct(*_stretches([tokens for tokens, _ in queries]))
    user_start, users = _stretches([sorted(people) for _, people in queries])
    people = word_sets.People(user_start, users, np.diff(user_start) >= k)
    return words, owners_by(words, N_WORDS), people


def _users(some, queries):
    return {user for tokens, people in queries if set(some) <= set(tokens) for user in people}


@given(QUERIES)
def test_distinct_words_and_where_they_stand(queries):
    (start, words), (queries_start, at), _ = _arrays(queries, 2)
    assert [words[a:b].tolist() for a, b in pairwise(start)] == [sorted(set(t)) for t, _ in queries]
    expected = [[q for q, (tokens, _) in enumerate(queries) if word in tokens] for word in range(N_WORDS)]
    assert [at[queries_start[w] : queries_start[w + 1]].tolist() for w in range(N_WORDS)] == expected


@given(QUERIES, st.integers(1, 4))
def test_crowded_words(queries, k):
    _, postings, people = _arrays(queries, k)
    crowded = word_sets.crowded_words(postings, people, N_USERS, k)
    assert crowded.tolist() == [len(_users({word}, queries)) >= k for word in range(N_WORDS)]


@given(QUERIES, st.integers(1, 4), st.sets(st.integers(0, N_WORDS - 1)))
def test_crowded_pairs(queries, k, useful):
    words, postings, people = _arrays(queries, k)
    flags = np.array([word in useful for word in range(N_WORDS)])
    start, partners = word_sets.crowded_pairs(postings, words, flags, people, k)
    found = {(word, other) for word in range(N_WORDS) for other in partners[start[word] : start[word + 1]].tolist()}
    assert found == {pair for pair in combinations(sorted(useful), 2) if len(_users(pair, queries)) >= k}
    asked = np.array([set(tokens) <= useful for tokens, _ in queries], dtype=np.bool_)
    allowed = word_sets.with_crowded_pairs(words, asked, start, partners)
    assert allowed.tolist() == [
        bool(ask) and all(pair in found for pair in combinations(sorted(set(tokens)), 2))
        for ask, (tokens, _) in zip(asked, queries, strict=True)
    ]


@given(QUERIES, st.integers(1, 4), st.data())
def test_crowded_sets(queries, k, data):
    words, postings, people = _arrays(queries, k)
    asked = np.array(data.draw(st.lists(st.booleans(), min_size=len(queries), max_size=len(queries))), dtype=np.bool_)
    allowed = word_sets.with_crowded_sets(words, asked, postings, people, N_USERS, k)
    assert allowed.tolist() == [
        bool(ask) and bool(tokens) and len(_users(tokens, queries)) >= k
        for ask, (tokens, _) in zip(asked, queries, strict=True)
    ]


def test_tables_grow():
    """More pairs than there is room for at first."""
    queries = [(list(range(200)), {0, 1})]
    words = word_sets.distinct(*_stretches([tokens for tokens, _ in queries]))
    postings = owners_by(words, 200)
    everything = np.ones(200, dtype=np.bool_)
    for k, pairs in ((2, 199 * 100), (3, 0)):
        people = word_sets.People(*_stretches([[0, 1]]), np.zeros(1, dtype=np.bool_))
        assert word_sets.crowded_pairs(postings, words, everything, people, k)[1].size == pairs
