"""Number the sessions of each user: a new one begins after 30 minutes without activity.

Adds the private column `session`, which methods with `users = session` use. Rows without a time belong to the
first session of their user; rows without a user to none.
"""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from coterie.core.log import Log, Step

PAUSE = timedelta(minutes=30)


def sessions(log: Log) -> Log:
    """The log with the number of the session within its user."""
    subject = log.shape.subject
    pause = pl.col("time").diff() > PAUSE
    number = pause.fill_null(False).cum_sum().cast(pl.UInt32).over(subject, order_by="time")
    session = pl.when(pl.col(subject).is_not_null()).then(number).alias("session")
    columns = [name for name in log.shape.schema if name != "session"]
    return log.then(log.frame.select(*columns, session), Step(name="sessions"))
