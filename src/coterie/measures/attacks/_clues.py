"""Clues: what an adversary knows of users, and which released names (or groups) it points to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.arrays import offsets

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
        n = pairs.select(pl.col("name").n_unique()).collect(engine="streaming").item()
        return cls(
            of_user=starts(clues["id"], users.height),
            position=clues["position"].to_numpy().astype(np.int64),
            text=clues["number"].to_numpy().astype(np.int64),
            of_text=of_text,
            name=owned["name"].to_numpy().astype(np.int64),
            weight=_weights_of(n, np.diff(of_text)),
        )

    def add(self, user: int, above: int, upto: int, scores: NDArray[np.int64]) -> None:
        """Add the weights of what the user's clues above < position <= upto tell to the scores of names."""
        from coterie.kernels.clues import add

        begin, end = self.of_user[user], self.of_user[user + 1]
        begin += np.searchsorted(self.position[begin:end], above, side="right")
        add(
            begin, end, upto, self.position, self.text, self.of_text, self.name, self.weight, scores
        )  # fmt: skip


def _weights_of(names: int, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """The weights of texts that so many of the names have; one that no name has adds its weight to nobody."""
    return np.asarray(np.rint(PARTS * np.log1p(names / np.maximum(owners, 1))), dtype=np.int64)


def weighted(having: pl.DataFrame, name: str) -> pl.DataFrame:
    """A table with the columns strings and having in place of which stands a weight."""
    weight = np.rint(PARTS * log1p(having.select(pl.col("strings") / pl.col("having")).to_series())).astype(np.int64)
    return having.drop("strings", "having").with_columns(pl.Series(name, weight))


def log1p(numbers: pl.Series) -> NDArray[np.float64]:
    """ln(1 + x) of each."""
    logarithms: NDArray[np.float64] = np.log1p(numbers.to_numpy())
    return logarithms


def _sizes(clues: Clues) -> tuple[int, int, int]:
    return clues.position.size, clues.weight.size, clues.name.size


def best_names(clues: Sequence[Clues], amounts: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of several kinds of clues, each user and column of `amounts` the name that fits best.

    That is the one with the highest score of that kind; among equals the one with the highest sum over all kinds, then
    the smallest one, then the first.
    """
    from coterie.kernels.clues import best_names as best_by_column

    in_order = np.argsort(amounts, axis=1, kind="stable")
    clue, text, name = (offsets(np.array(sizes)) for sizes in zip(*map(_sizes, clues), strict=True))
    chosen = best_by_column(
        np.stack([each.of_user + first for each, first in zip(clues, clue[:-1], strict=True)]),
        np.concatenate([each.position for each in clues]),
        np.concatenate([each.text + first for each, first in zip(clues, text[:-1], strict=True)]),
        np.concatenate([each.of_text[:-1] + first for each, first in zip(clues, name[:-1], strict=True)] + [name[-1:]]),
        np.concatenate([each.name for each in clues]),
        np.concatenate([each.weight for each in clues]),
        np.take_along_axis(amounts, in_order, axis=1),
        size,
    )
    by_column = np.empty_like(chosen)
    np.put_along_axis(by_column, np.broadcast_to(in_order, chosen.shape).copy(), chosen, axis=2)
    return by_column


def starts(ids: pl.Series, n: int) -> NDArray[np.int64]:
    """Where the lines of each of n ids begin in sorted ids, and where the last ones end."""
    return np.searchsorted(ids.to_numpy(), np.arange(n + 1))
