"""Laws of semantic_microaggregate: the plain answer, groups of k, nobody lost silently, in any order and any blocks."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api, taxonomies
from coterie.algorithms.words import word_hashes
from coterie.api import UNSCRUBBED
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.methods.semantic_microaggregate.kernels import NOBODY, similarities, sum_linkage
from coterie.taxonomies import build
from tests.helpers import semantic_reference as reference
from tests.helpers.examples import examples
from tests.helpers.microaggregation import SEED, priority
from tests.helpers.runs import a_run, plan_of
from tests.helpers.semantic_logs import WORDS, logs, paths
from tests.helpers.semantic_logs import log_of as _log

MODES = [
    {},
    {"normalize": "cosine"},
    {"leftovers": "nearest"},
    {"leftovers": "suppress"},
    {"leftovers": "suppress", "partition": "random"},
    {"unit": "query", "categories": 1, "levels": 3},
    {"attrs": "nearest"},
    {"attrs": "same_string"},
    {"block_users": 5},
    {"partition": "random"},
    {"choice": "herding", "max_share": 0.4},
]


def _plain(pairs, method):
    """Groups of names, and the profile of each name's group."""
    queries = {}
    for user, query in pairs:
        queries.setdefault(f"user{user}", []).append(query)
    word = {q: word_hashes(pl.Series([q]))[0] for q in WORDS}

    def counts(user):
        of = reference.category_counts(queries[user], lambda q: paths(q, method.unit, method.categories), method.levels)
        return of, not any(of.values())

    def place(user):
        bare = counts(user)[1]
        return bare, min(word[q] for q in queries[user]) if bare else 0, user

    users = sorted(queries, key=place)
    cells = reference.matrix([counts(user)[0] for user in users], method.normalize)
    clusters = reference.partition(len(users), cells, method.k, method.leftovers)
    members = [sorted(users[i] for i in cluster) for cluster in clusters]
    return {tuple(m): reference.profile([(u, queries[u]) for u in m], priority, method.max_share) for m in members}


@settings(max_examples=examples(60))
@given(logs, st.integers(2, 4), st.sampled_from([
    {}, {"normalize": "cosine"}, {"leftovers": "nearest"}, {"leftovers": "suppress"},
    {"unit": "query"}, {"categories": 1, "levels": 2}, {"max_share": 0.4}, {"max_share": 0.0},
    {"levels": 12, "normalize": "cosine", "leftovers": "nearest"},
]))  # fmt: skip
def test_it_is_the_plain_reference(pairs, k, mode):
    _agree(pairs, SemanticMicroaggregate(k=k, **mode))


def test_it_is_the_plain_reference_on_many_users():
    draw = random.Random(7)
    favourites = [draw.sample(WORDS, 4) for _ in range(400)]
    _agree(
        [(u, draw.choice(words)) for u, words in enumerate(favourites) for _ in range(10)], SemanticMicroaggregate(k=3)
    )


def _agree(pairs, method):
    release = api.anonymize_prepared(_log(pairs), method, seed=SEED)
    expected = _plain(pairs, method)
    subjects = release.record.subjects.collect()
    grouped = subjects.drop_nulls("group").group_by("group").agg(pl.col("original").sort())
    assert {tuple(names) for names in grouped["original"]} == set(expected)
    queries = dict(release.to_polars().group_by("user").agg(pl.col("query").sort()).rows())
    group_of = {name: names for names in expected for name in names}
    for original, released, _ in subjects.select("original", "released", "group").rows():
        if released is None:
            assert original not in group_of
        else:
            assert queries[released] == expected[group_of[original]]


@settings(max_examples=examples(25))
@given(logs, st.sampled_from(MODES), st.integers(2, 9), st.randoms())
def test_order_and_blocks_do_not_matter(pairs, mode, blocks, random):
    method, log = SemanticMicroaggregate(k=2, **mode), _log(pairs)
    expected = api.anonymize_prepared(log, method, seed=1).to_polars()
    assert api.anonymize_prepared(log, method, seed=1, blocks=blocks).to_polars().equals(expected)
    found = log.frame.collect()
    shuffled = found[random.sample(range(found.height), found.height)]
    shuffled = shuffled.with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).alias("row"))
    assert api.anonymize_prepared(replace(log, frame=shuffled.lazy()), method, seed=1).to_polars().equals(expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [2, 7])
def test_groups_have_k_members_and_one_profile(mode, k):
    log = coterie.prepare(coterie.read("synth:users=61,seed=2"))
    release = api.anonymize_prepared(log, SemanticMicroaggregate(k=k, **mode), seed=3)
    subjects = release.record.subjects.collect()
    sizes = subjects.drop_nulls("group").group_by("group").len()["len"]
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    lost = subjects["released"].null_count()
    assert lost == (61 % k if mode.get("leftovers") == "suppress" else 0)
    said = f"{lost:,} of 61 users were left over and are not released."
    assert (said in release.warnings) == (lost > 0)
    released = release.to_polars()
    profiles = dict(released.group_by("user").agg(pl.struct("time", "query", "rank", "url").sort()).rows())
    for _, names in subjects.drop_nulls("group").group_by("group").agg("released").rows():
        assert len({repr(profiles[name]) for name in names}) == 1
    if mode.get("attrs", "drop") == "drop":
        assert released.select(pl.col("time", "rank", "url").is_null().all()).row(0) == (True,) * 3


