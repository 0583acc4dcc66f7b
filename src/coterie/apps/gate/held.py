"""What a gate holds of one window: a table for queries and one for clicks, and texts that wait for their part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
import polars as pl

from coterie.apps.gate.keys import Key
from coterie.apps.gate.shadow import CLICK, QUERY, Shadow
from coterie.apps.gate.table import ARRAYS, WHOLE, GateTable

_LINES = {
    "what": pl.Int64, "item": pl.String, "page": pl.String, "day": pl.Int64, "count": pl.Int64, "crowd": pl.Boolean,
}  # fmt: skip


@dataclass
class Window:
    """What is known of the window that is open."""

    number: int
    key: Key
    tables: list[GateTable]
    """Of queries, and of clicks."""
    shadow: Shadow | None
    texts: list[dict[int, tuple[str, str | None]]] = field(default_factory=lambda: [{}, {}])
    """By tag: item and page of entries that are open and wait for their part."""

    def blobs(self) -> dict[str, Any]:
        """What a snapshot keeps of it."""
        arrays = {
            f"{what}.{name}": array for what in (QUERY, CLICK) for name, array in self.tables[what].arrays().items()
        }
        waiting = [
            [what, f"{tag:x}", *pair] for what in (QUERY, CLICK) for tag, pair in sorted(self.texts[what].items())
        ]
        kept = {} if self.shadow is None else {"shadow": self.shadow.data()}
        return {**arrays, "texts": orjson.dumps(waiting), **kept}

    def restore(self, blobs: Mapping[str, Any]) -> None:
        """Hold what `blobs` gave."""
        for what, table in enumerate(self.tables):
            table.restore({name: blobs[f"{what}.{name}"] for name in ARRAYS})
        for what, tag, item, page in orjson.loads(blobs["texts"]):
            self.texts[what][int(tag, 16)] = (item, page)

    def take(self, what: int, rest: bool) -> pl.DataFrame:
        """What one of the tables gives, with texts in place of tags."""
        taken = self.tables[what].take(rest)
        texts = [self.texts[what].pop(tag) for tag in taken.tags]
        days = [None if day == WHOLE or what == CLICK else day for day in taken.day.tolist()]
        entries = taken.entry.tolist()
        return pl.DataFrame(
            {
                "what": [what] * len(entries),
                "item": [texts[entry][0] for entry in entries],
                "page": [texts[entry][1] for entry in entries],
                "day": days,
                "count": taken.count,
                "crowd": taken.crowd[taken.entry],
            },
            schema=_LINES,
        )


def pairs(rows: pl.DataFrame) -> pl.Series:
    """Query and page as one text, with the length of the query before it: no two pairs are the same text."""
    length = pl.col("item").str.len_bytes().cast(pl.String)
    return rows.select(pl.concat_str(length, pl.lit(":"), "item", "page").alias("pair"))["pair"]
