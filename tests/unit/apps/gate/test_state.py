"""The snapshot comes back as it was, or not at all."""

import numpy as np
import pytest

from coterie.apps.gate.state import State, read, required
from coterie.errors import InputError, MissingError


def _saved(folder):
    state = State(folder)
    state.save({"at": 7}, {"numbers": np.arange(5, dtype=np.uint16), "none": np.zeros(0), "text": b"abc"})
    return state


def test_it_comes_back(tmp_path):
    state = _saved(tmp_path / "s")
    header, blobs = read(tmp_path / "s")
    assert header["at"] == 7
    assert (blobs["numbers"].tolist(), blobs["none"].size, blobs["text"]) == ([0, 1, 2, 3, 4], 0, b"abc")
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "s" / "snapshot").stat().st_mode & 0o777 == 0o600
    state.remove()
    assert read(tmp_path / "s") is None
    state.release()


@pytest.mark.parametrize("place", [0, 20, 24, 60, -20, -1])
def test_damage_is_noticed(tmp_path, place):
    _saved(tmp_path).release()
    data = bytearray((tmp_path / "snapshot").read_bytes())
    data[place] ^= 1
    (tmp_path / "snapshot").write_bytes(data)
    with pytest.raises(InputError, match=r"is damaged|another version"):
        read(tmp_path)
    (tmp_path / "snapshot").write_bytes(bytes(data[:-30]))
    with pytest.raises(InputError, match=r"is damaged|another version"):
        read(tmp_path)


def test_where_there_is_none(tmp_path):
    assert read(tmp_path) is None
    with pytest.raises(MissingError, match="no state of a gate"):
        required(tmp_path)


def test_what_a_killed_gate_left_is_removed(tmp_path):
    (tmp_path / "snapshot.new").write_bytes(b"half")
    State(tmp_path).release()
    assert not (tmp_path / "snapshot.new").exists()
