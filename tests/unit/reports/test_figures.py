"""Which numbers stand where, what is missing and why, and how a number is spelled."""

from dataclasses import replace

import polars as pl
import pytest

from coterie.core.scores import Figure, Finding, Glance, Picture, score_table
from coterie.reports import attacker, with_own_labels
from coterie.reports.figures import (
    Figures,
    any_number,
    before,
    cell,
    line,
    number,
    number_before,
    shown,
    value,
    with_numbers,
)
from coterie.reports.views import LogView, ReleaseView

BARS = Picture(kind="bars", title="t", reading="r")
RANKING = Picture(kind="ranking", title="t", reading="r")
SAFE = Figure(
    measure="m", key="a", section="privacy", title="Users singled out", before="before.a", expected=True, over_k=2,
    glance=Glance(axis="x", reading="r"), picture=BARS, if_zero="Nobody.",
)  # fmt: skip
KEPT = Figure(measure="n", key="b", section="utility", title="Rows kept", before="rows", over_k=1, picture=BARS)
LINKED = Figure(measure="p", key="c", section="privacy", title="Linked", expected=True, needs=frozenset({"record"}))
ROWS = Figure(measure="m", key="rows", section="utility", title="Rows apart", expected=True, needs=frozenset({"rows"}))
ALL = Figures((SAFE, KEPT, LINKED, ROWS))


def _release(*scores, left_out=None):
    return ReleaseView(
        label="x", method="x", params={}, promises=(), checks=(), warnings=(), scores=score_table(scores),
        largest_k=None, left_out=left_out or {},
    )  # fmt: skip


def _log(*exposure):
    return LogView(
        rows=1200, users=3, queries=4, days=None, bad_lines=0, steps=(), shape="QUERIES", synthetic=False,
        exposure=score_table(exposure),
    )  # fmt: skip


@pytest.mark.parametrize(("number", "unit", "text"), [
    (None, "users", "–"),
    (float("nan"), "%", "–"),
    (float("inf"), "", "–"),
    (0.0, "%", "0.0%"),
    (12.34, "% points", "+12.3 points"),
    (0.04, "%", "<0.1%"),
    (0.05, "%", "0.1%"),
    (12.34, "% of users", "12.3%"),
    (99.94, "%", "99.9%"),
    (99.95, "%", ">99.9%"),
    (100.0, "%", "100.0%"),
    (1234567.0, "users", "1,234,567 users"),
    (0.5, "bits", "0.500 bits"),
    (1234.5, "", "1,234.500"),
])  # fmt: skip
def test_a_number_as_text(number, unit, text):
    assert shown(number, unit) == text


def test_shares_with_other_digits():
    assert shown(0.4, "%", digits=0) == "<1%"
    assert shown(99.6, "%", digits=0) == ">99%"


def test_a_section_has_what_is_expected_and_what_was_measured():
    assert ALL.tabled("privacy", [_release()]) == [SAFE, LINKED]
    assert ALL.tabled("utility", [_release()]) == [ROWS]
    assert ALL.tabled("utility", [_release(), _release(("n", "b", 1, "rows"))]) == [KEPT, ROWS]


def test_measures_without_figures_stand_among_the_others():
    theirs = [("theirs", "x.y", 1, "users"), ("theirs", "z", 2, "users"), ("m", "a", 1, "users")]
    assert [figure.title for figure in ALL.others([_release(*theirs), _release(*theirs)])] == ["theirs x.y", "theirs z"]


def test_a_sentence_for_zero():
    assert ALL.if_zero("privacy", _release(("m", "a", 0.0, "users"))) == ["Nobody."]
    assert ALL.if_zero("privacy", _release(("m", "a", 1.0, "users"))) == []
    assert ALL.if_zero("privacy", _release()) == []
    assert ALL.if_zero("utility", _release(("m", "a", 0.0, "users"))) == []


