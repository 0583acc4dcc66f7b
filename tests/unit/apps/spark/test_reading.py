"""A log that is read elsewhere says the same about itself as one that is read here."""

import glob
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import coterie
from coterie.apps.spark.reading import _Place, _table_log, read_there
from coterie.errors import InputError, NoRowsError, ParameterError
from coterie.reading.logs import read as read_here
from coterie.reading.reading import Reading
from coterie.testing.scattered import Scattered

PLENTY = 60


ROWS_OF_A_BLOCK = 20
LAKE = "lake:/"
"""What paths begin with that only the cluster can read."""


class Files(Scattered):
    """Scattered rows of files, in terms of polars what a cluster does in its own."""

    def __init__(self, seed=0):
        super().__init__(seed, blocks=2)
        self.cut_into = []
        """Into how many parts rows were cut, each time."""

    def files(self, places):
        """As Spark: every path is a pattern, hidden files are left out, and two patterns may name a file twice."""
        return [str(path) for place in places for path in self._found(place)]

    def _found(self, place):
        path = place.removeprefix("file:").removeprefix(LAKE)
        pattern = re.sub(r"\\(.)", lambda sign: glob.escape(sign[1]), path)
        return [path for path in sorted(map(Path, glob.glob(pattern))) if path.name[0] not in "_."]  # noqa: PTH207

    def _lines(self, path):
        """As Spark: the ending says how a file is compressed, and it begins behind its byte order mark."""
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        return data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")

    def lines(self, places, name):
        texts = [line for path in self.files(places) for line in self._lines(Path(path))]
        return pl.DataFrame({name: texts}, schema={name: pl.Binary})

    def heads(self, places):
        files = map(Path, self.files(places))
        return [(path.name, next(line for line in self._lines(path) if line.strip())) for path in files]

    def parquet(self, places):
        return pl.concat([pl.read_parquet(path, glob=False) for path in self.files(places)])

    def columns(self, rows, names):
        return rows.select(pl.col(name).alias(f"_{at}") for at, name in enumerate(names))

    def numbered_rows(self, rows, name):
        return rows.with_row_index(name).with_columns(pl.col(name).cast(pl.Int64) * 7)

    def of(self, rows):
        assert not any("." in name for name in rows.columns), "Spark hands over no name with a dot in it"
        return self.frame(self.put(rows))

    def first(self, rows, count):
        return rows.to_series().head(count).to_list()

    def sample(self, rows, count):
        return rows.head(count)

    def expect(self, rows):
        self._blocks = max(2, -(-rows // ROWS_OF_A_BLOCK))

    def run_blocks(self, tables, by, piece):
        self.cut_into.append(self._blocks)
        return super().run_blocks(tables, by, piece)


def _both(paths, *, seed=1, **options):
    """The same files read here and elsewhere."""
    paths, given = [str(path) for path in paths], Reading(**options)
    return read_here(paths, given), read_there(Files(seed), paths, given)


def _same(here, there):
    assert there.shape == here.shape
    assert there.settings == here.settings
    assert there.warnings == here.warnings
    assert there.guessed == here.guessed
    assert there.reading == here.reading
    assert there.digest == here.digest
    assert there.history[0].counts == here.history[0].counts
    columns = list(here.shape.released)
    assert (
        there.frame.collect().select(columns).sort(columns).equals(here.frame.collect().select(columns).sort(columns))
    )
    assert [note for note in there.notes if "could not be read" not in note] == [
        note for note in here.notes if "could not be read" not in note
    ]


def _table(path, columns, kind):
    rows = pl.DataFrame(columns)
    if kind == "parquet":
        rows.write_parquet(path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows.iter_rows(named=True)))
    else:
        rows.write_csv(path, separator="\t" if kind == "tsv" else ",")
    return path


def _log(users, **others):
    n = len(users)
    return {
        **others, "who": users, "search": [f"tea {i % 7}" for i in range(n)], "ts": ["2020-02-03 09:00:00"] * n
    }  # fmt: skip


def _people(n):
    return [f"p{i % 9}" for i in range(n)]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("column", "warns"), [("user_id", ()), ("session_id", ("k counts sessions",)), ("ip", ("k counts addresses",))]
)
def test_columns_are_guessed_once_and_said(tmp_path, kind, column, warns):
    given = {(column if name == "who" else name): value for name, value in _log(_people(PLENTY)).items()}
    here, there = _both([_table(tmp_path / f"log.{kind}", given, kind)])
    _same(here, there)
    assert there.settings["columns"] == {"query": "search", "user": column, "time": "ts"}
    assert len(there.warnings) == len(warns)
    assert all(text.startswith(start) for text, start in zip(there.warnings, warns, strict=True))


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "parquet"])
def test_named_columns_and_names_that_hardly_come_again(tmp_path, kind):
    path = _table(tmp_path / f"log.{kind}", _log([f"r{i}" for i in range(PLENTY)]), kind)
    here, there = _both([path], columns={"user": "who", "query": "search", "time": "ts"})
    _same(here, there)
    assert any("more than half as many users as rows" in text for text in there.warnings)


