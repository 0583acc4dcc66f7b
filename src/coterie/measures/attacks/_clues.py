"""Clues: what an adversary knows of users, and which released names (or groups) it points to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie import kernels

PARTS = 1_000_000  # weights are whole millionths, so that equal sums are equal in whatever order they are added


@dataclass(frozen=True, eq=False, repr=False)
class Clues:
    """Known texts (queries or words) by user, and the names that have them."""

    of_user: NDArray[np.int64]
    """Where the clues of each user begin in `position` and `text`."""
    position: NDArray[np.int64]
    text: NDArray[np.int64]
    of_text: NDArray[np.int64]
    """Where the names that have a text begin in `name`."""
    name: NDArray[np.int64]
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, known: pl.DataFrame, spelled: pl.LazyFrame, pairs: pl.LazyFrame, users: pl.DataFrame) -> Clues:
        """`known`: id, position, text. `spelled`: the texts of each released item. `pairs`: name, item."""
        texts = known.select("text").unique().sort("text").with_row_index("number")
        having = spelled.join(texts.lazy(), on="text").select("item", "number").join(pairs, on="item")
        owned = having.select("number", "name").unique().collect(engine="streaming").sort("number", "name")
        clues = known.join(texts, on="text").sort("id", "position", "number")
        of_text = starts(owned["number"], texts.height)
        owners = np.maximum(np.diff(of_text), 1)  # a text that no name has adds its weight to nobody
        n = pairs.select(pl.col("name").n_unique()).collect(engine="streaming").item()
        return cls(
            of_user=starts(clues["id"], users.height),
            position=clues["position"].to_numpy(),
            text=clues["number"].to_numpy().astype(np.int64),
            of_text=of_text,
            name=owned["name"].to_numpy().astype(np.int64),
            weight=np.rint(PARTS * np.log1p(n / owners)).astype(np.int64),
        )

    def add(self, user: int, above: int, upto: int, scores: NDArray[np.int64]) -> None:
        """Add the weights of what the user's clues above < position <= upto tell to the scores of names."""
        begin, end = self.of_user[user], self.of_user[user + 1]
        low, high = begin + np.searchsorted(self.position[begin:end], [above, upto], side="right")
        kernels.clues.add(self.text[low:high], self.of_text, self.name, self.weight, scores)


def starts(ids: pl.Series, n: int) -> NDArray[np.int64]:
    """Where the lines of each of n ids begin in sorted ids, and where the last ones end."""
    return np.searchsorted(ids.to_numpy(), np.arange(n + 1))
