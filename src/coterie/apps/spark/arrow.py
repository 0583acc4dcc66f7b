"""Rows as Spark hands them over: Arrow."""

from __future__ import annotations

from typing import Any

import polars as pl

from coterie.engines.remote import Schema


def to_polars(table: Any) -> pl.DataFrame:
    """Arrow as a frame."""
    import pyarrow as pa

    whole = table if isinstance(table, pa.Table) else pa.Table.from_batches(table)
    frame = pl.from_arrow(whole)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def typed(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Rows with the columns and types that are expected of them."""
    return rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