def test_a_guessed_column_that_names_rows_is_a_question(tmp_path):
    """The first thousand values come again, so that only counting all of them tells."""
    users = [f"u{i % 400}" for i in range(1000)] + [f"r{i}" for i in range(3000)]
    given = {("user_id" if name == "who" else name): value for name, value in _log(users).items()}
    path = _table(tmp_path / "log.parquet", given, "parquet")
    sentences = []
    for read in (
        lambda: read_here([path]),
        lambda: read_there(Files(), [str(path)], Reading()),
    ):
        with pytest.raises(InputError, match=r"3,400 different values in 4,000 rows") as error:
            read()
        sentences.append(str(error.value))
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_names_that_look_alike(tmp_path, seed):
    users = ["kim", "Kim", "ki\u200bm", "7", "007", "9", "\uff4bim", "\u00e9ric", "e\u0301ric"] * 8
    path = _table(tmp_path / "log.csv", _log(users), "csv")
    here, there = _both([path], seed=seed, columns={"user": "who", "query": "search"})
    _same(here, there)
    assert any(note.startswith("8 of 9 user names look like another one") for note in there.notes)


def test_a_table_in_memory():
    given = pl.DataFrame(_log(_people(PLENTY))).rename({"who": "sid"})
    here, there = coterie.log(given), _table_log(_Place(Files()), given, Reading())
    assert there.settings == here.settings
    assert there.warnings == here.warnings != ()
    assert there.notes == here.notes != ()
    assert (there.guessed, there.history) == (here.guessed, here.history)


def test_remarks_and_who_is_counted_of_an_access_log(tmp_path):
    line = '{address} - - [03/Feb/2020:09:00:00 +0100] "GET /tea HTTP/1.1" 200 512 "-" "{agent}"\n'
    texts = [line.format(address=f"192.0.2.{i % 9}", agent="-" if i % 2 else "Browser/1") for i in range(PLENTY)]
    (tmp_path / "access.log").write_text("".join(texts))
    here, there = _both([tmp_path / "access.log"])
    _same(here, there)
    assert there.settings == {"counted": "address+agent"}
    assert there.notes


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_bad_lines_byte_order_marks_and_carriage_returns(tmp_path, kind):
    text = _table(tmp_path / f"log.{kind}", _log(_people(PLENTY * 4)), kind).read_text()
    spoiled = text.replace("2020-02-03 09:00:00", "yesterday", 1).replace("\n", "\r\n")
    for number in (1, 2):
        (tmp_path / f"log{number}.{kind}").write_bytes(b"\xef\xbb\xbf" + spoiled.encode())
    paths = [tmp_path / f"log{number}.{kind}" for number in (1, 2)]
    here, there = _both(paths, columns={"user": "who", "query": "search", "time": "ts"})
    _same(here, there)
    assert there.history[0].counts["bad"] == 2


