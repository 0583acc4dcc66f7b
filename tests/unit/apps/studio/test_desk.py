"""What was opened and tried is found again; names of files that were dropped never become more than names.

Covers: apps/studio/plain.py
"""

import io
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.apps.studio import desk as desk_module
from coterie.apps.studio.desk import Decision, last_part, safe_name
from coterie.apps.studio.plain import whole_path
from tests.helpers.studios import commands_on


@pytest.mark.parametrize(
    ("given", "name", "path"),
    [
        ("log.tsv.gz", "log.tsv.gz", "log.tsv.gz"),
        ("../../etc/passwd", "passwd", "passwd"),
        ("C:\\logs\\my log.csv", "my log.csv", "my_log.csv"),
        ("..", "..", ""),
        (".ssh", ".ssh", "ssh"),
        ("a\0b", "ab", "ab"),
        ("<script>.csv", "<script>.csv", "_script_.csv"),
        (f"{'x' * 90} r.tsv", f"{'x' * 90} r.tsv", f"{'x' * 69}_r.tsv"),
        (f"{'x' * 90} r.tsv.json", f"{'x' * 90} r.tsv.json", f"{'x' * 69}_r.tsv.json"),
    ],
)
def test_names(given, name, path):
    assert last_part(given) == name
    assert safe_name(name) == path


@given(st.text(max_size=300))
def test_no_name_leaves_its_folder(text):
    safe = safe_name(last_part(text))
    assert "/" not in safe
    assert "\\" not in safe
    assert safe not in (".", "..")
    assert len(safe) <= 80


def test_files_of_one_name_are_two_files(browser):
    files = [("a/log.tsv", io.BytesIO(b"1")), ("b/log.tsv", io.BytesIO(b"2")), ("", io.BytesIO(b"3"))]
    paths, names = browser.desk.keep(files)
    assert [Path(path).read_bytes() for path in paths] == [b"1", b"2", b"3"]
    assert names == ["log.tsv", "log.tsv", "log"]


def test_what_a_slider_passed_is_not_tried(browser, opened):
    desk, log = browser.desk, browser.desk.logs[opened]
    for job in list(desk.queue._jobs.values()):
        desk.queue.wait(job)
    tries = [desk.attempt(log, "suppress_rare", {"k": str(k)}) for k in range(20, 26)]
    for attempt in tries:
        desk.queue.wait(attempt.job)
    states = [attempt.job.state for attempt in tries]
    assert states[-1] == "done"
    assert states.count("stopped") >= 3, "those that waited while newer ones came"
    passed = tries[states.index("stopped")]
    page = browser.get(f"/log/{opened}/choose?try={passed.id}").text
    assert "Trying suppress_rare: stopped." in page, "another tab that waited for it is told"
    assert f'name="p.k" value="{passed.typed["k"]}"' in page


def test_what_was_decided_about_is_not_forgotten(browser, opened, monkeypatch):
    desk, log = browser.desk, browser.desk.logs[opened]
    first, second, third = (browser.attempt(opened, "suppress_rare", k=k) for k in ("27", "28", "29"))
    job = desk.attempts[first].job
    desk.decisions[10**6] = Decision(id=10**6, log=opened, attempt=first, job=job, folder="somewhere")
    kept = dict(desk.attempts)
    for number in set(kept) - {first, second, third}:
        del desk.attempts[number]
    monkeypatch.setattr(desk_module, "TRIED", 2)
    try:
        desk._forget()
        assert list(desk.attempts) == [first, third]
        del desk.attempts[first]  # even so, pages are made
        for path in (f"/log/{opened}/decide", "/decision/1000000"):
            assert browser.get(path).status_code == 200
        assert "no longer here" in browser.get(f"/log/{opened}/choose?try={second}").text
    finally:
        desk.attempts = {**kept, **desk.attempts}
        del desk.decisions[10**6]
    assert log.id == opened


def test_a_release_of_another_log_is_not_mixed_up(browser, opened):
    attempt = browser.attempt(opened, "suppress_rare", k="3")
    other = int(browser.done(browser.post("/open", {"how": "synthetic", "users": "22"})).rpartition("/")[2])
    assert "no longer here" in browser.get(f"/log/{other}/choose?try={attempt}").text
    assert "Nothing was tried yet" in browser.get(f"/log/{other}/decide?try={attempt}").text


def test_a_log_that_changed_is_noticed(browser, log_file, tmp_path):
    path = tmp_path / "grows.tsv"
    lines = log_file.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2000]))
    first = browser.open(path)
    attempt = browser.attempt(first, "suppress_rare", k="3")
    path.write_text("".join(lines))
    folder = tmp_path / "decision"
    page = browser.follow(browser.post(f"/try/{attempt}/decide", {"folder": str(folder), "kind": "tsv"})).text
    assert "has changed since it was opened" in page
    assert not folder.exists()
    again = browser.open(path)
    assert again != first
    assert browser.desk.logs[again].opened.rows > browser.desk.logs[first].opened.rows


def test_any_door(browser, tmp_path):
    place = tmp_path / "log.db"
    with closing(sqlite3.connect(place)) as base, base:
        base.execute("create table searches (user text, query text)")
        rows = [(str(i % 9), "blue teapot") for i in range(30)]
        base.executemany("insert into searches values (?, ?)", rows)
    number = browser.open(f"sqlite:{place}#searches")
    assert browser.desk.logs[number].opened.people == 9
    line = commands_on(browser.get(f"/log/{number}/choose").text)[0]
    assert f"sqlite:{place}#searches" in line
    assert "--history none" in line
    assert whole_path("s3://bucket/a.tsv") == "s3://bucket/a.tsv"
    assert whole_path("a.tsv") == str(Path.cwd() / "a.tsv")
    for text, says in (("~nosuchuser/x", "no user of the name"), ("ftp://x/y", "no place that Coterie knows")):
        answer = browser.post("/open", {"how": "name", "path": text})
        assert answer.status_code == 400
        assert says in answer.text


def test_a_device_is_no_log(browser):
    number = browser.open("/dev/zero")
    assert "never ends" in browser.get(f"/log/{number}").text


def test_the_first_line_of_a_file_is_shown_until_it_is_hidden(browser, tmp_path):
    """Also where its values were chosen as names of columns: in menus, and in what can be typed."""
    path = tmp_path / "headless.csv"
    path.write_text("".join(f"{i % 6},zebra canary {i % 6},2020-01-0{1 + i % 9}\n" for i in range(30)))
    first = browser.open(path, format="table", columns="user=nothing")
    browser.done(browser.post(f"/log/{first}/show", {"what": "names"}))
    columns = {"column.user": "0", "column.query": "zebra canary 0", "format": "table", "prepare": "none"}
    second = int(browser.done(browser.post(f"/log/{first}/again", columns)).rpartition("/")[2])
    assert browser.desk.logs[second].opened is not None, browser.desk.logs[second].job.error
    shown = browser.get(f"/log/{second}").text
    assert "zebra canary 0" in shown
    assert "Hide the first line" in shown
    hidden = browser.follow(browser.post(f"/log/{second}/hide")).text
    assert "zebra" not in hidden
    assert "zebra" not in browser.get(f"/log/{second}/choose").text
    third = browser.follow(browser.post(f"/log/{second}/again", {"format": "table", "prepare": "default"})).text
    assert "zebra" not in third
    assert "Different queries" in third, "its columns are still those that were chosen"
