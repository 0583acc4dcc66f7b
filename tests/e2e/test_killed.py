"""SIGKILL between any two file operations of writing: a file under its name is whole, verified, and its sidecar's."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import coterie
from coterie.core.digests import listed_parts, refuse_other_parts
from tests.helpers.stopped_writes import KINDS, PARTS

ROOT = Path(__file__).parents[2]


def _run(*words, **options):
    command = [sys.executable, "-m", "tests.helpers.stopped_writes", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, **options)


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    done = _run("states", folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _record(folder):
    """The digests of a whole record by the name of its files, or nothing where there is none."""
    if not (folder / "run.json").is_file():
        return {}
    names = ["run.json", *(f"{name}.parquet" for name in json.loads((folder / "run.json").read_bytes())["tables"])]
    return {name: _digest(folder / name) for name in names}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", ["new", "replaced"])
def test_whenever_it_is_killed_what_is_there_belongs_together(states, kind, before):
    snapshots = sorted((states / f"{kind}-{before}").glob("state-*"))
    assert len(snapshots) > 20
    older, newer = snapshots[0], snapshots[-1]
    assert _digest(older / f"safe.{kind}") != _digest(newer / f"safe.{kind}")
    whole = [
        (_digest(each / f"safe.{kind}"), _digest(each / f"safe.{kind}.json"), _record(each / "record"))
        for each in (older, newer)
    ]
    seen = set()
    for state in snapshots:
        file, sidecar, record = (
            _digest(state / f"safe.{kind}"), _digest(state / f"safe.{kind}.json"), _record(state / "record"),
        )  # fmt: skip
        assert record in ({}, whole[0][2], whole[1][2]), state.name  # never half a record, never of two
        assert sidecar in (None, whole[0][1], whole[1][1]), state.name
        if file is None:
            seen.add("absent")
            continue
        # A file that is there is one of the two, and so are its sidecar and its record.
        assert (file, sidecar, record) in whole, state.name
        seen.add("older" if file == whole[0][0] else "newer")
        assert json.loads((state / f"safe.{kind}.json").read_bytes())["sha256"] == file
        assert record["run.json"] is not None
    assert seen == ({"absent", "newer"} if before == "new" else {"older", "absent", "newer"})


@pytest.mark.parametrize("before", ["new", "replaced"])
def test_whenever_it_is_killed_parts_with_a_sidecar_are_whole(states, before):
    snapshots = sorted((states / f"{PARTS}-{before}").glob("state-*"))
    assert len(snapshots) > 20
    whole = {_digest(each / f"safe.{PARTS}.json"): _record(each / "record") for each in (snapshots[0], snapshots[-1])}
    seen = []
    for state in snapshots:
        folder, sidecar = state / f"safe.{PARTS}", _digest(state / f"safe.{PARTS}.json")
        if sidecar is None:  # no release, whatever lies in the folder
            seen.append("absent")
            continue
        refuse_other_parts(folder, listed_parts(folder))
        assert _record(state / "record") == whole[sidecar], state.name
        seen.append("newer" if sidecar == _digest(snapshots[-1] / f"safe.{PARTS}.json") else "older")
    assert list(dict.fromkeys(seen)) == (["absent", "newer"] if before == "new" else ["older", "absent", "newer"])


@pytest.mark.parametrize("kind", [*KINDS, PARTS])
@pytest.mark.parametrize("before", ["new", "replaced"])
def test_nothing_private_can_be_read_by_others_at_any_moment(states, kind, before):
    for state in (states / f"{kind}-{before}").glob("state-*"):
        for path in state.rglob("*"):
            if path.name.startswith(".coterie-") or path == state / "record":
                assert stat.S_IMODE(path.stat().st_mode) == 0o700, (state.name, path.name)
            elif path.parent == state / "record":
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, (state.name, path.name)
        left = [path for path in state.rglob("*") if path.name.startswith((".coterie", "coterie"))]
        assert not left or state != max((states / f"{kind}-{before}").glob("state-*"))


@pytest.mark.parametrize("number", [2, 9, 17, 24, 31, 38])
def test_after_a_real_kill_the_next_run_clears_up(tmp_path, number):
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    out.mkdir()
    scratch.mkdir()
    env = {**os.environ, "TMPDIR": str(scratch)}
    killed = _run("kill", out, number, env=env)
    assert killed.returncode == -signal.SIGKILL
    again = _run("kill", out, 0, env=env)
    assert again.returncode == 0, again.stderr[-2000:]
    assert not [path for path in tmp_path.rglob("*") if "coterie-" in path.name]
    assert coterie.verify(out / "safe.tsv.gz").exit_code in (0, 3)
    assert coterie.load_release(out / "safe.tsv.gz", out / "record").record is not None
