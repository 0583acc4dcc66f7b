"""Small things about arrays that several rooms need.

Columns of text as arrays for kernels: the bytes of all texts side by side, or a number for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
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


_AT_ONCE = 1 << 18  # texts that are put together: few enough for one text of polars, many enough to be quick


def bytes_of(texts: pl.Series) -> tuple[NDArray[np.uint8], Ints]:
    """The UTF-8 bytes of all texts, one behind the other, and where each begins; a missing text is empty.

    There is at least one byte, so that kernels always get an array they can look into.
    """
    start = offsets(texts.str.len_bytes().fill_null(0).to_numpy())
    data = np.zeros(max(int(start[-1]), 1), dtype=np.uint8)
    for begin in range(0, len(texts), _AT_ONCE):
        some = texts[begin : begin + _AT_ONCE]
        joined = some.str.join("").cast(pl.Binary).item()
        data[start[begin] : start[begin + len(some)]] = np.frombuffer(joined, dtype=np.uint8)
    return data, start


def numbered(texts: pl.Series) -> tuple[Short, pl.Series]:
    """The number of each text, and the distinct texts by their numbers."""
    coded = texts.cast(pl.Categorical(pl.Categories.random()))
    distinct = coded.unique()
    table = pl.DataFrame({"number": distinct.to_physical(), "text": distinct.cast(pl.String)}).sort("number")
    return coded.to_physical().to_numpy().astype(np.int32), table["text"]
