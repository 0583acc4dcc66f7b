"""Number the sessions of each user: a new one begins after a pause of more than `minutes` without activity.

Adds the private column `session`, which methods with `users = session` use; without this step they make sessions that
end after half an hour. Rows without a time belong to the first session of their user; rows without a user to none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Range
from coterie.steps._spelling import PrepareStep, name_in, step_of


@dataclass(frozen=True, kw_only=True)
class Sessions(PrepareStep):
    """Number the sessions of each user."""

    minutes: Annotated[int, Range(1, 1440), "a session ends after more minutes than this without activity"] = 30

    looks_at = "subjects"

    def __call__(self, log: Log) -> Log:
        """The log with the number of the session within its user."""
        shape = log.shape
        subject, number = pl.col(shape.subject), pl.lit(0, dtype=pl.UInt32)
        if shape.time:
            pause = pl.col(shape.time).diff() > timedelta(minutes=self.minutes)
            number = pause.fill_null(False).cum_sum().cast(pl.UInt32).over(shape.subject, order_by=shape.time)
        session = pl.when(subject.is_not_null()).then(number).alias("session")
        columns = [name for name in log.frame.collect_schema() if name != "session"]
        return self.done(log, log.frame.select(*columns, session))


def session_minutes(log: Log) -> int:
    """The minutes that sessions of a log survive: those of the step that numbered them, or the default."""
    numbering = [step_of(text) for text in log.steps if name_in(text) == "sessions"]
    last = numbering[-1] if numbering else Sessions()
    return last.minutes if isinstance(last, Sessions) else Sessions().minutes
