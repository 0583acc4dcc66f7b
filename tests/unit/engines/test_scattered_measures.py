"""Measures that run anywhere give the same numbers where rows are scattered; the others say that they do not."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie import measures
from coterie.core import registry
from coterie.core.shapes import QUERIES
from coterie.errors import InputError, NotApplicableError, ParameterError
from coterie.testing.scattered import Scattered
from tests.unit.engines.test_scattered_methods import log_for, scattered

ANYWHERE = [name for name in registry.names("measures") if measures.runs_anywhere(name)]
CASES = [
    ("suppress_rare", {"k": 3, "users": "session"}, "parquet"),
    ("suppress_rare", {"k": 3, "users": "pseudonym", "attrs": "keep"}, "tsv"),
    ("microaggregate", {"k": 3}, "tsv"),
    ("concept_microaggregate", {"k": 3, "synthetic": "label"}, "tsv"),
    ("generalize", {"k": 3, "users": "pseudonym"}, "tsv"),
]


@pytest.fixture(scope="module", params=CASES, ids=str)
def measured(request, tmp_path_factory):
    """The log and a release of it that was written in two parts."""
    name, params, kind = request.param
    log = log_for(QUERIES)
    folder = tmp_path_factory.mktemp("measured")
    release = coterie.anonymize(log, name, seed=5, **params)
    coterie.write(release, folder / f"safe.{kind}", record=folder / "record", parts=2)
    return log, folder / f"safe.{kind}", folder / "record"


def test_the_numbers_are_the_same(measured):
    log, path, record = measured
    elsewhere, why = scattered(log), []
    there = coterie.measure(elsewhere, coterie.load_release(path, record), seed=3, kappas=[2], left_out=why.append)
    here = coterie.measure(log, coterie.load_release(path, record), seed=3, kappas=[2])
    # Single rows have no numbers elsewhere, so these two need one machine.
    of_rows = (pl.col("name") == "release_share") & pl.col("key").is_in(["events", "users"])
    of_concepts = (pl.col("name") == "release_share") & pl.col("key").is_in(["queries", "queries.count"])
    missing = of_rows | of_concepts if any(p.releases == "concepts" for p in _promises(path)) else of_rows
    # So do units, which are whole rows of all others.
    of_units = (pl.col("name") == "witness") & pl.col("key").str.contains(
        "one_query|own_query|query_and_day|two_queries"
    )
    expected = here.filter(pl.col("name").is_in(ANYWHERE) & ~missing & ~of_units)
    assert there.rows() == expected.rows()
    assert there["name"].n_unique() >= 2
    assert elsewhere.engine.came == 0


def _promises(path):
    return coterie.load_release(path).promises


def test_which_ones_run_anywhere():
    asked_for = {
        "release_share",
        "exposure",
        "information_loss",
        "frequency",
        "homogeneity",
        "linkage",
        "witness",
        "personal_data",
    }
    assert asked_for <= set(ANYWHERE)


@pytest.mark.parametrize("seed", [1, 2])
def test_attacks_on_a_sample_fetch_the_sample_only(measured, monkeypatch, seed):
    """Eight people are attacked, among all names; what comes here is theirs, and a line for each name and text."""
    log, path, record = measured
    for name in ("linkage", "witness"):
        monkeypatch.setattr(measures.load(name), "ATTACKED", 8)
    fetched, small = [], Scattered.small

    def told(self, table, *limit):
        rows = small(self, table, *limit)
        fetched.append(rows)
        return rows

    monkeypatch.setattr(Scattered, "small", told)
    names, release = ["linkage", "witness"], coterie.load_release(path, record)
    elsewhere = scattered(log, seed)
    try:
        there = coterie.measure(elsewhere, release, names, seed=seed)
    except NotApplicableError:  # concepts, in which nobody looks for words
        assert any(promise.releases == "concepts" for promise in release.promises)
        return
    here = coterie.measure(log, release, names, seed=seed)
    assert there.rows() == here.join(there, on=["name", "key"], how="semi", maintain_order="left").rows()
    assert elsewhere.engine.came == 0
    whose = dict(release.record.subjects.drop_nulls("released").select("released", "original").collect().rows())
    of_people = [
        len({whose.get(name, name) for name in rows["subject"]})
        for rows in fetched
        if rows.columns == ["subject", "item"]
    ]
    assert len(of_people) >= 2
    assert max(of_people) <= 8


def test_without_a_record_rows_are_compared_with_the_log(measured):
    log, path, _ = measured
    release = coterie.load_release(path)
    here, there = (coterie.measure(each, release, ["release_share"]) for each in (log, scattered(log)))
    assert there.equals(here)
    if all(promise.releases == "text" for promise in release.promises):
        fewer = replace(log, frame=log.frame.filter(pl.col("query") > "m").collect().lazy())
        sentences = []
        for each in (fewer, scattered(fewer)):
            with pytest.raises(InputError, match="made from another log") as error:
                coterie.measure(each, release, ["release_share"])
            sentences.append(str(error.value))
        assert sentences[0] == sentences[1]


@pytest.mark.parametrize("name", [name for name in registry.names("measures") if not measures.runs_anywhere(name)])
def test_others_say_that_they_run_on_one_machine(measured, name):
    log, path, record = measured
    with pytest.raises(ParameterError, match=rf"The measure '{name}' runs on one machine; leave out session\."):
        coterie.measure(scattered(log), coterie.load_release(path, record), [name])


@pytest.mark.parametrize("name", ["exposure", "information_loss"])
@pytest.mark.parametrize("place", [lambda log: log, scattered], ids=["here", "elsewhere"])
def test_rows_without_names_are_nobodys(name, place):
    """A record from a cluster has no table of rows: nothing of anybody would be found, and the number be 0."""
    log = log_for(QUERIES)
    release = coterie.anonymize(log, "suppress_rare", k=3, seed=5)
    bare = replace(release, record=replace(release.record, rows=None))
    with pytest.raises(NotApplicableError, match="does not tell whose they are"):
        coterie.measure(place(log), bare, [name])


def test_a_release_that_is_elsewhere_itself():
    log = log_for(QUERIES)
    elsewhere = scattered(log)
    here, there = (coterie.anonymize(each, "microaggregate", k=3, seed=5) for each in (log, elsewhere))
    names = ["release_share", "exposure", "information_loss", "frequency"]
    expected = coterie.measure(log, here, names, seed=3)
    assert coterie.measure(elsewhere, there, names, seed=3).equals(expected)
