"""What judges count once more from the original, against numbers worked out by hand."""

from dataclasses import replace
from datetime import datetime, timedelta
from math import log2, sqrt

import polars as pl
import pytest

from coterie.core.promise import Check
from coterie.core.shapes import QUERIES, Column
from coterie.promises import _checks, judge, k_theta_affinity
from coterie.promises._phrase_recount import pieces
from coterie.promises.k_theta_affinity import affine, covered_by_all, proved, recount
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity, _unaccounted, shared_by_all, users_with_topics
from coterie.text.language import ENGLISH, language
from coterie.text.words import name_of_topics
from tests.helpers.hand_made import NAMES, case_of, check_of, log_of

# --- multisets ----------------------------------------------------------------------------------


def test_sums_of_halves_keep_every_bit_of_the_hashes():
    rows = pl.DataFrame({"who": ["a", "a", "b"], "query": ["tea", "rum", "tea"]})
    sums = _checks.multisets(rows.lazy(), ["who"], ["query"], (5, 6)).collect().sort("who")
    assert sums.columns == ["who", "n", "h00", "h01", "h10", "h11"]
    assert sums["n"].to_list() == [2, 1]
    for name, seed in (("h0", 5), ("h1", 6)):
        tea, rum, _ = rows.select(pl.struct("query").hash(seed=seed)).to_series().to_list()
        for (high, low), hashes in zip(sums.select(f"{name}0", f"{name}1").rows(), ((tea, rum), (tea,)), strict=True):
            assert high == sum(each >> 32 for each in hashes)
            assert low == sum(each % 2**32 for each in hashes)


def test_seeds_are_secret():
    seeds = [seed for _ in range(40) for seed in _checks.secret_seeds()]
    assert len(set(seeds)) == 80
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) >= 2**60


# --- affinity ------------------------------------------------------------------------------------


def _asked(*rows):
    return log_of([{"user": user, "query": query} for user, query in rows])


ASKED = _asked(
    ("a", "red tea pot"),
    ("a", "red tea pot"),
    ("b", "red tea"),
    ("c", "tea"),
    ("d", "red  tea"),
    ("e", "the tea"),
    ("f", "the"),
    (None, "pot"),
)
ITEMS = pl.DataFrame({"item": ["red tea pot", "red tea", "tea", "the tea"]})


def _recount(min_users=2, min_term_users=1, words=("the",), log=ASKED):
    return recount(log, ITEMS, min_users, min_term_users, words)


def _weights(recounted):
    return {(item, gram): weight for item, gram, weight in recounted.vectors.select("item", "gram", "weight").rows()}


def test_weights_by_hand():
    """Words: log2(1 + events with it). Phrases: log2(1 + how much more often than by chance)."""
    weights = _weights(_recount())
    # Events: 2 red tea pot, red tea, tea, red  tea, the tea, the: 14 words, 7 pairs, 2 triples.
    red, tea, red_tea = log2(1 + 4), log2(1 + 6), log2(1 + (4 / 7) / ((4 / 14) * (6 / 14)))
    expected = {
        **{(item, "red"): red for item in ("red tea pot", "red tea")},
        **{(item, "tea"): tea for item in ITEMS["item"]},
        **{(item, "red tea"): red_tea for item in ("red tea pot", "red tea")},
    }
    assert weights == pytest.approx(expected)


def test_weights_of_three_words_by_hand():
    log = _asked(("a", "x y z"), ("b", "x y z"), ("c", "x y"), ("d", "y z"), ("e", "x"))
    weights = {gram: weight for _, gram, weight in recount(
        log, pl.DataFrame({"item": ["x y z"]}), 2, 1, ()
    ).vectors.select("item", "gram", "weight").rows()}  # fmt: skip
    # 11 words: x 4, y 4, z 3; 6 pairs: x y 3, y z 3; 2 triples: x y z 2.
    x, y, z, xy, yz, xyz = 4 / 11, 4 / 11, 3 / 11, 3 / 6, 3 / 6, 2 / 2
    assert weights == pytest.approx({
        "x": log2(5), "y": log2(5), "z": log2(4),
        "x y": log2(1 + xy / (x * y)), "y z": log2(1 + yz / (y * z)),
        "x y z": log2(1 + xyz / (x * y * z + x * yz + xy * z)),
    })  # fmt: skip


