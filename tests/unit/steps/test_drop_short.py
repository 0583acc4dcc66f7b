import pytest

import coterie
from coterie.errors import ParameterError
from coterie.steps.drop_short import DropShort
from coterie.testing import queries_log, terms_log


def test_documents_with_few_terms():
    log = coterie.prepare(terms_log(), [DropShort(items=4)])
    assert set(log.to_polars()["doc"]) == {"a.txt", "c.txt", "e.txt"}
    assert log.steps == ("drop_short(items=4)",)
    assert log.history[-1].counts == {"subjects": 4}


def test_different_queries_are_counted_and_rows_without_a_user_stay():
    log = coterie.prepare(queries_log(), ["drop_short(items=4)"])
    assert set(log.to_polars()["user"]) == {"eve", None}


@pytest.mark.parametrize("items", [1, 2.5, "x"])
def test_wrong_numbers(items):
    with pytest.raises(ParameterError, match="items"):
        DropShort(items=items)
