"""Split a log in two: a release is made of one part and judged by the other, which no method has seen.

In time: what each user searched for earlier, and what they searched for later. In halves: some documents, and others.
"""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl

from coterie.core import randomness
from coterie.core.log import Log


def in_time(rows: pl.DataFrame, subject: str, item: str, time: str) -> pl.DataFrame:
    """Rows by subject and time; at one time in an order that depends neither on the alphabet nor on the rows.

    Where there are no times at all, the alphabet would decide which words are the earlier ones. Rows that agree in time
    and item (several clicks of one search) go by their other columns; `row`, where a row stood, comes last.
    """
    items = rows.select(pl.col(item).unique().sort())
    keys = items.with_columns(pl.Series("_key", randomness.keys(0, "items of one time", items[item])))
    first = (subject, time, "_key") if time else (subject, "_key")
    others = [name for name in rows.columns if name not in (*first, item, "row")]
    last = ["row"] if "row" in rows.columns else []
    return rows.join(keys, on=item, nulls_equal=True).sort(*first, *others, *last).drop("_key")


def chronological(log: Log, size: int = 0) -> tuple[Log, Log]:
    """The first half of each subject's rows, the larger one where their number is odd, and the second half.

    With `size`, the first `size` rows of each subject, and as many after these; subjects with fewer than one and a half
    times `size` rows are left out. Then all profiles have one size, and overlaps with them can be compared. Rows
    without a subject are in neither part.
    """
    subject = log.shape.subject
    rows = in_time(log.frame.drop_nulls(subject).collect(engine="streaming"), subject, log.shape.item, log.shape.time)
    place, all_rows = pl.int_range(pl.len()).over(subject), pl.len().over(subject)
    early, late = 2 * place < all_rows, 2 * place >= all_rows
    if size:
        enough = 2 * all_rows >= 3 * size
        early, late = enough & (place < size), enough & (place >= size) & (place < 2 * size)
    first, second = (replace(log, frame=rows.filter(part).lazy()) for part in (early, late))
    return first, second


def halves(log: Log) -> tuple[Log, Log]:
    """The rows of half of the subjects, drawn by their names, and those of the others."""
    return _parted(log, 0.5, "halves of a log")


def without_outsiders(log: Log, share: float) -> tuple[Log, Log]:
    """The rows of all subjects but a share of them, drawn by their names, and those of this share."""
    return _parted(log, 1 - share, "outsiders")


def _parted(log: Log, share: float, purpose: str) -> tuple[Log, Log]:
    subject = log.shape.subject
    names = log.frame.select(subject).drop_nulls().unique().collect(engine="streaming").sort(subject)
    keys = pl.Series("_key", randomness.keys(0, purpose, names[subject]))
    drawn = names.with_columns(keys).sort("_key", subject).select(subject)
    middle = math.ceil(round(share * drawn.height, 6))
    first, second = (
        replace(log, frame=log.frame.join(part.lazy(), on=subject, how="semi"))
        for part in (drawn.head(middle), drawn.tail(drawn.height - middle))
    )
    return first, second
