"""Release as much of each request of an access log as enough visitors share: page, referrer, browser and hour.

Paper: none. It replaces the microaggregation of access logs by G. Navarro-Arribas and V. Torra (2009, 2010),
    whose k records are mostly those of one visitor.

Symbols: k = smallest number of visitors behind a released row; a detail = what accompanies a page (`details`).

Promise: every released row, all its columns together, is what at least k different visitors did. The path is cut to its
    longest prefix by segments (`/a/b/*`) that k visitors share; then each detail in its order stays where k visitors
    share it and all before it, and the rows left without it come from k visitors, too. No row has a name or an address.

Differs:
    - The paper averages k records. Here each row is a row of the log, made less precise: nothing is invented.
    - What follows the question mark is the last level of a path and goes first; all of it is compared, not its parts.
    - Rows whose prefix has fewer than k visitors move to the next shorter one, together with other such rows; so those
      left in `/a/*`, next to the pages of `/a/` that stay, come from k visitors. Rows that share no beginning of a path
      with k visitors are left out. A prefix has at most 32 segments.
    - Where too few visitors would be left without a detail, the smallest value that would stay is given up for them.
    - `referrer` is the host of the referrer and `browser` the family, as ua-parser calls it. `hour` and `day` are the
      beginning of the hour and of the day. `hour,day` releases the day where the hour cannot stay; `time_level` says
      which of them a time is.
    - A visitor is what the log calls one. Rows without a visitor are not counted, and are released as the others of
      their kind are.

Cost: a few passes over the log, and counts of distinct (visitor, page, details). Memory: the distinct (visitor, page)
    pairs on one machine, whatever `blocks` is; each distinct agent and referrer is read once.

Example:
    >>> import coterie, polars
    >>> visits = [("ann", "/tea/green"), ("bob", "/tea/green"), ("bob", "/tea/black"), ("cyd", "/tea/white")]
    >>> log = coterie.log(polars.DataFrame(visits, schema=["user", "path"], orient="row"))
    >>> coterie.anonymize(log, GeneralizeVisits(k=2)).to_polars()["path"].to_list()
    ['/tea/*', '/tea/*', '/tea/green', '/tea/green']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import polars as pl

from coterie.algorithms import pages
from coterie.algorithms.pages import AGENT, BROWSER, HOST, INTO, ITEM, REFERRER, VISITOR, stays
from coterie.core.log import Log
from coterie.core.params import Late, Range, Several
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import VISITS, Shape
from coterie.errors import ParameterError
from coterie.promises.visit_k_anonymity import Details, VisitKAnonymity
from coterie.releasing.names import rename_subjects

_HOUR, _DAY = "hour", "day"
_COLUMNS = {BROWSER: AGENT, _HOUR: VISITS.time, _DAY: VISITS.time}  # of details that are not called as their column is
_HOSTS, _BROWSERS, _KEPT = "hosts", "browsers", "details"  # tables of a plan
_WHOLE = "whole_path_stays"


@dataclass(frozen=True, kw_only=True)
class GeneralizeVisits(Method):
    """Release as much of each request as at least k different visitors share."""

    k: Annotated[int, Range(2), Late(), "smallest number of visitors behind a released row"] = 5
    details: Details = "referrer,browser,hour,day"

    accepts: ClassVar[tuple[Shape, ...]] = (VISITS,)
    status: ClassVar[str] = "stable"
    anywhere: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if _DAY in self._details and _HOUR in self._details[self._details.index(_DAY) :]:
            raise ParameterError(
                "A day stands where the hour cannot: in the 'details' of generalize_visits, write hour before day."
            )

    def promises(self, facts: Facts) -> tuple[VisitKAnonymity, ...]:
        """At least k visitors behind each released row."""
        enough_subjects("generalize_visits", self.k, facts)
        return (self._promise,)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        """Step 1: what each path becomes. Step 2: which details stay, for each kind of request."""
        log = pages.with_short_names(log, run)
        request = pl.col(log.shape.subject).alias(VISITOR), pl.col(log.shape.item).alias(ITEM)
        requests = run.each(log.frame, lambda rows: rows.select(request))
        into = pages.shared_prefixes(requests, self.k, run)  # paths, which are held here
        tables = {}
        if REFERRER in self._details:
            tables[_HOSTS] = pages.hosts(log, run)
        if BROWSER in self._details:
            tables[_BROWSERS] = pages.browsers(log, run)
        instead = {_DAY: _HOUR} if {_HOUR, _DAY} <= set(self._details) else {}
        kept = pages.kept_details(self._visits(log, into, tables, run), self._details, self.k, run, instead)
        return Plan(table=into, tables={**tables, _KEPT: kept})

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 3: each visit with its prefix and the details that stay, and with nothing else."""
        shape = self.shape_given(log, [self._promise])
        visits = self._visits(log, plan.table, plan.tables, run)
        if self._details:
            kind = [INTO, *self._details]

            def with_kept(rows: pl.LazyFrame, kept: pl.LazyFrame) -> pl.LazyFrame:
                return rows.join(kept, on=kind, nulls_equal=True)

            visits = run.blocks(visits, with_kept, [INTO], plan.tables[_KEPT])
        columns: dict[str, pl.Expr] = {name: pl.lit(None, shape.schema[name]) for name in shape.released}
        columns |= {shape.subject: pl.col(VISITOR), shape.item: pl.col(INTO)}
        for detail in reversed(self._details):  # the hour stands before the day, so it comes last
            column = _COLUMNS.get(detail, detail)
            columns[column] = pl.when(stays(detail)).then(detail).otherwise(columns[column])
            if column == shape.time:
                columns[shape.level] = pl.when(stays(detail)).then(pl.lit(detail)).otherwise(columns[shape.level])
        kept = {
            _WHOLE: pl.col(INTO) == pl.col(ITEM),
            **{stays(detail): pl.col(stays(detail)) for detail in self._details},
        }
        every, told = [value.alias(name) for name, value in {**columns, **kept}.items()], list(kept)
        released = run.keep(run.each(visits, lambda rows: rows.select("row", *every)))
        bare = run.each(released, lambda rows: rows.drop(told))
        draft = rename_subjects(replace(log, frame=bare, shape=shape), log, "drop", run)
        return replace(draft, warnings=self._how_much(released, run))

    def _how_much(self, released: pl.LazyFrame, run: Run) -> tuple[str, ...]:
        """How much of visits is kept, in a sentence; nothing where no row is released."""
        names = {"the whole path": _WHOLE, **{f"the {detail}": stays(detail) for detail in self._details}}
        sums = [pl.col(column).sum().cast(pl.Int64) for column in names.values()]
        rows, *kept = run.total(released, lambda rows: rows.select(pl.len().cast(pl.Int64), *sums)).row(0)
        told = ", ".join(f"{name} {100 * part / rows:.1f}%" for name, part in zip(names, kept, strict=True) if rows)
        return (f"Released rows keep, of {rows:,}: {told}.",) if rows else ()

    @property
    def _promise(self) -> VisitKAnonymity:
        return VisitKAnonymity(k=self.k, details=self.details)

    @property
    def _details(self) -> tuple[str, ...]:
        return Several.words(self.details)

    def _visits(
        self, log: Log, into: pl.LazyFrame, tables: Mapping[str, pl.LazyFrame], run: Run
    ) -> pl.LazyFrame:  # fmt: skip
        """row, visitor, item, into, and each detail: the visits whose paths become something."""
        shape, frame = log.shape, log.frame
        hour, day = (pl.col(shape.time).dt.truncate(unit) for unit in ("1h", "1d"))
        values = {REFERRER: pl.col(HOST), _HOUR: hour, _DAY: day}
        for name, column in ((_HOSTS, REFERRER), (_BROWSERS, AGENT)):
            frame = run.join(frame, tables[name], [column], "left") if name in tables else frame
        frame = run.join(frame, into.rename({ITEM: shape.item}), [shape.item])
        named = {VISITOR: pl.col(shape.subject), ITEM: pl.col(shape.item), INTO: pl.col(INTO)}
        named |= {detail: values.get(detail, pl.col(detail)) for detail in self._details}
        every = [value.alias(name) for name, value in named.items()]
        return run.each(frame, lambda rows: rows.select("row", *every))
