"""User k-anonymity: k names under each released profile."""

from dataclasses import replace

import polars as pl
import pytest

from coterie import taxonomies
from coterie.core.shapes import QUERIES
from coterie.promises import judge
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.text.words import digest_of, name_of_topics
from tests.helpers.hand_made import DIGEST, NAMES, case_of, check_of, log_of
from tests.helpers.small_trees import tree_of


def _profiles(*sizes):
    """Groups of names with equal profiles."""
    names = iter(NAMES)
    return [
        {"user": name, "query": query}
        for group, size in enumerate(sizes)
        for name in [next(names) for _ in range(size)]
        for query in (f"q{group}", "tea", "tea")
    ]


def _typed(users):
    return log_of([{"user": user, "query": query} for user in users for query in ("q0", "q1", "q2", "tea")])


@pytest.mark.parametrize(
    ("sizes", "broken", "largest"), [((3, 4), 0, 3), ((3, 2), 2, 2), ((1, 2, 3), 3, 1), ((), 0, None)]
)
def test_profiles(sizes, broken, largest):
    check = check_of(judge(case_of(_profiles(*sizes)), (UserKAnonymity(k=3),)), "profiles")
    assert (check.broken, check.looked_at, check.largest_k) == (broken, sum(sizes), largest)
    assert check.carries_promise
    assert not check.needs_original
    assert check.how == f"{len(sizes)} different profiles"


def test_the_text_of_profiles():
    check = check_of(judge(case_of(_profiles(3, 2)), (UserKAnonymity(k=3),)), "profiles")
    assert check.text == (
        "each profile is shared by at least 3 subjects (2 different profiles): 2 of 5 subjects are in smaller groups"
    )


def test_how_often_counts():
    rows = _profiles(3)
    verdict = judge(case_of([*rows, rows[1]]), (UserKAnonymity(k=3),))
    assert check_of(verdict, "profiles").broken == 3


def test_one_name_too_many_is_caught_and_as_many_as_users_are_not():
    promise = UserKAnonymity(k=3)
    for users, broken in (("abcd", 0), ("abc", 0), ("ab", 1), ("a", 2)):
        check = check_of(judge(case_of(_profiles(3), _typed(users)), (promise,)), "people")
        assert check.broken == broken
        assert check.status == ("failed" if broken else "not checked")
    assert check.text == "no more names than users in the original: 2 of 3 names are too many"
    nobody = log_of([{"user": user, "query": query} for user in ("a", "b", None) for query in ("q0", "tea")])
    assert check_of(judge(case_of(_profiles(3), nobody), (promise,)), "people").broken == 1


def test_items_that_nobody_typed():
    original = log_of([{"user": user, "query": "tea"} for user in "abcdef"])
    check = check_of(judge(case_of(_profiles(3, 3), original), (UserKAnonymity(k=3),)), "items")
    assert (check.broken, check.looked_at) == (2, 3)
    assert check.text == "every released query is in the original: 2 of 3 are not"
    assert not check.carries_promise


def test_without_the_original_profiles_can_still_be_compared():
    verdict = judge(case_of(_profiles(3)), (UserKAnonymity(k=3),))
    assert {check.name for check in verdict.unchecked} == {"ids", "people", "items"}
    assert check_of(verdict, "people").text.startswith(
        "k names were counted, not k people: needs the original log and "
    )
    assert verdict.exit_code == 3
    assert verdict.largest_k is None, "it would be a number of names"


def test_rows_without_a_name_have_no_profile():
    verdict = judge(case_of([*_profiles(3), {"query": "tea"}]), (UserKAnonymity(k=3),))
    assert [check.text for check in verdict.broken] == ["every row has a name: 1 of 10 have none"]


def test_foreign_profiles_are_compared_as_published():
    published = pl.DataFrame({"user": ["1", "2"], "query": ["Maps", "maps"]})
    columns = {name: pl.lit(None, QUERIES.schema[name]).alias(name) for name in QUERIES.released}
    published = published.with_columns(value for name, value in columns.items() if name not in published.columns)
    prepared = published.with_columns(pl.col("query").str.to_lowercase())
    original = log_of([{"user": user, "query": "maps"} for user in "ab"])
    promise = UserKAnonymity.of_foreign({"k": 2}, named=True)
    assert promise == UserKAnonymity(k=2)
    for shown, broken in ((published, 2), (prepared, 0), (None, 0)):
        frame = None if shown is None else shown.lazy()
        verdict = judge(case_of(prepared, original, foreign=True, published=frame), (promise,))
        assert [check.name for check in verdict.checks] == ["details", "items", "people", "profiles"]
        assert {check.name: check.broken for check in verdict.checks} == {
            "details": 0, "people": 0, "items": 0, "profiles": broken,
        }  # fmt: skip
    assert verdict.sentence == promise.sentence


# --- labels ------------------------------------------------------------------------------------


def _labelled(**more):
    return [{"user": name, "query": "dog", **more} for name in NAMES[:2]]


