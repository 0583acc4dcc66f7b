"""Measures of documents, worked out by hand.

Covers: measures/utility/topic_accuracy.py, measures/utility/document_loss.py,
measures/utility/vocabulary.py, measures/privacy/readable_terms.py, measures/attacks/known_terms.py
"""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.core.log import halves
from coterie.errors import InputError, NotApplicableError
from coterie.measures.attacks import known_terms
from coterie.measures.subjects import concepts_of
from coterie.methods.microaggregate_documents import MicroaggregateDocuments
from coterie.methods.suppress_rare import SuppressRare
from coterie.taxonomies import load
from coterie.testing import queries_log
from tests.helpers.documents import lexicon_of

DRINK = {
    "d/1": {"tea": 0.4, "cup": 0.3, "milk": 0.2, "sugar": 0.1},
    "d/2": {"tea": 0.5, "cup": 0.3, "pot": 0.2},
    "d/3": {"tea": 0.4, "milk": 0.4, "kettle": 0.2},
}
GO = {
    "g/1": {"train": 0.5, "road": 0.3, "station": 0.2},
    "g/2": {"train": 0.4, "road": 0.4, "cup": 0.2},
    "g/3": {"train": 0.6, "bus": 0.4},
}


def corpus(vectors):
    rows = [(doc, term, weight) for doc, terms in vectors.items() for term, weight in terms.items()]
    return coterie.log(pl.DataFrame(rows, schema=["doc", "term", "weight"], orient="row"))


@pytest.fixture(scope="module")
def log():
    return corpus({**DRINK, **GO})


@pytest.fixture(scope="module")
def release(log):
    """Two groups; tea .433, cup .2, milk .2 and train .5, road .233 are what half of each has."""
    made = coterie.anonymize(log, MicroaggregateDocuments(k=3), seed=1)
    assert made.to_polars()["term"].value_counts().sort("term").rows() == [
        ("cup", 3), ("milk", 3), ("road", 3), ("tea", 3), ("train", 3)
    ]  # fmt: skip
    return made


def scores(log, release, name, **given):
    return dict(coterie.measure(release, [name], original=log, seed=3, **given).select("key", "value").iter_rows())


def test_readable_terms(log, release):
    found = scores(log, release, "readable_terms")
    shares = [3 / 4, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 1 / 2]
    assert found["mean"] == pytest.approx(100 * sum(shares) / 6)
    assert found["median"] == pytest.approx(100 * 2 / 3)
    assert found["weight"] == pytest.approx(100 * (0.9 + 0.8 + 0.8 + 0.8 + 0.8 + 0.6) / 6)
    assert found["true"] == pytest.approx(100 * (1 + 2 / 3 + 2 / 3 + 1 + 1 + 1 / 2) / 6)
    assert found["nothing"] == 0


def test_vocabulary(log, release):
    found = scores(log, release, "vocabulary")
    assert (found["before"], found["after"]) == (10, 5)
    assert found["all"] == 50
    indexes = [3 / 4, 2 / 4, 2 / 4, 2 / 3, 2 / 3, 1 / 3]
    assert found["documents"] == pytest.approx(100 * sum(indexes) / 6)
    assert found["terms"] == 2.5


def test_topics(log, release):
    public = corpus({f"{doc[0]}/p{doc[2:]}": terms for doc, terms in {**DRINK, **GO}.items()})
    found = scores(log, release, "topic_accuracy", topics="names", public=public)
    assert found["accuracy"] == found["before.accuracy"] == 100
    assert found["chance"] == 50
    assert (found["documents"], found["topics"]) == (6, 2)
    mine = [(doc, "d") for doc in (*DRINK, *GO)]
    theirs = [(doc, doc[0]) for doc in public.to_polars()["doc"].unique()]
    wrong = pl.DataFrame([*mine, *theirs], schema=["doc", "topic"], orient="row")
    assert scores(log, release, "topic_accuracy", topics=wrong, public=public)["accuracy"] == 50
    with pytest.raises(NotApplicableError, match="public=LOG"):
        scores(log, release, "topic_accuracy", topics="names")
    with pytest.raises(NotApplicableError, match="topics=FILE"):
        scores(log, release, "topic_accuracy", public=public)
    one = wrong.with_columns(topic=pl.lit("all"))
    with pytest.raises(NotApplicableError, match="fewer than two"):
        scores(log, release, "topic_accuracy", topics=one, public=public)
    with pytest.raises(InputError, match="Public documents have the shape TERMS"):
        scores(log, release, "topic_accuracy", topics="names", public=queries_log())


def test_topics_of_concepts(log):
    made = coterie.anonymize(log, MicroaggregateDocuments(k=3, publish="subsumer"), seed=1)
    public = corpus({f"{doc[0]}/p{doc[2:]}": terms for doc, terms in {**DRINK, **GO}.items()})
    found = scores(log, made, "topic_accuracy", topics="names", public=public)
    assert found["before.accuracy"] == 100
    assert found["accuracy"] >= 50
    with pytest.raises(NotApplicableError, match="concepts in place of"):
        scores(log, made, "readable_terms")


