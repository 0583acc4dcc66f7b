"""Give each group of users one profile, under a fresh name for each member."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, Late, Range, With
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.shapes import Shape
from coterie.core.threads import DoneSoFar, in_threads
from coterie.text.language import ENGLISH

if TYPE_CHECKING:
    from coterie.kernels.mdav import ChooseWithLimit

HERDING, SHARES = "herding", "shares"
ChoiceOfQueries = Annotated[
    str,
    Choice(SHARES, HERDING),
    "which queries of its members a profile has: by how often they were typed, or those that stand for all best",
]
LargestShare = Annotated[
    float,
    Range(0, 1),
    With("publish", "queries"),
    "no member gives more than this share of a profile's whole queries, or an equal part if more; 1: no limit",
]
ProfileTimes = Annotated[
    str,
    Choice("drop", "quarter", "month", "week", "day", "hour"),
    Late(),
    "the finest time that a profile may have; the month at most where something of a row is one member's",
]
MONTH = "month"
_FINER_THAN_MONTHS = ("week", "day", "hour")
_ROWS_AT_ONCE = 20_000  # of the groups whose profiles are computed together; without effect on the result


def share_profiles(
    log: Log,
    groups: pl.LazyFrame,
    run: Run,
    profiles: Callable[[pl.DataFrame], pl.DataFrame],
    order: Sequence[str] = (),
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Who became whom (original, released, group), and what `profiles` makes of the rows of groups.

    `groups` is a table GROUPS. `profiles` takes rows of some whole groups: group, user and `order` (else all columns of
    an event), sorted by these. Users who are in no group are not released; the record names them.
    """
    from coterie.models.events import EVENT_ORDER, USER
    from coterie.models.groups import rows_of_users

    user, order = USER, order or EVENT_ORDER
    members = run.small(groups).sort("subject")
    subjects = named_subjects(log, members, run)
    rows = rows_of_users(log, run, user, *order)
    done = DoneSoFar(run.total(rows, lambda some: some.select(pl.len())).item(), run.tell)

    def work(frame: pl.LazyFrame) -> pl.LazyFrame:
        block = frame.collect(engine="streaming").sort("group", user, *order)
        return pl.concat(
            [profiles(block.clear()), *in_threads(profiles_of_slice, list(whole_groups(block, _ROWS_AT_ONCE)))]
        ).lazy()

    def profiles_of_slice(slice_of_rows: pl.DataFrame) -> pl.DataFrame:
        done.add(slice_of_rows.height)
        return profiles(slice_of_rows)

    grouped = run.join(rows, members.lazy().rename({"subject": user}), [user])
    return subjects.lazy(), run.keep(run.blocks(grouped, work, by=["group"]))


def named_subjects(log: Log, members: pl.DataFrame, run: Run) -> pl.DataFrame:
    """original, released, group: all users, with fresh names for the members of groups (subject, group)."""
    from coterie.models.groups import user_names

    everybody = user_names(log, run)
    names = run.pseudonyms(members["subject"], taken=everybody)
    named = members.select(pl.col("subject").alias("original"), names.alias("released"), "group")
    return everybody.alias("original").to_frame().join(named, on="original", how="left").sort("original")


def release_groups(
    log: Log,
    plan: Plan,
    run: Run,
    *,
    eq1: str = "text",
    attrs: str = "nearest",
    times: str = MONTH,
    shares: ChooseWithLimit | None = None,
    choice: str = SHARES,
    max_share: float = 1.0,
    language: str = ENGLISH,
) -> Draft:
    """The common profile of each group (paper 000), under a fresh name for each member.

    `shares` chooses the queries of a profile, nobody giving more than `max_share` of it; with `choice` herding it only
    says how many each member gives. `language` is that of the stems by which queries are herded.
    """
    from coterie.kernels.mdav import choose
    from coterie.models import events, profiles
    from coterie.models.groups import rows_of_users

    rule = profiles.QueryRule(
        shares=shares or choose, herding=choice == HERDING, max_share=max_share, language=language
    )
    profiles.load_centroids(eq1, attrs, rule)
    scales, keys = events.Scales.of_rows(rows_of_users(log, run), run), run.keys
    subjects, common = share_profiles(
        log,
        plan.table,
        run,
        lambda rows: profiles.centroids(rows, scales, keys, eq1, attrs, rule, times),
        (events.QUERY,) if attrs == "drop" and not rule.herding else (),
    )
    alone, total = run.total(common, lambda some: some.select(pl.col("alone").sum(), pl.len())).row(0)
    leveled = log.shape if promised_times(attrs, times) == "drop" else log.shape.with_levels()
    rows = _under_names(subjects, common, leveled, run)
    return Draft(frame=rows, subjects=subjects, warnings=_warnings(alone, total, attrs, times))


def release_texts(subjects: pl.LazyFrame, texts: pl.LazyFrame, shape: Shape, run: Run) -> pl.LazyFrame:
    """Rows with nothing but a text of each member's group (texts: group, text), under the member's new name.

    In one block they are in the order of released rows: there are many rows, and few names and texts to sort.
    """
    item, subject = shape.item, shape.subject
    others = {name: shape.schema[name] for name in shape.released if name not in (subject, item)}
    columns = shape.released

    def rows_of(named: pl.LazyFrame, texts: pl.LazyFrame) -> pl.LazyFrame:
        lists = texts.group_by("group").agg(pl.col("text").sort().alias(item))
        rows = named.sort(subject).join(lists, on="group", maintain_order="left").explode(item)
        return rows.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in others.items()).select(columns)

    members = subjects.drop_nulls("group").select(pl.col("released").alias(subject), "group")
    return run.blocks(members, rows_of, ["group"], texts)


def _under_names(subjects: pl.LazyFrame, common: pl.LazyFrame, shape: Shape, run: Run) -> pl.LazyFrame:
    """The events of each member's group, with the columns of the log, under the member's new name."""
    from coterie.models import events

    columns = {events.TIME: shape.time, events.QUERY: shape.item, events.RANK: shape.rank, events.PAGE: shape.page}
    named = subjects.drop_nulls("group").select(pl.col("released").alias(shape.subject), "group")
    rows = run.join(named, run.each(common, lambda some: some.rename(columns)), ["group"])
    released = shape.released
    return run.each(rows, lambda some: some.select(released))


def whole_groups(rows: pl.DataFrame, about: int) -> Iterator[pl.DataFrame]:
    """Parts of rows that are sorted by group: whole groups, about so many rows together."""
    ends = np.cumsum(rows["group"].rle().struct.field("len").to_numpy())
    start = 0
    for i, end in enumerate(ends):
        if end - start >= about or i == ends.size - 1:
            yield rows[start:end]
            start = end


def typed_alone(alone: int, total: int) -> str:
    """How many queries of all profiles one user alone typed."""
    return (
        f"{alone:,} of {total:,} chosen queries were typed, word for word as released, by one user of the group alone."
    )


def promised_times(attrs: str, times: str) -> str:
    """The finest time of a profile as a promise says it: none where queries stand alone."""
    return "drop" if attrs == "drop" else times


def _warnings(alone: int, total: int, attrs: str, times: str) -> tuple[str, ...]:
    if not alone:
        return ()
    if attrs == "drop":
        return (typed_alone(alone, total),)
    cut = ", and a time is cut to its month" if times in _FINER_THAN_MONTHS else ""
    return (
        f"{alone:,} of {total:,} chosen queries, or their page, rank or time, come from one user of the group alone: "
        f"such a page or rank is left out{cut}. The words are as some user typed them.",
    )
