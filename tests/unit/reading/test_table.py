"""Tables: csv, tsv, parquet and jsonl with named columns.

Covers: reading/values.py
"""

import gzip
import json
from datetime import UTC, date, datetime, timedelta, timezone

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import coterie
from coterie.errors import CoterieError, InputError

TIME = datetime(2006, 3, 1, 10, 0, 5)
NOON = "2006-03-01 12:00:00"
WORDS = ["nan", "null", "NA", "None", "true", "1e5", "007", "-", "2006-03-01", "#x", "1.0", "'x'"]


def quoted(*fields):
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields) + "\n"


# csv


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.txt"])
def test_csv(write, rows, name):
    text = (
        "user,query,time,rank,url,extra\n"
        'u1,"a, ""b"" c",2006-03-01 10:00:05,3,http://x.example,1\n'
        'u2,"two\nlines\n\nand more",2006-03-01T10:00:05Z,,,\n'
        ",plain,,,,\n"
    )
    log = coterie.read(write(name, text))
    assert rows(log) == [
        ("u1", TIME, 'a, "b" c', 3, "http://x.example"),
        ("u2", TIME, "two lines and more", None, None),
        (None, None, "plain", None, None),
    ]
    assert log.history[0].counts == {"lines": 3, "bad": 0}


@pytest.mark.parametrize(
    "text",
    [
        "user,query\nu1,x\nu2,y\n",
        "user,query\r\nu1,x\r\nu2,y",
        "\ufeffuser,query\nu1,x\nu2,y\n",
        '\ufeff"user","query"\nu1,x\nu2,y\n',
        "\n\nuser,query\n\nu1,x\n   \n\nu2,y\n\n",
        "query,user\nx,u1\nquery,user\ny,u2\n",
        'user,query\n"u1","x"\nu2,"y"\n',
    ],
    ids=["plain", "crlf", "bom", "bom-quoted", "blank-lines", "header-again", "quotes"],
)
def test_csv_variants(write, rows, text):
    log = coterie.read(write("t.csv", text))
    assert rows(log, "user", "query") == [("u1", "x"), ("u2", "y")]
    assert log.history[0].counts["lines"] == 2


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_words_stay_text(write, rows, word, kind):
    text = {
        "csv": f"user,query\n{word},{word}\n",
        "tsv": f"user\tquery\n{word}\t{word}\n",
        "jsonl": f'{{"user":"{word}","query":"{word}"}}\n',
    }[kind]
    assert rows(coterie.read(write(f"t.{kind}", text)), "user", "query") == [(word, word)]


def test_csv_empty_and_missing(write, rows):
    text = 'user,query,url\n"","",""\n,,x\nu,,\n,"",\n'
    assert rows(coterie.read(write("t.csv", text)), "user", "query", "url") == [
        (None, "", None), (None, "", "x"), ("u", "", None), (None, "", None),
    ]  # fmt: skip


def test_csv_of_one_column(write, rows):
    assert rows(coterie.read(write("t.csv", 'query\nx\n\n""\n"a,b"\n')), "query") == [
        ("x",),
        ("",),
        ("a,b",),
    ]


def test_csv_breaks(write, rows):
    text = 'user,query\nu,a\rb\nu,"c\r\nd"\nu,"e\tf"\nu,g\u2028h\x85i\x0bj\x0ck\0l\n'
    assert rows(coterie.read(write("t.csv", text)), "query") == [
        ("a b",), ("c d",), ("e f",), ("g\u2028h\x85i\x0bj\x0ck\0l",),
    ]  # fmt: skip


def test_csv_long_values(write, rows):
    long = "x" * (1 << 20)
    log = coterie.read(write("t.csv", f'user,query\nu,{long}\nv,"{long}"\n'))
    assert [len(query) for (query,) in rows(log, "query")] == [1 << 20] * 2


def test_csv_quotes_inside_a_value(write, rows):
    text = 'user,query\nu,5" disk\nv,"x"y\nw,a "b" c\n'
    assert rows(coterie.read(write("t.csv", text)), "query") == [
        ('5" disk',),
        ("xy",),
        ('a "b" c',),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("u,x", "columns"),
        ("u,x,2006-03-01 10:00:05,1,2", "columns"),
        ("u,x,noon,1", "time"),
        ("u,x,,first", "rank"),
        ('"u,x,,1', "columns"),
    ],
)
def test_csv_bad_lines(write, line, reason):
    head = 'user,query,time,rank\n\nu,"two\nlines",,\n'
    first, second = write("a.csv", head + "\n\n"), write("b.csv", head + line + "\n")
    with pytest.raises(InputError, match=rf"1 of 3 lines .* The first: b\.csv line 5, {reason} \("):
        coterie.read([first, second])


