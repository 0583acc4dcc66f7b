"""The command line from a log to a report, and what bad input gets.

Covers: cli/anonymize.py, cli/console.py, cli/demo.py, cli/doctor.py, cli/lists.py, cli/main.py, cli/options.py,
cli/report.py, cli/verify.py, demo.py
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import polars as pl
import pytest

from coterie import api, jobs, synth
from coterie import cli as cli_folder
from coterie.core import registry
from coterie.methods.microaggregate import Microaggregate


def test_from_a_log_to_a_report(coterie, log, tmp_path):
    safe, record = tmp_path / "safe.{k}.tsv", tmp_path / "record.{k}"
    done = coterie("anonymize", "suppress_rare", log, "-o", safe, "--k", "2,5", "--record", record, "--seed", "7")
    assert "at least 5 different users" in done.err
    assert done.out == ""
    five = tmp_path / "safe.5.tsv"
    assert "The promise holds. The largest k that holds is 5." in coterie("verify", five, "--original", log).out
    checked = coterie("verify", five, code=3)
    assert "needs the original log" in checked.out
    measured = coterie("measure", five, "--original", log, "--record", tmp_path / "record.5", "--json")
    scores = json.loads(measured.out)
    assert set(scores[0]) == {"name", "key", "value", "unit"}
    about_profiles = {"homogeneity", "semantic_distance"}
    others = {"f_beta", "later_queries", "train_on_release", "completion", "interest_disclosure", "clicks"}
    of_groups = {"attribution", "dominance", "composition"}  # which this release without names has not
    of_visits = {"two_pages", "visit_tables", "visit_indicators"}
    of_documents = {"topic_accuracy", "document_loss", "readable_terms", "vocabulary", "known_terms"}
    by_name = {"injection", "partition_agreement"}
    assert {row["name"] for row in scores} == set(
        registry.names("measures")
    ) - about_profiles - others - of_groups - of_visits - of_documents - by_name
    for name in (*of_groups, *of_visits, *of_documents):
        assert f"Left out: {name}: " in " ".join(measured.err.split())
    for name in others:
        assert f"Left out: {name}: It " in " ".join(measured.err.split())
    assert "Left out: f_beta: It compares with labelled queries" in " ".join(measured.err.split())
    for name in about_profiles:
        assert f"Left out: {name}: It compares users with their released profiles" in " ".join(measured.err.split())
    page = tmp_path / "report.html"
    coterie("report", tmp_path / "safe.2.tsv", five, "-O", log, "--record", tmp_path / "record.2",
            "--record", tmp_path / "record.5", "-o", page)  # fmt: skip
    assert "at least k different users" in page.read_text()
    digest = json.loads((tmp_path / "safe.5.tsv.json").read_text())["sha256"]
    assert digest in page.read_text()  # the page is tied to the file
    for kind in ("md", "json"):
        coterie("report", five, "-O", log, "-o", tmp_path / f"report.{kind}", "-q")
    assert json.loads((tmp_path / "report.json").read_text())["releases"]


def test_measures_of_common_profiles(coterie, tmp_path):
    log, safe, record = tmp_path / "log.tsv", tmp_path / "safe.tsv", tmp_path / "record"
    coterie("synth", "-o", log, "--users", "30", "-q")
    coterie("anonymize", "microaggregate", log, "-o", safe, "--k", "3", "--record", record, "-q")
    arguments = ("measure", safe, "--original", log, "--record", record)
    arguments = (*arguments, "--kappa", "2,5,20")
    measured = coterie(*arguments, "--seed", "1")
    for name in ("partition_agreement", "homogeneity", "linkage", "simattack", "exposure"):
        assert f"Left out: {name}" not in measured.err
    for key in ("rand_20", "jaccard_2", "adjusted_rand_5", "sse.random", "mean_distance.ratio"):
        assert key in measured.out
    assert coterie(*arguments, "--seed", "1").out == measured.out
    some = coterie(*arguments[:-2], "partition_agreement", "--kappa", "3,7,40").out
    assert "rand_3" in some
    assert "jaccard_7" in some
    assert "rand_2 " not in some
    assert "does not apply: 30 users" in some  # κ = 40


def test_two_releases_and_what_they_cost(coterie, tmp_path):
    log = tmp_path / "log.tsv"
    coterie("synth", "-o", log, "--users", "40", "-q")
    for seed in (1, 2):
        coterie("anonymize", "microaggregate", log, "-o", tmp_path / f"{seed}.tsv", "--record", tmp_path / f"r{seed}",
                "--k", "4", "--partition", "random", "--seed", seed, "-q")  # fmt: skip
    arguments = ("-O", log, "--record", tmp_path / "r1", "--seed", "5")
    second = ("--second", tmp_path / "2.tsv", "--second-record", tmp_path / "r2")
    measured = coterie("measure", tmp_path / "1.tsv", "attribution", "composition", *arguments, *second)
    assert "Attribution excess +" in " ".join(measured.err.split())
    assert "without the person's rows" in " ".join(measured.err.split())
    assert "both.theirs" in measured.out
    page = tmp_path / "report.md"
    reported = coterie("report", tmp_path / "1.tsv", *arguments, *second, "-o", page)
    assert "Attribution excess +" in reported.err
    text = page.read_text()
    assert "What an attacker can and cannot do" in text
    assert "Together with the second release, " in text
    assert "**Cost.** Attribution excess +" in text
    refused = coterie("measure", tmp_path / "1.tsv", "composition", *arguments, *second[:2], code=2)
    assert "--second-record DIR" in refused.err
    wrong = coterie("measure", tmp_path / "1.tsv", "composition", *arguments, *second[:3], tmp_path / "r1", code=2)
    assert "belongs to another release" in " ".join(wrong.err.split())
    for read in (tmp_path / "2.tsv.json", tmp_path / "r2" / "run.json"):
        coterie("report", tmp_path / "1.tsv", *arguments, *second, "-o", read, "--force", code=2)


@pytest.mark.parametrize(("users", "k", "code", "words"), [
    (4, 5, 2, "needs at least 5 users, and the log has 4"),
    (1, 2, 2, "needs at least 2 users, and the log has 1"),
    (4, 1, 2, "k"),
])  # fmt: skip
def test_groups_that_cannot_be(coterie, tmp_path, users, k, code, words):
    log, safe = tmp_path / "log.tsv", tmp_path / "safe.tsv"
    lines = "".join(f"{u}\tword{u}\t2006-03-01 10:00:0{u}\t\t\n" for u in range(1, users + 1))
    log.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + lines)
    said = coterie("anonymize", "microaggregate", log, "-o", safe, "--k", k, code=code)
    assert words in " ".join(said.err.split())
    assert list(tmp_path.iterdir()) == [log]


def test_users_with_one_query_each(coterie, tmp_path):
    log, safe = tmp_path / "log.tsv", tmp_path / "safe.tsv"
    lines = "".join(f"{u}\tword{u}\t2006-03-01 10:00:0{u}\t\t\n" for u in range(1, 8))
    log.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + lines)
    record = tmp_path / "record"
    coterie("anonymize", "microaggregate", log, "-o", safe, "--k", "3", "--record", record)
    verified = coterie("verify", safe, "--original", log, "--record", record)
    assert "The largest k that holds is 3" in verified.out
    names = coterie("verify", safe, "--original", log, code=3)
    assert "k names were counted, not k people: needs the run record (--record DIR)" in names.out
    assert "largest k" not in names.out


def test_another_original_than_that_of_the_record_is_refused(coterie, log, tmp_path):
    safe, record, other = tmp_path / "safe.tsv", tmp_path / "record", tmp_path / "other.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "--record", record, "-q")
    lines = log.read_text().splitlines(keepends=True)
    other.write_text("".join([*lines, *(line.replace("\t", "9\t", 1) for line in lines[1:])]))
    refused = coterie("verify", safe, "-O", other, "--record", record, code=2)
    assert "other input files" in refused.err
    coterie("verify", safe, "-O", log, "--record", record)


def test_csv_for_a_spreadsheet(coterie, tmp_path):
    log, safe = tmp_path / "log.tsv", tmp_path / "safe.csv"
    lines = "".join(f"{u}\t=cmd()\t2006-03-01 10:00:0{u}\t\t\n" for u in range(1, 8))
    log.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + lines)
    coterie("anonymize", "suppress_rare", log, "-o", safe, "--csv-safe", "-q")
    assert ",'=cmd()," in safe.read_text()
    coterie("verify", safe, "--original", log)
    refused = coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "safe.parquet", "--csv-safe", code=2)
    assert "--csv-safe is for csv and tsv" in refused.err


def test_affinity_with_its_record(coterie, log, tmp_path):
    safe, record = tmp_path / "safe.{k}.tsv", tmp_path / "record.{k}"
    done = coterie(
        "anonymize", "affinity", log, "-o", safe, "--k", "2,5", "--record", record, "--theta", "0.8", "--strict"
    )
    assert "affinity of at least 0.8" in done.err
    two = tmp_path / "safe.2.tsv"
    found = coterie("verify", two, "--original", log, "--record", tmp_path / "record.2")
    assert "The promise holds." in found.out
    assert "cover.query" in coterie("verify", two, code=3).out
    assert "another release" in coterie("verify", two, "--original", log, "--record", tmp_path / "record.5", code=2).err
    sizes = {k: len((tmp_path / f"safe.{k}.tsv").read_text().splitlines()) for k in (2, 5)}
    coterie("anonymize", "affinity", log, "-o", tmp_path / "five.tsv", "--k", "5", "--theta", "0.8", "--strict", "-q")
    assert len((tmp_path / "five.tsv").read_text().splitlines()) == sizes[5] < sizes[2]


def test_verify_a_tampered_file(coterie, log, tmp_path):
    safe = tmp_path / "safe.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "-q")
    safe.write_text(safe.read_text() + "2006-03-05 00:00:00\tday\tzz top secret\t\t\n")
    verdict = coterie("verify", safe, "--original", log, code=1)
    assert "FAIL crowd.query" in verdict.out
    assert "1 of " in verdict.out
    assert "BROKEN" in verdict.out
    assert "secret" not in verdict.out + verdict.err
    rows = json.loads(coterie("verify", safe, "--original", log, "--json", code=1).out)
    values = {row["key"]: row["value"] for row in rows}
    assert values["crowd.query"] == 0
    assert values["crowd.query.broken"] == 1
    assert values["columns"] == 1
    assert values["largest_k"] == 0


def test_verify_any_file(coterie, log):
    found = coterie("verify", log, "--promise", "query_k_anonymity", "--k", "5", code=1)
    assert "The largest k that holds is 1." in found.out
    assert "--promise" in coterie("verify", log, code=2).err
    assert "No promise" in coterie("verify", log, "--promise", "x", "--k", "5", code=2).err
    same = coterie("verify", log, "--promise", "user_k_anonymity", "--k", "2", code=1)
    assert "The largest k that holds is 1." in same.out


def test_a_foreign_file_and_an_original_with_other_columns(coterie, tmp_path):
    theirs, original = tmp_path / "theirs.csv", tmp_path / "original.tsv"
    theirs.write_text("q\ntea\ntea\n")
    original.write_text("cookie\tsearch\n" + "".join(f"{n}\ttea\n" for n in range(4)))
    check = ["verify", theirs, "--promise", "query_k_anonymity", "--k", "3", "--columns", "query=q", "-O", original]
    found = coterie(*check, "--original-columns", "user=cookie,query=search")
    assert "The largest k that holds is 4." in found.out
    assert "details" in found.out
    # Without its users nothing can be counted, and that is said rather than called broken.
    assert "--original-columns" in coterie(*check, "--original-columns", "query=search", code=2).err


def test_columns_that_are_named_in_part_are_merged_with_those_that_were_guessed(coterie, tmp_path):
    """`anonymize` guesses the rest, and what compares a release with its log finds the rest in the sidecar."""
    log, out, record = tmp_path / "shop.csv", tmp_path / "safe.tsv", tmp_path / "record"
    rows = [f"{n % 6},{1 + n % 9}.10.2025 09:05,{('blauer Schal', 'Mütze')[n % 2]},{1 + n % 3}" for n in range(36)]
    log.write_text("Wer,Wann,Suchbegriff,Position\n" + "\n".join(rows) + "\n")
    columns = ["--columns", "user=Wer,time=Wann"]
    coterie("anonymize", "suppress_rare", log, "-k", "2", "-o", out, "--record", record, *columns)
    read = json.loads((tmp_path / "safe.tsv.json").read_text())["reading"]["columns"]
    assert read["query"] == "Suchbegriff"
    compared = [out, "--original", log, "--record", record, *columns]
    assert "The promise holds" in coterie("verify", *compared).out
    coterie("measure", *compared, "release_share")
    coterie("report", *compared, "--measures", "release_share", "-o", tmp_path / "report.html")
    for also in ("--original-columns", "--columns"):
        coterie("verify", out, "--original", log, also, "user=Wann", code=1)  # what is given counts before the sidecar


def test_anonymize_says_how_much_is_left(coterie, log, tmp_path):
    done = coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "safe.tsv")
    rows = len((tmp_path / "safe.tsv").read_text().splitlines()) - 1
    lines = len(log.read_text().splitlines()) - 1
    assert f"{rows:,} rows ({100 * rows / lines:.1f} % of the {lines:,} read)" in done.err


def test_inspect_and_a_release_count_the_same_rows(coterie, tmp_path):
    """What the prepare steps leave out stands beside it, where they leave out any."""
    log, whole = tmp_path / "log.tsv", tmp_path / "whole.tsv"
    rows = [f"{n % 6}\ttea\n" for n in range(30)]
    whole.write_text("user\tquery\n" + "".join(rows))
    log.write_text("user\tquery\n" + "".join(rows) + "1\t-\n2\t\n")
    done = coterie("anonymize", "suppress_rare", log, "-k", "2", "-o", tmp_path / "safe.tsv")
    assert "(93.8 % of the 32 read)" in " ".join(done.err.split())
    found = {each["key"]: each["value"] for each in json.loads(coterie("inspect", log, "--json").out)}
    assert (found["rows_read"], found["rows_left_out"], found["rows"]) == (32, 2, 30)
    assert "rows_left_out" not in coterie("inspect", whole).out


def test_the_same_seed_gives_the_same_file(coterie, log, tmp_path):
    for name, more in (("a", []), ("b", ["--blocks", "5"])):
        coterie("anonymize", "suppress_rare", log, "-o", tmp_path / f"{name}.parquet", "--seed", "1",
                "--users", "pseudonym", *more)  # fmt: skip
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_costs_are_said_and_written(coterie, log, tmp_path):
    safe = tmp_path / "safe.tsv"
    done = coterie("anonymize", "suppress_rare", log, "-o", safe, "--users", "pseudonym", "--attrs", "keep")
    assert "Cost: Rows are linked by person" in done.err
    assert "Cost: Exact times" in done.err
    sidecar = json.loads((tmp_path / "safe.tsv.json").read_text())
    assert len(sidecar["warnings"]) == 2


def test_prepare_steps_reach_verify_and_measure(coterie, log, tmp_path):
    safe = tmp_path / "safe.tsv"
    steps = "normalize,drop_empty,events,scrub"
    done = coterie("anonymize", "suppress_rare", log, "-o", safe, "--prepare", steps, "--record", tmp_path / "r")
    assert "Scrubbed rows:" in done.err
    assert json.loads((tmp_path / "safe.tsv.json").read_text())["prepare"] == steps.split(",")
    coterie("verify", safe, "--original", log)
    rows = json.loads(coterie("measure", safe, "-O", log, "--record", tmp_path / "r", "release_share", "--json").out)
    events = {row["key"]: row["value"] for row in rows}
    assert events["rows"] == pytest.approx(events["events"])  # a row is an event now


def test_standard_input_and_output(log, tmp_path, monkeypatch, capsysbinary):
    import io
    import sys

    class Stdin:
        buffer = io.BytesIO(log.read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin)
    monkeypatch.setattr(sys, "argv", ["coterie", "anonymize", "suppress_rare", "-", "-o", "-", "--to", "csv",
                                      "--history", "none", "--sidecar", str(tmp_path / "s.json"), "-q"])  # fmt: skip
    from coterie.cli.main import run

    assert run() == 0
    out, err = capsysbinary.readouterr()
    assert out.startswith(b"time,time_level,query,rank,url\n")
    assert err == b""
    assert pl.read_csv(out).height > 10
    assert json.loads((tmp_path / "s.json").read_text())["method"] == "suppress_rare"
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]


def test_config_file(coterie, log, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(f'k = [2, 4]\noutput = "{tmp_path}/c.{{k}}.tsv"\nusers = "session"\n')
    coterie("anonymize", "suppress_rare", log, "--config", config)
    assert json.loads((tmp_path / "c.4.tsv.json").read_text())["parameters"]["users"] == "session"
    coterie("anonymize", "suppress_rare", log, "--config", config, "--k", "3", "-o", tmp_path / "d.tsv")
    assert json.loads((tmp_path / "d.tsv.json").read_text())["parameters"]["k"] == 3
    config.write_text(f'json = true\noriginal = "{log}"\n')
    assert json.loads(coterie("verify", tmp_path / "d.tsv", "--config", config, code=3).out)
    for text, message in (
        ("no_such = 1\n", "no such option"),
        ("k = 3\nusers = \n", "not valid TOML: Invalid value (at line 2"),
        (b"\xff", "not text"),
    ):
        config.write_bytes(text if isinstance(text, bytes) else text.encode())
        assert message in coterie("anonymize", "suppress_rare", log, "--config", config, code=2).err
    assert "no such file" in coterie("anonymize", "suppress_rare", log, "--config", tmp_path / "no", code=2).err


def test_inspect(coterie, log):
    rows = {(r["name"], r["key"]): r["value"] for r in json.loads(coterie("inspect", log, "--json").out)}
    assert rows["log", "users"] == 300
    assert rows["uniqueness", "one_query"] <= rows["uniqueness", "two_queries"] <= rows["uniqueness", "profile"]
    assert "users" in coterie("inspect", log).out


def test_lists_and_pages(coterie):
    for kind in ("methods", "formats", "measures", "promises"):
        listed = coterie(kind).out
        for name in registry.names(kind):
            assert name in listed
            assert (registry.module(kind, name).__doc__ or "").split("\n")[0][:20] in coterie(kind, name).out
    assert "smallest number of users" in coterie("methods", "suppress_rare").out


def test_a_page_about_a_promise(coterie):
    page = coterie("promises", "user_k_anonymity").out
    assert "A release with k = 5 says:" in page
    assert "shared by at least 5 users" in page
    assert "may all share a sensitive interest" in page  # a limit
    assert "of the run record into: subjects." in page
    assert "smallest number of users" in page
    assert "run record into: certificate" in coterie("promises", "k_theta_affinity").out
    assert "No promise is called 'k'" in coterie("promises", "k", code=2).err


def test_a_promise_without_k_has_a_page(monkeypatch):
    from dataclasses import dataclass

    from coterie.cli.lists import example_of

    @dataclass(frozen=True, kw_only=True)
    class Epsilon:
        epsilon: float

    @dataclass(frozen=True, kw_only=True)
    class Nothing:
        share: float = 0.5

    assert example_of(Epsilon) is None
    assert example_of(Nothing) == Nothing()


_NO_COMMANDS = {"__init__", "main", "errors", "options", "console", "bars", "interrupts"}


def test_every_command_is_listed_with_one_line(coterie):
    from coterie.cli.main import COMMANDS, cli

    listed = coterie("--help").out
    files = {path.stem for path in Path(cli_folder.__file__).parent.glob("*.py")}
    assert {file for file, _ in COMMANDS.values()} == files - _NO_COMMANDS
    added = {"append", "gate", "peer", "simulate", "studio"}
    assert set(cli.list_commands(click.Context(cli))) == {*COMMANDS, *added}
    for name in [*COMMANDS, *added]:
        line = COMMANDS[name][1] if name in COMMANDS else cli.get_command(click.Context(cli), name).short_help
        assert f"{name:10}  {line}\n" in listed
        assert cli.get_command(click.Context(cli), name).name == name
        assert coterie(name, "-h").out.startswith(f"Usage: coterie {name}")


def test_completion_of_words(monkeypatch):
    """What a shell asks for while somebody types; unknown words are no error there."""
    from click.shell_completion import ShellComplete

    from coterie.cli.main import cli

    def completed(*words):
        complete = ShellComplete(cli, {}, "coterie", "_COTERIE_COMPLETE")
        return {item.value for item in complete.get_completions(list(words[:-1]), words[-1])}

    assert completed("meas") == {"measure", "measures"}
    assert completed("anonymize", "aff") == {"affinity"}
    for words in (["no_such", ""], ["anonymize", "no_such", ""], ["explain", "no_such", ""]):
        completed(*words)
    assert "--original-columns" in completed("verify", "--orig")


_NAME_FILES = re.compile(r"\b(log|out|source|file|dir|folder|page)\b", re.IGNORECASE)
"""What the help calls an argument, or the value of an option, that is a file or a folder."""


def _completed_kinds(*words):
    from click.shell_completion import ShellComplete

    from coterie.cli.main import cli

    complete = ShellComplete(cli, {}, "coterie", "_COTERIE_COMPLETE")
    return {item.type for item in complete.get_completions(list(words[:-1]), words[-1])}


def _commands(command, path=()):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), (*path, name))
    else:
        yield path, command


def test_a_shell_completes_names_of_files():
    """Whatever is called LOG, OUT, FILE or DIR, of every command."""
    from coterie.cli.main import cli

    wrong, seen = [], set()
    for path, command in _commands(cli):
        for param in command.params:
            said = (param.metavar or "") if param.param_type_name == "option" else param.human_readable_name
            if _NAME_FILES.search(said) or param.name in ("output", "sidecar", "original"):
                seen.add(path[0])
                items = param.shell_complete(click.Context(command), "l")
                if not items or not {item.type for item in items} <= {"file", "dir"}:
                    wrong.append((*path, param.opts[0]))
    assert not wrong
    assert {"anonymize", "append", "explain", "gate", "inspect", "measure", "report", "studio", "verify"} <= seen
    assert _completed_kinds("anonymize", "suppress_rare", "a.tsv", "l") == {"file"}
    assert _completed_kinds("report", "a.tsv", "-O", "l") == {"file"}
    assert _completed_kinds("append", "suppress_rare", "l") == {"file"}
    assert _completed_kinds("meas") == {"plain"}


def test_bash_asks_for_names_of_files(tmp_path):
    """The script of the shell itself, as far as its part goes: what it is told, it asks bash for."""
    command = [sys.executable, "-m", "coterie"]
    env = {**os.environ, "COMP_WORDS": "coterie\ninspect\nl", "COMP_CWORD": "2", "_COTERIE_COMPLETE": "bash_complete"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "file,l\n"
    script = subprocess.run([*command, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    assert "compopt -o default" in script


def test_demo(coterie, tmp_path):
    folder = tmp_path / "demo"
    done = coterie("demo", "-o", folder, "--users", "60")
    assert "report.html" in done.out
    assert (folder / "report.html").stat().st_size > 10_000
    assert "Interests kept against attribution excess" in (folder / "report.html").read_text()
    coterie("verify", folder / "suppress_rare.5.tsv", "--original", folder / "log.tsv")
    coterie("demo", "-o", folder, "--users", "20", "-q")  # replaces its own folder
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    coterie("demo", "-o", tmp_path / "mine", code=2)
    assert (tmp_path / "mine" / "file").exists()


def test_synth(coterie, tmp_path):
    coterie("synth", "-o", tmp_path / "a.tsv", "--users", "30")
    coterie("synth", "-o", tmp_path / "b.tsv", "--users", "30", "--seed", "7")
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    assert "exists" in coterie("synth", "-o", tmp_path / "a.tsv", "--users", "30", code=2).err
    coterie("synth", "-o", tmp_path / "c.tsv", "--users", "30", "--kind", "people")
    assert (tmp_path / "c.tsv").read_bytes() != (tmp_path / "a.tsv").read_bytes()
    assert (
        "'topics', 'people'" in coterie("synth", "-o", tmp_path / "d.tsv", "--users", "30", "--kind", "x", code=2).err
    )


def test_an_access_log_is_made_prepared_and_released(coterie, tmp_path):
    log, out = tmp_path / "access.log.gz", tmp_path / "out.tsv"
    assert "200 made-up visitors" in coterie("synth", "-o", log, "--users", "200", "--kind", "visits").err
    done = coterie("anonymize", "suppress_rare", log, "-o", out, "--prepare", "default,drop_bots,drop_assets")
    for step in ("strip_query", "drop_bots", "drop_assets"):
        assert f"{step}: " in done.err
    steps = ["strip_query", "normalize", "drop_empty", "drop_bots", "drop_assets"]
    assert json.loads((tmp_path / "out.tsv.json").read_text())["prepare"] == steps
    assert "?" not in out.read_text()
    assert "The promise holds" in coterie("verify", out, "--original", log).out


def test_doctor_version_completion(coterie):
    done = coterie("doctor")
    assert "polars" in done.out
    assert "compiled" not in done.out
    assert coterie("--version").out.startswith("coterie, version")
    assert "_COTERIE_COMPLETE" in coterie("completion", "bash").out


def test_no_colour_and_no_bars_off_a_terminal(coterie, log, tmp_path):
    done = coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "a.tsv")
    assert "\x1b" not in done.err + done.out


# --- bad input: exit 2, a message with what to do, nothing written ---------------------------------


HEADER = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
BAD_FILES = {
    "empty": (b"", "is empty"),
    "header_only": (HEADER, "no log to read"),
    "wrong_columns": (b"a,b\n1,2\n", "--columns"),
    "junk": (bytes(range(256)) * 20, "is no text"),
    "bad_times": (HEADER + b"1\tcanary\tyesterday\t\t\n" * 5, "line 2, time"),
    "bad_ranks": (HEADER + b"1\tcanary\t2020-02-03 09:00:00\tfirst\thttp://c\n" * 9, "line 2, rank"),
    "not_utf8": (b"1\tcan\xffary\t2020-02-03 09:00:00\t\t\n" * 9, "encoding"),
    "one_user": (b"1\tcanary\t2020-02-03 09:00:00\t\t\n" * 9, "at least 5 users"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(coterie, tmp_path, name):
    data, message = BAD_FILES[name]
    path = tmp_path / "in" / f"{name}.tsv"
    path.parent.mkdir()
    path.write_bytes(data)
    failed = coterie("anonymize", "suppress_rare", path, "-o", tmp_path / "safe.tsv", code=2)
    assert message in failed.err
    assert "canary" not in failed.err
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "1"], "must be a whole number of at least 2. Got 1 instead."),
        (["--k", "301"], "needs at least 301 users, and the log has 300"),
        (["--k", "x"], "2,5,10"),
        (["--k", "2,3"], "{k}"),
        (["--users", "nobody"], "not one of"),
        (["--format", "aoll"], "Did you mean 'aol'"),
        (["--prepare", "normalise"], "Did you mean 'normalize'"),
        (["--columns", "user"], "--columns"),
        (["--date", "monday", "--format", "sogou"], "YYYY-MM-DD"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_bad_parameters(coterie, log, tmp_path, arguments, message):
    failed = coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "safe.tsv", *arguments, code=2)
    assert message in failed.err
    assert not list(tmp_path.iterdir())


def test_bad_outputs(coterie, log, tmp_path):
    existing = tmp_path / "a.tsv"
    existing.write_text("mine")
    for target, message in (
        (existing, "exists"),
        (tmp_path / "a.doc", "does not say"),
        (tmp_path / "no" / "a.tsv", "does not exist"),
    ):
        assert message in coterie("anonymize", "suppress_rare", log, "-o", target, code=2).err
    assert "--to" in coterie("anonymize", "suppress_rare", log, "-o", "-", code=2).err
    for name, kind in (("b.tsv", "csv"), ("b.tsv.gz", "csv.gz"), ("b.csv", "csv.gz")):
        target = tmp_path / name
        assert "not the name" in coterie("anonymize", "suppress_rare", log, "-o", target, "--to", kind, code=2).err
    assert existing.read_text() == "mine"
    coterie("anonymize", "suppress_rare", log, "-o", existing, "--force")


def test_a_log_is_never_replaced_by_its_release(coterie, log, tmp_path):
    mine = tmp_path / "mine.tsv"
    mine.write_bytes(log.read_bytes())
    assert "is one of the inputs" in coterie("anonymize", "suppress_rare", mine, "-o", mine, "--force", code=2).err
    assert mine.read_bytes() == log.read_bytes()


def test_force_replaces_regular_files_only(coterie, log, tmp_path):
    safe, pipe, link = tmp_path / "safe.tsv", tmp_path / "pipe.tsv", tmp_path / "link.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "-q")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "table.tsv").write_text("Top/Pets\n")
    os.mkfifo(pipe)
    link.symlink_to("nowhere")
    for path in (pipe, link):
        others = [path.with_suffix(kind) for kind in (".html", ".npz", ".svg")]
        for other in others:
            os.link(path, other, follow_symlinks=False)
        html, npz, svg = others
        (tmp_path / "queries.txt").write_text("weather\n")
        for arguments in (
            ("anonymize", "suppress_rare", log, "-o", path),
            ("anonymize", "suppress_rare", log, "-o", path, "--to", "tsv"),
            ("synth", "-o", path, "--users", "30"),
            ("report", safe, "-O", log, "-o", html),
            ("taxonomy", "build", tmp_path / "table.tsv", "-o", npz),
            ("explain", "affinity", log, "--query-file", tmp_path / "queries.txt", "--picture", svg),
        ):
            assert "only regular files are written" in coterie(*arguments, "--force", code=2).err
        for other in others:
            other.unlink()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scores.csv").symlink_to(log)
    study = coterie("study", tmp_path / "study.toml", "-o", tmp_path / "out", "--input", log, code=2)
    assert "never replaced" in study.err
    (tmp_path / "out" / "scores.csv").unlink()
    (tmp_path / "out" / "scores.csv").symlink_to(safe)
    study = coterie("study", tmp_path / "study.toml", "-o", tmp_path / "out", "--input", log, code=2)
    assert "only regular files are written" in study.err
    assert pipe.is_fifo()
    assert link.is_symlink()


STUDY = """
[read]
source = "log.tsv"
[[anonymize]]
method = "suppress_rare"
k = 5
"""


@pytest.mark.parametrize("more", [["--k", "2,1000"], ["--k", "5,5"], ["--k", "2,5", "--sidecar", "s.json"]])
def test_several_k_write_all_or_nothing(coterie, log, tmp_path, more):
    coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "out.{k}.tsv", *more, code=2)
    assert not list(tmp_path.iterdir())


def test_quiet_verify_still_says_what_is_wrong(coterie, log, tmp_path):
    safe = tmp_path / "safe.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "-q")
    assert coterie("verify", safe, "-O", log, "-q").err == ""
    assert "BROKEN" in coterie("verify", safe, "-O", log, "--k", "100", "-q", code=1).err


def test_a_report_checks_again(coterie, log, tmp_path):
    safe = tmp_path / "safe.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "-q")
    safe.write_text(safe.read_text() + "2006-03-05 00:00:00\tday\tzz top secret\t\t\n")
    assert "BROKEN" in coterie("report", safe, "-O", log, "-o", tmp_path / "r.json", "-q", code=1).err
    assert json.loads((tmp_path / "r.json").read_text())["releases"][0]["verdict"] == "broken"


def test_bad_requests_for_a_report(coterie, log, tmp_path):
    to = ("-O", log, "-o", tmp_path / "r.html")
    assert "no such file" in coterie("report", tmp_path / "no.tsv", *to, code=2).err
    assert "coterie anonymize" in coterie("report", log, *to, code=2).err
    assert "less than 2" in coterie("report", log, *to, "--kappa", "10,1", code=2).err


def test_a_report_shows_random_groups_beside_a_grouping(coterie, tmp_path):
    log, safe, record, page = (tmp_path / name for name in ("log.tsv", "safe.tsv", "record", "r.json"))
    synth.write(log, 30, 7)
    coterie("anonymize", "microaggregate", log, "-o", safe, "--k", "3", "--seed", "5", "--record", record, "-q")
    before = set(tmp_path.rglob("*"))
    given = ["--later", log, "--kappa", "2"]
    coterie("report", safe, "-O", log, "--record", record, "-o", page, "--seed", "5", *given, "-q")
    assert set(tmp_path.rglob("*")) - before == {page}  # random groups are never written
    (release,) = json.loads(page.read_text())["releases"]
    assert release["random_groups"]["parameters"] == {**release["parameters"], "partition": "random"}
    original = api.prepare(api.read(log), "default,scrub")
    random = api.anonymize(original, Microaggregate(k=3, partition="random"), seed=5)
    expected = api.measure(random, original=api.read(log), seed=5, later=api.read(log), kappas=[2]).to_dicts()
    assert {"later_queries", "partition_agreement"} < {row["name"] for row in expected}
    shown = release["random_groups"]["scores"]
    assert [row["key"] for row in shown] == [row["key"] for row in expected]
    assert [row["value"] for row in shown] == pytest.approx([row["value"] for row in expected], nan_ok=True)
    assert release["random_groups"]["scores"] != release["scores"]
    coterie("report", safe, "-O", log, "-o", page, "--force", "-q")  # without a record nobody knows the seed
    assert json.loads(page.read_text())["releases"][0]["random_groups"] is None


def test_markup_in_a_query_is_text(coterie, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,query\n" + "".join(f"{n},[/b] [red]tea\n" for n in range(4)))
    coterie("anonymize", "suppress_rare", path, "-o", tmp_path / "s.tsv", "--k", "3", "-q")
    assert "[/b] [red]tea" in coterie("measure", tmp_path / "s.tsv", "-O", path, "frequency", "--show-values").out


def test_synth_writes_text_only(coterie, tmp_path):
    for name in ("-", "x.parquet", "x"):
        assert ".tsv" in coterie("synth", "-o", tmp_path / name, "--users", "30", code=2).err


def test_unknown_names(coterie, log):
    assert "Did you mean 'suppress_rare'" in coterie("anonymize", "suppres_rare", log, "-o", "x.tsv", code=2).err
    assert "No measure" in coterie("measures", "exposure2", code=2).err
    assert "No such command" in coterie("anonymise", code=2).err


def test_nothing_survives(coterie, log, tmp_path):
    done = coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "safe.tsv", "--k", "250")
    assert "Nothing survives" in done.err
    assert (tmp_path / "safe.tsv").read_text() == "time\ttime_level\tquery\trank\turl\n"
    coterie("verify", tmp_path / "safe.tsv", "--original", log)


def test_a_measure_without_the_record_says_so(coterie, log, tmp_path):
    safe = tmp_path / "safe.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "-q")
    assert "--record" in coterie("measure", safe, "-O", log, "exposure", code=2).err
    rest = coterie("measure", safe, "-O", log)
    assert "Left out" in rest.err
    assert "release_share" in rest.out


def test_values_are_shown_on_request_only(coterie, log, tmp_path):
    safe = tmp_path / "safe.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "-q")
    top = pl.read_csv(log, separator="\t", quote_char=None)["Query"].mode()[0]
    assert top not in coterie("measure", safe, "-O", log, "frequency").out
    assert top in coterie("measure", safe, "-O", log, "frequency", "--show-values").out


def test_a_stop_that_a_library_wraps_is_still_a_stop(monkeypatch, capsys):
    from coterie.cli import errors

    monkeypatch.setattr(errors.signal, "signal", lambda *_: None)  # the tests themselves go on listening
    signals = errors.Signals()

    def wrapped():
        try:
            signals.stop(15, None)
        except BaseException:
            raise RuntimeError("a value of the log") from None

    assert errors.exit_code(wrapped, signals) == 128 + 15
    assert capsys.readouterr().err == "Stopped. Nothing was written.\n"


def _stopped_at(monkeypatch, module, name, call):
    """What happens when SIGTERM comes at that call of a function."""
    from coterie.cli.errors import StoppedError

    whole, calls = getattr(module, name), []

    def stopped(*given, **named):
        calls.append(name)
        if len(calls) == call:
            raise StoppedError
        return whole(*given, **named)

    monkeypatch.setattr(module, name, stopped)
    monkeypatch.setattr("coterie.cli.errors.Signals.received", 15, raising=False)
    monkeypatch.setattr("coterie.cli.errors.Signals.__init__", lambda self: None)


def test_who_stops_one_of_several_releases_is_told_which_are_there(coterie, log, tmp_path, monkeypatch):
    _stopped_at(monkeypatch, jobs, "write_and_list", 2)
    out = str(tmp_path / "safe.{k}.tsv")
    said = coterie("anonymize", "suppress_rare", log, "-o", out, "--k", "2,5", "-q", code=128 + 15).err
    assert " ".join(said.split()) == (
        f"Already written: {tmp_path / 'safe.2.tsv'}. Stopped. Nothing unfinished was written."
    )
    assert (tmp_path / "safe.2.tsv.json").exists()
    assert not (tmp_path / "safe.5.tsv").exists()


def test_a_release_that_is_there_is_told_of_also_where_the_stop_comes_right_after(coterie, log, tmp_path, monkeypatch):
    from coterie.cli.errors import StoppedError

    whole = jobs.write_and_list

    def stopped(*given, **named):
        whole(*given, **named)
        raise StoppedError

    _stopped_at(monkeypatch, jobs, "write_and_list", 0)
    monkeypatch.setattr(jobs, "write_and_list", stopped)
    out = str(tmp_path / "safe.{k}.tsv")
    said = coterie("anonymize", "suppress_rare", log, "-o", out, "--k", "2,5", "-q", code=128 + 15).err
    assert " ".join(said.split()) == (
        f"Already written: {tmp_path / 'safe.2.tsv'}. Stopped. Nothing unfinished was written."
    )
    assert [path.name for path in sorted(tmp_path.glob("safe.*.tsv"))] == ["safe.2.tsv"]


def test_who_stops_the_demo_is_told_which_releases_are_there(coterie, tmp_path, monkeypatch):
    """While the page is made, all of them."""

    from coterie import api

    _stopped_at(monkeypatch, api, "report", 1)
    folder = tmp_path / "demo"
    said = coterie("demo", "-o", folder, "--users", "40", "-q", code=128 + 15).err
    there = sorted(path for path in folder.glob("*.tsv") if path.name != "log.tsv")
    assert len(there) > 2
    assert all(str(path) in " ".join(said.split()) for path in there)
    assert "Stopped. Nothing unfinished was written." in said


def test_measures_without_a_record_refuse_another_log(coterie, log, tmp_path):
    safe, other = tmp_path / "safe.tsv", tmp_path / "other.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", safe, "-q")
    coterie("synth", "-o", other, "--users", "50", "--seed", "8", "-q")
    assert coterie("measure", safe, "frequency", "-O", log, "-q").out
    assert "made from another log" in " ".join(
        coterie("measure", safe, "frequency", "-O", other, "-q", code=2).err.split()
    )


def test_a_second_release_on_the_same_groups(coterie, tmp_path):
    log, out, record = tmp_path / "log.tsv", tmp_path / "out.{k}.tsv", tmp_path / "record.{k}"
    synth.write(log, 40, 7)
    said = coterie(
        "anonymize", "interest_microaggregate", log, "-o", out, "--k", "5,3", "--record", record, "--seed", "1"
    )
    assert "learns hardly anything" in " ".join(said.err.split())  # the second k, on unions of groups of the first
    again = coterie("anonymize", "microaggregate", log, "-o", tmp_path / "again.tsv", "--k", "3", "--seed", "2",
                    "--groups-of", tmp_path / "record.3", "--record", tmp_path / "again")  # fmt: skip
    assert "users are in the same groups as before" in " ".join(again.err.split())
    for k, name in ((3, "out.3"), (5, "out.5"), (3, "again")):
        folder = tmp_path / (name.replace("out", "record"))
        assert "The promise holds." in coterie("verify", tmp_path / f"{name}.tsv", "-O", log, "--record", folder).out
        assert pl.read_parquet(folder / "subjects.parquet").group_by("group").len()["len"].min() >= k
    measured = coterie("measure", tmp_path / "out.3.tsv", "-O", log, "--record", tmp_path / "record.3", "--seed", "1",
                       "composition", "--second", tmp_path / "again.tsv", "--second-record", tmp_path / "again",
                       "--json")  # fmt: skip
    scores = {row["key"]: row["value"] for row in json.loads(measured.out)}
    assert scores["released.single"] == 0
    alone = coterie("anonymize", "microaggregate", log, "-o", tmp_path / "alone.tsv", "--k", "3", "--seed", "2")
    assert "--groups-of DIR" in " ".join(alone.err.split())
    refused = coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "s.tsv", "--groups-of", tmp_path / "record.3",
                      code=2)  # fmt: skip
    assert "suppress_rare makes no groups of users" in " ".join(refused.err.split())
    assert not (tmp_path / "s.tsv").exists()


def test_independent_groups_for_each_k(coterie, tmp_path):
    log = tmp_path / "log.tsv"
    synth.write(log, 40, 7)
    options = ("--seed", "1", "--history", "none", "-q")
    coterie("anonymize", "microaggregate", log, "-o", tmp_path / "all.{k}.tsv", "--k", "3,5", "--independent", *options)
    coterie("anonymize", "microaggregate", log, "-o", tmp_path / "one.tsv", "--k", "5", *options)
    coterie("anonymize", "microaggregate", log, "-o", tmp_path / "unions.{k}.tsv", "--k", "3,5", *options)
    assert (tmp_path / "all.5.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()
    assert (tmp_path / "unions.5.tsv").read_bytes() != (tmp_path / "one.tsv").read_bytes()
    assert (tmp_path / "unions.3.tsv").read_bytes() == (tmp_path / "all.3.tsv").read_bytes()


def test_searches_of_an_access_log(coterie, tmp_path):
    site, out = tmp_path / "site.log", tmp_path / "safe.tsv"
    time = "[03/Feb/2020:09:00:00 +0000]"
    lines = [f'192.0.2.{n} - - {time} "GET /?q=blue+tea&n={n} HTTP/1.1" 200 5 "-" "B/1"\n' for n in range(1, 8)]
    site.write_text("".join(lines))
    config = tmp_path / "config.toml"
    config.write_text('query-param = "q"\nk = 5\n')
    assert "Tip: --query-param q reads the searches of 7 rows as a search log." in coterie("inspect", site).err
    coterie("anonymize", "suppress_rare", site, "-o", out, "--config", config)
    assert out.read_text().count("blue tea") == 7
    assert "The promise holds." in coterie("verify", out, "-O", site).out, "the sidecar says how to read it"
    assert "The promise holds." in coterie("verify", out, "-O", site, "--query-param", "q").out
    coterie("measure", out, "release_share", "-O", site)
    coterie("report", out, "-O", site, "-o", tmp_path / "page.md")
