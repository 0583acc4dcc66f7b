"""Keep some users, visitors or documents, drawn at random by their names; their rows stay whole.

The same seed draws the same ones, whatever the order of rows. Rows without a user are left out. A sample says nothing
about those who are not in it: for trying things out, and for studies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import polars as pl

from coterie.core import randomness
from coterie.core.log import Log
from coterie.core.params import Range
from coterie.steps._spelling import PrepareStep


@dataclass(frozen=True, kw_only=True)
class Sample(PrepareStep):
    """Keep some subjects, drawn at random."""

    subjects: Annotated[int, Range(1), "how many users, visitors or documents stay"] = 1000
    seed: Annotated[int, Range(0), "which ones"] = 7

    def __call__(self, log: Log) -> Log:
        """The log with the rows of some subjects."""
        subject = log.shape.subject
        names = log.frame.select(subject).drop_nulls().unique().collect(engine="streaming").sort(subject)
        keys = pl.Series("_key", randomness.keys(self.seed, "sample of subjects", names[subject]))
        drawn = names.with_columns(keys).sort("_key", subject).head(self.subjects).select(subject)
        kept = log.frame.join(drawn.lazy(), on=subject, how="semi")
        return self.done(log, kept, {"subjects": drawn.height})
