"""Release every query, under names of a choice: a yardstick for rules that promise nothing about people.

Paper: none. Some rules under which search data are shared, or proposed to be shared, consist of filters (`scrub`,
    `names`) and of names that change (DuckDuckGo 2026, Mozilla).

Symbols: none.

Promise: nothing. Its release is written only with `--promise none`, the sidecar says so, and `coterie verify` checks
    that rows and names are as it says and exits with 3, never with 0, because there is no promise that could hold.

Differs:
    - Original user numbers are never released, as with every method.

Cost: one pass over the log.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "maps"), ("bob", "a rare illness")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> release = coterie.anonymize(log, Unprotected())
    >>> release.promises[0].sentence.partition(":")[0]
    'Nothing is promised about the people in this file'
    >>> coterie.verify(release, log).exit_code
    3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, NumberOr, Times
from coterie.core.plan import YARDSTICK, Draft, Facts, Method, Plan
from coterie.core.run import Run
from coterie.core.shapes import KEEP, QUERIES, Shape
from coterie.promises.none import None_
from coterie.releasing.details import cut_times, without_details, without_identifiers
from coterie.releasing.items import keep_items
from coterie.releasing.names import LinkMinutes, LinkQueries, Users, rename_subjects

ANY = "any"


@dataclass(frozen=True, kw_only=True)
class Unprotected(Method):
    """Release every query, to compare with: nothing is promised."""

    max_words: Annotated[int | str, NumberOr(1, ANY), "queries with more words are left out; 'any': none are"] = ANY
    users: Users = "drop"
    link_queries: LinkQueries = 3
    link_minutes: LinkMinutes = 30
    attrs: Annotated[
        str, Choice("keep", "drop"), "what accompanies a query: all but the time as it was, or nothing"
    ] = "keep"
    times: Times = "day"

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = YARDSTICK
    further_details: ClassVar[bool] = True

    def promises(self, facts: Facts) -> tuple[None_, ...]:
        """Nothing, in so many words."""
        promise = None_(
            users=self.users,
            link_queries=self.link_queries,
            link_minutes=self.link_minutes,
            attrs=self.attrs,
            times=self.times,
            session_minutes=facts.session_minutes,
            details=",".join(facts.shape.further),
        )
        return (promise,)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        """Step 1: all queries that are not too long."""
        item, user = pl.col(log.shape.item), pl.col(log.shape.subject)
        pairs = log.frame.select(user.alias("subject"), item.alias("item"))
        words = pl.col("item").str.split(" ").list.eval(pl.element().filter(pl.element() != "")).list.len()

        def kept(frame: pl.LazyFrame) -> pl.LazyFrame:
            crowd = pl.col("subject").drop_nulls().n_unique().cast(pl.UInt32).alias("degree")
            short = frame if isinstance(self.max_words, str) else frame.filter(words <= self.max_words)
            return short.group_by("item").agg(crowd)

        table = run.keep(run.blocks(pairs, kept, ["item"], out=KEEP))
        alone = pl.col("degree") <= 1
        one, total = table.select(alone.sum(), pl.len()).collect(engine="streaming").row(0)
        note = f"Nothing is promised: {one:,} of {total:,} released queries were typed by one person alone."
        return Plan(table=table, notes=(note,))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 2: their rows, with times cut and names as asked."""
        kept = without_identifiers(keep_items(log, plan.table, run), run)
        kept = cut_times(kept, self.times) if self.attrs == "keep" else without_details(kept, run)
        minis = {"link_queries": self.link_queries, "link_minutes": self.link_minutes}
        return rename_subjects(kept, log, self.users, run, **minis)
