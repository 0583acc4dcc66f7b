"""Write equal items equally (SPEC 1.2): NFKC, lower case, trimmed, runs of white space to one space.

Nothing else is stripped: `&`, digits, dots and hyphens are part of words. Paths of access logs keep their case,
which servers tell apart, and are only trimmed.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from coterie.core.log import Log, Step
from coterie.core.shapes import QUERIES
from coterie.steps._spelling import spelled

# Printable ASCII without capitals, words separated by single spaces: nothing to do.
_NORMAL = r"^[!-@\[-~]+(?: [!-@\[-~]+)*$"


@dataclass(frozen=True, kw_only=True)
class Normalize:
    """Write equal items equally."""

    def __call__(self, log: Log) -> Log:
        """The log with its items in one spelling."""
        item = pl.col(log.shape.item)
        if log.shape is QUERIES:
            # Most lines need no work, and telling so is four times cheaper than doing it.
            done = pl.when(item.str.contains(_NORMAL)).then(item).otherwise(spell(item))
        else:
            done = item.str.strip_chars()
        return log.then(log.frame.with_columns(done.alias(log.shape.item)), Step(name=spelled(self)))


def spell(text: pl.Expr) -> pl.Expr:
    """The one spelling of a text."""
    # NFKC once more after lower-casing: a few capitals fall apart into letter and accent.
    folded = text.str.normalize("NFKC").str.to_lowercase().str.normalize("NFKC")
    return folded.str.replace_all(r"\s+", " ").str.strip_chars()
