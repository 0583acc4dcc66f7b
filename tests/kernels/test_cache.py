"""Where compiled kernels are kept: reading numba's index runs what is in it, so only in a folder that is ours alone."""

import os
from pathlib import Path

import pytest

from coterie.kernels import _cache


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The four places in their order, none of them there yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(_cache, "_HERE", tmp_path / "package")
    monkeypatch.setattr(_cache.tempfile, "tempdir", str(tmp_path / "temporary"))
    return [
        tmp_path / "named",
        tmp_path / "user" / "coterie-kernels",
        tmp_path / "package" / "__pycache__",
        tmp_path / "temporary" / f"coterie-kernels-{os.getuid()}",
    ]


def _found() -> Path | None:
    return _cache.folder.__wrapped__()


def test_the_order_of_places(places):
    for place in places:
        assert _found() == place
        assert place.stat().st_mode & 0o777 == 0o700, "made by us for us alone"
        place.chmod(0o770)
    assert _found() is None


def _writable(place: Path) -> None:
    place.mkdir()
    place.chmod(0o702)


def _link(place: Path) -> None:
    (place.parent / "aim").mkdir(mode=0o700)
    place.symlink_to(place.parent / "aim")


def _file(place: Path) -> None:
    place.touch()


def _of_another(place: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    place.mkdir(mode=0o700)
    os.chown(place, 65534, 65534)


@pytest.mark.parametrize("make", [_writable, _link, _file, _of_another])
def test_a_folder_that_others_may_have_filled(places, make):
    make(places[0])
    assert _found() == places[1]


def test_a_folder_that_can_only_be_read_serves_once_it_is_filled(places, monkeypatch):
    places[0].mkdir()
    monkeypatch.setattr(_cache.os, "access", lambda path, _: path != places[0])
    assert _found() == places[1]
    (places[0] / "kernels").mkdir()
    (places[0] / "kernels" / "lsa.times.nbi").touch()
    assert _found() == places[0]


def test_without_a_home_nothing_is_made_in_the_working_folder(places, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-of-this-name/.cache")
    assert list(_cache._candidates()) == [places[0], *places[2:]]
