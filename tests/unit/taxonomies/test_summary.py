"""What is in a small taxonomy and how much of a log it covers, by hand."""

import polars as pl

import coterie
from coterie.taxonomies import cover, describe
from tests.helpers.small_trees import from_paths

TREE = from_paths([("Music", "Jazz"), ("Music", "Opera"), ("Sports",)])
LOG = coterie.log(pl.DataFrame({"user": ["ann", "ann", "bob", "cyd"], "query": ["jazz", "sports", "jazz", "xqzzt"]}))


def _numbers(table):
    return {key: value for _, key, value, _ in table.iter_rows()}


def test_the_size_of_a_taxonomy():
    numbers = _numbers(describe(TREE))
    assert (numbers["concepts"], numbers["leaves"], numbers["depth"]) == (5, 3, 2)
    assert [numbers[f"level_{level}"] for level in range(3)] == [1, 2, 2]
    assert (numbers["words"], numbers["forms"], numbers["senses"]) == (4, 4, 4)


def test_the_part_of_a_log_that_a_taxonomy_knows():
    table = cover(LOG, TREE)
    numbers = _numbers(table)
    assert numbers["unmapped.queries"] == 25
    assert abs(numbers["unmapped.distinct_queries"] - 100 / 3) < 1e-9
    assert numbers["level_1.queries"] == 75
    assert numbers["level_2.queries"] == 50
    assert set(table["unit"]) == {"%"}
