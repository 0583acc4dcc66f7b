"""Comparison: what measures look at. Everything is computed when a measure first asks for it, and once.

    items                        item, before, after: how often each item stands in both logs, or is counted there
    items_before, items_after    item, n: the same of each log by itself
    items_as_read                item, n: the same before any step, where the log was given so
    pairs_before, pairs_after    subject, item: who has which item, each pair once
    original, released           all rows, in memory: for measures that look at single rows
    names, rows, profiles        who became whom, what became of rows, and both logs by original subject
    given(name)                  an input of measures/inputs.py

A measure that asks for items alone can be taken of a log that is larger than memory. Nothing is measured on a cluster.

Store: scores of releases that were measured before, so that a second report need not measure again.

A file per measure and release, named after a digest of all that its scores depend on: the log and how it was prepared,
the released file, the groups in its run record, the seed, the inputs of the measure and the version of Coterie. It
holds keys, numbers and units, and no string of the log: scores with a label are never kept. The folder is readable by
its owner only.

The command line uses `$COTERIE_CACHE`, or `coterie` in the folder for caches; with `--no-cache`, or with
`COTERIE_CACHE=off`, it uses none. The folder can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import polars as pl

from coterie import __version__, measures
from coterie.core import randomness
from coterie.core.digests import sha256_of
from coterie.core.log import GROUPS_DIGEST, Log, Record, Release
from coterie.core.scores import Score, score_table
from coterie.core.shapes import TIME, Shape
from coterie.core.wording import in_words_of
from coterie.errors import InputError, MissingError, NotApplicableError
from coterie.measures.inputs import INPUTS, files_of, read_inputs
from coterie.steps import prepare
from coterie.writing.released import refuse_other_input, refuse_other_shape
from coterie.writing.targets import placed

T = TypeVar("T")
LeftOut = Callable[[str, str], None]
"""Told the name of a measure that has no meaning for a release, and why."""
Samples = dict[tuple[str, str], tuple[float, ...]]
"""What scores, by measure and key, are in samples of users drawn anew."""
_OF_LOGS: WeakKeyDictionary[Log, dict[Any, Any]] = WeakKeyDictionary()
_ROLES = ("subject", "item", "time")
_COUNTS = "The release has counts in place of rows, so single rows cannot be looked at."
ONE_MACHINE = (
    "Releases are measured and reported on one machine: read the original there. Where it is too large, make a release "
    "of a sample of its people, and measure that; leave out --engine."
)
_RECORD = "--record DIR (in Python: load_release(..., record=DIR))"
_WHO_BECAME_WHOM = f"must know who became whom. Give the run record: {_RECORD}."


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison:
    """An original log and a release of it, in the columns that measures look at."""

    log: Log
    """The original, prepared as the release was."""
    as_read: Log
    """The original before any step; as it was given, where somebody had prepared it."""
    release: Release
    seed: int
    show_values: bool
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """What `read_inputs` gave."""

    def __repr__(self) -> str:
        return f"Comparison({self.log!r}, {self.release!r})"

    @classmethod
    def of(
        cls,
        original: Log,
        release: Release,
        seed: int | None,
        show_values: bool = False,
        inputs: Mapping[str, Any] | None = None,
        as_read: Log | None = None,
    ) -> Comparison:
        """Check that the two belong together, and prepare the original as the release was. Nothing is read yet.

        `as_read` is the original before its steps, where it is given prepared.
        """
        original.engine.require_local(ONE_MACHINE)
        if release.log.shape.further or original.shape.further:  # no measure looks at further details
            original, release = original.plain, replace(release, log=release.log.plain)
        shape = release.log.shape
        refuse_other_shape(shape, original)
        if release.record is not None:
            refuse_other_input(original, release.record)
        as_read = original if as_read is None else as_read
        if not original.steps:
            original = prepare(original, release.log.steps)
        return cls(
            log=original,
            as_read=as_read,
            release=release,
            seed=randomness.new_seed() if seed is None else seed,
            show_values=show_values,
            inputs=read_inputs(inputs or {}),
        )

    def refuse_other_log(self) -> None:
        """Raise InputError where the release cannot come from this log. With a record its digests have told already."""
        if self.release.record is not None or any(promise.releases != "text" for promise in self.release.promises):
            return
        released, before = pl.col("after") > 0, pl.col("before")
        # Rows are left out and none is added; profiles may repeat a query, but invent none.
        foreign = released & (before == 0 if self.about_subjects else pl.col("after") > before)
        numbers = foreign.sum().cast(pl.Int64).alias("strangers"), released.sum().cast(pl.Int64).alias("items")
        strangers, items = self.items.select(numbers).row(0)
        if strangers:
            raise InputError(
                f"{strangers:,} of the {items:,} different values of {self.log.shape.item!r} in the release are "
                f"not in the original, or not as often: the release was made from another log, or prepared otherwise "
                f"({', '.join(self.release.log.steps) or 'no steps'}). Give the log that it was made from."
            )

    def of_log(self, key: Hashable, make: Callable[[], T]) -> T:
        """What depends on the original alone, worked out once for all releases of a log that are compared.

        `key` has everything else that it depends on, such as the seed.
        """
        known = _OF_LOGS.setdefault(self.log, {})
        if key not in known:
            known[key] = make()
        value: T = known[key]
        return value

    # --- what the release is like --------------------------------------------------------------------

    @property
    def has_concepts(self) -> bool:
        """Whether names of concepts stand in place of queries, so that no query can be looked for in the release."""
        return any(promise.releases == "concepts" for promise in self.release.promises)

    @property
    def about_subjects(self) -> bool:
        """Whether the release promises something about all that is released of a subject."""
        return any(promise.about == "subjects" for promise in self.release.promises)

    def require_shape(self, shape: Shape, about: str) -> None:
        """Raise NotApplicableError for logs of another shape; `about` says what a measure is about."""
        if self.log.shape is not shape:
            raise NotApplicableError(f"{about}, and this log is {self.log.shape.name}.")

    def refuse_without_rows(self) -> None:
        """Raise NotApplicableError where the log has no rows that people left one after the other, but documents."""
        if "row" not in self.log.shape.schema:
            nouns = self.log.shape.subject_nouns
            raise NotApplicableError(
                f"It looks at rows that people left one after the other, and this log has {nouns}."
            )

    def require(self, needs: Iterable[str]) -> None:
        """Raise MissingError without a record that is needed, NotApplicableError where something else is not there."""
        asked = set(needs)
        record = self.record if "record" in asked else self.release.record
        if "text" in asked and self.has_concepts:
            raise NotApplicableError(
                "The release has concepts in place of queries, so queries cannot be looked for in it."
            )
        if "rows" in asked and (record is None or record.rows is None):
            raise NotApplicableError("It must know what became of single rows, and this method does not keep rows.")
        for name in sorted(asked & set(INPUTS)):
            self.given(name)

    def given(self, name: str) -> Any:
        """The value of an input; NotApplicableError where there is none."""
        if name not in self._fitted:
            declared = INPUTS[name]
            value = self.inputs.get(name, declared.default)
            if value is None:
                raise NotApplicableError(declared.if_missing)
            self._fitted[name] = declared.fit(value, self.log)
        return self._fitted[name]

    def has(self, name: str) -> bool:
        """Whether an input was given, which a measure can do without."""
        return self.inputs.get(name) is not None

    @cached_property
    def _fitted(self) -> dict[str, Any]:
        return {}

    # --- rows ----------------------------------------------------------------------------------------

    @cached_property
    def items(self) -> pl.DataFrame:
        """item, before, after: how often each item stands in the original and in the release, each item once."""
        before, after = self.items_before.rename({"n": "before"}), self.items_after.rename({"n": "after"})
        joined = before.join(after, on="item", how="full", coalesce=True, nulls_equal=True)
        return joined.with_columns(pl.col("before", "after").fill_null(0))

    @cached_property
    def items_before(self) -> pl.DataFrame:
        """item, n: how often each item stands in the original."""
        return self.of_log("items", lambda: _counted(self._before()))

    @cached_property
    def items_as_read(self) -> pl.DataFrame:
        """item, n: how often each item stands in the original before any step."""
        if self.as_read is self.log:
            return self.items_before
        rows = self.as_read.frame.select(pl.col(self.as_read.shape.item).alias("item"))
        return self.of_log("items as read", lambda: _counted(rows))

    @property
    def rows_before(self) -> int:
        """How many rows the original has after the steps."""
        return int(self.items_before["n"].sum())

    @cached_property
    def items_after(self) -> pl.DataFrame:
        """item, n: how often each item stands in the release, or is counted there, in the table of items."""
        shape = self.release.log.shape
        own = (
            pl.col(shape.lead).is_null() | (pl.col(shape.lead) == self.log.shape.item_nouns)
            if shape.lead
            else pl.lit(True)
        )
        times = (pl.col(shape.count).sum() if shape.count else pl.len()).cast(pl.Int64).alias("n")
        rows = self.release.log.frame.filter(own).group_by(pl.col(shape.item).alias("item"))
        return rows.agg(times).collect(engine="streaming")

    @cached_property
    def pairs_before(self) -> pl.DataFrame:
        """subject, item of the original, each pair once."""
        return self.of_log("pairs", lambda: _pairs(self._before()))

    @cached_property
    def pairs_after(self) -> pl.DataFrame:
        """subject, item of the release, each pair once; none where rows have no names."""
        return _pairs(self.release.log.frame.select(**columns_of(self.release.log.shape, *_ROLES)))

    @cached_property
    def original(self) -> pl.DataFrame:
        """row, subject, item, time: all rows."""
        self.refuse_without_rows()
        rows = self.log.frame.select("row", **columns_of(self.log.shape, *_ROLES))
        return self.of_log("rows", lambda: rows.collect(engine="streaming"))

    @cached_property
    def released(self) -> pl.DataFrame:
        """subject, item, time and, where rows say how exact that is, time_level: all rows."""
        shape = self.release.log.shape
        if shape.count:
            raise NotApplicableError(_COUNTS)
        level = [shape.level] if shape.level else []
        rows = self.release.log.frame.select(**columns_of(shape, *_ROLES), **{name: pl.col(name) for name in level})
        return rows.collect(engine="streaming")

    def _before(self) -> pl.LazyFrame:
        """subject, item, time of the original; from memory where its rows are there already."""
        if "original" in vars(self):
            return self.original.lazy()
        return self.log.frame.select(**columns_of(self.log.shape, *_ROLES))

    # --- who became whom -----------------------------------------------------------------------------

    @property
    def record(self) -> Record:
        """The private run record."""
        if self.release.record is None:
            raise MissingError(f"This {_WHO_BECAME_WHOM}")
        return self.release.record

    @cached_property
    def names(self) -> pl.DataFrame:
        """original, released: who became whom; nobody whose rows were released without a name."""
        return self.record.subjects.select("original", "released").drop_nulls().collect(engine="streaming")

    @cached_property
    def rows(self) -> pl.DataFrame:
        """row, released_row: what became of the original rows; methods that keep rows only."""
        record = self.release.record
        if record is None or record.rows is None:
            raise MissingError(f"This needs the rows.parquet of a run record: {_RECORD}.")
        return record.rows.collect(engine="streaming")

    @cached_property
    def released_of_original(self) -> pl.DataFrame:
        """subject, item: released rows that have a name, under the original ones."""
        rows = self.released.join(self.names.select("original", subject="released"), on="subject")
        return rows.select(pl.col("original").alias("subject"), "item")

    @cached_property
    def profiles(self) -> pl.DataFrame:
        """subject, item, before, after: how often each original subject's item occurs in both logs.

        After: in the rows that came from the subject, or in what was released under its new name.
        """
        released = self.released
        if self.record.rows is not None:
            became = self.original.select("row", "subject").join(self.rows, on="row")
            items = released.select("item").with_row_index("released_row")
            after = became.join(items, on="released_row")
        else:
            if released.height and not released["subject"].count():
                raise NotApplicableError("Its rows have no names, and the run record does not tell whose they are.")
            after = self.released_of_original
        key = ["subject", "item"]
        counts = self.original.group_by(key).len("before"), after.group_by(key).len("after")
        both = counts[0].join(counts[1], on=key, how="full", coalesce=True).drop_nulls("subject")
        # Sorted, so that sums of floats are taken in one order and come out the same to the last bit.
        return both.with_columns(pl.col("before", "after").fill_null(0)).sort(key)


def scores_of(
    comparison: Comparison,
    names: Sequence[str] | None,
    left_out: LeftOut = lambda _name, _reason: None,
    samples: Samples | None = None,
    *,
    strict: bool = True,
    store: Store | None = None,
    tell: Callable[[float], None] = lambda _share: None,
) -> pl.DataFrame:
    """Scores as a table: name, key, value, unit (and label, where values may be shown).

    Without `names` all measures are taken that what is given allows, but for those that must be asked for by name;
    `left_out` is told which ones have no meaning for this release, and why; if they were asked for by name, that is an
    error, unless not `strict`. `samples` is filled with those of scores that have some. What is in the `store` is not
    measured again; `tell` hears which share of the work is done.
    """
    rows: list[tuple[str, str, float | None, str, str | None]] = []
    shape = comparison.log.shape
    taken = list(names) if names is not None else measures.names_of_all(comparison.inputs)
    efforts = [measures.effort(name) for name in taken]
    for place, name in enumerate(taken):
        tell(sum(efforts[:place]) / sum(efforts))
        module = measures.load(name)
        if "record" in module.needs and comparison.release.record is None:
            if names is None:
                continue
            raise MissingError(f"The measure {name!r} {_WHO_BECAME_WHOM}")
        scores, reason = _measured(comparison, name, store)
        if reason is not None:
            if names is not None and strict:
                raise not_applicable(name, reason)
            # In the words of the log, unless the reason is that it is no search log.
            left_out(name, reason if shape.name in reason else in_words_of(shape, reason))
            continue
        rows += [(name, each.key, each.value, in_words_of(shape, each.unit), each.label) for each in scores]
        if samples is not None:
            samples |= {(name, score.key): score.samples for score in scores if score.samples}
    table = score_table(rows, labelled=True)
    return table if comparison.show_values else table.drop("label")


def _measured(comparison: Comparison, name: str, store: Store | None) -> tuple[list[Score], str | None]:
    """The scores of a measure, or why it has no meaning here; from the store where they are there."""
    if store is not None and (known := store.find(comparison, name)) is not None:
        return known
    module, scores, reason = measures.load(name), [], None
    try:
        comparison.require(module.needs)
        scores = list(module.measure(comparison))
    except NotApplicableError as error:
        reason = str(error)
    if store is not None:
        store.keep(comparison, name, scores, reason)
    return scores, reason


def not_applicable(name: str, reason: str) -> NotApplicableError:
    """What to raise where a measure was asked for that has no meaning here."""
    return NotApplicableError(f"The measure {name!r} does not apply here. {reason}")


def of_few_queries() -> pl.Expr:
    """Whether a user (whose profile this is) has one or two queries (rows), and so the least to hide in."""
    return pl.col("before").sum().is_between(1, 2)


def everybody(pairs: pl.DataFrame) -> pl.DataFrame:
    """subject: all who have something in a table such as `pairs_before`, in order."""
    return pairs.select("subject").unique().sort("subject")


def columns_of(shape: Shape, *roles: str) -> dict[str, pl.Expr]:
    """The columns that have such roles in a shape (subject, item, time, ...), each null where it has none."""
    names = {role: getattr(shape, role) for role in roles}
    kinds: dict[str, Any] = {"time": TIME, "position": pl.Int32}
    return {role: pl.col(name) if name else pl.lit(None, kinds.get(role, pl.String)) for role, name in names.items()}


def _counted(rows: pl.LazyFrame) -> pl.DataFrame:
    return rows.group_by("item").agg(pl.len().cast(pl.Int64).alias("n")).collect(engine="streaming")


def _pairs(rows: pl.LazyFrame) -> pl.DataFrame:
    return rows.select("subject", "item").drop_nulls().unique().collect(engine="streaming")


# --- the store ------------------------------------------------------------------------------------


FORMAT = 1
OFF = "off"


class _Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scores: tuple[tuple[str, float | None, str, tuple[float, ...]], ...] = ()
    """key, value, unit, samples."""
    left_out: str | None = None
    """Why it has no meaning for this release."""


@dataclass(frozen=True)
class Store:
    """Scores kept in a folder."""

    folder: Path

    def find(self, comparison: Comparison, name: str) -> tuple[list[Score], str | None] | None:
        """The scores of a measure, or why it has none; None where it was not measured yet, or cannot be kept."""
        path = self._path(comparison, name)
        if path is None:
            return None
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # not there, or damaged: it is measured again
            return None
        return [Score(key, value, unit, None, samples) for key, value, unit, samples in kept.scores], kept.left_out

    def keep(self, comparison: Comparison, name: str, scores: Sequence[Score], left_out: str | None = None) -> None:
        """Keep what was measured, unless it holds a string of the log. A full or strange disk is no reason to stop."""
        path = self._path(comparison, name)
        if path is None or any(score.label is not None for score in scores):
            return
        kept = _Kept(scores=tuple((s.key, s.value, s.unit, s.samples) for s in scores), left_out=left_out)
        numbers = (number for score in scores for number in (score.value, *score.samples) if number is not None)
        if not all(map(math.isfinite, numbers)):  # JSON has no such numbers
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with placed(path, force=True) as part:
                part.touch(mode=0o600)
                part.write_bytes(msgspec.json.encode(kept))

    def _path(self, comparison: Comparison, name: str) -> Path | None:
        """Where scores are kept; None where not everything that they depend on has a digest."""
        release = comparison.release
        released = release.sha256 or release.verified
        inputs = _inputs(comparison, name)
        if not released or inputs is None:
            return None
        record = release.record
        parts = [
            FORMAT, __version__, name, comparison.seed, comparison.log.digest, comparison.log.steps,
            comparison.as_read.steps, released,
            release.method, release.params, record is not None, record and record.run.get(GROUPS_DIGEST), inputs,
        ]  # fmt: skip
        text = json.dumps(parts, sort_keys=True, default=str)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def _inputs(comparison: Comparison, name: str) -> list[Any] | None:
    """What a measure was given, by name and digest; None where that has no digest."""
    given: list[Any] = []
    for need in sorted(measures.load(name).needs & set(INPUTS)):
        value = comparison.inputs.get(need, INPUTS[need].default)
        if isinstance(value, (str, Path)) and need in (paths := files_of({need: value})):
            value = sha256_of([paths[need]])
        elif not isinstance(value, (str, int, tuple, type(None))):
            return None
        given.append([need, value])
    return given


def default_store(asked_for: bool = True) -> Store | None:
    """The store of whoever runs the program; None where it is turned off."""
    place = os.environ.get("COTERIE_CACHE", "")
    if not asked_for or place == OFF:
        return None
    if place:
        return Store(Path(place))
    try:
        return Store(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "coterie")
    except RuntimeError:  # nobody knows where the home of this user is
        return None
