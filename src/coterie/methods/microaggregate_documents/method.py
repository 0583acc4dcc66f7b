"""Give every document the same published vector of terms as at least k - 1 documents about the same things.

Paper: G. Navarro-Arribas and V. Torra, "New privacy-preserving data mining techniques", deliverable of the ARES project
    (2010), chapter 2, after D. Abril, G. Navarro-Arribas and V. Torra, "Towards semantic microaggregation of
    categorical data for confidential documents", MDAI 2010.
    Its rules are `groups = wordnet, publish = subsumer`; the default is our own. LSA: S. Deerwester et al., "Indexing
    by latent semantic analysis", JASIS 41 (1990). Similarity of terms: Z. Wu and M. Palmer, "Verb semantics and lexical
    selection", ACL 1994.

Symbols: k = smallest size of a group; m = how many documents of a group have a term that is released; d = distance of
    two vectors, C = what several vectors have in common (`algorithms/kernels/term_vectors.py`).

Promise: every released vector is shared by at least k documents, and every term in it stands in at least m of them.
    m is half of k (`share`), and at least 2. Where documents have an `owner`, owners are counted in place of documents.
    With `publish = subsumer` a vector is made of concepts of WordNet, and all documents behind it have a term at or
    below each. Names of documents are never released. A group that shares no term has an empty vector: nothing is
    released of its documents, and they are counted.

Differs:
    - The paper groups documents by the meanings of their terms in WordNet (MDAV) and releases what their terms
      have in common there. What documents are about is then hard to recognize. Here they are grouped by LSA, and the
      terms are released that at least half of the group share, as they are (docs/documents.md has the figures).
    - Half, or another `share`, is of the documents (or owners) that a group really has, which are up to 2k - 1: more
      than half of k.
    - Weights are means over all documents of the group, rounded to three digits, and none is below 0.001: exact means
      of two documents could be solved for what each of them has.
    - The paper does not say how vectors are matched. Here partners are those of the best assignment; terms
      without a partner are dropped, and equal concepts of a vector become one with the sum of their weights.
    - Terms that WordNet does not know have no part in `wordnet` and `subsumer`. Only first hypernyms count (a tree).
    - In groups that were not built around a document, vectors are folded in the order of their distance to the first.
    - More than 2,000 documents are compared with `wordnet` in blocks of at most 1,000 similar documents
      (`block_documents`).

Cost: LSA and groups near linear in terms and documents. With `wordnet` documents x documents / k bounds of distances,
    of which few need an assignment; 2 bytes for each pair of distinct terms of a block. Figures: docs/benchmarks.md.

Example:
    >>> import coterie, polars
    >>> about = {"a": "tea pot cup", "b": "tea cup milk", "c": "horse cart", "d": "horse cart road"}
    >>> rows = [(doc, term, 0.1) for doc, terms in about.items() for term in terms.split()]
    >>> log = coterie.log(polars.DataFrame(rows, schema=["doc", "term", "weight"], orient="row"))
    >>> release = coterie.anonymize(log, MicroaggregateDocuments(k=2), seed=7)
    >>> sorted(release.to_polars().group_by("doc").agg("term")["term"].to_list())
    [['cart', 'horse'], ['cart', 'horse'], ['cup', 'tea'], ['cup', 'tea']]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import polars as pl

from coterie import taxonomies
from coterie.core.log import Log
from coterie.core.params import Choice, Late, Range, With
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import GROUPS, TERMS, Shape
from coterie.errors import InputError
from coterie.methods.microaggregate_documents.release import (
    SEEDS,
    common_terms,
    least_documents,
    subsumers,
    under_names,
)
from coterie.promises.document_k_anonymity import DocumentKAnonymity
from coterie.taxonomies import WORDNET

if TYPE_CHECKING:
    from coterie.algorithms.documents import Documents

_SAMPLE = 10  # documents that an average is folded from, where not all are


@dataclass(frozen=True, kw_only=True)
class MicroaggregateDocuments(Method):
    """Give every document the same published vector of terms as at least k - 1 documents about the same things."""

    k: Annotated[int, Range(2), Late(), "smallest number of documents that share a released vector"] = 5
    groups: Annotated[
        str,
        Choice("interest", "wordnet", "random"),
        "about the same things (LSA), with terms of similar meaning in WordNet, or random ones to compare with",
    ] = "interest"
    publish: Annotated[
        str,
        Choice("common", "subsumer"),
        Late(),
        "what a vector is made of: terms that documents of the group share, or concepts above terms of all of them",
    ] = "common"
    share: Annotated[
        float,
        Range(0, 1),
        Late(),
        With("publish", "common"),
        "the share of a group's documents that must have a term; always at least two of them",
    ] = 0.5
    dimensions: Annotated[
        int,
        Range(1, 512),
        With("groups", "random", is_not=True),
        "directions of meaning by which documents are compared (LSA)",
    ] = 100
    centre: Annotated[
        str,
        Choice("all", "sample"),
        Late(),
        With("groups", "wordnet"),
        "the average of documents is made of all that are left, or of the first ten, faster",
    ] = "all"
    block_documents: Annotated[
        int,
        Range(0),
        With("groups", "wordnet"),
        "documents compared with each other, at least 2k; 0: all up to 2000, 1000 above",
    ] = 0

    accepts: ClassVar[tuple[Shape, ...]] = (TERMS,)
    status: ClassVar[str] = "experimental"
    holds_rows: ClassVar[bool] = True
    regroups: ClassVar[bool] = True

    def promises(self, facts: Facts) -> tuple[DocumentKAnonymity, ...]:
        """At least k documents, or owners, behind each vector and m behind each term."""
        enough_subjects("microaggregate_documents", self.k, facts)
        if facts.owners is not None and facts.owners < self.k:
            raise InputError(
                f"microaggregate_documents with k = {self.k} needs documents of at least {self.k} owners, and these "
                f"have {facts.owners}. Use documents of more owners, or a smaller k."
            )
        owners = facts.owners is not None
        if self.publish == "subsumer":
            return (DocumentKAnonymity(k=self.k, term_documents=self.k, labels=WORDNET, owners=owners),)
        return (DocumentKAnonymity(k=self.k, term_documents=least_documents(self.share, self.k), owners=owners),)

    def baseline(self) -> MicroaggregateDocuments | None:
        """The same with random groups."""
        return None if self.groups == "random" else replace(self, groups="random")

    def learn(self, log: Log, run: Run) -> Documents:
        """Step 1: what each document is about, where that decides something."""
        from coterie.algorithms import documents as model

        found = model.documents(log)
        beside = found.owned or model.needs_blocks(len(found.names), self.block_documents)
        if self.groups == "random" or (self.groups == "wordnet" and not beside):
            return found
        return model.about(log, run, self.dimensions)

    def plan(self, learnt: Documents, log: Log, run: Run) -> Plan:
        """Step 2: groups of documents; all documents of a group that was dealt out at once have different owners."""
        from coterie.algorithms import documents as model

        seed = int(run.stream("trees of documents").integers(2**62))
        if self.groups == "random":
            group = partial(model.random_groups, k=self.k, keys=run.keys("random documents", learnt.names))
        elif self.groups == "interest":
            group = partial(model.interest_groups, k=self.k, found=learnt, seed=seed)
        else:
            rows = model.term_rows(log).drop(model.OWNER).collect(engine="streaming")
            group = partial(
                model.wordnet_groups,
                k=self.k,
                found=learnt,
                folding=partial(model.folding_of, rows, taxonomies.load(WORDNET)),
                block=self.block_documents,
                centre=0 if self.centre == "all" else _SAMPLE,
                seed=seed,
            )
        groups = model.groups_of_owners(learnt, self.k, run, group)
        return Plan(
            table=GROUPS.check(model.group_table(learnt, groups).lazy()),
            tables=self._seeds(learnt.names.gather([members[0] for members in groups])),
            notes=self._notes(log),
        )

    def regroup(self, groups: pl.LazyFrame, learnt: Documents, log: Log, run: Run) -> Plan:
        """Step 2 on earlier groups: the same, or unions of them until each has documents of k owners."""
        from coterie.algorithms.documents import united

        table = united(groups, learnt, self.k, run)
        return Plan(table=GROUPS.check(table.lazy()), tables=self._seeds(learnt.names.clear()), notes=self._notes(log))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 3: what the documents of each group have in common, under a fresh name for each of them."""
        groups = plan.table.collect(engine="streaming")
        if self.publish == "common":
            vectors = common_terms(log, groups, self.share)
        else:
            seeds = plan.tables[SEEDS].collect(engine="streaming")
            vectors = subsumers(log, groups, seeds, taxonomies.load(WORDNET), run)
        return under_names(log, plan, vectors, run)

    def _seeds(self, names: pl.Series) -> dict[str, pl.LazyFrame]:
        """The documents that groups were built around, in which order matters."""
        around = names if self.groups == "wordnet" else names.clear()
        return {SEEDS: around.alias("subject").to_frame().lazy()}

    def _notes(self, log: Log) -> tuple[str, ...]:
        from coterie.algorithms.documents import without_meaning

        if self.groups != "wordnet" and self.publish != "subsumer":
            return ()
        unknown, total = without_meaning(log, taxonomies.load(WORDNET))
        if not unknown:
            return ()
        return (f"{unknown:,} of {total:,} terms of documents are not in WordNet, and were left out of what it tells.",)
