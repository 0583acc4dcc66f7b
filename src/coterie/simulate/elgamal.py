"""One exchange of UUP with its cryptography: ElGamal over the squares modulo a safe prime.

    keys      user i draws a_i and publishes y_i = g^a_i; the group's key is y = Π y_i
    queries   user i sends (g^r, m_i y^r)
    shuffle   in turn, each user re-encrypts all pairs, (a g^s, b y^s), and permutes them
    open      user i publishes a^a_i for each pair; b / Π a^a_i is the query, and user i submits the one at place i

It holds against the engine and against members who are curious but follow the rules; not against active ones. This is
here to count messages and to see that nobody can tell who wrote what; it is no software to protect people with.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from coterie.core.arrays import Ints

# RFC 3526, group 5: a safe prime of 1536 bits, with 2 as a generator; its square generates the squares.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6D"
    "F25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3D"
    "C2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08"
    "CA237327FFFFFFFFFFFFFFFF",
    16,
)
_ORDER = (PRIME - 1) // 2
_GENERATOR = 4


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What came out of one exchange."""

    order: Ints
    """Whose query each member got."""
    messages: int
    rounds: int


def messages_of(n: int) -> int:
    """Messages of one exchange: key shares, queries to the first, the list from hand to hand and to all, shares of the
    decryption, answers."""
    return 3 * n * (n - 1) + 3 * (n - 1)


def rounds_of(n: int) -> int:
    """Messages one after the other in one exchange: three broadcasts, queries, n - 1 hands, the list, answers."""
    return n + 4


def exchange(n: int, stream: np.random.Generator) -> Exchange:
    """Run it for n members, each with one query."""
    messages = rounds = 0
    secret = [_number(stream) for _ in range(n)]
    shares = [pow(_GENERATOR, a, PRIME) for a in secret]
    messages, rounds = messages + n * (n - 1), rounds + 1
    key = prod(shares) % PRIME
    # A query is a number whose square stands for it: squares are the group.
    plain = [pow(_number(stream), 2, PRIME) for _ in range(n)]
    pairs = [_encrypted(text, key, stream) for text in plain]
    messages, rounds = messages + n - 1, rounds + 1
    for member in range(n):
        pairs = [_again(pairs[i], key, stream) for i in stream.permutation(n)]
        if member < n - 1:
            messages, rounds = messages + 1, rounds + 1
    messages, rounds = messages + n - 1, rounds + 1  # the last member tells everybody the list
    opened = []
    for a, b in pairs:
        together = prod(pow(a, each, PRIME) for each in secret) % PRIME
        opened.append(b * pow(together, -1, PRIME) % PRIME)
    messages, rounds = messages + n * (n - 1), rounds + 1
    messages, rounds = messages + n * (n - 1), rounds + 1  # everybody tells the answer they got
    return Exchange(order=np.array([plain.index(text) for text in opened]), messages=messages, rounds=rounds)


def _number(stream: np.random.Generator) -> int:
    return 1 + int.from_bytes(stream.bytes(200), "little") % (_ORDER - 1)


def _encrypted(text: int, key: int, stream: np.random.Generator) -> tuple[int, int]:
    r = _number(stream)
    return pow(_GENERATOR, r, PRIME), text * pow(key, r, PRIME) % PRIME


def _again(pair: tuple[int, int], key: int, stream: np.random.Generator) -> tuple[int, int]:
    s = _number(stream)
    return pair[0] * pow(_GENERATOR, s, PRIME) % PRIME, pair[1] * pow(key, s, PRIME) % PRIME
