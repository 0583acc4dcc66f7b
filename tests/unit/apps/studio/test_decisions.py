"""What is signed is what was weighed; what a page says can be typed works; what was stopped leaves nothing."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from html import unescape
from pathlib import Path

import httpx
import pytest

from coterie import synth
from coterie.apps.studio import decisions
from coterie.apps.studio.plain import Wanted
from coterie.apps.studio.queue import start_process
from coterie.reports import shown
from tests.helpers.studios import commands_on, pasted, studio


@pytest.fixture(scope="module")
def decided(browser, opened, tmp_path_factory):
    """A release of groups that was attacked and decided about: the attempt, what was written, and its page."""
    browser.done(browser.post(f"/log/{opened}/risk"))
    attempt = browser.attempt(opened, "microaggregate", k="3", publish="queries")
    browser.done(browser.post(f"/try/{attempt}/attack"))
    folder = tmp_path_factory.mktemp("decided") / "it's 100% done"
    form = {"folder": str(folder), "kind": "tsv", "record": "on"}
    where = browser.done(browser.post(f"/try/{attempt}/decide", form))
    decision = browser.desk.decisions[int(where.rpartition("/")[2])]
    assert decision.written is not None, decision.job.error
    return browser.desk.attempts[attempt], decision.written, unescape(browser.get(where).text)


def test_the_figures_that_are_signed_are_those_that_were_weighed(browser, opened, decided):
    attempt, written, _ = decided
    assert written.weighed == attempt.attacked.weighed
    assert written.advice == attempt.attacked.advice
    report = unescape((Path(written.folder) / "report.html").read_text())
    cells = " ".join(re.sub("<[^>]*>", " ", report).split())
    for line in written.weighed:
        for number in (line.before, line.after, line.control):
            assert shown(number, "%") in cells, line
    now = {each.says: each.text for each in browser.desk.logs[opened].risk.numbers if each.says}
    before = {line.attacker: shown(line.before, "%") for line in written.weighed}
    assert set(now) & set(before)
    for says in set(now) & set(before):
        assert now[says] == before[says], says


def test_the_release_that_is_written_is_the_one_that_was_tried(browser, decided):
    attempt, written, _ = decided
    tried = json.loads((browser.desk.folder / "tried" / f"{attempt.id}.parquet.json").read_text())
    kept = json.loads((Path(written.folder) / "release.tsv.json").read_text())
    assert kept["rows_sha256"] == tried["rows_sha256"]
    assert kept["sha256"] == written.sha256
    differs = {name for name in kept if kept[name] != tried[name]}
    assert differs <= {"sha256", "left_out"}


def test_a_page_says_what_the_report_recommends(decided):
    _, written, page = decided
    assert not written.recommended, "or this tests nothing"
    assert written.advice in page
    assert page.index("Not recommended by the report") < page.index("Kept")
    assert "does not recommend to share" in dict(written.files)["release.tsv"]


def test_the_record_is_kept_unless_said_where_nothing_can_be_checked_without(browser, opened, decided):
    attempt, _, _ = decided
    form = browser.get(f"/log/{opened}/decide?try={attempt.id}").text
    assert re.search(r'name="record" value="on" checked', form)
    rows = browser.attempt(opened, "suppress_rare", k="3")
    form = browser.get(f"/log/{opened}/decide?try={rows}").text
    assert not re.search(r'name="record" value="on" checked', form)


def test_the_file_of_commands_works_when_it_is_pasted(decided):
    _, written, _ = decided
    lines = (Path(written.folder) / "commands.txt").read_text().splitlines()
    done = pasted([line for line in lines if line.startswith(("cd ", "coterie "))], "/")
    assert done.returncode == 0, done.stderr
    assert sum(line.startswith("coterie ") for line in lines) == 3
    assert {"again.tsv", "again.html"} <= {path.name for path in Path(written.folder).iterdir()}
    shutil.rmtree(written.folder)


def test_commands_of_a_decision_without_its_record_claim_nothing(browser, decided):
    attempt, _, _ = decided
    offer = browser.desk.catalogue.offers["microaggregate"]
    source = browser.desk.logs[attempt.log].source
    wanted = Wanted(
        source=source, number=1, offer=offer, typed={}, folder="/x", kind="tsv", about={}, keep_record=False
    )
    text = decisions._commands(wanted, Path("/x"), "release.tsv", needs=True)
    assert "coterie verify" not in text
    assert "anybody" not in text
    assert "without attacks" in text


def test_every_command_on_a_page_works_when_it_is_pasted(browser, tmp_path):
    """For a file with a space and a leading dash in its name, which was dropped: its owner has it here."""
    name = "-my log.tsv"
    synth.write(tmp_path / name, 30, 7)
    where = browser.done(
        browser.post("/open", {"how": "drop"}, files={"files": (name, (tmp_path / name).read_bytes())})
    )
    log = int(where.rpartition("/")[2])
    tries = [
        browser.attempt(log, "suppress_rare", k="4"),
        browser.attempt(log, "microaggregate", k="4", publish="queries"),
    ]
    steps = ["", "/risk", *(f"/choose?try={number}" for number in tries), "/compare", f"/decide?try={tries[1]}"]
    pages = [browser.get(f"/log/{log}{step}").text for step in steps]
    assert all("where your own copy" in page for page in pages)
    lines = [line for page in pages for line in commands_on(page)]
    assert len(lines) == 2 + 2 * 2 + 3 + 2
    done = pasted(dict.fromkeys(lines), tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"compare.html", "report.html", "release.tsv", "private-record"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_a_decision_that_is_stopped_leaves_nothing(log_file, tmp_path):
    """Neither when it is stopped nor when the studio is closed in the middle of it."""
    place = tmp_path / "decision"

    def hidden():
        return [path for path in tmp_path.glob(".coterie-*/decision/release.tsv*") if path.exists()]

    with studio(start=start_process) as browser:
        attempt = browser.attempt(browser.open(log_file), "suppress_rare", k="3")
        for stop in (True, False):
            form = {"folder": str(place), "kind": "tsv", "record": "on"}
            answer = browser.post(f"/try/{attempt}/decide", form)
            decision = list(browser.desk.decisions.values())[-1]
            _until(lambda decision=decision: hidden() or decision.job.over)
            assert decision.job.state == "running", decision.job.error
            if stop:
                browser.post(f"/job/{decision.job.id}/stop", {"back": "/"})
                _until(lambda: not list(tmp_path.iterdir()))
                assert "Nothing was written" in browser.follow(answer).text
                decisions.new_folder(str(place))  # and it can be decided again
    assert list(tmp_path.iterdir()) == []


def _until(holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 0)])
def test_a_studio_that_is_told_to_end_claims_nothing_about_what_was_written(number, code):
    """A terminal sends Ctrl-C to everybody in it: no worker, which is starting now, may have something to say."""
    command = [sys.executable, "-c", _AS_A_TERMINAL_STARTS_IT, "studio", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    address = process.stdout.readline().strip()
    assert httpx.get(f"{address}open").status_code == 200
    os.killpg(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert "folders that you asked for" in said
    assert "Nothing was written" not in said
    assert "Traceback" not in said


# Where tests run in the background of a shell, Ctrl-C is ignored, and processes inherit that.
_AS_A_TERMINAL_STARTS_IT = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "if __name__ == '__main__':\n    from coterie.cli.main import main; main()"
)
