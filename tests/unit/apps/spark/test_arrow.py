"""Rows of a cluster come as Arrow, and have the types that are expected of them."""

from datetime import datetime

import polars as pl
import pyarrow as pa

from coterie.apps.spark.arrow import to_polars, typed

ROWS = pl.DataFrame(
    {
        "text": ["a", None, "\U0010ffff\0"],
        "place": pl.Series([0, None, 2**31], dtype=pl.Int64),
        "time": pl.Series([datetime(1969, 12, 31, 23, 59, 59, 1), None, datetime(2006, 3, 1)], dtype=pl.Datetime("us")),
        "bytes": pl.Series([b"\xff", None, b""], dtype=pl.Binary),
    }
)


def test_tables_and_batches_are_frames():
    table = ROWS.to_arrow(compat_level=pl.CompatLevel.oldest())
    assert to_polars(table).equals(ROWS)
    assert to_polars(table.to_batches()).equals(ROWS)
    assert to_polars(pa.table({"n": [1]})).equals(pl.DataFrame({"n": [1]}))


def test_types_are_those_that_are_expected():
    found = typed(ROWS, {"place": pl.UInt32(), "text": pl.String()})
    assert dict(found.schema) == {"place": pl.UInt32(), "text": pl.String()}