def test_csv_bad_lines_of_a_tidy_file(write):
    text = "user,query,rank\nu,x,1\n\nu,x,one\n"
    with pytest.raises(InputError, match=r"b\.csv line 4, rank"):
        coterie.read([write("a.csv", "user,query,rank\nu,x,1\n\n"), write("b.csv", text)])


def test_csv_damaged_text(write, rows):
    good = b"u,x,\n" * 200
    path = write("t.csv", b"user,query,url\n" + good + b"u,\xff,\n" + good)
    log = coterie.read(path)
    assert log.history[0].counts == {"lines": 401, "bad": 1}
    assert "t.csv line 202, encoding" in log.history[0].notes[0]
    assert len(rows(log)) == 400


def test_damage_in_a_column_that_is_not_used(write, rows):
    path = write("t.csv", b"user,query,note\nu,x,\xff\n" + b"u,y,n\n" * 200)
    assert len(rows(coterie.read(path))) in (200, 201)


# tsv


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz", "t.zst", "t.csv"])
def test_tsv_has_no_quotes(write, rows, name):
    text = 'user\tquery\turl\n"u1\t"a "b\t\nu2\t"x"\t"\n'
    assert rows(coterie.read(write(name, text)), "user", "query", "url") == [
        ('"u1', '"a "b', None),
        ("u2", '"x"', '"'),
    ]


def test_tsv_keeps_rows_without_values(write, rows):
    text = "user\ttime\tquery\trank\turl\n\t\t\t\t\n\t\t \t\t\n\n"
    assert rows(coterie.read(write("t.tsv", text))) == [
        (None, None, "", None, None),
        (None, None, " ", None, None),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [("u", "columns"), ("u\tx\t\t", "columns"), ("u\tx\tnoon", "time"), ("u\tx\t20060301", "time")],
)
def test_tsv_bad_lines(write, line, reason):
    head = "user\tquery\ttime\n"
    first, second = write("a.tsv", "\n" + head + "u\tx\t\n\n"), write("b.tsv", head + line)
    with pytest.raises(InputError, match=rf"1 of 2 lines .* b\.tsv line 2, {reason} \("):
        coterie.read([first, second])


def test_tsv_odd_column_names(write, rows):
    text = "row\tline\tquery\t_0\t_bad\t\t\n1\t2\tx\t3\t4\t5\t6\n"
    path = write("t.tsv", text)
    assert rows(coterie.read(path), "query") == [("x",)]
    log = coterie.read(path, columns={"user": "row", "url": "_bad"})
    assert rows(log, "user", "query", "url") == [("1", "x", "4")]


# jsonl


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.zst"])
def test_jsonl(write, rows, name):
    text = (
        '{"user": "u1", "time": "2006-03-01 10:00:05", "note": {"a": [1]}}\n'
        "\n"
        '{"user": 12, "query": "a\\tb\\u2028c", "rank": 3, "time": 1141207205, "url": "x"}\r\n'
        '{"user": null, "query": 1.0, "rank": 4.0, "time": 1141207205000}\n'
        "   \n"
        '{"user": true, "query": "q", "rank": null}'
    )
    log = coterie.read(write(name, text))
    assert rows(log) == [
        ("u1", TIME, "", None, None),
        ("12", TIME, "a b\u2028c", 3, "x"),
        (None, TIME, "1", 4, None),
        ("true", None, "q", None, None),
    ]


def test_jsonl_fields_that_come_late(write, rows):
    plain = '{"user": "u", "query": "x"}\n' * 5000
    log = coterie.read(write("t.jsonl", plain + '{"user": "u", "query": "x", "url": "late"}\n'))
    assert rows(log, "url")[-1] == ("late",)


