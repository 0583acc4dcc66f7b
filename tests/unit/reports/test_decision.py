"""The first page: three risks against their thresholds, what is recommended, and what each edition leaves out."""

import json
from dataclasses import replace

import polars as pl
import pytest

from coterie import measures
from coterie.core.promise import Check
from coterie.core.scores import score_table
from coterie.promises.concept_k_anonymity import ConceptKAnonymity
from coterie.promises.none import None_
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.reports import render
from coterie.reports.about import About, Thresholds
from coterie.reports.decision import FILL_IN, OUTCOMES, decide
from coterie.reports.figures import Figures
from coterie.reports.views import LogView, ReleaseView

FIGURES = Figures.collect()
PASSED = Check(name="crowd", status="passed", detail="looked at", carries_promise=True)


def _rate(measure, rate, risk, *, before=90.0, after=2.0, people=100, low=None, high=None, control=0.5, released=None):
    """The scores of a rate, as measures/rates.py gives them; the interval is as narrow as it can be."""
    scores = {
        f"before.{rate}": before, f"before.{rate}.control": control, f"after.{rate}": after,
        f"released.{rate}": risk if released is None else released, f"released.{rate}.people": people,
        f"released.{rate}.control": control, f"released.{rate}.risk": risk,
        f"released.{rate}.risk.low": risk if low is None else low,
        f"released.{rate}.risk.high": risk if high is None else high,
    }  # fmt: skip
    return {(measure, key): value for key, value in scores.items()}


