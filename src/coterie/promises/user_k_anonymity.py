"""User k-anonymity: every released profile is shared by at least k subjects.

Which users have which sensitive topics, once more from the original, for the judge alone.

It shares no code with the model of interests and its kernels: words are strings in polars tables here, no hashes and no
bits. What a word of a query is and when it stands for a word of a topic is said in `text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie import taxonomies
from coterie.core.params import Choice, Flag, Range
from coterie.core.promise import Case, Check, Kind
from coterie.core.shapes import Shape
from coterie.errors import CoterieError
from coterie.promises._checks import (
    NameOrDigest,
    Question,
    any_given,
    count,
    equals,
    multisets,
    no_finer,
    other_columns,
    rows_broken,
    secret_seeds,
    strange_items,
)
from coterie.promises._names import random_names
from coterie.promises._people import people
from coterie.promises._words import Worded
from coterie.text.language import ENGLISH, Language, LanguageName, language
from coterie.text.words import digest_of, name_of_topics, without_spaces

_LABELS = "the taxonomy's file, whose path is in the run record (--record DIR)"
_TOPICS = "the topics and who became whom, which are in the run record (--record DIR)"
UNSAID = ""
"""Of profiles of labels, which have no times, and of rows without a sidecar."""


@dataclass(frozen=True, kw_only=True)
class UserKAnonymity(Worded):
    """Every released profile (the multiset of a subject's rows) is shared by at least k subjects."""

    k: Annotated[int, Range(2), "smallest number of users that share a released profile"]
    labels: Annotated[
        str,
        NameOrDigest("", taxonomies.WORDNET),
        "where labels of a taxonomy are released in place of queries: its name, or the digest of its labels",
    ] = ""
    phrases: Annotated[bool, Flag(), "where parts of queries are released, which the promise phrase_users is about"] = (
        False
    )
    topics: Annotated[
        str,
        NameOrDigest(""),
        "where the users behind a profile must not all have one sensitive topic: the digest of the topics",
    ] = ""
    topic_share: Annotated[float, Range(0, 1), "topics that this share of all users have, or more, may be shared"] = 0.5
    language: Annotated[str, LanguageName(), "the language whose words and stems tell who has a topic"] = ENGLISH
    times: Annotated[
        str,
        Choice(UNSAID, "drop", "quarter", "month", "week", "day", "hour"),
        "the finest time that stands in a profile; '': the promise says nothing about times",
    ] = UNSAID

    name: ClassVar[str] = "user_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "subjects"

    @property
    def anywhere(self) -> bool:
        """Whether rows may be on a cluster: phrases are counted on one machine."""
        return not self.phrases

    @property
    def levels(self) -> tuple[str, ...]:
        """How exact a time may be: what belongs to one user alone has the month at most."""
        if self.times in (UNSAID, "drop"):
            return ()
        return (self.times,) if self.times in ("month", "quarter") else (self.times, "month")

    @property
    def derived(self) -> Mapping[str, object]:
        """The share of topics in percent."""
        return {"percent": 100 * self.topic_share}

    @property
    def releases(self) -> Kind:
        """Released items are what was typed, parts of it, or labels in place of it."""
        return "concepts" if self.labels else "phrases" if self.phrases else "text"

    @property
    def linkage_bound(self) -> float | None:
        """One in k: those who share a profile cannot be told apart."""
        return 100 / self.k

    @property
    def evidence(self) -> tuple[str, ...]:
        """Who became whom; where a taxonomy is that does not come with the package; sensitive topics."""
        labels = ("taxonomy",) if self.labels not in ("", taxonomies.WORDNET) else ()
        return (*labels, *(("topics",) if self.topics else ()), "subjects")

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> UserKAnonymity:  # noqa: ARG003 (the protocol's)
        """The promise to check of rows without a sidecar."""
        return cls(**values)

    def check(self, case: Case) -> Iterator[Check]:
        """Compare names and items with the original, then the profiles of all names with each other.

        It stops profiles that are one user's alone, also under k invented names, and groups that all have one secret.
        """
        if case.foreign:
            yield _only_these_were_compared(case.shape)
        else:
            yield from random_names(case, "pseudonym")
        # What tells profiles apart is what was published: preparing rows like the original would hide it.
        published = case.rows if case.published is None else case.published
        nameless, rows = _nameless(case, published)
        if self.times != UNSAID:
            yield from case.engine.judged(case, partial(no_finer, self.levels, carries=True))
        if self.labels:
            yield self._labels(case, published)
        elif not self.phrases:
            yield from case.engine.judged(case, _items, (case.shape.item, case.log_shape.item))
        if nameless:
            named = Question("profiles", "every row has a name", "have none", carries=True)
            yield named.answered(nameless, rows)
            return
        subject = case.shape.subject
        columns = [name for name in case.shape.released if name != subject]
        profiles = _profiles(case, published, [subject], columns)
        of_people = list(people(case, profiles, made_of=self.releases, times=self.times))
        yield from of_people
        if self.topics:
            yield self._topics(case, profiles)
        checked = self._profiles(profiles.drop(subject))
        broken = any(check.status == "failed" for check in of_people)
        yield replace(checked, largest_k=None) if broken else checked  # it would be a number of names

    def _profiles(self, profiles: pl.LazyFrame) -> Check:
        """At least k equal profiles of each kind."""
        detail = f"each profile is shared by at least {self.k} subjects"
        shared = Question("profiles", detail, "subjects are in smaller groups", carries=True)
        return shared.of_equals(profiles, self.k, "profiles")

    def _topics(self, case: Case, profiles: pl.LazyFrame) -> Check:
        """No sensitive topic that all users behind some profile have."""
        detail = "the users behind a profile never all have one and the same sensitive topic"
        same = Question("topics", detail, "such cases", original=True, carries=True)
        if case.original is None:
            return same.open()
        topics = case.table("topics", {"topic": pl.Int64, "word": pl.String})
        subjects = case.table("subjects", {"original": pl.String, "released": pl.String}, nullable=("released",))
        if topics is None or subjects is None or name_of_topics(topics) != self.topics:
            return same.open(_TOPICS)
        equal = equals(profiles, case.shape.subject).rename({"name": "released"})
        became = subjects.lazy().select(pl.col("original").alias("user"), "released")
        if unaccounted := _unaccounted(became, case):
            return replace(same, fault="people or names are not what the run record says").answered(unaccounted)
        groups = became.join(equal, on="released", how="left").select("user", "group").collect(engine="streaming")
        shape = case.original.shape
        typed = case.original.frame.select(pl.col(shape.subject).alias("user"), pl.col(shape.item).alias("query"))
        having = users_with_topics(typed.drop_nulls("user"), topics, language(self.language))
        return same.answered(shared_by_all(having, groups, self.topic_share))

    def _labels(self, case: Case, published: pl.LazyFrame) -> Check:
        """Labels in place of queries: those of the taxonomy that the promise names, and nothing else anywhere."""
        others = other_columns(case.shape)
        detail = f"every released {case.shape.item} is a label of the taxonomy, and {', '.join(others)} are empty"
        labelled = Question("labels", detail, "labels or rows break this", carries=True)
        used = case.run.get("parameters", {}).get("taxonomy")
        if self.labels == taxonomies.WORDNET:
            tree = taxonomies.load(taxonomies.WORDNET)
            labels = pl.concat([tree.labels.rename("label"), tree.names.rename("label")])
        elif used == taxonomies.WORDNET:
            return replace(labelled, fault="taxonomy is another in the run record").answered(1)
        else:
            given = case.table("taxonomy", {"path": pl.String})
            paths = [] if given is None else given["path"].to_list()
            own = self._own_labels(paths)  # anyone can make a list and its digest, so labels are those of the file
            if own is None:
                return labelled.open(_LABELS)
            labels = own.rename("label")
        strange, _ = strange_items(published, case.shape, labels.to_frame().lazy())
        accompanied, _ = rows_broken(published, any_given(others))
        return labelled.answered(strange + accompanied)

    def _own_labels(self, paths: Sequence[str]) -> pl.Series | None:
        """The labels, or names, of the first of these taxonomies that has the promised ones; None where none has."""
        for path in dict.fromkeys(paths):
            try:
                tree = taxonomies.load(path)
            except (CoterieError, OSError, ValueError):  # no taxonomy, or a path that no file can have
                continue
            for labels in (tree.labels, tree.names):
                if digest_of(labels) == self.labels:
                    return labels
        return None


def _unaccounted(became: pl.LazyFrame, case: Case) -> int:
    """How many people of the original, or names of the release, a table (user, released) misses, invents or repeats.

    A table that left people out, or gave a name to several, would hide who is behind a profile.
    """
    original = case.original
    if original is None:
        return 0
    people = original.frame.select(pl.col(original.shape.subject).alias("user")).drop_nulls().unique()
    names = case.rows.select(pl.col(case.shape.subject).alias("released")).drop_nulls().unique()
    given = became.select("user"), became.select("released").drop_nulls()
    faults = [
        people.join(given[0], on="user", how="anti"),
        given[0].join(people, on="user", how="anti", nulls_equal=True),
        given[0].filter(pl.col("user").is_duplicated()),
        names.join(given[1], on="released", how="anti"),
        given[1].filter(pl.col("released").is_duplicated()),
    ]
    return sum(count(table.select(pl.len())) for table in faults)


def _profiles(case: Case, published: pl.LazyFrame, subject: list[str], columns: list[str]) -> pl.LazyFrame:
    """One row for each name, which stands for all that is published under it."""
    sums = partial(multisets, owner=subject, columns=columns, seeds=secret_seeds())
    return case.engine.small_blocks(published, sums, subject).lazy()


def _nameless(case: Case, rows: pl.LazyFrame) -> tuple[int, int]:
    """How many rows have no name, and how many rows there are; a shape without a subject names nobody."""
    shape = case.shape
    named = pl.col(shape.subject).count() if shape.subject else pl.lit(0)
    counts = case.engine.total(rows, lambda some: some.select(pl.len().cast(pl.Int64), named.cast(pl.Int64)))
    total, given = counts.row(0)
    return total - given, total


def _items(case: Case) -> Iterator[Check]:
    """Nothing is released that nobody typed."""
    there = Question("items", f"every released {case.shape.item} is in the original", "are not", original=True)
    if case.original is None:
        yield there.open()
        return
    typed = case.original.frame.select(case.original.shape.item)
    yield there.answered(*strange_items(case.rows, case.shape, typed))


def _only_these_were_compared(shape: Shape) -> Check:
    """What is not looked at in rows that Coterie did not make."""
    detail = f"only {', '.join(shape.released)} were compared; other columns of the file can tell people apart"
    return Check(name="details", status="not checked", detail=detail)


def users_with_topics(rows: pl.LazyFrame, topics: pl.DataFrame, spoken: Language) -> pl.DataFrame:
    """topic, user: who typed a word of a topic. `rows`: user, query; `topics`: topic, word."""
    queries = rows.select("query").unique().collect(engine="streaming")
    typed = queries.with_columns(spoken.pieces(queries["query"]).alias("word")).explode("word")
    typed = typed.filter(pl.col("word").is_not_null() & ~pl.col("word").is_in(list(spoken.stop_words)))
    wanted = topics.select("topic", spoken.stems(topics["word"]).alias("stem")).unique()
    spelled = typed.select(pl.col("word").unique())
    meant = (
        spelled.with_columns(spoken.stems(spelled["word"]).alias("stem"))
        .join(wanted, on="stem")
        .select("word", "topic")
    )
    holding = [typed.join(meant, on="word").select("topic", "query")]
    joined = topics.filter(without_spaces(pl.col("word")))
    for topic, word in joined.select("topic", "word").iter_rows():
        written = queries.filter(spoken.folded(pl.col("query")).str.contains(word, literal=True))
        holding.append(written.select(pl.lit(topic, dtype=topics.schema["topic"]).alias("topic"), "query"))
    topic_of = pl.concat(holding).unique()
    return rows.join(topic_of.lazy(), on="query").select("topic", "user").unique().collect(engine="streaming")


def shared_by_all(having: pl.DataFrame, groups: pl.DataFrame, share: float) -> int:
    """Pairs of a group and a topic that all its users have, of topics that fewer than `share` of all users have.

    `having`: topic, user; `groups`: user, group, for all users.
    """
    rare = having.filter(pl.len().over("topic") < share * groups.height)
    sizes = groups.group_by("group").len("size")
    counts = rare.join(groups, on="user").group_by("group", "topic").len("having").join(sizes, on="group")
    return counts.filter(pl.col("having") == pl.col("size")).height
