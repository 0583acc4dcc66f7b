"""Reading: find the format, parse, count the lines that could not be read, say where they are."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl

from coterie.core import registry
from coterie.core.files import STDIN, compression, expand, head, home_of, refuse_folders
from coterie.core.log import Log, Step
from coterie.core.parts import Part, listed_parts, refuse_other_parts
from coterie.core.people import ADDRESS_AND_AGENT, cautions
from coterie.core.progress import Progress
from coterie.core.scratch import Scratch, disk_is_full
from coterie.core.shapes import NORMAL, QUERIES, Shape
from coterie.errors import CoterieError, InputError, NoRowsError
from coterie.formats import documents, table, ubi
from coterie.formats._guess import nearly_unique
from coterie.formats._options import Options
from coterie.formats._searches import search_log
from coterie.formats._source import Loaded, Source, full_disk
from coterie.formats._values import without_apostrophe
from coterie.text.spelling import is_normal

_LOGGER = logging.getLogger("coterie")
BAD_SHARE = 0.01  # more bad lines than this and the format is probably wrong
_ZEROS = 3  # at least one character of so many is zero in UTF-16
_SHOWN = 5  # bad lines that a message names
_INVISIBLE = r"\p{Cf}+"  # zero-width and other format characters
_UBI = (
    '"user_query"'  # in the first line of releases of this kind, and of no other: inside of values quotes are escaped
)
_UNREADABLE = "\ufffd"  # stands for bytes that are no text, in lines that are looked at
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_CONTROLS = 0.02  # of the characters; one of nine where bytes are random
_CONVERT = (
    "Where text is Latin-1 or Windows-1252, as spreadsheets and older programs write it, convert it first: "
    "iconv -f latin1 -t utf-8 FILE > NEW (or -f windows-1252)."
)
_NOT_ASCII = r"[^\x00-\x7f]"
_WHOLE_NUMBER = r"^0*([0-9]+)(?:\.0+)?$"
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


def read(
    patterns: Sequence[str | Path],
    *,
    format: str | None = None,
    options: Options | None = None,
    allow_bad: bool = False,
    progress: Progress | None = None,
) -> Log:
    """A log from files, globs or standard input (`-`).

    `progress` hears which share of the bytes is read.
    """
    options = options or Options()
    paths = expand(patterns, folders=True)
    source, name = source_of(paths, format, options, progress)
    options.refuse_unused(name, source.label)
    module = registry.complete("formats", name, registry.module("formats", name))
    parsed = _settle(module, name, source, options)
    notes = _judge(parsed, module.expected, name, source, allow_bad)
    source.forget_unpacked()
    # Where no line is bad, later passes need not parse the columns that could make one bad.
    good = parsed.frame.filter(pl.col("bad").is_null()) if parsed.bad else parsed.frame
    frame = _rows_of(good, parsed.loaded)
    people = _people(frame, parsed.loaded, options, source.label)
    log = log_of(
        parsed._replace(frame=frame),
        options,
        people,
        notes,
        resources=(source.folder,),
        sources=source.given,
        home=None if (home := home_of(paths)) is None else home.absolute(),
    )
    return log if options.query_param is None else search_log(log, options.query_param)


def log_of(parsed: Parsed, options: Options, people: People, notes: tuple[str, ...] = (), **further: Any) -> Log:
    """The log of rows that could be read, wherever they are; `notes` are about those that could not."""
    loaded, shape = parsed.loaded, parsed.loaded.shape
    counts = {"lines": parsed.lines, "bad": parsed.bad, **loaded.counts}
    notes = (*notes, *loaded.notes, *remarks_of(parsed), *people.notes)
    reading = replace(options, columns=loaded.columns or options.columns).said(loaded.settings)
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


def format_of(path: Path, options: Options | None = None) -> str:
    """The name of the format of a file, as `read` finds it."""
    return source_of([path], None, options or Options())[1]


def source_of(
    paths: Sequence[Path], format: str | None, options: Options, progress: Progress | None = None
) -> tuple[Source, str]:
    """The input, and the name of its format: some are known by their files, most by their first lines."""
    if len(paths) == 1 and paths[0].is_dir() and (parts := listed_parts(paths[0])):
        refuse_other_parts(paths[0], parts)
        source = Source.of_parts(paths[0], [part.name for part in parts])
        return source, _known_format(source, format, options, {})
    sure: dict[str, float] = {}
    if format is None and STDIN not in map(str, paths):
        sure = {name: _sureness_by_files(name, paths) for name in registry.names("formats")}
    surest = max(sure, key=sure.__getitem__, default="")
    name = surest if sure.get(surest) == 1 else format
    if name is not None and hasattr(module := registry.module("formats", name), "sniff_files"):
        if format is None:
            _refuse_logs(module.first_lines(paths), paths, name)
        return Source(paths, whole=True, progress=progress), name
    if len(paths) == 1 and paths[0].is_dir() and format is None:
        raise InputError(
            f"{paths[0]} is a folder, and no file in it is named as documents are (.txt, .md, .html, .pdf). Give the "
            f"files of a log themselves, for example '{paths[0]}/*'; or say --format documents."
        )
    refuse_folders(paths)
    source = Source(paths, progress=progress)
    return source, _known_format(source, format, options, sure)


def _known_format(source: Source, format: str | None, options: Options, sure: Mapping[str, float]) -> str:
    """The format of lines, which somebody said, or which they show."""
    first = source.head()
    # One such byte may be part of a value; in UTF-16 nearly every other one is zero. Documents may be written so.
    full = bool(first) and first[0].count("\0") * _ZEROS > len(first[0])
    if full and not any(sure.values()) and table.kind_of(first) != "parquet":
        raise InputError(
            f"{source.label} is not UTF-8: its first line is full of bytes of zero, as in UTF-16 (what Excel calls "
            f"Unicode text). Write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8."
        )
    if not first:
        verb = "is" if len(source.names) == 1 else "are"
        raise NoRowsError(f"{source.label} {verb} empty: there is no log to read.")
    return format or _sniff(source, options, sure)


def _refuse_logs(lines: list[str], paths: Sequence[Path], format: str) -> None:
    """Raise InputError where a folder or an archive holds a log that another format knows."""
    others = {name: _sureness(name, lines) for name in registry.names("formats") if name != format} if lines else {}
    name = max(others, key=others.__getitem__, default="")
    if others.get(name):
        where = f"{paths[0].name} holds" if len(paths) == 1 else "They hold"
        raise InputError(
            f"{where} what looks like logs ({name}). Give their files, for example 'FOLDER/*'; or say --format "
            f"{format} where they are documents."
        )


def released_kind(path: Path) -> tuple[str, str | None]:
    """What a released file is by its bytes: tsv, csv, parquet, jsonl or ubi, and gz or zst where it is compressed."""
    return _released_kind(head(path)), compression(path)


def _released_kind(lines: list[str]) -> str:
    if lines and lines[0].lstrip().startswith("{") and _UBI in lines[0]:
        return "ubi"
    kind = table.kind_of(lines) if lines else "jsonl"
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
        parsed = _settle(ubi, "ubi", source, Options(shape=shape))
        source.forget_unpacked()
        rows = parsed.frame.sort("row").drop("row", NORMAL, strict=False)
        return rows, shape, list(shape.released), (source.folder,)
    names = table.column_names(source, thorough)
    if not source.head():
        schema = {name: shape.schema[name] for name in shape.released}
        return pl.LazyFrame(schema=schema | {"bad": pl.String}), shape, [], ()
    parsed = _settle(table, "table", source, Options(shape=shape))
    source.forget_unpacked()
    frame = parsed.frame.drop("row", NORMAL, strict=False)
    if csv_safe:
        frame = frame.with_columns(without_apostrophe(pl.col(pl.String).exclude("bad")))
    return frame, parsed.loaded.shape, names, (source.folder,)


def table_log(data: Any, options: Options | None = None) -> Log:
    """A log from a polars, pandas or Arrow table; a table of texts becomes vectors of terms."""
    given, options, scratch = _as_polars(data), options or Options(), Scratch()
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
    people = _people(rows, loaded, options, "The table")
    return log_of(Parsed(loaded, rows, given.height, 0), options, people)


def settings_of(loaded: Loaded, options: Options) -> dict[str, int | str | Mapping[str, str] | tuple[str, ...]]:
    """What the rows depend on, and everybody may know."""
    said: dict[str, Any] = {"columns": dict(loaded.columns), "details": options.named_details}
    said |= {"user_field": options.user_field, "date": options.date, "counted": loaded.counted}
    return {**loaded.settings, **{name: value for name, value in said.items() if value}}


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


class People(NamedTuple):
    """What is to be said about those whom k counts."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _people(frame: pl.LazyFrame, loaded: Loaded, options: Options, label: str) -> People:
    """Notes and warnings about whom k counts; raises where a column was guessed that names rows rather than people.

    Things that have owners are no people, and their names are not read.
    """
    shape = loaded.shape
    column = shape.owner or shape.subject
    if column not in frame.collect_schema():
        return People()
    counts = frame.select(column).drop_nulls().group_by(column).len().collect(engine="streaming")
    if shape.owner:
        return People(look_alikes(counts[column], column))
    alike = look_alikes(counts[column], shape.subject_noun)
    return who_is_counted(int(counts["len"].sum()), counts.height, alike, loaded, options, label)