def test_a_user_gives_her_share_and_no_more_than_she_typed():
    log = coterie.prepare(coterie.read("synth:users=60,seed=2"))
    release = api.anonymize_prepared(log, SemanticMicroaggregate(k=3), seed=3)
    subjects = release.record.subjects.collect()
    typed = log.frame.collect().join(subjects, left_on="user", right_on="original")
    for _, names, originals in subjects.group_by("group").agg("released", "original").rows():
        shown = Counter(release.to_polars().filter(pl.col("user") == names[0])["query"])
        there = Counter(typed.filter(pl.col("user").is_in(originals))["query"])
        assert not shown - there
        mean = sum(there.values()) / len(names)
        assert abs(sum(shown.values()) - mean) <= 0.5


@given(logs, st.sampled_from([SemanticMicroaggregate(k=2), Microaggregate(k=2, attrs="drop")]))
@settings(max_examples=examples(25))
def test_queries_that_one_user_typed_alone_are_counted(pairs, method):
    log = _log(pairs)
    release = api.anonymize_prepared(log, method, seed=1)
    released, subjects = release.to_polars(), release.record.subjects.collect()
    alone = total = 0
    for _, names, originals in subjects.group_by("group").agg("released", "original").rows():
        for query in released.filter(pl.col("user") == names[0])["query"]:
            total += 1
            alone += len({user for user, typed in pairs if typed == query and f"user{user}" in originals}) == 1
    said = f"{alone} of {total} chosen queries were typed, word for word as released, by one user of the group alone."
    assert (said in release.warnings) == (alone > 0)
    assert sum("chosen queries" in text for text in release.warnings) == (alone > 0)


def test_the_share_of_unmapped_queries_is_always_told():
    release = api.anonymize_prepared(
        _log([(u, q) for u in range(4) for q in ("dog", "cats")]), SemanticMicroaggregate(k=2)
    )
    assert release.warnings == (
        "0.0 % of the rows (0.0 % of the different queries) have no category in the taxonomy wordnet and did not count "
        "in who is grouped with whom.",
        UNSCRUBBED,
    )
    some = api.anonymize_prepared(
        _log([(u, q) for u in range(4) for q in ("dog", "qzx", "qzx")]), SemanticMicroaggregate(k=2)
    )
    assert some.warnings[0].startswith("66.7 % of the rows (50.0 % of the different queries)")


def test_a_log_that_maps_to_nothing_is_grouped_by_words():
    """Nobody is lost, those of one language are together, and the release says what happened."""
    pairs = [(u, f"{'天气 预报' if u % 2 else 'qzx wyv'}") for u in range(8)]
    release = api.anonymize_prepared(_log(pairs), SemanticMicroaggregate(k=2), seed=1)
    assert any(text.startswith("No query has a category in the taxonomy wordnet") for text in release.warnings)
    subjects = release.record.subjects.collect()
    assert subjects["released"].null_count() == 0
    parity = subjects.with_columns(pl.col("original").str.slice(4).cast(pl.Int64) % 2)
    assert (parity.group_by("group").agg(pl.col("original").n_unique())["original"] == 1).all()


def test_disjoint_interests_leave_one_in_k(tmp_path):
    """B4: where users of one size have nothing in common, the mean SRP is 1 / k (Eq. 5)."""
    words = ["piano", "dog", "train", "bank", "weather", "cake"]
    (tmp_path / "tree.txt").write_text("".join(f"Top{word} > {word}\n" for word in words))
    taxonomies.write(build.build([tmp_path / "tree.txt"], name="six").tree, tmp_path / "six.npz")
    log = _log([(u, word) for u, word in enumerate(words) for _ in range(12)])
    six = str(tmp_path / "six.npz")
    release = api.anonymize_prepared(log, SemanticMicroaggregate(k=3, taxonomy=six), seed=1)
    scores = dict(
        coterie.measure(release, ["semantic_remain"], original=log, taxonomy=six).select("key", "value").rows()
    )
    for key in ("level_1", "level_2", "up_to_5", "level_1.relative"):
        assert scores[f"categories_1.{key}"] == pytest.approx(100 / 3)
    assert "categories_1.level_3" not in scores  # the tree has two levels
    assert scores["users.with_category"] == 6


@given(st.integers(2, 5), st.integers(4, 14), st.randoms(use_true_random=False))
def test_the_partition_is_the_plain_one_on_matrices_full_of_ties(k, n, random):
    if n < k:
        n = k
    cells = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            cells[i, j] = cells[j, i] = random.randrange(4)
    plain = {(i, j): cells[i, j] for i in range(n) for j in range(n) if i != j}
    group, number = sum_linkage(cells, k, 2 * k)
    got = [np.flatnonzero(group == g).tolist() for g in (*range(number), NOBODY)]
    assert got == [sorted(cluster) for cluster in reference.partition(n, plain, k)]


def test_blocks_lose_little():
    log = coterie.log(coterie.prepare(coterie.read("synth:users=600,seed=5")).frame.collect())
    run = a_run(1)
    users = SemanticMicroaggregate().learn(log, run)
    everybody = np.arange(len(users.names))
    similar = similarities(everybody, users.start, users.category, users.count, users.n_categories, False)
    place = {name: i for i, name in enumerate(users.names)}

    def within(**settings):
        plan = plan_of(SemanticMicroaggregate(k=3, **settings), log, run).table.collect()
        group = np.empty(len(place), dtype=np.int64)
        group[[place[name] for name in plan["subject"]]] = plan["group"].to_numpy()
        return similar[(group[:, None] == group) & ~np.eye(len(place), dtype=bool)].mean()

    exact, blocked, random = within(), within(block_users=150), within(partition="random")
    assert random < 0.6 * exact
    assert 0.97 * exact < blocked < 1.01 * exact
