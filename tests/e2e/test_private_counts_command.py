"""Differential privacy on the command line.

Covers: cli/ledger.py, explain/forecast.py.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from coterie.cli.main import cli
from coterie.errors import CoterieError, ParameterError
from coterie.explain import forecast
from coterie.methods.private_counts import PrivateCounts
from coterie.writing import history


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def refused(*arguments):
    """The sentence with which the command line ends."""
    error = run(*arguments).exception
    assert isinstance(error, CoterieError)
    return str(error)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.tsv"
    lines = [f"u{n}\t{query}\t2006-03-0{1 + n % 5} 10:00:00\t\t" for n in range(500) for query in ("maps", "weather")]
    path.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + "\n".join(lines) + "\n")
    return path


def test_a_release_with_its_ledger(log, tmp_path):
    out, record = tmp_path / "safe.tsv", tmp_path / "record"
    done = run(
        "anonymize", "private_counts", log, "-o", out, "--epsilon", 4, "--population", 100000, "--record", record
    )
    assert done.exit_code == 0, done.exception
    sidecar = json.loads(out.with_name("safe.tsv.json").read_text())
    words = set(re.findall(r"\w+", json.dumps(sidecar).replace(",", "")))  # whole ones: any digits may be in a digest
    assert "100000" in words, "the population that was given"
    assert not words & {"500", "1000"}, "the users and the rows of the log"
    assert run("verify", out, "-O", log, "--record", record).exit_code == 0
    shown = run("ledger", "show", log)
    assert "1 run: epsilon = 4, delta = 1e-06 in all." in shown.output
    numbers = {row["key"]: row["value"] for row in json.loads(run("ledger", "show", log, "--json").output)}
    assert (numbers["runs"], numbers["run.1.epsilon"], numbers["run.1.delta"]) == (1, 4, 1e-6)
    assert numbers["run.1.order.queries"] > 1
    assert f"order = {numbers['run.1.order.queries']:.4g}" in shown.output


def test_a_ledger_shows_a_log_under_another_name(log, tmp_path):
    """By its bytes: as the budget does, and for a log that is read alike."""
    where, out = ("--history", tmp_path / "book.json"), tmp_path / "safe.tsv"
    options = ("--epsilon", 4, "--delta", 1e-6, "--columns", "user=AnonID,query=Query", *where)
    assert run("anonymize", "private_counts", log, "-o", out, *options).exit_code == 0
    copy = log.rename(tmp_path / "copy.tsv")
    assert "0 runs" in run("ledger", "show", copy, *where).output
    assert "1 run: epsilon = 4" in run("ledger", "show", copy, *where, "--columns", "user=AnonID,query=Query").output
    refusal = refused("anonymize", "private_counts", copy, "-o", tmp_path / "b.tsv", *options, "--budget", "5,1e-5")
    assert "4 spent in 1 runs" in refusal


def test_what_is_refused_spends_nothing(log, tmp_path):
    out = tmp_path / "safe.tsv"
    budget = ("--delta", 1e-6, "--budget", "1,1e-5")
    assert "budget of this log" in refused("anonymize", "private_counts", log, "-o", out, "--epsilon", 4, *budget)
    assert "takes no seed" in refused("anonymize", "private_counts", log, "-o", out, "--delta", 1e-6, "--seed", 3)
    assert "--history" in refused("anonymize", "private_counts", log, "-o", out, "--delta", 1e-6, "--history", "none")
    assert "needs delta" in refused("anonymize", "private_counts", log, "-o", out)
    too_small = ("--epsilon", 3, "--delta", 1e-15, "--budget", "4,1e-3")
    assert "delta is too small" in refused("anonymize", "private_counts", log, "-o", out, *too_small)
    assert "A budget is for" in refused("anonymize", "suppress_rare", log, "-o", out, "--budget", "1,1e-5")
    assert not out.exists()
    assert history.spent_of([log]) == []
    assert "0 runs" in run("ledger", "show", log).output


def test_a_run_that_fails_later_has_spent(log, tmp_path, monkeypatch):
    from coterie import api

    def broken(*_arguments, **_options):
        raise CoterieError("The disk is gone.")

    monkeypatch.setattr(api, "anonymize_prepared", broken)
    refused("anonymize", "private_counts", log, "-o", tmp_path / "safe.tsv", "--delta", 1e-6)
    assert "1 run: epsilon = 1" in run("ledger", "show", log).output


def started(log, out, *options):
    """The command in a process of its own."""
    arguments = ["anonymize", "private_counts", log, "-o", out, "--epsilon", 4, "--delta", 1e-6, *options]
    return subprocess.Popen(
        [sys.executable, "-m", "coterie", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_a_run_that_is_killed_has_spent(log, tmp_path):
    """It is killed as soon as the ledger is there: what was spent is listed, and no half of a release is left."""
    out = tmp_path / "safe.tsv"
    history = log.with_name("log.tsv.history.json")
    with started(log, out) as process:
        while not history.exists() and process.poll() is None:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert "1 run: epsilon = 4" in run("ledger", "show", log).output
    if out.exists():
        assert run("verify", out).exit_code in (0, 3)
    assert "epsilon of 5 in all, 4 spent in 1 runs" in refused(
        "anonymize", "private_counts", log, "-o", tmp_path / "more.tsv", "--epsilon", 4, "--delta", 1e-6,
        "--budget", "5,1e-5",
    )  # fmt: skip


def test_two_runs_at_once_cannot_both_spend_the_last_of_it(log, tmp_path):
    outs = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    runs = [started(log, out, "--budget", "5,1e-5") for out in outs]
    said = [process.communicate()[0].decode() for process in runs]
    assert sorted(process.returncode for process in runs) == [0, 2]
    assert sum(out.exists() for out in outs) == 1
    assert sum("budget of this log does not allow it" in text for text in said) == 1
    assert "1 run: epsilon = 4" in run("ledger", "show", log).output


def test_a_second_release_is_told_what_both_cost(log, tmp_path):
    def made(method, out, *options):
        done = run("anonymize", method, log, "-o", tmp_path / out, *options)
        assert done.exit_code == 0, done.exception
        return done.output + (done.stderr if done.stderr_bytes else "")

    private = ("--epsilon", 4, "--delta", 1e-6)
    assert "adds up" not in made("private_counts", "one.tsv", *private)
    second = made("private_counts", "two.tsv", *private)
    assert "all runs on this log together have epsilon = 8 and delta = 2e-06" in second
    assert "k then holds for neither" not in second
    third = made("suppress_rare", "three.tsv", "--k", 5)
    assert "epsilon = 8" in third
    assert "by other methods have no epsilon" in third


def test_the_sidecar_tells_nothing_of_the_log(log, tmp_path):
    """Two logs that differ in many users, and in what few of them typed, have the same sidecar but for the digest."""
    sidecars = []
    for number, users in enumerate((500, 700)):
        path, out = tmp_path / f"{number}" / "log.tsv", tmp_path / f"{number}" / "safe.tsv"
        path.parent.mkdir()
        rows = [f"u{n}\tmaps\t2006-03-0{1 + n % 5} 10:00:00\t\t" for n in range(users)]
        rows += [f"u{n}\tqzqueryq {number} {n}\t2006-03-01 10:00:00\t\t" for n in range(number, 90)]
        path.write_text(log.read_text().splitlines()[0] + "\n" + "\n".join(rows) + "\n")
        options = ("--epsilon", 6, "--population", 10**6, "--counts", 0)
        assert run("anonymize", "private_counts", path, "-o", out, *options).exit_code == 0
        assert out.read_text().count("\n") == 2, "maps alone is released"
        sidecars.append(out.with_name("safe.tsv.json").read_text())
    assert sidecars[0] == sidecars[1]
    assert "qz" not in sidecars[0]


@pytest.mark.parametrize(("options", "sentence"), [
    (("--epsilon", 0), "must be a finite number above 0"), (("--epsilon", -1), "must be a finite number above 0"),
    (("--epsilon", "inf"), "must be a finite number above 0"), (("--delta", 0), "above 0 and below 1"),
    (("--delta", 1), "above 0 and below 1"), (("--counts", 1), "between 0 and 0.9"), (("--k", 0), "at least 1"),
    (("--population", 10, "--delta", 0.2), "above 1 / population"),
    (("--history", "no/such/folder.json"), "does not exist"), (("--prepare", "sample(subjects=9)"), "step sample"),
])  # fmt: skip
def test_bad_input_is_refused_with_a_sentence(log, tmp_path, options, sentence):
    out = tmp_path / "safe.tsv"
    given = {"--delta": 1e-6, **dict(zip(options[::2], options[1::2], strict=True))}
    said = refused("anonymize", "private_counts", log, "-o", out, *(part for pair in given.items() for part in pair))
    assert sentence in said
    assert not out.exists()
    assert history.spent_of([log]) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the owner of everything can write everywhere")
def test_a_ledger_that_cannot_be_written_releases_nothing(log, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    log.parent.chmod(0o500)
    try:
        assert "nothing can be written" in refused("anonymize", "private_counts", log, "-o", out / "s", "--delta", 1e-6)
    finally:
        log.parent.chmod(0o700)
    assert not any(out.iterdir())


def test_a_ledger_that_is_no_ledger_releases_nothing(log, tmp_path):
    log.with_name("log.tsv.history.json").write_text("[]")
    out = tmp_path / "safe.tsv"
    assert "is not a history" in refused("anonymize", "private_counts", log, "-o", out, "--delta", 1e-6)
    assert not out.exists()


def test_too_small_a_population_is_told_to_the_operator_alone(log, tmp_path):
    out = tmp_path / "safe.tsv"
    done = run("anonymize", "private_counts", log, "-o", out, "--epsilon", 4, "--population", 10)
    assert "more users than the population" in done.output + (done.stderr if done.stderr_bytes else "")
    assert "more users" not in out.with_name("safe.tsv.json").read_text()


_STUDY = """
[read]
source = "{source}"