def who_is_counted(
    rows: int, different: int, alike: tuple[str, ...], loaded: Loaded, options: Options, label: str
) -> People:
    """What is to be said of so many different names in so many rows; raises where a guessed column names no people."""
    shape = loaded.shape
    warnings = cautions(settings_of(loaded, options))
    if not nearly_unique(rows, different):
        return People(alike, warnings)
    chosen = loaded.guessed_subject or (loaded.counted if loaded.counted != ADDRESS_AND_AGENT else "")
    # Asked once: rows that follow others, as in a gate, are read as those were.
    if chosen and options.guess:  # by us, and not by whoever knows the log
        option = f"--columns {shape.subject}=NAME" if loaded.guessed_subject else "--user-field NAME"
        raise no_people(f"{label}: {chosen!r}", shape, rows, different, option)
    return People(
        alike,
        (
            *warnings,
            # Without the numbers: a warning goes into what is published.
            f"there are more than half as many {shape.subject_nouns} as rows: what names them may be the number of a "
            f"request or a visit. "
            f"Then one person counts several times, and fewer than k people may stand behind k",
        ),
    )


def no_people(what: str, shape: Shape, rows: int, different: int, option: str) -> InputError:
    """The question where a column that nobody named has so many different values that it may not name people."""
    return InputError(
        f"{what} would say who the {shape.subject_nouns} are, but it has {different:,} different values in {rows:,} "
        f"rows, as numbers of requests or visits do, and k has to count people. Say what names them (this one too, "
        f"where it does): {option}."
    )


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


