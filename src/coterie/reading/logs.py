"""Logs: parse, count the lines that could not be read, say where they are."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl

from coterie.core import registry
from coterie.core.digests import Part
from coterie.core.files import Opening, Scratch, disk_is_full, expand, home_of
from coterie.core.log import Log, Step
from coterie.core.shapes import NORMAL, QUERIES, VISITS, Shape
from coterie.core.threads import Progress
from coterie.errors import CoterieError, InputError, NoRowsError
from coterie.reading.formats import documents, table, ubi
from coterie.reading.people import People, people_in
from coterie.reading.reading import Reading
from coterie.reading.searches import search_log
from coterie.reading.sniff import CONVERT, kind_of, source_of
from coterie.reading.source import Loaded, Source, computed, full_disk, settings_of
from coterie.reading.values import without_apostrophe
from coterie.text.words import is_normal

_LOGGER = logging.getLogger("coterie")
BAD_SHARE = 0.01  # more bad lines than this and the format is probably wrong
_SHOWN = 5  # bad lines that a message names
_UBI = '"user_query"'  # in the first line of such releases, and of no other: inside of values quotes are escaped
_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


class Parsed(NamedTuple):
    """What was loaded, its rows where they can be read several times, and how many there are."""

    loaded: Loaded
    frame: pl.LazyFrame
    """All columns of the shape, `bad`, and `remark` where there are remarks."""
    lines: int
    bad: int
    remarked: tuple[int, ...] = ()
    """How many good lines each remark is about."""


def read(patterns: Sequence[str | Path], options: Reading | None = None, *, progress: Progress | None = None) -> Log:
    """A log from files, globs or standard input (`-`).

    `progress` hears which share of the bytes is read.
    """
    options = options or Reading()
    paths = expand(patterns, folders=True)
    source, name = source_of(paths, options, progress)
    options = options.fitting(name)
    options.refuse_unused(name, source.label)
    module = registry.complete("formats", name, registry.module("formats", name))
    parsed = _settle(module, name, source, options)
    notes = _judge(parsed, module.expected, name, source, options.allow_bad)
    source.forget_unpacked()
    # Where no line is bad, later passes need not parse the columns that could make one bad.
    good = parsed.frame.filter(pl.col("bad").is_null()) if parsed.bad else parsed.frame
    frame = _rows_of(good, parsed.loaded)
    people = people_in(frame, parsed.loaded, options, source.label)
    log = log_of(
        parsed._replace(frame=frame),
        options,
        people,
        notes,
        resources=(source.folder,),
        sources=source.given,
        home=None if (home := home_of(paths)) is None else home.absolute(),
    )
    if log.shape is not VISITS and "query_param" in options.borrowed:  # the searches themselves, as in an audit
        return log
    return log if options.query_param is None else search_log(log, options.query_param)


def log_of(parsed: Parsed, options: Reading, people: People, notes: tuple[str, ...] = (), **further: Any) -> Log:
    """The log of rows that could be read, wherever they are; `notes` are about those that could not."""
    loaded, shape = parsed.loaded, parsed.loaded.shape
    counts = {"lines": parsed.lines, "bad": parsed.bad, **loaded.counts}
    notes = (*notes, *loaded.notes, *remarks_of(parsed), *people.notes)
    reading = replace(options, columns=loaded.columns or options.columns).digested(loaded.settings)
    return Log(
        frame=parsed.frame,
        shape=shape,
        history=(Step(name="read", counts=counts, notes=notes),),
        reading=reading if "sources" in further else "",
        settings=settings_of(loaded, options),
        guessed=loaded.guessed,
        warnings=people.warnings,
        may_count=loaded.may_count,
        **further,
    )


def released_kind(path: Path) -> tuple[str, str | None]:
    """What a released file is by its bytes: tsv, csv, parquet, jsonl or ubi, and gz or zst where it is compressed."""
    opening = Opening(path)
    return _released_kind(opening.lines), opening.compression


def _released_kind(lines: list[str]) -> str:
    if lines and lines[0].lstrip().startswith("{") and _UBI in lines[0]:
        return "ubi"
    kind = kind_of(lines) if lines else "jsonl"
    return "jsonl" if kind == "json" else kind


def read_release(
    path: Path,
    shape: Shape = QUERIES,
    thorough: bool = True,
    csv_safe: bool = False,
    parts: Sequence[Part] = (),
    progress: Progress | None = None,
) -> tuple[pl.LazyFrame, Shape, list[str], tuple[object, ...]]:
    """A released file, or folder of parts, as it is: rows with `bad`, shape, the columns it really has, resources.

    `shape`, `csv_safe` and `parts` are what its sidecar tells; a file without any line is what jsonl makes of a release
    without rows.
    """
    source = Source.of_parts(path, [part.name for part in parts]) if parts else Source(expand([path]))
    source.progress = progress
    if shape.of_log is QUERIES and not parts and _released_kind(source.head()) == "ubi":
        parsed = _settle(ubi, "ubi", source, Reading(shape=shape))
        source.forget_unpacked()
        rows = parsed.frame.sort("row").drop("row", NORMAL, strict=False)
        return rows, shape, list(shape.released), (source.folder,)
    names = table.column_names(source, thorough)
    if not source.head():
        schema = {name: shape.schema[name] for name in shape.released}
        return pl.LazyFrame(schema=schema | {"bad": pl.String}), shape, [], ()
    parsed = _settle(table, "table", source, Reading(shape=shape))
    source.forget_unpacked()
    frame = parsed.frame.drop("row", NORMAL, strict=False)
    if csv_safe:
        frame = frame.with_columns(without_apostrophe(pl.col(pl.String).exclude("bad")))
    return frame, parsed.loaded.shape, names, (source.folder,)


def table_log(data: Any, options: Reading | None = None) -> Log:
    """A log from a polars, pandas or Arrow table; a table of texts becomes vectors of terms."""
    given, options, scratch = _as_polars(data), options or Reading(), Scratch()
    of_texts = documents.is_table_of_texts(given.columns, options)
    options.refuse_unused("documents" if of_texts else "table", "The table")
    loaded = documents.from_frame(given, options, scratch.path) if of_texts else table.from_frame(given, options)
    shape = loaded.shape
    try:
        frame = complete(loaded).collect()
    except _FAILURES:
        raise InputError("The table cannot be read: all text must be UTF-8.") from None
    bad = frame.filter(pl.col("bad").is_not_null()).select("row", "bad")
    if bad.height:
        row, column = bad.row(0)
        expected = {**table.expected, **documents.expected}
        raise InputError(
            f"{bad.height} of {given.height} rows cannot become a {shape.name} row; the first is "
            f"row {row}, column {column!r} ({expected.get(column, 'not readable')})."
        )
    rows = _rows_of(frame.lazy(), loaded)
    people = people_in(rows, loaded, options, "The table")
    return log_of(Parsed(loaded, rows, given.height, 0), options, people)


def _rows_of(good: pl.LazyFrame, loaded: Loaded) -> pl.LazyFrame:
    """The rows of a log from those that could be read: each subject and item once, where they have weights."""
    shape = loaded.shape
    frame = good.select(name for name in good.collect_schema() if name in shape.schema)
    if not shape.weight:
        return frame
    if not loaded.distinct:
        frame = shape.once(frame).collect(engine="streaming").lazy()
    if shape.owner in frame.collect_schema():
        owners = frame.select(shape.subject, shape.owner).unique().group_by(shape.subject).len()
        several = int(owners.select((pl.col("len") > 1).sum()).collect(engine="streaming").item())
        if several:
            raise InputError(
                f"{several:,} of the values of {shape.subject!r} have more than one {shape.owner}, or one in some rows "
                f"only. Each must belong to one: give the same {shape.owner} in all of its rows."
            )
    return frame


def _as_polars(data: Any) -> pl.DataFrame:
    twice = False
    try:
        if isinstance(data, pl.LazyFrame):
            return data.collect()
        if type(data).__module__.startswith("pandas"):
            # People make what names a row its index, such as the user.
            data = data.reset_index() if any(data.index.names) else data
            twice = not data.columns.is_unique
            data = data if twice else pl.from_pandas(data)
        elif not isinstance(data, pl.DataFrame) and hasattr(data, "__arrow_c_stream__"):
            data = pl.DataFrame(data)
    except Exception:  # of pandas, Arrow or Polars; their messages hold values
        raise InputError("The table cannot be read: a column holds values of mixed types.") from None
    if twice:
        raise InputError("The table has two columns of one name. Give each column a name of its own.")
    if isinstance(data, pl.DataFrame):
        return data
    raise InputError(f"A log is made from a polars, pandas or Arrow table, not from {type(data).__name__}.")


def _settle(module: ModuleType, name: str, source: Source, options: Reading) -> Parsed:
    """Parsed rows that can be read several times.

    The fast way gives up where the bytes are not as they should be, for instance not valid text;
    the second attempt takes the slower way that marks such lines as bad.
    """
    for _attempt in ("fast", "damaged"):
        try:
            return _load(module.load(source, options), name, source)
        except _FAILURES as error:
            if how := disk_is_full(error):
                raise full_disk(source.folder.path, how) from None
            source.expect_damage()
        except CoterieError:
            raise
        except Exception:
            if module.__name__.startswith("coterie."):
                raise
            raise InputError(
                f"{source.label} cannot be read: the format {name}, which is not part of Coterie, failed. Tell those "
                f"who made it, or name another with --format."
            ) from None
    raise InputError(f"{source.label} cannot be read as {name}. Check the file and --format.")


def _load(loaded: object, name: str, source: Source) -> Parsed:
    """Lines are parsed here and never again: every later pass, of which there are many, reads the copy."""
    if not isinstance(loaded, Loaded):
        raise InputError(
            f"The format {name} gave no Loaded table: it was made for another version of Coterie. Ask those who made "
            f"it for a newer one; coterie/reading/formats/excite.py shows what a format gives."
        )
    frame = complete(loaded)
    every: list[pl.Expr] = []
    if loaded.columnar:
        # The null counts make this pass read every column, so that no later one meets damage.
        every = [pl.col(name).null_count() for name in loaded.shape.readable if name in frame.collect_schema()]
    elif source.is_small:  # and read at once
        frame = computed(frame, None)
    else:
        if NORMAL in loaded.shape.schema:
            frame = frame.with_columns(is_normal(pl.col(loaded.shape.item)).alias(NORMAL))
        frame = computed(source.counting_lines(frame), source.spool("rows.parquet"))
    good = pl.col("bad").is_null()
    remarked = [
        (good & (pl.col("remark") // 2**bit % 2 == 1)).sum().alias(f"_{bit}") for bit in range(len(loaded.remarks))
    ]
    counts = frame.select(pl.len().alias("_lines"), pl.col("bad").count(), *remarked, *every)
    lines, bad, *numbers = counts.collect(engine="streaming").row(0)
    lines = lines if loaded.units is None else loaded.units
    return Parsed(loaded, frame, lines, bad, tuple(numbers[: len(remarked)]))


def remarks_of(parsed: Parsed) -> Iterator[str]:
    """A note for each remark that is about some line."""
    for count, (text, least) in zip(parsed.remarked, parsed.loaded.remarks.values(), strict=True):
        if count and count >= least * parsed.lines:
            yield f"{count:,} of {parsed.lines:,} lines: {text}"


def complete(loaded: Loaded) -> pl.LazyFrame:
    """All columns of the shape in their order; those that the format lacks are null.

    Names of people are trimmed: else `7` and `7 ` would be two people, and a space one more.
    """
    frame, shape = loaded.frame, loaded.shape
    have = frame.collect_schema().names()
    missing = [
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in shape.schema.items()
        if name not in have and name not in shape.private
    ]
    names = [name for name in shape.schema if name in have or name not in shape.private]
    frame = frame.with_columns(missing)
    for column in filter(None, (shape.subject, shape.owner)):
        if column in names:
            frame = frame.with_columns(pl.col(column).str.strip_chars())
            frame = frame.with_columns(pl.when(pl.col(column) != "").then(column).alias(column))
    # Bad lines are told by their number, also where rows of the shape have none.
    return frame.select(*names, *([] if "row" in names else ["row"]), "bad", *(["remark"] if loaded.remarks else []))


def _judge(
    parsed: Parsed, expected: Mapping[str, str], name: str, source: Source, allow_bad: bool
) -> tuple[str, ...]:  # fmt: skip
    """Nothing, or a note about bad lines; raises where there are too many."""
    loaded, frame, lines, bad, _ = parsed
    if lines == 0:
        raise NoRowsError(f"{source.label}: there are no rows (at most a header), so there is no log to read.")
    if bad == 0:
        return ()
    first = frame.filter(pl.col("bad").is_not_null()).select("row", "bad").sort("row").head(_SHOWN)
    rows = first.collect(engine="streaming")
    where = "; ".join(
        f"{place}, {column} ({expected.get(column, 'not readable')})"
        for place, column in zip(source.locate(rows["row"], loaded.sections), rows["bad"], strict=True)
    )
    message = f"{bad:,} of {lines:,} {loaded.unit}s could not be read as {name}. The first: {where}."
    convert = f" {CONVERT}" if "encoding" in rows["bad"] else ""
    if bad > BAD_SHARE * lines and not allow_bad:
        raise InputError(
            f"{source.label}: {message} That is more than {BAD_SHARE:.0%}: check --format and "
            f"--columns, or leave these {loaded.unit}s out with --allow-bad.{convert}"
        )
    if bad == lines:
        raise InputError(f"{source.label}: {message} No {loaded.unit} is left.{convert}")
    return (f"{message} They were left out.{convert}",)
