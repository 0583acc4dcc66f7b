"""Engines of other packages are found by their entry points, as Spark's own is."""

from contextlib import contextmanager
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import polars as pl
import pytest

import coterie
from coterie.core import registry
from coterie.engines import clusters
from coterie.errors import InputError, ParameterError


class Session:
    """Of an engine that nobody here made."""


@pytest.fixture
def lake(monkeypatch):
    """A registered engine that reads whatever it is asked for as one small table."""
    asked = []

    @contextmanager
    def session_for(address):
        asked.append(address)
        yield Session()

    def read(paths, reading):
        asked.append((paths, reading.parts))
        return coterie.log(pl.DataFrame({"user": ["a", "b"], "query": ["tea", "tea"]}))

    module = SimpleNamespace(
        addresses="lake://HOST",
        takes=lambda given: isinstance(given, Session) or (isinstance(given, str) and given.startswith("lake://")),
        session_for=session_for,
        read=read,
        log=lambda table, reading: read([], reading),
        examine=lambda address: iter([f"a lake at {address}"]),
        asked=asked,
    )
    point = EntryPoint("lake", "lake_of_somebody", "coterie.engines")
    monkeypatch.setattr(registry, "_entry_points", lambda kind: [point] if kind == "engines" else [])
    monkeypatch.setattr(registry, "module", lambda kind, name: module)
    return module


def test_an_address_and_a_session_find_their_engine(lake):
    assert clusters.cluster_at("lake://here") is lake
    with clusters.session_for("lake://here") as session:
        assert coterie.read("no.tsv", session=session, parts=3).rows_read == 2
    assert lake.asked == ["lake://here", (["no.tsv"], 3)]
    assert coterie.log(Session()).rows_read == 2


def test_an_address_that_nobody_knows(lake):
    with pytest.raises(ParameterError, match="--engine is one of: lake://HOST"):
        clusters.cluster_at("spark://here")
    with pytest.raises(ParameterError, match="A session of a cluster is expected, not int"):
        coterie.read("no.tsv", session=7)


def test_where_no_engine_is_installed(monkeypatch):
    monkeypatch.setattr(registry, "_entry_points", lambda _kind: [])
    with pytest.raises(ParameterError, match="No engine is installed"):
        clusters.cluster_at("spark://here")


def test_an_engine_that_lacks_something(lake):
    del lake.examine
    with pytest.raises(InputError, match="The engine lake lacks examine"):
        clusters.cluster_of(Session())


def test_spark_is_registered_like_any_other():
    assert registry.names("engines") == ["spark"]
    assert clusters.cluster_at("yarn").addresses.startswith("spark://HOST:PORT")
    assert clusters.cluster_of([]) is None


def test_without_an_address_there_is_no_cluster():
    with clusters.session_for(None) as session:
        assert session is None