def _sniff(source: Source, options: Options, by_files: Mapping[str, float]) -> str:
    if options.columns or options.details:
        return "documents" if "text" in options.columns else "table"
    head = source.head()
    sure = {name: max(_sureness(name, head), by_files.get(name, 0)) for name in registry.names("formats")}
    most = max(sure.values())
    surest = [name for name, value in sure.items() if value == most]
    if most > 0 and len(surest) == 1:
        return surest[0]
    if most > 0:
        raise InputError(
            f"{source.label} could be of the formats {' and '.join(surest)}. Say which one it is with --format."
        )
    if _is_no_text(head):
        raise InputError(f"{source.label} is no text: it holds bytes that no log has. Check that it is the right file.")
    if any(_UNREADABLE in line for line in head):
        line = next(number for number, line in enumerate(head, start=1) if _UNREADABLE in line)
        raise InputError(
            f"{source.label} is not UTF-8 (line {line}, blank ones not counted), and none of the known formats fits "
            f"its first line. {_CONVERT}"
        )
    raise InputError(
        f"{source.label}: none of the known formats fits its first line "
        f"({', '.join(registry.names('formats'))}). {table.columns_listed(source)}Name it with --format, or say which "
        f"columns of a table hold what with --columns user=NAME,query=NAME (of documents doc=NAME,text=NAME)."
    )


def _is_no_text(head: Sequence[str]) -> bool:
    """Whether there are more characters without a meaning in text than a damaged log has."""
    characters = sum(map(len, head))
    strange = sum(map(len, map(_CONTROLS.findall, head)))
    return strange > _MOST_CONTROLS * characters


