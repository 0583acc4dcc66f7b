"""Deliberately broken ways to release documents: the judge must catch each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

import coterie
from coterie.core.plan import Draft
from coterie.methods.microaggregate_documents import MicroaggregateDocuments


def document_log(owned=False):
    """For k = 3: weather, ships and bread, each with a term that one document alone has. One owner has two of them."""
    documents = {
        "w1": ("ann", "weather 5 rain 3 letter 1 glass 1"),
        "w2": ("ann", "weather 6 rain 2 letter 1 music 1"),
        "w3": ("bob", "weather 7 rain 1 doctor 2"),
        "s1": ("cyd", "ship 5 tide 3 harbour 1 prison 1"),
        "s2": ("dan", "ship 6 tide 3 harbour 1"),
        "s3": ("eve", "ship 4 tide 3 harbour 2 lawyer 1"),
        "b1": ("fay", "bread 6 oven 2 yeast 2"),
        "b2": ("gus", "bread 5 oven 3 sister 2"),
        "b3": ("hal", "bread 7 oven 2 yeast 1"),
    }
    rows = []
    for name, (owner, text) in documents.items():
        words = text.split()
        pairs = zip(words[::2], map(int, words[1::2]), strict=True)
        rows += [(name, term, weight / 10, owner) for term, weight in pairs]
    frame = pl.DataFrame(rows, schema=["doc", "term", "weight", "owner"], orient="row")
    return coterie.log(frame if owned else frame.drop("owner"))


def _with(draft, rows):
    return Draft(frame=rows.lazy(), subjects=draft.subjects)


def _per_group(draft):
    """The released rows with the group of each document."""
    groups = draft.subjects.select(pl.col("released").alias("doc"), pl.col("original"), "group")
    return draft.frame.join(groups, on="doc").collect()


@dataclass(frozen=True, kw_only=True)
class GroupsTooFewDocuments(MicroaggregateDocuments):
    """Groups k - 1 documents."""

    def plan(self, learnt, log, run):
        return replace(MicroaggregateDocuments(k=self.k), k=self.k - 1).plan(learnt, log, run)


@dataclass(frozen=True, kw_only=True)
class TermsOfOne(MicroaggregateDocuments):
    """Releases what one document of a group alone has, under all of its names."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        groups = plan.table.rename({"subject": "doc"})
        sizes = groups.group_by("group").len("size")
        every = log.frame.join(groups, on="doc").group_by("group", "term").agg(pl.col("weight").sum())
        every = every.join(sizes, on="group").select("group", "term", (pl.col("weight") / pl.col("size")).round(3))
        names = draft.subjects.select(doc="released", group="group")
        return _with(draft, names.join(every, on="group").select("doc", "term", "weight").collect())


@dataclass(frozen=True, kw_only=True)
class CountsTooFew(MicroaggregateDocuments):
    """Promises terms of half the group and releases those of two."""

    share: float = 1.0

    def release(self, log, plan, run):
        return replace(MicroaggregateDocuments(k=self.k), share=0.0).release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class WeightsOfOne(MicroaggregateDocuments):
    """Gives a vector the weights of one of its documents."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = _per_group(draft)
        first = rows.group_by("group").agg(pl.col("original").min())
        own = log.frame.collect().rename({"doc": "original", "weight": "own"}).join(first, on="original")
        own = own.select("group", "term", "own")
        rows = rows.join(own, on=["group", "term"], how="left")
        weight = pl.coalesce("own", "weight").alias("weight")
        return _with(draft, rows.select("doc", "term", weight))


@dataclass(frozen=True, kw_only=True)
class ExactWeights(MicroaggregateDocuments):
    """Does not round."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return _with(draft, draft.frame.with_columns(pl.col("weight") + 1e-7).collect())


@dataclass(frozen=True, kw_only=True)
class InventsTerms(MicroaggregateDocuments):
    """Puts a term that no document has into every vector."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        more = draft.frame.select("doc").unique().select("doc", term=pl.lit("zzz"), weight=pl.lit(0.1))
        return _with(draft, pl.concat([draft.frame, more]).collect())


@dataclass(frozen=True, kw_only=True)
class OneTermMore(MicroaggregateDocuments):
    """Tells of one document what it alone has."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        name = draft.subjects.filter(pl.col("original") == "w1").collect()["released"][0]
        more = pl.DataFrame({"doc": [name], "term": ["glass"], "weight": [0.2]})
        return _with(draft, pl.concat([draft.frame.collect(), more]))


