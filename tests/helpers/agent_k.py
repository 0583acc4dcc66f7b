"""A promise that covers a column: every released pair of page and agent is that of enough visitors.

It stands here as a third party would ship it. Its judge counts what is in the column, so that it need not be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.core.params import Range
from coterie.core.promise import ORIGINAL, Case, Check, Kind, Promise


@dataclass(frozen=True, kw_only=True)
class AgentK(Promise):
    """Every released pair of page and agent is that of enough visitors."""

    k: Annotated[int, Range(2), "smallest number of visitors behind a page and an agent"]

    name: ClassVar[str] = "agent_k"
    covers: ClassVar[tuple[str, ...]] = ("agent",)
    releases: ClassVar[Kind] = "text"
    not_of_foreign: ClassVar[str] = "is for releases with a sidecar only."

    @property
    def headline(self) -> str:
        return f"k = {self.k}"

    @property
    def sentence(self) -> str:
        return f"Every page was requested with its agent by at least {self.k} different visitors."

    @property
    def limits(self) -> tuple[str, ...]:
        return ("One person can be several visitors.",)

    def check(self, case: Case) -> Iterator[Check]:
        """Count the visitors behind each released pair."""
        pair = tuple(name for name in (case.shape.item, "agent") if name in case.shape.released)
        crowds = case.rows.select(pair).unique()
        about = {"name": "agents", "detail": f"{self.k} visitors behind each agent", "carries_promise": True}
        if case.original is None:
            yield Check(status="not checked", needs=ORIGINAL, needs_original=True, **about)
            return
        subject = case.original.shape.subject
        counted = case.original.frame.group_by(pair).agg(pl.col(subject).drop_nulls().n_unique().alias("_crowd"))
        sizes = crowds.join(counted, on=pair, how="left", nulls_equal=True).select(pl.col("_crowd").fill_null(0))
        few, looked_at = sizes.select((pl.col("_crowd") < self.k).sum(), pl.len()).collect().row(0)
        status, fault = ("failed", "have fewer") if few else ("passed", "")
        yield Check(status=status, broken=few, fault=fault, looked_at=looked_at, needs_original=True, **about)
