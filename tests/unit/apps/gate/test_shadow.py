"""The shadow stops gates that count wrongly, and no others."""

import random

import polars as pl
import pytest

from coterie.apps.gate.gate import Gate
from coterie.apps.gate.shadow import Shadow
from coterie.errors import BrokenPromiseError
from tests.helpers.gates import Estimates, HitsInPlaceOfUsers, TagWithoutQuery, gate_in, rows_of


def _log(people=40):
    """Each of 200 queries about 20 times."""
    draw = random.Random(7)
    rows = [(f"u{draw.randrange(people)}", f"q{draw.randrange(200)}", draw.random() * 23) for _ in range(4000)]
    return rows_of(*sorted(rows, key=lambda row: row[2]))


@pytest.mark.parametrize("share", [1, 4])
def test_a_gate_that_counts_rightly_passes(tmp_path, share):
    with gate_in(tmp_path, k=5, shadow=share) as gate:
        for chunk in _log().iter_slices(900):
            gate.offer_many(chunk)
    sidecar = next((tmp_path / "out").glob("*.json")).read_text()
    assert '"shadow"' in sidecar


@pytest.mark.parametrize(("table", "people"), [(TagWithoutQuery, 40), (HitsInPlaceOfUsers, 6), (Estimates, 40)])
@pytest.mark.parametrize("share", [1, 8])
def test_broken_gates_are_stopped(tmp_path, table, people, share):
    class Broken(Gate):
        table_class = table

    gate = Broken(
        state=tmp_path / "state", output=tmp_path / "out", k=10, window="1d", flush="6h", shadow=share
    )  # fmt: skip
    with gate.abandoned(), pytest.raises(BrokenPromiseError, match="the gate stopped"):
        _all_of(gate, _log(people))
    assert not list((tmp_path / "out").glob("part-*"))


def _all_of(gate, rows):
    gate.offer_many(rows)
    gate.end_window()


def test_it_goes_on_after_a_restart(tmp_path):
    rows = _log()
    for chunk in rows.iter_slices(1000):
        gate = gate_in(tmp_path, k=5)
        gate.offer_many(chunk)
        gate.close(keep_open=True)
    assert gate.counts.events == rows.height


def test_another_version_of_its_hash_waits_for_the_next_window(monkeypatch):
    key = "ab" * 32
    shadow = Shadow(2, key, 1)
    monkeypatch.setattr(pl, "__version__", "0.0")
    again = Shadow(2, key, 1, shadow.data())
    assert not again.whole
    assert again.compare(pl.DataFrame(schema=["what", "item", "page", "day", "count", "crowd"]), True) is None
    assert not Shadow(2, key, 1, again.data()).whole, "another restart does not make up for what it has not seen"


def test_one_query_in_64_is_chosen_by_the_key():
    texts = pl.Series([f"q{n}" for n in range(64_000)])
    one, other = (Shadow(2, key * 32, 64).chosen(texts) for key in ("ab", "cd"))
    assert 800 < one.sum() < 1200
    assert (one & other).sum() < 60
