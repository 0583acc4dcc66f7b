"""Laws of the method affinity: it is its reference, whatever the order and the blocks, and its proofs hold."""

from dataclasses import replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.methods.affinity import Affinity
from coterie.promises import k_theta_affinity
from coterie.promises.k_theta_affinity import recount
from coterie.testing.strategies import logs
from tests.helpers import affinity_reference as plain
from tests.helpers.affine_rows import FUNCTION_WORDS, ROWS, THETAS, log_of

_PEOPLE = [(user, None, "phone") for user in "stuv"]
METHODS = st.builds(
    Affinity,
    k=st.integers(2, 4),
    theta=THETAS,
    min_users=st.integers(0, 3),
    min_term_users=st.integers(1, 3),
    strict=st.booleans(),
    approximate=st.booleans(),
    v_max=st.integers(1, 4),
)


def _degrees(rows, method):
    options = {name: getattr(method, name) for name in ("theta", "min_users", "min_term_users", "strict")}
    if method.approximate:
        return plain.approximate_degrees(rows, method.v_max, **options)
    return plain.degrees(rows, **options)


@given(ROWS, METHODS)
def test_it_is_the_plain_reference_and_both_ways_to_verify_agree(rows, method):
    log = log_of(rows + _PEOPLE)
    release = api.anonymize_prepared(log, method, seed=1)
    degree = _degrees(rows + _PEOPLE, method)
    assert set(release.to_polars()["query"]) == {query for query, number in degree.items() if number >= method.k}
    module = k_theta_affinity
    small = module._SMALL_ITEMS
    try:
        module._SMALL_ITEMS = -1  # so that the certificate is what is compared
        assert coterie.verify(release, log).exit_code == 0
    finally:
        module._SMALL_ITEMS = small


@given(ROWS, METHODS, st.sampled_from(["drop", "session", "pseudonym"]), st.integers(2, 9), st.randoms())
def test_order_and_blocks_do_not_matter(rows, method, users, blocks, random):
    rows = rows + _PEOPLE
    method = replace(method, users=users, attrs="keep")
    expected = api.anonymize_prepared(log_of(rows), method, seed=1)
    for log, parts in ((log_of(rows), blocks), (log_of(random.sample(rows, len(rows))), 1)):
        again = api.anonymize_prepared(log, method, seed=1, blocks=parts)
        assert again.to_polars().equals(expected.to_polars())
        for name in ("certificate", "degrees"):
            assert again.record.tables[name].collect().equals(expected.record.tables[name].collect())


@given(logs(min_users=4), st.integers(2, 4))
def test_odd_text_and_details(log, k):
    release = api.anonymize_prepared(log, Affinity(k=k, theta=0.5), seed=1)
    rows = log.frame.drop("row").collect().rows()
    degree = plain.degrees(rows, theta=0.5)
    assert set(release.to_polars()["query"]) == {query for query, number in degree.items() if number >= k}


@given(ROWS, st.integers(0, 3), st.integers(1, 3), FUNCTION_WORDS)
def test_recounted_vectors_are_the_plain_ones(rows, min_users, min_term_users, function_words):
    expected, rare = plain.vectors(rows, min_users, min_term_users, function_words)
    items = pl.DataFrame({"item": sorted(plain.users_of(rows))}, schema={"item": pl.String})
    found = recount(log_of(rows), items, min_users, min_term_users, function_words)
    assert set(found.rare["item"]) == rare
    vectors = {}
    for item, gram, weight in found.vectors.iter_rows():
        vectors.setdefault(item, {})[tuple(gram.split(" "))] = weight
    assert vectors.keys() == expected.keys()
    assert all(
        abs(vectors[q][gram] - weight) < 1e-9 for q, vector in expected.items() for gram, weight in vector.items()
    )