@pytest.mark.parametrize(
    "line",
    [
        "null",
        "[1]",
        "17",
        '{"query": "x"',
        '{"query": "x"},{"query": "y"}',
        "junk",
        b'{"query": "\xff"}',
    ],
)
def test_jsonl_bad_lines(write, rows, line):
    raw = line if isinstance(line, bytes) else line.encode()
    good = b'{"user": 1.0, "query": "x", "rank": "3"}\n'
    path = write("t.jsonl", good * 100 + b"\n" + raw + b"\n" + good * 100)
    log = coterie.read(path)
    assert log.history[0].counts == {"lines": 201, "bad": 1}
    assert "t.jsonl line 102, columns" in log.history[0].notes[0]
    assert set(rows(log, "user", "query", "rank")) == {("1", "x", 3)}


def test_jsonl_bad_values(write):
    with pytest.raises(InputError, match=r"b\.jsonl line 3, rank"):
        coterie.read([
            write("a.jsonl", '\n{"query": "x"}\n\n'),
            write("b.jsonl", '{"query": "x"}\n\n{"query": "x", "rank": "one"}\n'),
        ])  # fmt: skip


# parquet


def test_parquet(rows, tmp_path):
    frame = pl.DataFrame({"query": ["x", None], "row": [5, 6], "time": [TIME, None], "user": [1, None]})
    frame.write_parquet(tmp_path / "t.tsv")
    frame.write_parquet(tmp_path / "t2.parquet")
    log = coterie.read([tmp_path / "t.tsv", tmp_path / "t2.parquet"])
    assert rows(log) == [("1", TIME, "x", None, None), (None, None, "", None, None)] * 2


def test_parquet_bad_values(tmp_path):
    for name, ranks in (("a", ["1", "2"]), ("b", ["3", "four"])):
        pl.DataFrame({"query": ["x", "y"], "rank": ranks}).write_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(InputError, match=r"b\.parquet row 2, rank"):
        coterie.read(str(tmp_path / "*.parquet"))


def test_parquet_cut_or_damaged(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"query": [f"canary {i}" for i in range(5000)]}).write_parquet(path, compression="uncompressed")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"parquet"):
        coterie.read(path)
    path.write_bytes(data[:8] + b"\xff" * 2000 + data[2008:])
    with pytest.raises(InputError, match=r"t\.parquet"):
        coterie.read(path)


# headers and --columns


def test_columns_are_mapped(write, rows):
    path = write("t.csv", "when,who,what,query\n2006-03-01 10:00:05,u1,x,other\n")
    log = coterie.read(path, columns={"user": "who", "query": "what", "time": "when"})
    assert rows(log) == [("u1", TIME, "x", None, None)]
    swapped = coterie.read(path, columns={"user": "query", "query": "who"})
    assert rows(swapped, "user", "query") == [("other", "u1")]


def test_path_makes_an_access_log(write, rows):
    path = write("t.csv", "user,path,status,bytes,query\nu,/a,200,17,s=1\n")
    assert coterie.read(path).shape.name == "QUERIES"
    log = coterie.read(path, columns={"path": "path"})
    assert log.shape.name == "VISITS"
    assert rows(log, "user", "path", "status", "bytes", "agent") == [("u", "/a", 200, 17, None)]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a,b\n1,2\n", None, "none of the known formats"),
        ("a,b\n1,2\n", {"user": "a"}, "none of them called 'query'"),
        ("a,query\n1,2\n", {"user": "b"}, r'columns={"user": "b"}: the table has no column'),
        ("a,query\n1,2\n", {"usr": "a"}, "a log has no column 'usr'"),
        ("a,query\n1,2\n", {"row": "a"}, "a log has no column 'row'"),
        ("query,query\n1,2\n", None, "twice"),
        ("query\tquery\n1\t2\n", None, "twice"),
    ],
)
def test_wrong_headers(write, text, columns, message):
    with pytest.raises(InputError, match=message):
        coterie.read(write("t.csv", text), columns=columns or {})


