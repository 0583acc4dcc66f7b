"""The rule that the simulator and the peer share."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.algorithms.sticky import choose, key_of, mix
from coterie.core.arrays import splitmix64
from coterie.errors import ParameterError

KEY = bytes(range(32))
FRIENDS = [f"friend {i}" for i in range(10)]


def test_the_rule_never_changes():
    """Peers of two versions must agree with themselves after an update."""
    assert [choose(KEY, f"query {i}", FRIENDS) for i in range(12)] == [3, 2, 3, 2, 1, 5, 1, 1, 1, 7, 7, 0]


@given(st.text(), st.lists(st.text(), min_size=2, max_size=8, unique=True), st.randoms())
def test_order_has_no_influence_and_a_lost_member_changes_their_own_queries_only(query, members, random):
    chosen = members[choose(KEY, query, members)]
    other = random.sample(members, len(members))
    assert other[choose(KEY, query, other)] == chosen
    lost = random.choice(members)
    left = [member for member in members if member != lost]
    assert left[choose(KEY, query, left)] == chosen or lost == chosen


def test_members_get_equal_shares():
    counts = Counter(choose(KEY, f"query {i}", FRIENDS) for i in range(10_000))
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 27.9  # chi-square, 9 degrees, p = 0.001
    assert len(counts) == 10


def test_the_shares_of_a_lost_member_go_to_all_others():
    moved = [choose(KEY, f"query {i}", FRIENDS[1:]) for i in range(10_000) if choose(KEY, f"query {i}", FRIENDS) == 0]
    expected = len(moved) / 9
    assert sum((n - expected) ** 2 / expected for n in Counter(moved).values()) < 26.1  # 8 degrees
    assert len(set(moved)) == 9


def test_another_key_is_another_choice():
    same = [choose(KEY, f"query {i}", FRIENDS) == choose(key_of(7, "a"), f"query {i}", FRIENDS) for i in range(2000)]
    assert 0.05 < np.mean(same) < 0.15
    assert key_of(7, "a") != key_of(7, "b") != key_of(8, "b")
    assert len(key_of(7, "a")) == 32


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_mix_is_that_of_arrays(values):
    assert splitmix64(np.array(values, dtype=np.uint64)).tolist() == [mix(value) for value in values]


def test_odd_text_is_a_query_too():
    assert choose(KEY, "\ud800", FRIENDS) in range(10)
    assert choose(KEY, "", ["", "a"]) in (0, 1)


def test_nobody_is_refused():
    with pytest.raises(ParameterError, match="at least one member"):
        choose(KEY, "q", [])


def test_the_rule_is_light_to_import():
    code = "import sys, coterie.algorithms.sticky; print([n for n in ('numpy', 'polars', 'numba') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
