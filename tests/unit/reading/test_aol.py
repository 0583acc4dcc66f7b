from datetime import datetime

import pytest

import coterie
from coterie.errors import InputError

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
FIVE = "7\tred shoes\t2006-03-01 10:00:00\t2\thttp://shoes.example\n"
EMPTY = "7\tred shoes\t2006-03-01 10:01:00\t\t\n"
THREE = "8\tblue hats\t2006-03-02 00:00:09\n"
EXPECTED = [
    ("7", datetime(2006, 3, 1, 10), "red shoes", 2, "http://shoes.example"),
    ("7", datetime(2006, 3, 1, 10, 1), "red shoes", None, None),
    ("8", datetime(2006, 3, 2, 0, 0, 9), "blue hats", None, None),
]


@pytest.mark.parametrize("name", ["log.tsv", "log.txt.gz", "log.zst"])
@pytest.mark.parametrize(
    "text",
    [
        HEADER + FIVE + EMPTY + THREE,
        FIVE + EMPTY + THREE,
        (HEADER + FIVE + EMPTY + THREE).replace("\n", "\r\n"),
        "\ufeff" + HEADER + FIVE + EMPTY + THREE,
        "\ufeff" + FIVE + EMPTY + THREE,
        HEADER + FIVE + EMPTY + THREE.rstrip("\n"),
        HEADER + "\n" + FIVE + "\n\n   \n" + EMPTY + THREE + "\n",
    ],
    ids=["header", "headless", "crlf", "bom", "bom-headless", "no-final-newline", "blank-lines"],
)
def test_variants(write, rows, name, text):
    log = coterie.read(write(name, text))
    assert log.shape.name == "QUERIES"
    assert rows(log) == EXPECTED
    assert log.history[0].counts == {"lines": 3, "bad": 0}
    assert log.history[0].notes == ()


def test_files_with_their_own_headers(write, rows):
    first = write("a.tsv", HEADER + FIVE)
    second = write("b.tsv.gz", HEADER + EMPTY)
    third = write("c.tsv", THREE)
    assert rows(coterie.read([first, second, third])) == EXPECTED


def test_glob_is_in_byte_order_and_skips_folders(write, rows, tmp_path):
    write("logs/2.tsv", HEADER + EMPTY + THREE)
    write("logs/1.tsv", HEADER + FIVE)
    (tmp_path / "logs" / "folder.tsv").mkdir()
    assert rows(coterie.read(str(tmp_path / "logs" / "*.tsv"))) == EXPECTED


def test_a_file_named_twice_is_read_once(write, rows, tmp_path):
    path = write("a.tsv", HEADER + FIVE)
    assert rows(coterie.read([path, str(tmp_path / "*.tsv")])) == EXPECTED[:1]


def test_an_empty_file_among_others(write, rows):
    paths = [write("a.tsv", ""), write("b.tsv", HEADER + FIVE), write("c.tsv.gz", "")]
    assert rows(coterie.read(paths)) == EXPECTED[:1]


def test_empty_fields_are_missing_and_the_query_is_text(write, rows):
    text = "\t\t\t\t\n" + "\tx\t\t\t\n" + "7\t\t2006-03-01 10:00:00\t\t\n"
    log = coterie.read(write("a.tsv", HEADER + text))
    assert rows(log) == [
        (None, None, "", None, None),
        (None, None, "x", None, None),
        ("7", datetime(2006, 3, 1, 10), "", None, None),
    ]


@pytest.mark.parametrize(
    "query",
    ["nan", "null", "NA", "true", "1e5", "007", "-", '"a', "a\u2028b\x85c\x0bd\x0ce\0f", " x "],
)
def test_queries_stay_as_they_are(write, rows, query):
    log = coterie.read(write("a.tsv", HEADER + f"007\t{query}\t2006-03-01 10:00:00\t\t\n"))
    assert rows(log, "user", "query") == [("007", query)]


def test_a_lone_carriage_return_is_a_space(write, rows):
    text = "7\ta\rb\t2006-03-01 10:00:00\t1\thttp://x.example\r\r\n"
    assert rows(coterie.read(write("a.tsv", HEADER + text)), "query", "url") == [("a b", "http://x.example ")]


def test_a_line_of_a_megabyte(write, rows):
    long = "x" * (1 << 20)
    text = f"7\t{long}\t2006-03-01 10:00:00\t\t\n" + THREE
    log = coterie.read(write("a.tsv", text))
    assert [len(query) for (query,) in rows(log, "query")] == [1 << 20, 9]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("7\tx", "columns"),
        ("7\tx\t2006-03-01 10:00:00\t1", "columns"),
        ("7\tx\t2006-03-01 10:00:00\t1\thttp://x.example\tmore", "columns"),
        ("7\tx\tyesterday\t\t", "time"),
        ("7\tx\t2006-02-30 10:00:00\t\t", "time"),
        ("7\tx\t2006-03-01 10:00:00\tfirst\thttp://x.example", "rank"),
        ("7\tx\t2006-03-01 10:00:00\t99999999999\thttp://x.example", "rank"),
    ],
)
def test_bad_lines_are_named_by_number(write, line, reason):
    path = write("a.tsv", HEADER + FIVE + "\n" + line + "\n" + FIVE)
    with pytest.raises(InputError, match=rf"1 of 3 lines .* aol\. The first: a\.tsv line 4, {reason} \("):
        coterie.read(path)


def test_sniffing_needs_the_right_form(write):
    for line in (
        "7\tx\t2006-03-01",
        "7 x 2006-03-01 10:00:00",
        "7\tx\t2006-03-01 10:00:00\tone\turl",
    ):
        with pytest.raises(InputError, match="none of the known formats"):
            coterie.read(write("a.txt", line + "\n"))
