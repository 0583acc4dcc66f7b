"""generalize and generalize_users on random logs: what comes out is what the plain versions say, and is verified.

Covers: methods/generalize_users.py
"""

import tempfile
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import coterie
from coterie import api, taxonomies
from coterie.core.log import Log, Step
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError, ParameterError
from coterie.methods.generalize import Generalize
from coterie.methods.generalize_users import GeneralizeUsers
from coterie.promises.concept_k_anonymity import generalized
from coterie.testing import queries_log
from tests.helpers import generalize_reference as plain
from tests.helpers.examples import examples
from tests.helpers.small_trees import tree_of, trees

WORDS = ("dog", "wolf", "cats", "animal", "car", "bank", "new york", "in", "object", "entity", "qqzzx", "bread", "red")
_TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@st.composite
def logs(draw, texts=_TEXTS):
    people = st.one_of(st.none(), st.sampled_from([f"user{n}" for n in range(5)]))
    rows = draw(st.lists(st.tuples(people, texts), min_size=1, max_size=20))
    rows += [(f"user{n}", draw(texts)) for n in range(4)]
    frame = pl.DataFrame(rows, schema={"user": pl.String, "query": pl.String}, orient="row")
    return coterie.log(frame)


def _rows(log):
    return log.frame.select("user", "query").collect().rows()


def _concepts(tree, queries, stop_words=True):
    """query -> the concepts of its words."""
    terms = tree.classify(pl.Series(queries, dtype=pl.String), stop_words=stop_words).terms
    return [set(terms.filter(pl.col("query") == q)["concept"]) for q in range(len(queries))]


def _expected(log, tree, method):
    """row of the original -> the name it is released as, by the plain versions."""
    parent = tree.parent.tolist()
    queries = sorted({query for _, query in _rows(log)})
    concepts = _concepts(tree, queries, stop_words=not method.paper_compat)
    # Only what is above the concepts in question, which keeps the plain version usable on WordNet.
    near = sorted({above for some in concepts for c in some for above in plain.way(parent, c)} | {0})
    number = {c: at for at, c in enumerate(near)}
    small = [-1 if c == 0 else number[parent[c]] for c in near]
    ends = plain.walk(small, [{number[c] for c in some} for some in concepts])
    if method.size == "users":
        people = [{u for u, query in _rows(log) if query == q and u is not None} for q in queries]
    else:
        people = [{q} for q in queries]
    into = plain.rise(small, ends, people, method.k)
    return {q: None if c is None else tree.names[near[c]] for q, c in zip(queries, into, strict=True)}, people


@settings(max_examples=examples(20))
@given(
    logs(),
    st.integers(2, 4),
    st.sampled_from(["users", "queries"]),
    st.booleans(),
    st.sampled_from(["drop", "session", "pseudonym"]),
)
def test_queries_become_concepts(log, k, size, paper_compat, users):
    method = Generalize(k=k, size=size, paper_compat=paper_compat, users=users)
    tree = taxonomies.load("wordnet")
    expected, _ = _expected(log, tree, method)
    release = api.anonymize_prepared(log, method, seed=1)
    named = {q for u, q in _rows(log) if u is not None} if size == "users" else set(expected)
    found = Counter(release.to_polars()["query"])
    certain = Counter(expected[q] for _, q in _rows(log) if q in named and expected[q] is not None)
    assert set(found) == set(certain)
    assert not certain - found, "rows that nobody stands behind come on top"
    if named == set(expected):
        assert found == certain
    assert coterie.verify(release, log).exit_code == 0


@settings(max_examples=examples(20))
@given(trees(), st.data(), st.integers(2, 3))
def test_a_tree_of_ones_own(parent, data, k):
    assume(len(parent) > 1)  # a root alone is not a packed taxonomy
    tree = tree_of(parent)
    texts = st.lists(st.sampled_from([*tree.lexicon.words, "unknown"]), min_size=1, max_size=3).map(" ".join)
    log = data.draw(logs(texts))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny.npz"
        taxonomies.write(tree, path)
        method = Generalize(k=k, taxonomy=str(path))
        release = api.anonymize_prepared(log, method, seed=1)
        expected, people = _expected(log, tree, method)
        certain = {name for name, some in zip(expected.values(), people, strict=True) if some} - {None}
        assert set(release.to_polars()["query"]) == certain
        profiles = api.anonymize_prepared(log, GeneralizeUsers(k=k, taxonomy=str(path)), seed=1)
        assert set(profiles.to_polars()["query"]) <= set(tree.names)
        for each in (release, profiles):
            assert coterie.verify(each, log).exit_code == 0
            assert str(path) not in repr(each.params)
        assert release.promises[0].taxonomy.startswith("sha256:")


