from dataclasses import dataclass
from typing import Annotated

import pytest

from coterie.core.params import (
    Choice,
    File,
    Flag,
    Late,
    Range,
    Several,
    Span,
    With,
    check_params,
    early_params,
    params_of,
    with_values,
)
from coterie.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Example:
    k: Annotated[int, Range(2), Late(), "crowd"] = 5
    share: Annotated[float, Range(0, 1)] = 0.5
    mode: Annotated[str, Choice("a", "b")] = "a"
    strict: Annotated[bool, Flag()] = False
    note: str = ""

    def __post_init__(self):
        check_params(self, "example")


@dataclass(frozen=True, kw_only=True)
class Dependent:
    users: Annotated[str, Choice("drop", "mini"), "what links rows"] = "drop"
    link: Annotated[int, Range(1), With("users", "mini"), "most in a row"] = 3
    share: Annotated[float, Range(0, 1), With("users", "drop", is_not=True), "a share"] = 0.5


def test_a_parameter_that_matters_with_some_values_of_another_says_so():
    users, link, share = params_of(Dependent)
    assert users.only is None
    assert (link.doc, share.doc) == ("with users = mini: most in a row", "unless users = drop: a share")
    assert [link.only.matters(value) for value in ("drop", "mini")] == [False, True]
    assert [share.only.matters(value) for value in ("drop", "mini")] == [False, True]


def test_parameters_are_the_annotated_fields():
    assert [(p.name, p.kind, p.default, p.doc) for p in params_of(Example)] == [
        ("k", int, 5, "crowd"),
        ("share", float, 0.5, ""),
        ("mode", str, "a", ""),
        ("strict", bool, False, ""),
    ]


@pytest.mark.parametrize("good", [{"k": 2}, {"share": 0}, {"share": 1.0}, {"mode": "b"}, {"strict": True}])
def test_good_values(good):
    Example(**good)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (
            {"k": 1},
            "The 'k' parameter of example must be a whole number of at least 2. Got 1 instead.",
        ),
        (
            {"k": 2.0},
            "The 'k' parameter of example must be a whole number of at least 2. Got 2.0 instead.",
        ),
        ({"k": True}, "Got True instead."),
        ({"share": 1.5}, "must be a number between 0 and 1. Got 1.5 instead."),
        ({"share": float("nan")}, "Got nan instead."),
        ({"mode": "c"}, "must be one of 'a', 'b'. Got 'c' instead."),
        ({"mode": 1}, "must be one of 'a', 'b'. Got 1 instead."),
        ({"strict": 1}, "must be True or False. Got 1 instead."),
    ],
)
def test_bad_values_get_the_standard_sentence(bad, sentence):
    with pytest.raises(ParameterError) as error:
        Example(**bad)
    assert sentence in str(error.value)


@dataclass(frozen=True, kw_only=True)
class WithFile:
    words: Annotated[str, File("none")] = "none"

    def __post_init__(self):
        check_params(self, "example")


def test_files(tmp_path):
    path = tmp_path / "words.txt"
    path.touch()
    WithFile(words=str(path))
    WithFile(words="none")
    for wrong in (str(tmp_path), str(tmp_path / "missing"), None, 1):
        with pytest.raises(ParameterError, match="must be 'none' or the path of a file"):
            WithFile(words=wrong)


def test_late_parameters_do_not_tell_what_is_learnt_apart():
    assert early_params(Example(k=2)) == early_params(Example(k=9))
    assert early_params(Example(k=2)) != early_params(Example(k=2, mode="b"))
    assert [param.name for param in params_of(Example) if param.late] == ["k"]


def test_other_values_of_parameters_it_has():
    assert with_values(Example(k=2), k=7, epsilon=1) == Example(k=7)


@dataclass(frozen=True, kw_only=True)
class Chooses:
    some: Annotated[str, Several("a", "b", "c"), "words"] = "none"

    def __post_init__(self):
        check_params(self, "chooses")


@pytest.mark.parametrize(("value", "words"), [("none", ()), ("b", ("b",)), ("c,a", ("c", "a"))])
def test_several_words_keep_their_order(value, words):
    assert Several.words(Chooses(some=value).some) == words


@pytest.mark.parametrize("value", ["", "a,", "a,a", "d", "a, b", "none,a", ["a"], None, 1])
def test_other_lists_of_words_are_refused(value):
    with pytest.raises(ParameterError) as error:
        Chooses(some=value)
    assert "must be 'none' or some of 'a', 'b', 'c', with commas between them. Got " in str(error.value)


@pytest.mark.parametrize(("text", "seconds"), [
    ("30d", 2_592_000), ("1h", 3600), ("90m", 5400), ("5s", 5),
    ("0d", 0), ("", 0), ("d", 0), ("3", 0), ("-1d", 0), ("1.5h", 0), ("²d", 0), ("99999999999d", 0), ("60001d", 0),
])  # fmt: skip
def test_lengths_of_time(text, seconds):
    assert Span.seconds(text) == seconds
    assert Span().accepts(text, str) is (seconds > 0)