def test_labels_of_wordnet():
    promise = UserKAnonymity(k=2, labels="wordnet")
    assert taxonomies.load("wordnet").labels.is_in(["dog"]).any()
    assert check_of(judge(case_of(_labelled()), (promise,)), "labels").status == "passed"
    for rows, broken in ((_labelled(query="what was typed"), 1), (_labelled(rank=1), 2)):
        verdict = judge(case_of(rows), (promise,))
        assert [(check.name, check.broken) for check in verdict.broken] == [("labels", broken)]
        assert check_of(verdict, "labels").text.endswith("are empty: " + f"{broken} labels or rows break this")


def test_labels_of_ones_own_are_those_of_the_taxonomys_file(tmp_path):
    tree = replace(tree_of([-1, 0, 0]), labels=pl.Series("text", ["animal", "cat", "dog"]))
    taxonomies.write(tree, tmp_path / "own.npz")
    (tmp_path / "none.npz").write_text("no taxonomy")
    promise = UserKAnonymity(k=2, labels=digest_of(["animal", "cat", "dog"]))

    def labels(run=None, *paths, rows=None):
        evidence = {"taxonomy": pl.LazyFrame({"path": [str(path) for path in paths]}, schema={"path": pl.String})}
        case = case_of(_labelled() if rows is None else rows, evidence=evidence)
        return check_of(judge(replace(case, run=run or {}), (promise,)), "labels")

    own = tmp_path / "own.npz"
    assert labels(None, own).status == "passed"
    assert labels({"parameters": {"taxonomy": str(own)}}).status == "not checked"
    assert labels(None, own, rows=_labelled(query="what was typed")).status == "failed"
    assert labels({"parameters": {"taxonomy": "wordnet"}}, own).status == "failed"
    for paths in ((), (tmp_path / "none.npz",), (tmp_path / "missing.npz",), ("\0",), ("wordnet",)):
        found = labels(None, *paths)
        assert found.text.endswith(": needs the taxonomy's file, whose path is in the run record (--record DIR)")
        assert found.carries_promise
    invented = case_of(_labelled(), evidence={"labels": pl.LazyFrame({"label": ["animal", "cat", "dog"]})})
    assert judge(invented, (promise,)).exit_code == 3


# --- topics ------------------------------------------------------------------------------------

TOPICS = pl.DataFrame({"topic": [0, 0, 1], "word": ["rose", "tulip", "car"]})
SUBJECTS = pl.LazyFrame({"original": ["a", "b", "c", "d"], "released": NAMES[:4]})


def _topics(typed, share=1.0, **evidence):
    """Whether a and b, who share a profile, or c and d, both typed a sensitive word."""
    rows = [{"user": name, "query": query} for name, query in zip(NAMES, ("x", "x", "y", "y"), strict=False)]
    original = log_of([{"user": user, "query": query} for user, query in zip("abcd", typed, strict=True)])
    promise = UserKAnonymity(k=2, topics=name_of_topics(TOPICS), topic_share=share)
    tables = {"topics": TOPICS.lazy(), "subjects": SUBJECTS, **evidence}
    case = case_of(rows, original, evidence={name: table for name, table in tables.items() if table is not None})
    return check_of(judge(case, (promise,)), "topics")


def test_all_behind_a_profile_share_a_topic():
    check = _topics(["red rose", "tulips", "maps", "car"])
    assert (check.status, check.broken) == ("failed", 1)
    assert check.text == "the users behind a profile never all have one and the same sensitive topic: 1 such cases"
    assert _topics(["red rose", "car", "maps", "car"]).status == "passed"
    assert _topics(["rose", "rose", "cars", "car"]).broken == 2


def test_a_common_topic_does_not_count():
    assert _topics(["rose", "rose", "maps", "tea"], share=0.5).status == "passed"
    assert _topics(["rose", "rose", "maps", "tea"], share=0.51).broken == 1


@pytest.mark.parametrize("name", ["topics", "subjects"])
def test_topics_need_the_record(name):
    check = _topics(["rose"] * 4, **{name: None})
    assert (check.status, check.carries_promise) == ("not checked", True)
    assert "run record" in check.needs
    assert _topics(["rose"] * 4, topics=TOPICS[:2].lazy()).status == "not checked"


def test_what_it_says():
    promise = UserKAnonymity(k=4, labels="wordnet", topics=DIGEST, topic_share=0.25)
    assert "shared by at least 4 users" in promise.sentence
    assert "labels of a taxonomy" in promise.sentence
    assert "25 % of all users" in promise.sentence
    assert any("that is not on the list" in limit for limit in promise.limits)
    plain = UserKAnonymity(k=4)
    assert "taxonomy" not in plain.sentence
    assert "topic" not in plain.sentence
    assert (promise.releases, plain.releases) == ("concepts", "text")
    assert plain.about == "subjects"
    assert plain.linkage_bound == 100 / 4
    assert plain.evidence == ("subjects",)
    assert promise.evidence == ("topics", "subjects")
    assert UserKAnonymity(k=4, labels=DIGEST).evidence == ("taxonomy", "subjects")
