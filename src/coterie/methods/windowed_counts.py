"""Publish how often each query was asked within a window of time, if enough different people asked it there.

Paper: none. It is what the gate (`coterie gate`, `coterie append`) gives in parts, computed at once; its rule is that
    of `suppress_rare` (E. Adar, 2007) within each window.

Symbols: k = smallest number of users behind a released query; a window = the rows of so many days, counted from
    1970-01-01 on, so that the windows of every log are the same.

Promise: every released query was issued by at least k different users within its window. A number counts all of its
    rows there; those of a day stand in a line of their own where k users asked on that day, and how often a page was
    clicked where k users clicked it for that query within the window.

Differs:
    - Rows are not released, only numbers: in (query, count) they are those of `suppress_rare` within each window.
    - Of what accompanies a query, days and clicked pages are counted, ranks are not. Clicked pages stand in a table of
      their own (`clicks from ...`) and count rows that are counted there as well.
    - Rows without a time belong to no window and are left out. Rows without a user are counted and are nobody.

Cost: one pass with a hash table of distinct (window, query, user); linear in rows.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "maps", "2020-02-03"), ("bob", "maps", "2020-02-04"), ("bob", "a rare illness", "2020-02-04")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query", "time"], orient="row"))
    >>> coterie.anonymize(log, WindowedCounts(k=2)).to_polars()["table", "item", "count"].rows()
    [('queries from 2020-01-09', 'maps', 2)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Flag, Late, Range, Span
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import COUNTS, QUERIES, TIME, VISITS, Shape
from coterie.errors import InputError
from coterie.promises.windowed_query_k_anonymity import WindowedQueryKAnonymity
from coterie.releasing.names import nobody_named

_DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class WindowedCounts(Method):
    """Publish how often each query was asked within a window, if at least k different users asked it there."""

    k: Annotated[int, Range(2), Late(), "smallest number of users behind a released query within a window"] = 5
    window: Annotated[str, Span(), "length of a window; windows follow each other from 1970-01-01 on"] = "30d"
    clicks: Annotated[bool, Flag(), "count clicked pages, too, where k users clicked them for the query"] = True

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES, VISITS)
    gives: ClassVar[Shape] = COUNTS
    status: ClassVar[str] = "stable"

    def promises(self, facts: Facts) -> tuple[WindowedQueryKAnonymity, ...]:
        """At least k users behind each released query within its window."""
        enough_subjects("windowed_counts", self.k, facts)
        return (WindowedQueryKAnonymity(k=self.k, window=self.window, shape=facts.shape.name),)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        """Step 1: the lines of all windows."""
        shape = log.shape
        time = pl.col(shape.time)
        timed = log.frame.filter(time.is_not_null())
        if timed.select(pl.len()).collect(engine="streaming").item() == 0:
            raise InputError("No row has a time, and without times there are no windows. Say which column holds them.")
        length = Span.seconds(self.window) * 1_000_000
        page = pl.col(shape.page) if shape.page and self.clicks else pl.lit(None, pl.String)
        rows = timed.select(
            pl.col(shape.subject).alias("subject"),
            pl.col(shape.item).alias("item"),
            (time.dt.epoch("us") // length * length).cast(TIME).alias("start"),
            time.dt.truncate("1d").alias("day"),
            page.alias("page"),
        )

        def lines(frame: pl.LazyFrame) -> pl.LazyFrame:
            spelled = "%Y-%m-%d" if length % (_DAY * 1_000_000) == 0 else "%Y-%m-%d %H:%M:%S"
            since = pl.col("start").dt.strftime(spelled)
            kept = self._common(frame, ["start", "item"])
            days = self._common(kept, ["start", "item", "day"], also_others=True)
            asked = days.select((pl.lit(f"{shape.item_nouns} from ") + since).alias("table"), "item",
                                pl.col("day").dt.strftime("%Y-%m-%d").alias("detail"))  # fmt: skip
            pages = self._common(kept.filter(pl.col("page").is_not_null()), ["start", "item", "page"])
            clicked = pages.select((pl.lit("clicks from ") + since).alias("table"), "item",
                                   pl.col("page").alias("detail"))  # fmt: skip
            both = pl.concat([asked, clicked])
            counted = both.group_by("table", "item", "detail").agg(pl.len().cast(pl.Int64).alias("count"))
            return COUNTS.completed(counted)

        return Plan(table=run.keep(run.blocks(rows, lines, by=["item"], out=COUNTS)))

    def _common(self, rows: pl.LazyFrame, key: list[str], also_others: bool = False) -> pl.LazyFrame:
        """The rows whose key k users have; `also_others`: the others as well, without what the key ends with."""
        people = rows.drop_nulls("subject").group_by(key).agg(pl.col("subject").n_unique().alias("_people"))
        enough = people.filter(pl.col("_people") >= self.k).select(*key, pl.lit(True).alias("_common"))
        if not also_others:
            return rows.join(enough, on=key, how="semi")
        told = pl.when(pl.col("_common")).then(pl.col(key[-1])).alias(key[-1])
        return rows.join(enough, on=key, how="left").with_columns(told).drop("_common")

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 2: the lines themselves."""
        return Draft(frame=plan.table, subjects=nobody_named(log, run))
