"""A comparison computes what measures ask for, and nothing else."""

from dataclasses import replace
from types import ModuleType

import polars as pl
import pytest

import coterie
from coterie import api, measures
from coterie.core import registry
from coterie.core.scores import Figure, Score
from coterie.errors import InputError, MissingError, NotApplicableError, ParameterError
from coterie.measures.comparison import Comparison, scores_of
from coterie.methods.generalize import Generalize
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.microaggregate_documents import MicroaggregateDocuments
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log, terms_log, visits_log


@pytest.fixture
def log():
    return queries_log()


@pytest.fixture
def release(log):
    return api.anonymize_prepared(log, SuppressRare(k=3), seed=1)


def untouchable(log):
    """The log with rows that nobody may read."""

    def refuse(_):
        raise AssertionError("rows were read")

    return replace(log, frame=log.frame.map_batches(refuse))


def own_measure(monkeypatch, **parts):
    """A measure of somebody else."""
    module = ModuleType("theirs")
    vars(module).update(parts)
    monkeypatch.setattr(registry, "module", lambda kind, name: module)


def test_nothing_is_read_before_a_measure_asks(log, release):
    Comparison.of(untouchable(log), release, 1, False)


def test_a_measure_of_the_release_alone_does_not_read_the_original(log, release, monkeypatch):
    def measure(comparison):
        yield Score("rows", comparison.released.height, "rows")

    own_measure(monkeypatch, needs=frozenset(), figures=(), measure=measure)
    scores = coterie.measure(release, ["theirs"], original=untouchable(log))
    assert scores.rows() == [("theirs", "rows", 17.0, "rows")]


@pytest.mark.parametrize("name", ["frequency", "uniqueness", "linkage"])
def test_measures_that_can_do_without_do_not_hold_all_rows(name, log, release):
    comparison = Comparison.of(log, release, 1, False)
    assert scores_of(comparison, [name]).height
    assert not {"original", "released", "profiles"} & set(vars(comparison))


def test_shares_without_a_record_need_no_rows(log, release):
    comparison = Comparison.of(log, replace(release, record=None), 1, False)
    scores_of(comparison, ["release_share", "certainty_penalty"])
    assert not {"original", "released"} & set(vars(comparison))


def test_what_is_asked_for_twice_is_computed_once(log, release):
    comparison = Comparison.of(log, release, 1, False)
    assert comparison.items_before is comparison.items_before
    assert comparison.given("taxonomy") is comparison.given("taxonomy")


def test_needs_are_checked_before_the_measure_runs(log, release, monkeypatch):
    def measure(comparison):
        raise AssertionError("it ran")

    bare = replace(release, record=replace(release.record, rows=None))
    own_measure(monkeypatch, needs=frozenset({"rows"}), figures=(), measure=measure)
    with pytest.raises(NotApplicableError, match="does not keep rows"):
        coterie.measure(bare, ["theirs"], original=log)
    own_measure(monkeypatch, needs=frozenset({"labels"}), figures=(), measure=measure)
    with pytest.raises(NotApplicableError, match="labels=FILE"):
        coterie.measure(release, ["theirs"], original=log)
    own_measure(monkeypatch, needs=frozenset({"record"}), figures=(), measure=measure)
    with pytest.raises(MissingError, match="record=DIR"):
        coterie.measure(replace(release, record=None), ["theirs"], original=log)
    own_measure(monkeypatch, needs=frozenset({"text"}), figures=(), measure=measure)
    concepts = api.anonymize_prepared(log, Generalize(k=2), seed=1)
    with pytest.raises(NotApplicableError, match="concepts in place of queries"):
        coterie.measure(concepts, ["theirs"], original=log)


def test_a_measure_has_all_its_parts(monkeypatch):
    own_measure(monkeypatch, needs=frozenset())
    with pytest.raises(ParameterError, match="lacks figures, measure"):
        measures.load("theirs")


def test_another_shape_is_refused(release):
    with pytest.raises(InputError, match="QUERIES, the original VISITS"):
        Comparison.of(visits_log(), release, 1, False)


def test_figures_of_third_parties_stand_after_ours(monkeypatch):
    ours = measures.figures()
    theirs = ModuleType("theirs")
    vars(theirs).update(
        needs=frozenset({"record"}),
        figures=(Figure(key="x", section="privacy", title="Theirs"),),
        measure=lambda _: iter(()),
    )
    own, names = registry.module, registry.names
    monkeypatch.setattr(registry, "module", lambda kind, name: theirs if name == "theirs" else own(kind, name))
    monkeypatch.setattr(registry, "names", lambda kind: ["theirs", *names(kind)])
    every = measures.figures()
    assert [figure for figure in every if figure.measure != "theirs"] == list(ours)
    private = [figure for figure in every if figure.section == "privacy"]
    assert private[-1].measure == "theirs"
    assert private[-1].needs == {"record"}


@pytest.mark.parametrize("method", [SuppressRare(k=3), Microaggregate(k=3)], ids=["queries", "profiles"])
def test_without_a_record_another_log_is_refused(method, tmp_path):
    log = coterie.prepare(coterie.read("synth:users=60,seed=7"))
    release = api.anonymize_prepared(log, method, seed=1)
    coterie.write(release, tmp_path / "safe.tsv")
    loaded = coterie.api.load_release(tmp_path / "safe.tsv")
    assert coterie.measure(loaded, ["frequency"], original=log).height
    other = coterie.read("synth:users=60,seed=8")
    with pytest.raises(InputError, match=r"different values of 'query' in the release .* from another log"):
        coterie.measure(loaded, ["frequency"], original=other)
    with pytest.raises(InputError, match="normalize, drop_empty"):
        coterie.measure(loaded, original=other)
    # One query that the release has, and nobody typed: a single stranger is enough.
    first = loaded.to_polars()["query"][0]
    less = replace(log, frame=log.frame.filter(pl.col("query") != first))
    with pytest.raises(InputError, match=r"^1 of the "):
        coterie.measure(loaded, ["frequency"], original=less)


def test_rows_that_are_kept_are_counted(tmp_path):
    """Three people typed it, the release says it four times."""
    table = pl.DataFrame({"user": ["1", "2", "3", "3"], "query": "tea"})
    coterie.write(api.anonymize_prepared(coterie.log(table), SuppressRare(k=3)), tmp_path / "safe.tsv")
    loaded = coterie.api.load_release(tmp_path / "safe.tsv")
    assert coterie.measure(loaded, ["frequency"], original=coterie.log(table)).height
    with pytest.raises(InputError, match="not as often"):
        coterie.measure(loaded, ["frequency"], original=coterie.log(table.head(3)))


def test_concepts_are_not_looked_for_in_the_original(tmp_path):
    log = coterie.prepare(coterie.read("synth:users=60,seed=7"))
    coterie.write(api.anonymize_prepared(log, Generalize(k=3), seed=1), tmp_path / "safe.tsv")
    assert coterie.measure(coterie.api.load_release(tmp_path / "safe.tsv"), original=log).height


@pytest.mark.parametrize("name", registry.names("measures"))
def test_measures_look_at_documents_or_say_why_not(name):
    log = terms_log()
    release = api.anonymize_prepared(log, MicroaggregateDocuments(k=3), seed=1)
    try:
        assert coterie.measure(release, [name], original=log, seed=1).height
    except NotApplicableError as error:
        assert "does not apply here" in str(error)  # noqa: PT017 (either is fine)
