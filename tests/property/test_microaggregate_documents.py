"""Laws of microaggregate_documents: what it publishes is what its plain version says, whatever the order."""

from dataclasses import replace
from math import ceil

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.core.plan import Facts
from coterie.core.shapes import TERMS
from coterie.errors import InputError, ParameterError
from coterie.methods.microaggregate_documents import MicroaggregateDocuments
from coterie.methods.microaggregate_documents.release import least_documents
from coterie.testing import check_method, terms_log
from tests.helpers.documents import frame_of, lexicon_of, weighted
from tests.helpers.examples import examples

WORDS = ["laptop", "computer", "keyboard", "screen", "horse", "dog", "cat", "lion", "bank", "river", "money", "wine"]


@st.composite
def corpora(draw):
    """Documents with some words, and perhaps their owners."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(6, 16))
    documents = [weighted(rng, rng.choice(WORDS, rng.integers(1, 8), replace=False).tolist()) for _ in range(count)]
    frame = frame_of(documents)
    if draw(st.booleans()):
        return coterie.log(frame)
    owners = {f"{n:03}": str(n) if n < 4 else draw(st.sampled_from([None, "0", "1", "5"])) for n in range(count)}
    return coterie.log(frame.with_columns(pl.col("doc").replace_strict(owners, return_dtype=pl.String).alias("owner")))


def plain(log, release, share):
    """The vector of each document, from the groups that the record tells."""
    rows = log.frame.collect()
    terms = {doc: dict(part.select("term", "weight").rows()) for (doc,), part in rows.group_by("doc")}
    owner = {doc: doc for doc in terms}
    if "owner" in rows.columns:
        owner = {doc: (whose, doc) if whose is None else whose for doc, whose in rows.select("doc", "owner").rows()}
    groups = {}
    for doc, _, group in release.record.subjects.collect().rows():
        groups.setdefault(group, []).append(doc)
    found = {}
    for members in groups.values():
        least = max(2, ceil(share * len({owner[doc] for doc in members}) - 1e-9))
        vector = {}
        for term in {term for doc in members for term in terms[doc]}:
            having = [doc for doc in members if term in terms[doc]]
            if len({owner[doc] for doc in having}) >= least:
                vector[term] = sum(terms[doc][term] for doc in having) / len(members)
        found |= dict.fromkeys(members, vector)
    return found


def released(release):
    names = release.record.subjects.collect().select("original", doc="released")
    rows = release.to_polars().join(names, on="doc")
    return {doc: dict(part.select("term", "weight").rows()) for (doc,), part in rows.group_by("original")}


@settings(max_examples=examples(40))
@given(corpora(), st.integers(2, 4), st.sampled_from(["interest", "random"]), st.sampled_from([0.0, 0.5, 1.0]))
def test_common_terms_are_those_of_the_plain_version(log, k, groups, share):
    release = api.anonymize_prepared(log, MicroaggregateDocuments(k=k, groups=groups, share=share), seed=3)
    expected = {doc: vector for doc, vector in plain(log, release, share).items() if vector}
    got = released(release)
    assert got.keys() == expected.keys(), "documents with an empty vector are not there"
    for doc, vector in got.items():
        assert vector.keys() == expected[doc].keys()
        assert all(
            weight == pytest.approx(max(expected[doc][term], 0.001), abs=5.1e-4) for term, weight in vector.items()
        )
    subjects = release.record.subjects.collect()
    assert subjects["group"].null_count() == 0, "also they have a group"
    assert set(subjects.filter(pl.col("released").is_null())["original"]) == set(subjects["original"]) - set(expected)


@pytest.mark.parametrize("groups", ["wordnet", "interest"])
def test_subsumers_are_those_of_the_plain_version(groups):
    rng = np.random.default_rng(7)
    documents = [weighted(rng, rng.choice(WORDS, rng.integers(3, 8), replace=False).tolist()) for _ in range(14)]
    log, reference = coterie.log(frame_of(documents)), lexicon_of(WORDS)
    release = api.anonymize_prepared(log, MicroaggregateDocuments(k=3, groups=groups, publish="subsumer"), seed=3)
    members = {}
    for doc, _, group in release.record.subjects.collect().rows():
        members.setdefault(group, []).append(int(doc))
    expected_groups = reference.groups(documents, 3)
    if groups == "wordnet":
        assert sorted(map(sorted, expected_groups)) == sorted(members.values())
    leads = {tuple(sorted(group)): group[0] for group in expected_groups} if groups == "wordnet" else {}
    names = coterie.taxonomies.load("wordnet").names
    got = released(release)
    for group in members.values():
        seed = leads.get(tuple(group), group[0])
        rest = sorted((reference.distance(documents[seed], documents[i]), i) for i in group if i != seed)
        vector = {}
        for concept, weight in reference.common([documents[seed], *(documents[i] for _, i in rest)]):
            vector[names[concept]] = vector.get(names[concept], 0) + weight
        for doc in group:
            assert got[f"{doc:03}"] == pytest.approx(vector, abs=5.1e-4)


def test_half_of_the_group_is_half_of_the_documents_it_has():
    assert [least_documents(0.5, size) for size in (2, 3, 4, 5, 6, 9)] == [2, 2, 2, 3, 3, 5]
    assert least_documents(0.0, 9) == 2
    assert least_documents(1.0, 9) == 9
    assert least_documents(0.7, 10) == 7, "what is rounded up is not a rounding error"


def test_what_is_promised():
    facts = Facts(subjects=9, rows=99, shape=TERMS)
    (promise,) = MicroaggregateDocuments(k=5).promises(facts)
    assert (promise.k, promise.term_documents, promise.labels, promise.owners) == (5, 3, "", False)
    (promise,) = MicroaggregateDocuments(k=5, publish="subsumer").promises(replace(facts, owners=7))
    assert (promise.k, promise.term_documents, promise.labels, promise.owners) == (5, 5, "wordnet", True)
    with pytest.raises(InputError, match="at least 5 owners, and these have 4"):
        MicroaggregateDocuments(k=5).promises(replace(facts, owners=4))
    with pytest.raises(InputError, match="at least 10 documents, and the log has 9"):
        MicroaggregateDocuments(k=10).promises(facts)
    with pytest.raises(ParameterError, match="'groups' parameter"):
        MicroaggregateDocuments(groups="size")


def test_documents_that_share_nothing_are_counted_and_left_out():
    rows = [(doc, term, 0.5) for doc, term in (("a", "tea"), ("b", "tea"), ("c", "horse"), ("d", "zebra"))]
    log = coterie.log(pl.DataFrame(rows, schema=["doc", "term", "weight"], orient="row"))
    release = api.anonymize_prepared(log, MicroaggregateDocuments(k=2), seed=1)
    assert released(release) == {"a": {"tea": 0.5}, "b": {"tea": 0.5}}
    assert release.warnings == (
        "1 of 2 groups, with 2 documents, have an empty vector: too few of their documents share a term. Nothing is "
        "released of them.",
        "Released vectors have 1.0 terms on average.",
    )
    nothing = coterie.log(log.to_polars().with_columns(pl.concat_str("term", "doc").alias("term")))
    empty = api.anonymize_prepared(nothing, MicroaggregateDocuments(k=2), seed=1)
    assert empty.to_polars().is_empty()


def test_terms_that_wordnet_does_not_know_are_counted():
    rows = [(doc, term, 0.5) for doc in "abcd" for term in ("tea", f"xyzzy{doc}")]
    log = coterie.log(pl.DataFrame(rows, schema=["doc", "term", "weight"], orient="row"))
    release = api.anonymize_prepared(log, MicroaggregateDocuments(k=2, groups="wordnet", publish="subsumer"), seed=1)
    assert release.warnings[0].startswith("4 of 8 terms of documents are not in WordNet")
    assert release.to_polars()["term"].unique().to_list() == ["tea (5)"]


@pytest.mark.parametrize("params", [
    {"groups": "wordnet", "publish": "subsumer"},
    {"groups": "wordnet", "publish": "common", "centre": "sample", "block_documents": 6, "k": 2},
    {"publish": "subsumer", "share": 0.0},
])  # fmt: skip
def test_other_modes_are_methods_too(params):
    check_method(MicroaggregateDocuments, params)


def test_earlier_groups_with_owners():
    log = terms_log(owned=True)
    first = api.anonymize_prepared(log, MicroaggregateDocuments(k=2), seed=1)
    for groups in ("interest", "wordnet", "random"):
        second = api.anonymize_prepared(
            log, MicroaggregateDocuments(k=3, groups=groups), seed=2, groups_of=first.record
        )
        assert second.verdict.largest_k >= 3