[[anonymize]]
method = "private_counts"
epsilon = [2.0, 4.0]
delta = 1e-4

[measure]
names = ["release_share"]
"""


def test_a_study_is_for_synthetic_logs(log, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(_STUDY.format(source="synth:users=200,seed=7"))
    done = run("study", study, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.exception
    study.write_text(_STUDY.format(source=log))
    assert "every look of private_counts" in refused("study", study, "-o", tmp_path / "real")


def test_a_forecast_is_for_the_table():
    method = PrivateCounts(delta=1e-6, counts=0.0, queries_per_user=1)
    assert forecast.users_needed(method)["items"].to_list() == [1]
    with pytest.raises(ParameterError, match="Leave out mechanism"):
        forecast.users_needed(PrivateCounts(delta=1e-6, counts=0.0, mechanism="wgm"))


def test_a_forecast_needs_no_log():
    found = run("explain", "private_counts", "--epsilon", 1, "--delta", 1e-5, "--k", 1, "--counts", 0, "--json")
    assert found.exit_code == 0, found.exception
    numbers = {row["key"]: row["value"] for row in json.loads(found.output)}
    assert numbers["users_needed.1_items_per_user.half"] == 39
    assert numbers["users_needed.64_items_per_user.half"] > numbers["users_needed.16_items_per_user.half"]


def test_a_forecast_of_a_synthetic_log():
    found = run("explain", "private_counts", "--epsilon", 3, "--delta", 1e-3, "--synthetic", 300, "--json")
    numbers = {row["key"]: row["value"] for row in json.loads(found.output)}
    assert 0 <= numbers["synthetic.share"] <= 100


def test_a_full_disk_under_the_ledger_releases_nothing(log, tmp_path, monkeypatch):
    from coterie.writing import history

    def full(_path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(history, "onto_the_disk", full)
    out = tmp_path / "safe.tsv"
    done = run("anonymize", "private_counts", log, "-o", out, "--delta", 1e-6)
    assert done.exit_code != 0
    assert not out.exists()
    assert not list(tmp_path.glob("*.part*"))
