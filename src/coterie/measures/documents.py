"""Documents before and after a release: their vectors of terms, under their original names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.shapes import TERMS
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.taxonomies import Taxonomy

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
        level = pl.DataFrame([terms.gather(found["query"]).alias(TERM), found["concept"].cast(pl.Int64)])
    levels = []
    while level.height:
        levels.append(level)
        above = pl.Series("concept", tree.parent[level["concept"].to_numpy()].astype(np.int64))
        level = level.with_columns(above).filter(pl.col("concept") >= 0)
    schema = {TERM: pl.String, "concept": pl.Int64}
    return pl.concat([pl.DataFrame(schema=schema), *(level.cast(schema) for level in levels)])  # type: ignore[arg-type]
