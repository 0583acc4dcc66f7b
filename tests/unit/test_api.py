"""The public functions where no file is involved: what is learnt and shared, seeds, facts, synthetic sources."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import polars as pl
import pytest

import coterie
from coterie import api, synth
from coterie.core.params import Choice
from coterie.errors import BrokenPromiseError, InputError, ParameterError
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.reports import report_kind
from coterie.testing import queries_log, visits_log


@dataclass(frozen=True, kw_only=True)
class Learns(SuppressRare):
    """Counts how often it learns."""

    word: Annotated[str, Choice("a", "b"), "anything that is not late"] = "a"
    learnt: ClassVar[list[int]] = []

    def learn(self, log, run):
        self.learnt.append(run.seed)
        return log.frame.select(pl.len()).collect().item()

    def plan(self, learnt, log, run):
        assert learnt == 24
        return super().plan(None, log, run)


@pytest.fixture(autouse=True)
def _nothing_learnt():
    Learns.learnt.clear()


def test_columns_belong_to_the_log():
    with pytest.raises(ParameterError, match=r"coterie\.log\(data, columns="):
        coterie.anonymize(pl.DataFrame({"who": ["a"], "what": ["b"]}), "suppress_rare", k=2, columns={"user": "who"})


def test_a_log_without_users_is_told_how_to_name_them():
    log = coterie.log(pl.DataFrame({"query": ["a", "b"]}))
    with pytest.raises(InputError, match=r'columns={"user": "NAME"}'):
        coterie.anonymize(log, "suppress_rare", k=2)


def test_the_current_folder_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is a folder"):
        coterie.read(".")


def test_several_k_share_what_is_learnt():
    log, methods = queries_log(), [Learns(k=k) for k in (2, 3, 5)]
    learnt = api.learn(log, methods, seed=9)
    heights = [api.anonymize_prepared(learnt, method, seed=9).to_polars().height for method in methods]
    assert Learns.learnt == [9]
    assert heights == sorted(heights, reverse=True)
    alone = [coterie.anonymize(log, method, seed=9).to_polars().height for method in methods]
    assert heights == alone, "the same as if each had learnt for itself"
    assert len(Learns.learnt) == 4


@pytest.mark.parametrize("method", [Learns(k=3, word="b"), Learns(k=3, users="pseudonym"), SuppressRare(k=3)])
def test_what_was_learnt_serves_its_method_alone(method):
    learnt = api.learn(queries_log(), [Learns(k=3)])
    assert learnt.serves(Learns(k=7))
    with pytest.raises(ParameterError, match="another log, or to a method that differs in more than k"):
        api.anonymize_prepared(learnt, method)


def test_methods_that_differ_in_more_than_k_do_not_learn_together():
    with pytest.raises(ParameterError, match="differ in k alone"):
        api.learn(queries_log(), [Learns(k=2), Learns(k=3, word="b")])


def test_learning_refuses_the_largest_k_before_it_starts():
    with pytest.raises(InputError, match="k = 7 needs at least 7 users, and the log has 6"):
        api.learn(queries_log(), [Learns(k=2), Learns(k=7)])
    assert Learns.learnt == []


def test_seeds():
    log, method = queries_log(), SuppressRare(k=3, users="pseudonym")
    first, again, other = (coterie.anonymize(log, method, seed=seed) for seed in (1, 1, 2))
    assert first.to_polars().equals(again.to_polars())
    assert not first.to_polars().equals(other.to_polars())
    assert (first.record.run["seed"], first.record.run["seed_chosen"]) == (1, True)
    unsaid = coterie.anonymize(log, method).record.run
    assert not unsaid["seed_chosen"]
    assert unsaid["seed"] != coterie.anonymize(log, method).record.run["seed"]


def test_the_seed_of_learning_is_in_the_record():
    log = queries_log()
    learnt = api.learn(log, [Learns(k=3)], seed=9)
    run = api.anonymize_prepared(learnt, Learns(k=3), seed=1).record.run
    assert (run["learning_seed"], run["seed"]) == (9, 1)


def test_progress_is_told_step_by_step():
    steps = []
    coterie.anonymize(queries_log(), Learns(k=3), progress=lambda step, share=None: steps.append(step))
    assert list(dict.fromkeys(steps)) == ["learn", "plan", "release", "release: sort", "verify"]


def test_a_method_gets_only_shapes_that_it_accepts():
    with pytest.raises(InputError, match="microaggregate works on QUERIES, and this log is VISITS") as error:
        coterie.anonymize(visits_log(), Microaggregate(k=3))
    assert "Use one of: common_visits, count_visits, generalize_visits, " in str(error.value)
    assert "affinity" not in str(error.value)


def test_logs_without_rows_or_queries_are_refused():
    log = queries_log()
    with pytest.raises(InputError, match=r"no rows left to anonymize\. Check the prepare steps"):
        coterie.anonymize(replace(log, frame=log.frame.clear()), SuppressRare(k=2))
    query = pl.when(pl.col("row") < 21).then("query").alias("query")
    with pytest.raises(InputError, match=r"3 rows have no query\. Leave them out"):
        coterie.anonymize(replace(log, frame=log.frame.with_columns(query)), SuppressRare(k=2), prepare=())


@dataclass(frozen=True, kw_only=True)
class Lies(SuppressRare):
    """Plans for one user less than it promises."""

    def plan(self, learnt, log, run):
        return SuppressRare(k=self.k - 1).plan(learnt, log, run)


def test_a_broken_promise_is_an_error_that_says_which_check_failed():
    with pytest.raises(BrokenPromiseError, match=r"so nothing was written\. .* have fewer"):
        coterie.anonymize(queries_log(), Lies(k=3))


@pytest.mark.parametrize("text", [
    "synth:users", "synth:users=x", "synth:people=3", "synth:users=0", "synth:users=3,seed=1=2",
    "synth:users=3,kind=crowd", "synth:users=3,kind", "synth:kind=people,kin=3",
])  # fmt: skip
def test_a_synthetic_source_is_written_in_one_way(text):
    with pytest.raises(ParameterError, match="synth:users=1000,seed=7"):
        coterie.read(text)


def test_a_synthetic_source_with_and_without_settings():
    log = coterie.read(["synth:users=3"])
    assert log.history[0].name == "synth"
    assert log.frame.select(pl.col("user").n_unique()).collect().item() == 3
    assert log.to_polars().equals(coterie.read("synth:users=3,seed=7").to_polars())


def test_a_synthetic_source_has_a_kind():
    rows = coterie.read("synth:users=30,seed=3,kind=people").to_polars()
    assert rows["query"].to_list() == synth.synthesize(30, 3, "people")["query"].to_list()
    topics = coterie.read("synth:users=30,seed=3,kind=topics").to_polars()
    assert topics.equals(coterie.read("synth:users=30,seed=3").to_polars())


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.HTML"])
def test_a_report_has_a_kind(name):
    with pytest.raises(ParameterError, match=r"written as \.html, \.md or \.json"):
        report_kind(Path(name))


# --- groups of an earlier release ------------------------------------------------------------------


def test_groups_of_a_folder_or_of_a_record(tmp_path):
    log = coterie.prepare(coterie.read("synth:users=20,seed=1"))
    first = coterie.anonymize(log, Microaggregate(k=2), seed=1)
    coterie.write(first, tmp_path / "a.tsv", record=tmp_path / "record")
    rows = [
        coterie.anonymize(log, Microaggregate(k=5), seed=2, groups_of=given).to_polars()
        for given in (first.record, tmp_path / "record", str(tmp_path / "record"))
    ]
    assert rows[0].equals(rows[1])
    assert rows[0].equals(rows[2])


def test_groups_of_another_log_are_refused():
    logs = [coterie.prepare(coterie.read(f"synth:users=20,seed={seed}")) for seed in (1, 2)]
    record = coterie.anonymize(logs[0], Microaggregate(k=2), seed=1).record
    with pytest.raises(InputError, match="from another log"):
        coterie.anonymize(logs[1], Microaggregate(k=2), seed=1, groups_of=record)
    old = replace(record, run={**record.run, "input_digest": ""})
    with pytest.raises(InputError, match="does not say which log"):
        coterie.anonymize(logs[0], Microaggregate(k=2), seed=1, groups_of=old)
    with pytest.raises(ParameterError, match="suppress_rare makes no groups of users"):
        coterie.anonymize(logs[0], SuppressRare(k=2), seed=1, groups_of=record)
    without = coterie.anonymize(logs[0], SuppressRare(k=2, users="pseudonym"), seed=1).record
    with pytest.raises(InputError, match="by suppress_rare, which made no groups"):
        coterie.anonymize(logs[0], Microaggregate(k=2), seed=1, groups_of=without)


def test_users_without_a_group_stay_out(tmp_path):
    log = coterie.prepare(coterie.read("synth:users=20,seed=1"))
    record = coterie.anonymize(log, Microaggregate(k=4), seed=1).record
    some = replace(record, subjects=record.subjects.filter(pl.col("group") != 0))
    release = coterie.anonymize(log, Microaggregate(k=4), seed=2, groups_of=some)
    left_out = set(record.subjects.filter(pl.col("group") == 0).collect()["original"])
    subjects = release.record.subjects.collect()
    assert set(subjects.filter(pl.col("released").is_null())["original"]) == left_out
    assert release.to_polars()["user"].n_unique() == 20 - len(left_out)
    assert f"{len(left_out)} of 20 users are left out: they had no group there." in release.warnings


def test_groups_that_lost_a_user_are_not_used_again(tmp_path):
    """Other prepare steps may leave nothing of a user: two releases together would then tell what is that user's."""
    synth.write(tmp_path / "log.tsv", 20, 1)
    log = coterie.prepare(coterie.read(tmp_path / "log.tsv"))
    record = coterie.anonymize(log, Microaggregate(k=4), seed=1).record
    gone = record.subjects.collect()["original"][0]
    fewer = replace(log, frame=log.frame.filter(pl.col("user") != gone))
    with pytest.raises(InputError, match="Use the steps of the earlier release"):
        coterie.anonymize(fewer, Microaggregate(k=4), seed=2, groups_of=record)