def test_places_in_pictures():
    assert ALL.at_a_glance() == [SAFE]
    assert ALL.over_k() == [KEPT, SAFE]
    assert ALL.pictures("bars") == {BARS: [SAFE, KEPT]}
    assert ALL.pictures("ranking") == {}


def test_what_is_missing_without_a_record():
    lines = list(ALL.missing(_release(("m", "a", 1, "users"))))
    assert lines == [
        "P and rows apart are missing: they must know who became whom. Give the private run record with --record DIR."
    ]


def test_what_is_missing_of_a_method_that_keeps_no_rows():
    measured = _release(("m", "a", 1, "users"), ("p", "c", 1, "users"))
    assert list(ALL.missing(measured)) == ["Rows apart exist only for methods that keep original rows."]


def test_what_is_missing_says_why():
    release = _release(("m", "rows", 1, "rows"), left_out={"p": "It has no groups."})
    assert list(ALL.missing(release)) == ["Not measured: p. It has no groups."]
    assert list(ALL.missing(_release(("p", "c", 1, "users")))) == ["Not measured: m."]


def test_one_number():
    release = _release(("m", "a", 1.5, "users"), ("m", "empty", None, "users"), ("m", "odd", float("inf"), ""))
    assert value(release, "m", "a") == number(release, SAFE) == 1.5
    assert value(release, "m", "empty") is value(release, "m", "odd") is value(release, "m", "none") is None


def test_a_cell_has_its_interval_where_there_is_one():
    scores = [("m", "a", 10, "%"), ("m", "a.low", 8, "%"), ("m", "a.high", 12, "%")]
    assert str(cell(_release(*scores), SAFE)) == "10.0% (8.0% to 12.0%)"
    assert str(cell(_release(*scores[:2]), SAFE)) == "10.0%"
    assert str(cell(_release(), SAFE)) == "–"


def test_chance_and_control_stand_beside_an_attack():
    attack = replace(SAFE, beside=(("chance", "a.chance"), ("control", "a.control")))
    release = _release(("m", "a", 10, "%"), ("m", "a.chance", 0.5, "%"))
    assert str(cell(release, attack)) == "10.0%; chance 0.5%"
    assert cell(release, attack).beside == (("chance", "0.5%"),)
    assert cell(_release(("m", "a.chance", 0.5, "%")), attack).beside == ()


NO_GUESS = {
    "bound": "what is promised",
    "excess.random": "itself a guess at random",
    "telling.three_terms.chance": "itself chance",
    "after.outsiders": "itself a control",
    "after.one_query.outsiders": "itself a control",
    "after.profiles.precision": "the rate over all targets has its control",
    "after.queries.precision": "the rate over all targets has its control",
    "after.singled_out": "a guess among names has its control",
    "largest.median": "a share of a profile, and nobody guesses",
    "largest.max": "a share of a profile, and nobody guesses",
    "alone": "a share of a profile, and nobody guesses",
    "released.single": "counted in the groups, and nobody guesses",
    "isolated": "counted in the groups, and nobody guesses",
    "false_alarms": "itself a control",
    "excess": "of two releases: itself a difference",
    "after.pages": "what those read who were right",
}


def test_every_attack_has_its_chance_or_control():
    attacks = [figure for figure in Figures.collect().every if figure.section == "attacks"]
    assert [(f.measure, f.key) for f in attacks if not f.beside and f.key not in NO_GUESS] == []


def test_lines_of_dashes_are_left_out():
    other = replace(SAFE, key="b")
    release = _release(("m", "a", 10, "%"))
    assert with_numbers([release], [SAFE, other]) == [SAFE]
    assert with_numbers([_release()], [SAFE]) == []
    assert with_numbers([replace(_release(), baseline=release)], [SAFE]) == [SAFE]


