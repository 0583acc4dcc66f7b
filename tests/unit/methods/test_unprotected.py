"""Releases that promise nothing say so: when they are written, in the sidecar, and when they are verified.

Covers: promises/none.py.
"""

import json
from datetime import datetime

import pytest

import coterie
from coterie.errors import ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.methods.unprotected import Unprotected
from coterie.testing import queries_log
from tests.helpers.hand_made import log_of

AT = datetime(2026, 3, 31, 12, 30, 15)


def test_it_is_written_only_if_one_says_so(tmp_path):
    release = coterie.anonymize(queries_log(), Unprotected(users="day"), seed=1)
    with pytest.raises(ParameterError, match=r"unprotected promises nothing .* promise='none'"):
        coterie.write(release, tmp_path / "out.tsv")
    assert not list(tmp_path.iterdir())
    coterie.write(release, tmp_path / "out.tsv", record=tmp_path / "record", promise="none")
    sidecar = json.loads((tmp_path / "out.tsv.json").read_text())
    assert sidecar["promises"][0]["name"] == "none"
    assert sidecar["promises"][0]["sentence"].startswith("Nothing is promised about the people in this file")
    assert any("typed by one person alone" in warning for warning in sidecar["warnings"])
    verdict = coterie.verify(tmp_path / "out.tsv", queries_log(), record=tmp_path / "record")
    assert [check.name for check in verdict.checks if check.status != "passed"] == ["promise"]
    assert verdict.exit_code == 3
    assert coterie.verify(tmp_path / "out.tsv").exit_code == 3


def test_others_promise_something(tmp_path):
    release = coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)
    with pytest.raises(ParameterError, match="suppress_rare says itself what it promises"):
        coterie.write(release, tmp_path / "out.tsv", promise="none")


def test_nothing_can_be_checked_of_foreign_rows():
    with pytest.raises(ParameterError, match="there is nothing to check"):
        coterie.verify(queries_log(), queries_log(), promise="none", k=2)


@pytest.mark.parametrize(("times", "time"), [
    ("hour", datetime(2026, 3, 31, 12)), ("day", datetime(2026, 3, 31)), ("week", datetime(2026, 3, 30)),
    ("month", datetime(2026, 3, 1)), ("quarter", datetime(2026, 1, 1)), ("drop", None),
])  # fmt: skip
def test_times_are_cut_whoever_shares_them(times, time):
    log = log_of([{"user": "a", "query": "tea", "time": AT, "url": "x", "rank": 1}, {"user": "b", "query": "one two"}])
    rows = coterie.anonymize(log, Unprotected(times=times, max_words=1), seed=1).to_polars()
    assert rows.rows() == [(None, time, *([] if times == "drop" else [times]), "tea", 1, "x")]
    bare = coterie.anonymize(log, Unprotected(times=times, attrs="drop"), seed=1).to_polars()
    assert bare.rows() == [(None, None, "one two", None, None), (None, None, "tea", None, None)]
