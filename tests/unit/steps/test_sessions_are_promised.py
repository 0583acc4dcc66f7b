"""A release with users=session says how long a pause its sessions survive, and is judged by that."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core.promise import Case
from coterie.methods.affinity import Affinity
from coterie.methods.generalize import Generalize
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import judge
from coterie.promises.query_k_anonymity import QueryKAnonymity

START = datetime(2020, 2, 3, 9)
STEPS = "normalize,drop_empty,sessions(minutes=10)"


def _log(gap=20):
    """Three people who search for the same two things, with a pause between them."""
    rows = [(user, START + timedelta(minutes=gap * at), query)
            for user in ("ann", "bob", "cyd") for at, query in enumerate(("dog", "cat"))]  # fmt: skip
    return coterie.log(pl.DataFrame(rows, schema=["user", "time", "query"], orient="row"))


@pytest.fixture
def original(tmp_path):
    """The same as a file, which verify has to prepare itself."""
    path = tmp_path / "log.csv"
    _log().to_polars().write_csv(path)
    return path


@pytest.mark.parametrize("method", [SuppressRare(k=3, users="session"), Affinity(k=3, users="session"),
                                    Generalize(k=3, users="session")])  # fmt: skip
def test_sessions_of_ten_minutes_verify(method, original, tmp_path):
    log = coterie.prepare(coterie.read(original), STEPS)
    release = coterie.anonymize(log, method, seed=1)
    assert release.to_polars()["user"].n_unique() == 6, "a name for each of two sessions of three people"
    assert "pause of more than 10 minutes" in release.verdict.sentence
    assert any("10 minutes" in warning for warning in release.warnings)
    coterie.write(release, tmp_path / "out.csv", record=tmp_path / "record")
    sidecar = json.loads((tmp_path / "out.csv.json").read_text())
    assert sidecar["prepare"] == ["normalize", "drop_empty", "sessions(minutes=10)"]
    assert sidecar["promises"][0]["session_minutes"] == 10
    verdict = coterie.verify(tmp_path / "out.csv", coterie.read(original), record=tmp_path / "record")
    assert [check.status for check in verdict.checks if check.name == "links"] == ["passed"]
    assert verdict.exit_code == 0


def test_without_the_step_a_session_survives_half_an_hour(original):
    release = coterie.anonymize(coterie.prepare(coterie.read(original)), SuppressRare(k=3, users="session"), seed=1)
    assert release.to_polars()["user"].n_unique() == 3
    assert release.promises == (QueryKAnonymity(k=3, users="session", session_minutes=30),)
    assert "pause of more than half an hour" in release.verdict.sentence


@pytest.mark.parametrize(("promised", "holds"), [(10, True), (19, True), (20, False), (30, False)])
@pytest.mark.parametrize("numbered", [True, False])
def test_the_judge_goes_by_the_promise(promised, holds, numbered):
    """Numbers that were given with another pause than the promised one do not count."""
    log = coterie.prepare(_log(), STEPS)
    release = coterie.anonymize(log, SuppressRare(k=3, users="session"), seed=1)
    original = log if numbered else coterie.prepare(_log())
    promise = replace(release.promises[0], session_minutes=promised)
    verdict = judge(Case(rows=release.log.frame, shape=release.log.shape, original=original), (promise,))
    [links] = [check for check in verdict.checks if check.name == "links"]
    assert (links.status == "passed") is holds


def test_rows_that_are_left_out_later_hold_a_session_together():
    middle = pl.DataFrame([("ann", START + timedelta(minutes=10), "-")], schema=["user", "time", "query"], orient="row")
    log = coterie.log(pl.concat([_log().to_polars().select("user", "time", "query"), middle]))
    log = coterie.prepare(log, ["sessions(minutes=10)", "normalize", "drop_empty"])
    release = coterie.anonymize(log, SuppressRare(k=3, users="session"), seed=1)
    assert release.to_polars()["user"].n_unique() == 5, "one session of ann, two of bob and cyd"


def test_a_study_takes_steps_with_parameters(tmp_path):
    from coterie.study import load_study

    path = tmp_path / "study.toml"
    path.write_text(
        '[read]\nsource = "synth:users=10"\n[prepare]\nsteps = ["normalize", {name = "sessions", minutes = 10}]\n'
        '[[anonymize]]\nmethod = "suppress_rare"\nk = 2\n'
    )
    assert load_study(path).prepare.steps == ("normalize", "sessions(minutes=10)")
