"""Adversaries who know part of a profile win on the raw log and on a broken release, and reach 1/k at most else."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

import coterie
from coterie.core.log import Log, Record, Release
from coterie.core.plan import Plan
from coterie.measures.attacks import linkage, simattack
from coterie.measures.comparison import Comparison
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.testing import visits_log
from tests.helpers.runs import a_run, plan_of

K = 5
ATTACKS = ["linkage", "simattack"]


@dataclass(frozen=True, kw_only=True)
class GroupsOfOne(Microaggregate):
    """Promises k and leaves everybody alone."""

    def plan(self, learnt, log, run):  # noqa: ARG002
        people = log.frame.select(subject="user").drop_nulls().unique().collect().sort("subject")
        return Plan(table=people.with_row_index("group").select("subject", "group").lazy())


@pytest.fixture(scope="module")
def log() -> Log:
    return coterie.prepare(coterie.read("synth:users=300,seed=7"))


def unchecked(log: Log, method) -> Release:
    """What a method would publish if nobody verified it."""
    run = a_run(1)
    draft = method.release(log, plan_of(method, log, run), run)
    record = Record(run={}, subjects=draft.subjects)
    frame = draft.frame.select("user", "time", "query", "rank", "url")
    return Release(
        log=replace(log, frame=frame), promises=(UserKAnonymity(k=K),), method="broken", params={}, record=record
    )


def scores(log: Log, release: Release, seed: int = 1, names=ATTACKS) -> dict[tuple[str, str], float]:
    rows = coterie.measure(release, names, original=log, seed=seed).select("name", "key", "value")
    return {(name, key): value for name, key, value in rows.iter_rows()}


GOOD = [
    Microaggregate(k=K),
    Microaggregate(k=K, partition="random"),
    SemanticMicroaggregate(k=K),
    ConceptMicroaggregate(k=K),
    InterestMicroaggregate(k=K),
]


@pytest.fixture(scope="module", params=GOOD)
def good(request, log):
    return scores(log, coterie.anonymize(log, request.param, seed=1))


def test_they_win_on_the_raw_log(good):
    assert good["linkage", "before.one_query"] > 60
    assert good["linkage", "before.two_queries"] > 90
    assert good["linkage", "before.five_queries"] > 95
    assert good["linkage", "before.half"] > 95
    assert good["simattack", "before.profiles.recall"] > 30  # of 200 users a blind guess finds 0.5 %


def test_they_stay_below_the_promised_bound(good):
    for name, *keys in (("linkage", *linkage.KNOWLEDGE), ("simattack", "profiles.precision", "profiles.recall")):
        assert good[name, "bound"] == 100 / K
        for key in keys:
            assert 0 < good[name, f"after.{key}"] <= 100 / K + 1e-9


@pytest.mark.parametrize("method", GOOD)
def test_nobody_is_found_more_surely_than_her_group_is_large(log, method):
    release = coterie.anonymize(log, method, seed=2)
    comparison = Comparison.of(log, release, seed=1, show_values=False)
    pairs = comparison.original.select("subject", "item").unique()
    known = linkage.draw(pairs, pairs.select("subject").unique(), seed=1)
    released = comparison.released.select("subject", "item").unique()
    found = linkage.attack(known, released, comparison.names)
    groups = release.record.subjects.collect().with_columns(size=pl.len().over("group"))
    each = found.join(groups, left_on="user", right_on="original")
    assert each.height == 300
    for key in linkage.KNOWLEDGE:
        assert (each[key] * each["size"]).max() <= 1 + 1e-9


def test_they_win_on_a_broken_release(log):
    broken = scores(log, unchecked(log, GroupsOfOne(k=K)))
    for key in linkage.KNOWLEDGE:
        assert broken["linkage", f"after.{key}.low"] > broken["linkage", "bound"]
    assert broken["linkage", "after.half"] > 90
    assert broken["simattack", "after.profiles.recall"] > broken["simattack", "bound"]


def test_groups_that_are_too_small_are_noticed(log):
    pairs = scores(log, unchecked(log, Microaggregate(k=2)), names=["linkage"])
    assert pairs["linkage", "after.half.low"] > 100 / K


def test_knowing_more_finds_more(good):
    found = [good["linkage", f"after.{key}"] for key in ("one_query", "two_queries", "five_queries")]
    assert found == sorted(found)


def test_intervals_contain_the_share_and_narrow_with_the_sample(log, monkeypatch):
    release = coterie.anonymize(log, Microaggregate(k=K, partition="random"), seed=1)
    widths = []
    for attacked in (50, 300):
        monkeypatch.setattr(linkage, "ATTACKED", attacked)
        some = scores(log, release, names=["linkage"])
        assert some["linkage", "users"] == attacked
        low, high = some["linkage", "after.half.low"], some["linkage", "after.half.high"]
        assert low < some["linkage", "after.half"] < high
        widths.append(high - low)
    assert widths[1] < widths[0]


def test_a_sample_is_drawn_by_the_seed(log, monkeypatch):
    monkeypatch.setattr(linkage, "ATTACKED", 30)
    monkeypatch.setattr(simattack, "TARGETS", 30)
    release = coterie.anonymize(log, SuppressRare(k=3, users="session"), seed=1)
    assert scores(log, release, seed=1) == scores(log, release, seed=1)
    assert scores(log, release, seed=1) != scores(log, release, seed=2)
    assert scores(log, release)["simattack", "after.profiles"] == 30


def test_large_joins_are_made_in_parts(log, monkeypatch):
    release = coterie.anonymize(log, SuppressRare(k=3, users="pseudonym"), seed=1)
    whole = scores(log, release, names=["simattack"])
    monkeypatch.setattr(simattack, "_PAIRS_AT_ONCE", 1000)
    assert scores(log, release, names=["simattack"]) == whole


def test_a_release_without_names_has_nothing_to_link(log):
    release = coterie.anonymize(log, SuppressRare(k=3), seed=1)
    table = coterie.measure(release, ["linkage"], original=log, seed=1)
    nothing = table.filter(pl.col("key").is_in([f"after.{key}" for key in linkage.KNOWLEDGE]))
    assert nothing["value"].to_list() == [None] * 4
    assert set(nothing["unit"]) == {"does not apply: no names"}
    assert table.filter(pl.col("key") == "before.half")["value"].item() > 90
    single = scores(log, release, names=["simattack"])
    assert 0 < single["simattack", "after.queries.recall"] < single["simattack", "before.queries.recall"]


def test_without_names_and_rows_the_guesses_cannot_be_judged(log):
    release = coterie.anonymize(log, SuppressRare(k=3), seed=1)
    table = coterie.measure(
        replace(release, record=replace(release.record, rows=None)), ["simattack"], original=log, seed=1
    )
    after = table.filter(pl.col("key").str.starts_with("after."))
    assert after["value"].null_count() == after.height == 3
    assert all(unit.startswith("does not apply") for unit in after["unit"])


def test_access_logs(monkeypatch):
    log = visits_log()
    release = coterie.anonymize(log, SuppressRare(k=2, users="pseudonym"), seed=1)
    found = scores(log, release)
    assert found["linkage", "before.half"] > 50
    assert 0 < found["linkage", "after.half"] < 100


def test_a_log_without_users():
    rows = pl.DataFrame({"user": ["a", "b", "c"], "query": ["tea", "tea", "tea"]})
    log = coterie.log(rows)
    release = coterie.anonymize(log, SuppressRare(k=3), seed=1)
    nobody = replace(log, frame=log.frame.with_columns(pl.lit(None, pl.String).alias("user")))
    comparison = Comparison.of(nobody, release, 1, False)
    for measure in (linkage.measure, simattack.measure):
        found = {score.key: score.value for score in measure(comparison)}
        assert found["users"] == 0
        assert all(value is None or np.isfinite(value) for value in found.values())
