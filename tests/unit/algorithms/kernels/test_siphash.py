"""SipHash gives the published numbers, and is its plain version on anything else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.apps.gate import kernels as gate_table
from tests.helpers.gate_reference import siphash as plain

KEY = bytes(range(16))
# From the vectors that its authors publish: the texts are 0, 1, 2, ... of these lengths.
PUBLISHED_64 = {0: "310e0edd47db6f72", 1: "fd67dc93c539f874", 15: "e545be4961ca29a1"}
PUBLISHED_128 = {
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
    2: "8177228da4a45dc7fca38bdef60affe4",
    3: "9c70b60c5267a94e5f33b6b02985ed51",
}


def _key(key):
    return np.frombuffer(key, "<u8").astype(np.uint64)


def _texts(texts):
    start = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    return start, np.frombuffer(b"".join(texts), np.uint8)


def test_the_published_numbers():
    for length, expected in PUBLISHED_64.items():
        assert plain(KEY, bytes(range(length)), wide=False).hex() == expected
    texts = [bytes(range(length)) for length in PUBLISHED_128]
    low, high = gate_table.tags(_key(KEY), *_texts(texts))
    given = [a.tobytes().hex() + b.tobytes().hex() for a, b in zip(low, high, strict=True)]
    assert given == list(PUBLISHED_128.values())


@given(st.binary(min_size=16, max_size=16), st.lists(st.binary(max_size=40), max_size=5))
def test_it_is_its_plain_version(key, texts):
    start, data = _texts(texts)
    low, high = gate_table.tags(_key(key), start, data)
    wide = [plain(key, text, wide=True) for text in texts]
    assert [a.tobytes() + b.tobytes() for a, b in zip(low, high, strict=True)] == wide
    for i, text in enumerate(texts):
        behind = gate_table.siphash_behind(*_key(key), low[i], high[i], data, start[i], start[i + 1])
        assert np.uint64(behind).tobytes() == plain(key, wide[i] + text, wide=False)
