"""The cryptography of UUP."""

import numpy as np
import pytest

from coterie.simulate.elgamal import PRIME, exchange, messages_of, rounds_of


def _probably_prime(n):
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29):
        x = pow(base, odd, n)
        if x not in (1, n - 1) and all((x := x * x % n) != n - 1 for _ in range(twos - 1)):
            return False
    return True


def test_the_prime_is_safe():
    assert PRIME.bit_length() == 1536
    assert _probably_prime(PRIME)
    assert _probably_prime((PRIME - 1) // 2)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_everybody_gets_a_query_and_messages_are_counted(n):
    done = exchange(n, np.random.default_rng(3))
    assert sorted(done.order.tolist()) == list(range(n))
    assert (done.messages, done.rounds) == (messages_of(n), rounds_of(n))


def test_who_gets_whose_is_chance():
    stream = np.random.default_rng(4)
    own = [exchange(2, stream).order[0] == 0 for _ in range(40)]
    assert 8 <= sum(own) <= 32
