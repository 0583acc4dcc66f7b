"""Tables of tags: the arrays of `apps/gate/kernels.py`, which grow as they fill; and texts as arrays of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.apps.gate import kernels
from coterie.core.arrays import bytes_of

_LOAD = 0.85
"""Share of the slots that may be used. At 0.85 a search looks at 4 slots on average, at twice the size at 1."""
_GROWTH = 1.3
_FIRST_SLOTS, _FIRST_NODES = 1 << 12, 1 << 12
ARRAYS = {
    "lows": np.uint64, "highs": np.uint64, "heads": np.uint32, "facts": np.uint32,
    "people": np.uint64, "nexts": np.uint32, "events": np.uint32, "days": np.uint16, "book": np.int64,
}  # fmt: skip
NODEARRAYS = ("people", "nexts", "events", "days")
WHOLE = kernels.WHOLE
MOST_K = kernels.MOST_PEOPLE


@dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """Texts as bytes that stand one behind the other; `given`: which of them there are."""

    start: NDArray[np.int64]
    data: NDArray[np.uint8]
    given: NDArray[np.bool_]

    @classmethod
    def of(cls, series: pl.Series) -> Texts:
        """The texts of a column; a missing one is empty."""
        data, start = bytes_of(series)
        return cls(start, data, series.is_not_null().to_numpy())


@dataclass(frozen=True, eq=False, repr=False)
class Taken:
    """What a table gives at the end of a part: entries, by their tags, and lines that belong to them."""

    tags: list[int]
    crowd: NDArray[np.bool_]
    """Whether k people are behind the events of an entry."""
    entry: NDArray[np.int64]
    day: NDArray[np.int64]
    """Days since the window began, or WHOLE."""
    count: NDArray[np.int64]


class GateTable:
    """Who asked for what, as tags under a key, until it is taken."""

    def __init__(self, k: int, keys: NDArray[np.uint64]) -> None:
        """`keys`: four words, two for tags of texts and two for those of people."""
        self.k, self.keys = k, keys
        self._slots(_FIRST_SLOTS)
        self.people = np.empty(_FIRST_NODES, np.uint64)
        self.nexts, self.events = np.empty(_FIRST_NODES, np.uint32), np.empty(_FIRST_NODES, np.uint32)
        self.days = np.empty(_FIRST_NODES, np.uint16)
        self.book = np.array([0, 0, -1, 0], np.int64)

    def _slots(self, size: int) -> None:
        # Zeros: a snapshot has empty slots as well, and memory that was used before may hold lines of the log.
        self.lows, self.highs = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        self.heads, self.facts = np.zeros(size, np.uint32), np.zeros(size, np.uint32)

    def __len__(self) -> int:
        return int(self.book[kernels.ENTRIES])

    def __repr__(self) -> str:
        return f"GateTable({len(self):,} texts)"

    @property
    def bytes(self) -> int:
        """What its arrays take in memory."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)

    @property
    def census(self) -> tuple[int, int]:
        """How many texts are held, and how many are open."""
        held, opened = kernels.census(self.facts)
        return int(held), int(opened)

    def offer(self, items: Texts, users: Texts, days: NDArray[np.uint16], first: int, last: int) -> NDArray[np.int64]:
        """Count events; returns those whose text is wanted: the k-th person's, or the next after a text was taken."""
        crossed = np.empty(last - first, np.int64)
        found = 0
        while first < last:
            most = int(_LOAD * self.lows.size)
            first, more = kernels.offer(
                self.keys, self.k, most, self.book, self.lows, self.highs, self.heads, self.facts, self.people,
                self.nexts, self.events, self.days, items.start, items.data, users.start, users.data, users.given, days,
                first, last, crossed[found:],
            )  # fmt: skip
            found += more
            if first < last:
                self._grow(most)
        return crossed[:found]

    def _grow(self, most: int) -> None:
        if len(self) >= most:
            size = int(_GROWTH * self.lows.size)
            self.lows, self.highs, self.heads, self.facts = kernels.moved(
                self.lows, self.highs, self.heads, self.facts, size
            )
        else:
            size = int(_GROWTH * self.people.size) + _FIRST_NODES
            for name in NODEARRAYS:
                old = getattr(self, name)
                new = np.empty(size, old.dtype)
                new[: old.size] = old
                setattr(self, name, new)

    def take(self, rest: bool) -> Taken:
        """Take what k people are behind; with `rest` also what fewer people added to a text that is out."""
        entries, nodes = kernels.count_due(self.heads, self.facts, self.nexts, self.k, rest)
        low, high = np.empty(entries, np.uint64), np.empty(entries, np.uint64)
        crowd = np.empty(entries, np.bool_)
        entry, day, count = (np.empty(nodes, np.int64) for _ in range(3))
        lines = kernels.take_due(
            self.k, rest, self.book, self.lows, self.highs, self.heads, self.facts, self.people, self.nexts,
            self.events, self.days, low, high, crowd, entry, day, count,
        )  # fmt: skip
        tags = [a | b << 64 for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        return Taken(tags, crowd, entry[:lines], day[:lines], count[:lines])

    def tags(self, items: Texts) -> list[int]:
        """The tags of texts, as whole numbers."""
        low, high = kernels.tags(self.keys[:2], items.start, items.data)
        return [a | b << 64 for a, b in zip(low.tolist(), high.tolist(), strict=True)]

    def links_anybody(self, share: int) -> bool:
        """Whether the tag of a person stands in two entries, so that their queries could be linked; a sample tells."""
        tag, slot = kernels.owners(self.heads, self.facts, self.people, self.nexts, share)
        pairs = np.unique(np.stack([tag, slot.astype(np.uint64)]), axis=1)
        return bool(np.unique(pairs[0]).size < pairs.shape[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a snapshot keeps: the arrays, without free nodes and without the order in which people asked."""
        used = int(self.book[kernels.NODES] - self.book[kernels.UNUSED])
        heads, people, nexts, events, days = kernels.laid_out(
            self.heads, self.people, self.nexts, self.events, self.days, self.facts, used
        )
        book = np.array([len(self), used, -1, 0], np.int64)
        return {
            "lows": self.lows, "highs": self.highs, "heads": heads, "facts": self.facts, "people": people,
            "nexts": nexts, "events": events, "days": days, "book": book,
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the table whose arrays these are."""
        for name, kind in ARRAYS.items():
            setattr(self, name, np.ascontiguousarray(arrays[name], dtype=kind))
