"""Subjects: people and documents before and after a release, for measures that must know whose rows are whose.

Users, with everything that the distance of users looks at: for measures that compare users with the profiles they got.
Such a release has one name for each user; where it was made of groups, a sample takes groups as a whole.

Units: what a release links, and the original cut in the same way. A unit is what can be read together: all rows under
one name, or a row that has none. Names may stand for a person, a day, a session or a few searches of one
(`users = pseudonym | day | session | mini`); with `users = drop` each row is a unit. The original, under other names,
is cut as the release was, so that both can be attacked alike.

    unit      its number
    person    who is behind it, by the run record
    item      what was searched
    page      what was clicked
    time      as it stands there
    level     how exact that is, where a release says it

What users search for, as shares of the categories of a taxonomy: for measures of how much meaning a release keeps. The
profile of users at level l has for each category at depth l the share of their mapped terms that lie under it. Terms
that reach a concept above that depth, or none, count for nothing; so does their number, which makes profiles of
different sizes comparable. The overlap of two profiles is Σ_c min(share, share): 0 for nothing in common, 1 for the
same interests.

Documents: their vectors of terms, under their original names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie import taxonomies
from coterie.core import randomness
from coterie.core.log import Log
from coterie.core.run import HERE, Run
from coterie.core.shapes import QUERIES, TERMS, Shape
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison, columns_of
from coterie.steps.sessions import Sessions, session_minutes
from coterie.taxonomies import Taxonomy
from coterie.text.hosts import host_of

if TYPE_CHECKING:
    from coterie.algorithms.events import Scales


def drawn(some: pl.Series, most: int, seed: int, purpose: str) -> pl.Series:
    """Up to so many of some distinct values, drawn by the seed, in the order in which they stand there."""
    return some.gather(np.sort(np.argsort(randomness.keys(seed, purpose, some), kind="stable")[:most]))


def keyed(table: pl.DataFrame, seed: int, purpose: str, *by: str) -> pl.DataFrame:
    """A table with a column `drawn`: a random number that belongs to what stands in these columns, or in all."""
    label = table.select(pl.concat_str(by or pl.all(), separator="\0")).to_series()
    return table.with_columns(pl.Series("drawn", randomness.keys(seed, purpose, label), dtype=pl.UInt64))


def first_drawn(table: pl.DataFrame, key: list[str], purpose: str, seed: int, count: int = 1) -> pl.DataFrame:
    """Of each key some rows, drawn by the seed; in the order of the keys."""
    ordered = keyed(table, seed, purpose).sort(*key, "drawn", pl.all())
    return ordered.group_by(key, maintain_order=True).head(count).drop("drawn")


def rarer_first(pairs: pl.DataFrame, one: str, two: str, holders: pl.DataFrame) -> pl.DataFrame:
    """Pairs of values that both have a holder, with the one of fewer holders as `first` and the other as `second`.

    `holders`: value, and who has it, one line each.
    """
    often = holders.group_by("value").len("often")
    both = pairs.join(often, left_on=one, right_on="value").join(often, left_on=two, right_on="value", suffix="_two")
    rarer = pl.col("often") <= pl.col("often_two")
    first, second = (pl.when(rarer).then(a).otherwise(b) for a, b in ((one, two), (two, one)))
    return both.with_columns(first=first, second=second)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Users:
    """Users that have a profile in both logs: all of them, or a sample."""

    members: pl.DataFrame
    """user, group; a user who shares a profile with nobody by design is a group of one."""
    before: pl.DataFrame
    """user and the columns of an event, sorted: the original."""
    after: pl.DataFrame
    """The same for the release, with users under their original names."""
    scales_before: Scales
    scales_after: Scales
    total: int
    """How many there are with those that are not in the sample."""
    seed: int

    def keys(self, purpose: str, subjects: pl.Series) -> NDArray[np.uint64]:
        """A random number for each subject."""
        return randomness.keys(self.seed, purpose, subjects)

    @property
    def profiles(self) -> pl.DataFrame:
        """group and the columns of an event: each released profile once."""
        first = self.members.filter(pl.col("user") == pl.col("user").min().over("group"))
        return self.after.join(first, on="user").drop("user")

    @property
    def unit(self) -> str:
        """The unit of the number of users: says when they are a sample."""
        return "users" if self.members.height == self.total else f"of {self.total} users"


def renumbered(rows: pl.DataFrame, owner: str, first: int, columns: Sequence[str]) -> pl.DataFrame:
    """Sorted rows with the place of their owner as user, so that owners of all kinds have different names."""
    return rows.select((pl.col(owner).rle_id().cast(pl.Int64) + first).alias("user"), *columns)


def users_of(comparison: Comparison, most: int) -> Users:
    """The users of a comparison; where there are more than `most`, a random sample of whole groups."""
    for log, shape in (("log", comparison.log.shape), ("release", comparison.release.log.shape)):
        if shape.plain is not QUERIES:
            raise NotApplicableError(f"It compares what users searched for, and this {log} is {shape.name}.")
    from coterie.algorithms import events

    columns, needed = [QUERIES.subject, *events.EVENT], [QUERIES.subject, QUERIES.item]
    before, after = (log.frame.select(columns).drop_nulls(needed) for log in (comparison.log, comparison.release.log))
    everybody = _with_groups(_names(comparison, before, after))
    chosen = whole_groups(everybody, "user", most, comparison.seed, "sample of groups")
    run, names, theirs = Run(engine=HERE), chosen.select("user").lazy(), chosen.select(user="released").lazy()
    profiles = run.small(after.join(theirs, on="user", how="semi")).rename({"user": "released"})
    renamed = profiles.join(chosen.select("user", "released"), on="released").select(columns)
    return Users(
        members=chosen.select("user", "group"),
        before=run.small(before.join(names, on="user", how="semi")).sort("user", *events.EVENT_ORDER),
        after=renamed.sort("user", *events.EVENT_ORDER),
        scales_before=comparison.of_log("scales", lambda: events.Scales.of_rows(before, run)),
        scales_after=events.Scales.of_rows(after, run),
        total=everybody.height,
        seed=comparison.seed,
    )


def _names(comparison: Comparison, before: pl.LazyFrame, after: pl.LazyFrame) -> pl.DataFrame:
    """user, released, group (or null) of users that have rows in both logs."""
    of_original, of_release = (rows.select("user").unique() for rows in (before, after))
    subjects = comparison.record.subjects.rename({"original": "user"}).drop_nulls(["user", "released"])
    in_both = subjects.join(of_original, on="user", how="semi").join(
        of_release, left_on="released", right_on="user", how="semi"
    )  # fmt: skip
    names = in_both.select("user", "released", "group").collect(engine="streaming").sort("user", "released")
    if names.is_empty() or names["user"].is_duplicated().any():
        why = "no row of the release has a name" if names.is_empty() else "users have several names in this release"
        raise NotApplicableError(f"It compares users with their released profiles, and {why}.")
    return names


def _with_groups(names: pl.DataFrame) -> pl.DataFrame:
    """Groups numbered in the order of their first members, so that the numbers in the record do not matter."""
    first = pl.when(pl.col("group").is_null()).then("user").otherwise(pl.col("user").min().over("group"))
    return names.with_columns(group=(first.rank("dense") - 1).cast(pl.UInt32))


def whole_groups(members: pl.DataFrame, name: str, most: int, seed: int, purpose: str) -> pl.DataFrame:
    """As many random groups as have at most `most` members together, and at least one; members have a name."""
    if members.height <= most:
        return members
    groups = members.group_by("group").agg(pl.len().alias("size"), pl.col(name).min())
    shuffled = keyed(groups, seed, purpose, name).sort("drawn", name)
    fits = (pl.col("size").cum_sum() <= most) | (pl.int_range(pl.len()) == 0)
    return members.join(shuffled.filter(fits), on="group", how="semi").sort(name)


# --- units ----------------------------------------------------------------------------------------


ROW, MINI, SESSION, DAY, PERSON = "row", "mini", "session", "day", "person"
NOUNS = {ROW: "rows", MINI: "mini-sessions", SESSION: "sessions", DAY: "days", PERSON: "names"}
_KINDS = {"drop": ROW, "mini": MINI, "session": SESSION, "day": DAY, "pseudonym": PERSON}
_UNIT_COLUMNS = ("unit", "person", "item", "page", "time", "level")
_MINI_QUERIES, _MINI_MINUTES = 3, 30  # where a release does not say how long its mini-sessions are


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Units:
    """Rows by unit, before and after."""

    kind: str
    """What the release links."""
    cut_by: tuple[str, int, int]
    """What the units of the original depend on, besides the original."""
    log: Log
    after: pl.DataFrame

    @cached_property
    def before(self) -> pl.DataFrame:
        """The original in such units; it is cut when it is asked for."""
        return cut(self.log, *self.cut_by)


def units_of(comparison: Comparison) -> Units:
    """The units of a release, and those that the original would have."""
    shape = comparison.release.log.shape
    if shape.count or not shape.subject:
        raise NotApplicableError("The release has counts in place of rows, so nothing in it is linked.")
    comparison.refuse_without_rows()
    after = _released(comparison, shape)
    kind = kind_of(comparison)
    return Units(kind=kind, cut_by=(kind, *_mini(comparison)), log=comparison.log, after=after)


def kind_of(comparison: Comparison) -> str:
    """What a release links: by its parameter `users`; where it has none, by the names that people have in it."""
    told = comparison.release.params.get("users")
    if isinstance(told, str) and told in _KINDS:
        return _KINDS[told]
    names = comparison.names
    if names.is_empty() or comparison.released["subject"].null_count():
        return ROW
    return SESSION if names["original"].is_duplicated().any() else PERSON


def _mini(comparison: Comparison) -> tuple[int, int]:
    params = comparison.release.params
    return int(params.get("link_queries", _MINI_QUERIES)), int(params.get("link_minutes", _MINI_MINUTES))


def cut(log: Log, kind: str, queries: int = _MINI_QUERIES, minutes: int = _MINI_MINUTES) -> pl.DataFrame:
    """The rows of a log that say whose they are, by unit.

    Mini-sessions hold at most so many queries in a row, none of them more than so many minutes after the first. Rows
    without a time stand alone where units are days or mini-sessions.
    """
    shape = log.shape
    rows = Sessions(minutes=session_minutes(log))(log).frame if kind == SESSION else log.frame
    linked = ["session"] if kind == SESSION else []
    columns = {"person": pl.col(shape.subject), **columns_of(shape, *_UNIT_COLUMNS[2:])}
    table = rows.select("row", *linked, **columns).drop_nulls("person").collect(engine="streaming")
    table = table.sort("person", "time", "item", "page", "row")
    if kind in (DAY, MINI):
        alone = pl.when(pl.col("time").is_null()).then(pl.int_range(pl.len()))
        part = table["time"].dt.date().cast(pl.Int64) if kind == DAY else _minis(table, queries, minutes)
        table = table.with_columns(_alone=alone, _part=part)
        return _numbered(table, ["person", "_alone", "_part"])
    return _numbered(table, {ROW: ["row"], SESSION: ["person", "session"], PERSON: ["person"]}[kind])


def _minis(rows: pl.DataFrame, queries: int, minutes: int) -> pl.Series:
    """The number of the mini-session of each row among those of its person; rows are in order."""
    from coterie.algorithms.kernels.sequences import numbered

    changes = [pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("person", "item")]
    flags = rows.select(*changes, pl.col("time").dt.epoch("us").fill_null(0))
    new_person, new_item, moment = (flags[name].to_numpy() for name in flags.columns)
    return pl.Series(numbered(new_person, new_item, moment, queries, minutes * 60_000_000))


def _numbered(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Units numbered in the order of their people and times, in which the rows stand."""
    return rows.with_columns(unit=pl.struct(key).rle_id().cast(pl.Int64)).select(_UNIT_COLUMNS)


