"""Recount: which documents of the original stand behind each released vector, and what they have, for the judge alone.

Groups are the names with equal vectors, whatever a record says about groups; whose names these are follows from the
run's seed (`_people`). Two groups that happen to have the same vector are one here: what holds for each of them holds
for both together, counts as well as rounded means. Nothing is shared with the models of methods but the lexicon, from
terms to concepts.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Case
from coterie.promises._names import names_of
from coterie.taxonomies import Taxonomy

OWNER = "owner"
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
    ids = original.frame.select(shape.subject).unique().collect(engine="streaming")[shape.subject].sort()
    given = pl.DataFrame({"doc": ids, "name": names_of(case.run, ids, ids)}, schema_overrides={"name": pl.String})
    equal = vectors.rename({case.shape.subject: "name"}).group_by(pl.exclude("name")).agg("name")
    equal = equal.with_row_index("group").select("group", "name").explode("name")
    known = equal.collect(engine="streaming").join(given, on="name", how="left")
    columns = original.frame.collect_schema()
    owned = bool(shape.owner) and shape.owner in columns
    itself = pl.lit("\0") + pl.col(shape.subject)
    rows = original.frame.select(
        pl.col(shape.subject).alias("doc"), pl.col(shape.item).alias("term"), pl.col(shape.weight).alias("weight"),
        (pl.coalesce(shape.owner, itself) if owned else itself).alias(OWNER),
    )  # fmt: skip
    terms = rows.join(known.drop_nulls("doc").select("group", "doc").lazy(), on="doc")
    first = known.group_by("group").agg(pl.col("name").min()).lazy()
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
        strangers=known["doc"].null_count() + _unlike_record(case, known),
    )


def _unlike_record(case: Case, known: pl.DataFrame) -> int:
    """How many names the record gives to another document, or misses."""
    subjects = case.table("subjects", {"original": pl.String, "released": pl.String}, nullable=("released",))
    if subjects is None:
        return 0
    said = subjects.drop_nulls("released").select(pl.col("original").alias("doc"), pl.col("released").alias("name"))
    real = known.select("doc", "name").drop_nulls()
    return sum(a.join(b, on=["doc", "name"], how="anti").height for a, b in ((real, said), (said, real)))


def behind_terms(behind: Behind) -> pl.DataFrame:
    """group, term, weight, crowd, mean: how many owners have each released term, and what it weighs on average."""
    wanted = behind.vectors.lazy()
    having = behind.terms.join(wanted.select("group", "term"), on=["group", "term"], how="semi")
    counted = having.group_by("group", "term").agg(
        pl.col(OWNER).n_unique().alias("crowd"), pl.col("weight").sum().alias("sum")
    )
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
        counts = lines.group_by("group", "concept").agg(
            pl.col(OWNER).n_unique().alias("crowd"), pl.col("weight").sum().alias("sum")
        )
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


def _most_off(mean: pl.Expr) -> pl.Expr:
    return _HALF + _EXACT * (1 + mean.abs())


def unlike_means(found: pl.DataFrame) -> int:
    """How many weights are not the rounded means of what documents have."""
    mean, weight = pl.col("mean"), pl.col("weight")
    fine = ((weight - mean).abs() <= _most_off(mean)) | ((weight == _LEAST) & (mean < _LEAST))
    return int(found.select((~fine).sum()).item())


def heavier(found: pl.DataFrame) -> int:
    """How many weights are above the rounded means of what documents have there."""
    mean, weight = pl.col("mean"), pl.col("weight")
    fine = (weight <= mean + _most_off(mean)) | (weight == _LEAST)
    return int(found.select((~fine).sum()).item())


def total_above(behind: Behind) -> int:
    """How many vectors weigh more than their documents do on average."""
    own = behind.terms.group_by("group").agg(pl.col("weight").sum().alias("sum")).collect(engine="streaming")
    own = own.join(_sizes(behind), on="group").select("group", (pl.col("sum") / pl.col("documents")).alias("mean"))
    given = behind.vectors.group_by("group").agg(pl.col("weight").sum().alias("weight"), pl.len().alias("terms"))
    both = given.join(own, on="group", how="left")
    # Each weight may have been rounded up, also from next to nothing.
    fine = pl.col("weight") <= pl.col("mean") * (1 + _EXACT) + _LEAST * pl.col("terms")
    return int(both.select((~fine.fill_null(False)).sum()).item())
