"""The judge of vectors of terms."""

import re
from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.core.promise import Case
from coterie.core.shapes import TERMS
from coterie.errors import BrokenPromiseError
from coterie.methods.microaggregate_documents import MicroaggregateDocuments
from coterie.promises import document_k_anonymity, judge
from coterie.promises.document_k_anonymity import DocumentKAnonymity
from tests.helpers.broken_documents import CAUGHT_BY, document_log


@pytest.fixture(scope="module")
def logs():
    return {owned: document_log(owned) for owned in (False, True)}


@pytest.fixture(scope="module")
def release(logs):
    return coterie.anonymize(logs[False], MicroaggregateDocuments(k=3), seed=1)


def statuses(verdict):
    return {check.name: check.status for check in verdict.checks}


def verdict_of(release, log, rows, promises=None):
    record = release.record
    case = Case(
        rows=rows.sort(TERMS.order).lazy(),
        shape=TERMS,
        original=log,
        evidence=record.evidence,
        run=record.run,
        promised=release.promises,
    )
    return judge(case, promises or release.promises)


def test_what_the_broken_ones_come_from_is_fine(release):
    vectors = release.to_polars().group_by("doc").agg("term", "weight")
    found = {" ".join(terms): weights for terms, weights in vectors.select("term", "weight").rows()}
    assert found == {
        "letter rain weather": [0.067, 0.2, 0.6],
        "harbour ship tide": [0.133, 0.5, 0.3],
        "bread oven yeast": [0.6, 0.233, 0.1],
    }
    assert release.verdict.largest_k == 3
    assert release.headline == "k = 3, m = 2"


@pytest.mark.parametrize(("method", "check", "owned"), CAUGHT_BY)
def test_a_broken_method_is_caught(logs, method, check, owned):
    with pytest.raises(BrokenPromiseError, match=rf"\b{re.escape(check)}: .*?: \d+ ") as error:
        coterie.anonymize(logs[owned], method(k=3), seed=1)
    values = {"weather", "harbour", "yeast", "lawyer", "prison"}
    assert not any(value in str(error.value) for value in values), "no message shows a value"


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("publish", ["common", "subsumer"])
@pytest.mark.parametrize("groups", ["interest", "wordnet", "random"])
def test_the_method_keeps_what_it_promises(logs, groups, publish, owned):
    made = coterie.anonymize(logs[owned], MicroaggregateDocuments(k=3, groups=groups, publish=publish), seed=2)
    assert coterie.verify(made, logs[owned]).exit_code == 0
    assert ("owners" in statuses(made.verdict)) == owned


def test_another_k_is_counted(logs, release):
    assert coterie.verify(release, logs[False], k=2).exit_code == 0
    four = coterie.verify(release, logs[False], k=4)
    assert {check.name for check in four.broken} == {"vectors"}
    owned = coterie.anonymize(logs[True], MicroaggregateDocuments(k=3), seed=1)
    assert owned.verdict.largest_k == 3


def test_what_can_be_seen_without_original_and_record(logs, release, tmp_path):
    file, record = tmp_path / "safe.parquet", tmp_path / "record"
    coterie.write(release, file, record=record)
    alone = coterie.verify(file)
    assert alone.exit_code == 3
    assert statuses(alone)["vectors"] == "passed"
    assert statuses(alone)["documents"] == statuses(alone)["terms"] == "not checked"
    assert alone.largest_k is None
    assert coterie.verify(file, logs[False]).exit_code == 3, "names alone do not say which documents they are"
    assert coterie.verify(file, logs[False], record=record).exit_code == 0


def test_a_record_that_says_something_else_is_noticed(logs, release):
    subjects = release.record.subjects.collect()
    swapped = subjects.with_columns(pl.col("released").reverse())
    record = replace(release.record, subjects=swapped.lazy())
    verdict = verdict_of(replace(release, record=record), logs[False], release.to_polars())
    assert statuses(verdict)["documents"] == "failed"
    assert verdict.largest_k is None, "it would be a number of names"


