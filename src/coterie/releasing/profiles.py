"""Give each group of users one profile, under a fresh name for each member: of queries as members typed them, or of
phrases that many users of the log have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, Late, NumberOr, Range, With, with_values
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.promise import Promise
from coterie.core.registry import name_of
from coterie.core.run import Run
from coterie.core.shapes import QUERIES, Shape
from coterie.core.threads import Counted, DoneSoFar, in_threads
from coterie.errors import InputError, ParameterError
from coterie.promises.phrase_users import PhraseUsers
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.text.language import ENGLISH, LanguageName, language

if TYPE_CHECKING:
    from coterie.algorithms.kernels.mdav import ChooseWithLimit
    from coterie.algorithms.phrases import Phrases

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
BlockUsers = Annotated[
    int, Range(0), "users compared with each other, at least 2k; 0: all up to 2000 users, blocks of 200 above"
]
QUERIES_AS_TYPED, PHRASES = "queries", "phrases"
AS_MANY_AS_K = "k"
Publish = Annotated[
    str,
    Choice(QUERIES_AS_TYPED, PHRASES),
    Late(),
    "what profiles are made of: queries as members typed them, or phrases that many users of the log have",
]
Users = Annotated[
    int | str,
    NumberOr(2, AS_MANY_AS_K),
    Late(),
    With("publish", PHRASES),
    "in the queries of how many users of the log each phrase must stand; 'k': of k",
]
Spoken = Annotated[str, LanguageName(), Late(), "language of the log, whose stop words no phrase begins or ends with"]
_FEW_USERS = 1_000
_UNEQUAL = 2.0  # mean rows of a user, in medians
_SMALL_M = 3  # what the warning suggests
_ROWS_AT_ONCE = 20_000  # of the groups whose profiles are computed together; without effect on the result


@dataclass(frozen=True, kw_only=True)
class PublishesProfiles(Method):
    """A method that releases one profile for each group of users."""

    k: int
    """How many users share a profile."""
    publish: Publish = QUERIES_AS_TYPED
    phrase_users: Users = AS_MANY_AS_K
    language: Spoken = ENGLISH
    partition: str
    """How users are grouped."""

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "experimental"
    holds_rows: ClassVar[bool] = True
    anywhere: ClassVar[bool] = True
    regroups: ClassVar[bool] = True

    def refuse_elsewhere(self) -> None:
        """Phrases are cut on one machine: which ones enough users typed is found out there."""
        if self.publish == PHRASES:
            name = name_of(self)
            raise ParameterError(f"{name} with publish = phrases runs on one machine; leave out --engine.")

    def promises(self, facts: Facts) -> tuple[Promise, ...]:
        """At least k users behind each released profile, and m behind each phrase."""
        enough_subjects(name_of(self), self.k, facts)
        profiles = self._of_profiles
        if self.publish == QUERIES_AS_TYPED:
            return (profiles,)
        m = _users_of_each(self)
        if facts.subjects < m:
            raise InputError(
                f"Phrases of {m} users need at least {m} users, and the log has {facts.subjects}. Use a smaller "
                f"phrase_users (at least 2) or a larger log."
            )
        return (replace(profiles, phrases=True), PhraseUsers(m=m))

    def baseline(self) -> Self | None:
        """The same with random groups."""
        return None if self.partition == "random" else with_values(self, partition="random")

    def regroup(self, groups: pl.LazyFrame, learnt: Any, log: Log, run: Run) -> Plan:  # noqa: ARG002 (not needed)
        """The plan on earlier groups: the same, or unions of them, in random order."""
        from coterie.algorithms.groups import united

        return Plan(table=united(groups, self.k, run))

    @property
    def _of_profiles(self) -> UserKAnonymity:
        """What is promised of profiles, whatever they are made of."""
        return UserKAnonymity(k=self.k, times="drop")


@dataclass(frozen=True, kw_only=True)
class PublishesEvents(PublishesProfiles):
    """The same for profiles of queries that may have times, ranks and pages."""

    attrs: str
    """What these are averaged over."""
    times: ProfileTimes = MONTH
    choice: ChoiceOfQueries = SHARES
    max_share: LargestShare = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.publish == PHRASES and self.attrs != "drop":
            raise ParameterError(
                "Phrases have no times, ranks or pages. With publish = phrases, say attrs = drop, too."
            )
        if self.publish == PHRASES and self.choice != SHARES:
            raise ParameterError("choice = herding chooses whole queries. Say publish = queries, too, or leave it out.")

    @property
    def _of_profiles(self) -> UserKAnonymity:
        return UserKAnonymity(k=self.k, times=promised_times(self.attrs, self.times))


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
    from coterie.algorithms.events import EVENT_ORDER, USER
    from coterie.algorithms.groups import rows_of_users, user_names

    user, order = USER, order or EVENT_ORDER
    members = run.small(groups).sort("subject")
    subjects = named_subjects(user_names(log, run), members, run)
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


def named_subjects(
    everybody: pl.Series, members: pl.DataFrame, run: Run, silent: pl.DataFrame | None = None
) -> pl.DataFrame:
    """original, released, group: everybody, with fresh names for the members of groups (subject, group), sorted.

    Whose profile is empty (`silent`, like members) has a group, which a later release may use, and no name.
    """
    names = run.pseudonyms(members["subject"], taken=everybody)
    named = members.select(pl.col("subject").alias("original"), names.alias("released"), "group")
    if silent is not None:
        empty = pl.col("group").is_in(silent["group"].unique().implode())
        named = named.with_columns(pl.when(~empty).then("released").alias("released"))
    return everybody.alias("original").to_frame().join(named, on="original", how="left").sort("original")


def release_profiles(
    log: Log, plan: Plan, run: Run, method: PublishesEvents, *, eq1: str = "text", shares: ChooseWithLimit | None = None
) -> Draft:
    """The common profile of each group (paper 000), or its phrases, under a fresh name for each member.

    `shares` chooses the queries of a profile, nobody giving more than `max_share` of it; with `choice` herding it only
    says how many each member gives. `language` is that of the stems by which queries are herded.
    """
    from coterie.algorithms import events, profiles
    from coterie.algorithms.groups import rows_of_users
    from coterie.algorithms.kernels.mdav import choose

    if method.publish == PHRASES:
        return release_phrases(log, plan, run, method)
    attrs, times, herding = method.attrs, method.times, method.choice == HERDING
    rule = profiles.QueryRule(
        shares=shares or choose, herding=herding, max_share=method.max_share, language=method.language
    )
    scales, keys = events.Scales.of_rows(rows_of_users(log, run), run), run.keys
    subjects, common = share_profiles(
        log,
        plan.table,
        run,
        lambda rows: profiles.centroids(rows, scales, keys, eq1, attrs, rule, times),
        (events.QUERY,) if attrs == "drop" and not herding else (),
    )
    alone, total = run.total(common, lambda some: some.select(pl.col("alone").sum(), pl.len())).row(0)
    shape = log.shape if promised_times(attrs, times) == "drop" else log.shape.with_levels()
    columns = {events.TIME: shape.time, events.QUERY: shape.item, events.RANK: shape.rank, events.PAGE: shape.page}
    named, released = (
        subjects.drop_nulls("group").select(pl.col("released").alias(shape.subject), "group"),
        shape.released,
    )
    rows = run.join(named, run.each(common, lambda some: some.rename(columns)), ["group"])
    rows = run.each(rows, lambda some: some.select(released))
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


def release_phrases(log: Log, plan: Plan, run: Run, method: PublishesProfiles) -> Draft:
    """The phrases of each group, under a fresh name for each member."""
    from coterie.algorithms.groups import user_names
    from coterie.algorithms.phrases import phrases, profiles_of_groups

    m = _users_of_each(method)
    found = phrases(log, run, m, language(method.language))
    members = plan.table.collect(engine="streaming").sort("subject")
    profiles = profiles_of_groups(found, members, run)
    run.tell(Counted(4, 4))
    silent = members.join(profiles, on="group", how="anti")
    texts = profiles.lazy().select("group", pl.col("text").repeat_by("n")).explode("text")
    subjects = named_subjects(user_names(log, run), members, run, silent).lazy()
    return Draft(
        frame=release_texts(subjects, texts, log.shape, run),
        subjects=subjects,
        warnings=tuple(_phrase_warnings(found, silent, m)),
        in_order=True,
    )


def _users_of_each(method: PublishesProfiles) -> int:
    """How many users of the log must have each phrase."""
    return method.k if isinstance(method.phrase_users, str) else method.phrase_users


def _phrase_warnings(found: Phrases, silent: pl.DataFrame, m: int) -> Iterator[str]:
    rows_kept, words_kept = 100 * found.rows_kept, 100 * found.words_kept
    yield (
        f"{rows_kept:.0f} % of all rows have a phrase that {m} users have, and {words_kept:.0f} % of all words stand "
        f"in one; nothing else is released."
    )
    if silent.height:
        groups = silent["group"].n_unique()
        have = "group has" if groups == 1 else "groups have"
        yield (
            f"{groups:,} {have} an empty profile, with {silent.height:,} users: fewer than two members of a group have "
            f"such a phrase. Nothing is released of these users."
        )
    rows = pl.Series(found.rows_of_users)
    unequal = rows.mean() > _UNEQUAL * rows.median()  # type: ignore[operator]
    if m > _SMALL_M and (rows.len() < _FEW_USERS or unequal):
        few = (
            f"the log has fewer than {_FEW_USERS:,} users" if rows.len() < _FEW_USERS else "a few users have most rows"
        )
        yield f"phrase_users = {_SMALL_M} keeps more, as {few}; each phrase then stands in the queries of {_SMALL_M}."
