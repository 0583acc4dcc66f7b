"""Reading: find the format, parse, count the lines that could not be read, and say where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from coterie import registry
from coterie.errors import InputError
from coterie.formats import table
from coterie.formats._options import Options
from coterie.formats._source import Source, expand
from coterie.log import Log, Step
from coterie.shapes import QUERIES, Shape

BAD_SHARE = 0.01  # more bad lines than this and the format is probably wrong
_SHOWN = 5  # bad lines that a message names
# From the most particular form to the most general one.
_SNIFF_ORDER = ("aol", "excite", "sogou", "clf", "ubi", "table")


def read(
    patterns: Sequence[str | Path],
    *,
    format: str | None = None,
    options: Options | None = None,
    allow_bad: bool = False,
) -> Log:
    """A log from files, globs or standard input (`-`)."""
    options = options or Options()
    paths = expand(patterns)
    source = Source(paths)
    label = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    label = "standard input" if label == "-" else label
    if all(path.stat().st_size == 0 for path in source.paths):
        raise InputError(f"{label} is empty: there is no log to read.")
    name = format or _sniff(source, options, label)
    module = registry.module("formats", name)
    frame, shape = _settle(module, source, options, label)
    counts, notes = _count(frame, module, source, label, name, allow_bad)
    good = frame.filter(pl.col("bad").is_null()).drop("bad")
    step = Step(name="read", counts=counts, notes=notes)
    return Log(
        frame=good,
        shape=shape,
        history=(step,),
        resources=(source.folder,),
        sources=tuple(source.paths),
    )


def read_release(
    path: Path, shape: Shape = QUERIES
) -> tuple[pl.LazyFrame, Shape, list[str], tuple[object, ...]]:
    """A released file as it is: rows with `bad`, shape, the columns it really has, resources.

    `shape` is that of a file without any line, which is what jsonl makes of a release without rows.
    """
    source = Source(expand([path]))
    names = table.column_names(source)
    if not names:
        empty = pl.LazyFrame(schema={n: shape.schema[n] for n in shape.released} | {"bad": pl.String})
        return empty, shape, list(shape.released), ()
    frame, shape = _settle(table, source, Options(), path.name)
    return frame.drop("row"), shape, names, (source.folder,)


def table_log(data: Any, columns: Mapping[str, str] | None = None) -> Log:
    """A log from a polars, pandas or Arrow table."""
    raw = _as_polars(data).lazy().with_row_index("row").with_columns(pl.col("row").cast(pl.UInt64))
    typed, shape = table.typed(raw, Options(columns=columns or {}))
    frame = _complete(typed, shape).collect()
    bad = frame.filter(pl.col("bad").is_not_null()).select("row", "bad")
    if bad.height:
        row, column = bad.row(0)
        raise InputError(
            f"{bad.height} of {frame.height} rows cannot become a {shape.name} row; the first is row "
            f"{row}, column {column!r} ({table.expected[column]})."
        )
    step = Step(name="read", counts={"lines": frame.height, "bad": 0})
    return Log(frame=frame.drop("bad").lazy(), shape=shape, history=(step,))


def _as_polars(data: Any) -> pl.DataFrame:
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    if type(data).__module__.startswith("pandas"):
        return pl.from_pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pl.DataFrame(data)
    raise InputError(f"A log is made from a polars, pandas or Arrow table, not from {type(data).__name__}.")


def _sniff(source: Source, options: Options, label: str) -> str:
    if options.columns:
        return "table"
    head = source.head()
    for name in _SNIFF_ORDER:
        if registry.module("formats", name).sniff(head):
            return name
    raise InputError(
        f"{label}: none of the known formats fits its first line "
        f"({', '.join(registry.names('formats'))}). Name it with --format, or say which columns of a "
        f"table hold what with --columns user=NAME,query=NAME."
    )


def _settle(
    module: ModuleType, source: Source, options: Options, label: str
) -> tuple[pl.LazyFrame, Shape]:
    """Parsed rows that can be read several times: lazily from plain files, else spooled once."""
    try:
        return _load(module, source, options)
    except pl.exceptions.ComputeError as error:
        if "utf8" not in str(error).lower().replace("-", "") or source.damaged:
            raise _unreadable(label, module) from None
    source.damaged = True
    try:
        return _load(module, source, options)
    except pl.exceptions.ComputeError:
        raise _unreadable(label, module) from None


def _load(module: ModuleType, source: Source, options: Options) -> tuple[pl.LazyFrame, Shape]:
    loaded = module.load(source, options)
    frame, shape = loaded if isinstance(loaded, tuple) else (loaded, module.shape)
    frame = _complete(frame, shape)
    if source.streams_well:
        frame.select(pl.len()).collect(engine="streaming")  # raises where the text is damaged
        return frame, shape
    spool = source.spool("rows.parquet")
    frame.sink_parquet(spool, compression="lz4", engine="streaming")
    return pl.scan_parquet(spool, glob=False), shape


def _complete(frame: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
    """All columns of the shape in their order; those that the format lacks are null."""
    have = frame.collect_schema().names()
    missing = [
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in shape.schema.items()
        if name not in have and name not in shape.private
    ]
    names = [name for name in shape.schema if name in have or name not in shape.private]
    return frame.with_columns(missing).select(*names, "bad")


def _count(
    frame: pl.LazyFrame, module: ModuleType, source: Source, label: str, name: str, allow_bad: bool
) -> tuple[dict[str, int], tuple[str, ...]]:
    lines, bad = (
        frame.select(pl.len(), pl.col("bad").is_not_null().sum()).collect(engine="streaming").row(0)
    )
    if lines == 0:
        raise InputError(f"{label} has a header but no rows: there is no log to read.")
    if bad == 0:
        return {"lines": lines, "bad": 0}, ()
    first = frame.filter(pl.col("bad").is_not_null()).select("row", "bad").head(_SHOWN)
    rows = first.collect(engine="streaming").sort("row")
    where = "; ".join(
        f"{file} line {line}, {column} ({module.expected.get(column, 'not readable')})"
        for (file, line), column in zip(source.locate(rows["row"]), rows["bad"], strict=True)
    )
    message = f"{bad:,} of {lines:,} lines could not be read as {name}. The first: {where}."
    if bad > BAD_SHARE * lines and not allow_bad:
        raise InputError(
            f"{label}: {message} That is more than {BAD_SHARE:.0%}: check --format and --columns, or "
            f"leave these lines out with --allow-bad."
        )
    if bad == lines:
        raise InputError(f"{label}: {message} No line is left.")
    return {"lines": lines, "bad": bad}, (f"{message} They were left out.",)


def _unreadable(label: str, module: ModuleType) -> InputError:
    name = module.__name__.rpartition(".")[2]
    return InputError(f"{label} cannot be read as {name}. Check the file and --format.")
