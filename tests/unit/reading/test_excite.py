from datetime import datetime

import pytest

import coterie
from coterie.errors import InputError

LINE = "0123456789ABCDEF\t970916001949\tred shoes\n"


@pytest.mark.parametrize("name", ["a.log", "a.log.gz", "a.zst"])
def test_lines(write, rows, name):
    text = LINE + "FEDCBA9876543210\t991231235959\t\n" + "FEDCBA9876543210\t000101000000\tx y"
    log = coterie.read(write(name, text))
    assert rows(log) == [
        ("0123456789ABCDEF", datetime(1997, 9, 16, 0, 19, 49), "red shoes", None, None),
        ("FEDCBA9876543210", datetime(1999, 12, 31, 23, 59, 59), "", None, None),
        ("FEDCBA9876543210", datetime(2000, 1, 1), "x y", None, None),
    ]


def test_another_first_field_needs_the_format(write, rows):
    path = write("a.log", "cookie\t970916001949\tred shoes\r\n\t970916001950\tx\r\n")
    with pytest.raises(InputError, match="none of the known formats"):
        coterie.read(path)
    assert rows(coterie.read(path, format="excite"), "user", "query") == [
        ("cookie", "red shoes"),
        (None, "x"),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0123456789ABCDEF\t970916001949", "columns"),
        ("0123456789ABCDEF\t970916001949\tx\ty", "columns"),
        ("0123456789ABCDEF\t970931001949\tx", "time"),
        ("0123456789ABCDEF\t\tx", "time"),
    ],
)
def test_bad_lines(write, line, reason):
    with pytest.raises(InputError, match=rf"a\.log line 2, {reason} \("):
        coterie.read(write("a.log", LINE + line + "\n"))
