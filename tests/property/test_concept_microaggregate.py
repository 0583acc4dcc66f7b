"""Laws of concept_microaggregate: the plain answer, labels of the taxonomy and nothing else, shares in warnings."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api, taxonomies
from coterie.core import randomness
from coterie.core.promise import Case, from_dict, to_dict
from coterie.core.shapes import QUERIES
from coterie.errors import BrokenPromiseError
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.promises import judge
from coterie.promises.user_k_anonymity import UserKAnonymity
from tests.helpers.concepts import QUERIES as TEXTS
from tests.helpers.concepts import SEED, TREE, frame_of, reference_of, users
from tests.helpers.examples import examples


@pytest.fixture(scope="session")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tree") / "tree.npz"
    taxonomies.write(TREE, path)
    return path


def _profiles(rows):
    return sorted(sorted(found) for found in rows.group_by("user").agg("query")["query"].to_list())


def _keys(purpose, subjects):
    return randomness.keys(SEED, purpose, subjects)


@settings(max_examples=examples(40))
@given(users, st.integers(2, 4), st.sampled_from([1, 5]))
def test_it_is_the_plain_reference(file, people, k, categories):
    k = min(k, len(people))
    reference = reference_of([query for queries in people for query in queries], TREE, categories)
    expected = []
    for members in reference.groups(people, k):
        profile = reference.profile(
            [people[i] for i in members], lambda query: int(_keys("choice of a query", pl.Series([query]))[0])
        )
        expected += [sorted(profile)] * len(members)
    method = ConceptMicroaggregate(k=k, taxonomy=str(file), categories=categories)
    release = api.anonymize_prepared(coterie.log(frame_of(people)), method, seed=SEED)
    rows = release.to_polars()
    assert _profiles(rows) == sorted(expected)
    assert rows.select("time", "rank", "url").null_count().row(0) == (rows.height,) * 3


def test_labels_are_those_of_the_same_concepts(file):
    people = [["dog", "cat", "xyzzy"], ["cheap dog", "cat", "plugh"], ["dog", "cats", "xyzzy"]]
    log = coterie.log(frame_of(people))
    release = api.anonymize_prepared(log, ConceptMicroaggregate(k=3, taxonomy=str(file), synthetic="label"), seed=SEED)
    assert _profiles(release.to_polars()) == [["cat", "dog", "world"]] * 3
    queries = api.anonymize_prepared(log, ConceptMicroaggregate(k=3, taxonomy=str(file)), seed=SEED)
    assert _profiles(queries.to_polars()) == [["cat", "dog", "xyzzy"]] * 3


def test_the_shares_are_told(file):
    people = [["dog", "xyzzy"], ["dog", "plugh"], ["cat", "quux"]]
    log = coterie.log(frame_of(people))
    release = api.anonymize_prepared(log, ConceptMicroaggregate(k=3, taxonomy=str(file)), seed=SEED)
    assert "3 of 6 searches (50.0 %) have no concept" in release.warnings[0]
    assert "1 of 2 chosen queries" in release.warnings[1]
    labels = api.anonymize_prepared(log, ConceptMicroaggregate(k=3, taxonomy=str(file), synthetic="label"), seed=SEED)
    assert "label of the root" in labels.warnings[0]
    assert len(labels.warnings) == 1  # nobody is alone with dogs, and the root says nothing
    known = coterie.log(frame_of([["dog"]] * 3))
    all_mapped = api.anonymize_prepared(known, ConceptMicroaggregate(k=3, taxonomy=str(file)), seed=SEED)
    assert "0 of 3 searches (0.0 %) have no concept" in all_mapped.warnings[0]


def test_a_log_that_means_nothing(file):
    """Queries of another language: groups and profiles all the same, and the warning says so."""
    people = [[f"天气{i % 3}", f"地图{i}"] for i in range(9)]
    for synthetic in ("query", "label"):
        method = ConceptMicroaggregate(k=3, taxonomy=str(file), synthetic=synthetic)
        release = api.anonymize_prepared(coterie.log(frame_of(people)), method, seed=SEED)
        assert "(100.0 %)" in release.warnings[0]
        assert release.to_polars().height == 18


@settings(max_examples=examples(8))
@given(users, st.sampled_from(["query", "label"]), st.randoms())
def test_order_and_blocks_do_not_matter(people, synthetic, random):
    method = ConceptMicroaggregate(k=2, synthetic=synthetic, block_users=4)
    frame = frame_of(people)
    expected = api.anonymize_prepared(coterie.log(frame), method, seed=1).to_polars()
    shuffled = frame[random.sample(range(frame.height), frame.height)]
    assert api.anonymize_prepared(coterie.log(shuffled), method, seed=1, blocks=5).to_polars().equals(expected)


def test_the_verifier_knows_labels_from_what_was_typed(file):
    people = [["dog", "cat"], ["dog", "secret plan"], ["cat", "secret plan"]] * 2
    log = coterie.log(frame_of(people))
    promise = UserKAnonymity(k=3, labels="wordnet")
    release = api.anonymize_prepared(log, ConceptMicroaggregate(k=3, synthetic="label"), seed=1)
    assert release.promises == (promise,)
    assert promise == from_dict(to_dict(promise))
    assert "labels of a taxonomy" in promise.sentence
    rows = release.to_polars()
    assert not _judged(rows, promise, log).broken
    typed = rows.with_columns(pl.lit("secret plan").alias("query")).sort(QUERIES.order)
    timed = rows.with_columns(pl.lit(1, pl.Int32).alias("rank")).sort(QUERIES.order)
    for broken in (typed, timed):
        verdict = _judged(broken, promise, log)
        assert [check.name for check in verdict.broken] == ["labels"]
        assert verdict.exit_code == 1
        assert _judged(broken, promise, None).exit_code == 1  # needs no original


def _judged(rows, promise, log):
    return judge(Case(rows=rows.lazy(), shape=QUERIES, original=log), (promise,))


def test_labels_of_ones_own_taxonomy_are_those_of_its_file(file, tmp_path):
    file = shutil.copy(file, tmp_path / "own.npz")
    people = [["dog", "cat"], ["dog", "wine"], ["cat", "wine"]]
    coterie.log(frame_of(people)).to_polars().select("user", "query").write_csv(tmp_path / "log.csv")
    log = coterie.prepare(coterie.read(tmp_path / "log.csv"))
    release = api.anonymize_prepared(log, ConceptMicroaggregate(k=3, taxonomy=str(file), synthetic="label"), seed=1)
    assert release.promises[0].labels.startswith("sha256:")
    coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record")
    loaded = coterie.load_release(tmp_path / "safe.tsv", record=tmp_path / "record")
    assert coterie.verify(loaded, log).exit_code == 0
    assert coterie.verify(coterie.load_release(tmp_path / "safe.tsv"), log).exit_code == 3
    file.rename(tmp_path / "elsewhere.npz")
    assert coterie.verify(loaded, log).exit_code == 3


def test_a_method_that_lies_about_labels_is_caught():
    class Lies(ConceptMicroaggregate):
        def promises(self, facts):  # noqa: ARG002
            return (UserKAnonymity(k=self.k, labels="wordnet"),)

    log = coterie.log(frame_of([[TEXTS[-1], "xyzzy"]] * 3))
    with pytest.raises(BrokenPromiseError, match="labels: "):
        api.anonymize_prepared(log, Lies(k=3), seed=1)


def test_groups_mean_more_alike_than_random_ones():
    rng = np.random.default_rng(3)
    worlds = (["dog", "cat", "horse", "poodle"], ["loan", "bank account", "mortgage"], ["claret", "beer", "wine"])
    people = [rng.choice(worlds[i % 3], 5).tolist() for i in range(30)]
    log = coterie.log(frame_of(people))
    scores = []
    for partition in ("mdav", "random"):
        release = api.anonymize_prepared(log, ConceptMicroaggregate(k=5, partition=partition), seed=2)
        found = coterie.measure(release, ["semantic_distance"], original=log, seed=2)
        scores.append(dict(found.select("key", "value").rows()))
    assert scores[0]["distance"] < 0.6 * scores[1]["distance"]


def test_wordnet_is_the_default():
    assert taxonomies.load(ConceptMicroaggregate().taxonomy).name == "wordnet"
