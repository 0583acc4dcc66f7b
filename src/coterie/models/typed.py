"""Who typed which text how often, in numbers: every distinct text is looked at once, however many typed it.

What is held: the distinct texts, and eight bytes for each text of each user.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from coterie.kernels.bags import Bags, bags


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Typed:
    """Distinct texts, and those of each user."""

    texts: pl.Series
    of_users: Bags


def typed_by(users: pl.Series, rows: pl.LazyFrame) -> Typed:
    """What each of some distinct users has typed, from two columns: user and text. Rows of others are left out."""
    user, text = rows.collect_schema().names()
    texts = rows.select(text).unique().collect(engine="streaming")[text]
    places = users.alias(user).to_frame().lazy().with_row_index("place")
    numbers = texts.to_frame().lazy().with_row_index("number")
    pairs = rows.join(places, on=user).join(numbers, on=text).select(pl.col("place", "number").cast(pl.Int32))
    lines = pairs.collect(engine="streaming")
    place, number = (lines[name].to_numpy(writable=True) for name in ("place", "number"))
    return Typed(texts=texts, of_users=bags(place, number, users.len()))
