"""The first hour at the command line: own tables, kinds of output, default steps, exit codes."""

import json

import pytest

from coterie import api
from coterie.cli.console import print_scores
from coterie.core import registry
from coterie.core.scores import score_table
from coterie.writing.sidecar import REPRODUCIBLE


@pytest.fixture
def own(tmp_path):
    """A table with names of its own; one query looks like personal data."""
    lines = ["cookie;search_term;ts"]
    lines += [f"c{n % 6};{'tea' if n // 6 % 2 else 'pots of clay'};15807204{n:02}" for n in range(36)]
    lines += [f"c{n};kim.lee@mail.example;1580720499" for n in range(6)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "own.csv"


def _side(path):
    return json.loads(path.with_name(path.name + ".json").read_text())


def test_a_table_with_names_of_its_own_is_read_without_help(coterie, own, tmp_path):
    done = coterie("anonymize", "suppress_rare", own, "-o", tmp_path / "safe.tsv", "-k", "3")
    assert done.code == 0
    assert "Columns were guessed: query = search_term, user = cookie, time = ts" in " ".join(done.err.split())
    assert (tmp_path / "safe.tsv").read_text().startswith("time\ttime_level\tquery\trank\turl\n")
    assert coterie("verify", tmp_path / "safe.tsv", "-O", own, "-k", "3").code == 0
    assert coterie("measure", tmp_path / "safe.tsv", "-O", own, "mass").code == 0
    assert coterie("inspect", own).code == 0


@pytest.mark.parametrize("name", ["safe.ubi", "safe.ndjson", "safe.jsonl.gz"])
def test_ubi_and_ndjson_are_written(coterie, own, tmp_path, name):
    out = tmp_path / name
    assert coterie("anonymize", "suppress_rare", own, "-o", out, "--k", "3").code == 0
    assert coterie("verify", out, "-O", own).code == 0
    if not name.endswith("gz"):
        assert coterie("anonymize", "suppress_rare", own, "-o", out, "--to", "ubi", "-k", "4", "--force").code == 0
        assert '"user_query":"tea"' in out.read_text()


@pytest.mark.parametrize(("method", "scrubs"), [
    ("microaggregate", True), ("semantic_microaggregate", True), ("suppress_rare", False), ("generalize_users", False),
    ("concept_microaggregate", True),
])  # fmt: skip
def test_scrub_is_a_default_where_whole_queries_of_single_people_are_released(method, scrubs):
    assert api.publishes_whole_queries(registry.method(method)(k=3)) == scrubs


def test_scrub_can_be_left_out_and_the_sidecar_says_so(coterie, own, tmp_path):
    by_default, without = tmp_path / "a.tsv", tmp_path / "b.tsv"
    assert coterie("anonymize", "microaggregate", own, "-o", by_default, "-k", "3").code == 0
    assert _side(by_default)["prepare"] == ["normalize", "drop_empty", "scrub"]
    assert api.UNSCRUBBED not in _side(by_default)["warnings"]
    assert "mail.example" not in by_default.read_text()
    assert coterie("anonymize", "microaggregate", own, "-o", without, "-k", "3", "--prepare", "default").code == 0
    assert _side(without)["prepare"] == ["normalize", "drop_empty"]
    assert api.UNSCRUBBED in _side(without)["warnings"]
    config = tmp_path / "c.toml"
    config.write_text('prepare = "default"\nk = 3\n')
    assert coterie("anonymize", "microaggregate", own, "-o", without, "--config", config, "--force").code == 0
    assert _side(without)["prepare"] == ["normalize", "drop_empty"]


def test_an_original_that_the_sidecar_does_not_fit_is_said_with_the_option_for_it(coterie, own, tmp_path):
    out, other = tmp_path / "safe.tsv", tmp_path / "other.csv"
    coterie("anonymize", "suppress_rare", own, "-o", out, "-k", "3")
    other.write_text(own.read_text().replace("search_term", "q"))
    said = " ".join(coterie("verify", out, "-O", other, code=2).err.split())
    assert "--original-columns query=search_term: the table has no column of that name." in said
    assert "The original is read with --columns query=search_term,user=cookie,time=ts: as safe.tsv.json says" in said
    coterie("verify", out, "-O", other, "--original-columns", "query=q")
    assert "Error: --columns query=search_term: the" in coterie("measure", out, "mass", "-O", other, code=2).err
    (tmp_path / "safe.tsv.json").unlink()
    asked = ("verify", out, "-O", own, "--promise", "query_k_anonymity", "-k", "3")
    assert "--original-columns" in coterie(*asked, "--original-columns", "query=q", code=2).err


def test_a_seed_is_warned_of_only_where_there_are_pseudonyms(coterie, own, tmp_path):
    for users, warned in (("drop", False), ("pseudonym", True)):
        out = tmp_path / f"{users}.parquet"
        assert (
            coterie("anonymize", "suppress_rare", own, "-o", out, "-k", "3", "--users", users, "--seed", "7").code == 0
        )
        assert (REPRODUCIBLE in _side(out)["warnings"]) == warned


@pytest.mark.parametrize("command", [["--help"], ["anonymize", "suppress_rare", "--help"]])
def test_exit_codes_stand_in_the_help(coterie, command):
    told = " ".join(coterie(*command).out.split())
    assert "Exit codes: 0 done; 1 the promise does not hold;" in told
    assert "4 nothing to release tonight" in told


def test_an_option_given_twice_is_refused(coterie, own, tmp_path):
    twice = coterie("anonymize", "suppress_rare", own, "-o", tmp_path / "safe.tsv", "-k", "3", "--k", "4", code=2).err
    assert "--k is given more than once" in twice
    assert "commas" in twice
    assert not (tmp_path / "safe.tsv").exists()
    assert (
        "--format is given more than once" in coterie("inspect", own, "--format=table", "--format", "aol", code=2).err
    )
    assert coterie("inspect", own, "-q", "-q").code == 0  # which says the same twice


def test_lists_are_options_that_may_come_again(coterie, own, tmp_path):
    coterie("anonymize", "suppress_rare", own, "-o", tmp_path / "safe.tsv", "-k", "3")
    assert coterie("verify", tmp_path / "safe.tsv", "-O", own, "-O", own).code == 0


def test_a_log_without_people_does_not_look_safe(coterie, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("query,time\n" + "tea,2026-01-01 10:00:00\n" * 30)
    seen = coterie("inspect", path)
    assert "does not mean that the log is safe" in " ".join(seen.err.split())
    singled_out = [line.split()[2] for line in seen.out.splitlines() if "% of users" in line]
    assert singled_out == ["-", "-", "-"]


def test_what_a_report_lacks_without_a_record_is_said(coterie, own, tmp_path):
    out, page = tmp_path / "safe.tsv", tmp_path / "page.md"
    coterie("anonymize", "microaggregate", own, "-o", out, "-k", "3", "--record", tmp_path / "record")
    without = coterie("report", out, "-O", own, "-o", page)
    assert "need --record DIR: " in " ".join(without.err.split())
    assert "Some attacks need --record, given when the release is made." in " ".join(page.read_text().split())
    record = ("--record", tmp_path / "record")
    given = coterie("report", out, "-O", own, "-o", page, *record, "--force")
    assert "--record" not in given.err
    assert "It cannot be made afterwards" in " ".join(coterie("anonymize", "suppress_rare", "--help").out.split())


def test_verify_reads_an_original_that_is_a_file(own, tmp_path, coterie):
    import coterie as library

    coterie("anonymize", "suppress_rare", own, "-o", tmp_path / "safe.tsv", "-k", "3")
    assert library.verify(tmp_path / "safe.tsv", str(own)).exit_code == 0
    assert library.verify(str(tmp_path / "safe.tsv"), own).exit_code == 0


def test_keys_that_are_wider_than_a_terminal_are_whole(capsys):
    keys = ["release_share." * 9 + end for end in ("mean", "least")]
    print_scores(score_table(("attribution", key, 1.0, "percent of the people") for key in keys), as_json=False)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[:2] for line in lines] == [["attribution", key] for key in keys]
    assert all(line.split("1")[1].strip() == "percent of the people" for line in lines)