def test_groups_with_the_same_vector_are_one(logs, release):
    """Two groups may happen to have equal vectors; what holds for each holds for both."""
    log = logs[False]
    twice = coterie.log(
        pl.concat([log.to_polars(), log.to_polars().with_columns(pl.format("{} again", "doc").alias("doc"))])
    )
    made = coterie.anonymize(twice, MicroaggregateDocuments(k=3), seed=1)
    assert coterie.verify(made, twice).exit_code == 0


@pytest.mark.parametrize(("weight", "status"), [(0.599, "failed"), (0.6, "passed"), (0.601, "failed")])
def test_weights_are_rounded_means(logs, release, weight, status):
    changed = pl.when(pl.col("term") == "bread").then(weight).otherwise("weight").alias("weight")
    verdict = verdict_of(release, logs[False], release.to_polars().with_columns(changed))
    assert statuses(verdict)["weights"] == status


def test_small_weights_are_not_rounded_to_nothing():
    rows = [(f"d{n}", term, weight) for n in range(3) for term, weight in (("dog", 0.9999), ("cat", 0.0001))]
    log = coterie.log(pl.DataFrame(rows, schema=["doc", "term", "weight"], orient="row"))
    for publish in ("common", "subsumer"):
        made = coterie.anonymize(log, MicroaggregateDocuments(k=3, publish=publish), seed=1)
        assert sorted(made.to_polars()["weight"].unique()) == [0.001, 1.0]


def test_a_term_twice_is_noticed(logs, release):
    rows = release.to_polars()
    verdict = verdict_of(release, logs[False], pl.concat([rows, rows]))
    assert statuses(verdict)["once"] == "failed"


def test_owners_that_are_not_there_cannot_be_counted(logs, release):
    promise = DocumentKAnonymity(k=3, term_documents=2, owners=True)
    verdict = verdict_of(release, logs[False], release.to_polars(), [promise])
    assert statuses(verdict)["owners"] == "not checked"
    assert verdict.exit_code == 3


def test_a_document_without_an_owner_is_its_own(logs):
    rows = logs[True].to_polars().with_columns(pl.lit(None, pl.String).alias("owner"))
    log = replace(logs[True], frame=rows.lazy())
    made = coterie.anonymize(log, MicroaggregateDocuments(k=3), seed=1)
    assert made.promises[0].owners
    assert made.verdict.largest_k == 3


def test_foreign_rows_are_compared_with_each_other(release):
    foreign = coterie.log(release.to_polars())
    found = coterie.verify(foreign, promise="document_k_anonymity", k=3, steps="none")
    assert found.exit_code == 0
    assert found.sentence == "Every vector of terms is shared by at least 3 documents, as far as names can tell."
    alone = coterie.verify(coterie.log(document_log().to_polars()), promise="document_k_anonymity", k=3)
    assert statuses(alone)["vectors"] == "failed"


def test_concepts_are_followed_in_parts(logs, monkeypatch):
    made = coterie.anonymize(logs[False], MicroaggregateDocuments(k=3, publish="subsumer"), seed=1)
    monkeypatch.setattr(document_k_anonymity, "_ROWS_AT_ONCE", 4)
    assert coterie.verify(made, logs[False]).exit_code == 0


def test_sentences_say_what_is_counted():
    plain = DocumentKAnonymity(k=5, term_documents=3)
    assert plain.sentence.startswith("Every released vector of terms is shared by at least 5 documents, and every term")
    assert " stands in at least 3 of them. " in plain.sentence
    assert "documents of at least 5 different owners" in replace(plain, owners=True).sentence
    assert "concepts of a taxonomy in place of terms" in replace(plain, labels="wordnet").sentence
    assert plain.limits != replace(plain, owners=True).limits != replace(plain, labels="wordnet").limits
    assert (plain.releases, replace(plain, labels="wordnet").releases) == ("text", "concepts")
    assert plain.linkage_bound == 20
