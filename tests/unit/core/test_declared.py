"""Declared files: whatever else stands in one is refused with a sentence, and no value is repeated."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.core.declared import (
    Declared,
    DeclaredFile,
    as_declared,
    json_bytes,
    json_file,
    json_object,
    keys_of,
    refuse_format,
    toml_table,
)
from coterie.errors import InputError

TOML = DeclaredFile(name="study.toml", toml=True)
JSON = DeclaredFile(name="a.json", verdict="is not a sidecar", end="Write it again.")


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A dataclass, in which msgspec alone would let unknown keys pass."""

    status: Literal["passed", "failed"]
    count: int = 0


class Table(Declared, frozen=True, kw_only=True):
    """A table of the file."""

    to: str | None = None
    sizes: tuple[Annotated[int, msgspec.Meta(ge=2)], ...] = ()
    names: dict[str, str] = msgspec.field(default_factory=dict)


class Whole(Declared, frozen=True, kw_only=True):
    """The whole file."""

    format: int = 1
    report: Table
    entry: Annotated[tuple[Inner, ...], msgspec.Meta(min_length=1)] = (Inner(status="passed"),)
    digest: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{4}\Z")] = "0000"
    share: float | int = 0.5


OK = {"status": "passed"}


@pytest.mark.parametrize(
    ("data", "by_hand", "by_program"),
    [
        ({}, "'report' is missing", "'report' is missing"),
        ({"report": 5}, "'report' must be a table, not a whole number", "'report' must be a table, not a whole number"),
        ({"reprot": {}}, "unknown key 'reprot'; did you mean 'report'?", "did you mean 'report'?"),
        (
            {"report": {"too": 1}},
            "unknown key 'too' in [report]; did you mean 'to'?",
            "unknown key 'too' in report; did you mean 'to'?",
        ),
        (
            {"report": {"zzzz": 1}},
            "unknown key 'zzzz' in [report]; known here: names, sizes, to.",
            "unknown key 'zzzz' in report; known here: names, sizes, to.",
        ),
        ({"report": {"to": 1}}, "'to' in [report] must be text, not a whole number", "'to' in report must be text"),
        ({"report": {"to": True}}, "must be text, not true or false", "must be text, not true or false"),
        ({"report": {"sizes": 5}}, "'sizes' in [report] must be a list, not a whole number", "must be a list"),
        (
            {"report": {"sizes": [2, 1]}},
            "'sizes' (item 2) in [report] must be a whole number of at least 2",
            "'sizes' (item 2) in report must be a whole number of at least 2",
        ),
        ({"report": {"sizes": [2.0]}}, "must be a whole number, not a number", "must be a whole number, not a number"),
        ({"report": {"names": {"a": 1}}}, "'names' (a value in it) in [report] must be text", "'names' (a value"),
        ({"report": {}, "entry": []}, "'entry' must be a list of at least 1", "'entry' must be a list of at least 1"),
        ({"report": {}, "entry": OK}, "'entry' must be a list, not a table", "'entry' must be a list, not a table"),
        (
            {"report": {}, "entry": [OK, {}]},
            "'status' is missing in [[entry]] number 2",
            "'status' is missing in entry[1]",
        ),
        (
            {"report": {}, "entry": [OK, {"status": "secret"}]},
            "'status' in [[entry]] number 2 must be 'failed' or 'passed'",
            "'status' in entry[1] must be 'failed' or 'passed'",
        ),
        (
            {"report": {}, "entry": [OK, {**OK, "cuont": 1}]},
            "unknown key 'cuont' in [[entry]] number 2; did you mean 'count'?",
            "unknown key 'cuont' in entry[1]; did you mean 'count'?",
        ),
        ({"report": {}, "digest": "secret"}, "'digest' must be text of the form [0-9a-f]{4}.", "[0-9a-f]{4}."),
        ({"report": {}, "digest": "0000\n"}, "'digest' must be text of the form", "'digest' must be text of the form"),
        ({"report": {}, "share": "x"}, "'share' must be a number, not text", "'share' must be a number, not text"),
        ([], "the whole file must be a table, not a list", "the whole file must be a table, not a list"),
    ],
)  # fmt: skip
def test_sentences(data, by_hand, by_program):
    for file, message in ((TOML, by_hand), (JSON, by_program)):
        with pytest.raises(InputError) as refused:
            as_declared(data, Whole, file)
        assert message in str(refused.value)
        assert "secret" not in str(refused.value)
        assert str(refused.value).startswith(file.name)
        assert str(refused.value).endswith((".", "?"))


