"""What was opened and tried is found again; names of files that were dropped never become more than names."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.studio.desk import last_part, safe_name


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