@dataclass(frozen=True, kw_only=True)
class KeepsDocumentNames(MicroaggregateDocuments):
    """Releases vectors under the names of documents."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return _with(draft, _per_group(draft).select(pl.col("original").alias("doc"), "term", "weight"))


@dataclass(frozen=True, kw_only=True)
class InventsDocuments(MicroaggregateDocuments):
    """Publishes the vector of each document alone, under k invented names."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = log.frame.select("doc", "term", pl.col("weight").round(3)).collect()
        documents = rows["doc"].unique().sort()
        copies = pl.DataFrame({"doc": documents.to_list() * self.k, "copy": sorted([*range(self.k)] * len(documents))})
        labels = copies.select(pl.format("{} {}", "doc", "copy")).to_series()
        copies = copies.with_columns(run.pseudonyms(labels, taken=documents).alias("name"))
        return _with(draft, rows.join(copies, on="doc").select(pl.col("name").alias("doc"), "term", "weight"))


@dataclass(frozen=True, kw_only=True)
class SwapsVectors(MicroaggregateDocuments):
    """Gives documents the vectors of the next group, which they are not behind."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        rows = _per_group(draft)
        vectors = rows.select("group", "term", "weight").unique()
        n = rows["group"].max() + 1
        shifted = vectors.with_columns((pl.col("group") + 1) % n)
        names = rows.select("doc", "group").unique()
        return _with(draft, names.join(shifted, on="group").select("doc", "term", "weight"))


def _without_owners(log):
    return replace(log, frame=log.frame.drop("owner"))


@dataclass(frozen=True, kw_only=True)
class IgnoresOwners(MicroaggregateDocuments):
    """Promises owners and counts documents."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        method, plain = MicroaggregateDocuments(k=self.k), _without_owners(log)
        return method.plan(method.learn(plain, run), plain, run)

    def release(self, log, plan, run):
        return super().release(_without_owners(log), plan, run)


@dataclass(frozen=True, kw_only=True)
class ForgetsOwners(IgnoresOwners):
    """Does not even promise anything about owners, although they are known."""

    def promises(self, facts):
        return super().promises(replace(facts, owners=None))


@dataclass(frozen=True, kw_only=True)
class TermsOfOneOwner(MicroaggregateDocuments):
    """Groups documents of enough owners, and counts documents behind each term."""

    share: float = 0.2

    def plan(self, learnt, log, run):
        plan = super().plan(learnt, log, run)
        return replace(plan, table=plan.table.with_columns(pl.lit(0, pl.UInt32).alias("group")))  # all are one group

    def release(self, log, plan, run):
        return super().release(_without_owners(log), plan, run)


@dataclass(frozen=True, kw_only=True)
class _Subsumes(MicroaggregateDocuments):
    groups: str = "wordnet"
    publish: str = "subsumer"


@dataclass(frozen=True, kw_only=True)
class ReleasesTerms(_Subsumes):
    """Promises concepts and releases terms."""

    def release(self, log, plan, run):
        return MicroaggregateDocuments(k=self.k).release(log, plan, run)


@dataclass(frozen=True, kw_only=True)
class AnotherConcept(_Subsumes):
    """Releases a concept that no document has anything to do with."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        more = draft.frame.select("doc").unique().select("doc", term=pl.lit("asteroid"), weight=pl.lit(0.001))
        return _with(draft, pl.concat([draft.frame, more]).collect())


@dataclass(frozen=True, kw_only=True)
class ConceptOfOne(_Subsumes):
    """Releases the concept of a term that one document alone has."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        groups = draft.subjects.collect()
        group = groups.filter(pl.col("original") == "s1")["group"][0]
        names = groups.filter(pl.col("group") == group)["released"]
        more = pl.DataFrame({"doc": names, "term": ["prison (1)"] * len(names), "weight": [0.001] * len(names)})
        return _with(draft, pl.concat([draft.frame.collect(), more]))


@dataclass(frozen=True, kw_only=True)
class HeavyConcepts(_Subsumes):
    """Gives concepts the largest weight that a document of the group has."""

    def release(self, log, plan, run):
        draft = super().release(log, plan, run)
        return _with(draft, draft.frame.with_columns(weight=pl.lit(0.7)).collect())


CAUGHT_BY = [
    (GroupsTooFewDocuments, "vectors", False),
    (TermsOfOne, "terms", False),
    (CountsTooFew, "terms", False),
    (WeightsOfOne, "weights", False),
    (ExactWeights, "digits", False),
    (InventsTerms, "terms", False),
    (OneTermMore, "vectors", False),
    (KeepsDocumentNames, "names", False),
    (KeepsDocumentNames, "ids", False),
    (InventsDocuments, "documents", False),
    (SwapsVectors, "terms", False),
    (IgnoresOwners, "owners", True),
    (ForgetsOwners, "owners", True),
    (TermsOfOneOwner, "terms", True),
    (ReleasesTerms, "items", False),
    (AnotherConcept, "terms", False),
    (ConceptOfOne, "terms", False),
    (HeavyConcepts, "weights", False),
]
