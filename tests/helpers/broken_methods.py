"""Deliberately broken methods: the verifier must catch each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

import coterie
from coterie.core.plan import Draft, Plan
from coterie.core.shapes import QUERIES
from coterie.methods.affinity import Affinity
from coterie.methods.generalize import Generalize
from coterie.methods.generalize_users import GeneralizeUsers
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.methods.suppress_rare import SuppressRare


def _plan_of(method, log, run):
    return method.plan(method.learn(log, run), log, run)


@dataclass(frozen=True, kw_only=True)
class ReleasesRare(SuppressRare):
    """Releases queries of k - 1 users."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(SuppressRare(k=self.k - 1), log, run)


@dataclass(frozen=True, kw_only=True)
class CountsRows(SuppressRare):
    """Counts rows instead of users, the mistake of every first version."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        item = pl.col(log.shape.item).alias("item")
        counts = log.frame.group_by(item).len("degree")
        return Plan(table=counts.filter(pl.col("degree") >= self.k))


def _putting_back(draft, log, column, value):
    """A draft in which a column has a value of the original row again."""
    original = log.frame.select("row", value.alias("_original"))
    frame = draft.frame.join(original, on="row").with_columns(pl.col("_original").alias(column))
    return Draft(frame=frame.drop("_original"), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsIds(SuppressRare):
    """Keeps original subjects."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "user", pl.col("user"))


@dataclass(frozen=True, kw_only=True)
class HashesIds(SuppressRare):
    """Promises to drop subjects and releases a bare hash of them."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "user", pl.col("user").hash().cast(pl.String))


@dataclass(frozen=True, kw_only=True)
class KeepsDetails(SuppressRare):
    """Keeps urls (and other details) of single users."""

    def release(self, log, plan, run):
        loose = SuppressRare(k=self.k, attrs="keep").release(log, plan, run)
        days = loose.frame.with_columns(pl.col("time").dt.truncate("1d"))
        return Draft(frame=days, subjects=loose.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsRanks(SuppressRare):
    """Keeps the rank of a click whose url was removed."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "rank", pl.col("rank"))


