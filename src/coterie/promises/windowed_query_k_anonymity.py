"""Windowed query k-anonymity: every released item was issued by at least k users within one window of time.

Windows, recounted: what lines of a release say about their window, and who asked within it in the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Range, Span
from coterie.core.promise import Case, Check, Kind
from coterie.core.shapes import QUERIES, SHAPES, TIME, Shape
from coterie.promises._checks import LINES, Question, rows_broken
from coterie.promises._single_queries import ShapeName
from coterie.promises._words import Worded

_NEEDS = "the original rows of the whole window (--original LOG, or the folder of --audit)"


@dataclass(frozen=True, kw_only=True)
class WindowedQueryKAnonymity(Worded):
    """Every released item was issued by at least k users of the original log within one window of time."""

    k: Annotated[int, Range(2), "smallest number of users behind a released query within a window"]
    window: Annotated[str, Span(), "length of a window; windows follow each other from 1970-01-01 on"] = "30d"
    shape: ShapeName = QUERIES.name

    name: ClassVar[str] = "windowed_query_k_anonymity"
    releases: ClassVar[Kind] = "counts"
    """Numbers are released, of texts as they were typed."""
    not_of_foreign: ClassVar[str] = "can be checked only for releases with a sidecar: it says what was counted."
    """A log has rows, not numbers."""

    def _said(self, sentence: str) -> str:
        shape = SHAPES[self.shape]
        return sentence.format(k=self.k, item=shape.item_noun, subjects=shape.subject_nouns)

    def check(self, case: Case) -> Iterator[Check]:
        """Read window, kind and day of each line again, and count people and rows of the original anew.

        It stops items that reach k only because parts of several windows, or several days, are put together.
        """
        if case.shape.count not in case.shape.released or not case.shape.lead:
            yield LINES.answered(1)
            return
        windows = Windows(Span.seconds(self.window), self.shape)
        lines = windows.lines(case.rows, case.shape)
        detail = f"each line names a window of {self.window}, a day within it or a page, and a number above 0"
        told = Question("lines", detail, "do not", carries=True).of_rows(lines, pl.col("_bad"))
        yield told
        if told.broken:
            return
        several = f"each {self._said('{item}')} of a part stands for {self.k} rows or more, but for the tables of rests"
        sums = lines.filter(~pl.col(REST)).group_by(START, WHAT, "item", "_page").agg(pl.col("count").sum())
        yield Question("rows", several, "have fewer").of_rows(sums, pl.col("count") < self.k)
        yield from self._counted(case, lines, windows)

    def _counted(self, case: Case, lines: pl.LazyFrame, windows: Windows) -> Iterator[Check]:
        """The checks that need the original."""
        behind = self._said("at least {k} {subjects} behind each released {item} within its window")
        people = Question("crowd.window", behind, "have fewer", original=True, carries=True)
        with_detail = self._said("at least {k} {subjects} behind each {item} with its day, or with its page")
        told = Question("crowd.detail", with_detail, "have fewer", original=True, carries=True)
        rows_then = self._said("no {item} has more rows than in its window")
        no_more = Question("rows.window", rows_then, "have invented rows", original=True)
        if case.original is None:
            yield from (question.open(_NEEDS) for question in (people, told, no_more))
            return
        rows = windows.rows(case.original)
        of_window = windows.behind(lines.filter(pl.col(WHAT) != CLICKS), rows, ["item", START])
        of_day = windows.behind(lines.filter(pl.col("_day").is_not_null()), rows, ["item", START, "_day"])
        of_page = windows.behind(lines.filter(pl.col(WHAT) == CLICKS), rows, ["item", START, "_page"])
        few = pl.col("people") < self.k
        broken, total = rows_broken(of_window, few)
        # A page that was clicked for a query says the query, too.
        unseen, clicked = rows_broken(windows.behind(lines.filter(pl.col(WHAT) == CLICKS), rows, ["item", START]), few)
        smallest = of_window.select(pl.col("people").min()).collect(engine="streaming").item()
        yield people.answered(broken + unseen, total + clicked, largest_k=smallest)
        (on_day, days), (on_page, pages) = rows_broken(of_day, few), rows_broken(of_page, few)
        yield told.answered(on_day + on_page, days + pages)
        excess = [rows_broken(table, pl.col("count") > pl.col("rows")) for table in (of_window, of_day, of_page)]
        yield no_more.answered(sum(broken for broken, _ in excess), sum(looked for _, looked in excess))


# --- recounted from the original --------------------------------------------------------------------


START, WHAT, REST = "_start", "_what", "_rest"
CLICKS = "clicks"
_DAY = 86_400
_TABLE = r"^(rest of )?([a-z]+) from ([0-9]{4}-[0-9]{2}-[0-9]{2})(?: ([0-9]{2}:[0-9]{2}:[0-9]{2}))?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_WHO = "_who"


@dataclass(frozen=True)
class Windows:
    """Windows of so many seconds, which follow each other from the beginning of 1970 on."""

    seconds: int
    shape: str

    def lines(self, rows: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
        """Released lines with their window's start, what they count, day or page; `_bad` where one makes no sense."""
        groups = pl.col(shape.lead).str.extract_groups(_TABLE).struct.rename_fields(["rest", "what", "day", "hour"])
        rows = rows.with_columns(groups.alias("_groups"))
        part = pl.col("_groups").struct.field
        text = part("day") + " " + part("hour").fill_null("00:00:00")
        read = rows.select(
            pl.col(shape.item).alias("item"),
            "detail",
            pl.col(shape.count).alias("count"),
            text.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False).alias(START),
            part("what").alias(WHAT),
            part("rest").is_not_null().alias(REST),
            pl.any_horizontal(pl.col(name).is_not_null() for name in ("low", "high")).alias("_noise"),
            # A time is spelled where windows do not begin at midnight, and nowhere else.
            (part("hour").is_null() == (self.seconds % _DAY == 0)).alias("_spelled"),
        )
        clicks = pl.col(WHAT) == CLICKS
        day = pl.when(~clicks & pl.col("detail").str.contains(_DATE)).then(pl.col("detail"))
        read = read.with_columns(
            pl.when(clicks).then(pl.col("detail")).alias("_page"),
            day.str.to_datetime("%Y-%m-%d", time_unit="us", strict=False).alias("_day"),
        )
        since = pl.col(START).dt.epoch("s")
        inside = (pl.col("_day") >= pl.col(START).dt.truncate("1d")) & (
            pl.col("_day").dt.epoch("s") < since + self.seconds
        )
        nouns = SHAPES[self.shape].item_nouns
        whole = (
            pl.col(WHAT).is_in([nouns, *([CLICKS] if SHAPES[self.shape].page else [])])
            & (since % self.seconds == 0)
            & pl.col("_spelled")
            & ~pl.col("_noise")
            & (pl.col("count") >= 1)
            & pl.when(clicks).then(pl.col("_page").is_not_null()).otherwise(pl.col("detail").is_null() | inside)
            & (~pl.col(REST) | clicks | pl.col("detail").is_null())
        )
        return read.with_columns((~whole.fill_null(False)).alias("_bad"))

    def rows(self, original: Log) -> pl.LazyFrame:
        """Rows of the original with the start of their window, their day and their page; those without a time go."""
        shape = original.shape
        time = pl.col(shape.time)
        start = (time.dt.epoch("us") // (self.seconds * 1_000_000)) * (self.seconds * 1_000_000)
        return original.frame.filter(time.is_not_null()).select(
            pl.col(shape.subject).alias(_WHO),
            pl.col(shape.item).alias("item"),
            start.cast(TIME).alias(START),
            time.dt.truncate("1d").alias("_day"),
            (pl.col(shape.page) if shape.page else pl.lit(None, pl.String)).alias("_page"),
        )

    def behind(self, lines: pl.LazyFrame, rows: pl.LazyFrame, key: list[str]) -> pl.LazyFrame:
        """One line for each released key: its `count`, and the `people` and `rows` that the original has for it."""
        released = lines.group_by(key).agg(pl.col("count").sum())
        counted = (
            rows.join(released.select(key), on=key, how="semi")
            .group_by(key)
            .agg(pl.col(_WHO).drop_nulls().n_unique().alias("people"), pl.len().alias("rows"))
        )
        return released.join(counted, on=key, how="left").with_columns(pl.col("people", "rows").fill_null(0))