def test_events_are_distinct_times_and_rows_without_one():
    day = datetime(2020, 2, 3)
    times = [day, day, day + timedelta(1), None, None]
    log = log_of([{"user": "a", "query": "tea", "time": time} for time in times] + [{"user": "b", "query": "tea"}])
    recounted = recount(log, pl.DataFrame({"item": ["tea"]}), 2, 1, ())
    assert _weights(recounted) == pytest.approx({("tea", "tea"): log2(1 + 4 + 1)})
    assert sorted(recounted.pairs.rows()) == [("tea", "a"), ("tea", "b")]


def test_a_concept_has_enough_users_and_a_word_too():
    grams = {users: {gram for _, gram in _weights(_recount(min_users=users))} for users in (1, 2, 3, 4, 5, 6)}
    assert grams[1] == {"red", "tea", "pot", "red tea", "tea pot", "red tea pot", "the tea"}
    assert grams[2] == grams[3] == {"red", "tea", "red tea"}
    assert grams[4] == grams[5] == {"tea"}
    assert grams[6] == set()
    assert "the" in {gram for _, gram in _weights(_recount(min_users=1, words=()))}
    for users, rare in ((1, set()), (2, {"red tea pot"}), (3, {"red tea pot", "the tea"}), (6, set(ITEMS["item"]))):
        recounted = _recount(min_term_users=users)
        assert set(recounted.rare["item"]) == rare
        assert not rare & set(recounted.vectors["item"])
        assert recounted.rare["item"].n_unique() == recounted.rare.height


@pytest.mark.parametrize(("given", "tau"), [(0, 2), (3, 3), (6, 6), (7, 7), (1000, 7)])
def test_how_many_users_make_a_concept(given, tau):
    assert _recount(min_users=given).tau == tau


def test_numbers_do_not_depend_on_how_much_is_counted_together(monkeypatch):
    usual = [_recount(min_users=users, min_term_users=2) for users in (1, 2, 3, 4)]
    monkeypatch.setattr(k_theta_affinity, "_QUERIES_AT_ONCE", 2)
    monkeypatch.setattr(k_theta_affinity, "_PAIRS_AT_ONCE", 1)
    for users, before in zip((1, 2, 3, 4), usual, strict=True):
        after = _recount(min_users=users, min_term_users=2)
        assert _weights(after) == pytest.approx(_weights(before))
        assert set(after.rare["item"]) == set(before.rare["item"])


def test_cosines_by_hand():
    recounted = _recount()
    red, tea, red_tea = log2(1 + 4), log2(1 + 6), log2(1 + (4 / 7) / ((4 / 14) * (6 / 14)))
    cosine = tea**2 / (tea * sqrt(tea**2 + red**2 + red_tea**2))
    pairs = pl.DataFrame({"item": ["tea", "red tea", "red tea", "tea"], "by": ["red tea", "tea", "red tea pot", "zzz"]})
    for theta, expected in (
        (cosine - 1e-6, {("tea", "red tea"), ("red tea", "tea"), ("red tea", "red tea pot")}),
        (cosine, {("tea", "red tea"), ("red tea", "tea"), ("red tea", "red tea pot")}),
        (cosine + 1e-6, {("red tea", "red tea pot")}),
        (1, {("red tea", "red tea pot")}),
    ):
        assert set(affine(recounted, pairs, theta).rows()) == expected
    sizes = pl.DataFrame({"item": ["tea", "red tea", "the tea", "zzz"], "crowd": [1, 1, 1, 0]})
    for theta, covered in ((cosine, [3, 3, 3, 0]), (cosine + 1e-6, [2, 1, 2, 0])):
        table = covered_by_all(recounted, sizes, theta)
        assert dict(table.rows()) == dict(zip(sizes["item"], covered, strict=True))


def _proved(*claims, k=3, theta=1.0, crowds=(1, 1, 1)):
    items = ["red tea pot", "red tea", "tea"]
    sizes = pl.DataFrame({"item": items, "crowd": crowds}, schema_overrides={"crowd": pl.UInt32})
    certificate = pl.DataFrame(claims, schema={"item": pl.String, "by": pl.String, "user": pl.String}, orient="row")
    return dict(proved(_recount(), certificate, sizes, theta, k).rows())


