"""Rows on their way to and from a cluster: Arrow, with types that Spark has.

Spark has no unsigned numbers: they travel as the next larger signed ones, those of 64 bits bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import polars as pl

from coterie.engines.remote import Schema

if TYPE_CHECKING:
    import pyarrow as pa

_SIGNED = {pl.UInt8: pl.Int16, pl.UInt16: pl.Int32, pl.UInt32: pl.Int64, pl.UInt64: pl.Int64}


def to_polars(table: Any) -> pl.DataFrame:
    """Arrow as a frame."""
    import pyarrow as pa

    whole = table if isinstance(table, pa.Table) else pa.Table.from_batches(table)
    frame = pl.from_arrow(whole)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def typed(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Rows as they were before they went through Spark."""
    return rows.select(_cast(name, rows.schema[name], dtype) for name, dtype in schema.items())


def _cast(name: str, now: pl.DataType, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if now == dtype:
        return column
    return column.reinterpret(signed=False) if dtype == pl.UInt64 and now == pl.Int64 else column.cast(dtype)


def physical(dtype: pl.DataType) -> pl.DataType:
    """The type as which values travel."""
    if isinstance(dtype, pl.List):
        return pl.List(physical(cast(pl.DataType, dtype.inner)))
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        return pl.String()
    return next((signed() for plain, signed in _SIGNED.items() if dtype == plain), dtype)


def to_arrow(rows: pl.DataFrame, schema: Schema) -> pa.Table:
    """A frame as Arrow, with types that Spark has."""
    import pyarrow as pa

    travelling = rows.select(
        pl.col(name).reinterpret(signed=True) if dtype == pl.UInt64 else pl.col(name).cast(physical(dtype))
        for name, dtype in schema.items()
    )
    table = travelling.to_arrow(compat_level=pl.CompatLevel.oldest())
    plain = pa.schema([pa.field(field.name, _without_large(field.type)) for field in table.schema])
    return table.cast(plain)


def _without_large(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(_without_large(kind.value_type))
    return kind