def _sureness_by_files(name: str, paths: Sequence[Path]) -> float:
    """How sure a format is by the files themselves; 0 for most, which have to see lines."""
    try:
        can_tell = hasattr(registry.module("formats", name), "sniff_files")
    except Exception:  # it is told of when lines are looked at
        return 0.0
    return _sureness(name, paths, "sniff_files") if can_tell else 0.0


def _sureness(name: str, given: Sequence[Any], hook: str = "sniff") -> float:
    """How sure a format is; 0 for one that fails, for a format of a third party must not break those of others."""
    try:
        sure = getattr(registry.module("formats", name), hook)(given)
    except Exception:  # whatever it says may hold a line of the log
        _LOGGER.warning("The format %s failed when it was asked about a file, and was left out.", name)
        return 0.0
    if isinstance(sure, (int, float)) and 0 <= sure <= 1:
        return float(sure)
    _LOGGER.warning("The format %s did not say how sure it is by a number from 0 to 1, and was left out.", name)
    return 0.0


def _settle(module: ModuleType, name: str, source: Source, options: Options) -> Parsed:
    """Parsed rows that can be read several times.

    The fast way gives up where the bytes are not as they should be, for instance not valid text;
    the second attempt takes the slower way that marks such lines as bad.
    """
    for _attempt in ("fast", "damaged"):
        try:
            return _load(module.load(source, options), name, source)
        except _FAILURES as error:
            if disk_is_full(error):
                raise full_disk(source.folder.path) from None
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
            f"it for a newer one; coterie/formats/excite.py shows what a format gives."
        )
    frame = complete(loaded)
    every: list[pl.Expr] = []
    if loaded.columnar:
        # The null counts make this pass read every column, so that no later one meets damage.
        every = [pl.col(name).null_count() for name in loaded.shape.readable if name in frame.collect_schema()]
    elif source.is_small:  # and read at once
        frame = frame.collect(engine="streaming").lazy()
    else:
        spool = source.spool("rows.parquet")
        if NORMAL in loaded.shape.schema:
            frame = frame.with_columns(is_normal(pl.col(loaded.shape.item)).alias(NORMAL))
        frame = source.counting_lines(frame)
        frame.sink_parquet(spool, compression="uncompressed", statistics=False, engine="streaming")
        frame = pl.scan_parquet(spool, glob=False)
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


def look_alikes(names: pl.Series, noun: str) -> tuple[str, ...]:
    """Nothing, or a note that some of these distinct names may be the same people, who would be counted twice."""
    names = names.drop_nulls()
    alike = names.to_frame().select(folded(pl.col(names.name))).to_series().is_duplicated().sum()
    return told_alike(int(alike), len(names), noun)


def folded(name: pl.Expr) -> pl.Expr:
    """A name without what the eye does not see: those that then are equal may be the same people."""
    strange = pl.when(name.str.contains(_NOT_ASCII)).then(name)  # few of many; the others have nothing to unfold
    bare = pl.coalesce(strange.str.replace_all(_INVISIBLE, "").str.normalize("NFKC"), name)
    return bare.str.to_lowercase().str.strip_chars().str.replace(_WHOLE_NUMBER, "${1}")


def told_alike(alike: int, different: int, noun: str) -> tuple[str, ...]:
    """Nothing, or a note that so many of the names look like another one."""
    if not alike:
        return ()
    return (
        f"{alike:,} of {different:,} {noun} names look like another one: they differ only in capitals, characters "
        f"that cannot be seen, the width of characters, leading zeros or a .0 at the end. Each counts as a person. "
        f"Where they are the same people, give each of them one name before you anonymize: otherwise fewer than k "
        f"people may stand behind k names.",
    )


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
    convert = f" {_CONVERT}" if "encoding" in rows["bad"] else ""
    if bad > BAD_SHARE * lines and not allow_bad:
        raise InputError(
            f"{source.label}: {message} That is more than {BAD_SHARE:.0%}: check --format and "
            f"--columns, or leave these {loaded.unit}s out with --allow-bad.{convert}"
        )
    if bad == lines:
        raise InputError(f"{source.label}: {message} No {loaded.unit} is left.{convert}")
    return (f"{message} They were left out.{convert}",)
