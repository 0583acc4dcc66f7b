"""All attacks at once: the same people before and after, and releases of little that exposes it all do not pass."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie import measures
from coterie.core.log import Log, Record, Release
from coterie.core.promise import Check
from coterie.measures.comparison import Comparison
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.reports.about import About
from coterie.reports.decision import decide
from coterie.reports.figures import Figures
from coterie.reports.views import log_view, release_view

ATTACKS = ["attribution", "linkage", "relink", "simattack", "two_words", "witness"]


@pytest.fixture(scope="module")
def log():
    return coterie.prepare(coterie.read("synth:users=300,seed=7"))


def left_after(log: Log, rows: pl.Expr, *, named: bool, groups: int = 1, users: str = "") -> Release:
    """A release of some rows of a log as they are, under other names or none; `groups` people share a group."""
    kept = log.frame.with_row_index("place").filter(rows).drop("place").collect().sort("row")
    subject = log.shape.subject
    people = log.frame.select(original=pl.col(subject)).drop_nulls().unique().collect().sort("original")
    name = pl.lit("x") + pl.col("original") if named else pl.lit(None, pl.String)
    group = pl.int_range(pl.len()).cast(pl.UInt32) // groups
    there = pl.col("original").is_in(kept[subject].unique().implode())
    subjects = people.with_columns(released=pl.when(there).then(name), group=pl.when(there).then(group))
    shown = pl.lit("x") + pl.col(subject) if named else pl.lit(None, pl.String)
    return Release(
        log=replace(log, frame=kept.with_columns(shown.alias(subject)).lazy()),
        promises=(UserKAnonymity(k=5),),
        method="by hand",
        params={"users": users} if users else {},
        checks=(Check(name="crowd", status="passed", detail="by hand", carries_promise=True),),
        record=Record(
            run={"seed": 1, "parameters": {}},
            subjects=subjects.lazy(),
            rows=kept.select("row").with_row_index("released_row").lazy(),
        ),
    )


def scores_of(log, release, names=ATTACKS):
    """name, key -> value of these attacks."""
    found = {}
    for name in names:
        try:
            table = coterie.measure(release, [name], original=log, seed=1)
        except coterie.errors.NotApplicableError:
            continue
        found |= {(name, key): value for name, key, value, *_ in table.iter_rows()}
    return found


MOST_REMOVED = pl.col("place") % 20 == 0


@pytest.mark.parametrize(
    ("named", "groups", "users"), [(True, 3, ""), (True, 1, ""), (False, 1, "drop"), (False, 1, "")]
)
def test_the_same_people_before_and_after(log, named, groups, users):
    """Nineteen rows of twenty are removed: whom that hides is a failure of the attack, and nobody is left out."""
    scores = scores_of(log, left_after(log, MOST_REMOVED, named=named, groups=groups, users=users))
    weighed = [each for each in measures.weighed() if (each.measure, f"after.{each.rate}") in scores]
    measured = [each for each in weighed if scores[each.measure, f"after.{each.rate}"] is not None]
    assert {each.measure for each in measured} >= ({"linkage", "simattack"} if named else {"simattack", "relink"})
    for each in measured:
        keys = (f"after.{each.rate}", f"before.{each.rate}.high", f"released.{each.rate}.people")
        after, high, there = (scores[each.measure, key] for key in keys)
        people = [scores[each.measure, f"{moment}.{each.rate}.people"] for moment in ("before", "after")]
        assert people[0] == people[1] > 0
        assert there <= people[0]
        assert after <= high, each.rate


def _of_visits(named):
    log = coterie.prepare(coterie.read("synth:users=300,seed=7,kind=visits"))
    return log, left_after(log, MOST_REMOVED, named=named)


def _of_documents():
    log = coterie.prepare(coterie.read("synth:users=120,seed=7,kind=documents"))
    release = coterie.anonymize(log, "microaggregate_documents", k=3, seed=1)
    rows = release.log.frame.filter(pl.col("doc").rank("dense") % 20 == 0)
    return log, replace(release, log=replace(release.log, frame=rows))


@pytest.mark.parametrize(
    ("measure", "rate", "made"),
    [
        ("two_pages", "guessed", lambda: _of_visits(named=True)),
        ("two_pages", "guessed", lambda: _of_visits(named=False)),
        ("known_terms", "three_terms", _of_documents),
    ],
)
def test_the_same_visitors_and_documents_before_and_after(measure, rate, made):
    log, release = made()
    scores = scores_of(log, release, [measure])
    before, after, there = (scores[measure, f"{moment}.{rate}.people"] for moment in ("before", "after", "released"))
    assert before == after > there > 0
    assert scores[measure, f"after.{rate}"] <= scores[measure, f"before.{rate}.high"]


def outcomes(log, release, policy="default"):
    """What the first page says of each question, with its deciding attack."""
    names = [*ATTACKS, "two_pages", "known_terms", "personal_data"]
    view = release_view(Comparison.of(log, release, 1), names=names)
    sheet = decide(log_view(log), [view], Figures.collect(log.shape), About(policy=policy), "internal")
    return {line.risk: line for line in sheet.weighings[0].lines}, sheet


@pytest.mark.parametrize("policy", ["default", "internal"])
@pytest.mark.parametrize("named", [True, False])
def test_one_row_in_a_hundred_each_of_one_person_does_not_pass(log, named, policy):
    """All that is there exposes somebody, and it is little, so that a rate over all rows is small."""
    alone = pl.col("user").n_unique().over("query") == 1
    lines, sheet = outcomes(log, left_after(log, alone & (pl.col("place") % 40 == 0), named=named), policy)
    assert sheet.recommended is None
    line = lines["singling out"]
    assert line.outcome == "above"
    witness = next(each for each in (line, *line.others) if each.measure == "witness")
    assert witness.after < 5
    assert witness.released > 99


@pytest.mark.parametrize("policy", ["default", "internal"])
@pytest.mark.parametrize("named", [True, False])
def test_all_rows_of_a_few_people_do_not_pass(log, named, policy):
    """Three of three hundred: every rate over all people is below 1 %."""
    few = pl.col("user").rank("dense") <= 3
    lines, sheet = outcomes(log, left_after(log, few, named=named), policy)
    assert sheet.recommended is None
    # Three people who are all found: at least 29 % of such people are, which is not yet a third.
    assert lines["singling out"].outcome == ("above" if policy == "default" else "not proven")
    assert lines["singling out"].released > 90
    assert lines["singling out"].after < 1.5


def test_a_protected_release_passes(log):
    """The same page, where it should: every query was typed by forty people."""
    release = coterie.anonymize(log, "suppress_rare", k=40, seed=1)
    lines, sheet = outcomes(log, release)
    assert lines["singling out"].outcome == "within"
    assert lines["singling out"].released > 1
    assert sheet.recommended == 0


def test_common_searches_hide_no_search_of_ones_own():
    """Forty searches that everybody types, and one that only this person typed: a mean over searches is small."""
    rows = [
        (f"p{n:03}", query) for n in range(100) for query in [*(f"word{t} page" for t in range(40)), f"own{n} page"]
    ]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    lines, sheet = outcomes(log, left_after(log, pl.lit(True), named=False))
    assert sheet.recommended is None
    assert lines["singling out"].outcome == "above"
    assert (lines["singling out"].measure, lines["singling out"].released) == ("witness", 100)
    common = next(each for each in lines["singling out"].others if "among the people" in each.attacker)
    assert common.outcome == "within"


def test_one_row_of_each_person_has_nothing_to_put_together(log):
    """Nobody has two units in the release; there used to be an error, and there is a failure of the attack."""
    scores = scores_of(log, left_after(log, pl.col("row") == pl.col("row").min().over("user"), named=False), ["relink"])
    assert scores["relink", "after.hit"] == 0
    assert scores["relink", "released.hit.people"] == 0


def test_names_on_some_rows_switch_no_attack_off(log):
    """Rows without a name beside rows with one are still compared and recognised."""
    release = left_after(log, pl.lit(True), named=True)
    some = pl.when(pl.col("row") % 2 == 0).then(pl.col("user"))
    release = replace(release, log=replace(release.log, frame=release.log.frame.with_columns(user=some)))
    scores = scores_of(log, release, ["simattack", "relink"])
    assert scores["simattack", "released.queries.recall"] > 0
    assert scores["simattack", "released.profiles.recall.people"] > 0
    assert scores["relink", "after.hit"] > 0


def test_two_people_are_no_longer_nobody(log):
    """A query that two people typed finds each of them half of the time; it used to count as not found at all."""
    release = coterie.anonymize(log, "suppress_rare", k=2, seed=1)
    scores = scores_of(log, release, ["witness"])
    assert scores["witness", "released.one_query"] > 15
    assert scores["witness", "before.one_query"] > 50


def test_only_queries_that_are_new_count_in_simattack():
    """Each person types one query of their own over and over: to recognise it takes no attack."""
    rows = [(f"p{n}", f"word{chr(97 + n)} thing", t) for n in range(12) for t in range(9)]
    frame = pl.DataFrame(rows, schema=["user", "query", "t"], orient="row")
    log = coterie.log(frame.select("user", "query", time=pl.datetime(2026, 1, 1) + pl.duration(days=pl.col("t"))))
    release = coterie.anonymize(log, "unprotected", users="drop", seed=1)
    scores = scores_of(log, release, ["simattack"])
    assert scores["simattack", "before.queries"] == scores["simattack", "after.queries"] == 0
    new = log.frame.with_columns(
        query=pl.when(pl.col("row") % 9 == 8).then(pl.col("query") + " more").otherwise("query")
    )
    log = replace(log, frame=new)
    release = coterie.anonymize(log, "unprotected", users="drop", seed=1)
    scores = scores_of(log, release, ["simattack"])
    assert scores["simattack", "after.queries"] == 12
    assert scores["simattack", "released.queries.recall"] == 100
    assert scores["simattack", "released.queries.recall.control"] == 0


def test_a_query_of_many_does_not_hide_a_day_of_a_few():
    """A hundred people type the same queries, on days that two of them share: whoever knows the day finds them."""
    rows = [(f"p{n:03}", f"word{t} page", 1 + n // 2, t) for n in range(100) for t in range(3)]
    frame = pl.DataFrame(rows, schema=["user", "query", "day", "hour"], orient="row")
    time = pl.datetime(2026, 1, 1, "hour") + pl.duration(days="day")
    log = coterie.log(frame.select("user", "query", time=time))
    for k_details, outcome in ((2, "above"), ("k", "within")):
        release = coterie.anonymize(log, "suppress_rare", k=50, k_details=k_details, seed=1)
        line = outcomes(log, release)[0]["singling out"]
        assert line.outcome == outcome
        if outcome == "above":
            assert (line.attack, round(line.released)) == ("witness, query and day", 50)
            assert {each.outcome for each in line.others if each.measure == "witness"} == {"within"}
