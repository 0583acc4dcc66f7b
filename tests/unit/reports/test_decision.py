"""The first page: three risks against their thresholds, what is recommended, and what each edition leaves out."""

import json
from dataclasses import replace

import polars as pl
import pytest

from coterie import measures
from coterie.core.promise import Check
from coterie.core.scores import score_table
from coterie.promises.none import None_
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.reports import render
from coterie.reports.about import About, Thresholds
from coterie.reports.decision import FILL_IN, decide
from coterie.reports.figures import Figures
from coterie.reports.views import LogView, ReleaseView

FIGURES = Figures.collect()
PASSED = Check(name="crowd", status="passed", detail="looked at", carries_promise=True)
GROUPED = {
    ("linkage", "after.half"): 9.0, ("linkage", "before.half"): 97.0, ("linkage", "after.half.control"): 0.5,
    ("linkage", "after.names"): 50, ("simattack", "after.profiles.recall"): 4.0,
    ("attribution", "excess"): 8.0, ("attribution", "before.excess"): 90.0, ("attribution", "given"): 33.3,
    ("personal_data", "after.rows"): 0, ("personal_data", "before.rows"): 12,
    ("semantic_remain", "categories_1.level_5.relative"): 40.0,
}  # fmt: skip
NAMELESS = {
    ("linkage", "after.names"): 0, ("witness", "after.names"): 0, ("witness", "after.unique"): 0.0,
    ("witness", "after.one_query"): 1.0, ("witness", "after.one_query.high"): 2.0,
    ("simattack", "after.queries.recall"): 6.0, ("personal_data", "after.rows"): 0,
}  # fmt: skip


def _log(**changes):
    log = LogView(
        rows=123_456, users=1_234, queries=17_142, days=92, bad_lines=3, steps=("normalize",), shape="QUERIES",
        synthetic=False, exposure=score_table([]), files=("secret-customer.tsv",), digest="d" * 64,
        period=("2026-03-01", "2026-05-31"),
    )  # fmt: skip
    return replace(log, **changes)


def _release(scores, label="a k=10", *, promise=None, checks=(PASSED,), **changes):
    rows = [(name, key, value, "%") for (name, key), value in scores.items()]
    view = ReleaseView(
        label=label, method=label.split()[0], params={"k": 10}, promises=(promise or UserKAnonymity(k=10),),
        checks=checks, warnings=(), scores=score_table(rows), largest_k=10, sha256="e" * 64,
        left_out=_beside({name for name, _ in scores}),
    )  # fmt: skip
    return replace(view, **changes)


def _beside(taken):
    """All other attacks on the risks that were attacked, as if they had been tried and had no meaning."""
    weighed = measures.weighed()
    attacked = {each.risk for each in weighed if each.measure in taken}
    return {each.measure: "No meaning." for each in weighed if each.risk in attacked and each.measure not in taken}


def _decide(*releases, about=None, edition="internal"):
    return decide(_log(), releases, FIGURES, about, edition)


def _outcomes(sheet, place=0):
    return {line.risk: line.outcome for line in sheet.weighings[place].lines}


def test_three_lines_against_one_in_k():
    sheet = _decide(_release(GROUPED))
    assert _outcomes(sheet) == dict.fromkeys(("singling out", "linkability", "inference"), "within")
    line = sheet.weighings[0].lines[0]
    assert (line.before, line.after, line.control, line.threshold) == (97.0, 9.0, 0.5, 10.0)
    assert "half of a person's queries" in line.attacker
    assert sheet.recommended == 0
    assert "nothing in it looks like personal data" in sheet.advice


@pytest.mark.parametrize(
    ("after", "high", "outcome"),
    [(9.0, None, "within"), (9.0, 10.0, "within"), (9.0, 10.1, "not shown to be within"), (10.1, None, "above"),
     (10.1, 30.0, "above")],
)  # fmt: skip
def test_a_rate_is_within_if_its_whole_interval_is(after, high, outcome):
    scores = {**GROUPED, ("linkage", "after.half"): after}
    if high is not None:
        scores |= {("linkage", "after.half.low"): 1.0, ("linkage", "after.half.high"): high}
    sheet = _decide(_release(scores))
    assert _outcomes(sheet)["singling out"] == outcome
    assert sheet.recommended == (0 if outcome == "within" else None)
    assert sheet.heading == {"within": "Recommended", "above": "Not recommended"}.get(outcome, "No recommendation")
    assert ("a log of more people" in sheet.advice) == (outcome == "not shown to be within")


