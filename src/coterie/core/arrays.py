"""Small things about arrays that several rooms need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Short = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Masks = NDArray[np.uint64]


def offsets(sizes: NDArray[Any]) -> Ints:
    """Where stretches of these sizes start when they stand one after the other, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])


def splitmix64(values: Masks) -> Masks:
    """The finalizer of splitmix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
