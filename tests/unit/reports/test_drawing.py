"""Figures of a study: which scores become which points."""

from dataclasses import replace

import polars as pl
import pytest

from coterie.core.declared import DeclaredFile, as_declared
from coterie.core.scores import SCORES
from coterie.errors import InputError
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.reports import ReleaseView
from coterie.reports.drawing import Drawing, _points, check_drawing, draw

SCHEMA = SCORES


def view(k: int, numbers: dict[str, float | None], method: str = "groups") -> ReleaseView:
    rows = [("m", key, number, "%") for key, number in numbers.items()]
    return ReleaseView(
        label=f"{method} k={k}",
        method=method,
        params={"k": k},
        promises=(UserKAnonymity(k=k),),
        checks=(),
        warnings=(),
        scores=pl.DataFrame([*rows, ("other", "a", 99.0, "%")], schema=SCHEMA, orient="row"),
        largest_k=k,
    )


def drawing(*keys: str, **settings) -> Drawing:
    return Drawing(file="x.svg", title="A title", measure="m", keys=keys, **settings)


def test_over_k_with_the_original_at_one():
    releases = [view(2, {"a": 5.0, "a.original": 7.0, "b": 1.0}), view(3, {"a": 4.0, "a.original": 7.0, "b": None})]
    found = set(_points(drawing("a", "b"), releases))
    assert found == {("a", 1, 7.0), ("a", 2, 5.0), ("a", 3, 4.0), ("b", 2, 1.0)}


def test_methods_are_named_where_there_are_several():
    found = {line for line, _, _ in _points(drawing("a"), [view(2, {"a": 5.0}), view(2, {"a": 4.0}, "rare")])}
    assert found == {"groups a", "rare a"}


def test_over_the_number_in_a_key():
    releases = [view(3, {"rand_2": 0.5, "rand_10": 0.75, "adjusted_rand_10": 0.1}), view(50, {"rand_10": 0.25})]
    assert set(_points(drawing("rand_*"), releases)) == {("k=3", 2, 0.5), ("k=3", 10, 0.75), ("k=50", 10, 0.25)}
    assert list(_points(drawing("rand_*", difference=(3, 50)), releases)) == [("rand", 10, 0.5)]


def test_random_groups_are_named_and_can_be_left_out():
    release = replace(view(2, {"a": 5.0, "b": 1.0}), baseline=view(2, {"a": 6.0, "b": 2.0}))
    assert "Random groups</text>" in draw(drawing("a"), [release])
    assert "Random groups: b</text>" in draw(drawing("a", "b"), [release])
    assert "Random groups" not in draw(drawing("a", baseline=False), [release])
    assert draw(drawing("a"), [release]) == draw(drawing("a"), [release])
    with pytest.raises(InputError, match="no score of m is called nothing"):
        draw(drawing("nothing"), [release])
    unmeasured = replace(view(2, {}), scores=view(2, {"a": 5.0}).scores.clear())
    assert "A title" in draw(drawing("a"), [unmeasured])


def parsed(entry):
    """A [[figure]] table, as studies check it."""
    asked = as_declared(entry, Drawing, DeclaredFile(name="[[figure]]", toml=True))
    check_drawing(asked)
    return asked


@pytest.mark.parametrize(
    "wrong",
    [
        {"file": "a.png"},
        {"file": "../a.svg"},
        {"colour": "red"},
        {"keys": ["a", "b_*"]},
        {"keys": ["a"], "difference": [3, 50]},
        {"keys": ["a_*"], "difference": [3]},
        {"keys": []},
    ],
)
def test_mistakes(wrong):
    right = {"file": "a.svg", "title": "t", "measure": "m", "keys": ["a_*"], "difference": [3, 50]}
    assert parsed(right).difference == (3, 50)
    with pytest.raises(InputError):
        parsed({**right, "difference": [], **wrong})


def test_one_score_against_another():
    wanted = {"file": "a.svg", "title": "A", "measure": "m", "keys": ["b"], "against": "m a"}
    figure = parsed(wanted)
    releases = [view(2, {"a": 5.0, "b": 1.0}), view(3, {"a": 4.0, "b": 2.0}), view(2, {"a": 1.0, "b": None}, "other")]
    assert list(_points(figure, releases)) == [("groups", 5.0, 1.0), ("groups", 4.0, 2.0)]
    drawn = draw(figure, releases)
    assert "m a</text>" in drawn
    assert all(drawn.count(f"k={k}</text>") == 1 for k in (2, 3))  # which end of a line is which
    with pytest.raises(InputError, match="against is a measure and a key"):
        parsed({**wanted, "against": "m"})
    with pytest.raises(InputError, match="against is a measure and a key"):
        parsed({**wanted, "keys": ["a", "b"]})


def test_numbers_of_people_are_no_percentages():
    figure = parsed({"file": "a.svg", "title": "A", "measure": "m", "keys": ["b"], "against": "m a"})
    people = view(2, {"a": 3000.0, "b": 1.0}, "one"), view(2, {"a": 9000.0, "b": 2.0}, "one")
    drawn = draw(figure, people)
    assert "%" in drawn
    unit = pl.when(key="a").then(pl.lit("users")).otherwise("unit")
    units = [replace(each, scores=each.scores.with_columns(unit=unit)) for each in people]
    assert draw(figure, units).count("%</text>") < drawn.count("%</text>")
    assert "k=2</text>" not in drawn  # one k has no need to be told
