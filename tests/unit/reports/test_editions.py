"""The external edition: a whitelist, and nothing that was measured on the log beside differential privacy."""

import json
import re
from dataclasses import fields, replace

import pytest

from coterie.core.promise import Check
from coterie.core.scores import score_table
from coterie.promises.differential_privacy import DifferentialPrivacy
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.reports import render
from coterie.reports.figures import in_two_digits, public
from coterie.reports.views import LogView, ReleaseView

KINDS = ("html", "md", "json")
PRIVATE = DifferentialPrivacy(epsilon=1.0, delta=1e-6)
SCORES = [
    ("linkage", "after.half", 7.0625, "% of users"), ("linkage", "before.half", 97.1875, "% of users"),
    ("linkage", "released.half", 9.3125, "% of users"), ("linkage", "released.half.control", 0.5, "% of users"),
    ("linkage", "released.half.people", 347, "people"), ("linkage", "released.half.risk", 8.8594, "% of users"),
    ("linkage", "released.half.risk.low", 8.1406, "% of users"),
    ("linkage", "released.half.risk.high", 9.0312, "% of users"), ("linkage", "after.names", 51, "names"),
    ("attribution", "excess", 8.0, "% points"),
    ("attribution", "users", 8.77, "users attacked"), ("personal_data", "after.rows", 0, "rows"),
    ("personal_data", "before.rows", 8.55, "rows"), ("uniqueness", "before.subjects", 8.66, "users"),
    ("somebody_elses", "measure", 8.44, "%"),
]  # fmt: skip


def _log(**changes):
    log = LogView(
        rows=123_456, users=1_234, queries=17_142, days=92, bad_lines=3, steps=(), shape="QUERIES", synthetic=False,
        exposure=score_table([("uniqueness", "before.one_query", 8.33, "%")]), files=("secret-customer.tsv",),
        digest="d" * 64, period=("2026-03-01", "2026-05-31"),
    )  # fmt: skip
    return replace(log, **changes)


def _release(promise=None, **changes):
    how = Check(name="accounts", status="passed", detail="looked at", how="8.22 weights", concerns=None)
    view = ReleaseView(
        label="a k=10", method="a", params={"k": 10}, promises=(promise or UserKAnonymity(k=10),),
        checks=(Check(name="crowd", status="passed", detail="looked at", carries_promise=True), how), warnings=(),
        scores=score_table(SCORES), largest_k=10, sha256="e" * 64, rows=5, prepared_rows=123_411, steps=("normalize",),
    )  # fmt: skip
    return replace(view, **changes)


def _words(page):
    """A page without its style, its drawings and digests, in which any digits may stand."""
    return re.sub(r"(?s)<svg.*?</svg>|[0-9a-f]{64}", "", page.split("<body")[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_external_edition_names_no_input_and_counts_nothing_of_it(kind):
    page = render(_log(), [_release()], kind, edition="external")
    for secret in (
        "secret-customer", "d" * 64, "123456", "123,456", "1234", "1,234", "17142", "17,142", "2026-03-01", "92 days",
        "123411", "123,411", "8.77", "8.55", "8.66", "8.33", "8.44", "7.0625", "9.3125", "8.8594", "347", "97.1875",
    ):  # fmt: skip
        assert secret not in _words(page), secret
    for told in ("2026-03", "about 120,000 rows", "about 1,200 users", "e" * 64, "7.1", "9.3", "97.2", "350"):
        assert told in page
    assert "--record" not in page


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beside", [False, True])
def test_nothing_measured_on_the_log_beside_differential_privacy(kind, beside):
    releases = [_release(PRIVATE), *([_release()] if beside else [])]
    assert "97.2" in render(_log(), releases, "md")
    page = _words(render(_log(), releases, kind, edition="external"))
    for figure in ("120,000", "1,200", "17,000", "2026-03", "7.1", "9.3", "97.2", "97.1875", "350", "8.22", "8.33"):
        assert figure not in page, figure
    assert "not told beside differential privacy" in page
    assert "Not measured:" not in page  # it was, and is not told
    if kind == "json":
        assert json.loads(page)["releases"][0]["scores"] == []


def test_a_page_that_tells_nothing_recommends_nothing():
    page = json.loads(render(_log(), [_release(PRIVATE)], "json", edition="external"))["decision"]
    assert page["mitigation"]["recommended"] is None
    assert "singling out, linkability and inference are not told in this edition." in page["mitigation"]["advice"]
    assert "What attacks found is not told in this edition." in page["can_and_cannot"]


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "under 100"), (40, "under 100"), (99, "under 100"), (137, "about 140"), (7_190, "about 7,200")],
)
def test_small_counts_are_not_told(count, told):
    assert in_two_digits(count) == told


def test_verdicts_are_those_of_the_exact_rates():
    """An interval that ends just above the threshold is not rounded below it."""
    rows = [row for row in SCORES if row[1] != "released.half.risk.high"]
    rows += [("linkage", "released.half.risk.high", 9.0912, "% of users")]
    release = _release(scores=score_table(rows))
    for edition in ("internal", "external"):
        data = json.loads(render(_log(), [release], "json", edition=edition))
        line = data["decision"]["identifiability"][0]["lines"][0]
        assert line["outcome"] == "not proven"
    assert line["high"] == 9.1


def test_a_field_that_is_added_later_stays_inside():
    """Views of the external edition are made from nothing: what is not named there has its default."""
    log, (release,) = public(_log(), [_release()])
    told = {
        "rows",
        "users",
        "queries",
        "days",
        "bad_lines",
        "steps",
        "shape",
        "synthetic",
        "exposure",
        "period",
        "size_told",
    }
    assert {each.name for each in fields(log) if each.name not in told} == {"files", "digest"}
    assert (log.files, log.digest, log.rows, log.days) == ((), "", 0, None)
    assert log.exposure.is_empty()
    assert release.prepared_rows is None


@pytest.mark.parametrize("kind", KINDS)
def test_of_few_people_nothing_that_was_measured_is_told(kind):
    """A control of one in so many people says how many they are, and so does the width of an interval."""
    page = _words(render(_log(users=67), [_release()], kind, edition="external"))
    for figure in ("67", "7.1", "9.3", "97.2", "347", "350"):
        assert figure not in page.replace("UTF-8", ""), figure
    assert "not told in this edition" in page
