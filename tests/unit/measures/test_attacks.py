"""What stands under Before is one number: in inspect, in the studio, on the decision sheet and in its evidence."""

import json

import polars as pl
import pytest

import coterie
from coterie import jobs, measures
from coterie.apps.studio.figures import numbers_now
from coterie.core.wording import in_words_of
from coterie.measures import attacks
from coterie.reports import figures
from coterie.reports.views import log_view
from coterie.steps import parse_steps
from coterie.testing import queries_log

LOGS = [
    ("synth:users=60,seed=1", ("suppress_rare", {"k": 2})),
    ("synth:users=60,seed=2", ("microaggregate", {"k": 3})),
    ("synth:users=60,seed=3,kind=people", ("suppress_rare", {"k": 3})),
    ("synth:users=60,seed=4", ("suppress_rare", {"k": 2, "users": "pseudonym"})),
    ("synth:users=60,seed=5,kind=visits", ("suppress_rare", {"k": 2})),
]


@pytest.mark.parametrize(("where", "how"), LOGS)
def test_one_number_before(where, how, tmp_path):
    as_read = coterie.read(where)
    log = coterie.prepare(as_read)
    method, params = how
    release = coterie.anonymize(log, method, seed=1, **params)
    page = tmp_path / "page.json"
    coterie.report(release, original=as_read, to=page)
    told = json.loads(page.read_text())
    sheet = {}
    for line in told["decision"]["identifiability"][0]["lines"]:
        for each in (line, *line["others"]):
            if each["before"] is not None:
                sheet[each["measure"], each["attacker"]] = each["before"]
    assert sheet
    evidence = {(s["name"], s["key"]): s["value"] for s in told["releases"][0]["scores"]}
    scores, _ = attacks.attacked(log, measures.seed_for(as_read), attacks.names())
    alone = {(name, key): value for name, key, value, _ in scores.iter_rows()}
    found = jobs.inspect_logs([where], steps=parse_steps("default"))
    inspected = {(name, key): value for name, key, value, _ in found.iter_rows()}
    studio = numbers_now(log, scores, log_view(as_read))
    shown = {text for each in studio for text in (each.text, *(text for _, text in each.others))}
    seen = 0
    for each in measures.weighed():
        key = (each.measure, f"before.{each.rate}")
        on_sheet = sheet.get((each.measure, in_words_of(log.shape, each.attacker)))
        if on_sheet is None:
            continue
        assert evidence[key] == on_sheet
        assert alone[key] == evidence[key], key
        assert figures.shown(evidence[key], "%") in shown
        assert inspected.get(key, evidence[key]) == evidence[key]
        assert key in inspected or measures.effort(each.measure) > attacks.QUICK
        seen += 1
    assert seen


def test_some_of_many_people_are_attacked(monkeypatch):
    log = coterie.prepare(coterie.read("synth:users=60,seed=1"))
    assert attacks.some_people(log, 1, attacks.MANY) == (log, None)
    some, people = attacks.some_people(log, 1, 20)
    assert people == some.frame.select(pl.col("user").n_unique()).collect().item() == 20
    monkeypatch.setattr(attacks, "MANY", 20)
    rates, few = (attacks.attacked(each, 1, ["witness", "linkage"])[0] for each in (log, some))
    assert rates.equals(few), "the same people are drawn"


def test_attacks_that_take_long_are_tried_on_fewer_people(monkeypatch):
    log = coterie.prepare(coterie.read("synth:users=60,seed=1"))
    assert measures.effort("attribution") > attacks.QUICK >= measures.effort("witness")
    everybody, _ = attacks.attacked(log, 1, ["attribution", "witness"])
    monkeypatch.setattr(attacks, "SOME", 20)
    rates, _ = attacks.attacked(log, 1, ["attribution", "witness"])
    few, _ = attacks.attacked(attacks.some_people(log, 1, 20)[0], 1, ["attribution"])
    assert rates.filter(pl.col("name") == "attribution").equals(few)
    of_all = everybody.filter(pl.col("name") == "witness")
    assert rates.filter(pl.col("name") == "witness").equals(of_all)


def test_only_rates_on_the_original_are_kept():
    scores, left_out = attacks.attacked(coterie.prepare(queries_log()), 1, ["witness", "known_terms"])
    assert set(attacks.rates_before(scores)["key"]) == {"before.one_query", "before.own_query", "before.query_and_day"}
    assert set(left_out) == {"known_terms"}