@settings(max_examples=examples(20))
@given(logs(), st.integers(2, 3))
def test_users_become_sets_of_concepts(log, k):
    tree = taxonomies.load("wordnet")
    queries = sorted({query for _, query in _rows(log)})
    concepts = dict(zip(queries, _concepts(tree, queries), strict=True))
    records = {}
    for user, query in _rows(log):
        if user is not None and concepts[query]:
            records.setdefault(user, set()).update(concepts[query])
    users, parent = sorted(records), tree.parent.tolist()
    release = api.anonymize_prepared(log, GeneralizeUsers(k=k), seed=1)
    subjects = release.record.subjects.collect()
    became = dict(subjects.select("original", "released").iter_rows())
    kept = {user for user, name in became.items() if name is not None}
    assert kept == (set(users) if len(users) >= k else set())
    lost = len(became) - len(kept)
    assert any(text.startswith(f"{lost} of {len(became)} users are left out") for text in release.warnings) == (
        lost > 0
    )
    number = {name: c for c, name in enumerate(tree.names)}
    for user in kept:
        cut = {number[n] for n in release.to_polars().filter(pl.col("user") == became[user])["query"]}
        for c in records[user]:
            assert set(plain.way(parent, c)) & cut, "everything she searched for is covered"
        for node in cut:
            assert any(node in plain.way(parent, c) for c in records[user]), "and nothing else is said"


@settings(max_examples=examples(20))
@given(logs(), st.integers(2, 3), st.booleans())
def test_certainty_penalty(log, k, by_user):
    tree = taxonomies.load("wordnet")
    parent, number = tree.parent.tolist(), {name: c for c, name in enumerate(tree.names)}
    method = GeneralizeUsers(k=k) if by_user else Generalize(k=k, attrs="drop")
    release = api.anonymize_prepared(log, method, seed=1)
    rows, whole = release.to_polars(), int(tree.leaves[0])
    if by_user:
        became = dict(release.record.subjects.select("original", "released").collect().iter_rows())
        sets = {
            user: set(rows.filter(pl.col("user") == name)["query"]) if name else set() for user, name in became.items()
        }
        sets = [sets.get(user, set()) for user, _ in _rows(log)]
    else:
        places = dict(release.record.rows.collect().select("row", "released_row").iter_rows())
        sets = [{rows["query"][places[r]]} if r in places else set() for r in range(len(_rows(log)))]
    total = spent = known = known_spent = 0
    queries = sorted({query for _, query in _rows(log)})
    all_terms = tree.classify(pl.Series(queries, dtype=pl.String)).terms
    for (_, query), released in zip(_rows(log), sets, strict=True):
        terms = all_terms.filter(pl.col("query") == queries.index(query))
        for at in range(len(query.split(" "))):
            meant = terms.filter((pl.col("term") <= at) & (at < pl.col("term") + pl.col("words")))["concept"].to_list()
            covering = [v for v in (number[name] for name in released) if meant and v in plain.way(parent, meant[0])]
            cost = min((0 if tree.leaves[v] == 1 else tree.leaves[v] / whole for v in covering), default=1)
            total, spent = total + 1, spent + cost
            known, known_spent = known + bool(meant), known_spent + cost * bool(meant)
    scores = coterie.measure(release, ["certainty_penalty"], original=log, seed=1)
    found = dict(scores.select("key", "value").iter_rows())
    assert found["terms"] == total
    assert found["ncp"] == pytest.approx(spent / total)
    assert found["terms.matched"] == known
    assert found["ncp.matched"] == (pytest.approx(known_spent / known) if known else None)


def test_a_worked_penalty():
    """Three people, dogs and cars: with k = 3 all are one concept, and words beside it cost 1."""
    frame = pl.DataFrame({"user": ["a", "b", "c"], "query": ["dog", "red wolf", "dog zzzq"]})
    release = api.anonymize_prepared(coterie.log(frame), Generalize(k=3), seed=1)
    tree = taxonomies.load("wordnet")
    name = release.to_polars()["query"].unique().item()
    share = tree.leaves[tree.names.to_list().index(name)] / tree.leaves[0]
    assert name == "canine (2)"
    red_wolf = 2  # one term of two words
    expected = (share * (2 + red_wolf) + 1) / 5
    scores = coterie.measure(release, ["certainty_penalty"], original=coterie.log(frame), seed=1)
    assert scores.filter(pl.col("key") == "ncp")["value"].item() == pytest.approx(expected)


