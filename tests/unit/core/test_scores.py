import polars as pl

from coterie.core.scores import LABELLED, SCORES, Figure, Picture, score_table

ROWS = [("exposure", "k.mean", 3, "users"), ("exposure", "k.least", None, "users")]


def test_a_table_of_scores_has_its_columns_even_when_it_is_empty():
    assert score_table([]).schema == pl.Schema(SCORES)
    assert score_table([], labelled=True).schema == pl.Schema(LABELLED)


def test_whole_numbers_and_missing_ones_become_floats():
    table = score_table(iter(ROWS))
    assert table["value"].to_list() == [3.0, None]
    assert table.rows()[0] == ("exposure", "k.mean", 3.0, "users")


def test_a_label_comes_last():
    table = score_table([(*row, "maps") for row in ROWS], labelled=True)
    assert table.columns == ["name", "key", "value", "unit", "label"]


def test_pictures_and_figures_are_values():
    """Pictures are keys: figures that ask for equal ones are drawn together."""
    picture = Picture(kind="bars", title="a", reading="b")
    assert {picture: 1}[Picture(kind="bars", title="a", reading="b")] == 1
    assert Figure(key="a", section="privacy", title="t") == Figure(key="a", section="privacy", title="t")
