"""Document k-anonymity: every released vector is shared by at least k documents, every term in it by m of them.

Recount: which documents of the original stand behind each released vector, and what they have, for the judge alone.

Groups are the names with equal vectors, whatever a record says about groups; whose names these are follows from the
run's seed (`_people`). Two groups that happen to have the same vector are one here: what holds for each of them holds
for both together, counts as well as rounded means. Nothing is shared with the models of methods but the lexicon, from
terms to concepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie import taxonomies
from coterie.core.log import Log
from coterie.core.params import Choice, Flag, Range
from coterie.core.promise import Case, Check, Kind
from coterie.promises._checks import Question, multisets, only_concepts, secret_seeds
from coterie.promises._names import behind_names, is_known, needed_to_know, random_names, unlike_record
from coterie.promises._words import Worded
from coterie.taxonomies import Taxonomy

_OWNERS = "the original with a column that says whom documents belong to (owner)"
_NOTHING = "rows that say how much of a term a document has"


@dataclass(frozen=True, kw_only=True)
class DocumentKAnonymity(Worded):
    """Every released vector of terms is shared by at least k documents, and every term in it stands in m of them."""

    k: Annotated[int, Range(2), "smallest number of documents, or owners, that share a released vector"]
    term_documents: Annotated[int, Range(2), "in how many of these each term of the vector stands, at least"] = 2
    labels: Annotated[
        str,
        Choice("", taxonomies.WORDNET),
        "where concepts of a taxonomy are released in place of terms: its name",
    ] = ""
    owners: Annotated[bool, Flag(), "whether owners of documents are counted in place of documents"] = False

    name: ClassVar[str] = "document_k_anonymity"
    about: ClassVar[Literal["items", "subjects"]] = "subjects"

    @property
    def releases(self) -> Kind:
        """Released items are terms of documents, or concepts in place of them."""
        return "concepts" if self.labels else "text"

    @property
    def linkage_bound(self) -> float | None:
        """One in k: documents that share a vector cannot be told apart."""
        return 100 / self.k

    @property
    def evidence(self) -> tuple[str, ...]:
        """Which document became which."""
        return ("subjects",)

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> DocumentKAnonymity:  # noqa: ARG003 (the protocol's)
        """The promise to check of rows without a sidecar."""
        return cls(**values)

    def check(self, case: Case) -> Iterator[Check]:
        """Compare the vectors of all names with each other, then each with the documents behind it.

        It stops copies of one document under invented names, and terms that one of the documents behind a vector has.
        """
        if not case.shape.weight:
            detail = "every vector is one of weighted terms"
            yield Question("vectors", detail, f"is missing: {_NOTHING}", carries=True).answered(1)
            return
        if not case.foreign:
            yield from random_names(case, "pseudonym")
            yield _weights(case)
        if self.labels:
            yield only_concepts(case, taxonomies.load(self.labels).names, carries=True)
        yield _once(case)
        subject = case.shape.subject
        published = case.rows if case.published is None else case.published
        vectors = multisets(published, [subject], [case.shape.item, case.shape.weight], secret_seeds())
        checked = self._vectors(vectors.drop(subject))
        if case.original is None or not is_known(case):
            yield checked
            yield from self._unknown(case)
            return
        behind = behind_vectors(case, case.original, vectors)
        documents = _documents(behind)
        yield replace(checked, largest_k=None) if documents.broken else checked
        yield documents
        if self.owners or behind.owned:
            yield self._owners(behind)
        yield from self._contents(behind)

    def _vectors(self, vectors: pl.LazyFrame) -> Check:
        """At least k equal vectors of each kind."""
        detail = f"each vector is shared by at least {self.k} documents"
        shared = Question("vectors", detail, "documents are in smaller groups", carries=True)
        return shared.of_equals(vectors, self.k, "vectors")

    def _unknown(self, case: Case) -> Iterator[Check]:
        """What cannot be looked at where nobody says which documents are behind a name."""
        counted = Question("documents", "k names were counted, not k documents")
        unknown = (counted, self._crowd_of_owners, self._in_documents) if self.owners else (counted, self._in_documents)
        needs, carries = needed_to_know(case), not case.foreign
        yield from (replace(question, carries=carries).open(needs) for question in unknown)

    @property
    def _crowd_of_owners(self) -> Question:
        detail = f"the documents behind each vector belong to at least {self.k} different owners"
        return Question("owners", detail, "vectors have fewer", original=True, carries=True)

    @property
    def _in_documents(self) -> Question:
        what = "documents have a term at or below each concept" if self.labels else "documents have each term"
        whose = " of different owners" if self.owners else ""
        detail = f"of those behind a vector, at least {self.term_documents} {what}{whose}"
        return Question("terms", detail, "terms of vectors stand in fewer", original=True, carries=True)

    def _owners(self, behind: Behind) -> Check:
        """At least k owners behind each vector, also where the promise forgets them."""
        if not behind.owned:
            return self._crowd_of_owners.open(_OWNERS)
        crowds = behind.documents.group_by("group").agg(pl.col(OWNER).n_unique().alias("crowd"))["crowd"]
        return self._crowd_of_owners.of_crowds(crowds, self.k)

    def _contents(self, behind: Behind) -> Iterator[Check]:
        """Terms and weights against those of the documents behind each vector."""
        found = behind_concepts(behind, taxonomies.load(self.labels)) if self.labels else behind_terms(behind)
        how = "" if found.is_empty() else f"the rarest in {int(found['crowd'].min())}"  # type: ignore[arg-type]
        yield self._in_documents.answered(int((found["crowd"] < self.term_documents).sum()), found.height, how=how)
        if self.labels:
            detail = "no concept weighs more than terms at or below it do in the documents behind its vector on average"
            broken = unlike_means(found, above=True) + total_above(behind)
        else:
            detail = "weights are means over the documents behind a vector"
            broken = unlike_means(found, above=False)
        weights = Question("weights", detail, "do not keep to it", original=True, carries=True)
        yield weights.answered(broken, found.height)


def _weights(case: Case) -> Check:
    """Nothing hides in digits."""
    weight = pl.col(case.shape.weight)
    digits = Question("digits", "weights have at most three digits", "have more, or none")
    return digits.of_rows(case.rows, ~((weight == weight.round(3)) & (weight > 0)))


def _once(case: Case) -> Check:
    """No vector has a term twice."""
    key = [case.shape.subject, case.shape.item]
    again = case.rows.group_by(key).len("times")
    return Question("once", "a vector has each term once", "stand there again").of_rows(again, pl.col("times") > 1)


def _documents(behind: Behind) -> Check:
    detail = "each name is that of one document of the original, as the run's seed and its record give it"
    known = Question("documents", detail, "names are not, or are others in the record", original=True, carries=True)
    return known.answered(behind.strangers, behind.names)


# --- recounted from the original --------------------------------------------------------------------


OWNER = "owner"
_OWNERS_AND_SUM = (pl.col(OWNER).n_unique().alias("crowd"), pl.col("weight").sum().alias("sum"))
_HALF = 0.0005  # what rounding may change
_LEAST = 0.001  # no weight is rounded to nothing
_EXACT = 1e-9  # what the order of additions may change, as a share
_ROWS_AT_ONCE = 200_000  # of documents whose terms are followed up the tree
_SENSES = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Behind:
    """The documents behind each released vector."""

    documents: pl.DataFrame
    """group, doc, owner; a document without an owner is its own."""
    terms: pl.LazyFrame
    """group, doc, owner, term, weight: what these documents have in the original."""
    vectors: pl.DataFrame
    """group, term, weight: what was released of each group."""
    owned: bool
    """Whether the original says whom documents belong to."""
    names: int
    strangers: int
    """Names that no document of the original has, or another one in the record."""


def behind_vectors(case: Case, original: Log, vectors: pl.LazyFrame) -> Behind:
    """Who stands behind vectors, given as one line of hashes for each name."""
    shape = original.shape
    known, first = behind_names(case, original, vectors, "doc")
    columns = original.frame.collect_schema()
    owned = bool(shape.owner) and shape.owner in columns
    itself = pl.lit("\0") + pl.col(shape.subject)
    rows = original.frame.select(
        pl.col(shape.subject).alias("doc"), pl.col(shape.item).alias("term"), pl.col(shape.weight).alias("weight"),
        (pl.coalesce(shape.owner, itself) if owned else itself).alias(OWNER),
    )  # fmt: skip
    terms = rows.join(known.drop_nulls("doc").select("group", "doc").lazy(), on="doc")
    released = case.rows.select(
        pl.col(case.shape.subject).alias("name"), pl.col(case.shape.item).alias("term"),
        pl.col(case.shape.weight).alias("weight"),
    ).join(first, on="name")  # fmt: skip
    return Behind(
        documents=terms.select("group", "doc", OWNER).unique().collect(engine="streaming"),
        terms=terms,
        vectors=released.drop("name").collect(engine="streaming"),
        owned=owned,
        names=known.height,
        strangers=known["doc"].null_count() + unlike_record(case, known, "doc"),
    )


def behind_terms(behind: Behind) -> pl.DataFrame:
    """group, term, weight, crowd, mean: how many owners have each released term, and what it weighs on average."""
    wanted = behind.vectors.lazy()
    having = behind.terms.join(wanted.select("group", "term"), on=["group", "term"], how="semi")
    counted = having.group_by("group", "term").agg(_OWNERS_AND_SUM)
    table = wanted.join(counted, on=["group", "term"], how="left").join(_sizes(behind).lazy(), on="group", how="left")
    return _means(table.collect(engine="streaming"))


def behind_concepts(behind: Behind, tree: Taxonomy) -> pl.DataFrame:
    """The same for concepts: who has a term at or below one, and what such terms weigh together."""
    numbers = pl.DataFrame({"term": tree.names, "concept": pl.Series(range(len(tree)), dtype=pl.Int64)})
    wanted = behind.vectors.join(numbers, on="term", how="left").with_columns(pl.col("concept").fill_null(-1))
    terms = behind.terms.collect(engine="streaming").sort("group")
    above = _above(terms["term"].unique(), tree, set(wanted["concept"].to_list()))
    counted = [pl.DataFrame(schema={"group": pl.UInt32, "concept": pl.Int64, "crowd": pl.UInt32, "sum": pl.Float64})]
    for part in _parts(terms):
        lines = part.join(above, on="term").join(wanted, on=["group", "concept"], how="semi")
        counts = lines.group_by("group", "concept").agg(_OWNERS_AND_SUM)
        counted.append(counts.cast({"group": pl.UInt32, "crowd": pl.UInt32}))
    table = wanted.cast({"group": pl.UInt32}).join(pl.concat(counted), on=["group", "concept"], how="left")
    return _means(table.join(_sizes(behind).cast({"group": pl.UInt32}), on="group", how="left"))


def _parts(terms: pl.DataFrame) -> list[pl.DataFrame]:
    """Some groups at a time, which are together: a term has many concepts above it."""
    number = (pl.int_range(pl.len()) // _ROWS_AT_ONCE).min().over("group").alias("part")
    return terms.with_columns(number).partition_by("part", maintain_order=True)


def _above(terms: pl.Series, tree: Taxonomy, wanted: set[int]) -> pl.DataFrame:
    """term, concept: those of the wanted concepts that one of its senses is at or below."""
    found = tree.classify(terms, unit="query", categories=_SENSES, stop_words=False).terms
    parents = tree.parent.tolist()
    pairs = set()
    for number, concept in found.select("query", "concept").rows():
        while concept >= 0:
            if concept in wanted:
                pairs.add((number, concept))
            concept = parents[concept]
    table = pl.DataFrame(sorted(pairs), schema={"query": pl.Int64, "concept": pl.Int64}, orient="row")
    return table.select(terms.gather(table["query"]).alias("term"), "concept")


def _sizes(behind: Behind) -> pl.DataFrame:
    return behind.documents.group_by("group").len("documents")


def _means(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("crowd").fill_null(0), (pl.col("sum") / pl.col("documents")).fill_null(0.0).alias("mean")
    )


def unlike_means(found: pl.DataFrame, *, above: bool) -> int:
    """How many weights are not the rounded means of what documents have there; or only those `above` them."""
    mean, weight = pl.col("mean"), pl.col("weight")
    off = weight - mean if above else (weight - mean).abs()
    fine = off <= _HALF + _EXACT * (1 + mean.abs())
    fine |= (weight == _LEAST) & (pl.lit(above) | (mean < _LEAST))
    return found.filter(~fine).height


def total_above(behind: Behind) -> int:
    """How many vectors weigh more than their documents do on average."""
    own = behind.terms.group_by("group").agg(pl.col("weight").sum().alias("sum")).collect(engine="streaming")
    own = own.join(_sizes(behind), on="group").select("group", (pl.col("sum") / pl.col("documents")).alias("mean"))
    given = behind.vectors.group_by("group").agg(pl.col("weight").sum().alias("weight"), pl.len().alias("terms"))
    both = given.join(own, on="group", how="left")
    # Each weight may have been rounded up, also from next to nothing.
    fine = pl.col("weight") <= pl.col("mean") * (1 + _EXACT) + _LEAST * pl.col("terms")
    return int(both.select((~fine.fill_null(False)).sum()).item())
