from datetime import datetime

import pytest

import coterie
from coterie.errors import InputError, ParameterError

TEXT = (
    "00:00:01\t1234567890123\t[红鞋子]\t2 1\twww.shoes.example/\n"
    "00:09:59   99  [a [b] c]  10\t3  www.other.example/x \n"
    "00:10:00\t99\t[]\t1 1\t\n"
)
EXPECTED = [
    ("1234567890123", None, "红鞋子", 2, "www.shoes.example/"),
    ("99", None, "a [b] c", 10, "www.other.example/x"),
    ("99", None, "", 1, None),
]


@pytest.mark.parametrize("encoding", ["gb18030", "utf-8"])
@pytest.mark.parametrize("name", ["s.txt", "s.txt.gz", "s.zst"])
def test_lines(write, rows, name, encoding):
    log = coterie.read(write(name, TEXT, encoding))
    assert rows(log) == EXPECTED
    assert log.history[0].counts == {"lines": 3, "bad": 0}


def test_the_day_is_given(write, rows):
    log = coterie.read(write("s.txt", TEXT, "gb18030"), date="2008-06-01")
    assert [time for (time,) in rows(log, "time")] == [
        datetime(2008, 6, 1, 0, 0, 1),
        datetime(2008, 6, 1, 0, 9, 59),
        datetime(2008, 6, 1, 0, 10),
    ]


@pytest.mark.parametrize("date", ["yesterday", "2008-13-01", "20080601", "2008-W23-7", "2008-6-1", ""])
def test_a_wrong_day(write, date):
    with pytest.raises(ParameterError, match="YYYY-MM-DD"):
        coterie.read(write("s.txt", TEXT, "gb18030"), date=date)


def test_a_tab_inside_the_brackets_is_a_space(write, rows):
    text = TEXT + "00:00:01\t7\t[a\tb]\t2 1\twww.x.example/\n"
    assert rows(coterie.read(write("s.txt", text, "gb18030")), "query")[-1] == ("a b",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("00:00:01\t7\tno brackets\t2 1\twww.x.example/", "columns"),
        ("00:00:01\t7\t[x]\tone 1\twww.x.example/", "columns"),
        ("00:00:01\t7\t[x]\t99999999999 1\twww.x.example/", "rank"),
        ("25:00:01\t7\t[x]\t1 1\twww.x.example/", "time"),
    ],
)
def test_bad_lines(write, line, reason):
    path = write("s.txt", TEXT + line + "\n", "gb18030")
    with pytest.raises(InputError, match=rf"s\.txt line 4, {reason} \("):
        coterie.read(path, date="2008-06-01")


def test_damaged_characters(write, rows):
    good = TEXT.encode("gb18030")
    path = write("s.txt", good * 100 + b"00:00:01\t7\t[x\xff]\t1 1\twww.x.example/\n" + good)
    log = coterie.read(path)
    assert log.history[0].counts == {"lines": 304, "bad": 1}
    assert "s.txt line 301, encoding" in log.history[0].notes[0]
    assert len(rows(log)) == 303
