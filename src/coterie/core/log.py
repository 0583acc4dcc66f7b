"""Log and Release: a table with its shape and what has happened to it.

Frames are lazy. The lines of a log are parsed once. Where they are many, their rows are in a private file that goes
with the log, and each verb streams from there, so that 36 million lines never have to fit into memory. Representations
show counts and names, never a value.

A log can be split in two: a release is made of one part and judged by the other, which no method has seen. In time:
what each user searched for earlier, and what they searched for later. In halves: some documents, and others.

Groups of an earlier release, for another release of the same log: the same groups, or unions of them. Two releases with
different groups can be laid side by side; two on the same groups, or on unions of them, cannot. A run record tells who
was in which group. Groups are known by a digest, and a run keeps the digests of those that its own are unions of, so
that a history can tell releases that go together from others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from coterie.core import randomness
from coterie.core.digests import sha256_of
from coterie.core.promise import Check, Promise, Verdict
from coterie.core.run import HERE, Engine
from coterie.core.shapes import GROUPS, Shape
from coterie.core.wording import html_table, noun_in, person_in, several
from coterie.errors import InputError, MissingError, in_python

if TYPE_CHECKING:
    import pandas as pd


GROUPS_DIGEST, GROUPS_OF = "groups", "groups_of"
"""What a run calls the digest of its groups, and the digests of those that they are unions of, the nearest first."""
_DAMAGED = "The table of subjects in the run record is damaged: use the record as it was written with the release."
_SLICE = 100_000  # rows that are text at once
_NOT_STEPS = ("read", "synth")  # entries of a history that are no prepare steps


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that was done to a log, with counts."""

    name: str
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Log:
    """A table of a known shape, and its history."""

    frame: pl.LazyFrame
    """Lazy rows. They may live in a file that goes once nobody has this log, these rows or others made of them."""
    shape: Shape
    history: tuple[Step, ...] = ()
    resources: tuple[object, ...] = ()
    """What must live as long as the frame, such as a folder with spooled rows."""
    sources: tuple[Path, ...] = ()
    """The files it was read from."""
    home: Path | None = None
    """The file or folder of its owner that it was read from: the list of its releases lies beside it."""
    reading: str = ""
    """How they were read, where that was said: columns, user field, date, parameter."""
    engine: Engine = HERE
    """Where the rows live."""
    settings: Mapping[str, int | str | Mapping[str, str] | tuple[str, ...]] = field(default_factory=dict)
    """What of it everybody may know, and must say to read the same rows: columns, numbers, a parameter of addresses."""
    guessed: bool = False
    """Whether it was found out by looking at rows which of their columns hold what."""
    warnings: tuple[str, ...] = ()
    """What everybody should know who uses a release of it: whom k counts, where it may not be people."""
    may_count: str = ""
    """Fields by which its format may tell people apart, separated by commas: the same, whatever is in the rows."""

    def __post_init__(self) -> None:
        if self.resources:
            object.__setattr__(self, "frame", self.engine.hold(self.frame, self.resources))
        self.shape.check(self.frame)

    def __repr__(self) -> str:
        steps = ", ".join(step.name for step in self.history) or "no steps"
        return f"Log({self.shape.name}; {steps})"

    def _repr_html_(self) -> str:
        """What a notebook shows: where rows come from, and what was done to them."""
        rows = [("rows read", f"{self.rows_read:,}")] if self.rows_read else []
        steps = ", ".join(step.name for step in self.history) or "none"
        columns = ", ".join(self.shape.released)
        said = in_python(" ".join((*self.notes, *(f"{text[0].upper()}{text[1:]}." for text in self.warnings))))
        return html_table(f"Log: {self.shape.doc}", [*rows, ("columns", columns), ("steps", steps)], said)

    def then(self, frame: pl.LazyFrame, step: Step) -> Log:
        """This log after one more step."""
        return replace(self, frame=frame, history=(*self.history, step))

    def told(self, *, private: bool) -> dict[str, Any]:
        """What a release says about how its log was read; a `private` one nothing that a single row can change.

        By which field people were counted is such a thing: one person without an account may be the only one of that
        kind. All fields that the format may take are none.
        """
        if not private:
            return dict(self.settings)
        said = {name: value for name, value in self.settings.items() if name != "counted"}
        return {**said, "told_apart_by": self.may_count} if self.may_count else said

    @property
    def plain(self) -> Log:
        """This log without further details."""
        if not self.shape.further:
            return self
        return replace(self, frame=self.frame.drop(self.shape.further, strict=False), shape=self.shape.with_details(()))

    @cached_property
    def file_digests(self) -> tuple[str, ...]:
        """The SHA-256 of each file it was read from."""
        return sha256_of(self.sources)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the files it was read from, and of how; where there are none, of its rows, in any order."""
        if self.sources:
            return digest_of(self.file_digests, self.reading)
        whole = hashlib.sha256()
        have = self.frame.collect_schema()
        columns = [name for name in self.shape.readable if name in have]
        rows_in_order = self.engine.sort(self.engine.each(self.frame, lambda rows: rows.select(columns)), columns)
        for rows in self.engine.parts(rows_in_order):
            for part in rows.iter_slices(_SLICE):
                whole.update(part.write_csv(include_header=False).encode())
        return whole.hexdigest()

    @property
    def steps(self) -> tuple[str, ...]:
        """The prepare steps that were applied, in order, as they are written: `sessions(minutes=10)`."""
        return tuple(step.name for step in self.history if step.name not in _NOT_STEPS)

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know about how it was read and prepared."""
        return tuple(note for step in self.history for note in step.notes)

    @property
    def in_lines(self) -> bool:
        """Whether rows are numbered in the order of their lines: on a cluster they have numbers in no order."""
        return self.engine.in_lines

    @property
    def named(self) -> bool:
        """Whether any row says whose it is."""
        name = self.shape.subject
        one_each = self.engine.each(self.frame, lambda rows: rows.select(name).drop_nulls().head(1))
        return any(part.height for part in self.engine.parts(one_each))  # which come only until one is there

    @property
    def rows_read(self) -> int:
        """How many rows it had when it was read: its lines, the searches in them, or the terms of its documents."""
        read = [step.counts for step in self.history if step.name == "read"]
        return sum(c.get("terms", c.get("searches", c.get("lines", 0) - c.get("bad", 0))) for c in read)

    @property
    def synthetic(self) -> bool:
        """Whether the rows are made up, so that their values may be shown."""
        return any(step.name == "synth" for step in self.history)

    def counted(self, numbers: Sequence[pl.Expr]) -> pl.DataFrame:
        """Numbers of the rows that add up over parts, in one line; counted where the rows are."""
        return self.engine.total(self.frame, lambda rows: rows.select(numbers))

    def to_polars(self) -> pl.DataFrame:
        """The rows, without the columns that are private to Coterie."""
        return self.frame.select(self.shape.released).collect(engine="streaming")

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        try:
            import_module("pandas")
            import_module("pyarrow")
        except ModuleNotFoundError as error:
            raise MissingError(
                f"A pandas frame needs the package {error.name}, which is not installed: install coterie[pandas], or "
                "use to_polars()."
            ) from None
        return self.to_polars().to_pandas()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Record:
    """The private record of a run: who became whom. It undoes the release, so it stays at home."""

    run: Mapping[str, Any]
    subjects: pl.LazyFrame
    """original, released, group; one line for each original subject and released name."""
    rows: pl.LazyFrame | None = None
    """row, released_row; for methods that keep rows."""
    tables: Mapping[str, pl.LazyFrame] = field(default_factory=dict)
    """The evidence of the plan: tables that promises of the release name."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The prepare steps of the run, as they were written."""
        return tuple(step["name"] for step in self.run.get("history", ()) if step["name"] not in _NOT_STEPS)

    @property
    def evidence(self) -> dict[str, pl.LazyFrame]:
        """What judges may look into."""
        rows = {} if self.rows is None else {"rows": self.rows}
        return {**self.tables, **rows, "subjects": self.subjects}

    def __repr__(self) -> str:
        return f"Record(rows: {'kept' if self.rows is not None else 'not kept'})"


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Where a release is listed when it is written: the private list of its log's releases (writing/history.py)."""

    path: Path
    log_name: str
    digest: str
    """Of the log."""
    beside: bool = False
    """Whether it is beside the log because nobody said where: then a folder that takes no file is no reason to stop."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """Rows that may leave the house, what they promise, and the checks that were made."""

    log: Log
    promises: tuple[Promise, ...]
    method: str
    params: Mapping[str, Any]
    checks: tuple[Check, ...] = ()
    warnings: tuple[str, ...] = ()
    record: Record | None = None
    sha256: str = ""
    """Of the file it was loaded from; empty for a release that was not written yet."""
    path: Path | None = None
    """The file it was loaded from."""
    regime: str = ""
    """The regime whose settings were used; empty where none was named."""
    changed: tuple[str, ...] = ()
    """The settings that are not those of the regime."""
    verified: str = ""
    """Digest of the rows that were checked; nothing else can be written."""
    listing: Listing | None = None
    """Where it is listed when it is written; None: nowhere."""

    def __repr__(self) -> str:
        passed = sum(check.status == "passed" for check in self.checks)
        noun = noun_in(self.log.settings)
        of_whom = f" of {several(noun)}, not people" if noun else ""
        return f"Release({self.method}, {self.headline}{of_whom}; {passed} of {len(self.checks)} checks passed)"

    def _repr_html_(self) -> str:
        """What a notebook shows: what is promised, and whether it was checked."""
        passed = sum(check.status == "passed" for check in self.checks)
        rows = [("promise", self.verdict.sentence), ("size", self.size),
                ("checks", f"{passed} of {len(self.checks)} passed")]  # fmt: skip
        rows += [("cost", warning) for warning in self.warnings]
        return html_table(f"Release: {self.method}, {self.headline}", rows)

    @property
    def headline(self) -> str:
        """The numbers people ask for, of all promises: "k = 5"."""
        return ", ".join(promise.headline for promise in self.promises)

    @cached_property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.log.counted([pl.len().cast(pl.Int64).alias("rows")]).item())

    @property
    def size(self) -> str:
        """How many rows it has, beside what was read; or documents, or numbers, where rows are not those of the log."""
        shape, rows, read = self.log.shape, self.rows, self.log.rows_read
        if shape.count:
            return f"{rows:,} numbers" + (f" about the {read:,} rows read" if read else "")
        if not shape.weight and any(promise.about == "subjects" for promise in self.promises):
            return f"{rows:,} rows of shared profiles" + (f" ({read:,} rows were read)" if read else "")
        if not shape.weight:
            share = f" ({100 * rows / read:.1f} % of the {read:,} read)" if read else ""
            return f"{rows:,} rows{share}"
        names = self.log.frame.select(pl.col(shape.subject).n_unique()).collect(engine="streaming").item()
        had = f" ({read:,} were read)" if read else ""  # a document may get terms that it does not have
        return f"{names:,} {shape.subject_nouns} with {rows:,} {shape.item_nouns}{had}"

    @property
    def verdict(self) -> Verdict:
        """What follows from the checks."""
        noun = noun_in(self.log.settings)
        subjects = several(noun) if noun else self.log.shape.subject_nouns
        person = person_in(self.log.settings)
        return Verdict(promises=self.promises, checks=self.checks, subjects=subjects, counted=noun, person=person)

    def to_polars(self) -> pl.DataFrame:
        """The released rows."""
        return self.log.to_polars()

    def to_pandas(self) -> pd.DataFrame:
        """The released rows as a pandas frame."""
        return self.log.to_pandas()


def digest_of(file_digests: Iterable[str], reading: str = "") -> str:
    """The digest of a log that was read from files with these digests, in the way that `reading` says."""
    return hashlib.sha256(("".join(file_digests) + reading).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EarlierGroups:
    """Who was in which group of an earlier release."""

    table: pl.LazyFrame
    """Of the shape GROUPS."""
    digests: tuple[str, ...]
    """Of these groups, then of those that they are unions of."""


def earlier_groups(record: Record) -> EarlierGroups:
    """The groups that a run record tells of; InputError where it has none."""
    members = _members(record.subjects)
    if members.is_empty():
        raise InputError(
            f"The run record is of a release by {record.run.get('method')}, which made no groups of users, so there "
            "are none to use again. Give the record of a release in which users share profiles."
        )
    if members["subject"].has_nulls() or members["subject"].is_duplicated().any():
        raise InputError(_DAMAGED)
    digests = (_digest(members), *record.run.get(GROUPS_OF, ()))
    return EarlierGroups(table=GROUPS.check(members.lazy()), digests=digests)


def groups_digest(subjects: pl.LazyFrame) -> str:
    """What groups are known by, whatever their numbers; empty where users are in none."""
    members = _members(subjects)
    return "" if members.is_empty() else _digest(members)


def _members(subjects: pl.LazyFrame) -> pl.DataFrame:
    """subject, group of those who are in one, in the order of subjects."""
    try:
        named = subjects.select(pl.col("original").cast(pl.String).alias("subject"), pl.col("group").cast(pl.UInt32))
        return named.drop_nulls("group").collect(engine="streaming").sort("subject")
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(_DAMAGED) from None


def _digest(members: pl.DataFrame) -> str:
    first = members.select("subject", pl.col("subject").min().over("group").alias("first"))
    whole = hashlib.sha256()
    for part in first.iter_slices(100_000):
        whole.update(part.write_csv(include_header=False).encode())
    return whole.hexdigest()


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
