"""How much groups of documents lose, as paper 004 measures it: L = 100 SSE / SST.

    sse    Σ d(x, c)², x a document, c what the documents of its group have in common
    ssa    Σ n d(c, c̄)² over groups of n documents, c̄ what all documents have in common
    sst    SSE + SSA
    loss   L, in percent

d is the distance of vectors by the meanings of their terms in WordNet (Wu-Palmer, best assignment), and what
documents have in common are the concepts above their terms, whatever was released: a measure of the groups.
A group is folded in the order of the distance to its first document, by name; all documents by name.

More than 1,000 documents are a sample of whole groups. Terms that WordNet does not know have no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.scores import Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import DOC, vectors_of, whole_groups

needs = frozenset({"record"})
DOCUMENTS = 1_000
SHOWN = {
    "loss": titled(
        "Information loss of the groups (L)",
        "Squared distances of documents to what their group has in common, in percent of these and those of "
        "the groups to what all documents have in common. Lower is more useful.",
        before="0.0%",
    ),
}
figures = figures_in("utility", 47, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """SSE, SSA, SST and L."""
    from coterie.algorithms.documents import meanings

    vectors = vectors_of(comparison)
    members = whole_groups(vectors.members, DOC, DOCUMENTS, comparison.seed, "sample of documents")
    rows = vectors.before.join(members, on=DOC, how="semi")
    found = meanings(rows, taxonomies.load(taxonomies.WORDNET))
    folding = found.folding
    place = pl.DataFrame([found.names, pl.Series("place", np.arange(len(found.names)))])
    whole = folding.common(np.arange(len(found.names)))
    within = between = 0.0
    for (_,), group in members.join(place, on=DOC).sort("group", DOC).group_by("group", maintain_order=True):
        documents = group["place"].to_numpy().astype(np.int64)
        first, others = int(documents[0]), documents[1:]
        near = others[np.argsort(folding.between(first, others), kind="stable")]
        common = folding.common(np.append(first, near))
        within += float((folding.to_common(common, documents) ** 2).sum())
        between += documents.size * folding.apart(common, whole) ** 2
    yield Score("documents", members.height, "documents" if members.height == vectors.members.height else "sampled")
    yield Score("sse", within, "squared distance")
    yield Score("ssa", between, "squared distance")
    yield Score("sst", within + between, "squared distance")
    yield Score("loss", 100 * within / (within + between) if within + between else 0.0, "%")
