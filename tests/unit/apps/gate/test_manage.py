"""Looking after a gate, and its numbers for Prometheus."""

import pytest

from coterie.apps.gate import run
from coterie.apps.gate.manage import forget, rotate, status_of
from coterie.errors import CoterieError, InputError, MissingError, ParameterError
from tests.helpers.gates import gate_in, lines_in, rows_of, totals


def _held(folder):
    gate = gate_in(folder)
    gate.offer_many(rows_of(("a", "tea", 1), ("b", "tea", 1), ("a", "rare", 2)))
    gate.commit()
    return gate


def test_status(tmp_path):
    _held(tmp_path).abandon()
    status = status_of(tmp_path / "state")
    assert (status["events"], status["held"], status["open"], status["parts"]) == (3, 1, 1, 0)
    with pytest.raises(MissingError):
        status_of(tmp_path / "nowhere")


def test_rotate_ends_the_window_now(tmp_path):
    gate = _held(tmp_path)
    with pytest.raises(ParameterError, match="Another gate works"):
        rotate(tmp_path / "state", tmp_path / "key", tmp_path / "out")
    gate.abandon()
    before = (tmp_path / "key").read_bytes()
    rotate(tmp_path / "state", tmp_path / "key", tmp_path / "out")
    assert status_of(tmp_path / "state")["held"] == 0
    assert (tmp_path / "key").read_bytes() != before
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 2)]


def test_forget_removes_key_and_state_and_leaves_parts(tmp_path):
    gate = _held(tmp_path)
    with pytest.raises(ParameterError, match="Another gate works"):
        forget(tmp_path / "state", tmp_path / "key")
    assert (tmp_path / "key").exists()
    gate.abandon()
    forget(tmp_path / "state", tmp_path / "key")
    assert not (tmp_path / "key").exists()
    with pytest.raises(MissingError):
        status_of(tmp_path / "state")
    gate_in(tmp_path).abandon()  # a new state can begin


def test_metrics_are_counts_only(tmp_path):
    gate = _held(tmp_path)
    text = run.metrics_text(gate.status())
    gate.abandon()
    assert "coterie_gate_held_queries 1\n" in text
    assert "# TYPE coterie_gate_events_total counter\n" in text
    assert "tea" not in text
    run.write_metrics({"events": 7}, tmp_path / "m.prom")
    assert "coterie_gate_events_total 7\n" in (tmp_path / "m.prom").read_text()


def test_forget_destroys_no_file_but_the_key_of_this_state(tmp_path):
    for name in ("one", "other"):
        _held(tmp_path / name).abandon()
    notes = tmp_path / "notes"
    notes.write_text("mine")
    notes.chmod(0o600)
    for wrong in (tmp_path / "other" / "key", notes):
        before = wrong.read_bytes()
        with pytest.raises(CoterieError):
            forget(tmp_path / "one" / "state", wrong)
        assert wrong.read_bytes() == before
    assert status_of(tmp_path / "one" / "state")["held"] == 1


def test_forget_removes_a_damaged_state(tmp_path):
    _held(tmp_path).abandon()
    (tmp_path / "state" / "snapshot").write_bytes(b"no snapshot")
    with pytest.raises(InputError, match="coterie gate forget removes it"):
        gate_in(tmp_path)
    forget(tmp_path / "state", tmp_path / "key")
    assert not (tmp_path / "key").exists()
    gate_in(tmp_path).abandon()
