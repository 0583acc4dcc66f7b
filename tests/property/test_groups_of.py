"""Laws of a second release on earlier groups: at least k users in each, unions of the earlier ones, the same bytes."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api, jobs
from coterie.core import registry
from coterie.core.shapes import QUERIES
from coterie.errors import InputError, ParameterError
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.methods.generalize_users import GeneralizeUsers
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing.strategies import logs
from tests.helpers.examples import examples
from tests.helpers.tasks import how

METHODS = (
    Microaggregate, SemanticMicroaggregate, ConceptMicroaggregate, InterestMicroaggregate, GeneralizeUsers,
)  # fmt: skip


@pytest.fixture(scope="module")
def log():
    return coterie.prepare(coterie.read("synth:users=60,seed=2"))


@pytest.fixture(scope="module")
def first(log):
    return api.anonymize_prepared(log, InterestMicroaggregate(k=3), seed=1)


def groups_of(release):
    return release.record.subjects.drop_nulls("group").select("original", "group").collect()


def is_made_of(release, earlier):
    """Whether everybody of an earlier group who is released is in one group."""
    both = groups_of(earlier).join(groups_of(release), on="original", suffix="_now")
    return both.height == groups_of(release).height and (
        both.group_by("group").agg(pl.col("group_now").n_unique())["group_now"].max() in (None, 1)
    )


def names_of(release):
    return set(release.record.subjects.collect()["released"].drop_nulls())


def test_methods_that_group_users_can_use_groups_again():
    methods = {name: registry.method(name) for name in registry.names("methods")}
    named = [name for name, method in methods.items() if method.regroups and QUERIES in method.accepts]
    assert named == sorted(registry.name_of(method()) for method in METHODS)


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_same_groups_or_unions_of_them(log, first, make, k):
    second = api.anonymize_prepared(log, make(k=k), seed=2, groups_of=first.record)
    assert groups_of(second).group_by("group").len()["len"].min() >= k
    assert is_made_of(second, first)
    assert not names_of(second) & names_of(first)
    assert second.record.run["groups_of"] == [first.record.run["groups"]]
    assert coterie.verify(second, log).exit_code == 0
    if k <= 3 and make is not GeneralizeUsers:  # which leaves out users whose words are in no taxonomy
        assert second.record.run["groups"] == first.record.run["groups"]


@pytest.mark.parametrize("make", METHODS)
def test_the_same_record_and_seed_give_the_same_bytes(log, first, make):
    expected = api.anonymize_prepared(log, make(k=7), seed=2, groups_of=first.record).to_polars()
    rows = log.frame.collect().sample(fraction=1, shuffle=True, seed=1)
    shuffled = replace(log, frame=rows.with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row")).lazy())
    backwards = replace(first.record, subjects=first.record.subjects.collect().reverse().lazy())
    again = api.anonymize_prepared(shuffled, make(k=7), seed=2, blocks=5, groups_of=backwards)
    assert again.to_polars().equals(expected)
    other = api.anonymize_prepared(log, make(k=7), seed=3, groups_of=first.record)
    assert not names_of(other) & names_of(again)


def test_names_are_new_even_with_the_same_seed(log, first):
    """Method, parameters, seed, log and groups agree; that the groups are reused is all that differs."""
    second = api.anonymize_prepared(log, InterestMicroaggregate(k=3), seed=1, groups_of=first.record)
    third = api.anonymize_prepared(log, InterestMicroaggregate(k=3), seed=1, groups_of=second.record)
    assert groups_of(first).equals(groups_of(second))
    assert not names_of(first) & names_of(second)
    assert not names_of(second) & names_of(third)
    assert third.record.run["groups_of"] == [first.record.run["groups"]] * 2


def test_similar_groups_are_joined(log, first):
    """Groups of like interests come together: more words in common than in unions by chance."""

    def shared(release):
        words = (
            log.frame.select("user", pl.col("query").str.split(" ").alias("word")).explode("word").unique().collect()
        )
        words = words.join(groups_of(release).rename({"original": "user"}), on="user")
        return words.group_by("group", "word").len().filter(pl.col("len") > 1)["len"].sum()

    ours, chance = (
        shared(api.anonymize_prepared(log, method, seed=2, groups_of=first.record))
        for method in (InterestMicroaggregate(k=12), Microaggregate(k=12))
    )
    assert ours > 1.02 * chance


def test_no_union_shares_a_sensitive_topic(log, tmp_path):
    """Groups that were made without looking at topics: their unions share none, whatever k is."""
    words = log.frame.select("user", pl.col("query").str.split(" ").alias("word")).explode("word").unique()
    words = words.filter(pl.col("word").str.contains("^[a-z]{4,}$")).group_by("word").len()
    common = words.sort("len", "word", descending=True).collect()["word"][5:15].to_list()
    topics = tmp_path / "topics.txt"
    topics.write_text("\n".join(common), encoding="utf-8")
    careless = api.anonymize_prepared(log, InterestMicroaggregate(k=3), seed=1)
    careful = InterestMicroaggregate(k=3, sensitive=str(topics), sensitive_share=1.0)
    with_groups = api.anonymize_prepared(log, careful, seed=2, groups_of=careless.record)
    assert is_made_of(with_groups, careless)
    assert with_groups.record.run["groups"] != careless.record.run["groups"]  # some had to be joined
    assert all(check.status == "passed" for check in with_groups.checks if "topic" in check.detail)
    larger = api.anonymize_prepared(log, replace(careful, k=8), seed=2, groups_of=with_groups.record)
    assert is_made_of(larger, with_groups)


def test_a_topic_that_everybody_has_is_refused(tmp_path):
    typed = [(f"user{n}", "secret" if n < 4 else "tea") for n in range(8)]
    log = coterie.log(pl.DataFrame(typed, schema=["user", "query"], orient="row"))
    release = api.anonymize_prepared(log, Microaggregate(k=2), seed=1)
    some = replace(release.record, subjects=release.record.subjects.filter(pl.col("original") < "user4"))
    topics = tmp_path / "topics.txt"
    topics.write_text("secret", encoding="utf-8")
    method = InterestMicroaggregate(k=2, sensitive=str(topics), sensitive_share=1.0)
    with pytest.raises(InputError, match="share a sensitive topic"):
        api.anonymize_prepared(log, method, seed=2, groups_of=some)


@settings(max_examples=examples(20))
@given(logs(min_users=8, max_rows=60), st.sampled_from(METHODS[:4]), st.sampled_from(METHODS[:4]), st.integers(2, 8))
def test_any_log(log, before, after, k):
    first = api.anonymize_prepared(log, before(k=2), seed=1)
    second = api.anonymize_prepared(log, after(k=k), seed=2, groups_of=first.record)
    assert groups_of(second).group_by("group").len()["len"].min() >= k
    assert is_made_of(second, first)


@pytest.mark.parametrize("make", METHODS)
def test_several_k_are_unions_of_the_smallest(log, make):
    methods = [make(k=k) for k in (2, 3, 8)]
    releases = list(jobs.anonymize_each(log, methods, **how(seed=1)))
    two, three, eight = releases
    assert is_made_of(three, two)
    assert is_made_of(eight, three)
    assert eight.record.run["groups_of"] == [three.record.run["groups"], two.record.run["groups"]]
    assert two.to_polars().equals(api.anonymize_prepared(log, methods[0], seed=1).to_polars())
    alone = list(jobs.anonymize_each(log, methods, **how(seed=1, independent=True)))
    assert [release.record.run["groups_of"] for release in alone] == [[], [], []]
    assert alone[2].to_polars().equals(api.anonymize_prepared(log, methods[2], seed=1).to_polars())


def test_several_k_on_earlier_groups(log, first):
    releases = list(
        jobs.anonymize_each(log, [Microaggregate(k=3), Microaggregate(k=7)], **how(seed=1, groups_of=first.record))
    )
    assert is_made_of(releases[0], first)
    assert is_made_of(releases[1], first)
    assert releases[1].record.run["groups_of"][-1] == first.record.run["groups"]


def test_several_k_come_from_the_smallest_up(log):
    falling = [Microaggregate(k=5), Microaggregate(k=3)]
    with pytest.raises(ParameterError, match="smallest k first"):
        next(jobs.anonymize_each(log, falling, **how(seed=1)))
    assert len(list(jobs.anonymize_each(log, falling, **how(seed=1, independent=True)))) == 2
    others = [SuppressRare(k=5), SuppressRare(k=3), Microaggregate(k=2)]  # no groups, and another method
    assert len(list(jobs.anonymize_each(log, others, **how(seed=1)))) == 3