def test_fields_that_some_lines_lack(tmp_path):
    """A batch may have none of the objects that have a field, and must find its columns all the same."""
    objects = [{"user": f"u{i % 5}", "search": {"query": f"tea {i % 3}"}} for i in range(40)]
    objects += [{"user": f"u{i % 5}"} for i in range(40)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in objects))
    for seed in range(4):
        _same(*_both([tmp_path / "log.jsonl"], seed=seed, columns={"user": "user", "query": "search.query"}))


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "parquet"])
def test_details_are_read(tmp_path, kind):
    given = _log(_people(PLENTY), device=["a", "b"] * (PLENTY // 2))
    path = _table(tmp_path / f"log.{kind}", given, kind)
    here, there = _both([path], columns={"user": "who", "query": "search"}, details={"kind": "device"})
    _same(here, there)
    assert there.settings["details"] == ("kind=device",)
    assert there.shape.further == ("kind",)


def test_the_sidecar_and_the_promise_are_the_same(tmp_path):
    given = _log(_people(PLENTY))
    path = _table(tmp_path / "log.tsv", {("sid" if name == "who" else name): v for name, v in given.items()}, "tsv")
    here, there = _both([path])
    sidecars = []
    for name, log in (("here", here), ("there", there)):
        release = coterie.anonymize(coterie.prepare(log), "suppress_rare", k=3, seed=5, users="pseudonym")
        (tmp_path / name).mkdir()
        coterie.write(release, tmp_path / name / "safe.tsv")
        sidecars.append((tmp_path / name / "safe.tsv.json").read_text())
    assert json.loads(sidecars[0]) == json.loads(sidecars[1])
    assert "3 different sessions" in sidecars[1]
    assert json.loads(sidecars[1])["reading"]["columns"]["user"] == "sid"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("log.jsonl", '{"query_id": "q", "client_id": "c", "user_query": "tea"}\n', "The format ubi is read on one"),
        ("log.json", '[\n{"user": "a", "query": "b"},\n{"user": "c", "query": "d"}\n]\n', "over several lines"),
        ("log.csv", "user,time,query\na,05/06/2025,b\n", "Dates such as 31/12/2025"),
    ],
)
def test_what_lines_alone_do_not_tell_is_refused(tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(ParameterError, match=sentence):
        read_there(Files(), [str(tmp_path / name)], Reading())


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("pattern", ["*", "?", "[01]"])
@pytest.mark.parametrize("place", ["", "file:", LAKE])
def test_files_with_other_columns_are_refused(tmp_path, ending, pattern, place):
    """Else people of one file would be published as the queries of another."""
    for number, text in enumerate((b"user,query\na,b\n", b"query,user\na,b\n")):
        (tmp_path / f"{number}.{ending}").write_bytes(gzip.compress(text) if ending == "csv.gz" else text)
    with pytest.raises(InputError, match=rf"1\.{ending} has other columns than the files before it"):
        read_there(Files(), [f"{place}{tmp_path}/{pattern}.{ending}"], Reading())


def _csv(path, tag, rows=PLENTY, mark=b""):
    lines = [f"p{i % 9},{tag} {i % 7},2020-02-03 09:00:00" for i in range(rows)]
    path.write_bytes(mark + "\n".join(["user_id,query,time", *lines]).encode() + b"\n")
    return path


@pytest.mark.parametrize("names", [["log[1].csv", "log1.csv"], ["a b.csv"], ["a%20b.csv"], ["{a,b}.csv", "a.csv"]])
def test_a_name_with_signs_of_patterns_means_that_file(tmp_path, names):
    for name in names:
        _csv(tmp_path / name, name.replace(",", " "))
    _same(*_both([tmp_path / names[0]]))


def test_a_file_that_two_patterns_name_is_read_once(tmp_path):
    for name in ("a1.csv", "a2.csv"):
        _csv(tmp_path / name, name)
    here, there = _both([tmp_path / "a1.csv", tmp_path / "a?.csv", tmp_path / "*.csv"])
    _same(here, there)
    assert there.history[0].counts["lines"] == 2 * PLENTY


@pytest.mark.parametrize("name", ["_a2.csv", ".a2.csv"])
def test_files_that_a_cluster_would_leave_out_are_refused(tmp_path, name):
    for each in ("a1.csv", name):
        _csv(tmp_path / each, each)
    with pytest.raises(InputError, match=r"Spark leaves out files whose names begin with _ or a dot"):
        read_there(Files(), [str(tmp_path / "a1.csv"), str(tmp_path / name)], Reading())


def test_files_that_only_the_cluster_can_list(tmp_path):
    for name in ("a1.csv", "a2.csv"):
        _csv(tmp_path / name, name, mark=b"\xef\xbb\xbf")
    log = read_there(Files(), [f"{LAKE}{tmp_path}/*.csv"], Reading())
    assert log.history[0].counts == {"lines": 2 * PLENTY, "bad": 0}
    assert (log.sources, log.reading) == ((), "")
    assert any(note.startswith("Only the cluster lists the files of this log") for note in log.notes)
    twice = [f"{LAKE}{tmp_path}/*.csv", f"{LAKE}{tmp_path}/a1.csv"]
    with pytest.raises(ParameterError, match="Two of the paths name the same file"):
        read_there(Files(), twice, Reading())


def test_what_is_compressed_says_so_by_its_name(tmp_path):
    packed = gzip.compress(_csv(tmp_path / "log.csv", "tea").read_bytes())
    (tmp_path / "packed.csv").write_bytes(packed)
    (tmp_path / "packed.csv.gz").write_bytes(packed)
    (tmp_path / "plain.csv.gz").write_bytes((tmp_path / "log.csv").read_bytes())
    _same(*_both([tmp_path / "packed.csv.gz"]))
    for name in ("packed.csv", "plain.csv.gz"):
        with pytest.raises(InputError, match=f"{name}: a cluster unpacks files whose names end in"):
            read_there(Files(), [str(tmp_path / name)], Reading())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_people_are_counted_in_as_many_parts_as_rows_need(tmp_path, kind):
    engine, path = Files(), _table(tmp_path / f"log.{kind}", _log(_people(PLENTY)), kind)
    read_there(engine, [str(path)], Reading(columns={"user": "who", "query": "search"}))
    assert engine.cut_into == [PLENTY // ROWS_OF_A_BLOCK]


def test_a_worker_that_is_killed_leaves_no_line_on_a_disk(tmp_path):
    """Its folder in memory is swept by the next one."""
    code = """if True:
        import os, signal, polars
        from coterie.core import files as scratch
        from coterie.apps.spark import reading
        from coterie.reading.reading import Reading
        print(scratch._MEMORY.is_dir())
        reading._one_by_one = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        lines = polars.DataFrame({"row": [1], "line": [b"7\\tcanary\\t2006-03-01 07:17:12\\t\\t"]})
        reading._parsed("aol", Reading(), b"", lines.lazy())
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-uc", code], env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    if done.stdout.strip() != "True":
        pytest.skip("this system has no folder in memory")
    assert list(tmp_path.rglob("*")) == []


def test_a_column_with_a_dot_in_its_name(tmp_path):
    path = _table(tmp_path / "log.parquet", {f"log.{name}": each for name, each in _log(_people(9)).items()}, "parquet")
    _same(*_both([path], columns={"user": "log.who", "query": "log.search", "time": "log.ts"}))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_bad_rows_that_are_allowed(tmp_path, kind):
    given = _log(_people(PLENTY))
    given["ts"] = ["yesterday" if i % 3 else time for i, time in enumerate(given["ts"])]
    path, columns = _table(tmp_path / f"log.{kind}", given, kind), {"user": "who", "query": "search", "time": "ts"}
    here, there = _both([path], allow_bad=True, columns=columns)
    _same(here, there)
    assert there.history[0].counts["bad"] == PLENTY // 3 * 2
    with pytest.raises(InputError, match="40 of 60 rows"):
        read_there(Files(), [str(path)], Reading(columns=columns))


def test_a_byte_order_mark_in_the_middle_is_part_of_its_line(tmp_path):
    lines = _csv(tmp_path / "log.csv", "tea", mark=b"\xef\xbb\xbf").read_bytes().split(b"\n")
    lines[30] = b"\xef\xbb\xbf" + lines[30]
    (tmp_path / "log.csv").write_bytes(b"\n".join(lines))
    here, there = _both([tmp_path / "log.csv"])
    _same(here, there)
    assert there.frame.collect()["user"].n_unique() == 10


@pytest.mark.parametrize("seed", range(4))
def test_a_line_with_a_quote_that_is_not_closed_is_bad_by_itself(tmp_path, seed):
    path = _csv(tmp_path / "log.csv", "tea", rows=1000)
    odd = ['p1,"green\ntea",2020-02-03 09:00:00', 'p1,5" disk,2020-02-03 09:00:00', 'p"1,"tea,2020-02-03 09:00:00']
    fine = 'p1,"a ""b"", c",2020-02-03 09:00:00'
    path.write_text(path.read_text() + "\n".join([*odd, fine]) + "\n")
    log = read_there(Files(seed), [str(path)], Reading())
    assert log.history[0].counts == {"lines": 1005, "bad": 4}
    assert log.frame.collect()["query"].value_counts().filter(pl.col("query").str.contains('"')).rows() == [
        ('a "b", c', 1)
    ]


def test_line_breaks_inside_of_quotes_are_told(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user_id,query\n" + 'p1,"green\ntea"\n' * PLENTY)
    with pytest.raises(InputError, match="cannot hold a line break there: files with line breaks inside of quotes"):
        read_there(Files(), [str(path)], Reading())
    path.write_text('user_id,query,"ti\nme"\n' + "p1,tea,2020-02-03 09:00:00\n" * PLENTY)
    columns = {"user": "user_id", "query": "query"}
    with pytest.raises(ParameterError, match="a quote in the header is not closed"):
        read_there(Files(), [str(path)], Reading(columns=columns))


def test_nothing_to_read(tmp_path):
    (tmp_path / "a.tsv").write_text("\n")
    (tmp_path / "b.tsv").write_text("user\tquery\n")
    for name in ("a.tsv", "b.tsv"):
        with pytest.raises(NoRowsError, match=r"\w\.tsv"):
            read_there(Files(), [str(tmp_path / name)], Reading())


def test_a_session_stays_here(tmp_path):
    """What parses lines travels with them."""

    class Session:
        def __reduce__(self):
            raise TypeError("a session does not travel")

    path = _csv(tmp_path / "log.csv", "tea")
    log = read_there(Files(), [str(path)], Reading(session=Session()))
    assert log.history[0].counts["lines"] == PLENTY