def _released(comparison: Comparison, shape: Shape) -> pl.DataFrame:
    """Rows of the release by unit; those of whom nobody knows the person are left out."""
    rows = comparison.release.log.frame.select(name=pl.col(shape.subject), **columns_of(shape, *_UNIT_COLUMNS[2:]))
    table = rows.collect(engine="streaming").with_row_index("released_row")
    owners = comparison.names.select(person="original", name="released").unique("name", keep="first")
    named = table.drop_nulls("name").join(owners, on="name")
    bare = table.filter(pl.col("name").is_null())
    if bare.height:
        if comparison.record.rows is None:
            raise NotApplicableError("Its rows have no names, and the run record does not tell whose they are.")
        whose = comparison.rows.join(comparison.original.select("row", person="subject"), on="row")
        bare = bare.join(whose.select("released_row", "person"), on="released_row").drop_nulls("person")
    else:
        bare = bare.with_columns(person=pl.lit(None, pl.String))
    columns = ["released_row", "name", "person", *_UNIT_COLUMNS[2:]]
    both = pl.concat([each.select(columns) for each in (named, bare)])
    alone = pl.when(pl.col("name").is_null()).then(pl.col("released_row"))
    return _numbered(both.with_columns(_alone=alone).sort("person", "name", "released_row"), ["name", "_alone"])


