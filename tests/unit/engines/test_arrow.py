"""Rows come back from Arrow as they went, whatever types a cluster has."""

from datetime import datetime

import polars as pl
import pyarrow as pa

from coterie.engines.arrow import physical, to_arrow, to_polars, typed

ROWS = pl.DataFrame(
    {
        "text": ["a", None, "\U0010ffff\0"],
        "least": pl.Series([0, None, 255], dtype=pl.UInt8),
        "place": pl.Series([0, None, 2**32 - 1], dtype=pl.UInt32),
        "hash": pl.Series([0, None, 2**64 - 1], dtype=pl.UInt64),
        "many": pl.Series([[1, 2**32 - 1], None, []], dtype=pl.List(pl.UInt32)),
        "time": pl.Series([datetime(1969, 12, 31, 23, 59, 59, 1), None, datetime(2006, 3, 1)], dtype=pl.Datetime("us")),
        "bytes": pl.Series([b"\xff", None, b""], dtype=pl.Binary),
    }
)


def test_rows_come_back_as_they_went():
    table = to_arrow(ROWS, dict(ROWS.schema))
    assert typed(to_polars(table), dict(ROWS.schema)).equals(ROWS)
    assert typed(to_polars(table.to_batches()), dict(ROWS.schema)).equals(ROWS)


def test_no_type_is_one_that_spark_lacks():
    kinds = to_arrow(ROWS, dict(ROWS.schema)).schema.types
    assert not any(pa.types.is_unsigned_integer(kind) or pa.types.is_large_string(kind) for kind in kinds)
    assert physical(pl.List(pl.UInt8())) == pl.List(pl.Int16)