PERSONAL = {("personal_data", "after.rows"): 0, ("personal_data", "before.rows"): 12}
LINKAGE = {**_rate("linkage", "half", 8.0, before=97.0), ("linkage", "after.names"): 50, ("linkage", "bound"): 10.0}
SIMATTACK = _rate("simattack", "profiles.recall", 4.0)
ATTRIBUTION = {**_rate("attribution", "given", 8.0, released=33.3, control=27.5), ("attribution", "excess"): 5.8}
KEPT = {("semantic_remain", "categories_1.level_5.relative"): 40.0}
GROUPED = {**LINKAGE, **SIMATTACK, **ATTRIBUTION, **PERSONAL, **KEPT}
NAMELESS = {
    ("linkage", "after.names"): 0, ("witness", "after.names"): 0, **_rate("witness", "one_query", 1.0),
    **_rate("simattack", "queries.recall", 6.0), ("personal_data", "after.rows"): 0,
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


def test_three_lines_against_the_threshold_of_a_policy():
    sheet = _decide(_release(GROUPED))
    assert _outcomes(sheet) == dict.fromkeys(("singling out", "linkability", "inference"), "within")
    line = sheet.weighings[0].lines[0]
    assert (line.before, line.after, line.released, line.control, line.people) == (97.0, 2.0, 8.0, 0.5, 100)
    assert line.threshold == pytest.approx(100 / 11)
    assert line.bound == 10.0, "shown, and decides nothing"
    assert line.compared == "control: what is known of another person"
    assert "half of a person's queries" in line.attacker
    assert sheet.recommended == 0
    assert "nothing in it looks like personal data" in sheet.advice
    assert "1 in 11" in sheet.policy_says
    assert "does not by itself make a release lawful" in sheet.policy_says
    lax = _decide(_release(GROUPED), about=About(policy="internal")).weighings[0].lines[0]
    assert lax.threshold == pytest.approx(100 / 3)


def _with(**rate):
    """Where linkage alone is tried on the first question, with such a rate."""
    return _release({**GROUPED, **_rate("linkage", "half", rate.pop("risk"), **rate)})


@pytest.mark.parametrize(
    ("rate", "outcome"),
    [
        ({"risk": 8.0, "high": 9.0}, "within"),
        ({"risk": -3.0, "high": 9.0}, "within"),
        ({"risk": 8.0, "high": 9.2}, "not proven"),
        ({"risk": 9.2, "low": 8.0, "high": 20.0}, "above"),
        ({"risk": 9.2, "low": 8.0, "high": 20.0, "people": 39}, "above"),
        ({"risk": 9.2, "low": 8.0, "high": 20.0, "people": 38}, "not proven"),  # chance, as far as 38 people tell
        ({"risk": 40.0, "low": 9.2, "high": 60.0, "people": 5}, "above"),
        ({"risk": 0.0, "high": 9.3, "people": 38}, "not proven"),
    ],
)
def test_a_risk_is_above_within_or_not_proven(rate, outcome):
    sheet = _decide(_with(**rate))
    assert _outcomes(sheet)["singling out"] == outcome
    assert sheet.recommended == (0 if outcome == "within" else None)
    assert sheet.heading == {"within": "Recommended", "above": "Not recommended"}.get(outcome, "No recommendation")
    assert ("a log of more people" in sheet.advice) == (outcome == "not proven")
    if outcome == "not proven":
        assert sheet.weighings[0].lines[0].verdict == f"not proven: {rate.get('people', 100)} people"


def test_the_worst_outcome_comes_first_and_only_two_are_harmless():
    assert OUTCOMES[:2] == ("above", "not proven")
    assert OUTCOMES[-2:] == ("within", "does not apply")


def test_under_a_lax_policy_ten_people_are_enough():
    few = {"risk": 0.0, "high": 31.0, "people": 10}
    assert _outcomes(_decide(_with(**few), about=About(policy="internal")))["singling out"] == "within"
    assert _outcomes(_decide(_with(**few)))["singling out"] == "not proven"
    alone = {"risk": 40.0, "low": 30.0, "high": 60.0, "people": 9}
    assert _outcomes(_decide(_with(**alone), about=About(policy="internal")))["singling out"] == "not proven"


def _two(one, other):
    """Two attacks on the first question: linkage and witness."""
    return _release({**GROUPED, **_rate("linkage", "half", **one), **_rate("witness", "one_query", **other)})


def test_the_worst_outcome_decides_and_then_the_largest_risk():
    line = _decide(_two({"risk": 8.0}, {"risk": 7.0, "high": 9.5})).weighings[0].lines[0]
    assert (line.measure, line.outcome) == ("witness", "not proven")
    assert [(each.measure, each.outcome) for each in line.others] == [("linkage", "within")]
    line = _decide(_two({"risk": 9.5}, {"risk": 30.0})).weighings[0].lines[0]
    assert (line.measure, line.released) == ("witness", 30.0)
    line = _decide(_two({"risk": 9.5}, {"risk": 8.0, "high": 60.0})).weighings[0].lines[0]
    assert (line.measure, line.outcome) == ("linkage", "above")


def test_few_people_neither_hide_what_many_show_nor_decide_beside_them():
    few = {"risk": 1.0, "high": 60.0, "people": 4}
    line = _decide(_two(few, {"risk": 2.0})).weighings[0].lines[0]
    assert (line.measure, line.outcome) == ("witness", "within")
    assert [(each.measure, each.verdict) for each in line.others] == [("linkage", "not proven: 4 people")]
    line = _decide(_two(few, {"risk": 3.0, "high": 50.0, "people": 5})).weighings[0].lines[0]
    assert (line.measure, line.verdict) == ("witness", "not proven: 5 people")
    line = _decide(_two({"risk": 90.0, "low": 40.0, "high": 99.0, "people": 4}, {"risk": 2.0})).weighings[0].lines[0]
    assert (line.measure, line.outcome) == ("linkage", "above")


def test_nobody_with_a_released_search_proves_nothing():
    nobody = {**_rate("witness", "one_query", 0.0, after=0.0, people=0)}
    for key in ("", ".control", ".risk", ".risk.low", ".risk.high"):
        nobody["witness", f"released.one_query{key}"] = None
    scores = {key: value for key, value in NAMELESS.items() if "one_query" not in key[1]} | nobody
    line = _decide(_release(scores, promise=QueryKAnonymity(k=10))).weighings[0].lines[0]
    assert (line.outcome, line.verdict) == ("not proven", "not proven: 0 people")


def test_a_control_that_is_always_right_leaves_nothing_to_find():
    sure = dict(_rate("attribution", "given", 0.0, released=100.0, control=100.0))
    for end in ("", ".low", ".high"):
        sure["attribution", f"released.given.risk{end}"] = None
    sheet = _decide(_release({**_without("attribution"), **sure}))
    line = sheet.weighings[0].lines[2]
    assert (line.measure, line.outcome) == ("attribution", "does not apply")
    assert line.verdict == "does not apply: Its control always succeeds, so nothing is left to find."
    assert sheet.recommended == 0


def test_a_risk_below_zero_is_shown_as_none_and_kept_as_it_is():
    line = _decide(_with(risk=-3.0, low=0.0, high=4.0, released=0.4)).weighings[0].lines[0]
    assert (line.above_control, line.shown_risk) == (-3.0, 0.0)
    data = json.loads(render(_log(), [_with(risk=-3.0, low=0.0, high=4.0, released=0.4)], "json"))
    assert data["decision"]["identifiability"][0]["lines"][0]["above_control"] == -3.0
    assert (
        "-3.0%"
        not in render(_log(), [_with(risk=-3.0, low=0.0, high=4.0, released=0.4)], "html").partition(
            '<section id="verdict"'
        )[0]
    )


def test_an_attack_without_a_control_says_so():
    scores = {**GROUPED, **_rate("composition", "single", 5.0, control=0.0)}
    others = _decide(_release(scores)).weighings[0].lines[1]
    lines = {each.measure: each for each in (others, *others.others)}
    assert lines["composition"].compared == "no control was measured: 0 in its place"


def test_no_policy_recommends_two_people():
    release = _release(GROUPED, "a k=2", promise=UserKAnonymity(k=2))
    for policy in ("default", "internal"):
        sheet = _decide(release, about=About(policy=policy))
        assert sheet.recommended is None
        assert sheet.heading == "Not recommended"
        assert "a k=2 is not recommended: k is below 3." in sheet.advice


def test_a_release_without_rows_has_no_verdict():
    sheet = _decide(_release(GROUPED, rows=0))
    assert set(_outcomes(sheet).values()) == {"no rows"}
    assert (sheet.recommended, sheet.heading) == (None, "No recommendation")
    assert "it has no rows, so there is nothing to judge" in sheet.advice
    assert "nothing to judge" in sheet.can_and_cannot


def test_names_without_groups_leave_inference_unmeasured():
    """Rows under names say more of whoever it is, even where no attack knows how to guess it."""
    pseudonyms = {**LINKAGE, **SIMATTACK, **PERSONAL, **KEPT}
    release = _release(pseudonyms, promise=QueryKAnonymity(k=10))
    release = replace(release, left_out={**release.left_out, "attribution": "No users share a profile."})
    sheet = _decide(release)
    assert _outcomes(sheet)["inference"] == "not measured"
    assert "no attack knows how to guess" in sheet.weighings[0].lines[2].verdict
    assert sheet.recommended is None


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
    above = {**GROUPED, **_rate("linkage", "half", 11.0), **_rate("simattack", "profiles.recall", 11.0)}
    sheet = _decide(replace(_release(above), left_out=tried))
    assert _outcomes(sheet)[risk] == "above"


def test_what_is_kept_beside_queries_has_to_be_attacked_too():
    """Exact times and pages find people, and no attack that is measured looks at them."""
    sheet = _decide(_release(NAMELESS, promise=QueryKAnonymity(k=10), params={"k": 10, "attrs": "keep"}))
    assert _outcomes(sheet)["singling out"] == "measured in part"
    assert _outcomes(sheet)["linkability"] == "measured in part"
    assert "attrs = keep" in sheet.weighings[0].lines[0].verdict
    assert sheet.recommended is None


def test_an_attack_that_cannot_read_concepts_proves_nothing():
    release = _release(PERSONAL, promise=ConceptKAnonymity(k=3))
    left_out = {each.measure: "The release has concepts in place of queries." for each in measures.weighed()}
    sheet = _decide(replace(release, left_out=left_out))
    assert set(_outcomes(sheet).values()) == {"not measured"}
    assert "no attack on this question reads concepts" in sheet.weighings[0].lines[0].verdict
    assert sheet.recommended is None


def _without(*names):
    return {key: value for key, value in GROUPED.items() if key[0] not in names}


@pytest.mark.parametrize(
    ("scores", "changes", "said"),
    [
        (_without("linkage", "simattack", "attribution"), {},
         "singling out, linkability and inference were not measured."),
        (_without("attribution"), {}, "inference was not measured."),
        (_without("personal_data"), {}, "rows that look like personal data were not counted."),
        (GROUPED, {"checks": (replace(PASSED, status="not checked"),)}, "its promise was not checked."),
        (GROUPED, {"promise": None_()},
         "it promises nothing."),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_not_recommended(scores, changes, said):
    sheet = _decide(_release(scores, **changes))
    assert sheet.recommended is None
    assert f"a k=10 is not recommended: {said}" in sheet.advice
    assert sheet.heading == ("Not recommended" if "promise" in changes else "No recommendation")


def test_a_risk_does_not_apply_only_if_every_attack_was_tried():
    reason = "It has no meaning here."
    some = _release(_without("simattack"))
    some = replace(some, left_out={**some.left_out, "simattack": reason})
    every = replace(some, left_out={**some.left_out, "relink": reason})
    assert _outcomes(_decide(some))["linkability"] == "not measured"
    assert _outcomes(_decide(every))["linkability"] == "does not apply"
    assert _decide(every).recommended == 0


def test_rows_without_names_can_be_found_by_what_they_say():
    """No name is there to find, and yet one search, or two words of it, points to one person."""
    for measure, rate in (("witness", "one_query"), ("two_words", "found")):
        line = _decide(_release({**NAMELESS, **_rate(measure, rate, 60.0)})).weighings[0].lines[0]
        assert (line.measure, line.released, line.outcome) == (measure, 60.0, "above")


def test_thresholds_of_ones_own():
    about = About(thresholds=Thresholds(singling_out=5, inference=8))
    assert "Given by hand (--about): singling out, inference." in _decide(_release(GROUPED), about=about).policy_says
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
    assert sheet.weighings[0].lines[2].verdict == "does not apply: No users of this release share a profile."
    assert _outcomes(_decide(_release({})))["inference"] == "not measured"
    assert "No attack was measured" not in sheet.can_and_cannot
    assert "does not mean impossible" in _decide(_release({})).can_and_cannot


def test_the_one_that_keeps_most_meaning_is_recommended_among_those_that_pass():
    more = {**GROUPED, ("semantic_remain", "categories_1.level_5.relative"): 60.0}
    unsafe = {**more, **_rate("attribution", "given", 20.0)}
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


def test_what_stands_in_a_line_is_of_the_attack_that_decides():
    """Its own before, after, rate of what was released, control and people; not the worst of each."""
    scores = {**GROUPED, ("attribution", "before.five_queries"): 55.5}
    sheet = _decide(_release(scores))
    line = sheet.weighings[0].lines[2]
    assert (line.before, line.after, line.released, line.control) == (90.0, 2.0, 33.3, 27.5)
    for kind in ("html", "md"):
        page = render(_log(), [_release(scores)], kind)
        assert "33.3%" in page.split("Mitigation")[0]
        assert "55.5%" not in page.split("Mitigation")[0]


def test_the_other_attacks_stand_under_the_one_that_decides():
    release = _two({"risk": 8.0, "before": 97.0}, {"risk": 7.0, "before": 66.6, "after": 1.1, "control": 0.7})
    for kind in ("html", "md"):
        sheet = render(_log(), [release], kind).split("Mitigation")[0]
        for number in ("97.0%", "66.6%", "1.1%", "0.7%"):
            assert number in sheet
    line = json.loads(render(_log(), [release], "json"))["decision"]["identifiability"][0]["lines"][0]
    assert (line["measure"], line["before"]) == ("linkage", 97.0)
    assert [(each["measure"], each["before"]) for each in line["others"]] == [("witness", 66.6)]


def test_days_count_where_they_tell_more():
    dated = {**GROUPED, **_rate("attribution", "days.given", 8.5, before=91.0)}
    line = _decide(_release(dated)).weighings[0].lines[2]
    assert (line.before, line.above_control) == (91.0, 8.5)
    assert "on which days" in line.attacker


def test_a_risk_that_went_up_is_named():
    scores = {**GROUPED, ("simattack", "before.profiles.recall"): 1.3}
    assert (
        "Higher after than before: linkability (1.3% before, 2.0% after)." in _decide(_release(scores)).can_and_cannot
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
    scores = coterie.measure(release, ["release_share"], original=queries_log())
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
