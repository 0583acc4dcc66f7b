"""Where compiled kernels are kept: reading numba's index runs what is in it, so only in a folder that is ours alone."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

from coterie.algorithms.kernels import _cache


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


_TINY = {
    "steps": "from tiny._jit import inlined\n\n@inlined\ndef step(x):\n    return x + 1\n",
    "between": "from tiny.steps import step  # another file can have it from here\n",
    "walks": "from tiny import _jit, between\n\n@_jit.jit\ndef walk(x):\n    return between.step(between.step(x))\n",
    "rests": "from tiny._jit import jit\n\n@jit\ndef rest(x):\n    return x\n",
}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """To clone a package of a few kernels, and to use a clone as if just started: results, and what was compiled."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def clone(name: str) -> Path:
        place = tmp_path / name / "tiny"
        place.mkdir(parents=True)
        for own in ("_cache", "_jit"):
            text = (Path(_cache.__file__).parent / f"{own}.py").read_text()
            (place / f"{own}.py").write_text(text.replace("coterie.algorithms.kernels", "tiny"))
        for module, text in {"__init__": "", **_TINY}.items():
            (place / f"{module}.py").write_text(text)
        return place

    def used(place: Path) -> tuple[int, int, set[str]]:
        with monkeypatch.context() as here:
            here.syspath_prepend(str(place.parent))
            for name in [name for name in sys.modules if name.split(".")[0] == "tiny"]:
                here.delitem(sys.modules, name)
            walk, rest = import_module("tiny.walks").walk, import_module("tiny.rests").rest
            results = walk(1), rest(1)
            compiled = {each.py_func.__name__ for each in (walk, rest) if each.stats.cache_misses}
            assert all(each.stats.cache_misses or each.stats.cache_hits for each in (walk, rest))
        for name in [name for name in sys.modules if name.split(".")[0] == "tiny"]:
            del sys.modules[name]
        return *results, compiled

    return clone, used


def test_what_is_compiled_anew(tiny):
    """A kernel that a changed function was inlined into, and nothing else; neither times nor places of files matter."""
    clone, used = tiny
    place = clone("one")
    assert used(place) == (3, 1, {"walk", "rest"})
    assert used(place) == (3, 1, set())
    for path in place.glob("*.py"):
        os.utime(path, (1, 1))
    assert used(place) == (3, 1, set())
    assert used(clone("two")) == (3, 1, set())
    (place / "steps.py").write_text(_TINY["steps"].replace("+ 1", "+ 2"))
    assert used(place) == (5, 1, {"walk"})
    assert used(place) == (5, 1, set())
    assert used(place.parents[1] / "two" / "tiny") == (3, 1, set()), "clones with other kernels take no turns"
    (place / "_jit.py").write_text((place / "_jit.py").read_text() + "# the decorators are part of it\n")
    assert used(place) == (5, 1, {"walk", "rest"})


def test_the_imports_that_are_followed(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import numpy\nimport coterie.algorithms.kernels.lsa\n"
        "from coterie.algorithms.kernels import (\n    grams as words,\n    _jit,\n)\n"
        "from coterie.algorithms.kernels.mdav import partition\nfrom coterie.apps.gate.kernels import siphash_128\n"
        "from elsewhere import nothing\ndef later():\n    from coterie.algorithms.kernels import clues\n"
    )
    _, found = _cache._content(path)
    assert {path.stem for path in found} == {"lsa", "grams", "_jit", "mdav", "kernels", "clues"}


def test_of_the_folders_of_a_kernel_the_latest_used_stay(places):
    _cache.folder.cache_clear()
    for number in range(_cache._KEPT):
        (places[0] / f"a.b-{number}").mkdir(parents=True, mode=0o700)
        os.utime(places[0] / f"a.b-{number}", (number, number))
    (places[0] / "a.bc-0").mkdir()
    assert _cache._place("a.b-0") == places[0] / "a.b-0", "it is used now, if not filled now"
    assert _cache._place("a.b-new") == places[0] / "a.b-new"
    left = {path.name for path in places[0].iterdir()}
    assert left == {"a.bc-0", "a.b-0", *(f"a.b-{number}" for number in range(2, _cache._KEPT)), "a.b-new"}


def test_two_processes_that_compile_at_once_get_no_code_of_each_other(tmp_path, monkeypatch):
    one, two = (_cache._Files(str(tmp_path), "kernel", "stamp") for _ in range(2))
    for each in (one, two):
        monkeypatch.setattr(each, "_load_index", dict)  # both looked before the other wrote
    one.save("whole numbers", "code for whole numbers")
    two.save("fractions", "code for fractions")
    one.save("whole numbers", "code for whole numbers")
    late = _cache._Files(str(tmp_path), "kernel", "stamp")
    assert late.load("whole numbers") == "code for whole numbers"
    assert late.load("fractions") is None, "it is compiled once more"
    late.save("fractions", "code for fractions")
    assert late.load("whole numbers") == "code for whole numbers"
    assert late.load("fractions") == "code for fractions"
