"""Find full names of people in queries by a list, and leave these rows out, write a name as one word, or only count.

`census` is a small list that comes along: frequent first and last names of the United States Census of 1990; a first
name beside a last name is a full name. A list of your own is a UTF-8 file with one full name on each line. With
`found = join` a name becomes one word (`john_smith`), so that methods that look at words take it for one. The sidecar
of a release says of it `own list`, and nothing else: even a digest of a few names can be found by trying names. The run
record (`--record`) has the digest, by which `verify`, `measure` and `report` know the file; without it, `verify` takes
the steps with the name of the file (`--prepare`).

This is a filter without any promise: a list finds what is on it, and takes for a name what only looks like one. How
much it finds is measured below. It never stands in place of a method with a promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, File
from coterie.steps._spelling import PrepareStep
from coterie.text.full_names import CENSUS, has_name, names_joined

_BECAME = {"drop": "were left out", "join": "have it as one word now", "count": "were kept as they are"}


@dataclass(frozen=True, kw_only=True)
class Names(PrepareStep):
    """Find full names of people by a list."""

    listed: Annotated[str, File(CENSUS), "the list of names: census, or a FILE of your own with one on each line"] = (
        CENSUS
    )
    found: Annotated[
        str,
        Choice("drop", "join", "count"),
        "what becomes of a query with a full name: it is left out, has the name as one word, or stays",
    ] = "drop"

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log after that; the step counts rows, queries, and says how many."""
        item = log.shape.item
        items = log.frame.group_by(item).len("rows").collect(engine="streaming")
        named = items.filter(has_name(items[item], self.listed))
        frame = log.frame
        if self.found == "drop":
            frame = frame.join(named.lazy().select(item), on=item, how="anti", nulls_equal=True)
        elif self.found == "join":
            joined = named.select(item, names_joined(named[item], self.listed).alias("_joined")).lazy()
            frame = frame.join(joined, on=item, how="left").with_columns(pl.coalesce("_joined", item).alias(item))
            frame = frame.drop("_joined")
        counts = {"queries": named.height, "rows": int(named["rows"].sum())}
        total = int(items["rows"].sum())
        nouns = log.shape.item_nouns
        which = f"the list {CENSUS}" if self.listed == CENSUS else "a list of your own"
        note = (
            f"names: {counts['rows']:,} of {total:,} rows ({counts['queries']:,} different {nouns}) have a full name "
            f"by {which}, and {_BECAME[self.found]}. What is not on the list was not found (docs/prepare.md)."
        )
        return self.done(log, frame, counts, note)
