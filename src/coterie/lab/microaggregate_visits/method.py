"""Put one record in place of k similar records of an access log.

Paper: G. Navarro-Arribas and V. Torra, ARES deliverable (2010), section 3.1, after their "Towards microaggregation of
    log files for Web usage mining in B2C e-commerce" (2009).

Symbols: k = smallest number of records in a group; d = distance of two records, the weighted mean of those of request,
    referrer, agent, address, time, method, status and size; x̄ = the average of the records that are not grouped yet;
    x_r, x_s = the records farthest from x̄ and from x_r.

Promise: every released record stands for records of at least k different visitors, and at least k times. With
    `visitors = false`, the paper's rule, it stands k times and the k may come from one visitor, which hides nobody: use
    it only to reproduce the paper. No address is ever released. Records without a visitor are not released.

Differs:
    - The papers that define the method were not available. Distances, averages and weights are our own choice.
    - `visitors`: a group is x_r (or x_s) and the nearest records of k - 1 other visitors, as long as records of k
      visitors are left; the paper counts records. The records left then belong to the visitors who have the most: each
      joins the group whose first record is nearest (`leftovers = nearest`), or is not released. Groups can then be
      larger than 2k - 1.
    - The common prefix of the addresses of one visitor is the address, so that no part of an address is released.
    - With `visitors`, a commonest value (method, status, browser, system) that one visitor alone has is not released.
    - Query strings are cut off, as tokens in them point at people. Beyond the 32nd segment a path counts as one.
    - Above `block` records MDAV runs within blocks of records with similar paths and referrers.

Cost: about 0.75 n² / k distances for a block of n records, each a few nanoseconds; with blocks the cost for each
    record is constant. Memory: the rows that are needed and 40 bytes for each record.

Example:
    >>> import coterie, polars
    >>> seen = [("ann", "/tea/green"), ("bob", "/tea/black"), ("cyd", "/maps"), ("dan", "/maps")]
    >>> log = coterie.log(polars.DataFrame(seen, schema=["user", "path"], orient="row"))
    >>> coterie.anonymize(log, MicroaggregateVisits(k=2)).to_polars()["path"].to_list()
    ['/maps', '/maps', '/tea/*', '/tea/*']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, Flag, Late, Range
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import VISITS, Shape
from coterie.lab.microaggregate_visits import model as visit_records
from coterie.lab.microaggregate_visits.release import release_records
from coterie.promises.record_k_anonymity import RecordKAnonymity

_WEIGHTS = {"request": 3.0, "referrer": 2.0, "agent": 2.0, "address": 2.0, "time": 1.0, "rest": 0.5, "session": 3.0}
_LARGEST = 100.0
_ROW, _GROUP = "row", "group"
_WARNING = (
    "The k may come from one visitor: {groups:.1f} % of the groups, with {one:.1f} % of the rows, are of one visitor, "
    "and {few:.1f} % of the rows are in groups of fewer visitors than k. This reproduces the paper and hides nobody: "
    "do not publish it."
)


class Weights:
    """Weights of the parts of a record, in halves; those that are not named have the usual ones."""

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as Range)
        """Whether `value` names parts and gives them such weights, one of them above zero."""
        try:
            weights = weights_in(value)
        except (AttributeError, ValueError):
            return False
        known = set(weights) == set(_WEIGHTS)
        return (
            known
            and all(0 <= w <= _LARGEST and 2 * w == int(2 * w) for w in weights.values())
            and any(weights.values())
        )

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return f"such as 'request=3,time=0.5': {', '.join(_WEIGHTS)}, each from 0 to {_LARGEST:g} in halves"


def weights_in(text: str) -> dict[str, float]:
    """The weights that a text names, and the usual ones of all other parts."""
    named = [part.partition("=") for part in text.split(",") if part]
    return {**_WEIGHTS, **{name.strip(): float(value) for name, _, value in named}}


@dataclass(frozen=True, kw_only=True)
class MicroaggregateVisits(Method):
    """Put one record in place of k similar records of an access log."""

    k: Annotated[int, Range(2), Late(), "smallest number of records, or visitors, that share a released record"] = 5
    visitors: Annotated[
        bool, Flag(), "groups have records of k different visitors; or of any, as in the paper, which hides nobody"
    ] = True
    leftovers: Annotated[
        str,
        Choice("nearest", "suppress"),
        "records left when fewer than k visitors remain: each in the nearest group, or not released",
    ] = "nearest"
    sessionid: Annotated[bool, Flag(), "records of one session are nearer to each other, as in the paper's variant"] = (
        False
    )
    weights: Annotated[str, Weights(), "weights of the parts of a record that differ from the usual ones"] = ""
    block: Annotated[int, Range(0), "records compared with each other, at least 2k; 0: all, however many"] = 5000

    accepts: ClassVar[tuple[Shape, ...]] = (VISITS,)
    status: ClassVar[str] = "reproduction"
    holds_rows: ClassVar[bool] = True

    def promises(self, facts: Facts) -> tuple[RecordKAnonymity, ...]:
        """Each record stands k times, for k visitors unless that was not asked for."""
        enough_subjects("microaggregate_visits", self.k, facts)
        return (RecordKAnonymity(k=self.k, visitors=self.visitors),)

    def learn(self, log: Log, run: Run) -> visit_records.Records:  # noqa: ARG002 (nothing is drawn at random)
        """Step 1: records as numbers."""
        return visit_records.encode(log, sessionid=self.sessionid)

    def plan(self, learnt: visit_records.Records, log: Log, run: Run) -> Plan:
        """Step 2: which rows are grouped."""
        weights = weights_in(self.weights)
        if not self.sessionid:
            weights["session"] = 0
        clusters = visit_records.clusters(
            learnt,
            self.k,
            list(weights.values()),
            run,
            block=self.block,
            visitors=self.visitors,
            join=self.leftovers == "nearest",
        )
        return Plan(
            table=clusters.table, evidence={"clusters": clusters.table}, notes=self._notes(learnt, log, clusters)
        )

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 3: the average of its group in place of each record."""
        return release_records(log, plan, run, several=self.visitors)

    def _notes(self, records: visit_records.Records, log: Log, clusters: visit_records.Clusters) -> tuple[str, ...]:
        """What the groups cost, and whom they do not hide."""
        notes, n = [], len(records)
        if clusters.joined:
            notes.append(
                f"{clusters.joined:,} of {n:,} records remained when fewer than {self.k} visitors did, and joined the "
                "nearest group."
            )
        if clusters.left_out:
            notes.append(
                f"{clusters.left_out:,} of {n:,} records remained when fewer than {self.k} visitors did: left out."
            )
        if records.nobodys:
            notes.append(f"{records.nobodys:,} rows without a visitor are left out.")
        if not self.visitors:
            notes.append(_WARNING.format(**_alone(log, clusters.table, self.k)))
        return tuple(notes)


def _alone(log: Log, groups: pl.LazyFrame, k: int) -> dict[str, float]:
    """Shares of groups, and of rows in groups, of one visitor and of fewer than k, in percent."""
    visitors = log.frame.select(_ROW, pl.col(log.shape.subject).alias("visitor")).join(groups, on=_ROW)
    sizes = visitors.group_by(_GROUP).agg(pl.len().alias("rows"), pl.col("visitor").n_unique().alias("visitors"))
    one, few = pl.col("visitors") == 1, pl.col("visitors") < k
    rows = pl.col("rows").sum()
    shares = sizes.select(
        (100 * one.mean()).alias("groups"),
        (100 * pl.col("rows").filter(one).sum() / rows).alias("one"),
        (100 * pl.col("rows").filter(few).sum() / rows).alias("few"),
    )
    return shares.collect(engine="streaming").row(0, named=True)