@dataclass(frozen=True, kw_only=True)
class KeepsTimes(SuppressRare):
    """Keeps the second at which somebody searched."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "time", pl.col("time"))


@dataclass(frozen=True, kw_only=True)
class KeepsAddresses(SuppressRare):
    """Keeps the address of a visit."""

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "address", pl.col("address"))


@dataclass(frozen=True, kw_only=True)
class InventsRows(SuppressRare):
    """Releases every row twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return Draft(frame=pl.concat([draft.frame, draft.frame]), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class InventsQueries(SuppressRare):
    """Releases a query that nobody issued."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        changed = pl.col(log.shape.item) + " made up"
        return Draft(frame=draft.frame.with_columns(changed), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class CountsNobody(SuppressRare):
    """Counts a missing user as one."""

    def plan(self, learnt, log, run):
        named = replace(log, frame=log.frame.with_columns(pl.col(log.shape.subject).fill_null("nobody")))
        return super().plan(learnt, named, run)


@dataclass(frozen=True, kw_only=True)
class KeepsDetailsUnderDrop(SuppressRare):
    """Promises attrs = drop and keeps the url."""

    attrs: str = "drop"

    def release(self, log, plan, run):
        return _putting_back(super().release(log, plan, run), log, "url", pl.col("url"))


@dataclass(frozen=True, kw_only=True)
class NamesByHash(SuppressRare):
    """Promises random names and releases a bare hash."""

    users: str = "pseudonym"

    def release(self, log, plan, run):
        value = pl.col("user").hash().cast(pl.String)
        return _putting_back(super().release(log, plan, run), log, "user", value)


@dataclass(frozen=True, kw_only=True)
class LinksSessions(SuppressRare):
    """Promises a name for each session and releases one for each person."""

    users: str = "session"

    def release(self, log, plan, run):
        return SuppressRare(k=self.k, users="pseudonym").release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class MixesNames(SuppressRare):
    """Links rows of different people under one name."""

    users: str = "pseudonym"

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        one = pl.col("user").drop_nulls().min()
        mixed = draft.frame.with_columns(pl.when(pl.col("query") == "maps").then(one).otherwise("user").alias("user"))
        return Draft(frame=mixed, subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class DetailsOneByOne(SuppressRare):
    """Looks at each detail of a visit alone, not at what they say together."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        for detail in log.shape.details:
            draft = _putting_back(draft, log, detail, pl.col(detail))
        frame = draft.frame
        for detail in log.shape.details:
            users = log.frame.select("user", "path", detail).drop_nulls().unique()
            common = users.group_by("path", detail).len().filter(pl.col("len") >= self.k).drop("len")
            kept = common.with_columns(pl.lit(True).alias("_ok"))
            frame = frame.join(kept, on=["path", detail], how="left").with_columns(
                pl.when("_ok").then(detail).alias(detail)
            )
            frame = frame.drop("_ok")
        return Draft(frame=frame, subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class GroupsTooFew(Microaggregate):
    """Groups k - 1 users."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Microaggregate(k=self.k - 1), log, run)


@dataclass(frozen=True, kw_only=True)
class AltersOneRow(Microaggregate):
    """Gives one member of one group another rank."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = draft.frame.collect().with_row_index()
        changed = pl.when(pl.col("index") == rows.height // 2).then(99).otherwise(pl.col("rank"))
        rows = rows.with_columns(changed.cast(pl.Int32).alias("rank")).drop("index")
        return Draft(frame=rows.lazy(), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class KeepsDaysOfProfiles(Microaggregate):
    """Says that times are cut to the month and cuts them to the day."""

    def release(self, log, plan, run):
        return Microaggregate(k=self.k, times="day").release(log, plan, run)


def times_of_one_member(rows, subjects, log, unit):
    """Rows of profiles whose times, where they are finer than a month, are those of the first member who typed it."""
    behind = subjects.drop_nulls("released").select("group", user="original")
    typed = log.frame.drop_nulls("time").join(behind, on="user").group_by("group", "query")
    first = typed.agg(pl.col("time").min().dt.truncate(unit).alias("first"))
    groups = subjects.drop_nulls("released").select("group", user="released")
    fine = pl.col("time_level") != "month"
    rows = rows.join(groups, on="user", how="left").join(first, on=["group", "query"], how="left")
    return rows.with_columns(time=pl.when(fine).then("first").otherwise("time")).drop("group", "first")


@dataclass(frozen=True, kw_only=True)
class TellsOwnHours(Microaggregate):
    """Gives queries of several members the hour at which one of them typed it."""

    times: str = "hour"

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=times_of_one_member(draft.frame, draft.subjects, log, "1h"))


@dataclass(frozen=True, kw_only=True)
class ReleasesLeftovers(SemanticMicroaggregate):
    """The paper's Algorithm 3: fewer than k users are left over and become a group of their own."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        names = log.frame.select(pl.col("user").alias("subject")).drop_nulls().unique()
        grouped = _plan_of(
            SemanticMicroaggregate(k=self.k + 1, leftovers="suppress"), log, run
        )  # so that some are left
        groups = names.join(grouped.table, on="subject", how="left")
        return Plan(table=groups.with_columns(pl.col("group").fill_null(pl.col("group").max() + 1)))


@dataclass(frozen=True, kw_only=True)
class KeepsNames(Microaggregate):
    """Releases common profiles under the original names."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        back = draft.subjects.select("original", pl.col("released").alias("user"))
        frame = draft.frame.join(back, on="user").with_columns(pl.col("original").alias("user")).drop("original")
        return Draft(frame=frame, subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class CoversTooFew(Affinity):
    """Releases queries that k - 1 users cover."""

    def plan(self, learnt, log, run):
        return super().plan(replace(learnt, degree=learnt.degree + 1), log, run)


@dataclass(frozen=True, kw_only=True)
class CoversOutside(Affinity):
    """Counts the users of affine queries that are not released: no core, only neighbours."""

    def learn(self, log, run):
        graph = super().learn(log, run)
        vertices, degree = graph.vertices, graph.degree.copy()
        for q in np.flatnonzero(vertices.vertex >= 0):
            v = vertices.vertex[q]
            closed = [v, *graph.neighbours.of(v)]
            degree[q] = len({u for w in closed for u in vertices.users.of(w).tolist()})
        return replace(graph, degree=degree)


@dataclass(frozen=True, kw_only=True)
class CoversThemselves(Affinity):
    """Counts affine queries instead of the users behind them."""

    def learn(self, log, run):
        graph = super().learn(log, run)
        vertices, degree = graph.vertices, graph.degree.copy()
        for q in np.flatnonzero(vertices.vertex >= 0):
            v = vertices.vertex[q]
            degree[q] = max(degree[q], 1 + graph.neighbours.of(v).size)
        return replace(graph, degree=degree)


@dataclass(frozen=True, kw_only=True)
class LooserTheta(Affinity):
    """Calls queries affine that are less so than promised."""

    def learn(self, log, run):
        return Affinity(k=self.k, theta=self.theta - 0.3).learn(log, run)


@dataclass(frozen=True, kw_only=True)
class FewerConcepts(Affinity):
    """Leaves out concepts, which makes the rest more alike."""

    def learn(self, log, run):
        return Affinity(k=self.k, min_users=6).learn(log, run)


@dataclass(frozen=True, kw_only=True)
class CoversRareWords(Affinity):
    """Releases a word that one person alone has, beside a common phrase."""

    def learn(self, log, run):
        return Affinity(k=self.k, min_term_users=1).learn(log, run)


@dataclass(frozen=True, kw_only=True)
class KeepsRareWords(Affinity):
    """Promises to release no rare word and releases it where k users typed it."""

    min_term_users: int = 4
    strict: bool = True

    def learn(self, log, run):
        return Affinity(k=self.k, min_term_users=4).learn(log, run)


@dataclass(frozen=True, kw_only=True)
class CountsNobodyAffine(Affinity):
    """Counts a missing user as one."""

    def learn(self, log, run):
        named = replace(log, frame=log.frame.with_columns(pl.col("user").fill_null("nobody")))
        return super().learn(named, run)


@dataclass(frozen=True, kw_only=True)
class InventsAffineRows(Affinity):
    """Releases every row twice."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=pl.concat([draft.frame, draft.frame]))


@dataclass(frozen=True, kw_only=True)
class KeepsAffineDetails(Affinity):
    """Keeps the page that one person clicked."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=_putting_back(draft, log, "url", pl.col("url")).frame)


def _words(letter, count):
    return [f"{letter}{n}" for n in range(count)]


def affine_queries():
    """(users, query): for k = 3 and θ = 0.9 each line is a case of its own, as no two letters share a word."""
    cover, chain, ring, same = _words("cover", 7), _words("chain", 7), _words("ring", 20), _words("same", 7)
    parts = {
        "abcdef": cover,  # common
        "g": cover[:-1],  # affine to it: released
        "h": chain, "i": chain[1:], "j": chain[:-1],  # the first is affine to both others, these are not: no core
        "k": ring, "l": ring[1:], "m": ring[:-1],  # all affine: released
    }  # fmt: skip
    lines = [(users, " ".join(some)) for users, some in parts.items()]
    lines += [("no", " ".join(some)) for some in (same, same[1:], same[:-1])]  # three queries, two users
    return [
        *lines,
        ("abcdefgh", "phone case"),
        ("abch", "red hats"),
        ("d", "phone case red hats"),  # affinity about 0.7
        ("e", "phone case zzz"),  # a word of one user
        ("abc", "quiet trains"),  # words of three users
        ("xy-", "harbour tide"),  # two users, and a row without one
    ]


def affine_log():
    """The queries above as a log; one user clicked."""
    rows = [(user, query) for users, query in affine_queries() for user in users]
    frame = pl.DataFrame(rows, schema=["user", "query"], orient="row")
    nobody, clicked = pl.col("user") == "-", (pl.col("user") == "a") & (pl.col("query") == "phone case")
    return coterie.log(
        frame.with_columns(
            pl.when(~nobody).then("user").alias("user"),
            pl.when(clicked).then(pl.lit("http://one.example")).alias("url"),
            pl.when(clicked).then(1).cast(pl.Int32).alias("rank"),
        )
    )


# method, shape, the check that must catch it
@dataclass(frozen=True, kw_only=True)
class InventsNames(Microaggregate):
    """Publishes the rows of each user alone, under k invented names."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = log.frame.select(QUERIES.released).drop_nulls("user").collect()
        users = rows["user"].unique().sort()
        copies = pl.DataFrame({"user": users.to_list() * self.k, "copy": sorted([*range(self.k)] * len(users))})
        labels = copies.select(pl.format("{} {}", "user", "copy")).to_series()
        copies = copies.with_columns(run.pseudonyms(labels, taken=users).alias("name"))
        rows = rows.join(copies, on="user").with_columns(pl.col("name").alias("user")).select(QUERIES.released)
        return Draft(frame=rows.lazy(), subjects=draft.subjects)


@dataclass(frozen=True, kw_only=True)
class InventsProfiles(Microaggregate):
    """Puts a query that nobody typed into every profile."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = draft.frame.with_columns(pl.concat_str("query", pl.lit(" zzz")).alias("query"))
        return Draft(frame=rows, subjects=draft.subjects)


def _into(plan, old, new):
    """A plan in which what becomes one concept becomes another."""
    changed = pl.when(pl.col("into") == old).then(pl.lit(new)).otherwise("into").alias("into")
    return replace(plan, table=plan.table.with_columns(changed))


@dataclass(frozen=True, kw_only=True)
class SharesTooFew(Generalize):
    """Releases concepts that k - 1 users share."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Generalize(k=self.k - 1, users=self.users), log, run)


@dataclass(frozen=True, kw_only=True)
class CountsQueries(Generalize):
    """Promises users and counts distinct queries, as the paper does."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Generalize(k=self.k, size="queries"), log, run)


@dataclass(frozen=True, kw_only=True)
class CountsNobodysConcepts(Generalize):
    """Counts a missing user as one."""

    def learn(self, log, run):
        named = replace(log, frame=log.frame.with_columns(pl.col("user").fill_null("nobody")))
        return super().learn(named, run)


@dataclass(frozen=True, kw_only=True)
class FewerQueries(Generalize):
    """Promises queries and releases concepts of fewer."""

    size: str = "queries"

    def plan(self, learnt, log, run):  # noqa: ARG002
        return _plan_of(Generalize(k=self.k - 1, size="queries"), log, run)


@dataclass(frozen=True, kw_only=True)
class SpecificForOne(Generalize):
    """Releases one person's query as the concept it is, beside those who stay more general."""

    def plan(self, learnt, log, run):
        own = pl.when(pl.col("item") == "wolf").then(pl.lit("wolf (1)")).otherwise("into").alias("into")
        plan = super().plan(learnt, log, run)
        return replace(plan, table=plan.table.with_columns(own))


@dataclass(frozen=True, kw_only=True)
class AnotherConcept(Generalize):
    """Releases queries as a concept that none of their words has to do with."""

    def plan(self, learnt, log, run):
        return _into(super().plan(learnt, log, run), "bread", "asteroid")


@dataclass(frozen=True, kw_only=True)
class HidesAmongOthers(Generalize):
    """Leaves out the rows of all but one person behind a concept."""

    def release(self, log, plan, run):
        alone = pl.col("user").is_in(["b", "c"]) & (pl.col("query") == "bread")
        kept = replace(log, frame=log.frame.filter(~alone.fill_null(False)))
        return Generalize(k=self.k).release(kept, plan, run)


@dataclass(frozen=True, kw_only=True)
class ReleasesText(Generalize):
    """Releases what was typed."""

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        return replace(plan, table=plan.table.with_columns(pl.col("item").alias("into")))


@dataclass(frozen=True, kw_only=True)
class KeepsConceptPages(Generalize):
    """Keeps the page that one person clicked."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=_putting_back(draft, log, "url", pl.col("url")).frame)


@dataclass(frozen=True, kw_only=True)
class LinksConceptSessions(Generalize):
    """Promises a name for each session and releases one for each person."""

    users: str = "session"

    def release(self, log, plan, run):
        return Generalize(k=self.k, users="pseudonym").release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class OneConceptMore(GeneralizeUsers):
    """Tells of one member of a group what they alone searched for."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = draft.frame.collect()
        more = rows.head(1).with_columns(pl.lit("asteroid").alias("query"))
        return replace(draft, frame=pl.concat([rows, more]).lazy())


@dataclass(frozen=True, kw_only=True)
class ProfilesOfText(GeneralizeUsers):
    """Puts what was typed into profiles."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return replace(draft, frame=draft.frame.with_columns(pl.concat_str("query", pl.lit(" zzz")).alias("query")))


def concept_log():
    """For k = 3: bread has three users, dogs and wolves three together, tides two and somebody unnamed."""
    parts = [
        ("abc", "bread"),
        ("ab", "dog"),
        ("c", "wolf"),
        ("de-", "tide"),
        ("d", "oak"), ("d", "elm"), ("d", "birch"), ("d", "maple"),
    ]  # fmt: skip
    rows = [(None if user == "-" else user, query) for users, query in parts for user in users]
    start = pl.datetime(2020, 1, 1, time_unit="us")
    frame = pl.DataFrame(rows, schema=["user", "query"], orient="row")
    clicked = (pl.col("user") == "a") & (pl.col("query") == "bread")
    return coterie.log(
        frame.with_columns(
            time=start + pl.duration(hours=pl.int_range(pl.len())),
            url=pl.when(clicked).then(pl.lit("http://one.example")),
            rank=pl.when(clicked).then(1).cast(pl.Int32),
        )
    )


CAUGHT_BY = [
    (ReleasesRare, "QUERIES", "crowd.query"),
    (ReleasesRare, "VISITS", "crowd.path"),
    (CountsRows, "QUERIES", "crowd.query"),
    (KeepsIds, "QUERIES", "ids"),
    (KeepsIds, "QUERIES", "names"),
    (HashesIds, "QUERIES", "names"),
    (KeepsDetails, "QUERIES", "crowd.query.url.rank.time"),
    (KeepsDetails, "VISITS", "crowd.path.method.status.bytes.time"),
    (KeepsRanks, "QUERIES", "tuples.query"),
    (KeepsTimes, "QUERIES", "times"),
    (KeepsAddresses, "VISITS", "identifying"),
    (CountsNobody, "NOBODY", "crowd.query"),
    (KeepsDetailsUnderDrop, "QUERIES", "details"),
    (NamesByHash, "QUERIES", "names"),
    (LinksSessions, "QUERIES", "links"),
    (MixesNames, "QUERIES", "links"),
    (DetailsOneByOne, "JOINT", "crowd.path.method.status.bytes.time"),
    (InventsRows, "QUERIES", "rows.query"),
    (InventsQueries, "QUERIES", "crowd.query"),
    (GroupsTooFew, "QUERIES", "profiles"),
    (AltersOneRow, "QUERIES", "profiles"),
    (KeepsDaysOfProfiles, "QUERIES", "times"),
    (TellsOwnHours, "PROFILES", "averages"),
    (ReleasesLeftovers, "QUERIES", "profiles"),
    (InventsNames, "QUERIES", "people"),
    (InventsProfiles, "QUERIES", "items"),
    (KeepsNames, "QUERIES", "ids"),
    (KeepsNames, "QUERIES", "names"),
    *(
        (method, "AFFINE", "cover.query")
        for method in (
            CoversTooFew,
            CoversOutside,
            CoversThemselves,
            LooserTheta,
            FewerConcepts,
            CoversRareWords,
            CountsNobodyAffine,
        )
    ),
    (KeepsRareWords, "AFFINE", "words.query"),
    (InventsAffineRows, "AFFINE", "rows.query"),
    (KeepsAffineDetails, "AFFINE", "crowd.query.url.rank.time"),
    (SharesTooFew, "CONCEPTS", "crowd.query"),
    (CountsQueries, "CONCEPTS", "crowd.query"),
    (CountsNobodysConcepts, "CONCEPTS", "crowd.query"),
    (FewerQueries, "CONCEPTS", "crowd.query"),
    (SpecificForOne, "CONCEPTS", "crowd.query"),
    (AnotherConcept, "CONCEPTS", "meaning.query"),
    (HidesAmongOthers, "CONCEPTS", "meaning.query"),
    (ReleasesText, "CONCEPTS", "items"),
    (KeepsConceptPages, "CONCEPTS", "crowd.query.url.rank.time"),
    (LinksConceptSessions, "CONCEPTS", "links"),
    (OneConceptMore, "CONCEPTS", "profiles"),
    (ProfilesOfText, "CONCEPTS", "labels"),
]