def test_concepts_above_a_term():
    tree = load("wordnet")
    found = concepts_of(pl.Series(["tea", "xyzzy"]), named=False)
    labels = tree.labels.gather(found["concept"]).to_list()
    assert labels[0] == "tea"
    assert labels[-1] == "entity"
    assert set(found["term"]) == {"tea"}
    name = tree.names[int(found["concept"][0])]
    assert concepts_of(pl.Series([name]), named=True)["concept"].to_list() == found["concept"].to_list()


def test_loss_is_that_of_plain_python(log, release):
    """SSE, SSA and L of the two groups, with distances and folds written from the formulas."""
    found = scores(log, release, "document_loss")
    plain = lexicon_of(log.to_polars()["term"])
    vectors = [sorted(terms.items(), key=lambda term: (-term[1], term[0])) for terms in (*DRINK.values(), *GO.values())]
    whole = plain.common(vectors)
    sse = ssa = 0.0
    for group in (vectors[:3], vectors[3:]):
        first, *others = group
        common = plain.common([first, *sorted(others, key=lambda other: plain.distance(first, other))])
        sse += sum(plain.distance(common, vector) ** 2 for vector in group)
        ssa += 3 * plain.distance(common, whole) ** 2
    assert found["sse"] == pytest.approx(sse)
    assert found["ssa"] == pytest.approx(ssa)
    assert found["sst"] == pytest.approx(sse + ssa)
    assert found["loss"] == pytest.approx(100 * sse / (sse + ssa))


def test_loss_of_a_sample_is_of_whole_groups(log, release, monkeypatch):
    monkeypatch.setattr("coterie.measures.utility.document_loss.DOCUMENTS", 4)
    table = coterie.measure(release, ["document_loss"], original=log, seed=3)
    assert table.filter(pl.col("key") == "documents").select("value", "unit").row(0) == (3, "sampled")


# known terms


def test_known_terms(log, release, monkeypatch):
    monkeypatch.setattr(known_terms, "KNOWLEDGE", {"two_terms": 2})
    found = scores(log, release, "known_terms")
    assert found["documents.two_terms"] == 5, "g/3 has two terms only"
    assert found["bound"] == pytest.approx(100 / 3)
    assert found["after.two_terms"] <= found["bound"] + 1e-9
    assert found["vector.two_terms"] <= 100
    assert found["before.two_terms"] > found["after.two_terms"]
    assert found["after.two_terms"] == pytest.approx(found["vector.two_terms"] / 3)


def test_who_fits_best_is_taken_and_equals_share():
    clues = pl.DataFrame({"doc": ["x", "x", "y"], "term": ["a", "b", "a"]}).with_columns(standing="term")
    vectors = pl.DataFrame({"vector": [1, 1, 2, 3], "standing": ["a", "b", "a", "c"]})
    best = known_terms._best(clues, vectors).sort("doc", "vector")
    assert best.rows() == [("x", 1, 1.0), ("y", 1, 0.5), ("y", 2, 0.5)]
    own = pl.DataFrame({"doc": ["x", "y", "z", "silent"]})
    members = pl.DataFrame({"doc": ["x", "y", "z", "of another"], "vector": [1, 1, 3, 2]})
    assert known_terms._found(own, best, members)["found"].to_list() == [1.0, 0.5, pytest.approx(1 / 3), 0.0]


def test_a_broken_release_is_found_out(log, release, monkeypatch):
    """Raw vectors under new names: every document that is known well enough is found."""
    monkeypatch.setattr(known_terms, "KNOWLEDGE", {"two_terms": 2})
    names = release.record.subjects.collect()
    rows = log.to_polars().join(names.select(doc="original", released="released"), on="doc")
    raw = rows.select(doc="released", term="term", weight="weight")
    alone = names.with_columns(group=pl.int_range(pl.len(), dtype=pl.UInt32))
    broken = replace(
        release,
        log=replace(release.log, frame=raw.lazy()),
        record=replace(release.record, subjects=alone.lazy()),
    )
    found = scores(log, broken, "known_terms")
    assert found["after.two_terms"] == pytest.approx(found["before.two_terms"])
    assert found["after.two_terms"] > found["bound"]
    assert found["guess.two_terms"] > found["guess.two_terms.chance"] + 30, "whoever finds the document reads the rest"


def test_other_logs_have_no_documents():
    log = queries_log()
    made = coterie.anonymize(log, SuppressRare(k=3, users="pseudonym"), seed=1)
    for name in ("readable_terms", "vocabulary", "document_loss", "known_terms"):
        with pytest.raises(NotApplicableError, match="It is about documents, and this log is QUERIES"):
            coterie.measure(made, [name], original=log)


def test_measures_of_single_lines_do_not_apply(log, release):
    told = []
    coterie.measure(release, original=log, seed=3, left_out=told.append)
    named = {text.partition(":")[0] for text in told}
    assert {"exposure", "information_loss", "attribution", "dominance"} <= named
    assert not {"readable_terms", "vocabulary", "known_terms", "linkage", "uniqueness"} & named


def test_halves_of_a_log(log):
    first, second = halves(log)
    one, other = (set(part.to_polars()["doc"]) for part in (first, second))
    assert len(one) == len(other) == 3
    assert one | other == {*DRINK, *GO}
    shuffled = replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=2).lazy())
    assert set(halves(shuffled)[0].to_polars()["doc"]) == one
