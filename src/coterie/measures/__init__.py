"""Measures: (original, released) -> numbers. One per file, in privacy/, utility/ and attacks/.

A measure is a module with

    needs_record                whether it must know who became whom (the private run record)
    compares_text               True if it looks for the original's queries, word for word, in the release; such a
                                measure has nothing to say about concepts in place of queries
    measure(comparison)         yields Score(key, value, unit), or raises NotApplicableError with the reason

Percentages are on 0..100. A label holds a string of the log and is given only where values may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from coterie.core.log import Log, Record, Release
from coterie.errors import InputError, MissingError
from coterie.measures.labels import spelled
from coterie.steps import prepare

SCORES = {"name": pl.String, "key": pl.String, "value": pl.Float64, "unit": pl.String, "label": pl.String}


@dataclass(frozen=True)
class Score:
    """One number: a dotted key, the value and its unit."""

    key: str
    value: float | None
    unit: str
    label: str | None = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison:
    """An original log and a release of it, in the columns that measures look at."""

    original: pl.DataFrame
    """row, subject, item, time"""
    released: pl.DataFrame
    """subject, item, time"""
    log: Log
    """The original as it was prepared, for measures that look at other columns too."""
    release: Release
    seed: int
    show_values: bool
    kappas: tuple[int, ...] = ()
    """Numbers of clusters that were asked for; where there are none, a measure chooses."""
    labels: pl.DataFrame | None = None
    """item, sensitive: what people say about some queries, spelled as in the original."""
    later: pl.DataFrame | None = None
    """subject, item: what the same users searched for afterwards."""
    taxonomy: str = "wordnet"
    """Where measures of meaning look up queries: a name or a packed file."""

    def __repr__(self) -> str:
        return f"Comparison({self.original.height} rows, {self.released.height} released)"

    @classmethod
    def of(
        cls,
        original: Log,
        release: Release,
        seed: int,
        show_values: bool,
        kappas: Sequence[int] = (),
        labels: pl.DataFrame | None = None,
        later: Log | None = None,
        taxonomy: str = "wordnet",
    ) -> Comparison:
        """Prepare the original as the release was, and take the columns."""
        if original.shape is not release.log.shape:
            raise InputError(f"The release has the shape {release.log.shape.name}, the original {original.shape.name}.")
        if not original.steps:
            original = prepare(original, release.log.steps)
        if later is not None and later.shape is not original.shape:
            raise InputError(f"The later log has the shape {later.shape.name}, the original {original.shape.name}.")
        if later is not None and not later.steps:
            later = prepare(later, original.steps)
        shape = original.shape
        columns = [pl.col(shape.subject).alias("subject"), pl.col(shape.item).alias("item"), pl.col("time")]
        return cls(
            original=original.frame.select("row", *columns).collect(engine="streaming"),
            released=release.log.frame.select(columns).collect(engine="streaming"),
            log=original,
            release=release,
            seed=seed,
            show_values=show_values,
            kappas=tuple(kappas),
            labels=None if labels is None else spelled(labels, "normalize" in original.steps),
            later=None if later is None else later.frame.select(columns[:2]).collect(engine="streaming"),
            taxonomy=taxonomy,
        )

    @property
    def has_concepts(self) -> bool:
        """Whether names of concepts stand in place of queries, so that no query can be looked for in the release."""
        return any(promise.releases == "concepts" for promise in self.release.promises)

    @property
    def about_subjects(self) -> bool:
        """Whether the release promises something about all that is released of a subject."""
        return any(promise.about == "subjects" for promise in self.release.promises)

    @property
    def _record(self) -> Record:
        if self.release.record is None:
            raise MissingError("This must know who became whom. Give the run record: --record DIR.")
        return self.release.record

    @cached_property
    def names(self) -> pl.DataFrame:
        """original, released: who became whom; nobody whose rows were released without a name."""
        return self._record.subjects.select("original", "released").drop_nulls().collect(engine="streaming")

    @cached_property
    def rows(self) -> pl.DataFrame:
        """row, released_row: what became of the original rows; methods that keep rows only."""
        record = self.release.record
        if record is None or record.rows is None:
            raise MissingError("This needs the rows.parquet of a run record: --record DIR.")
        return record.rows.collect(engine="streaming")

    @cached_property
    def profiles(self) -> pl.DataFrame:
        """subject, item, before, after: how often each original subject's item occurs in both logs.

        After: in the rows that came from the subject, or in what was released under its new name.
        """
        key = ["subject", "item"]
        before = self.original.group_by(key).len("before")
        if self._record.rows is not None:
            became = self.original.select("row", "subject").join(self.rows, on="row")
            items = self.released.select("item").with_row_index("released_row")
            after = became.join(items, on="released_row").group_by(key).len("after")
        else:
            after = (
                self.released.join(self.names.rename({"released": "subject"}), on="subject")
                .group_by("original", "item")
                .len("after")
                .rename({"original": "subject"})
            )
        both = before.join(after, on=key, how="full", coalesce=True)
        # Sorted, so that sums of floats are taken in one order and come out the same to the last bit.
        return both.drop_nulls("subject").with_columns(pl.col("before", "after").fill_null(0)).sort(key)


def of_few_queries(profiles: pl.DataFrame) -> pl.DataFrame:
    """The profiles of users with one or two queries (rows), who have the least to hide in."""
    return profiles.filter(pl.col("before").sum().over("subject").is_between(1, 2))
