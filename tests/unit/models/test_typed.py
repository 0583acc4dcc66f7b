"""Who typed which text how often."""

from collections import Counter

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.models.typed import typed_by

rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y z", "", "手"])), min_size=1, max_size=30)


@settings(max_examples=50, deadline=None)
@given(typed=rows)
def test_texts_of_users_are_counted(typed):
    users = pl.Series("user", ["b", "a", "nobody"])  # rows of c are left out
    found = typed_by(users, pl.LazyFrame(typed, schema=["who", "what"], orient="row"))
    assert sorted(found.texts) == sorted({text for _, text in typed})
    for place, user in enumerate(users):
        some = slice(found.of_users.start[place], found.of_users.start[place + 1])
        texts = found.texts.gather(found.of_users.thing[some]).to_list()
        assert dict(zip(texts, found.of_users.times[some].tolist(), strict=True)) == Counter(
            text for who, text in typed if who == user
        )