def test_a_row_that_is_left_out_is_part_of_its_session():
    """The one in the middle maps to nothing, and still the three are one session: one name for both that are left."""
    rows = [("a", "dog", 0), ("a", "zzqx", 25), ("a", "dog", 50), ("b", "dog", 0), ("c", "dog", 0)]
    frame = pl.DataFrame(rows, schema=["user", "query", "minute"], orient="row")
    time = datetime(2020, 1, 1) + pl.duration(minutes="minute")
    log = coterie.log(frame.select("user", "query", time=time))
    release = api.anonymize_prepared(log, Generalize(k=3, users="session"), seed=1)
    assert sorted(release.to_polars().group_by("user").len()["len"]) == [1, 1, 2]
    assert coterie.verify(release, log).exit_code == 0


def test_a_larger_k_can_make_a_query_more_specific():
    """For k = 2 two wolves are enough, and one dog rises alone; for k = 3 all are canines together."""
    frame = pl.DataFrame({"user": list("abcd"), "query": ["wolf", "wolf", "dog", "lily"]})
    log, tree = coterie.log(frame), taxonomies.load("wordnet")
    depth = dict(zip(tree.names, tree.depth.tolist(), strict=True))
    of_dog = {}
    for k in (2, 3):
        release = api.anonymize_prepared(log, Generalize(k=k), seed=1)
        names = generalized(log, tree, release.to_polars()["query"].unique(), paper_compat=False)
        of_dog[k] = depth[names.filter(pl.col("item") == "dog")["concept"].item()]
    assert of_dog[2] < of_dog[3]


def test_one_walk_serves_several_k():
    log, methods = queries_log(), [Generalize(k=k) for k in (2, 3, 5)]
    learnt = api.learn(log, methods, seed=1)
    several = [api.anonymize_prepared(learnt, method, seed=1).to_polars() for method in methods]
    alone = [api.anonymize_prepared(log, method, seed=1).to_polars() for method in methods]
    assert all(a.equals(b) for a, b in zip(several, alone, strict=True))


def test_a_log_that_the_taxonomy_does_not_know():
    frame = pl.DataFrame({"user": list("abcdef"), "query": ["zzqx"] * 6}).with_row_index("row")
    log = Log(
        frame=coterie.log(frame.drop("row")).frame,
        shape=QUERIES,
        history=(Step(name="read"),),
    )
    release = api.anonymize_prepared(log, Generalize(k=3), seed=1)
    assert release.to_polars().is_empty()
    assert release.warnings == ("6 of 6 rows are left out: queries without a word that the taxonomy wordnet knows.",)
    release = api.anonymize_prepared(log, GeneralizeUsers(k=3), seed=1)
    assert release.to_polars().is_empty()
    assert release.warnings == ("6 of 6 users are left out: fewer than 3 have a word that is in the taxonomy wordnet.",)


def test_what_is_checked_without_the_original_or_the_taxonomy(tmp_path):
    path = tmp_path / "tiny.npz"
    taxonomies.write(tree_of([-1, 0, 0]), path)
    frame = pl.DataFrame({"user": list("abcabc"), "query": ["w001"] * 3 + ["w002"] * 3})
    release = api.anonymize_prepared(coterie.log(frame), Generalize(k=3, taxonomy=str(path)), seed=1)
    coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record")
    log = coterie.log(frame)
    assert coterie.verify(tmp_path / "safe.tsv", log, record=tmp_path / "record").exit_code == 0
    for verdict, missing in (
        (coterie.verify(tmp_path / "safe.tsv", log), "the taxonomy's file"),
        (coterie.verify(tmp_path / "safe.tsv", record=tmp_path / "record"), "the original log"),
    ):
        assert verdict.exit_code == 3
        needs = next(check.needs for check in verdict.unchecked if check.name == "meaning.query")
        assert missing in needs
    taxonomies.write(tree_of([-1, 0, 1]), path)
    assert coterie.verify(tmp_path / "safe.tsv", log, record=tmp_path / "record").exit_code == 3, "another taxonomy"


def test_rows_of_others_are_not_judged():
    log = queries_log()
    with pytest.raises(ParameterError, match="only for releases with a sidecar"):
        coterie.verify(log, log, promise="concept_k_anonymity", k=3)


def test_measures_say_that_they_do_not_apply():
    log = queries_log()
    release = api.anonymize_prepared(log, Generalize(k=3), seed=1, record=False)
    with pytest.raises(NotApplicableError, match="which query became which concept"):
        coterie.measure(release, ["certainty_penalty"], original=log)
    for name in ("exposure", "homogeneity", "linkage", "simattack", "witness"):
        for method in (Generalize(k=3, users="pseudonym"), GeneralizeUsers(k=3)):
            with pytest.raises(NotApplicableError, match="concepts in place of queries"):
                coterie.measure(api.anonymize_prepared(log, method, seed=1), [name], original=log)
    assert "queries" not in coterie.measure(replace(release, record=None), ["release_share"], original=log)["key"]