def people_behind(comparison: Comparison) -> pl.DataFrame:
    """person, item of the release, each pair once: whose rows an item stands in."""
    shape = comparison.release.log.shape
    if shape.count or not shape.subject:
        raise NotApplicableError("The release has counts in place of rows, and nobody knows whose they are.")
    return _released(comparison, shape).select("person", "item").drop_nulls().unique()


def with_hosts(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the `host` of their page, without those that have none."""
    pages = rows.select("page").unique()
    hosts = pages.with_columns(host=pl.Series([host_of(page) for page in pages["page"].to_list()], dtype=pl.String))
    return rows.join(hosts.filter(pl.col("host") != ""), on="page", maintain_order="left")


# --- what users search for ------------------------------------------------------------------------


_WORDNET_LEVELS = (5, 7, 8)
_OTHER_LEVELS = (1, 2, 3)


def levels_of(tree: Taxonomy) -> tuple[int, ...]:
    """Which levels to compare: WordNet tells little apart above the fifth, trees of categories at once."""
    wanted = _WORDNET_LEVELS if tree.name == "wordnet" else _OTHER_LEVELS
    return tuple(level for level in wanted if level <= tree.height) or (1,)


def profile_names(comparison: Comparison) -> pl.DataFrame:
    """original, released: who got which profile, in releases that have one profile for each user."""
    comparison.require_shape(QUERIES, "It is about what queries mean")
    names = comparison.names
    if names.is_empty() or names["original"].is_duplicated().any():
        raise NotApplicableError("It is about releases with one profile for each user.")
    return names


@dataclass(frozen=True, eq=False, repr=False)
class Meaning:
    """The concepts of all items that are compared."""

    tree: Taxonomy
    concepts: pl.DataFrame
    """item, concept: one row for each term."""

    @classmethod
    def of(cls, name: str, *items: pl.Series) -> Meaning:
        """Look up all items in the taxonomy of that name or file."""
        tree = taxonomies.load(name)
        distinct = pl.concat([part.drop_nulls() for part in items]).unique().sort()
        classified = tree.classify(distinct)
        if not classified.mapped.any():
            raise NotApplicableError("No query has a word that the taxonomy knows, so meaning cannot be compared.")
        terms = classified.terms
        return cls(tree, terms.select(distinct.gather(terms["query"]).alias("item"), "concept"))

    def shares(self, rows: pl.DataFrame, level: int) -> pl.DataFrame:
        """subject, category, share: the profiles of the subjects of `rows` (subject, item) at one level."""
        at_level = pl.Series("category", self.tree.ancestor_at(level)).gather(self.concepts["concept"])
        categories = self.concepts.select("item", at_level).filter(pl.col("category") >= 0)
        counts = rows.group_by("subject", "item").len("n")
        per_category = counts.join(categories, on="item").group_by("subject", "category").agg(pl.col("n").sum())
        share = pl.col("n") / pl.col("n").sum().over("subject")
        return per_category.sort("subject", "category").select("subject", "category", share.alias("share"))


def overlaps(one: pl.DataFrame, other: pl.DataFrame, by: str) -> pl.DataFrame:
    """`by`, overlap: of the profiles with the same `by` in both tables; nobody who has nothing in common."""
    both = one.join(other, on=[by, "category"]).sort(by, "category")
    least = pl.min_horizontal("share", "share_right").sum()
    return both.group_by(by, maintain_order=True).agg(least.alias("overlap"))


# --- documents ------------------------------------------------------------------------------------


DOC, TERM, WEIGHT = TERMS.subject, TERMS.item, TERMS.weight


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DocumentVectors:
    """The documents of a log, and what was released of them."""

    before: pl.DataFrame
    """doc, term, weight, in the order of documents and terms."""
    after: pl.DataFrame
    """The same of released vectors, each under the names of all documents that it stands for."""
    members: pl.DataFrame
    """doc, group: which documents share a vector; also those of which nothing is released."""
    concepts: bool
    """Whether released terms are names of concepts."""

    @property
    def documents(self) -> pl.Series:
        """All documents, in order."""
        return self.members[DOC]

    @cached_property
    def distinct(self) -> pl.DataFrame:
        """group, term, weight: each released vector once."""
        first = self.members.group_by("group").agg(pl.col(DOC).min())
        return self.after.join(first, on=DOC).drop(DOC).sort("group", TERM)


def vectors_of(comparison: Comparison) -> DocumentVectors:
    """The vectors that a release was made of, and those that it has; for releases of documents in groups."""
    log, release = comparison.log, comparison.release
    if log.shape is not TERMS or release.log.shape is not TERMS:
        raise NotApplicableError(f"It is about documents, and this log is {log.shape.name}.")
    columns = [DOC, TERM, WEIGHT]
    before = log.frame.select(columns).collect(engine="streaming").sort(DOC, TERM)
    subjects = comparison.record.subjects.collect(engine="streaming")
    if subjects["original"].is_duplicated().any() or subjects["group"].null_count() == subjects.height:
        raise NotApplicableError("Documents do not share vectors in this release.")
    members = before.select(DOC).unique().join(subjects, left_on=DOC, right_on="original", how="left").sort(DOC)
    alone = pl.col("group").max().fill_null(0) + 1 + pl.col("group").is_null().cum_sum()
    members = members.with_columns(pl.coalesce("group", alone).alias("group"))
    released = release.log.frame.select(pl.col(DOC).alias("released"), TERM, WEIGHT).collect(engine="streaming")
    after = members.select(DOC, "released").join(released, on="released").select(columns).sort(DOC, TERM)
    return DocumentVectors(
        before=before, after=after, members=members.select(DOC, "group"), concepts=comparison.has_concepts
    )


def concepts_of(terms: pl.Series, named: bool) -> pl.DataFrame:
    """term, concept: each concept that a distinct term stands for and all above it; `named`: terms are their names.

    A term stands for its likeliest sense in WordNet; terms that it does not know are left out.
    """
    tree: Taxonomy = taxonomies.load(taxonomies.WORDNET)
    if named:
        concepts = pl.DataFrame([tree.names.alias(TERM), pl.Series("concept", np.arange(len(tree)))])
        level = terms.alias(TERM).to_frame().join(concepts, on=TERM)
    else:
        found = tree.classify(terms, unit="query", categories=1, stop_words=False).terms
        level = pl.DataFrame([terms.gather(found["query"]).alias(TERM), found["concept"]])
    return with_all_above(level, tree, "concept")


def with_all_above(rows: pl.DataFrame, tree: Taxonomy, column: str) -> pl.DataFrame:
    """Rows with a concept in a column, and each again for each concept above it."""
    rows = rows.cast({column: pl.Int64})
    levels = [rows]
    while rows.height:
        above = pl.Series(column, tree.parent[rows[column].to_numpy()].astype(np.int64))
        rows = rows.with_columns(above).filter(pl.col(column) >= 0)
        levels.append(rows)
    return pl.concat(levels)