def test_lines_of_a_certificate_that_count():
    none = {"red tea pot": 1, "red tea": 1, "tea": 1}
    fine = ("red tea pot", "red tea", "b")
    assert _proved() == none
    assert _proved(fine) == none | {"red tea pot": 2}
    assert _proved(fine, fine) == none | {"red tea pot": 2}
    assert _proved(("red tea", "red tea pot", "a")) == none | {"red tea": 2}
    assert _proved(("red tea pot", "red tea", "c")) == none  # who did not ask it
    assert _proved(("red tea pot", "tea", "c")) == none  # not affine
    assert _proved(("red tea pot", "red  tea", "d")) == none  # not released
    assert _proved(("zzz", "red tea", "b")) == none
    whole = ("red tea pot", "red tea", None)
    assert _proved(whole, crowds=(1, 3, 1)) == {"red tea pot": 3, "red tea": 3, "tea": 1}
    assert _proved(whole, crowds=(1, 4, 1), k=3) == {"red tea pot": 4, "red tea": 4, "tea": 1}
    assert _proved(whole, crowds=(1, 2, 1)) == {"red tea pot": 1, "red tea": 2, "tea": 1}
    assert _proved(whole, fine, crowds=(3, 3, 1)) == {"red tea pot": 4, "red tea": 3, "tea": 1}


def test_a_user_who_asked_both_is_not_another_one():
    log = _asked(("a", "red tea pot"), ("b", "red tea pot"), ("b", "red tea"), ("c", "red tea"))
    recounted = recount(log, ITEMS, 2, 1, ())
    sizes = pl.DataFrame({"item": ["red tea pot", "red tea"], "crowd": [2, 2]})
    certificate = pl.DataFrame(
        {"item": ["red tea pot"] * 2, "by": ["red tea"] * 2, "user": ["b", "c"]},
    )
    assert dict(proved(recounted, certificate, sizes, 0.5, 3).rows()) == {"red tea pot": 3, "red tea": 2}


# --- topics ---------------------------------------------------------------------------------------


def _having(typed, *topics):
    rows = pl.LazyFrame(typed, schema={"user": pl.String, "query": pl.String}, orient="row")
    words = pl.DataFrame(topics, schema={"topic": pl.Int64, "word": pl.String}, orient="row")
    having = users_with_topics(rows, words, language(ENGLISH))
    assert having.columns == ["topic", "user"]
    return sorted(having.rows())


def test_who_has_a_topic():
    typed = [("a", "red roses"), ("a", "a rose"), ("b", "Rose"), ("c", "the car"), ("d", "roseate"), ("d", "tea")]
    assert _having(typed, (0, "rose"), (1, "cars"), (1, "tea")) == [(0, "a"), (0, "b"), (1, "c"), (1, "d")]
    assert _having(typed, (0, "the")) == []  # a stop word says nothing
    assert _having(typed, (5, "zzz")) == []


def test_topics_in_writing_without_spaces():
    typed = [("a", "北京玫瑰花店"), ("b", "北京"), ("c", "rose")]
    assert _having(typed, (0, "rose"), (1, "玫瑰"), (2, "上海")) == [(0, "c"), (1, "a")]


def test_topics_that_all_of_a_group_have():
    having = pl.DataFrame({"topic": [0, 0, 1, 1, 1, 2], "user": ["a", "b", "a", "b", "c", "d"]})
    groups = pl.DataFrame({"user": list("abcdef"), "group": [0, 0, 1, 2, 1, None]})
    for share, pairs in ((1.0, 3), (0.51, 3), (0.5, 2), (0.34, 2), (1 / 3, 1), (0.17, 1), (0.0, 0)):
        assert shared_by_all(having, groups, share) == pairs, share