def test_a_strange_key_of_a_json_file_is_not_repeated():
    for key in ("somebody's query", "x" * 41, "a\nb", "", "123"):
        with pytest.raises(InputError, match="unknown key; known here: ") as refused:
            as_declared({"report": {}, key: 1}, Whole, JSON)
        assert not key or key not in str(refused.value)


def test_a_date_without_quotes_is_explained():
    with pytest.raises(InputError, match="must be text, not a date without quotes"):
        as_declared(toml_table(b"[report]\nto = 2020-01-01", TOML), Whole, TOML)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON (line 1, column 1)"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[]", "holds no object"),
        (b'{"a": 1, "a": 1}', "a key stands in it twice"),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "a key stands in it twice"),
        (b'{"a": NaN}', "not finite"),
        (b'{"a": -Infinity}', "not finite"),
        (b'{"a": 1e999}', "not finite"),
        (b'{"a": ' + b"9" * 101 + b"}", "too long"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a": 1} {}', "not JSON"),
    ],
)
def test_json_that_is_refused(data, message):
    with pytest.raises(InputError) as refused:
        json_object(data, JSON)
    assert message in str(refused.value)
    assert str(refused.value).endswith("Write it again.")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe", "not text in UTF-8"),
        (b"x = ", "not valid TOML"),
        (b"a = 1\na = 1", "not valid TOML"),
        (b"\x00", "not valid TOML"),
        (b"a = nan", "not finite"),
        (b"a = -inf", "not finite"),
        (b"a = 1e999", "not finite"),
        (b"a = " + b"9" * 5000, "too long"),
        (b"a = " + b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    ],
)
def test_toml_that_is_refused(data, message):
    with pytest.raises(InputError) as refused:
        toml_table(data, TOML)
    assert message in str(refused.value)


def test_a_hundred_levels_are_read_and_refused_by_what_is_declared():
    deep = b"[" * 100 + b"]" * 100
    data = json_object(b'{"report": {"sizes": ' + deep + b"}}", JSON)
    with pytest.raises(InputError, match=r"'sizes' \(item 1\) in report must be a whole number, not a list"):
        as_declared(data, Whole, JSON)


def test_formats():
    for ours in ({}, {"format": 2}):
        refuse_format(ours, 2, JSON)
    for other in (1, 3):
        with pytest.raises(InputError, match=rf"^a.json was written by another version .*\(format {other}; this one"):
            refuse_format({"format": other}, 2, JSON)
    for wrong in (0, -1, "2", 2.0, True, None, [2]):
        with pytest.raises(InputError, match="'format' must be a whole number of at least 1"):
            refuse_format({"format": wrong}, 2, JSON)


def test_keys():
    assert keys_of(Table) == ("to", "sizes", "names")
    assert keys_of(Inner) == ("status", "count")


@given(
    st.builds(
        Whole,
        report=st.builds(
            Table,
            to=st.none() | st.text(),
            sizes=st.lists(st.integers(2, 2**130)).map(tuple),
            names=st.dictionaries(st.text(), st.text()),
        ),
        entry=st.lists(st.builds(Inner, status=st.sampled_from(["passed", "failed"])), min_size=1).map(tuple),
        share=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_what_is_written_is_read(value):
    written = json_bytes(value)
    again = json_file(written, Whole, 1, JSON)
    assert again == value
    assert json_bytes(again) == written


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["report", "to", "sizes", "entry", "x"]), inner),
    max_leaves=10,
)


@given(_JSON | st.dictionaries(st.sampled_from(["report", "entry", "digest", "format", "share", "x"]), _JSON))
@example({"report": {}, "digest": "` - at `$.report.to"})
@example({"report": {}, "x` - at `$.report.to": 1})
@example({"report": {}, "entry": [{"status": "x` - at `$.format"}]})
def test_anything_is_read_or_refused(data):
    for file in (TOML, JSON):
        answer = file.name
        try:
            assert isinstance(as_declared(data, Whole, file), Whole)
        except InputError as refused:
            answer = str(refused)
        assert answer.startswith(file.name)
