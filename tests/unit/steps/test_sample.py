from dataclasses import replace

import pytest

import coterie
from coterie.errors import ParameterError
from coterie.steps.sample import Sample
from coterie.testing import queries_log, terms_log


def drawn(log, seed):
    return set(coterie.prepare(log, [Sample(subjects=3, seed=seed)]).to_polars()["doc"])


def test_some_subjects_stay_whole():
    log = terms_log()
    some = coterie.prepare(log, [Sample(subjects=3, seed=1)])
    kept = drawn(log, 1)
    assert len(kept) == 3
    assert some.to_polars().height == sum(doc in kept for doc in log.to_polars()["doc"])
    assert some.steps == ("sample(subjects=3, seed=1)",)
    assert any(drawn(log, seed) != kept for seed in range(9))
    shuffled = replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=3).lazy())
    assert drawn(shuffled, 1) == kept


def test_rows_without_a_user_are_left_out_and_more_than_there_are_is_all():
    log = coterie.prepare(queries_log(), ["sample(subjects=100)"])
    assert set(log.to_polars()["user"]) == {"ann", "bob", "cyd", "dan", "eve", "fay"}


def test_wrong_numbers():
    with pytest.raises(ParameterError, match="subjects"):
        Sample(subjects=0)
