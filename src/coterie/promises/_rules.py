"""The rules that every release of Coterie keeps, whatever it promises. They follow from its shape.

`columns`, `order`, `ids` and `identifying` are judged for every release; a shape without a subject has no ids. What
names may look like depends on what is promised, so each promise calls `names` for itself, and a promise can answer for
columns that `identifying` would want to be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from coterie.core.promise import Case, Check, Promise
from coterie.promises._checks import any_given, count, judged, not_checked, rows_broken

_RANDOM_NAME = r"^u_[a-z2-7]{16}$"


def columns(case: Case) -> Check:
    """Exactly the released columns, with their types, and no value missing where one is required."""
    actual = dict(case.rows.collect_schema())
    expected = {name: case.shape.schema[name] for name in case.shape.released}
    wrong = len(set(actual) ^ set(expected)) + sum(
        actual[name] != dtype for name, dtype in expected.items() if name in actual
    )
    required = [column.name for column in case.shape.columns if not column.nullable and column.name in expected]
    if not wrong and required:
        wrong = count(case.rows.select(pl.sum_horizontal(pl.col(required).null_count())))
    return judged(
        "columns",
        wrong,
        "exactly the released columns of the shape, with their types",
        fault="columns or values are missing, in excess or of another type",
    )


def others(case: Case, promises: Sequence[Promise]) -> Iterator[Check]:
    """The rules beside `columns`, which look into the columns that must be there; `promises` are judged after them."""
    yield _order(case)
    if case.shape.subject:
        yield _ids(case)
    yield _identifying(case, promises)


def names(case: Case, users: str) -> Iterator[Check]:
    """Who rows are said to come from: nobody (`users = drop`), or random names."""
    if not case.shape.subject:
        return
    subject = pl.col(case.shape.subject)
    if users == "drop":
        broken, rows = rows_broken(case.rows, subject.is_not_null())
        yield judged("names", broken, "no row says whose it is", fault="do", looked_at=rows)
    else:
        broken, rows = rows_broken(case.rows, ~subject.str.contains(_RANDOM_NAME))
        yield judged("names", broken, "subjects have random names", fault="rows have others", looked_at=rows)


def _order(case: Case) -> Check:
    """Each row is at least its predecessor, nulls first: nothing of the file order is left."""
    behind = pl.lit(False)
    for name in reversed(case.shape.order):
        now, before = pl.col(name), pl.col(name).shift(1)
        less = (now < before).fill_null(now.is_null() & before.is_not_null())
        behind = less | (now.eq_missing(before) & behind)
    # The first row has no predecessor.
    broken, rows = rows_broken(case.rows, behind.slice(1))
    return judged(
        "order", broken, "rows are sorted by released values only", fault="are out of order", looked_at=rows
    )  # fmt: skip


def _ids(case: Case) -> Check:
    """No name in the release is one that the original has."""
    detail = "no original subject is named in the release"
    if case.original is None:
        return not_checked("ids", detail)
    released = case.rows.select(pl.col(case.shape.subject).alias("name")).drop_nulls().unique()
    released = released.collect(engine="streaming").lazy()
    if count(released.select(pl.len())) == 0:
        return judged("ids", 0, detail, fault="", needs_original=True)
    subjects = case.original.frame.select(pl.col(case.original.shape.subject).alias("name"))
    named = subjects.join(released, on="name", how="semi").unique()
    return judged("ids", count(named.select(pl.len())), detail, fault="are", needs_original=True)


def _identifying(case: Case, promises: Sequence[Promise]) -> Check:
    """Columns that point at a person by themselves are empty, but for those that the judge of a promise answers for.

    Which ones that are is asked of the promise's class, so that nothing in a sidecar can add to them.
    """
    covered = {name for promise in promises for name in getattr(type(promise), "covers", ())}
    given = tuple(n for n in case.shape.identifying if n not in covered or n in case.shape.never_given)
    detail = f"columns that point at a person are empty ({', '.join(given) or 'this shape has none'})"
    if not given:
        return judged("identifying", 0, detail, fault="", carries_promise=True)
    broken, rows = rows_broken(case.rows, any_given(given))
    return judged("identifying", broken, detail, fault="rows have a value", looked_at=rows, carries_promise=True)
