"""Cut visits into the planned sequences of pages, each under a fresh name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from coterie.core.arrays import Short, offsets
from coterie.core.log import Log
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.shapes import Shape
from coterie.core.threads import Counted

if TYPE_CHECKING:
    from coterie.algorithms.walks import Sequences

_BETWEEN = "\0"  # stands in no path
SEQUENCES_TABLE, DAYS_TABLE = "sequences", "days"


def release_sequences(log: Log, plan: Plan, shape: Shape, run: Run) -> Draft:
    """The planned sequences of all visits, as rows of a shape that has positions."""
    from coterie.algorithms import walks as model

    into, kinds, days = (
        table.collect(engine="streaming")
        for table in (plan.table, plan.tables[SEQUENCES_TABLE], plan.tables[DAYS_TABLE])
    )
    visits = model.visits(log)
    run.tell(Counted(1, 2))
    found, kind = model.planned_sequences(model.walks(visits, into), kinds)
    parts = pl.DataFrame({model.KIND: kind, model.DAY: found.day, "original": visits.visitors.gather(found.visitor)})
    shown = days.with_columns(pl.lit(True).alias("_shown"))
    parts = parts.join(shown, on=[model.KIND, model.DAY], how="left", maintain_order="left")
    day = pl.when("_shown").then(pl.col(model.DAY)).cast(pl.Date).cast(shape.schema[shape.time])
    parts = parts.select("original", _pages_of(found, kind), day.alias("_day"))
    # Names are made from numbers in the order of what is released: nothing about a visitor goes into them.
    order = parts.select(pl.arg_sort_by("_pages", "_day", maintain_order=True)).to_series()
    labels = pl.Series(np.arange(kind.size)).cast(pl.String)
    named = pl.DataFrame({"at": order, "released": run.pseudonyms(labels, taken=visits.visitors)}).sort("at")
    parts = parts.with_columns(named["released"])
    subjects = visits.visitors.to_frame("original").join(
        parts.select("original", "released"), on="original", how="left"
    )
    return Draft(
        frame=_rows(found, parts, shape).lazy(),
        subjects=subjects.with_columns(pl.lit(None, pl.UInt32).alias("group")).sort("original", "released").lazy(),
    )


def _pages_of(found: Sequences, kind: Short) -> pl.Series:
    """The pages of each sequence as one text; those of a kind have the same."""
    number, first = np.unique(kind, return_index=True)
    begin, length = found.parts.begin[first], found.parts.length[first].astype(np.int64)
    pages = found.walks.pages
    texts = [
        _BETWEEN.join(pages.gather(found.walks.steps.page[at : at + size]))
        for at, size in zip(begin, length, strict=True)
    ]
    return pl.Series("_pages", texts, dtype=pl.String).gather(np.searchsorted(number, kind))


def _rows(found: Sequences, parts: pl.DataFrame, shape: Shape) -> pl.DataFrame:
    """One row for each page of each sequence, with the row of the log that it came from."""
    length = found.parts.length.astype(np.int64)
    of_part = np.repeat(np.arange(length.size), length)
    place = np.arange(of_part.size) - offsets(length)[of_part]
    step = found.parts.begin[of_part] + place
    walks = found.walks
    columns = {
        "row": pl.Series(walks.visits.row[walks.row[step]]),
        shape.subject: parts["released"].gather(of_part),
        shape.position: pl.Series((place + 1).astype(np.int32)),
        shape.item: walks.pages.gather(walks.steps.page[step]),
        shape.time: parts["_day"].gather(of_part),
    }
    return pl.DataFrame(columns)
