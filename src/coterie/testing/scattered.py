"""An engine for tests that does to rows what a cluster does, without one.

Every piece of work is pickled and runs in another process; rows are shuffled before work sees them, cut at random, and
blocks hold several keys. Work that depends on the order of rows, on how they are cut, or on something that cannot
travel fails here in seconds. It needs cloudpickle, which pickles functions as Spark does.
"""

from __future__ import annotations

import atexit
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pickle import loads
from typing import Any

import polars as pl

from coterie.core.run import SMALL, How
from coterie.engines.remote import Piece, Remote, Table, empty, said

__all__ = ["Scattered"]


class _Rows(Table):
    def __init__(self, rows: pl.DataFrame, cut: random.Random, *, ordered: bool = False) -> None:
        self.rows, self.schema, self.ordered, self._cut = rows, dict(rows.schema), ordered, cut

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Some rows at a time, in any order unless they were sorted."""
        rows = self.rows if columns is None else self.rows.select(columns)
        if not self.ordered:
            rows = rows.sample(fraction=1, shuffle=True, seed=self._cut.getrandbits(32))
        start = 0
        while start < rows.height:
            size = self._cut.randint(1, max(1, rows.height // 2))
            yield rows.slice(start, size)
            start += size


class Scattered(Remote):
    """Runs work in other processes, on rows in any order, cut anywhere. `seed` says how."""

    def __init__(self, seed: int = 0, limit: int = SMALL, blocks: int = 3) -> None:
        super().__init__(limit)
        self._cut, self._blocks = random.Random(seed), blocks  # noqa: S311 (it cuts rows of tests)

    def __reduce__(self) -> Any:
        raise TypeError("An engine stays where it is: work that needs it cannot travel.")

    def put(self, rows: pl.DataFrame) -> Table:
        """A table of rows that are here."""
        return _Rows(rows, self._cut)

    def run_each(self, table: Table, piece: Piece) -> Table:
        """A piece of work on any rows, in order."""
        return self._gathered(piece, [(part,) for part in table.parts()], ordered=_of(table).ordered)

    def run_blocks(self, tables: Sequence[Table], by: Sequence[str], piece: Piece) -> Table:
        """A piece of work on blocks of all tables, by a hash of their key."""
        cut, seed = [], self._cut.getrandbits(32)
        for table in tables:
            rows = pl.concat([empty(table.schema), *table.parts()])
            number = rows.select((pl.struct(by).hash(seed=seed) % self._blocks).alias("_")).to_series()
            cut.append([rows.filter(number == block) for block in range(self._blocks)])
        blocks = [block for block in zip(*cut, strict=True) if any(rows.height for rows in block)]
        return self._gathered(piece, blocks)

    def run_crowds(self, table: Table, by: Sequence[str], subject: str, name: str) -> Table:
        """Distinct subjects of each key."""
        pairs = _of(table).rows.select(*by, subject).drop_nulls().unique()
        return self.put(pairs.group_by(by).len(name))

    def run_join(self, table: Table, other: Table, on: Sequence[str], how: How) -> Table:
        """Rows that are equal in `on`."""
        return self.put(_of(table).rows.join(_of(other).rows, on=on, how=how))

    def run_sort(self, table: Table, by: Sequence[str]) -> Table:
        """The rows in order."""
        return _Rows(pl.concat([empty(table.schema), *table.parts()]).sort(by), self._cut, ordered=True)

    def run_numbered(self, table: Table, name: str) -> Table:
        """A sorted table with places in front."""
        return _Rows(_of(table).rows.with_row_index(name), self._cut, ordered=True)

    def run_keep(self, table: Table) -> Table:
        """They were computed already."""
        return table

    def _gathered(self, piece: Piece, blocks: Sequence[tuple[pl.DataFrame, ...]], *, ordered: bool = False) -> Table:
        from cloudpickle import dumps

        packed = dumps(piece)
        futures = [_pool().submit(_run, packed, block) for block in blocks]
        try:
            done = [future.result() for future in futures]
        except RuntimeError as error:
            raise said(str(error)) or error from None
        return _Rows(pl.concat([empty(piece.schema), *done]), self._cut, ordered=ordered)


def _of(table: Table) -> _Rows:
    assert isinstance(table, _Rows), "a table of another engine"
    return table


def _run(packed: bytes, tables: tuple[pl.DataFrame, ...]) -> Any:
    piece: Piece = loads(packed)  # noqa: S301 (made by the process that started this one)
    return piece.elsewhere(*tables)


@cache
def _pool() -> ProcessPoolExecutor:
    """Processes that know nothing of this one; they are started once."""
    pool = ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn"))
    atexit.register(pool.shutdown, cancel_futures=True)
    return pool
