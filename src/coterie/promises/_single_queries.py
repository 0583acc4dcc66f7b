"""What promises about single queries share: who rows are linked to (`users`), and what accompanies them (`attrs`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, Range
from coterie.core.promise import ORIGINAL, Case, Check
from coterie.core.shapes import Shape
from coterie.promises._checks import any_given, judged, not_checked, other_columns, rows_broken, time_columns
from coterie.promises._crowds import crowds, multisets, secret_seeds

Users = Annotated[
    str,
    Choice("drop", "session", "pseudonym"),
    "what links released rows: nothing, a random name for each session, or one for each person",
]
Attrs = Annotated[
    str,
    Choice("common", "keep", "drop"),
    "what accompanies a query: details that k users share with it, all that was logged, or nothing",
]
SessionMinutes = Annotated[int, Range(1, 1440), "minutes without activity that a session survives"]
ATTRS_SENTENCES = {
    "common": " The same holds for what accompanies it (clicked page, request details); times are cut to the day.",
    "keep": " Nothing is promised about times, ranks and clicked pages, which were kept.",
    "drop": " Times, ranks and clicked pages were removed.",
}
_USERS_SENTENCES = {
    "drop": " No row says who it came from.",
    "session": " Rows of one session are linked by a random name, so all that one person asked without a pause of "
    "more than {pause} can be read together.",
    "pseudonym": " Rows of one person are linked by a random name, so everything one person "
    "asked can be read together: this is how people were found in the AOL log.",
}
_PAUSES = {1: "a minute", 30: "half an hour", 60: "an hour"}
ALONE = "The promise is about this release alone, not about it together with other releases of the same log."
_LINKED = "Queries linked by a random name can point to a person together, even where each of them is common."
_KEPT = "Exact times and clicked pages were kept: somebody who knows when a person searched can find the row."
_SESSION = "session"  # the private column of logs in which sessions were numbered
_STEP = "sessions"  # the prepare step that numbers them, with its default
_STEP_MINUTES = 30
_DAY = 86_400_000_000  # microseconds


def users_sentence(users: str, session_minutes: int) -> str:
    """What links released rows, in plain words."""
    return _USERS_SENTENCES[users].format(pause=_PAUSES.get(session_minutes, f"{session_minutes} minutes"))


def costs(users: str, attrs: str) -> tuple[str, ...]:
    """What linking rows and keeping details give away."""
    return (*((_LINKED,) if users != "drop" else ()), *((_KEPT,) if attrs == "keep" else ()))


def nothing_else_was_looked_for(shape: Shape) -> Check:
    """What is not looked at in rows that Coterie did not make."""
    unseen = ", ".join(other_columns(shape))
    detail = f"the promise is about {shape.item} alone; nothing was looked for in {unseen} or other columns"
    return Check(name="details", status="not checked", detail=detail)


def links(case: Case, users: str, session_minutes: int) -> Iterator[Check]:
    """What one name links in the release is what one session (or user) of the original had of the released items."""
    if users == "drop" or not case.shape.subject:
        return
    detail = f"each name stands for one {'session' if users == 'session' else 'user'} of the original"
    if case.original is None:
        yield not_checked("links", detail)
        return
    subject, item = case.shape.subject, case.shape.item
    seeds = secret_seeds()
    owner, owned = _owned_items(case.original, case.shape, users, session_minutes)
    owned = owned.join(case.rows.select(item).unique(), on=item, how="semi")
    before = multisets(owned, owner, [item], seeds).drop(owner).group_by(pl.all()).len("before")
    named = case.rows.select(subject, item).drop_nulls()
    after = multisets(named, [subject], [item], seeds).drop(subject).group_by(pl.all()).len("after")
    both = after.join(before, on=[name for name in before.collect_schema() if name != "before"], how="left")
    excess = (pl.col("after").cast(pl.Int64) - pl.col("before").fill_null(0).cast(pl.Int64)).clip(lower_bound=0)
    numbers = both.select(excess.sum().alias("excess"), pl.col("after").sum().alias("names"))
    broken, names = numbers.collect(engine="streaming").row(0)
    yield judged(
        "links",
        broken,
        detail,
        fault="names do not",
        looked_at=int(names),
        needs_original=True,
        carries_promise=True,
    )


def _owned_items(
    original: Log, shape: Shape, users: str, session_minutes: int
) -> tuple[list[str], pl.LazyFrame]:  # fmt: skip
    """The columns that say whose session (or who) it was, and rows that have them and the item."""
    subject, item = shape.subject, shape.item
    rows = original.frame.drop_nulls(subject)
    if users == "pseudonym":
        return [subject], rows.select(subject, item)
    if _SESSION in original.frame.collect_schema() and _numbered_as_promised(original, session_minutes):
        return [subject, _SESSION], rows.select(subject, _SESSION, item)
    times = time_columns(shape)[:1]
    begins = pl.col(subject) != pl.col(subject).shift(1)
    for time in times:
        begins = begins | (pl.col(time) - pl.col(time).shift(1) > timedelta(minutes=session_minutes))
    rows = rows.select(subject, *times, item).sort(subject, *times)
    return ["_session"], rows.select(begins.fill_null(False).cum_sum().alias("_session"), item)


def _numbered_as_promised(original: Log, session_minutes: int) -> bool:
    """Whether sessions were numbered by a step, and by none with another pause.

    Numbers are looked at because rows that were left out after the step may have bridged a pause.
    """
    promised = _STEP if session_minutes == _STEP_MINUTES else f"{_STEP}(minutes={session_minutes})"
    numbering = [step for step in original.steps if step.partition("(")[0] == _STEP]
    return bool(numbering) and all(step == promised for step in numbering)


def details(case: Case, attrs: str, k: int, *, named: bool, needs: str = ORIGINAL) -> Iterator[Check]:
    """What accompanies an item: shared by k users, or absent, as `attrs` says."""
    shape = case.shape
    if attrs == "keep":
        return
    if attrs == "drop":
        broken, rows = rows_broken(case.rows, any_given(other_columns(shape)))
        detail = f"no detail accompanies a {shape.item}"
        yield judged("details", broken, detail, fault="rows have one", looked_at=rows)
        return
    judged_below = {shape.subject, shape.item, *shape.details, *shape.identifying, *time_columns(shape)}
    judged_below |= {rider for rider, _ in shape.riders}
    if others := [name for name in shape.released if name not in judged_below]:
        broken, rows = rows_broken(case.rows, any_given(tuple(others)))
        only = f"nothing accompanies a {shape.item} but what was counted; {', '.join(others)} must be empty"
        yield judged("details", broken, only, fault="rows have a value there", looked_at=rows, carries_promise=True)
    if times := time_columns(shape):
        inexact = pl.any_horizontal(pl.col(name).cast(pl.Int64) % _DAY != 0 for name in times)
        broken, rows = rows_broken(case.rows, inexact)
        yield judged("times", broken, "times are whole days", fault="rows have a time of day", looked_at=rows)
    for rider, detail in (*shape.riders, *zip(shape.details[1:], shape.details, strict=False)):
        alone = pl.col(rider).is_not_null() & pl.col(detail).is_null()
        broken, rows = rows_broken(case.rows, alone)
        only = f"{rider} only beside {detail}"
        yield judged(f"alone.{rider}", broken, only, fault="rows have it alone", looked_at=rows)
    for number in range(1, len(shape.details) + 1):
        yield from crowds(case, (shape.item, *shape.details[:number]), k, named=named, needs=needs)
