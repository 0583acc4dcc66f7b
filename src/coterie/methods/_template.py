"""Release a query only if k people asked it, and nothing beside it. Copy this file to start a new method.

A method is one file: this docstring with its five sections, and one frozen dataclass named after the file
(`suppress_rare` holds `SuppressRare`). Nothing has to be registered. `coterie.testing.check_method` examines it.

Paper: who described it, where, and which section of SPEC.

Symbols: k = smallest number of users behind a released query.

Promise: every released query was issued by at least k different users; no row has a user, time, rank or url.

Differs: say here where you depart from the paper, and why; each erratum that you applied by its number.

Cost: one pass over the log with one hash table of (user, query) pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.apply import keep_items, rename_subjects, without_details
from coterie.log import Log
from coterie.params import Range, check_params
from coterie.promises import QueryKAnonymity
from coterie.run import Draft, Run, enough_subjects
from coterie.shapes import KEEP, QUERIES, Shape


@dataclass(frozen=True, kw_only=True)
class Template:
    """One line that says what the method does."""

    k: Annotated[int, Range(2)] = 5  # 1. the paper's parameters, each with its allowed values

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "example"
    param_docs: ClassVar[dict[str, str]] = {"k": "smallest number of users behind a released query"}

    def __post_init__(self) -> None:
        check_params(self, "template")

    def promise(self, n_subjects: int) -> QueryKAnonymity:
        """2. What a release promises; an error where it cannot be kept."""
        enough_subjects("template", self.k, n_subjects)
        return QueryKAnonymity(k=self.k, users="drop", attrs="drop")

    def plan(self, log: Log, run: Run) -> pl.LazyFrame:
        """3. Decide. Rows that belong together reach `work` together, in one block or in many."""
        pairs = log.frame.select("user", pl.col("query").alias("item"))

        def work(frame: pl.LazyFrame) -> pl.LazyFrame:
            degrees = frame.drop_nulls().unique().group_by("item").len(name="degree")
            return degrees.filter(pl.col("degree") >= self.k)

        return run.collect(run.map(pairs, work, by=["item"], out=KEEP))

    def release(self, log: Log, plan: pl.LazyFrame, run: Run) -> Draft:
        """4. Apply the decision to all rows. Sorting, verifying and writing are done for you."""
        return rename_subjects(without_details(keep_items(log, plan)), log, "drop", run)

    # 5. A method that groups users also has `baseline(self)`: itself with random groups, or None where they are random
    # already. Reports and studies show it beside the method.
