"""What accompanies an item: a tuple that enough subjects share with it, made coarser until they do, or nothing.

`attrs = common`: the tuple (details, day) of a row stays where k subjects share it together with the item. Rows that
fall short go on together to the next coarser level: the week, the month, no time; then the details go one by one, from
the last to the first. What is left at the end has no detail. Rows without a subject are not counted, and go where the
others of their tuple go. A missing value is a value like any other. `times` says which time comes first in place of the
day, and `k_details` how many subjects it takes, where these are others than k. Each time says which level it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.shapes import TIME, VISITS, Shape
from coterie.errors import ParameterError

_KEPT = {
    VISITS.name: "Exact times and sizes of single visits are kept: whoever knows when somebody visited can find the "
    "row.",
}
_KEPT_OF_SEARCHES = (
    "Exact times, ranks and clicked pages of single people are kept: whoever knows when somebody searched can find the "
    "row."
)


_UNITS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q"}  # a week begins on Monday
_COARSER = {
    "hour": ("hour", "day", "week", "month"),
    "day": ("day", "week", "month"),
    "week": ("week", "month"),
    "month": ("month",),
    "quarter": ("quarter",),
    "drop": (),
}
_LEVEL = "_level"


def refuse_exact(attrs: str, times: str) -> None:
    """ParameterError where times are to be coarser than a day and exact at once."""
    if attrs == "keep" and times != "day":
        raise ParameterError(
            f"attrs = keep keeps times as they were logged, so times = {times} cannot be had with it. Use attrs = "
            f"common, or leave out times."
        )


def common_details(log: Log, k: int, run: Run, times: str = "day") -> tuple[Log, str]:
    """The log with what k subjects share with each item, and a sentence that says how much is kept."""
    shape, levels = log.shape, _COARSER[times]
    leveled = shape.with_levels() if levels else shape

    def mark(frame: pl.LazyFrame) -> pl.LazyFrame:
        # Rows are needed as they are and for the counts, so each block is computed once.
        return _with_level(frame, shape, k, levels).collect(engine="streaming").lazy()

    marked = run.engine.again(run.blocks(run.keep(log.frame), mark, by=[shape.item]))
    coarse = run.each(marked, lambda rows: rows.with_columns(_coarsened(leveled, levels)).drop(_LEVEL))
    return replace(log, frame=coarse, shape=leveled), _kept(marked, shape, levels, run)


def _with_level(frame: pl.LazyFrame, shape: Shape, k: int, levels: Sequence[str]) -> pl.LazyFrame:
    """The rows with the level that their tuple reaches; null where it reaches none.

    Each level counts among the rows that no finer one took. A finer key cannot have k subjects where a coarser one
    has fewer, so that only keys with k subjects at all are looked at by time, and by their number instead of by text.
    """

    def crowded(rows: pl.LazyFrame, key: list[str]) -> pl.LazyFrame:
        pairs = rows.select(*key, shape.subject).drop_nulls(shape.subject).unique()
        return pairs.group_by(key).len("_users").filter(pl.col("_users") >= k).drop("_users")

    def collected(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.collect(engine="streaming").lazy()

    key = [shape.item, *shape.details]
    numbers = collected(crowded(frame, key).with_row_index("_key"))
    frame = frame.join(numbers, on=key, how="left", nulls_equal=True)
    finest = pl.lit(None, TIME)
    if shape.time and levels:  # a week can be of two months, so that these are told apart by days
        finest = pl.col(shape.time).dt.truncate(_UNITS["day" if levels[0] == "week" else levels[0]])
    frame = collected(frame.with_columns(finest.alias("_finest")))
    waiting = frame.drop_nulls("_key").select("_key", "_finest", shape.subject)
    reached = []
    for level, unit in enumerate((*levels, None)):
        when = pl.lit(None, TIME) if unit is None else pl.col("_finest").dt.truncate(_UNITS[unit])
        waiting = collected(waiting.with_columns(when.alias("_when")))
        common = collected(crowded(waiting, ["_key", "_when"]))
        taken = waiting.join(common, on=["_key", "_when"], how="semi", nulls_equal=True)
        reached.append(taken.select("_key", "_finest").unique().with_columns(pl.lit(level, pl.UInt8).alias(_LEVEL)))
        waiting = waiting.join(common, on=["_key", "_when"], how="anti", nulls_equal=True)
    frame = frame.join(pl.concat(reached), on=["_key", "_finest"], how="left", nulls_equal=True)
    frame = frame.drop("_key", "_finest")
    for gone in range(1, len(shape.details)):
        frame, key = collected(frame), key[:-1]
        common = crowded(frame.filter(pl.col(_LEVEL).is_null()), key)
        common = common.with_columns(pl.lit(len(levels) + gone, pl.UInt8).alias("_next"))
        frame = frame.join(common, on=key, how="left", nulls_equal=True)
        frame = frame.with_columns(pl.coalesce(_LEVEL, "_next").alias(_LEVEL)).drop("_next")
    return frame


def _coarsened(shape: Shape, levels: Sequence[str]) -> list[pl.Expr]:
    """Details and time as the level of a row lets them stay, and what that level is where there is a time."""
    level = pl.col(_LEVEL)
    details = [
        pl.when(level < len(levels) + len(shape.details) - place).then(detail).alias(detail)
        for place, detail in enumerate(shape.details)
    ]
    if not shape.time:
        return details
    time, exact = pl.lit(None, TIME), pl.lit(None, pl.String)
    for at, unit in enumerate(levels):
        time = pl.when(level == at).then(pl.col(shape.time).dt.truncate(_UNITS[unit])).otherwise(time)
        exact = pl.when(level == at).then(_where_given(shape, unit)).otherwise(exact)
    return [*details, time.alias(shape.time), *([exact.alias(shape.level)] if shape.level else [])]


def _where_given(shape: Shape, level: str) -> pl.Expr:
    """How exact a time is; nothing where there is no time."""
    return pl.when(pl.col(shape.time).is_not_null()).then(pl.lit(level))


def _kept(marked: pl.LazyFrame, shape: Shape, levels: Sequence[str], run: Run) -> str:
    """How many rows keep what, in a sentence; empty where there are none."""
    level, kept = pl.col(_LEVEL), {}
    if shape.time:
        for at, word in enumerate(levels):
            kept[f"the {word}"] = (level == at) & pl.col(shape.time).is_not_null()
    for expr in _coarsened(shape, levels)[: len(shape.details)]:
        kept[expr.meta.output_name()] = expr.is_not_null()
    numbers = [pl.len().alias("rows"), *(expr.sum().alias(word) for word, expr in kept.items())]
    counts = run.total(marked, lambda rows: rows.select(numbers)).row(0, named=True)
    rows = counts.pop("rows")
    if not rows:
        return ""
    shares = ", ".join(f"{word} {100 * count / rows:.1f}%" for word, count in counts.items())
    return f"Released rows that keep what accompanies the {shape.item_noun}, of {rows:,}: {shares}."


def cut_times(log: Log, times: str) -> Log:
    """The log with its times cut to the finest one that may appear, whoever shares it."""
    shape = log.shape.with_levels()
    if not shape.time:
        return log
    if times == "drop":
        return replace(log, frame=log.frame.with_columns(pl.lit(None, TIME).alias(shape.time)))
    cut, exact = pl.col(shape.time).dt.truncate(_UNITS[times]), _where_given(shape, times)
    return replace(log, frame=log.frame.with_columns(cut, exact.alias(shape.level)), shape=shape)


def cost_of_keeping(shape: Shape) -> str:
    """What it gives away that all details are kept, in a sentence."""
    return _KEPT.get(shape.name, _KEPT_OF_SEARCHES)


def without_details(log: Log, run: Run) -> Log:
    """Only subject and item; every other released column is null."""
    kept = (log.shape.subject, log.shape.item)
    return _emptied(log, [name for name in log.shape.released if name not in kept], run)


def without_identifiers(log: Log, run: Run) -> Log:
    """The columns that point at a person by themselves are null."""
    return _emptied(log, log.shape.identifying, run)


def _emptied(log: Log, names: Sequence[str], run: Run) -> Log:
    empty = [pl.lit(None, dtype=log.shape.schema[name]).alias(name) for name in names]
    return replace(log, frame=run.each(log.frame, lambda rows: rows.with_columns(empty)) if empty else log.frame)
