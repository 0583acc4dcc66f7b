"""Write equal items equally: NFKC, lower case, trimmed, runs of white space to one space.

Nothing else is stripped: `&`, digits, dots and hyphens are part of words. Paths of access logs keep their case,
which matters to servers, and are only trimmed. Terms of a document that become equal are one term, with the sum of
their weights.
"""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import NORMAL, QUERIES, VISITS
from coterie.steps._spelling import PrepareStep
from coterie.text.words import is_normal, spell


class Normalize(PrepareStep):
    """Write equal items equally."""

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log with its items in one spelling."""
        item = pl.col(log.shape.item)
        if log.shape.plain is QUERIES:
            # Most lines need no work. Which ones is told where the log was read, if it is large.
            marked = NORMAL in log.frame.collect_schema()
            done = pl.when(pl.col(NORMAL) if marked else is_normal(item)).then(item).otherwise(spell(item))
        elif log.shape is VISITS:
            done = item.str.strip_chars()
        else:
            done = spell(item)
            if log.frame.select((done == item).all()).collect(engine="streaming").item():
                return self.done(log, log.frame)
        frame = log.frame.with_columns(done.alias(log.shape.item)).drop(NORMAL, strict=False)
        return self.done(log, log.shape.once(frame))
