"""A judge looks at rows that are elsewhere: part by part, or in blocks of what belongs together, and checks are added
up.

Numbers of checks add up because each thing that is looked at is in one block. How many people the broken ones concern
does not, and is not told then: such a release is not written anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace

import orjson
import polars as pl

from coterie.core.log import Log, Step
from coterie.core.promise import Case, Check
from coterie.core.run import Engine, Judge
from coterie.core.shapes import Shape

_FOUND = {"place": pl.Int64, "check": pl.String}
_KEY = "_key"


def divided(engine: Engine, case: Case, judge: Judge, by: tuple[str, str] | None = None) -> Iterator[Check]:
    """The checks of a judge, as `Engine.judged` has them."""
    bare, original = _bare(case), case.original
    if by is None or original is None:

        def rows_alone(rows: pl.LazyFrame) -> pl.LazyFrame:
            return _written(judge(bare(rows, None)))

        yield from _added(engine.total(case.rows, rows_alone, lambda found: found))
        return
    ours, theirs = by
    key, rows, beside = ours, case.rows, original.frame
    if ours != theirs:
        key, rows, beside = _KEY, _with_key(engine, rows, ours), _with_key(engine, beside, theirs)

    def work(some: pl.LazyFrame, of_original: pl.LazyFrame) -> pl.LazyFrame:
        return _written(judge(bare(some.drop(_KEY, strict=False), of_original.drop(_KEY, strict=False))))

    found = engine.blocks(rows, work, [key], beside)
    nothing = _written(judge(bare(_none(case.rows), _none(original.frame)))).collect()
    yield from _added(pl.concat([nothing, engine.small(found)]))


def _with_key(engine: Engine, table: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """A table with the column that blocks are made by under a name of its own."""
    return engine.each(table, lambda rows: rows.with_columns(pl.col(column).alias(_KEY)))


def _none(table: pl.LazyFrame) -> pl.LazyFrame:
    return pl.LazyFrame(schema=table.collect_schema())


def _bare(case: Case) -> Callable[[pl.LazyFrame, pl.LazyFrame | None], Case]:
    """What makes a case of some rows of a case; it holds nothing that cannot travel."""
    shape, run, foreign, promised = case.shape, dict(case.run), case.foreign, case.promised
    of_log = None if case.original is None else (case.original.shape, case.original.history)

    def made(rows: pl.LazyFrame, original: pl.LazyFrame | None) -> Case:
        log = None if original is None or of_log is None else _log(original, *of_log)
        return Case(rows=rows, shape=shape, original=log, run=run, foreign=foreign, promised=promised, part=True)

    return made


def _log(frame: pl.LazyFrame, shape: Shape, history: tuple[Step, ...]) -> Log:
    return Log(frame=frame, shape=shape, history=history)


def _written(checks: Iterable[Check]) -> pl.LazyFrame:
    """Checks as rows; they hold counts and sentences, and no value."""
    lines = [(place, orjson.dumps(asdict(check)).decode()) for place, check in enumerate(checks)]
    return pl.LazyFrame(lines, schema=_FOUND, orient="row")


def _added(found: pl.DataFrame) -> Iterator[Check]:
    """One check for each place, with the numbers of all parts."""
    for _, rows in sorted(found.group_by("place"), key=lambda group: str(group[0][0]).zfill(9)):
        parts = [Check(**orjson.loads(text)) for text in rows["check"].unique(maintain_order=True)]
        times = dict(rows["check"].value_counts().iter_rows())
        counts = [times[text] for text in rows["check"].unique(maintain_order=True)]
        worst = next((part for part in parts if part.broken), parts[0])
        seen = [part.looked_at * n for part, n in zip(parts, counts, strict=True) if part.looked_at is not None]
        limits = [part.largest_k for part in parts if part.largest_k is not None]
        yield replace(
            worst,
            broken=sum(part.broken * n for part, n in zip(parts, counts, strict=True)),
            looked_at=sum(seen) if seen else None,
            largest_k=min(limits, default=None),
            concerns=None,
        )