def test_other_names_may_be_double(write, rows):
    for name, text in (("t.csv", "query,,,\nx,1,2,3\n"), ("t.tsv", "query\ta\ta\nx\t1\t2\n")):
        assert rows(coterie.read(write(name, text)), "query") == [("x",)]


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_files_of_a_table_have_the_same_columns(tmp_path, kind):
    for name, columns in (("a", ["user", "query"]), ("b", ["query", "user"])):
        frame = pl.DataFrame({key: ["x"] for key in columns})
        if kind == "parquet":
            frame.write_parquet(tmp_path / f"{name}.{kind}")
        else:
            frame.write_csv(tmp_path / f"{name}.{kind}", separator="\t" if kind == "tsv" else ",")
    with pytest.raises(InputError, match=rf"b\.{kind} has other columns"):
        coterie.read([tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"])


def test_a_missing_header_is_not_a_row_of_names(write):
    with pytest.raises(InputError, match="other columns"):
        coterie.read([write("a.csv", "user,query\nu,x\n"), write("b.csv", "u,x\n")])


def test_empty_files_among_others(write, rows):
    for kind, head, line in (("csv", "user,query\n", "u,x\n"), ("tsv", "user\tquery\n", "u\tx\n")):
        paths = [write(f"a.{kind}", ""), write(f"b.{kind}", head + line), write(f"c.{kind}.gz", ""),
                 write(f"d.{kind}", head), write(f"e.{kind}.gz", head + line)]  # fmt: skip
        assert rows(coterie.read(paths), "user", "query") == [("u", "x")] * 2


# values


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2006-03-01 10:00:05", TIME),
        (" 2006-03-01 10:00:05 ", TIME),
        ("2006-03-01T10:00:05", TIME),
        ("2006-03-01T10:00:05Z", TIME),
        ("2006-03-01 10:00:05+0000", TIME),
        ("2006-03-01T12:00:05+02:00", TIME),
        ("2006-03-01 10:00:05.25", TIME.replace(microsecond=250000)),
        ("2006-03-01T10:00:05.250-00:00", TIME.replace(microsecond=250000)),
        ("2006-03-01 10:00", datetime(2006, 3, 1, 10)),
        ("2006-03-01", datetime(2006, 3, 1)),
        ("1141207205", TIME),
        ("1141207205.5", TIME.replace(microsecond=500000)),
        ("1141207205000", TIME),
        ("", None),
        ("  ", None),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_times_as_text(write, rows, text, time, kind):
    sep = "\t" if kind == "tsv" else ","
    lines = [("user", "query", "time"), ("u", "x", text), ("u", "y", NOON)]
    log = coterie.read(write(f"t.{kind}", "".join(sep.join(line) + "\n" for line in lines)))
    assert rows(log, "time") == [(time,), (datetime(2006, 3, 1, 12),)]


@pytest.mark.parametrize("text", ["noon", "03/01/2006", "20060301", "20060301100005", "10:00:05", "2006"[:0] + "x1"])
def test_times_that_are_none(write, text):
    with pytest.raises(InputError, match="time"):
        coterie.read(write("t.csv", f"query,time\nx,{text}\n"))


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([TIME]),
        pl.Series([TIME]).cast(pl.Datetime("ns")),
        pl.Series([TIME]).cast(pl.Datetime("ms")),
        pl.Series([TIME.replace(tzinfo=UTC)]),
        pl.Series([TIME.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=2)))]),
        pl.Series([TIME]).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        pl.Series([1141207205]),
        pl.Series([1141207205.0]),
        pl.Series([1141207205000]),
        pl.Series([1141207205000000]),
        pl.Series([1141207205000000000]),
        pl.Series([str(TIME)]),
        pl.Series([str(TIME)]).cast(pl.Categorical),
    ],
)
def test_times_of_many_types(rows, values):
    frame = pl.DataFrame({"query": ["x"], "time": values})
    assert rows(coterie.log(frame), "time") == [(TIME,)]
    assert rows(coterie.log(frame.to_arrow()), "time") == [(TIME,)]


def test_dates(rows):
    frame = pl.DataFrame({"query": ["x", "y"], "time": [date(2006, 3, 1), None]})
    assert rows(coterie.log(frame), "time") == [(datetime(2006, 3, 1),), (None,)]


def test_floats_of_pandas(rows):
    frame = pd.DataFrame({"user": [1, None, 3], "query": ["x", None, "y"], "rank": [None, 2, 3]})
    assert frame["user"].dtype == float
    assert rows(coterie.log(frame), "user", "query", "rank") == [
        ("1", "x", None),
        (None, "", 2),
        ("3", "y", 3),
    ]


