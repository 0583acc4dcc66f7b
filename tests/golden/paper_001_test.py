"""Worked examples of paper 001, on the plain version."""

import pytest

from coterie.text.language import language
from tests.helpers import affinity_reference as plain

# Function words, word by word: the list is what the plain version takes from the code.
SPEC_FUNCTION_WORDS = """
a an the and or but nor so yet if of in on at to from by for with about as into over under after before between through
during without within against upon off out up down is are was were be been being am do does did doing have has had
having can could may might must shall should will would i you he she it we they me him her us them my your his its our
their mine yours ours theirs this that these those who whom whose which what not no than then
"""
# Section 3.2 of the paper: weights of the running example.
WEIGHTS = {
    ("cell",): 14.32,
    ("phone",): 15.33,
    ("case",): 13.24,
    ("nokia",): 11.35,
    ("cell", "phone"): 10.8,
    ("phone", "case"): 6.95,
}


def test_the_cell_phone_case():
    short = {gram: WEIGHTS[gram] for gram in plain.grams("cell phone case") if gram in WEIGHTS}
    long = {gram: WEIGHTS[gram] for gram in plain.grams("nokia 2651 cell phone case") if gram in WEIGHTS}
    assert len(short) == 5
    assert len(long) == 6
    assert plain.cosine(short, long) == pytest.approx(0.92645, abs=5e-6)
    assert plain.affine(short, long, 0.9)
    assert not plain.affine(short, long, 0.93)


def test_a_common_query_covers_two_rare_ones():
    neighbours = {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}
    assert plain.cores(neighbours, {0: {1, 2, 3, 4, 5}, 1: {6}, 2: {6}}) == {0: 5, 1: 5, 2: 5}


def test_a_user_does_not_cover_herself():
    assert plain.cores({1: {2}, 2: {1}}, {1: {6}, 2: {6}}) == {1: 0, 2: 0}


@pytest.mark.parametrize("users", [1, 2, 7])
def test_a_query_alone_has_its_own_users(users):
    assert plain.cores({0: set()}, {0: set(range(users))}) == {0: users - 1}


def test_weights_count_events_and_totals_per_order():
    rows = [
        ("a", 1, "x y"),
        ("a", 1, "x y"),
        ("a", 2, "x y"),
        ("b", 1, "x y z"),
        ("b", None, "z z"),
        ("b", None, "z z"),
    ]
    # Events: x y twice (one line is a second click), x y z once, z z twice. T1 = 4 + 3 + 4, T2 = 2 + 2 + 2.
    found, users = plain.weights(rows, min_users=2)
    assert users == {"x": 2, "y": 2, "z": 1}
    assert found == pytest.approx({("x",): 2.0, ("y",): 2.0, ("x", "y"): plain.log2((3 / 6) / (3 / 11) ** 2 + 1)})
    assert plain.weights(rows, min_users=1)[0][("z",)] == pytest.approx(plain.log2(3 + 1))  # in 3 events, 5 times


def test_the_function_words_are_those_of_the_specification():
    assert frozenset(SPEC_FUNCTION_WORDS.split()) == language("english").function_words


def test_only_function_words_are_no_concept():
    rows = [(user, 1, "priory of the sion") for user in "ab"]
    found, _ = plain.weights(rows)
    assert ("of", "the") not in found
    assert ("of",) not in found
    assert {("priory", "of"), ("priory", "of", "the"), ("the", "sion")} <= found.keys()
