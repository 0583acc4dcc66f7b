"""What promises about single queries share: who rows are linked to (`users`), and what accompanies them (`attrs`)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Annotated, Protocol

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, NumberOr, Range
from coterie.core.promise import ORIGINAL, Case, Check
from coterie.core.shapes import QUERIES, Shape
from coterie.promises._accompaniment import CROWD, TUPLE, WHEN, WHO, said, should_say
from coterie.promises._checks import any_given, judged, not_checked, other_columns, rows_broken, time_columns
from coterie.promises._crowds import multisets, secret_seeds
from coterie.promises._people import is_known, names_of
from coterie.promises._units import with_owner
from coterie.promises._wording import AMBIGUOUS, COARSER, MATCHED, filled, listed, pause, wording

Users = Annotated[
    str,
    Choice("drop", "mini", "session", "day", "pseudonym"),
    "what links released rows: nothing, or a random name for a few queries, each session, each day, or each person",
]
LinkQueries = Annotated[int, Range(1, 1000), "most queries in a row under one name, where names are for a few queries"]
LinkMinutes = Annotated[int, Range(1, 1440), "minutes from the first to the last of them"]
Attrs = Annotated[
    str,
    Choice("common", "keep", "drop"),
    "what accompanies a query: as much as k users share with it, all that was logged, or nothing",
]
Times = Annotated[
    str,
    Choice("drop", "quarter", "month", "week", "day", "hour"),
    "the finest time that accompanies a query, where that is as much as enough users share",
]
KDetails = Annotated[
    int | str, NumberOr(2, "k"), "how many users share what accompanies a query, together with it; 'k': as many as k"
]
SessionMinutes = Annotated[int, Range(1, 1440), "a session ends after more minutes than this without activity"]
_BESIDE = {
    "common": "with only the details that {k} {subjects} share",
    "keep": "with all that is beside them",
    "drop": "with nothing beside them",
}
ALONE = "The promise is about this release alone, not about it together with other releases of the same log."
_NAME = "_name"
_HOUR = 3_600_000_000  # microseconds
_LINKS = {
    "mini": "each name stands for at most {queries} {items} in a row of one {subject} of the original within {minutes}",
    "session": "each name stands for one session of the original",
    "day": "each name stands for one day of one {subject} of the original",
    "pseudonym": "each name stands for one {subject} of the original",
}


class AboutItems(Protocol):
    """A promise about single items, with what these promises have in common."""

    @property
    def k(self) -> int: ...
    @property
    def users(self) -> str: ...
    @property
    def attrs(self) -> str: ...
    @property
    def session_minutes(self) -> int: ...
    @property
    def link_queries(self) -> int: ...
    @property
    def link_minutes(self) -> int: ...
    @property
    def times(self) -> str: ...
    @property
    def k_details(self) -> int | str: ...


def crowd_of_details(promise: AboutItems) -> int:
    """How many users share what accompanies an item."""
    return promise.k if isinstance(promise.k_details, str) else promise.k_details


def attrs_sentence(promise: AboutItems, what: str = "", shape: str = QUERIES.name) -> str:
    """Which rows are released and what accompanies them, in plain words; `what` is released in place of items."""
    words = f" All rows of a released {{item}} are there. {wording(shape).attrs[promise.attrs]}"
    times = {"listed": listed(shape, promise.times), "coarser": COARSER[promise.times]}
    return filled(words, shape, k=crowd_of_details(promise), **times, **({"item": what} if what else {}))


def users_sentence(promise: AboutItems, shape: str = QUERIES.name) -> str:
    """What links released rows, in plain words."""
    return filled(wording(shape).users[promise.users], shape, pause=pause(promise.session_minutes), **_few(promise))


def _few(promise: AboutItems) -> dict[str, object]:
    """The numbers of names for a few queries, in words."""
    return {"queries": promise.link_queries, "minutes": pause(promise.link_minutes)}


def costs(promise: AboutItems, shape: str = QUERIES.name) -> tuple[str, ...]:
    """What linking rows and keeping details give away, and how to read what is kept."""
    words, times = wording(shape), promise.times
    linked = (filled(words.linked, shape),) if promise.users != "drop" else ()
    parts = (MATCHED,) if promise.users in ("mini", "day") else ()
    of_times = (AMBIGUOUS[times],) if times in AMBIGUOUS else ()
    fewer = "What accompanies a {item} is shared by at least {few} {subjects}, not by {k}."
    few = crowd_of_details(promise)
    of_crowd = (filled(fewer, shape, few=few, k=promise.k),) if few < promise.k else ()
    return (*linked, *parts, *{"keep": (words.kept,), "common": (*of_times, *of_crowd), "drop": ()}[promise.attrs])


def nothing_else_was_looked_for(shape: Shape) -> Check:
    """What is not looked at in rows that Coterie did not make."""
    unseen = ", ".join(other_columns(shape))
    detail = f"the promise is about the {shape.item_noun} alone; nothing was looked for in {unseen} or other columns"
    return Check(name="details", status="not checked", detail=detail)


def accompaniment(
    case: Case, promise: AboutItems, *, needs: str = ORIGINAL, name: str = "tuples", detail: str = "", cut: str = "1s"
) -> Iterator[Check]:
    """Rows of released items are those of the original, with what `attrs` lets accompany them and `users` link them.

    `name` and `detail` are those of the check that compares rows; `cut` is what times that are kept are cut to.
    """
    shape, attrs, nouns = case.shape, promise.attrs, case.log_shape
    yield from _in_themselves(case, promise)
    enough = crowd_of_details(promise)
    whole = (shape.item, *shape.details, *time_columns(shape)[:1])
    crowd = ".".join(("crowd", *whole))
    shared = (
        f"at least {enough} {nouns.subject_nouns} share whatever accompanies a {shape.item_noun} "
        f"({', '.join(whole[1:])})"
    )
    accompanied = _BESIDE[attrs].format(subjects=nouns.subject_nouns, k=promise.k_details)
    detail = detail or f"the rows of each released {shape.item_noun} are those of the original, {accompanied}"
    nouns_of_links = {"subject": nouns.subject_noun, "items": shape.item_nouns}
    links = _LINKS.get(promise.users, "").format(**nouns_of_links, **_few(promise))
    name = f"{name}.{shape.item}"
    counts = attrs == "common" and len(whole) > 1
    named = promise.users == "pseudonym"
    if not shape.subject:  # numbers of no one person: there are no rows to compare
        return
    if case.original is None:
        if counts and named:
            yield _counted_names(case, crowd, shared, enough)
        elif counts:
            yield not_checked(crowd, shared, carries_promise=True, needs=needs)
        yield not_checked(name, detail, carries_promise=not named, needs=needs)
        yield from [not_checked("links", links)] if promise.users != "drop" else []
        return
    key = secrets.randbits(63)
    owner, rows = with_owner(case.original, shape, promise, case.rows)
    made_with = next((each for each in case.promised if isinstance(each, type(promise))), promise)
    share, times = crowd_of_details(made_with), made_with.times
    told = should_say(rows, shape, attrs, share, key, *owner, times=times, cut=cut)
    before = told.collect(engine="streaming").lazy()
    after = said(case.rows, shape, attrs, key, *([shape.subject] if owner else []))
    tuples = _compared(before, after)
    differ = tuples.filter(pl.col("before") != pl.col("after")).height
    yield judged(
        name, differ, detail, fault="are not", looked_at=tuples.height, needs_original=True, carries_promise=True
    )  # fmt: skip
    if counts:
        sizes = tuples[CROWD].drop_nulls()
        few = int((sizes < enough).sum())
        own = sizes.is_empty() or not isinstance(promise.k_details, str)  # k itself says nothing about it
        smallest = None if own else int(sizes.min())  # type: ignore[arg-type]
        yield judged(
            crowd, few, shared, fault="have fewer", looked_at=sizes.len(),
            needs_original=True, carries_promise=True, largest_k=smallest,
        )  # fmt: skip
    if owner:
        yield _links(case, before, after, owner, links)


def _in_themselves(case: Case, promise: AboutItems) -> Iterator[Check]:
    """What rows show without the original: no column that nobody counted, no time too fine, no name of too much."""
    shape, others, attrs = case.shape, other_columns(case.shape), promise.attrs
    times = time_columns(shape)
    counted = {"drop": (), "common": (*shape.details, *times), "keep": others}[attrs]
    if others := tuple(name for name in others if name not in counted and name not in shape.identifying):
        broken, rows = rows_broken(case.rows, any_given(others))
        only = f"nothing accompanies a {shape.item_noun} but what was counted; {', '.join(others)} must be empty"
        yield judged("details", broken, only, fault="rows have a value there", looked_at=rows, carries_promise=True)
    if attrs == "common" and times:
        told, fault, whole = _FINEST[promise.times]
        broken, rows = rows_broken(case.rows, pl.any_horizontal(~whole(pl.col(name)) for name in times))
        yield judged("times", broken, told, fault=fault, looked_at=rows)
    if promise.users == "mini" and shape.subject:
        named = case.rows.drop_nulls(shape.subject).group_by(shape.subject).agg(pl.col(shape.item).n_unique())
        many, names = rows_broken(named, pl.col(shape.item) > promise.link_queries)
        most = f"no name links more than {promise.link_queries} different {shape.item_nouns}"
        yield judged("size", many, most, fault="names do", looked_at=names, carries_promise=True)


def _whole_day(time: pl.Expr) -> pl.Expr:
    return time.cast(pl.Int64) % (24 * _HOUR) == 0


def _first_of_month(time: pl.Expr) -> pl.Expr:
    return _whole_day(time) & (time.dt.day() == 1)


_FINEST: dict[str, tuple[str, str, Callable[[pl.Expr], pl.Expr]]] = {
    "hour": ("times are whole hours", "rows have another time", lambda time: time.cast(pl.Int64) % _HOUR == 0),
    "day": ("times are whole days", "rows have a time of day", _whole_day),
    "week": (
        "times are Mondays, or the first of a month",
        "rows have another time",
        lambda time: _whole_day(time) & ((time.dt.weekday() == 1) | (time.dt.day() == 1)),
    ),
    "month": ("times are the first of a month", "rows have another time", _first_of_month),
    "quarter": (
        "times are the first of a quarter",
        "rows have another time",
        lambda time: _first_of_month(time) & (time.dt.month() % 3 == 1),
    ),
    "drop": ("no row has a time", "rows do", lambda time: time.is_null()),
}
"""By the finest time: what must hold, what others have, and whether a time is such a one; what is null is no fault."""


def _counted_names(case: Case, name: str, detail: str, k: int) -> Check:
    """At least k names behind whatever accompanies an item."""
    shape = case.shape
    details = (*shape.details, *time_columns(shape)[:1])
    names = case.rows.filter(any_given(details)).group_by(shape.item, *details).agg(pl.col(shape.subject).n_unique())
    sizes = names.select(shape.subject).collect(engine="streaming").to_series()
    return judged(
        name, int((sizes < k).sum()), detail, fault="have fewer", looked_at=sizes.len(), carries_promise=True,
        how="counted by the names in the release",
        largest_k=None if sizes.is_empty() else int(sizes.min()),  # type: ignore[arg-type]
    )  # fmt: skip


def _compared(before: pl.LazyFrame, after: pl.LazyFrame) -> pl.DataFrame:
    """before, after and how many users share it, for each tuple of either."""
    on = [TUPLE, WHEN]
    counted = before.group_by(on).agg(pl.len().alias("before"), pl.col(CROWD).min())
    both = counted.join(after.group_by(on).len("after"), on=on, how="full", nulls_equal=True, coalesce=True)
    both = both.with_columns(pl.col("before", "after").fill_null(0))
    nobody = pl.when(pl.col("before") > 0).then(CROWD).otherwise(0).alias(CROWD)
    return both.with_columns(nobody).collect(engine="streaming")


def _links(case: Case, before: pl.LazyFrame, after: pl.LazyFrame, owner: list[str], detail: str) -> Check:
    """What one name links in the release is what one session (or user) of the original had of the released items.

    With the run record it is the one that the name was given to, else any.
    """
    seeds, row, subject = secret_seeds(), [TUPLE, WHEN], case.shape.subject
    owned = multisets(before.drop_nulls(WHO), owner, row, seeds)
    named = multisets(after.drop_nulls(subject), [subject], row, seeds).rename({subject: _NAME})
    how = ""
    if case.original is not None and is_known(case):
        owned, how = _under_names(case, case.original, owned, owner), "the one that the run's seed gives it to"
    else:
        owned, named = owned.drop(owner), named.drop(_NAME)
    owned, named = owned.group_by(pl.all()).len("before"), named.group_by(pl.all()).len("after")
    both = named.join(owned, on=[name for name in owned.collect_schema() if name != "before"], how="left")
    excess = (pl.col("after").cast(pl.Int64) - pl.col("before").fill_null(0).cast(pl.Int64)).clip(lower_bound=0)
    numbers = both.select(excess.sum().alias("excess"), pl.col("after").sum().alias("names"))
    broken, names = numbers.collect(engine="streaming").row(0)
    return judged(
        "links", broken, detail,
        fault="names do not", looked_at=int(names), how=how, needs_original=True, carries_promise=True,
    )  # fmt: skip


def _under_names(case: Case, original: Log, owned: pl.LazyFrame, owner: list[str]) -> pl.LazyFrame:
    """What owners had, under the names that the run gave them."""
    table = owned.collect(engine="streaming").sort(owner)
    labels = table.select(pl.concat_str(owner, separator="\0").alias("label"))["label"]
    ids = original.frame.select(original.shape.subject).drop_nulls().unique().collect(engine="streaming").to_series()
    names = pl.Series(_NAME, names_of(case.run, labels, ids), dtype=pl.String)
    return table.drop(owner).with_columns(names).lazy()
