"""Releases of parts on the command line: written, verified, measured, reported and read like one file."""

import json

import pytest


@pytest.fixture(scope="module")
def small_log(tmp_path_factory):
    from coterie import synth

    path = tmp_path_factory.mktemp("log") / "log.tsv"
    synth.write(path, 60, 7)
    return path


def test_from_a_log_to_a_report(coterie, small_log, tmp_path):
    log = small_log
    one, many = tmp_path / "one.{k}.tsv", tmp_path / "many.{k}.tsv"
    common = ("--k", "2,3", "--seed", "7", "--history", tmp_path / "history.json", "--log-name", "log")
    coterie("anonymize", "suppress_rare", log, "-o", one, *common)
    done = coterie(
        "anonymize", "suppress_rare", log, "-o", many, *common, "--parts", "4", "--record", tmp_path / "r.{k}"
    )
    assert "before" not in done.err  # the same rows are no second release
    one, many, record = tmp_path / "one.3.tsv", tmp_path / "many.3.tsv", tmp_path / "r.3"
    parts = sorted(many.iterdir())
    assert [path.name for path in parts] == [f"part-{number:05}.tsv" for number in range(4)]
    assert b"".join(path.read_bytes() for path in parts) == one.read_bytes()
    assert "The promise holds." in coterie("verify", many, "-O", log, "--record", record).out
    assert len({coterie("inspect", path, "--json").out for path in (one, many)}) == 1
    figures = [coterie("measure", path, "-O", log, "release_share", "--json").out for path in (one, many)]
    assert figures[0] == figures[1]
    coterie("report", many, "-O", log, "--record", record, "-o", tmp_path / "page.md")
    assert json.loads((tmp_path / "many.3.tsv.json").read_text())["sha256"] in (tmp_path / "page.md").read_text()
    parts[1].write_bytes(parts[1].read_bytes() + b"\n")
    assert "1 are not" in " ".join(coterie("verify", many, "-O", log, code=1).out.split())
    for words in (
        ("measure", many, "-O", log),
        ("report", many, "-O", log, "-o", tmp_path / "p.md"),
        ("inspect", many),
    ):
        assert "1 part is not as written" in " ".join(coterie(*words, code=2).err.split())
    parts[1].unlink()
    assert "1 part is missing" in " ".join(coterie("verify", many, "-O", log, code=2).err.split())


def test_what_is_refused(coterie, small_log, tmp_path):
    start = ("anonymize", "suppress_rare", small_log, "--history", "none", "--k", "3")
    coterie(*start, "-o", "-", "--to", "tsv", "--parts", "2", code=2)
    coterie(*start, "-o", tmp_path / "safe.tsv", "--parts", "0", code=2)
    (tmp_path / "safe.tsv").mkdir()
    (tmp_path / "safe.tsv" / "part-00000.tsv").write_text("mine")
    assert "is a folder" in coterie(*start, "-o", tmp_path / "safe.tsv", "--parts", "2", "--force", code=2).err
    assert (tmp_path / "safe.tsv" / "part-00000.tsv").read_text() == "mine"
