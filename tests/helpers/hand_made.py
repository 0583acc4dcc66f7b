"""Hand-made releases, originals and cases for judges."""

import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Case
from coterie.core.shapes import LEVEL, QUERIES

DIGEST = "sha256:" + "0" * 64
NAMES = [f"u_{'a' * 15}{letter}" for letter in "abcdefghij"]


def run_of(seed):
    """What a run record says that names follow from."""
    return {"seed": seed, "method": "m", "parameters": {}, "history": [], "input_digest": "0" * 64}


def frame_of(rows, shape=QUERIES):
    """Rows as dicts, in the order of a release; what is not given is null."""
    return _table(rows, shape).sort(shape.order)


def log_of(rows, shape=QUERIES):
    """An original of hand-made rows, numbered where the shape has numbers of rows."""
    table = _table(rows, shape)
    if "row" in shape.schema:
        table = table.with_row_index("row").cast({"row": pl.UInt64})
    return Log(frame=table.lazy(), shape=shape)


def _table(rows, shape):
    schema = {name: shape.schema[name] for name in shape.released}
    return pl.DataFrame([dict.fromkeys(schema) | row for row in rows], schema=schema)


def case_of(rows, original=None, shape=QUERIES, **more):
    """A case of a frame, or of rows as dicts; where they say how exact a time is, the shape does, too."""
    if LEVEL in (rows.columns if isinstance(rows, pl.DataFrame) else {name for row in rows for name in row}):
        shape = shape.with_levels()
    frame = rows if isinstance(rows, pl.DataFrame) else frame_of(rows, shape)
    return Case(rows=frame.lazy(), shape=shape, original=original, **more)


def check_of(verdict, name):
    """The only check of that name."""
    (check,) = [check for check in verdict.checks if check.name == name]
    return check
