"""A promise may answer for columns that point at a person; a sidecar cannot make it answer for more.

Covers: promises/__init__.py
"""

import json
from dataclasses import dataclass
from types import SimpleNamespace

import polars as pl
import pytest

import coterie
from coterie.core import registry
from coterie.core.shapes import VISITS
from coterie.errors import BrokenPromiseError, InputError
from coterie.promises import judge
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.testing import check_method, check_promise
from tests.helpers.agent_k import AgentK
from tests.helpers.hand_made import case_of, check_of
from tests.helpers.keep_agents import KeepAgents

POINTS = {
    "methods": [SimpleNamespace(name="keep_agents", module="tests.helpers.keep_agents")],
    "promises": [SimpleNamespace(name="agent_k", module="tests.helpers.agent_k")],
}
ROWS = [
    {
        "user": f"visitor {at}",
        "path": "/a",
        "agent": "Firefox",
        "address": f"10.0.0.{at}",
        "referrer": "http://x.example",
    }
    for at in range(4)
]


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The method and the promise as a package of somebody else would bring them."""
    monkeypatch.setattr(registry, "_entry_points", lambda kind: POINTS.get(kind, []))


@pytest.fixture
def log():
    return coterie.log(pl.DataFrame(ROWS))


def identifying(rows, *promises):
    return check_of(judge(case_of(rows, None, VISITS), promises), "identifying")


@pytest.mark.parametrize(("column", "broken"), [("agent", 0), ("referrer", 1), ("address", 1)])
def test_only_what_is_covered_may_have_values(column, broken):
    check = identifying([{"path": "/a", column: "x"}], AgentK(k=2))
    assert check.broken == broken
    assert "(address, referrer)" in check.detail
    assert check.carries_promise
    assert identifying([{"path": "/a", column: "x"}], QueryKAnonymity(k=2)).broken == 1, "it covers nothing"


def test_one_of_several_promises_is_enough():
    rows = [{"path": "/a", "agent": "x"}]
    assert identifying(rows, QueryKAnonymity(k=2), AgentK(k=2)).status == "passed"
    assert identifying(rows).status == "failed"


def test_promises_that_are_not_judged_cover_nothing():
    rows = [{"path": "/a", "agent": "x"}]
    verdict = judge(case_of(rows, None, VISITS, promised=(AgentK(k=2),)), (QueryKAnonymity(k=2),))
    assert check_of(verdict, "identifying").broken == 1


class Greedy(AgentK):
    covers = VISITS.identifying


def test_an_address_is_never_covered():
    assert identifying([{"path": "/a", "agent": "x", "referrer": "y"}], Greedy(k=2)).status == "passed"
    check = identifying([{"path": "/a", "address": "x"}], Greedy(k=2))
    assert (check.broken, check.looked_at) == (1, 1)


@dataclass(frozen=True, kw_only=True)
class Told(AgentK):
    """A careless promise, of which a sidecar could say what it covers."""

    covers: tuple[str, ...] = ()


def test_the_class_says_what_is_covered():
    assert identifying([{"path": "/a", "agent": "x"}], Told(k=2, covers=("agent",))).broken == 1


def test_it_is_examined(monkeypatch):
    check_promise(AgentK)
    monkeypatch.setattr(AgentK, "covers", ("address",))
    with pytest.raises(AssertionError, match="never for an address"):
        check_promise(AgentK)
    monkeypatch.setattr(AgentK, "covers", "agent")
    with pytest.raises(AssertionError, match="covers names columns"):
        check_promise(AgentK)


def test_a_sidecar_must_not_say_it(monkeypatch):
    monkeypatch.setitem(AgentK.__dataclass_fields__, "covers", Told.__dataclass_fields__["covers"])
    with pytest.raises(AssertionError, match="a sidecar must not say"):
        check_promise(AgentK)


def test_released_written_and_verified(tmp_path, log):
    check_method(KeepAgents)
    release = coterie.anonymize(log, KeepAgents(k=3), seed=1)
    assert release.to_polars()["agent"].to_list() == ["Firefox"] * 4
    path = tmp_path / "pages.tsv"
    coterie.write(release, path, record=tmp_path / "record")
    assert coterie.verify(path, log, record=tmp_path / "record").exit_code == 0
    assert coterie.verify(path, log, k=4).exit_code == 0
    assert [check.name for check in coterie.verify(path, log, k=5).broken] == ["agents"]
    assert coterie.verify(path).exit_code == 3, "without the original nobody has counted"


@pytest.mark.parametrize("column", ["address", "referrer"])
def test_nothing_else_is_released(monkeypatch, log, column):
    monkeypatch.setattr(KeepAgents, "leaves", ("agent", column))
    with pytest.raises(BrokenPromiseError, match="columns that point at a person"):
        coterie.anonymize(log, KeepAgents(k=3), seed=1)


def test_no_sidecar_covers_more(tmp_path, log, monkeypatch):
    path, sidecar = tmp_path / "pages.tsv", tmp_path / "pages.tsv.json"
    with monkeypatch.context() as careless:  # a forger writes what no version would
        careless.setattr(AgentK, "covers", Greedy.covers)
        careless.setattr(KeepAgents, "leaves", ("agent", "referrer"))
        coterie.write(coterie.anonymize(log, KeepAgents(k=3), seed=1), path)
    assert {check.name for check in coterie.verify(path, log).broken} == {"identifying"}
    written = json.loads(sidecar.read_text())
    for covers in ("referrer", ["agent", "referrer"]):
        covering = {**written, "promises": [{**written["promises"][0], "covers": covers}]}
        sidecar.write_text(json.dumps(covering))
        with pytest.raises(InputError, match="not a sidecar"):
            coterie.verify(path, log)
    forged = {**written, "method": "suppress_rare"}
    sidecar.write_text(json.dumps(forged))
    assert {"identifying", "sidecar"} <= {check.name for check in coterie.verify(path, log).broken}


def test_no_promise_is_added_to_a_sidecar(tmp_path, log):
    """Somebody who releases agents under another promise, and adds one that covers them."""
    path, sidecar = tmp_path / "pages.tsv", tmp_path / "pages.tsv.json"
    rare = coterie.log(pl.DataFrame([*ROWS, {"user": "z", "path": "/z", "agent": "Rare"}]))
    coterie.write(coterie.anonymize(log, KeepAgents(k=3), seed=1), path)
    path.write_text(path.read_text().replace("Firefox", "Rare"))
    broken = {check.name for check in coterie.verify(path, rare).broken}
    assert broken == {"digest", "agents"}, "whoever covers a column is asked about it"
    written = json.loads(sidecar.read_text())
    other = {"name": "query_k_anonymity", "k": 3, "users": "drop", "attrs": "drop", "session_minutes": 30}
    words = QueryKAnonymity(k=3, attrs="drop")
    other |= {"sentence": words.sentence, "headline": words.headline}
    forged = {"method": "suppress_rare", "parameters": {"k": 3, "users": "drop", "attrs": "drop"}}
    sidecar.write_text(json.dumps({**written, **forged, "promises": [other, *written["promises"]]}))
    broken = {check.name for check in coterie.verify(path, rare).broken}
    assert {"sidecar", "agents"} <= broken
