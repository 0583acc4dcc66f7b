"""An adversary who knows one rare query of a person looks for the person's rows.

She wins on the raw log and on a broken method, and finds nobody in a release.
"""

import polars as pl
import pytest

import coterie
from coterie.core.log import Log
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers.broken_methods import CountsRows
from tests.helpers.runs import a_run, plan_of

K = 5


@pytest.fixture(scope="module")
def log() -> Log:
    return coterie.prepare(coterie.read("synth:users=300,seed=7"))


def found(rows: pl.DataFrame, log: Log) -> float:
    """Share of people of whom the adversary finds a row by their rarest query, and few others fit."""
    original = log.frame.select("user", "query").unique().collect()
    crowd = original.group_by("query").len("people")
    rarest = original.join(crowd, on="query").sort("people", "query").group_by("user", maintain_order=True).first()
    known = rarest.filter(pl.col("people") < K)
    hit = known.join(rows, on="query", how="semi")
    return hit.height / rarest.height


def linked(rows: pl.DataFrame, log: Log) -> float:
    """Share of people whose whole released history the adversary reads under one name."""
    owners = log.frame.select("user", "query").unique().collect()
    alone = owners.filter(pl.len().over("query") == 1)
    named = alone.join(rows.drop_nulls("user"), on="query", how="semi")
    return named["user"].n_unique() / owners["user"].n_unique()


def unchecked(log: Log, method) -> pl.DataFrame:
    """What a method would publish if nobody verified it."""
    run = a_run(1)
    return method.release(log, plan_of(method, log, run), run).frame.collect()


def test_she_wins_on_the_raw_log(log):
    assert found(log.frame.collect(), log) > 0.8
    assert linked(log.frame.collect(), log) > 0.8


def test_she_wins_on_a_broken_method(log):
    assert found(unchecked(log, CountsRows(k=K)), log) > 0
    assert linked(unchecked(log, CountsRows(k=2, users="pseudonym")), log) > 0.5


@pytest.mark.parametrize("users", ["drop", "session", "pseudonym"])
def test_she_finds_nobody_in_a_release(log, users):
    rows = coterie.anonymize(log, SuppressRare(k=K, users=users), seed=1).to_polars()
    assert rows.height > 0
    assert found(rows, log) == 0
    assert linked(rows, log) == 0