def test_a_wide_interval_hides_no_clear_breach():
    """Two attacks on one risk: the larger rate may be chance, the smaller one is shown to be too large."""
    wide = {
        ("witness", "after.unique"): 9.5,
        ("witness", "after.unique.low"): 2.0,
        ("witness", "after.unique.high"): 40.0,
    }
    clear = {("linkage", "after.half"): 9.0, ("linkage", "after.half.low"): 8.5, ("linkage", "after.half.high"): 9.4}
    about = About(thresholds=Thresholds(singling_out=9.6))
    line = _decide(_release({**GROUPED, **wide, **clear}), about=about).weighings[0].lines[0]
    assert (line.measure, line.outcome) == ("witness", "not shown to be within")
    about = About(thresholds=Thresholds(singling_out=9.2))
    over = {("linkage", "after.half"): 9.3, ("witness", "after.unique"): 9.1}
    line = _decide(_release({**GROUPED, **wide, **clear, **over}), about=about).weighings[0].lines[0]
    assert (line.measure, line.outcome) == ("linkage", "above")
    over = {("linkage", "after.half"): 5.0, ("linkage", "after.half.high"): 9.1, ("witness", "after.unique"): 4.0}
    line = _decide(_release({**GROUPED, **wide, **clear, **over}), about=about).weighings[0].lines[0]
    assert (line.measure, line.outcome) == ("witness", "not shown to be within")  # though its rate is the smaller one


@pytest.mark.parametrize("skipped", ["witness", "two_words", "relink"])
def test_whoever_chooses_the_measures_does_not_choose_the_verdict(skipped):
    """A risk is within its threshold only if every attack on it was tried; what is above it stays above."""
    release = _release(GROUPED)
    tried = {name: why for name, why in release.left_out.items() if name != skipped}
    sheet = _decide(replace(release, left_out=tried))
    risk = "linkability" if skipped == "relink" else "singling out"
    assert [name for name, outcome in _outcomes(sheet).items() if outcome == "measured in part"] == [risk]
    assert sheet.recommended is None
    assert f"{risk} was not attacked in every way" in sheet.advice
    assert f"Not attacked in every way: {risk}." in sheet.can_and_cannot
    above = {**GROUPED, ("linkage", "after.half"): 11.0, ("simattack", "after.profiles.recall"): 11.0}
    sheet = _decide(replace(_release(above), left_out=tried))
    assert _outcomes(sheet)[risk] == "above"


def test_what_is_kept_beside_queries_has_to_be_attacked_too():
    """Exact times and pages find people, and no attack that is measured looks at them."""
    sheet = _decide(_release(NAMELESS, promise=QueryKAnonymity(k=10), params={"k": 10, "attrs": "keep"}))
    assert _outcomes(sheet)["singling out"] == "measured in part"
    assert _outcomes(sheet)["linkability"] == "measured in part"
    assert "attrs = keep" in sheet.weighings[0].lines[0].verdict
    assert sheet.recommended is None


def test_thresholds_above_one_in_k_are_named():
    lax = About(thresholds=Thresholds(singling_out=100, inference=9))
    advice = _decide(_release(GROUPED), about=lax).advice
    assert "Thresholds above 1 in k (10.0%) were given by hand (--about): singling out 100.0%." in advice
    assert "by hand" not in _decide(_release(GROUPED), about=About(thresholds=Thresholds(inference=9))).advice


def _without(*names):
    return {key: value for key, value in GROUPED.items() if key[0] not in names}


