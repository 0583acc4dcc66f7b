"""Windows, recounted: what lines of a release say about their window, and who asked within it in the original."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import SHAPES, TIME, Shape

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
