"""Laws of interest_microaggregate: groups of k, like interests, and no group that shares a sensitive topic."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.algorithms.kernels import grouping
from coterie.errors import BrokenPromiseError, InternalError, ParameterError
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.interest_microaggregate import kernels as diversity
from coterie.methods.interest_microaggregate import model as interests
from coterie.methods.microaggregate import Microaggregate
from coterie.synth.topics import THEMES
from coterie.testing.strategies import logs
from tests.helpers.examples import examples
from tests.helpers.runs import a_run, plan_of

QUERIES = {"publish": "queries", "attrs": "nearest"}
MODES = [{}, {"dimensions": 2}, {"size_weight": 0}, {"publish": "queries"}, {"partition": "random"}, QUERIES]


@pytest.fixture(scope="module")
def log():
    return coterie.prepare(coterie.read("synth:users=400,seed=2"))


def groups_of(release):
    return release.record.subjects.collect().select(user="original", group="group")


@settings(max_examples=examples(25))
@given(logs(min_users=8, max_rows=60), st.sampled_from(MODES), st.integers(2, 9), st.randoms())
def test_order_and_blocks_do_not_matter(log, mode, blocks, random):
    method = InterestMicroaggregate(k=2, **mode)
    expected = api.anonymize_prepared(log, method, seed=1).to_polars()
    assert api.anonymize_prepared(log, method, seed=1, blocks=blocks).to_polars().equals(expected)
    rows = log.frame.collect()
    order = random.sample(range(rows.height), rows.height)
    shuffled = rows[order].with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row"))
    assert api.anonymize_prepared(replace(log, frame=shuffled.lazy()), method, seed=1).to_polars().equals(expected)


@pytest.mark.parametrize("dense", [1_200, 50])
@pytest.mark.parametrize("k", [2, 5, 10])
def test_groups_have_k_members_and_one_profile(log, k, dense, monkeypatch):
    monkeypatch.setattr(grouping, "DENSE", dense)
    release = api.anonymize_prepared(log, InterestMicroaggregate(k=k), seed=3)
    sizes = groups_of(release).group_by("group").len()["len"]
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    named = release.to_polars().group_by("user").agg(pl.struct("query", "time", "rank", "url").sort())
    profiles = named.join(release.record.subjects.collect(), left_on="user", right_on="released")
    assert profiles.height == release.record.subjects.drop_nulls("released").collect().height > 380
    assert (profiles.group_by("group").agg(pl.col("query").n_unique())["query"] == 1).all()


def test_it_differs_from_microaggregate_in_the_groups_and_the_largest_share_alone(log):
    """The same groups give the same rows under the same names, of queries and of phrases."""
    run = a_run(1)
    for publish, attrs in (("queries", "nearest"), ("phrases", "drop")):
        ours = InterestMicroaggregate(k=4, publish=publish, attrs=attrs)
        theirs = Microaggregate(k=4, max_share=0.5, publish=publish, attrs=attrs)
        plan = plan_of(ours, log, run)
        rows = [method.release(log, plan, run).frame.collect().sort(pl.all()) for method in (ours, theirs)]
        assert rows[0].equals(rows[1])


def shared_topics(log, groups):
    """How many topics of the generator two members of a group share, on average over pairs; nothing else is used."""
    rows = log.frame.select("user", pl.col("query").str.split(" ").alias("word")).explode("word").collect()
    topics = rows.filter(pl.col("word").is_in(THEMES)).unique().join(groups, on="user")
    pairs = topics.join(topics, on=["group", "word"]).filter(pl.col("user") < pl.col("user_right")).height
    sizes = groups.group_by("group").len()["len"]
    return pairs / (sizes * (sizes - 1) // 2).sum()


def test_members_share_interests(log):
    ours, random, letters = (
        shared_topics(log, groups_of(api.anonymize_prepared(log, method, seed=1)))
        for method in (
            InterestMicroaggregate(k=4),
            InterestMicroaggregate(k=4, partition="random"),
            Microaggregate(k=4),
        )
    )
    assert ours > 2 * random
    assert ours > 1.5 * letters


def test_seeds_matter(monkeypatch):
    monkeypatch.setattr(grouping, "DENSE", 50)
    log = coterie.prepare(coterie.read("synth:users=200,seed=2"))
    plans = [plan_of(InterestMicroaggregate(k=3), log, a_run(seed)).table.collect() for seed in (1, 1, 2)]
    assert plans[0].equals(plans[1])
    assert not plans[0].equals(plans[2])


def test_vectors_are_made_once_for_several_k(log, monkeypatch):
    made, original = [], interests.interests
    monkeypatch.setattr(interests, "interests", lambda *given: made.append(1) or original(*given))
    methods = [InterestMicroaggregate(k=k) for k in (2, 3)]
    learnt = api.learn(log, methods, seed=1)
    for method in methods:
        api.anonymize_prepared(learnt, method, seed=1)
    assert made == [1]


# --- sensitive topics ------------------------------------------------------------------------------------------


@pytest.fixture
def topics(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("health: diabetes asthma arthritis migraine\nmoney: mortgage loans taxes\nbabies: pregnancy\n")
    return str(path)


def one_sided(log, groups, share=0.5):
    """Groups in which all have one of the topics above, counted from the words of the log."""
    listed = {"health": ["diabetes", "asthma", "arthritis", "migraine"], "money": ["mortgage", "loans", "taxes"],
              "babies": ["pregnancy"]}  # fmt: skip
    rows = log.frame.select("user", pl.col("query").str.split(" ").alias("word")).explode("word").collect()
    sizes = groups.group_by("group").len("size")
    found = set()
    for words in listed.values():
        having = rows.filter(pl.col("word").is_in(words)).select("user").unique().join(groups, on="user")
        if having.height < share * groups.height:
            full = having.group_by("group").len("having").join(sizes, on="group")
            found |= set(full.filter(pl.col("having") == pl.col("size"))["group"])
    return found


@dataclass(frozen=True, kw_only=True)
class ForgetsTopics(InterestMicroaggregate):
    """Takes the file and does nothing with it."""

    def _guarded(self, group, found, log):  # noqa: ARG002
        return group, ()


def test_no_group_shares_a_sensitive_topic(log, topics):
    guarded = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=topics), seed=1)
    assert not one_sided(log, groups_of(guarded))
    assert groups_of(guarded).group_by("group").len()["len"].min() >= 3
    assert "Mean similarity within groups" in guarded.warnings[0]
    assert "topics" in [check.name for check in guarded.checks]
    assert one_sided(log, groups_of(api.anonymize_prepared(log, InterestMicroaggregate(k=3), seed=1)))
    with pytest.raises(BrokenPromiseError, match=r"sensitive topics?: [1-9]"):
        api.anonymize_prepared(log, ForgetsTopics(k=3, sensitive=topics), seed=1)


def test_common_topics_may_be_shared(log, topics):
    free = api.anonymize_prepared(log, InterestMicroaggregate(k=3), seed=1)
    nothing = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=topics, sensitive_share=0), seed=1)
    rows, expected = (release.to_polars().drop("user") for release in (nothing, free))  # other parameters, other names
    assert rows.sort(rows.columns).equals(expected.sort(rows.columns))


def test_the_cost_is_told(log, topics):
    warning = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=topics), seed=1).warnings[0]
    before, after = (float(part.split()[0]) for part in warning.split("groups: ")[1].split(", "))
    assert 0.9 * before < after < before


def test_a_release_names_the_file_of_topics_and_not_its_folder(log, topics, tmp_path):
    release = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=topics), seed=1)
    coterie.write(release, tmp_path / "out.tsv", record=tmp_path / "record")
    sidecar = (tmp_path / "out.tsv.json").read_text()
    assert '"sensitive": "topics.txt"' in sidecar
    assert str(tmp_path) not in sidecar
    assert "Mean similarity within groups" in sidecar
    loaded = coterie.load_release(tmp_path / "out.tsv", record=tmp_path / "record")
    alone, with_record = (coterie.verify(tmp_path / "out.tsv", log, record=r) for r in (None, tmp_path / "record"))
    assert [check.name for check in alone.unchecked] == ["people", "topics"]
    assert (alone.exit_code, with_record.exit_code) == (3, 0)
    baseline = api._baseline(loaded)  # for reports, from the record
    assert baseline == InterestMicroaggregate(k=3, partition="random")


def test_a_branch_of_wordnet_is_a_topic(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("illness: @disease\n")
    rows = [(f"u{i:02}", "measles treatment" if i % 2 else "asthma") for i in range(6)]
    rows += [(f"v{i:02}", "maps") for i in range(12)]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))

    def ill(sensitive):
        release = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=sensitive), seed=1)
        return [set(g) for g in groups_of(release).group_by("group").agg(pl.col("user").str.head(1))["user"].to_list()]

    assert {"u"} in ill("none")
    assert {"u"} not in ill(str(path))
    path.write_text("illness: @no_such_thing\n")
    with pytest.raises(ParameterError, match="no concept 'no such thing'"):
        ill(str(path))


def test_a_topic_that_nearly_all_have(topics):
    """Where exchanges are not enough, groups are joined."""
    rows = [(f"u{i:02}", "asthma" if i else "maps") for i in range(12)]
    few = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    release = api.anonymize_prepared(few, InterestMicroaggregate(k=3, sensitive=topics, sensitive_share=1), seed=1)
    assert groups_of(release)["group"].n_unique() == 1


def test_what_is_not_mended_is_not_released(log, topics, monkeypatch):
    monkeypatch.setattr(diversity, "mend", lambda group, *_: group)
    with pytest.raises(InternalError, match="sensitive"):
        api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=topics), seed=1)


def test_random_groups_do_not_pretend_to_be_guarded(topics):
    with pytest.raises(ParameterError, match="Random groups"):
        InterestMicroaggregate(sensitive=topics, partition="random")


def test_topics_that_guard_nothing_are_told(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("all: maps\nnobody: yachts\nsome: asthma\n")
    rows = [(f"u{i:02}", query) for i in range(12) for query in ("maps", "asthma" if i < 3 else "roses")]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    told = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=str(path)), seed=1).warnings
    assert told[1] == (
        "Of 3 sensitive topics 1 may be shared, because 50% of all users or more have them, and nobody has 1."
    )
    path.write_text("some: asthma\n")
    told = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=str(path)), seed=1).warnings
    assert not any("may be shared" in text for text in told)


def test_topics_in_scripts_that_join_words(tmp_path):
    """A word within a longer run of letters counts, where a script puts no spaces between words."""
    path = tmp_path / "topics.txt"
    path.write_text("糖尿病\n당뇨병\n", encoding="utf-8")
    rows = [(f"u{i}", "糖尿病の症状") for i in range(3)] + [(f"v{i}", "당뇨병은") for i in range(3)]
    rows += [(f"w{i}", "天気") for i in range(9)]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))

    def kinds(sensitive):
        release = api.anonymize_prepared(log, InterestMicroaggregate(k=3, sensitive=sensitive), seed=1)
        return [set(g) for g in groups_of(release).group_by("group").agg(pl.col("user").str.head(1))["user"].to_list()]

    assert {"u"} in kinds("none")
    assert {"v"} in kinds("none")
    assert {"u"} not in kinds(str(path))
    assert {"v"} not in kinds(str(path))


def test_a_file_that_is_not_there():
    with pytest.raises(ParameterError, match="'none' or the path of a file"):
        InterestMicroaggregate(sensitive="nowhere.txt")


def test_the_kernel_refuses_wrong_sizes(monkeypatch):
    monkeypatch.setattr(grouping, "dense_groups", lambda k, vectors: np.arange(len(vectors)))
    with pytest.raises(AssertionError, match="k to 2k - 1"):
        grouping.similar_groups(3, np.ones((9, 2), dtype=np.int16), 1, lambda work, parts: [work(p) for p in parts])
