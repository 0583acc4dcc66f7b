"""What tests of the gate share: small logs in time, gates in a folder, gates that write nothing, and broken ones."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from coterie.apps.gate import Gate, Rules
from coterie.apps.gate.parts import Part, Parts
from coterie.apps.gate.table import GateTable, Texts

START = datetime(2024, 3, 7)
"""Windows of 1, 7 and 11 days begin here."""
LATER = datetime(2030, 1, 1)
SCHEMA = {"user": pl.String, "query": pl.String, "time": pl.Datetime("us"), "url": pl.String}


def rows_of(*rows: tuple[str | None, str, float] | tuple[str | None, str, float, str | None]) -> pl.DataFrame:
    """(user, query, hours after START, url)."""
    full = [(user, query, START + timedelta(hours=hours), *(rest or (None,))) for user, query, hours, *rest in rows]
    return pl.DataFrame(full, schema=SCHEMA, orient="row")


def rules_in(folder: Path, **given: Any) -> Rules:
    """Rules with state, key and output in a folder; windows of a day, parts of six hours."""
    where = {"state": folder / "state", "key": folder / "key", "output": folder / "out"}
    return Rules(**{**where, "window": "1d", "flush": "6h", **given})


def gate_in(folder: Path, **given: Any) -> Gate:
    """A gate with its state, key and output in a folder; its clock stands still at LATER."""
    others = {name: given.pop(name) for name in ("shape", "steps", "settings") if name in given}
    clock = given.pop("clock", lambda: LATER)
    return Gate(rules_in(folder, **{"k": 2, "shadow": 1, **given}), clock=clock, **others)


class Collected(Parts):
    """Keeps the lines of parts in memory, in place of files."""

    def stage(self, number, closed, rows, watched):  # type: ignore[no-untyped-def]  # noqa: ARG002
        self.lines = [*getattr(self, "lines", []), rows.with_columns(pl.lit(number).alias("part"))]
        return Part(name=f"part {number}", closed=str(closed), rows=rows.height, sha256="")


def lines_of_gate(folder: Path, chunks: list[pl.DataFrame], **given: Any) -> pl.DataFrame:
    """The lines that a gate gives when it is offered these chunks, and all windows have ended."""
    gate = gate_in(folder, **given)
    with gate.abandoned():
        gate.parts = Collected(gate.rules, gate.shape, (), {})
        for chunk in chunks:
            gate.offer_many(chunk)
        gate.end_window()
        empty = pl.DataFrame(schema={"table": pl.String, "item": pl.String, "detail": pl.String, "count": pl.Int64,
                                     "part": pl.Int32})  # fmt: skip
        return pl.concat([empty, *getattr(gate.parts, "lines", [])])


def lines_in(folder: Path) -> pl.DataFrame:
    """The lines of all parts in a folder."""
    kinds = {"table": pl.String, "item": pl.String, "detail": pl.String, "count": pl.Int64, "low": pl.Int64,
             "high": pl.Int64}  # fmt: skip
    files = sorted(folder.glob("part-*.tsv"))
    frames = [pl.read_csv(file, separator="\t", schema=kinds, quote_char=None) for file in files]
    return pl.concat([pl.DataFrame(schema=kinds), *frames]).drop("low", "high")


def totals(lines: pl.DataFrame) -> list[tuple[str, str, int]]:
    """(start of the window, query, count), sorted."""
    asked = lines.filter(~pl.col("table").str.contains("clicks"))
    start = pl.col("table").str.extract("from (.*)$").alias("start")
    return asked.group_by(start, "item").agg(pl.col("count").sum()).sort("start", "item").rows()


class TagWithoutQuery(GateTable):
    """Broken: the tag of a person does not depend on the query, so that held queries of one person link."""

    def offer(self, items: Texts, users: Texts, days: np.ndarray, first: int, last: int) -> np.ndarray:
        wanted = super().offer(items, users, days, first, last)
        used = int(self.book[1])
        self.people[:used] = 64 * 7  # as of one person
        return wanted


class HitsInPlaceOfUsers(GateTable):
    """Broken: every event counts as another person."""

    def offer(self, items: Texts, users: Texts, days: np.ndarray, first: int, last: int) -> np.ndarray:
        hits = pl.Series([f"hit {i}" for i in range(users.given.size)])
        return super().offer(items, Texts.of(hits), days, first, last)


class Estimates(GateTable):
    """Broken: people are counted by a sketch of eight registers, as HyperLogLog does, which errs in both directions."""

    def offer(self, items: Texts, users: Texts, days: np.ndarray, first: int, last: int) -> np.ndarray:
        names = [bytes(users.data[a:b]) for a, b in zip(users.start[:-1], users.start[1:], strict=True)]
        sketched = pl.Series([f"register {sum(name) % 8}" for name in names])
        return super().offer(items, Texts.of(sketched), days, first, last)
