"""Measures agree with their plain references on random logs.

Covers: measures/privacy/exposure.py
"""

from collections import Counter, defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.measures.privacy.exposure import exposure_levels
from coterie.measures.privacy.uniqueness import uniqueness
from coterie.measures.utility.information_loss import _of_users
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing.strategies import logs
from tests.helpers import reference

_ITEMS = st.lists(st.sampled_from("abcdef"), max_size=12)


def _profiles(before, after):
    x, y = Counter(before), Counter(after)
    rows = [("u", q, x[q], y[q]) for q in sorted(set(x) | set(y))]
    return pl.DataFrame(rows, schema=["subject", "item", "before", "after"], orient="row")


@given(_ITEMS.filter(bool), _ITEMS)
def test_exposure(before, after):
    found = exposure_levels(_profiles(before, after)).row(0)[1:]
    assert found == pytest.approx(reference.exposure(before, after), abs=1e-9)


@given(_ITEMS.filter(bool), _ITEMS)
def test_information_loss(before, after):
    found = _of_users(_profiles(before, after))["loss"].item()
    assert found == pytest.approx(reference.information_loss(before, after), abs=1e-9)


@given(st.lists(st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("abcdefg")), max_size=30))
def test_uniqueness(pairs):
    profiles = defaultdict(set)
    for user, item in pairs:
        profiles[user].add(item)
    frame = pl.DataFrame(pairs, schema={"subject": pl.String, "item": pl.String}, orient="row")
    found = {key: value for key, value, _ in uniqueness(frame)}
    counts = [100 * n / max(len(profiles), 1) for n in reference.singled_out(profiles)]
    assert [found[key] for key in ("one_query", "two_queries", "profile")] == pytest.approx(counts)


@given(logs(min_users=4), st.sampled_from(["drop", "pseudonym"]))
def test_measures_of_a_release_are_those_of_its_profiles(log, users):
    release = api.anonymize_prepared(log, SuppressRare(k=2, users=users), seed=1)
    scores = {
        (n, k): v
        for n, k, v, _ in coterie.measure(
            release, original=log, seed=1, names=["exposure", "information_loss", "release_share"]
        ).iter_rows()
    }
    rows = log.frame.collect()
    kept = set(release.to_polars()["query"])
    levels, losses, few = [], [], []
    for (user,), part in rows.group_by("user"):
        if user is not None:
            before = part["query"].to_list()
            after = [query for query in before if query in kept]
            levels.append(reference.exposure(before, after))
            losses.append(reference.information_loss(before, after))
            if len(before) <= 2:
                few.append((levels[-1][0], min(100, losses[-1])))
    assert scores["exposure", "exposed.mean"] == pytest.approx(sum(e for e, _ in levels) / len(levels))
    assert scores["exposure", "channel.mean"] == pytest.approx(sum(c for _, c in levels) / len(levels))
    assert scores["information_loss", "per_user.mean"] == pytest.approx(sum(losses) / len(losses))
    assert scores["exposure", "few_queries.users"] == len(few)
    of_few = scores["exposure", "exposed.few_queries"], scores["information_loss", "per_user_capped.few_queries"]
    if few:
        assert of_few == pytest.approx(tuple(sum(part) / len(few) for part in zip(*few, strict=True)))
    else:
        assert of_few == (None, None)
    whole = reference.information_loss(rows["query"], release.to_polars()["query"])
    assert scores["information_loss", "whole_log"] == pytest.approx(whole, abs=1e-9)
    assert scores["release_share", "rows"] == pytest.approx(100 * release.to_polars().height / rows.height)
