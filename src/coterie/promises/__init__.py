"""Promises: one file each, with its words, its limits and its judge; `judge` asks all judges of a release.

To write one, copy the smallest file here, `query_k_anonymity.py`. File name = public name, and the class is the
CamelCase of it. A promise is a `Promise` (`core/promise.py`), a frozen keyword-only dataclass whose fields are its
numbers, and has

    name              the file's name
    about             "items" unless it says "subjects": that it is about all that is released of a subject
    headline          the number people ask for: "k = 5"
    sentence          what a person signs
    limits            what it does not say; for promises here, all three are texts of an edition (`_words.py`)
    releases          what released items are: "text" of the log, "concepts" in place of it, or "counts"
    check(case)       its judge: yields Checks

What it does not say is refused: no bound, no tables, no rows without a sidecar, no cluster. It may say

    linkage_bound     the largest share of subjects, in percent, that anyone who links names is right about
    evidence          the tables of the private run record that its judge looks into
    of_foreign(...)   what to check of rows without a sidecar; `not_of_foreign` is why that makes no sense
    foreign_sentence  the sentence for such rows, where `sentence` would say too much
    levels            how exact released times may be; each time then says how exact it is
    anywhere          whether its judge asks the engine of a case, which may be a cluster
    covers            class attribute: the identifying columns that its judge answers for, so that they need not be
                      empty. Never a number of the promise: a sidecar could say it

Promises here inherit their words from `Worded` (`_words.py`), and those about single queries what they share from
`ItemPromise` (`_single_queries.py`). Judges ask a `Question` (`_checks.py`): words, with what rests on them. Counts
answer it; where there is no answer, it is not checked.

A judge trusts nobody. It reads the released rows, and the original where the promise cannot be seen in the release
alone; evidence and the run say where to look and are never believed. It shares no code with what decided or applied the
decision: nothing here imports methods, apply, models or kernels. What it finds are numbers (`looked_at`, `broken`,
`concerns`) and words apart from them, never a value of the log. The rules that every release keeps (its columns, their
order, no original id) are judged by `judge` before any promise.

Third parties ship a promise by an entry point of the group `coterie.promises`:

    [project.entry-points."coterie.promises"]
    my_promise = "my_package.my_promise"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from coterie.core.promise import Case, Check, Promise, Verdict
from coterie.core.run import Engine
from coterie.core.shapes import QUERIES, Shape
from coterie.core.threads import Counted
from coterie.promises._checks import Question, any_given, count, given, rows_broken

__all__ = ["judge"]

_NO_PROMISE = "a release promises something"


_COLUMNS = Question(
    "columns",
    "exactly the released columns of the shape, with their types",
    "columns or values are missing, in excess or of another type",
)
_NO_IDS = Question("ids", "no original subject is named in the release", "are", original=True)


def _unheard(_: Counted) -> None: ...


def judge(
    case: Case, promises: Sequence[Promise], tell: Callable[[Counted], None] = _unheard, of: int | None = None
) -> Verdict:
    """Check a case against the rules of every release, then against each promise.

    `tell` hears after each check how many are made, `of` how many where that is known.

    Rows that Coterie did not make (`case.foreign`) need not keep its rules. Where the columns are wrong, no judge can
    look into them, and that check is the only one.
    """
    checks: list[Check] = []
    case = case if case.promised else replace(case, promised=tuple(promises))
    if not case.foreign:
        columns = _columns(case)
        if columns.status == "failed":
            return Verdict(promises=tuple(promises), checks=(columns,), subjects=case.log_shape.subject_nouns)
        checks = [columns, *_others(case, promises)]
    if not promises:
        checks.append(Check(name="promises", status="failed", detail=_NO_PROMISE, broken=1, fault="is missing"))
    seen = set(checks)
    tell(Counted(len(checks), of, "checks"))
    for check in _judged(case, promises):
        anonymous = replace(check, promise="")
        if anonymous not in seen:  # two promises may look at the same thing
            seen.add(anonymous)
            checks.append(check)
            tell(Counted(len(checks), of, "checks"))
    return Verdict(
        promises=tuple(promises), checks=tuple(checks), foreign=case.foreign, subjects=case.log_shape.subject_nouns
    )


def _judged(case: Case, promises: Sequence[Promise]) -> Iterator[Check]:
    for promise in promises:
        carried = False
        for check in promise.check(case):
            carried = carried or check.carries_promise
            yield replace(check, promise=promise.name, subjects=_whom(check, case))
        if not carried:  # a judge that looked at nothing has not judged
            yield Check(
                name=f"judged.{promise.name}",
                status="not checked",
                detail=f"what the promise {promise.name} rests on was looked at",
                needs="a judge that looks at it",
                carries_promise=True,
                promise=promise.name,
            )


def _whom(check: Check, case: Case) -> str:
    """What people call those whom a broken check concerns; nothing where these are users, or nobody."""
    nouns = case.log_shape.subject_nouns
    return nouns if check.concerns is not None and nouns != QUERIES.subject_nouns else check.subjects


# --- the rules of every release -----------------------------------------------------------------------
#
# They follow from its shape, whatever it promises; a shape without a subject has no ids. What names may look like
# depends on what is promised (`random_names`), and a promise can answer for columns that would have to be empty.


def _columns(case: Case) -> Check:
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


def _others(case: Case, promises: Sequence[Promise]) -> Iterator[Check]:
    """The rules beside `columns`, which look into the columns that must be there; `promises` are judged after them."""
    yield _order(case)
    if case.shape.subject:
        named = case.original is None or given(case)[1][case.shape.subject]
        by_name = (case.shape.subject, case.log_shape.subject)
        yield from case.engine.judged(case, _ids, by_name) if named else [_NO_IDS.answered(0)]
    yield _identifying(case, promises)


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
