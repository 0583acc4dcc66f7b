"""Concept k-anonymity: every released item is a concept that stands for items of at least k users.

Recount: as which released concept each query of the original comes out, for the judge alone (paper 001).

It shares no code with the model of concepts and its kernels: ways down the tree are lists in polars tables here, and
what was released is taken from the release, not from rules about left-overs. The lexicon, from words to concepts, is
shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import polars as pl

from coterie import taxonomies
from coterie.core.log import Log
from coterie.core.params import Choice, Flag, Range
from coterie.core.promise import ORIGINAL, Case, Check, Kind
from coterie.promises import _single_queries as single
from coterie.promises._checks import ALL_OF_IT, NameOrDigest, Question, crowds, only_concepts, recent
from coterie.promises._names import random_names, seeded
from coterie.promises._words import ItemPromise
from coterie.taxonomies import Taxonomy

_TAXONOMY = "the taxonomy's file, whose path is in the run record (--record DIR)"
_MEANING = "the rows of each concept are those of the queries that lead to it in the tree, with what is beside them"


@dataclass(frozen=True, kw_only=True)
class _Numbers(ItemPromise):
    """Its own numbers, which come before those of what accompanies items."""

    k: Annotated[int, Range(2), "smallest number of users, or queries, behind a released concept"]
    size: Annotated[str, Choice("users", "queries"), "what is counted behind a concept"] = "users"
    taxonomy: Annotated[
        str, NameOrDigest(taxonomies.WORDNET), "name of the taxonomy, or the digest of one that has none"
    ] = taxonomies.WORDNET
    paper_compat: Annotated[bool, Flag(), "stop words are looked up in the taxonomy, as in the paper"] = False


@dataclass(frozen=True, kw_only=True)
class ConceptKAnonymity(single.Accompanied, _Numbers):
    """Every released item is a concept that stands for items of at least k users of the original log."""

    name: ClassVar[str] = "concept_k_anonymity"
    releases: ClassVar[Kind] = "concepts"
    """Released items are names of concepts."""
    not_of_foreign: ClassVar[str] = "can be checked only for releases with a sidecar: it says which concepts are meant."
    """Rows alone do not say it."""
    anywhere = property(single.judged_anywhere)

    @property
    def evidence(self) -> tuple[str, ...]:
        """Where the taxonomy is, if it is not one that comes with the package."""
        return () if self.taxonomy == taxonomies.WORDNET else ("taxonomy",)

    def check(self, case: Case) -> Iterator[Check]:
        """Recount which concept each query leads to, then compare rows and count who is behind each concept.

        It stops words of a query in the place of a concept, and concepts so fine that they stand for one query.
        """
        yield from random_names(case, self.users)
        of_concepts = self.users in ("mini", "day")  # of rows with a released concept, which are not known yet
        if not of_concepts:
            yield from seeded(case, self)
        paths = case.table("taxonomy", {"path": pl.String})
        tree = taxonomies.promised(self.taxonomy, () if paths is None else paths["path"].to_list())
        needs = ORIGINAL if tree else _TAXONOMY
        yield only_concepts(case, None if tree is None else tree.names, _TAXONOMY)
        concept_of = None
        if case.original is not None and tree is not None:
            names = case.rows.select(case.shape.item).unique().collect(engine="streaming").to_series()
            concept_of = generalized(case.original, tree, names, self.paper_compat)
        # From here on the original is what it would be with its queries released as these concepts.
        case = _with_concepts(case, concept_of)
        if of_concepts:
            yield from seeded(case, self)
        named = self.users == "pseudonym" and self.window == ALL_OF_IT
        if self.size == "users":
            counted = case if case.original is None else replace(case, original=recent(case.original, self.window))
            yield from crowds(counted, self.k, named=named, needs=needs)
        else:
            yield self._queries(case, concept_of, needs)
        yield from single.accompaniment(case, self, needs=needs, name="meaning", detail=_MEANING)

    def _queries(self, case: Case, concept_of: pl.DataFrame | None, needs: str) -> Check:
        """At least k distinct queries behind each released concept."""
        detail = f"at least {self.k} different queries behind each released concept"
        behind = Question(f"crowd.{case.shape.item}", detail, "have fewer", original=True, carries=True)
        if concept_of is None:
            return behind.open(needs)
        released = case.rows.select(pl.col(case.shape.item).alias("concept")).unique().collect(engine="streaming")
        queries = concept_of.group_by("concept").len("queries")
        sizes = released.join(queries, on="concept", how="left").fill_null(0)["queries"]
        return behind.of_crowds(sizes, self.k)


def _with_concepts(case: Case, concept_of: pl.DataFrame | None) -> Case:
    """The case with concepts (item, concept) in place of the queries of its original; without one if it has none."""
    if case.original is None or concept_of is None:
        return replace(case, original=None)
    item = case.original.shape.item
    # Rows without a concept stay: they are part of sessions.
    rows = case.original.frame.rename({item: "item"}).join(concept_of.lazy(), on="item", how="left")
    return replace(case, original=replace(case.original, frame=rows.rename({"concept": item}).drop("item")))


# --- recounted from the original --------------------------------------------------------------------


def generalized(original: Log, tree: Taxonomy, released: pl.Series, paper_compat: bool) -> pl.DataFrame:
    """item, concept: the name of the deepest released concept on the way of each query; none without one."""
    queries = original.frame.select(pl.col(original.shape.item).alias("item")).unique()
    items = queries.collect(engine="streaming")["item"]
    terms = tree.classify(items, stop_words=not paper_compat).terms.select("query", "concept").unique()
    ends = _ends(terms, tree)
    wanted, names, parents = set(released), tree.names.to_list(), tree.parent.tolist()
    name_of: dict[int, str] = {}
    for end in ends["end"].unique().to_list():
        concept = end
        while concept >= 0 and names[concept] not in wanted:
            concept = parents[concept]
        if concept >= 0:
            name_of[end] = names[concept]
    named = pl.DataFrame(
        {"end": list(name_of), "concept": list(name_of.values())}, {"end": pl.Int64, "concept": pl.String}
    )
    led = ends.join(named, on="end")
    return led.select(items.gather(led["query"]).alias("item"), "concept")


def _ends(terms: pl.DataFrame, tree: Taxonomy) -> pl.DataFrame:
    """query, end: where each query ends if at each concept it takes the child that most queries there could take."""
    parents = tree.parent.tolist()
    ways = {}
    for concept in terms["concept"].unique().to_list():
        way = [concept]
        while way[-1] > 0:
            way.append(parents[way[-1]])
        ways[concept] = way[::-1]
    table = pl.DataFrame(
        {"concept": list(ways), "way": list(ways.values())}, {"concept": pl.Int32, "way": pl.List(pl.Int64)}
    )
    going = terms.join(table, on="concept").select("query", "way")
    stops = [pl.DataFrame(schema={"query": pl.Int32, "end": pl.Int64})]
    going = going.with_columns(pl.lit(0, pl.Int64).alias("at"))
    level = 0
    while going.height:
        level += 1
        next_ = pl.col("way").list.get(level, null_on_oob=True).alias("next")
        steps = going.select("query", next_).drop_nulls().unique()
        support = steps.group_by("next").len("support")
        taken = (
            steps.join(support, on="next")
            .sort("query", "support", "next", descending=[False, True, False])
            .unique("query", keep="first", maintain_order=True)
            .select("query", pl.col("next").alias("taken"))
        )
        stops.append(going.join(taken, on="query", how="anti").select("query", pl.col("at").alias("end")).unique())
        moved = going.join(taken, on="query").filter(next_ == pl.col("taken"))
        going = moved.select("query", "way", pl.col("taken").alias("at"))
    return pl.concat(stops)
