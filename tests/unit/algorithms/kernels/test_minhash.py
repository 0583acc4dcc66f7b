"""The smallest hash of words is its plain version, byte by byte."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.algorithms.kernels.bags import smallest_word_hashes
from coterie.core.arrays import offsets
from tests.helpers.word_hash import smallest_hash


@given(st.lists(st.text(st.sampled_from("ab é天"), max_size=9), max_size=6))
def test_it_is_its_plain_version(texts):
    encoded = [text.encode() for text in texts]
    start = offsets(np.array([len(text) for text in encoded], dtype=np.int64))
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    assert smallest_word_hashes(start, data).tolist() == [smallest_hash(text) for text in texts]