def test_what_the_original_has():
    original = ("m", "before.a", 30, "%")
    assert str(before(_log(original), _release(), SAFE)) == "30.0%", "measured on the log"
    assert str(before(_log(), _release(original), SAFE)) == "30.0%", "or with a release"
    assert str(before(_log(), _release(), SAFE)) == "–"
    assert str(before(_log(), _release(), KEPT)) == "1,200"
    assert str(before(_log(), _release(), LINKED)) == "–"
    assert str(before(_log(), _release(), Figure(key="a", section="privacy", title="t", before="all"))) == "all"
    assert number_before(_log(original), [], SAFE) == 30
    assert number_before(_log(), [], SAFE) is None


def test_a_line_has_the_original_once_or_with_each_release():
    after, original, other = ("m", "a", 5, "%"), ("m", "before.a", 30, "%"), ("m", "before.a", 40, "%")
    alike = [_release(after, original), _release(after), _release(after, original)]
    assert list(map(str, line(_log(), alike, SAFE))) == ["30.0%", "5.0%", "5.0%", "5.0%"]
    unlike = line(_log(), [_release(after, original), _release(after, other)], SAFE)
    assert list(map(str, unlike)) == ["per release", "5.0%; original 30.0%", "5.0%; original 40.0%"]
    assert str(line(_log(), [_release(after)], SAFE)[0]) == "–"


def test_whether_a_table_has_a_number_at_all():
    assert not any_number(_log(), [_release()], [SAFE])
    assert any_number(_log(("m", "before.a", 0, "%")), [_release()], [SAFE])
    assert any_number(_log(), [_release(("m", "a", 0, "%"))], [SAFE])


def test_the_figures_of_all_measures_are_in_order():
    every = Figures.collect().every
    assert [figure.order for figure in every] == sorted(figure.order for figure in every)
    assert pl.Series([figure.measure for figure in every]).str.len_chars().min() > 0


FOUND = Finding(
    measure="m", risk="linkability", text="Found in {after.a} of cases.", headline=True, options="--record DIR"
)
READ = Finding(measure="q", risk="inference", text="{b} against {c}.")


def test_what_an_attacker_can_do():
    figures = Figures((), (FOUND, READ))
    limits = [("m", "after.a", 12.34, "%"), ("m", "after.a.low", 10.0, "%"), ("m", "after.a.high", 15.0, "%")]
    release = _release(*limits, ("q", "b", -3.0, "% points"), ("q", "c", 1.0, ""))
    assert figures.headlines(release) == ["Found in 12.3% (10.0% to 15.0%) of cases."]
    assert figures.attacker(release) == {
        "singling out": [],
        "linkability": ["Found in 12.3% (10.0% to 15.0%) of cases."],
        "inference": ["-3.0 points against 1."],
    }


def test_what_was_not_measured_says_how_to():
    figures = Figures((), (FOUND, FOUND, READ))
    release = _release(("q", "b", None, ""), left_out={})
    assert figures.headlines(release) == []
    assert figures.attacker(release)["linkability"] == [
        "Not measured: m. To measure it: coterie measure OUT --original LOG --record DIR m"
    ]
    assert figures.attacker(release)["inference"] == []  # it was measured, and has no number
    release = _release(left_out={"m": "No row has a name."})
    assert figures.attacker(release)["linkability"] == ["Not measured: m. No row has a name."]


def test_what_is_said_of_all_releases_names_none():
    figures = Figures((), (FOUND, READ))
    some = [_release(("q", "b", 1.0, "")), _release(("q", "b", 1.0, ""), ("m", "after.a", 5.0, "%")), _release()]
    said = {risk: texts for risk, _, texts in attacker(with_own_labels(some), figures)}
    missing = "Not measured: m. To measure it: coterie measure OUT --original LOG --record DIR m"
    assert said["linkability"] == [(missing, ("x", "x (3)")), ("Found in 5.0% of cases.", ("x (2)",))]
    assert said["inference"] == [("Not measured: q. To measure it: coterie measure OUT --original LOG q", ("x (3)",))]
    assert [texts for _, _, texts in attacker(some[:1], figures)][1] == [(missing, ())]
