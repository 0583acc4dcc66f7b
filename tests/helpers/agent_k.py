"""A promise that covers a column: every released pair of page and agent is that of enough visitors.

It stands here as a third party would ship it. Its judge counts what is in the column, so that it need not be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie.core.params import Range, check_params
from coterie.core.promise import ORIGINAL, Case, Check, Kind
from coterie.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class AgentK:
    """Every released pair of page and agent is that of enough visitors."""

    k: Annotated[int, Range(2), "smallest number of visitors behind a page and an agent"]

    name: ClassVar[str] = "agent_k"
    about: ClassVar[Literal["items", "subjects"]] = "items"
    covers: ClassVar[tuple[str, ...]] = ("agent",)
    releases: ClassVar[Kind] = "text"
    linkage_bound: ClassVar[float | None] = None
    evidence: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def headline(self) -> str:
        return f"k = {self.k}"

    @property
    def sentence(self) -> str:
        return f"Every page was requested with its agent by at least {self.k} different visitors."

    @property
    def limits(self) -> tuple[str, ...]:
        return ("One person can be several visitors.",)

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> AgentK:  # noqa: ARG003
        raise ParameterError("agent_k is for releases with a sidecar only.")

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