def test_text_that_pandas_wrote(rows, tmp_path):
    frame = pd.DataFrame({"user": ["a", None], "query": ["x", "null"], "rank": [None, 2]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "indexed.csv")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "indexed.csv", "t.jsonl", "t.parquet"):
        log = coterie.read(tmp_path / name)
        assert rows(log, "user", "query", "rank") == [("a", "x", None), (None, "null", 2)], name


@pytest.mark.parametrize(
    ("user", "text"),
    [
        (pl.Series(["007", None], dtype=pl.Categorical), "007"),
        (pl.Series(["007", None], dtype=pl.Enum(["007"])), "007"),
        (pl.Series([7, None], dtype=pl.UInt64), "7"),
        (pl.Series([7.0, None]), "7"),
        (pl.Series([7.0, float("nan")]), "7"),
        (pl.Series([7.5, None]), "7.5"),
        (pl.Series([True, None]), "true"),
        (pl.Series([b"u7", None]), "u7"),
        (pl.Series(["a\tb\r\nc\nd", ""]), "a b c d"),
        (pl.Series(["a\u2028b\x0bc", ""]), "a\u2028b\x0bc"),
    ],
)
def test_users_of_many_types(rows, user, text):
    frame = pl.DataFrame({"user": user, "query": ["x", "y"]})
    assert rows(coterie.log(frame), "user") == [(text,), (None,)]


@pytest.mark.parametrize(
    "rank",
    [
        pl.Series([3, None]),
        pl.Series([3.0, None]),
        pl.Series([3.0, float("nan")]),
        pl.Series(["3", ""]),
        pl.Series([" 3 ", None]),
        pl.Series(["3.0", ""]),
        pl.Series(["3", None], dtype=pl.Categorical),
        pl.Series([3, None], dtype=pl.Int128),
    ],
)
def test_ranks_of_many_types(rows, rank):
    frame = pl.DataFrame({"query": ["x", "y"], "rank": rank})
    assert rows(coterie.log(frame), "rank") == [(3,), (None,)]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_spaces_do_not_make_another_user(write, rows, kind):
    ids = ["7", " 7", "7 ", "\u00a07", "  "]
    table = pl.DataFrame({"user": ids, "query": ["a"] * 5})
    text = {
        "csv": table.write_csv(),
        "tsv": table.write_csv(separator="\t"),
        "jsonl": table.write_ndjson(),
    }[kind]
    for log in (coterie.read(write(f"a.{kind}", text)), coterie.log(table)):
        assert rows(log, "user") == [("7",)] * 4 + [(None,)]


def test_columns_without_any_value(rows):
    nothing = pl.Series([None, None], dtype=pl.Null)
    frame = pl.DataFrame(dict.fromkeys(["user", "query", "time", "rank", "url"], nothing))
    assert rows(coterie.log(frame)) == [(None, None, "", None, None)] * 2


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("rank", ["one"]), ("rank", [2.5]), ("rank", [2**40]), ("rank", [date(2006, 3, 1)]),
        ("time", ["noon"]), ("time", [True]), ("time", [20060301]), ("time", [timedelta(1)]),
        ("user", [["a"]]), ("query", [{"a": "canary"}]),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type(column, values):
    frame = pl.DataFrame({"query": ["x"], column: values})
    with pytest.raises(InputError, match=column) as caught:
        coterie.log(frame)
    assert "canary" not in str(caught.value)


def test_bytes_that_are_not_text():
    with pytest.raises(InputError, match="UTF-8"):
        coterie.log(pl.DataFrame({"query": ["x"], "user": [b"\xff"]}))


def test_tables_of_all_kinds(rows):
    frame = pl.DataFrame({"row": [9], "cookie": ["u"], "q": ["x"]})
    columns = {"user": "cookie", "query": "q"}
    for table in (
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        pa.table({"cookie": ["u"], "q": ["x"]}),
    ):
        assert rows(coterie.log(table, columns=columns), "user", "query") == [("u", "x")]


@pytest.mark.parametrize(
    "table",
    [
        {"query": ["x"]},
        [1],
        "x.tsv",
        None,
        pd.Series(["canary"]),
        pd.DataFrame({"query": ["x", {"canary": 1}]}),
    ],
    ids=["dict", "list", "text", "none", "series", "mixed"],
)
def test_what_is_no_table(table):
    with pytest.raises(InputError) as caught:
        coterie.log(table)
    assert "canary" not in str(caught.value)


