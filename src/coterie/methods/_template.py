"""Release a query only if k people asked it, and nothing besides. Copy this file to start a new method.

A method is one file: this docstring with its sections, and one frozen dataclass named after the file (`suppress_rare`
holds `SuppressRare`). Nothing has to be registered. `coterie.testing.check_method` examines it.

Paper: who described it, and where.

Symbols: k = smallest number of users behind a released query.

Promise: every released query was issued by at least k different users; no row has a user, time, rank or url.

Differs:
    - Say here where you depart from the paper, and why, one line each; errata that you applied first, by their numbers.

Cost: one pass over the log with one hash table of (user, query) pairs.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "maps"), ("bob", "maps"), ("bob", "a rare illness")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> coterie.anonymize(log, Template(k=2)).to_polars()["query"].to_list()
    ['maps', 'maps']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Late, Range
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import KEEP, QUERIES, Shape
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.releasing.details import without_details
from coterie.releasing.items import keep_items
from coterie.releasing.names import rename_subjects


@dataclass(frozen=True, kw_only=True)
class Template(Method):
    """One line that says what the method does."""

    k: Annotated[
        int,
        Range(2),
        Late(),
        "smallest number of users behind a released query",
    ] = 5  # 1. the paper's parameters, each with its allowed values

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "example"

    def promises(self, facts: Facts) -> tuple[QueryKAnonymity, ...]:
        """2. What a release promises; an error where it cannot be kept."""
        enough_subjects("template", self.k, facts)
        return (QueryKAnonymity(k=self.k, users="drop", attrs="drop"),)

    def plan(self, learnt: None, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it learns nothing)
        """3. Decide. Rows that belong together reach `work` together, in one block or in many."""
        pairs = log.frame.select(pl.col(log.shape.subject).alias("subject"), pl.col(log.shape.item).alias("item"))

        def work(frame: pl.LazyFrame) -> pl.LazyFrame:
            degrees = frame.drop_nulls().unique().group_by("item").len(name="degree")
            return degrees.filter(pl.col("degree") >= self.k)

        return Plan(table=run.keep(run.blocks(pairs, work, by=["item"], out=KEEP)))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """4. Apply the decision to all rows. Sorting, verifying and writing are done for you."""
        return rename_subjects(without_details(keep_items(log, plan.table, run), run), log, "drop", run)

    # 5. A method that groups users also has `baseline(self)`: itself with random groups, or None where they are random
    # already. Reports and studies show it beside the method. With `regroup(self, groups, learnt, log, run)`, the plan
    # on groups of an earlier release, it can make a second one that gives away no more: `models.groups.united` joins
    # groups that are too small.
