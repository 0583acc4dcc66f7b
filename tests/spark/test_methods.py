"""Every method that runs on a cluster gives the same rows and the same checks there."""

import polars as pl
import pytest

import coterie
from coterie.core import registry

CASES = [
    ("suppress_rare", {"k": 5, "users": "session"}),
    ("suppress_rare", {"k": 5, "attrs": "keep"}),
    ("suppress_rare", {"k": 5, "users": "pseudonym", "attrs": "drop"}),
    ("microaggregate", {"k": 5}),
    ("interest_microaggregate", {"k": 5, "publish": "queries"}),
    ("semantic_microaggregate", {"k": 5}),
    ("concept_microaggregate", {"k": 5}),
    ("affinity", {"k": 5}),
    ("generalize", {"k": 5}),
    ("generalize_visits", {"k": 5}),
    ("common_visits", {"k": 5}),
]


@pytest.fixture(scope="module")
def tables(session):
    """Rows here, and the same on the cluster, by kind of log."""
    found = {}
    for kind in ("topics", "visits"):
        rows = coterie.read(f"synth:users=1000,seed=7,kind={kind}").to_polars()
        if kind == "visits":  # which page of one second came first is known on one machine only
            rows = rows.unique(["user", "time"], keep="first", maintain_order=True)
        found[kind] = rows, session.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return found


@pytest.mark.parametrize(("name", "params"), CASES, ids=str)
def test_a_release_is_the_same_on_a_cluster(tables, name, params):
    kind = "visits" if "visits" in name else "topics"
    here, there = (
        coterie.anonymize(coterie.prepare(coterie.log(table)), registry.method(name)(**params), seed=5)
        for table in tables[kind]
    )
    assert there.verified == here.verified
    assert there.to_polars().equals(here.to_polars())
    assert [check.text for check in there.checks] == [check.text for check in here.checks]


def test_every_method_is_tried():
    anywhere = {name for name in registry.names("methods") if registry.method(name).anywhere}
    assert anywhere == {name for name, _ in CASES} | {"private_counts"}
