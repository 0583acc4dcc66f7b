import re

import polars as pl

from coterie.core import randomness


def test_streams_depend_on_seed_purpose_and_subject_only():
    def draw(*key):
        return randomness.stream(*key).integers(0, 2**62, 4).tolist()

    assert draw(1, "a", "x") == draw(1, "a", "x")
    others = [draw(2, "a", "x"), draw(1, "b", "x"), draw(1, "a", "y"), draw(1, "ax", "")]
    assert all(other != draw(1, "a", "x") for other in others)


def test_pseudonyms_are_random_names():
    people = pl.Series(["ann", "bob", "cyd"])
    names = randomness.pseudonyms(1, people, people)
    assert names.n_unique() == 3
    assert all(re.fullmatch("u_[a-z2-7]{16}", name) for name in names)
    assert randomness.pseudonyms(2, people, people).to_list() != names.to_list()
    backwards = randomness.pseudonyms(1, people.reverse(), people)
    assert backwards.reverse().to_list() == names.to_list()


def test_a_pseudonym_never_meets_an_original_id():
    first = randomness.pseudonyms(1, pl.Series(["ann"]), pl.Series(["ann"]))
    second = randomness.pseudonyms(1, pl.Series(["ann"]), first)
    assert second[0] != first[0]


def test_seeds_come_from_the_system():
    assert len({randomness.new_seed() for _ in range(5)}) == 5
    assert all(0 <= randomness.new_seed() < 2**128 for _ in range(5))


def test_keys_belong_to_what_a_subject_is_called():
    """Subjects may be numbers, as those of groups are."""
    assert (randomness.keys(1, "x", pl.Series([3, 4])) == randomness.keys(1, "x", pl.Series(["3", "4"]))).all()
