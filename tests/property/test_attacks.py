"""The attacks agree with their plain versions on random logs."""

from collections import Counter, defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.core import randomness
from coterie.measures.attacks.linkage import KNOWLEDGE, attack, draw
from coterie.measures.attacks.simattack import similarity
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing.strategies import logs
from tests.helpers import attack_reference as reference

_PAIRS = st.lists(
    st.tuples(
        st.sampled_from("uvwxyz"),
        st.lists(st.sampled_from(["tea", "pot", "maps", "the"]), min_size=1, max_size=3).map(" ".join),
    ),
    min_size=1,
    max_size=30,
)
_METHODS = st.sampled_from(
    [SuppressRare(k=2, users="pseudonym"), SuppressRare(k=2, users="session"), Microaggregate(k=2)]
)


def _frame(pairs):
    return pl.DataFrame(pairs, schema={"subject": pl.String, "item": pl.String}, orient="row").unique()


def _sets(frame):
    found = defaultdict(set)
    for subject, item in frame.select("subject", "item").iter_rows():
        found[subject].add(item)
    return found


@given(_PAIRS, _PAIRS, st.integers(0, 3))
def test_linkage(original, released, seed):
    """Some user has two names and some has none."""
    original, released = _frame(original), _frame(released)
    names = pl.DataFrame(
        [(user, name) for user, name in zip("uuvwxy", "uvwxyz", strict=True)],
        schema=["original", "released"],
        orient="row",
    )
    known = draw(original, original.select("subject").unique(), seed)
    found = attack(known, released, names)
    profiles = _sets(released)
    for user, one, two, five, half in found.select("user", *KNOWLEDGE).iter_rows():
        learnt = known.filter(pl.col("user") == user).sort("position")["item"].to_list()
        own = set(names.filter(pl.col("original") == user)["released"])
        middle = (len(_sets(original)[user]) + 1) // 2
        for amount, success in ((1, one), (2, two), (5, five), (middle, half)):
            assert success == pytest.approx(float(reference.linkage(learnt[:amount], profiles, own)))


@given(_PAIRS)
def test_similarity(pairs):
    queries = [(user, " ".join(sorted(reference.keywords(text)))) for user, text in pairs]
    known = pl.DataFrame(queries[1:], schema={"user": pl.String, "keywords": pl.String}, orient="row")
    asked = known.select("keywords").vstack(pl.DataFrame({"keywords": [queries[0][1]]})).unique()
    found = {(k, u): fit for k, u, fit in similarity(known, asked).iter_rows()}
    for key in asked["keywords"]:
        for user in known["user"].unique():
            past = [frozenset(k.split()) for u, k in known.iter_rows() if u == user]
            expected = reference.similarity(frozenset(key.split()), past)
            assert found.get((key, user), 0.0) == pytest.approx(expected, abs=1e-12)


def _in_time(rows):
    """(time, item) of each subject in order; equal times in the order of keys."""
    found = defaultdict(list)
    keys = pl.Series("key", randomness.keys(0, "items of one time", rows["query"]))
    shuffled = rows.with_columns(keys, known=pl.col("time").is_not_null())
    for user, query in shuffled.sort("known", "time", "key", "query").select("user", "query").iter_rows():
        if user is not None:
            found[user].append(query)
    return found


def _expected(known, targets, drawn):
    """Targets, precision and recall; `drawn`: how many targets of each person were drawn from the original."""
    guesses = reference.simattack(known, targets)
    there, right = Counter(), Counter()
    for place, (_, owners, _) in enumerate(targets):
        for user in owners:
            there[user] += 1
            right[user] += guesses.get(place, {}).get(user, 0)
    shares = [right[user] / max(n, there[user]) for user, n in drawn.items()]
    made = [sum(each.values()) for each in guesses.values()]
    return (
        len(targets),
        100 * sum(made) / len(made) if made else None,
        100 * sum(shares) / len(shares) if shares else None,
    )


def _found(scores, attacked):
    return tuple(scores[f"{attacked}{key}"] for key in ("", ".precision", ".recall"))


def _approx(triple):
    return tuple(value if value is None else pytest.approx(value) for value in triple)


@given(logs(min_users=4), _METHODS)
def test_simattack_on_names(log, method):
    release = api.anonymize_prepared(log, method, seed=1)
    scores = {k: v for _, k, v, _ in coterie.measure(release, ["simattack"], original=log, seed=1).iter_rows()}
    before, after = _in_time(log.frame.collect()), _in_time(release.to_polars())
    known = {user: [reference.keywords(q) for q in own[: 2 * len(own) // 3]] for user, own in before.items()}
    if not after:  # nothing was released
        assert scores["after.queries"] == 0
        return
    same = {user: {user} for user in before}
    names = defaultdict(set)
    for original, name in release.record.subjects.select("original", "released").collect().iter_rows():
        names[original].add(name)
    for moment, rows, own in (("before", before, same), ("after", after, names)):
        ends = {name: queries[2 * len(queries) // 3 :][-50:] for name, queries in rows.items()}
        expected = _expected(known, reference.profile_targets(ends, own), dict.fromkeys(before, 1))
        assert _found(scores, f"{moment}.profiles") == _approx(expected)


@given(logs(min_users=4))
def test_simattack_without_names(log):
    release = api.anonymize_prepared(log, SuppressRare(k=2), seed=1)
    scores = {k: v for _, k, v, _ in coterie.measure(release, ["simattack"], original=log, seed=1).iter_rows()}
    rows = _in_time(log.frame.collect())
    known = {user: [reference.keywords(q) for q in own[: 2 * len(own) // 3]] for user, own in rows.items()}
    kept = set(release.to_polars()["query"])
    late = [
        (q, user)
        for user, own in rows.items()
        for q in own[2 * len(own) // 3 :]
        if q not in own[: 2 * len(own) // 3]  # to recognise a query that is typed again takes no attack
    ]
    drawn = Counter(user for _, user in late)
    before = [([reference.keywords(q)], {user}, 1) for q, user in late]
    after = [([reference.keywords(q)], {user}, 1) for q, user in late if q in kept]
    assert _found(scores, "before.queries") == _approx(_expected(known, before, drawn))
    assert _found(scores, "after.queries") == _approx(_expected(known, after, drawn))


@given(logs(min_users=4), _METHODS, st.integers(0, 2))
def test_attacks_do_not_depend_on_the_order_of_rows(log, method, seed):
    from dataclasses import replace

    release = api.anonymize_prepared(log, method, seed=1)
    shuffled = replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=seed).lazy())
    names = ["linkage", "simattack"]
    scores = coterie.measure(release, names, original=log, seed=seed)
    assert coterie.measure(release, names, original=shuffled, seed=seed).equals(scores)
