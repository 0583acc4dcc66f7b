"""What attackers learn from a gate: with key and state what they guess, without the key nothing; from parts no hour."""

import json

import polars as pl
import pytest

from coterie.apps.gate import state as states
from coterie.apps.gate.keys import Key, KeyFile
from coterie.apps.gate.table import GateTable, Texts
from tests.helpers.gates import gate_in, lines_in, rows_of

HELD = [f"held query {n}" for n in range(200)]
NEVER = [f"never asked {n}" for n in range(200)]


@pytest.fixture
def held(tmp_path):
    gate = gate_in(tmp_path, k=3)
    gate.offer_many(rows_of(*((f"u{n % 7}", query, 1) for n, query in enumerate(HELD))))
    gate.commit()
    gate.abandon()
    return tmp_path


def _found(folder, key, guesses):
    """How many guesses are held, by their tags."""
    _, blobs = states.read(folder / "state")
    used = blobs["0.facts"] != 0
    tags = {
        low | high << 64
        for low, high in zip(blobs["0.lows"][used].tolist(), blobs["0.highs"][used].tolist(), strict=True)
    }
    return len(tags & set(GateTable(3, key.words).tags(Texts.of(pl.Series(guesses)))))


def test_key_and_state_together_tell_guesses(held):
    """The limit that the promise states: this is pseudonymous data until the key is destroyed."""
    key = next(iter(KeyFile(held / "key", (held / "state" / "lock").read_text()).read().values()))
    assert (_found(held, key, HELD), _found(held, key, NEVER)) == (200, 0)


def test_the_state_alone_tells_none(held):
    assert _found(held, Key.new(), HELD) == 0


def test_the_state_does_not_link_a_person(held):
    """200 queries of seven people: as many tags of people as there are (query, person)."""
    _, blobs = states.read(held / "state")
    assert len(set(blobs["0.people"].tolist())) == len(HELD)


def test_accounts_are_an_oracle(tmp_path):
    """Another limit: two accounts at k = 3 learn whether one more person asked, and how often."""
    accounts = [(name, guess, 1) for name in ("x", "y") for guess in ("asked by one", "asked by nobody")]
    with gate_in(tmp_path, k=3) as gate:
        gate.offer_many(rows_of(*accounts, ("ann", "asked by one", 2), ("ann", "asked by one", 3)))
    assert lines_in(tmp_path / "out").select("item", "count").rows() == [("asked by one", 4)]


@pytest.mark.parametrize(("rest", "dated"), [("window", False), ("part", True)])
def test_parts_date_single_people_only_where_that_was_asked_for(tmp_path, rest, dated):
    crowd = [(f"u{n}", "tea", n / 10) for n in range(5)]
    with gate_in(tmp_path, k=3, flush="1h", rest=rest) as gate:
        gate.offer_many(rows_of(*crowd, ("ann", "tea", 9.5), ("bob", "maps", 20)))
    parts = json.loads((tmp_path / "out" / "index.json").read_text())["parts"]
    assert any(part["closed"].endswith("10:00:00") for part in parts) is dated