def test_gz_by_content_and_not_by_name(rows, tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes(gzip.compress(b"user\tquery\nu\tx\n"))
    assert rows(coterie.read(path), "user", "query") == [("u", "x")]


WIDE = "cookie,search_term,device class,geo\nu,x,phone,de\nv,x,,de\n"


@pytest.mark.parametrize("details", ["device=device class,country=geo", ["device=device class", "country=geo"],
                                     {"device": "device class", "country": "geo"}])  # fmt: skip
def test_further_details_are_columns_of_ones_own(details, rows, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(WIDE)
    log = coterie.read(path, details=details)
    assert rows(log, "user", "query", "device", "country") == [("u", "x", "phone", "de"), ("v", "x", None, "de")]
    assert log.shape.further == ("device", "country")
    assert log.settings["details"] == ("device=device class", "country=geo")
    assert log.digest != coterie.read(path).digest
    assert log.digest != coterie.read(path, details="country=geo,device=device class").digest


def test_further_details_of_every_kind_of_table(rows, tmp_path):
    frame = pl.DataFrame({"user": ["u", "v"], "query": ["x", "y"], "device": ["phone", None], "app": [3, 4]})
    frame.write_parquet(tmp_path / "x.parquet")
    frame.write_csv(tmp_path / "x.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "x.jsonl")
    (tmp_path / "n.jsonl").write_text(
        '{"user": "u", "query": "x", "of": {"device": "phone"}, "app": 3}\n{"user": "v", "query": "y", "app": 4}\n'
    )
    expected = [("u", "x", "phone", "3"), ("v", "y", None, "4")]
    for name in ("x.parquet", "x.tsv", "x.jsonl"):
        log = coterie.read(tmp_path / name, details="device,app")
        assert rows(log, "user", "query", "device", "app") == expected
    log = coterie.read(tmp_path / "n.jsonl", details="device=of.device,app")
    assert rows(log, "user", "query", "device", "app") == expected
    assert rows(coterie.log(frame, details="device,app"), "user", "query", "device", "app") == expected


@pytest.mark.parametrize(("details", "message"), [
    ("nothing", "no column of that name"),
    ("device=cookie", "that column is the user already"),
    ("again=search_term", "that column is the query already"),
    ("one=geo,two=geo", "that column is the (one|two) already"),
    ("time=geo", "cannot be called 'time'"),
    ("geo,geo", "each name once"),
    ("=geo", "our name first"),
])  # fmt: skip
def test_further_details_that_cannot_be(details, message, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(WIDE)
    with pytest.raises(CoterieError, match=message):
        coterie.read(path, details=details)


def test_further_details_are_of_searches_in_tables(tmp_path):
    with pytest.raises(InputError, match="for logs of queries"):
        coterie.log(pl.DataFrame({"user": ["u"], "path": ["/x"], "device": ["phone"]}), details="device")
    path = tmp_path / "x.log"
    path.write_text('1.2.3.4 - - [03/Feb/2020:09:00:00 +0000] "GET /x HTTP/1.1" 200 1\n')
    with pytest.raises(CoterieError, match="is read as clf, which makes no use of details"):
        coterie.read(path, details="device", format="clf")


@pytest.mark.parametrize("layout", ["lines", "array"])
def test_a_path_that_leads_nowhere_is_refused(tmp_path, layout):
    """It read 0 rows, and the user column was blamed."""
    found = [{"user": str(n), "input": [{"content": "tea"}], "o": {"q": None if n else "tea"}} for n in range(3)]
    text = "\n".join(map(json.dumps, found)) if layout == "lines" else json.dumps(found, indent=1)
    path = tmp_path / "log.json"
    path.write_text(text)
    for column in ("input.0.content", "input.content", "o.z", "o.q.z", "user.name"):
        with pytest.raises(InputError) as refused:
            coterie.read(path, columns={"user": "user", "query": column})
        missing = f'columns={{"query": "{column}"}}: the table has no column of that name'
        assert str(refused.value) == f"{missing}. A path leads into objects, not into lists."
        with pytest.raises(InputError, match=f'details={{"device": "{column}"}}: the table has no column'):
            coterie.read(path, columns={"user": "user", "query": "o.q"}, details=f"device={column}")
    assert coterie.read(path, columns={"user": "user", "query": "o.q"}).to_polars().height == 3