@pytest.mark.parametrize(
    ("scores", "changes", "said"),
    [
        (_without("linkage", "simattack", "attribution"), {},
         "singling out, linkability and inference were not measured."),
        (_without("attribution"), {}, "inference was not measured."),
        (_without("personal_data"), {}, "rows that look like personal data were not counted."),
        (GROUPED, {"rows": 0}, "it has no rows."),
        (GROUPED, {"checks": (replace(PASSED, status="not checked"),)}, "its promise was not checked."),
        (GROUPED, {"promise": None_()},
         "singling out, linkability and inference have no thresholds. Give thresholds"),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_not_recommended(scores, changes, said):
    sheet = _decide(_release(scores, **changes))
    assert sheet.recommended is None
    assert f"a k=10 is not recommended: {said}" in sheet.advice
    assert sheet.heading == ("Not recommended" if "rows" in changes else "No recommendation")


def test_a_risk_does_not_apply_only_if_every_attack_was_tried():
    reason = "It has no meaning here."
    some = _release(_without("simattack"))
    some = replace(some, left_out={**some.left_out, "simattack": reason})
    every = replace(some, left_out={**some.left_out, "relink": reason})
    assert _outcomes(_decide(some))["linkability"] == "not measured"
    assert _outcomes(_decide(every))["linkability"] == "does not apply"
    assert _decide(every).recommended == 0


def test_the_worst_attack_of_a_risk_counts():
    scores = {**GROUPED, ("witness", "after.unique"): 30.0, ("witness", "after.names"): 50}
    line = _decide(_release(scores)).weighings[0].lines[0]
    assert (line.measure, line.after, line.outcome) == ("witness", 30.0, "above")


def test_rows_without_names_can_be_found_by_what_they_say():
    """No name is there to find, and yet one search, or two words of it, points to one person."""
    for measure, key in (("witness", "after.one_query"), ("two_words", "after.singled_out")):
        line = _decide(_release({**NAMELESS, (measure, key): 60.0})).weighings[0].lines[0]
        assert (line.measure, line.after, line.outcome) == (measure, 60.0, "above")


def test_thresholds_of_ones_own():
    about = About(thresholds=Thresholds(singling_out=5, inference=8))
    assert _outcomes(_decide(_release(GROUPED), about=about)) == {
        "singling out": "above", "linkability": "within", "inference": "within"
    }  # fmt: skip


def test_a_release_without_names_and_a_risk_without_an_attack():
    release = _release(NAMELESS, promise=QueryKAnonymity(k=10))
    left_out = {**release.left_out, "attribution": "No users of this release share a profile."}
    sheet = _decide(replace(release, left_out=left_out))
    assert _outcomes(sheet) == {
        "singling out": "within", "linkability": "within", "inference": "does not apply"
    }  # fmt: skip
    assert sheet.weighings[0].lines[2].verdict == "No users of this release share a profile."
    assert _outcomes(_decide(_release({})))["inference"] == "not measured"
    assert "No attack was measured" not in sheet.can_and_cannot
    assert "does not mean impossible" in _decide(_release({})).can_and_cannot


def test_the_one_that_keeps_most_meaning_is_recommended_among_those_that_pass():
    more = {**GROUPED, ("semantic_remain", "categories_1.level_5.relative"): 60.0}
    unsafe = {**more, ("attribution", "excess"): 20.0}
    dirty = {**more, ("personal_data", "after.rows"): 27}
    broken = (replace(PASSED, status="failed", broken=1),)
    releases = [
        _release(GROUPED, "a k=10"), _release(more, "b k=10"), _release(unsafe, "c k=10"), _release(dirty, "d k=10"),
        _release(more, "e k=10", checks=broken),
    ]  # fmt: skip
    sheet = _decide(*releases)
    assert sheet.recommended == 1
    assert "interests kept 60.0% (next: a k=10, 40.0%)" in sheet.advice
    assert "c k=10 is not recommended: inference is above its threshold." in sheet.advice
    assert "d k=10 is not recommended: rows that look like personal data: 27." in sheet.advice
    assert "e k=10 is not recommended: its promise is broken." in sheet.advice
    none = _decide(*releases[2:])
    assert none.recommended is None
    assert none.heading == "Not recommended"
    assert "own 1 in k" not in sheet.advice
    assert "own 1 in k" in _decide(releases[0], _release(GROUPED, "z k=5", promise=UserKAnonymity(k=5))).advice


def test_before_and_after_are_the_same_quantity():
    """What a person's own rows add, in the original and in the release; the plain rate of success stands beside it."""
    scores = {**GROUPED, ("attribution", "before.five_queries"): 55.5}
    sheet = _decide(_release(scores))
    line = sheet.weighings[0].lines[2]
    assert (line.before, line.after, line.success) == (90.0, 8.0, 33.3)
    assert "in 8.0% of cases (right in all 33.3%; in the original 90.0%)" in sheet.can_and_cannot
    for kind in ("html", "md"):
        page = render(_log(), [_release(scores)], kind)
        assert "33.3%" in page.split("Mitigation")[0]
        assert "55.5%" not in page.split("Mitigation")[0]


def test_days_count_where_they_tell_more():
    dated = {**GROUPED, ("attribution", "days.excess"): 9.5, ("attribution", "days.before.excess"): 91.0}
    line = _decide(_release(dated)).weighings[0].lines[2]
    assert (line.before, line.after) == (91.0, 9.5)
    assert "on which days" in line.attacker


def test_a_risk_that_went_up_is_named():
    scores = {**GROUPED, ("simattack", "before.profiles.recall"): 1.3}
    assert (
        "Higher after than before: linkability (1.3% before, 4.0% after)." in _decide(_release(scores)).can_and_cannot
    )
    assert "Higher after" not in _decide(_release(GROUPED)).can_and_cannot


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_all_that_is_known_stands_on_the_page(kind):
    about = About(
        name="Library", purpose="Spelling", recipient="University", conditions="Not passed on", reason="Branches",
        reviewer="A. Example", next_review="2027-01",
    )  # fmt: skip
    page = render(_log(), [_release(GROUPED)], kind, about=about, date="2026-11-18")
    for text in (
        "Library", "Spelling", "University", "Not passed on", "Branches", "A. Example", "2027-01", "2026-11-18",
        "d" * 64, "e" * 64, "2026-03-01 to 2026-05-31", "123,456" if kind != "json" else "123456",
    ):  # fmt: skip
        assert text in page
    for heading in ("context", "data", "identifiability", "mitigation", "governance"):
        assert heading in page.lower()


def test_lines_to_fill_in():
    page = render(_log(), [_release(GROUPED)], "md")
    assert page.count(FILL_IN) == 7  # purpose, recipient, conditions, reason, reviewer, date, next review
    assert render(_log(), [_release(GROUPED)], "html").count('class="fill"') == 7


def test_the_digest_does_not_know_the_date():
    pages = [render(_log(), [_release(GROUPED)], "json", date=date) for date in ("2026-01-01", "2026-01-02")]
    assert pages[0] != pages[1]
    assert pages[0].replace("2026-01-01", "") == pages[1].replace("2026-01-02", "")
    other = render(_log(rows=5), [_release(GROUPED)], "json", date="2026-01-01")
    found = [page.split('"sha256_without_date": "')[1][:64] for page in (*pages, other)]
    assert found[0] == found[1] != found[2]


def test_rows_of_shared_profiles_are_not_called_kept():
    """Neither in a report nor in the line that `anonymize` prints."""
    import coterie
    from coterie.methods.microaggregate import Microaggregate
    from coterie.testing import queries_log

    release = coterie.anonymize(queries_log(), Microaggregate(k=2), seed=1)
    scores = coterie.measure(queries_log(), release, ["release_share"])
    assert "rows" not in scores["key"].to_list()
    assert scores.filter(pl.col("key") == "rows.count")["value"].item() > 0
    assert "%" not in release.size
    assert "shared profiles" in release.size


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_what_is_recommended_and_signed_is_a_file(kind):
    """Two releases by one method with the same k, told apart wherever they stand."""
    less = {**GROUPED, ("semantic_remain", "categories_1.level_5.relative"): 30.0}
    releases = [_release(less, file="one.tsv", sha256="1" * 64), _release(GROUPED, file="two.tsv", sha256="2" * 64)]
    page = render(_log(), releases, kind)
    if kind == "json":
        sheet = json.loads(page)["decision"]["mitigation"]
        assert sheet["recommended"] == {"label": "a k=10 (two.tsv)", "file": "two.tsv", "sha256": "2" * 64}
        assert [each["sha256"][0] for each in sheet["releases"]] == ["1", "2"]
        return
    page = page.replace("<wbr>", "")
    recommended, signature = page.split("Recommended.")[1].split("Which: ")
    assert f"two.tsv, SHA-256 {'2' * 64}" in recommended
    assert signature.startswith(f"a k=10 (two.tsv), two.tsv, SHA-256 {'2' * 16}")
    assert "a k=10 (2)" not in page
    assert page.count("a k=10 (one.tsv)") > 3
