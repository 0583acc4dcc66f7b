"""Texts that stand in others, and names that clues point to, agree with plain versions of themselves.

Covers: algorithms/kernels/clues.py
"""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coterie.measures.attacks import _profiles
from coterie.measures.attacks._profiles import Clues, best_names, parts_of
from coterie.text.words import JOINT, words_and_letters
from tests.helpers.examples import examples

words = st.sampled_from(["a", "b", "c", "寿司", "の", "a寿", ""])
texts = st.lists(st.lists(words, max_size=5).map(" ".join), max_size=8)


def plain_parts(parts: list[str], wholes: list[str]) -> set[tuple[int, int]]:
    """part, whole: every part is looked for at every place."""
    shorter, longer = (words_and_letters(pl.Series(each, dtype=pl.String)).to_list() for each in (parts, wholes))
    last = {tuple(part): item for item, part in enumerate(shorter)}
    pairs = {(last[tuple(whole)], at) for at, whole in enumerate(longer) if tuple(whole) in last}
    for at, whole in enumerate(longer):
        seen = whole[: _profiles._MOST_WORDS]
        for begin in range(len(seen)):
            for end in range(begin + 1, len(seen) + 1):
                run = (seen[begin].removeprefix(JOINT), *seen[begin + 1 : end])
                if run in last:
                    pairs.add((last[run], at))
    return pairs


def table(some: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"text": pl.Series(some, dtype=pl.String)}).with_row_index("item")


@given(texts, texts)
@example([], ["a"])
@example(["a", "a"], ["a"])
@example(["a " * 50 + "b"], ["a " * 50 + "b", "c " + "a " * 50 + "b"])  # longer than what is looked through
@settings(max_examples=examples(200))
def test_texts_that_stand_in_others(parts, wholes):
    found = parts_of(table(parts), table(wholes))
    assert set(found.iter_rows()) == plain_parts(parts, wholes)
    assert found.is_unique().all()
    assert found.equals(found.sort("part", "whole"))


clue = st.tuples(st.integers(0, 2), st.integers(1, 4), st.integers(0, 3))  # user, position, text
clues_of = st.lists(clue, max_size=12, unique_by=lambda each: (each[0], each[2]))
pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=12)  # name, text


@given(
    st.lists(st.tuples(clues_of, pairs), min_size=1, max_size=3),
    st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=3, max_size=3),
    st.lists(st.integers(1, 2), min_size=5, max_size=5),
)
@settings(max_examples=examples(150))
def test_the_name_that_fits_best(kinds, amounts, size):
    users = pl.DataFrame({"id": [0, 1, 2]})
    clues = []
    for known, owned in kinds:
        seen = pl.DataFrame(known, schema={"id": pl.UInt32, "position": pl.Int64, "text": pl.Int64}, orient="row")
        names = pl.LazyFrame(owned, schema={"name": pl.UInt32, "item": pl.Int64}, orient="row")
        clues.append(Clues.of(seen, names.select("item", text="item").unique(), names, users))
    found = best_names(clues, np.array(amounts), np.array(size))
    for user in range(3):
        for column, amount in enumerate(amounts[user]):
            scores = np.zeros((len(clues), 5), np.int64)
            for each, score in zip(clues, scores, strict=True):
                each.add(user, 0, amount, score)
            for kind, score in enumerate(scores):
                best = max(range(5), key=lambda name: (score[name], scores[:, name].sum(), -size[name], -name))
                assert found[kind, user, column] == best
    for each, (known, owned) in zip(clues, kinds, strict=True):
        score = np.zeros(5, np.int64)
        each.add(1, 1, 3, score)
        having = {text: {name for name, item in owned if item == text} for _, _, text in known}
        n, expected = len({name for name, _ in owned}), np.zeros(5, np.int64)
        for user, position, text in known:
            if user == 1 and 1 < position <= 3:
                for name in having[text]:
                    expected[name] += np.int64(np.rint(1_000_000 * np.log1p(n / len(having[text]))))
        assert score.tolist() == expected.tolist()
