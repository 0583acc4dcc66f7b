"""Give each group of users a profile of phrases that many users of the log have, in place of queries.

`publish`, `phrase_users` and `language` are parameters of every method that releases what groups of users typed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Protocol

import polars as pl

from coterie.apply.profiles import named_subjects, release_texts
from coterie.core.log import Log
from coterie.core.params import Choice, Late, NumberOr, With
from coterie.core.plan import Draft, Facts, Plan
from coterie.core.promise import Promise
from coterie.core.run import Run
from coterie.core.threads import Counted
from coterie.errors import InputError, ParameterError
from coterie.promises.phrase_users import PhraseUsers
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.text.language import LanguageName, language

if TYPE_CHECKING:
    from coterie.models.phrases import Phrases

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


class PublishesProfiles(Protocol):
    """What these functions have to know of a method."""

    @property
    def k(self) -> int:
        """How many users share a profile."""

    @property
    def publish(self) -> str:
        """Queries or phrases."""

    @property
    def phrase_users(self) -> int | str:
        """How many users must have a phrase."""

    @property
    def language(self) -> str:
        """Whose stop words phrases do not end with."""


def refuse_details(publish: str, attrs: str, choice: str) -> None:
    """Raise ParameterError where phrases are to have what belongs to whole queries."""
    if publish == PHRASES and attrs != "drop":
        raise ParameterError("Phrases have no times, ranks or pages. With publish = phrases, say attrs = drop, too.")
    if publish == PHRASES and choice != "shares":
        raise ParameterError("choice = herding chooses whole queries. Say publish = queries, too, or leave it out.")


def refuse_phrases(publish: str, method: str) -> None:
    """Raise ParameterError where rows are elsewhere: which phrases enough users typed is found out on one machine."""
    if publish == PHRASES:
        raise ParameterError(f"{method} with publish = phrases runs on one machine; leave out --engine.")


def promises_of(method: PublishesProfiles, profiles: UserKAnonymity, facts: Facts) -> tuple[Promise, ...]:
    """What a release of profiles promises, made of queries or of phrases."""
    if method.publish == QUERIES_AS_TYPED:
        return (profiles,)
    m = _users_of_each(method)
    if facts.subjects < m:
        raise InputError(
            f"Phrases of {m} users need at least {m} users, and the log has {facts.subjects}. Use a smaller "
            f"phrase_users (at least 2) or a larger log."
        )
    return (replace(profiles, phrases=True), PhraseUsers(m=m))


def release_phrases(log: Log, plan: Plan, run: Run, method: PublishesProfiles) -> Draft:
    """The phrases of each group, under a fresh name for each member."""
    from coterie.models.phrases import phrases, profiles_of_groups

    m = _users_of_each(method)
    found = phrases(log, run, m, language(method.language))
    members = plan.table.collect(engine="streaming").sort("subject")
    profiles = profiles_of_groups(found, members, run)
    run.tell(Counted(4, 4))
    silent = members.join(profiles, on="group", how="anti")
    texts = profiles.lazy().select("group", pl.col("text").repeat_by("n")).explode("text")
    # Whose profile is empty has a group, which a later release may use, and no name.
    named = pl.when(~pl.col("group").is_in(silent["group"].unique().implode())).then("released").alias("released")
    subjects = named_subjects(log, members, run).with_columns(named).lazy()
    return Draft(
        frame=release_texts(subjects, texts, log.shape, run),
        subjects=subjects,
        warnings=tuple(_warnings(found, silent, m)),
        in_order=True,
    )


def _users_of_each(method: PublishesProfiles) -> int:
    """How many users of the log must have each phrase."""
    return method.k if isinstance(method.phrase_users, str) else method.phrase_users


def _warnings(found: Phrases, silent: pl.DataFrame, m: int) -> Iterator[str]:
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
