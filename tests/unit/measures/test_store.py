"""Scores that were measured before: found again, never with a string of the log, and only where all is the same."""

import stat
from dataclasses import replace

import pytest

import coterie
from coterie.core import registry
from coterie.core.scores import Score
from coterie.measures.comparison import Comparison, Store, default_store, scores_of
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log

NAMES = ["linkage", "attribution", "release_share", "frequency"]


@pytest.fixture(scope="module")
def release():
    return coterie.anonymize(queries_log(), Microaggregate(k=2), seed=1)


def _comparison(release, **changes):
    values = {"seed": 3, "show_values": False, "inputs": {}, **changes}
    return Comparison.of(queries_log(), release, **values)


def _scores(comparison, store, names=NAMES):
    left_out = {}
    return scores_of(comparison, names, left_out.__setitem__, strict=False, store=store), left_out


def _forbid(monkeypatch, *names):
    for name in names:
        module = registry.module("measures", name)
        monkeypatch.setattr(module, "measure", lambda _comparison: pytest.fail("measured again"))


def test_the_second_time_nothing_is_measured(release, tmp_path, monkeypatch):
    store = Store(tmp_path / "cache")
    first = _scores(_comparison(release), store)
    for name in NAMES:
        monkeypatch.setattr(
            registry.module("measures", name), "measure", lambda _comparison: pytest.fail("measured again")
        )
    second = _scores(_comparison(release), store)
    assert first[0].equals(second[0])
    assert first[1] == second[1]


def test_what_does_not_apply_is_kept_too(tmp_path, monkeypatch):
    nameless = coterie.anonymize(queries_log(), SuppressRare(k=2), seed=1)
    store = Store(tmp_path)
    _, reasons = _scores(_comparison(nameless), store, ["attribution"])
    assert reasons
    monkeypatch.setattr(
        registry.module("measures", "attribution"), "measure", lambda _comparison: pytest.fail("measured again")
    )
    assert _scores(_comparison(nameless), store, ["attribution"])[1] == reasons


def test_other_seeds_logs_and_releases_are_measured(release, tmp_path):
    store, own = Store(tmp_path), _comparison(release)
    store.keep(own, "linkage", [Score("a", 1.0, "%")])
    assert store.find(own, "linkage") == ([Score("a", 1.0, "%")], None)
    other = coterie.anonymize(queries_log(), Microaggregate(k=3), seed=1)
    log = queries_log()
    fewer = replace(log, frame=log.frame.head(20))
    for comparison in (
        _comparison(release, seed=4),
        _comparison(other),
        Comparison.of(fewer, release, seed=3, show_values=False),
        _comparison(replace(release, record=None)),
    ):
        assert store.find(comparison, "linkage") is None
    assert store.find(own, "witness") is None


def test_no_string_of_the_log_is_kept(release, tmp_path):
    store = Store(tmp_path)
    scores, _ = _scores(_comparison(release, show_values=True), store)
    assert scores["label"].drop_nulls().len() > 0
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    rows = queries_log().to_polars()
    for text in (*rows["query"].unique(), *rows["user"].drop_nulls().unique()):
        assert text.encode() not in kept
    assert store.find(_comparison(release), "frequency") is None


def test_the_folder_is_private_and_a_damaged_file_is_measured_again(release, tmp_path):
    store, own = Store(tmp_path / "new" / "cache"), _comparison(release)
    store.keep(own, "linkage", [Score("a", 1.0, "%")])
    (file,) = store.folder.iterdir()
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_bytes(b'{"scores": [["a", "b"]]}')
    assert store.find(own, "linkage") is None


def test_what_json_cannot_hold_is_not_kept(release, tmp_path):
    store, own = Store(tmp_path), _comparison(release)
    store.keep(own, "linkage", [Score("a", float("nan"), "%")])
    assert store.find(own, "linkage") is None


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_CACHE", "off")
    assert default_store() is None
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    assert default_store() == Store(tmp_path)
    assert default_store(asked_for=False) is None
    monkeypatch.delenv("COTERIE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_store() == Store(tmp_path / "coterie")
