"""What steps for access logs share."""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import VISITS
from coterie.errors import InputError

ROBOTS = r"(?i)^/robots\.txt(?:[?;#]|$)"
"""A request for the file that tells robots where they may go."""


def only_visits(log: Log, step: str) -> None:
    """Refuse what is not an access log."""
    if log.shape is not VISITS:
        raise InputError(
            f"The step {step} is for access logs ({VISITS.name}), and this log is {log.shape.name}. Leave it out of "
            f"--prepare."
        )


def counted(log: Log, **numbers: pl.Expr) -> dict[str, int]:
    """Numbers of rows, in one pass over the log."""
    row = log.frame.select(**numbers).collect(engine="streaming").row(0, named=True)
    return {name: int(number or 0) for name, number in row.items()}
