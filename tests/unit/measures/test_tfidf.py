"""TF-IDF vectors are those of the plain formula."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.measures.learning import Terms
from tests.helpers import units_reference as plain


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=5), min_size=1, max_size=6))
def test_the_plain_formula(texts):
    rows = [(place, term) for place, terms in enumerate(texts) for term in terms]
    table = pl.DataFrame(rows, schema={"id": pl.UInt32, "term": pl.String}, orient="row")
    counts = table.group_by("id", "term").len("n")
    terms = Terms.of(counts, len(texts))
    vectors = terms.weighed(counts, len(texts))
    names = terms.table["term"].to_list()
    for place, expected in enumerate(plain.vectors(texts)):
        mine = slice(vectors.start[place], vectors.start[place + 1])
        found = {names[f]: w for f, w in zip(vectors.feature[mine], vectors.weight[mine], strict=True)}
        assert found == pytest.approx(expected)
