"""Document k-anonymity: every released vector is shared by at least k documents, every term in it by m of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from coterie import taxonomies
from coterie.core.params import Choice, Flag, Range, check_params
from coterie.core.promise import Case, Check, Kind
from coterie.promises import _rules
from coterie.promises._checks import judged, not_checked, rows_broken, strange_items
from coterie.promises._crowds import multisets, secret_seeds
from coterie.promises._document_recount import (
    OWNER,
    Behind,
    behind_concepts,
    behind_terms,
    behind_vectors,
    heavier,
    total_above,
    unlike_means,
)
from coterie.promises._names import BOTH, RECORD, is_known
from coterie.promises._words import Worded

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

    def __post_init__(self) -> None:
        check_params(self, self.name)

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
        """Compare the vectors of all names with each other, then each with the documents behind it."""
        if not case.shape.weight:
            detail = "every vector is one of weighted terms"
            yield judged("vectors", 1, detail, fault=f"is missing: {_NOTHING}", carries_promise=True)
            return
        if not case.foreign:
            yield from _rules.names(case, "pseudonym")
            yield _weights(case)
        if self.labels:
            yield _labels(case, self.labels)
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
        crowd = pl.col("crowd")
        numbers = vectors.group_by(pl.all()).len("crowd").select(
            crowd.min().alias("smallest"),
            crowd.filter(crowd < self.k).sum().alias("broken"),
            crowd.sum().alias("documents"),
            pl.len().alias("kinds"),
        )  # fmt: skip
        smallest, broken, documents, kinds = numbers.collect(engine="streaming").row(0)
        return judged(
            "vectors",
            broken,
            f"each vector is shared by at least {self.k} documents",
            fault="documents are in smaller groups",
            looked_at=int(documents),
            how=f"{kinds:,} different vectors",
            carries_promise=True,
            largest_k=None if smallest is None else int(smallest),
        )

    def _unknown(self, case: Case) -> Iterator[Check]:
        """What cannot be looked at where nobody says which documents are behind a name."""
        needs = BOTH if case.original is None else RECORD
        if case.foreign:
            needs = "to know whose names these are, which such a file does not tell"
        carries = not case.foreign
        yield not_checked("documents", "k names were counted, not k documents", carries_promise=carries, needs=needs)
        if self.owners:
            yield not_checked("owners", self._crowd_of_owners, carries_promise=carries, needs=needs)
        yield not_checked("terms", self._in_documents, carries_promise=carries, needs=needs)

    @property
    def _crowd_of_owners(self) -> str:
        return f"the documents behind each vector belong to at least {self.k} different owners"

    @property
    def _in_documents(self) -> str:
        what = "documents have a term at or below each concept" if self.labels else "documents have each term"
        whose = " of different owners" if self.owners else ""
        return f"of those behind a vector, at least {self.term_documents} {what}{whose}"

    def _owners(self, behind: Behind) -> Check:
        """At least k owners behind each vector, also where the promise forgets them."""
        if not behind.owned:
            return not_checked("owners", self._crowd_of_owners, carries_promise=True, needs=_OWNERS)
        crowds = behind.documents.group_by("group").agg(pl.col(OWNER).n_unique().alias("crowd"))["crowd"]
        return judged(
            "owners",
            int((crowds < self.k).sum()),
            self._crowd_of_owners,
            fault="vectors have fewer",
            looked_at=len(crowds),
            needs_original=True,
            carries_promise=True,
            largest_k=None if crowds.is_empty() else int(crowds.min()),  # type: ignore[arg-type]
        )

    def _contents(self, behind: Behind) -> Iterator[Check]:
        """Terms and weights against those of the documents behind each vector."""
        found = behind_concepts(behind, taxonomies.load(self.labels)) if self.labels else behind_terms(behind)
        yield judged(
            "terms",
            int((found["crowd"] < self.term_documents).sum()),
            self._in_documents,
            fault="terms of vectors stand in fewer",
            looked_at=found.height,
            how="" if found.is_empty() else f"the rarest in {int(found['crowd'].min())}",  # type: ignore[arg-type]
            needs_original=True,
            carries_promise=True,
        )
        if self.labels:
            detail = "no concept weighs more than terms at or below it do in the documents behind its vector on average"
            broken = heavier(found) + total_above(behind)
        else:
            detail = "weights are means over the documents behind a vector"
            broken = unlike_means(found)
        yield judged(
            "weights",
            broken,
            detail,
            fault="do not keep to it",
            looked_at=found.height,
            needs_original=True,
            carries_promise=True,
        )


def _weights(case: Case) -> Check:
    """Nothing hides in digits."""
    weight = pl.col(case.shape.weight)
    broken, rows = rows_broken(case.rows, ~((weight == weight.round(3)) & (weight > 0)))
    return judged("digits", broken, "weights have at most three digits", fault="have more, or none", looked_at=rows)


def _once(case: Case) -> Check:
    """No vector has a term twice."""
    key = [case.shape.subject, case.shape.item]
    again = case.rows.group_by(key).len("times")
    broken, terms = rows_broken(again, pl.col("times") > 1)
    return judged("once", broken, "a vector has each term once", fault="stand there again", looked_at=terms)


def _labels(case: Case, name: str) -> Check:
    """Nothing but concepts is released in place of terms."""
    names = taxonomies.load(name).names
    broken, total = strange_items(case.rows, case.shape, names.to_frame().lazy())
    detail = f"every released {case.shape.item} is the name of a concept of the promised taxonomy"
    return judged("items", broken, detail, fault="are not", looked_at=total, carries_promise=True)


def _documents(behind: Behind) -> Check:
    return judged(
        "documents",
        behind.strangers,
        "each name is that of one document of the original, as the run's seed and its record give it",
        fault="names are not, or are others in the record",
        looked_at=behind.names,
        needs_original=True,
        carries_promise=True,
    )
