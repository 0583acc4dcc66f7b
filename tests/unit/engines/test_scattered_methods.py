"""Methods that run anywhere give the same release, and the same checks, on rows that are scattered."""

from dataclasses import replace

import pytest

import coterie
from coterie.core import registry
from coterie.testing.scattered import Scattered

CASES = [
    ("suppress_rare", {"k": 3}),
    ("suppress_rare", {"k": 3, "users": "session"}),
    ("suppress_rare", {"k": 3, "users": "pseudonym"}),
    ("suppress_rare", {"k": 3, "attrs": "keep"}),
    ("suppress_rare", {"k": 3, "users": "pseudonym", "attrs": "drop"}),
    ("microaggregate", {"k": 3, "block_users": 20}),
    ("interest_microaggregate", {"k": 3, "publish": "queries"}),
    ("semantic_microaggregate", {"k": 3}),
    ("concept_microaggregate", {"k": 3, "block_users": 20}),
]


@pytest.fixture(scope="module")
def log():
    return coterie.prepare(coterie.read("synth:users=60,seed=7"))


def scattered(log, seed=1, **options):
    """The same log with its rows elsewhere."""
    engine = Scattered(seed, **options)
    return replace(log, frame=engine.keep(log.frame), engine=engine, resources=())


@pytest.mark.parametrize(("name", "params"), CASES, ids=str)
def test_a_release_is_the_same_wherever_rows_are(log, name, params):
    method = registry.method(name)(**params)
    here = coterie.anonymize(log, method, seed=5)
    elsewhere = scattered(log)
    there = coterie.anonymize(elsewhere, method, seed=5)
    assert there.to_polars().equals(here.to_polars())
    assert there.verified == here.verified
    assert [check.text for check in there.checks] == [check.text for check in here.checks]
    assert there.warnings == here.warnings
    assert there.record.subjects.collect().equals(here.record.subjects.collect())


def test_suppress_rare_brings_no_rows_here(log):
    elsewhere = scattered(log)
    coterie.anonymize(elsewhere, registry.method("suppress_rare")(k=3), seed=5)
    assert elsewhere.engine.came == 0
