"""The rules that every release of Coterie keeps, whatever it promises. They follow from its shape.

`columns`, `order`, `ids` and `identifying` are judged for every release; a shape without a subject has no ids. What
names may look like depends on what is promised, so each promise calls `names` for itself, and a promise can answer for
columns that `identifying` would want to be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from coterie.core.promise import Case, Check, Promise
from coterie.core.run import Engine
from coterie.core.shapes import Shape
from coterie.promises._checks import Question, any_given, count, rows_broken

_COLUMNS = Question(
    "columns",
    "exactly the released columns of the shape, with their types",
    "columns or values are missing, in excess or of another type",
)
_NO_IDS = Question("ids", "no original subject is named in the release", "are", original=True)
_RANDOM_NAME = r"^u_[a-z2-7]{16}$"


def columns(case: Case) -> Check:
    """Exactly the released columns, with their types, and no value missing where one is required: nothing more."""
    actual = dict(case.rows.collect_schema())
    expected = {name: case.shape.schema[name] for name in case.shape.released}
    wrong = len(set(actual) ^ set(expected)) + sum(
        actual[name] != dtype for name, dtype in expected.items() if name in actual
    )
    required = [column.name for column in case.shape.columns if not column.nullable and column.name in expected]
    if not wrong and required:
        rows, values = given(case)
        wrong = sum(rows - values[name] for name in required)
    return _COLUMNS.answered(wrong)


def given(case: Case) -> tuple[int, dict[str, int]]:
    """How many rows there are, and how many have a value in each released column; counted once."""
    if "given" not in case.shared:
        numbers = (pl.len().cast(pl.Int64).alias("_rows"), pl.col(case.shape.released).count().cast(pl.Int64))
        counts = case.engine.total(case.rows, lambda rows: rows.select(numbers))
        case.shared["given"] = counts.row(0, named=True)
    counted = dict(case.shared["given"])
    return counted.pop("_rows"), counted


def others(case: Case, promises: Sequence[Promise]) -> Iterator[Check]:
    """The rules beside `columns`, which look into the columns that must be there; `promises` are judged after them."""
    yield _order(case)
    if case.shape.subject:
        named = case.original is None or given(case)[1][case.shape.subject]
        by_name = (case.shape.subject, case.log_shape.subject)
        yield from case.engine.judged(case, _ids, by_name) if named else [_NO_IDS.answered(0)]
    yield _identifying(case, promises)


def names(case: Case, users: str) -> Iterator[Check]:
    """Who rows are said to come from: nobody (`users = drop`), or random names."""
    if not case.shape.subject:
        return
    if users == "drop":
        rows, values = given(case)
        yield Question("names", "no row says whose it is", "do").answered(values[case.shape.subject], rows)
    else:
        yield from case.engine.judged(case, _names)


def _names(case: Case) -> Iterator[Check]:
    other = ~pl.col(case.shape.subject).str.contains(_RANDOM_NAME)
    yield Question("names", "subjects have random names", "rows have others").of_rows(case.rows, other)


def _order(case: Case) -> Check:
    """Each row is at least its predecessor, nulls first: nothing of the file order is left."""
    sorted_rows = Question("order", "rows are sorted by released values only", "are out of order")
    return sorted_rows.answered(*_behind_in_parts(case.engine, case.rows, case.shape))


def _behind(shape: Shape) -> pl.Expr:
    """Whether a row, other than the first, is less than its predecessor."""
    behind = pl.lit(False)
    for name in reversed(shape.order):
        now, before = pl.col(name), pl.col(name).shift(1)
        less = (now < before).fill_null(now.is_null() & before.is_not_null())
        behind = less | (now.eq_missing(before) & behind)
    # The first row has no predecessor.
    return behind.slice(1)


def _behind_in_parts(engine: Engine, rows: pl.LazyFrame, shape: Shape) -> tuple[int, int]:
    """Rows that are out of order and all rows: inside of parts, and from the end of a part to the next beginning."""
    behind, columns = _behind(shape), list(shape.order)

    def ends(part: pl.LazyFrame) -> pl.LazyFrame:
        broken, height = rows_broken(part, behind)
        both = pl.concat([part.select(columns).head(1), part.select(columns).tail(1)])
        return both.with_columns(pl.lit(broken / 2).alias("_broken"), pl.lit(height / 2).alias("_rows"))

    found = engine.total(rows, ends, lambda parts: parts)
    seams = found.select(columns).slice(1)
    inside, height = int(found["_broken"].sum()), int(found["_rows"].sum())
    # Of each part there are two rows, so every second seam lies between two parts; the others are parts themselves.
    at_seams = sum(rows_broken(seams.slice(at, 2).lazy(), behind)[0] for at in range(0, max(0, seams.height - 1), 2))
    return inside + at_seams, height


def _ids(case: Case) -> Iterator[Check]:
    """No name in the release is one that the original has: who knows somebody's id finds nothing under it."""
    if case.original is None:
        yield _NO_IDS.open()
        return
    released = case.rows.select(pl.col(case.shape.subject).alias("name")).drop_nulls().unique()
    subjects = case.original.frame.select(pl.col(case.original.shape.subject).alias("name"))
    named = subjects.join(released, on="name", how="semi").unique()
    yield _NO_IDS.answered(count(named.select(pl.len())))


def _identifying(case: Case, promises: Sequence[Promise]) -> Check:
    """Columns that point at a person by themselves are empty, but for those that the judge of a promise answers for.

    Which ones that are is asked of the promise's class, so that nothing in a sidecar can add to them.
    """
    covered = {name for promise in promises for name in type(promise).covers}
    empty = tuple(n for n in case.shape.identifying if n not in covered or n in case.shape.never_given)
    detail = f"columns that point at a person are empty ({', '.join(empty) or 'this shape has none'})"
    pointing = Question("identifying", detail, "rows have a value", carries=True)
    if not empty:
        return pointing.answered(0)
    rows, values = given(case)
    broken = 0
    if any(values[name] for name in empty):
        broken = next(iter(case.engine.judged(case, partial(_any_given, empty)))).broken
    return pointing.answered(broken, rows)


def _any_given(names: tuple[str, ...], case: Case) -> Iterator[Check]:
    yield Question("given", "").answered(rows_broken(case.rows, any_given(names))[0])
