"""The key file: private, never made anew for a state, overwritten before it goes."""

import os

import pytest

from coterie.apps.gate.keys import Key, KeyFile
from coterie.errors import InputError, MissingError, ParameterError


def test_keys_are_random_and_never_shown():
    one, other = Key.new(), Key.new()
    assert one.name != other.name
    assert one.words.size == 4
    assert one.tags not in repr(one) + one.name
    assert one.mark(b"a line") != other.mark(b"a line")


def test_a_file_that_only_its_owner_may_read(tmp_path):
    file, key = KeyFile(tmp_path / "key"), Key.new()
    assert file.read() == {}
    os.umask(0o000)
    file.write([key])
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert file.needed(key.name) == key
    with pytest.raises(ParameterError, match="belongs to another state"):
        KeyFile(tmp_path / "key", "another").read()
    with pytest.raises(MissingError, match="The key of this state is not in"):
        file.needed("another")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(ParameterError, match="can be read by others"):
        file.read()


def test_old_keys_are_overwritten(tmp_path):
    file, key = KeyFile(tmp_path / "key"), Key.new()
    file.write([key])
    os.link(tmp_path / "key", tmp_path / "the same bytes on the disk")
    file.write([Key.new()])
    assert set((tmp_path / "the same bytes on the disk").read_bytes()) == {0}
    os.link(tmp_path / "key", tmp_path / "again")
    file.destroy()
    assert set((tmp_path / "again").read_bytes()) == {0}
    assert not (tmp_path / "key").exists()
    file.destroy()  # nothing is there


def test_what_a_killed_gate_left_is_overwritten(tmp_path):
    file = KeyFile(tmp_path / "key")
    (tmp_path / "key.new").write_text("a key")
    os.link(tmp_path / "key.new", tmp_path / "the same bytes on the disk")
    file.sweep()
    assert not (tmp_path / "key.new").exists()
    assert set((tmp_path / "the same bytes on the disk").read_bytes()) == {0}


def test_what_is_no_key_file(tmp_path):
    (tmp_path / "key").write_text('{"format": 1, "state": "", "keys": [{"tags": "ab", "shadow": "cd"}]}')
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(InputError, match="key file"):
        KeyFile(tmp_path / "key").read()
    (tmp_path / "link").symlink_to(tmp_path / "key")
    with pytest.raises(ParameterError, match="is a link"):
        KeyFile(tmp_path / "link").read()
    with pytest.raises(MissingError, match="does not exist"):
        KeyFile(tmp_path / "nowhere" / "key").write([Key.new()])
