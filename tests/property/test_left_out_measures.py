"""certainty_penalty, f_beta and witness agree with their plain versions on random logs."""

from collections import Counter, defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.measures.attacks.witness import _learnt, _names_having
from coterie.methods.affinity import Affinity
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing.strategies import logs
from tests.helpers import attack_reference as reference

_USERS = st.sampled_from(["drop", "session", "pseudonym"])
_METHODS = st.builds(lambda cls, users: cls(k=2, users=users), st.sampled_from([SuppressRare, Affinity]), _USERS)


def _scores(log, release, name, **more):
    return {
        key: value for _, key, value, _ in coterie.measure(release, [name], original=log, seed=1, **more).iter_rows()
    }


@given(logs(min_users=4), _METHODS)
def test_certainty_penalty(log, method):
    release = api.anonymize_prepared(log, method, seed=1)
    before, after = (Counter(rows["query"].to_list()) for rows in (log.frame.collect(), release.to_polars()))
    terms = {query: len([word for word in query.split(" ") if word]) for query in before}
    total = sum(terms[query] * n for query, n in before.items())
    kept = sum(terms[query] * n for query, n in after.items())
    found = _scores(log, release, "certainty_penalty")
    assert found["terms"] == total
    assert found["ncp"] == (pytest.approx(1 - kept / total) if total else None)


@given(logs(min_users=4), _METHODS, st.data())
def test_f_beta(log, method, data):
    release = api.anonymize_prepared(log, method, seed=1)
    queries = sorted(set(log.frame.collect()["query"]))
    labels = {query: data.draw(st.booleans()) for query in data.draw(st.sets(st.sampled_from(queries), min_size=1))}
    released = set(release.to_polars()["query"]) & labels.keys()
    harmless = {query for query, sensitive in labels.items() if not sensitive}
    table = pl.DataFrame({"query": list(labels), "sensitive": list(labels.values())})
    found = _scores(log, release, "f_beta", labels=table)
    both = len(released & harmless)
    if not released or not harmless:
        assert found["f_1"] is None
    else:  # the harmonic mean of both, as everybody knows it
        assert found["f_1"] == pytest.approx(2 * both / (len(released) + len(harmless)))
        worst, best = sorted((both / len(released), both / len(harmless)))
        assert worst - 1e-9 <= found["f_0_1"] <= best + 1e-9


_PAIRS = st.lists(st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("abcdefgh")), min_size=1, max_size=25)


def _frame(pairs):
    return pl.DataFrame(pairs, schema={"subject": pl.String, "item": pl.String}, orient="row").unique()


def _sets(frame):
    found = defaultdict(set)
    for subject, item in frame.iter_rows():
        found[subject].add(item)
    return found


@given(_PAIRS, _PAIRS, st.integers(0, 3))
def test_witness(original, released, seed):
    """Some user has two names and some has none; among equally rare queries any may have been seen."""
    original, released = _frame(original), _frame(released)
    names = pl.DataFrame([*zip("uuvwxy", "uvwxyz", strict=True)], schema=["original", "released"], orient="row")
    having, every = _names_having(released, original), released["subject"].n_unique()
    found = _learnt(original, having, released, every, names, seed)
    profiles, under = _sets(original), _sets(released)
    assert found["subject"].to_list() == sorted(profiles)
    for user, others, unique, read in found.select("subject", "others", "unique", "read").iter_rows():
        own = set(names.filter(pl.col("original") == user)["released"])
        assert others == len(profiles[user]) - 1
        assert (unique, pytest.approx(read)) in reference.witness(user, profiles, under, own)


@given(logs(min_users=4), st.sampled_from([SuppressRare, Affinity]))
def test_rows_without_names_teach_a_witness_nothing(log, cls):
    found = _scores(log, api.anonymize_prepared(log, cls(k=2), seed=1), "witness")
    assert found["after.unique"] == found["after.queries"] == 0
    assert found["before.queries"] >= 0


@given(logs(min_users=4))
def test_a_shared_profile_is_never_under_one_name(log):
    found = _scores(log, api.anonymize_prepared(log, Microaggregate(k=2), seed=1), "witness")
    assert found["after.unique"] == 0
