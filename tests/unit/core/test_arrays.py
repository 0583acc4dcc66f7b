import numpy as np
import pytest

from coterie.core.arrays import offsets, splitmix64


@pytest.mark.parametrize(("sizes", "starts"), [([], [0]), ([3], [0, 3]), ([2, 0, 5], [0, 2, 2, 7])])
def test_offsets_say_where_stretches_start_and_the_last_one_ends(sizes, starts):
    assert offsets(np.array(sizes, dtype=np.uint32)).tolist() == starts
    assert offsets(np.array(sizes)).dtype == np.int64


def test_offsets_do_not_wrap_round_like_the_sizes_they_are_made_of():
    assert offsets(np.array([2**32 - 1, 2], dtype=np.uint32))[-1] == 2**32 + 1


def test_splitmix64_gives_the_published_numbers():
    """The first values of the generator that starts at 0: its state grows by the golden ratio."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        states = np.arange(1, 4, dtype=np.uint64) * golden
    assert [hex(value) for value in splitmix64(states)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]
