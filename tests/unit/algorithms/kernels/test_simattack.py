"""SimAttack on many queries: the kernel against its plain version."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.lab.simulate.kernels import Known, Sets, attack
from tests.helpers.attack_reference import similarity

PEOPLE, WORDS = 4, 7
words = st.frozensets(st.integers(0, WORDS - 1), max_size=4)


def sets(lists):
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Sets(start, np.array([word for each in lists for word in sorted(each)], dtype=np.int32))


def known(past):
    """past: person -> list of word sets; repeated ones become one entry."""
    entries = [(who, query, past[who].count(query)) for who in range(PEOPLE) for query in dict.fromkeys(past[who])]
    with_word = [[e for e, (_, query, _) in enumerate(entries) if word in query] for word in range(WORDS)]
    start = np.cumsum([0, *map(len, with_word)]).astype(np.int64)
    columns = (np.array(each, dtype=np.int32) for each in zip(*[(w, len(q), n) for w, q, n in entries], strict=True))
    owner, size, times = columns if entries else (np.zeros(0, dtype=np.int32),) * 3
    total = np.array([len(past[who]) for who in range(PEOPLE)], dtype=np.int64)
    return Known(owner, size, times, total, start, np.array([e for w in with_word for e in w], dtype=np.int32))


@given(
    st.lists(st.lists(words, max_size=6), min_size=PEOPLE, max_size=PEOPLE),
    st.lists(st.tuples(words, st.integers(0, PEOPLE - 1), st.frozensets(st.integers(0, PEOPLE - 1))), min_size=1),
    st.booleans(),
)
def test_the_kernel_is_the_plain_version(past, targets, everybody):
    author = np.array([who for _, who, _ in targets], dtype=np.int32)
    lists = [sorted(candidates) for _, _, candidates in targets]
    start = np.zeros(0, dtype=np.int64) if everybody else np.cumsum([0, *map(len, lists)]).astype(np.int64)
    people = np.array([] if everybody else [who for each in lists for who in each], dtype=np.int32)
    found = attack(sets([query for query, _, _ in targets]), author, known(past), start, people)
    for i, (query, who, candidates) in enumerate(targets):
        fits = {user: round(similarity(query, past[user]), 9) if past[user] else 0.0 for user in range(PEOPLE)}
        assert found.own[i] / 1e9 == pytest.approx(fits[who], abs=2e-9)
        allowed = range(PEOPLE) if everybody else candidates
        best = max((fits[user] for user in allowed), default=0.0)
        assert found.fit[i] / 1e9 == pytest.approx(best, abs=2e-9)
        if best > 0:
            named = [user for user in allowed if abs(fits[user] - best) < 2e-9]
            assert (found.ties[i], found.right[i]) == (len(named), who in named)
        else:
            assert (found.ties[i], found.right[i]) == (0, 0)