@pytest.mark.parametrize(
    ("rows", "faults"),
    [
        ([("a", NAMES[0]), ("b", NAMES[1]), ("c", None)], 0),
        ([("a", NAMES[0]), ("b", NAMES[1])], 1),  # c is left out
        ([("a", NAMES[0]), ("b", NAMES[1]), ("c", None), ("d", None)], 1),  # nobody is called d
        ([("a", NAMES[0]), ("b", NAMES[1]), ("c", None), (None, None)], 1),
        ([("a", NAMES[0]), ("b", NAMES[1]), ("c", None), ("c", NAMES[2])], 2),  # twice
        ([("a", NAMES[0]), ("b", None), ("c", None)], 1),  # a released name is left out
        ([("a", NAMES[0]), ("b", NAMES[1]), ("c", NAMES[1])], 2),  # one name for two
        ([], 5),
    ],
)
def test_a_table_of_names_must_account_for_everybody(rows, faults):
    became = pl.LazyFrame(rows, schema={"user": pl.String, "released": pl.String}, orient="row")
    released = [{"user": name, "query": "tea"} for name in (NAMES[0], NAMES[0], NAMES[1], None)]
    case = case_of(released, _asked(("a", "tea"), ("a", "tea"), ("b", "tea"), ("c", "tea"), (None, "tea")))
    assert _unaccounted(became, case) == faults
    assert _unaccounted(became, replace(case, original=None)) == 0


def test_a_table_that_does_not_account_for_everybody_breaks_the_promise():
    topics = pl.DataFrame({"topic": [0], "word": ["rose"]})
    promise = UserKAnonymity(k=2, topics=name_of_topics(topics))
    released = [{"user": name, "query": "tea"} for name in NAMES[:2]]
    subjects = pl.LazyFrame({"original": ["a", "b"], "released": NAMES[:2]})
    evidence = {"topics": topics.lazy(), "subjects": subjects}
    case = case_of(released, _asked(("a", "tea"), ("b", "tea"), ("c", "tea")), evidence=evidence)
    assert check_of(judge(case, (promise,)), "topics") == Check(
        name="topics",
        status="failed",
        detail="the users behind a profile never all have one and the same sensitive topic",
        broken=1,
        fault="people or names are not what the run record says",
        needs_original=True,
        carries_promise=True,
        promise="user_k_anonymity",
    )


# --- promises that nobody judges ------------------------------------------------------------------


def test_a_release_without_a_promise_is_broken():
    verdict = judge(case_of([{"query": "tea"}]), ())
    assert verdict.exit_code == 1
    assert verdict.checks[-1] == Check(
        name="promises", status="failed", detail="a release promises something", broken=1, fault="is missing"
    )


def test_a_judge_that_looks_at_nothing_has_not_judged(monkeypatch):
    promise = QueryKAnonymity(k=2)
    idle = Check(name="idle", status="passed", detail="nothing")
    monkeypatch.setattr(QueryKAnonymity, "check", lambda self, case: iter([idle]))
    verdict = judge(case_of([{"query": "tea"}]), (promise,))
    assert verdict.exit_code == 3
    assert verdict.checks[-2:] == (
        replace(idle, promise=promise.name),
        Check(
            name="judged.query_k_anonymity",
            status="not checked",
            detail="what the promise query_k_anonymity rests on was looked at",
            needs="a judge that looks at it",
            carries_promise=True,
            promise="query_k_anonymity",
        ),
    )
    first = [replace(idle, carries_promise=True), idle]
    monkeypatch.setattr(QueryKAnonymity, "check", lambda self, case: iter(first))
    assert judge(case_of([{"query": "tea"}]), (promise,)).exit_code == 0


# --- sessions --------------------------------------------------------------------------------------


def test_the_first_time_of_a_row_counts():
    late = replace(
        QUERIES, name="LATE", columns=(*QUERIES.columns, Column(name="left", dtype=pl.Datetime("us"), nullable=True))
    )
    start = datetime(2020, 2, 3, 9)
    rows = [
        {"user": user, "query": "tea", "time": start, "left": start + timedelta(hours=n)}
        for user in "ab"
        for n in range(2)
    ]
    released = [{**row, "user": NAMES["ab".index(row["user"])]} for row in rows]
    promise = QueryKAnonymity(k=2, users="session", attrs="keep")
    assert check_of(judge(case_of(released, log_of(rows, late), late), (promise,)), "links").status == "passed"
    recounted = recount(log_of(rows, late), pl.DataFrame({"item": ["tea"]}), 2, 1, ())
    assert _weights(recounted) == pytest.approx({("tea", "tea"): log2(1 + 2)})


def test_letters_of_a_script_without_spaces_follow_each_other():
    table = pieces(pl.Series(["tea cup", "日本 tea"]))
    assert table.rows() == [
        (0, "tea", False), (0, "cup", False), (1, "日", False), (1, "本", True), (1, "tea", False)
    ]  # fmt: skip
