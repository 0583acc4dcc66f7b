"""From lines to parts: formats, headers, bad lines, steps, files that are read as a whole."""

import gc
import gzip
import hashlib
import json
import os
import resource
import signal
import threading
from dataclasses import dataclass, replace
from datetime import timedelta
from time import sleep

import polars as pl
import pytest

import coterie
from coterie import jobs
from coterie.apps.gate import follow
from coterie.apps.gate.gate import Gate
from coterie.apps.gate.manage import rotate
from coterie.apps.gate.run import Stop, refuse_steps, run_gate, without_core_dumps
from coterie.core import files as scratch
from coterie.errors import InputError, MissingError, ParameterError
from coterie.reading.reading import Reading
from coterie.reading.source import Spool
from coterie.steps import parse_steps
from tests.helpers.gates import START, lines_in, rules_in, totals

PEOPLE = "abc"


def _run(folder, *paths, **given):
    rules = rules_in(folder, k=3, **({"audit": given.pop("audit")} if "audit" in given else {}))
    return run_gate(list(map(str, paths)), rules, **{"steps": parse_steps("default"), **given})


def _times(number):
    return [START + timedelta(hours=n / 3) for n in range(number)]


def _tsv(rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def _searches(number=30):
    """Three people ask "tea" in turn, and each something of their own."""
    for place, time in enumerate(_times(number)):
        yield PEOPLE[place % 3], "Tea " if place % 2 else "tea", time
        yield PEOPLE[place % 3], f"rare {place}", time


def _line(user, query, time):
    path = f"/search?q={query.replace(' ', '+')}"
    return f'10.0.0.{ord(user)} - - [{time:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" 200 1 "-" "B/1"\n'


_FILES = {
    "log.tsv": "user\tquery\ttime\n" + _tsv(_searches()),
    "log.csv": "user,query,time\n" + "".join(f'{u},"{q}",{t}\n' for u, q, t in _searches()),
    "aol.txt": "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + _tsv((u, q, t, "", "") for u, q, t in _searches()),
    "u_ex.log": "#Software: X\n#Fields: c-ip cs-username date time cs-uri-stem cs-uri-query\n"
    + "".join(f"10.0.0.1 {u} {t:%Y-%m-%d %H:%M:%S} /s q={q.strip().replace(' ', '+')}\n" for u, q, t in _searches(15))
    + "#Fields: cs-uri-query cs-username date time c-ip cs-uri-stem\n"
    + "".join(
        f"q={q.strip().replace(' ', '+')} {u} {t:%Y-%m-%d %H:%M:%S} 10.0.0.1 /s\n" for u, q, t in [*_searches()][30:]
    ),
    "log.jsonl": "".join(json.dumps({"user": u, "query": q, "time": str(t)}) + "\n" for u, q, t in _searches()),
    "ubi.ndjson": "".join(
        json.dumps({"query_id": f"{n}", "client_id": u, "user_query": q, "timestamp": f"{t:%Y-%m-%dT%H:%M:%SZ}",
                    "query": {"match": {"title": q}}, "query_attributes": {"said": q}}) + "\n"
        for n, (u, q, t) in enumerate(_searches())
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _FILES)
@pytest.mark.parametrize("chunk", [300, 1 << 22])
def test_formats_in_chunks(tmp_path, monkeypatch, name, chunk):
    monkeypatch.setattr(follow, "CHUNK", chunk)
    (tmp_path / name).write_text(_FILES[name])
    reading = Reading(query_param="q") if name == "u_ex.log" else Reading()
    numbers = _run(tmp_path, tmp_path / name, reading=reading)
    assert (numbers["events"], numbers["bad"], numbers["held"]) == (60, 0, 0)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 30)]
    again = _run(tmp_path, tmp_path / name, reading=reading)
    assert (again["events"], again["parts"]) == (60, numbers["parts"]), "what was read is not read again"


@pytest.mark.parametrize("name", _FILES)
def test_after_a_restart_no_line_counts_twice(tmp_path, name):
    """Also where the first line of a file is a row, which tells a new process what format it is."""
    lines = _FILES[name].splitlines(keepends=True)
    reading = Reading(query_param="q") if name == "u_ex.log" else Reading()
    for end, part in ((False, lines[:45]), (True, lines[45:])):
        with (tmp_path / name).open("a") as log:
            log.writelines(part)
        numbers = _run(tmp_path, tmp_path / name, reading=reading, at_end="close" if end else "keep")
    assert (numbers["events"], numbers["bad"], numbers["held"]) == (60, 0, 0)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 30)]


@pytest.mark.parametrize("named", [{}, {"user": "session"}], ids=["no column is named", "one column is named"])
def test_columns_are_guessed_in_the_first_piece_for_all(tmp_path, monkeypatch, named):
    """Later lines have a field by which people would be counted otherwise, also after a restart."""
    monkeypatch.setattr(follow, "CHUNK", 300)
    rows = [{"session": u, "q": q.strip(), "ts": str(t)} for u, q, t in _searches()]
    for place, row in enumerate(rows[30:]):
        row["user_id"] = f"one of many {place}"
    heard = []
    for end in (40, 60):
        with (tmp_path / "log.jsonl").open("a") as log:
            log.writelines(json.dumps(row) + "\n" for row in rows[0 if end == 40 else 40 : end])
        reading = Reading(columns=named)
        numbers = _run(
            tmp_path,
            tmp_path / "log.jsonl",
            reading=reading,
            note=heard.append,
            at_end="keep" if end == 40 else "close",
        )
    assert (numbers["events"], numbers["bad"]) == (60, 0)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 30)]
    assert [text for text in heard if "guessed" in text] == [heard[0]], "said once"
    part = sorted((tmp_path / "out").glob("part-*.tsv"))[0]
    said = json.loads(part.with_name(part.name + ".json").read_text())["reading"]["columns"]
    assert said == {"query": "q", "user": "session", "time": "ts"}


def test_access_logs(tmp_path):
    (tmp_path / "access.log").write_text("".join(_line(*row) for row in _searches()))
    _run(tmp_path / "pages", tmp_path / "access.log")
    assert totals(lines_in(tmp_path / "pages" / "out")) == [("2024-03-07", "/search", 60)]
    table = lines_in(tmp_path / "pages" / "out")["table"]
    assert table.str.contains("pages from 2024-03-07").all()
    _run(tmp_path / "searches", tmp_path / "access.log", reading=Reading(query_param="q"))
    assert totals(lines_in(tmp_path / "searches" / "out")) == [("2024-03-07", "tea", 30)]
    part = sorted((tmp_path / "searches" / "out").glob("part-*.tsv"))[0]
    assert coterie.verify(part, coterie.read(tmp_path / "access.log", query_param="q")).exit_code == 0


@pytest.mark.skipif(not scratch._MEMORY.is_dir(), reason="this system has no folder in memory")
@pytest.mark.parametrize("name", [*_FILES, "access.log"])
@pytest.mark.parametrize("damage", [b"", b"\xff"])
def test_no_line_is_in_a_temporary_file_on_a_disk(tmp_path, monkeypatch, name, damage):
    """Temporary folders are kept and looked at, also where readers copy lines: of damaged text, in several batches."""
    kept = []
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(Spool, "batch", 10)
    remove = scratch._remove
    with monkeypatch.context() as patched:
        patched.setattr(scratch, "_remove", lambda folder, held: kept.append((folder, held)))
        data = (
            _FILES.get(name, "".join(_line(*row) for row in _searches()))
            .replace("rare 7", "rare 7\0")
            .encode()
            .replace(b"\0", damage)
        )
        (tmp_path / name).write_bytes(data)
        reading = Reading(query_param="q") if name in ("access.log", "u_ex.log") else Reading()
        _run(tmp_path, tmp_path / name, reading=replace(reading, allow_bad=True))
        gc.collect()
    files = [path for path in (tmp_path / "tmp").rglob("*") if path.is_file()]
    assert not [path for path in files if b"rare" in path.read_bytes()]
    for folder, held in kept:
        remove(folder, held)
    assert kept
    assert not any(folder.exists() for folder, _ in kept)


@pytest.mark.parametrize("pack", [lambda text: gzip.compress(text.encode()), lambda text: text.encode()])
def test_files_that_are_read_as_a_whole(tmp_path, pack, monkeypatch):
    monkeypatch.setattr("coterie.apps.gate.run._WHOLE_ROWS", 7)
    data = pack(_FILES["log.tsv"])
    path = tmp_path / ("log.tsv.gz" if data[:2] == b"\x1f\x8b" else "log.parquet")
    if path.suffix == ".parquet":
        pl.DataFrame([*_searches()], schema=["user", "query", "time"], orient="row").write_parquet(path)
    else:
        path.write_bytes(data)
    numbers = _run(tmp_path, path)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 30)]
    assert _run(tmp_path, path)["events"] == numbers["events"]
    with pytest.raises(ParameterError, match="cannot be followed"):
        _run(tmp_path, path, at_end="follow")


def test_bad_lines_are_counted(tmp_path, monkeypatch):
    text = _FILES["log.tsv"]
    (tmp_path / "log.tsv").write_text(text + "no row\n" * 70)
    with pytest.raises(InputError, match="more than 1%"):
        _run(tmp_path, tmp_path / "log.tsv")
    monkeypatch.setattr(follow, "CHUNK", 400)
    numbers = _run(tmp_path / "chunks", tmp_path / "log.tsv")
    assert (numbers["events"], numbers["bad"]) == (60, 70)


def test_a_file_that_grows_between_runs(tmp_path):
    path = tmp_path / "log.tsv"
    rows = [*_searches()]
    path.write_text("user\tquery\ttime\n" + _tsv(rows[:31]))
    _run(tmp_path, path, at_end="keep")
    with path.open("a") as out:
        out.write(_tsv(rows[31:]))
    _run(tmp_path, path)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 30)]


def test_late_rows_are_told_of(tmp_path):
    (tmp_path / "log.tsv").write_text(
        "user\tquery\ttime\n" + _tsv([("a", "x", "2024-03-09"), ("a", "x", "2024-03-07")])
    )
    notes = []
    _run(tmp_path, tmp_path / "log.tsv", note=notes.append)
    assert notes == [
        "1 rows came after their window had ended and were left out. A gate needs rows roughly in the order of time: "
        "sort the log, or use coterie append."
    ]


def test_a_rotated_file_that_is_gone_is_told_of(tmp_path):
    path, notes = tmp_path / "log.tsv", []
    path.write_text(_FILES["log.tsv"])
    _run(tmp_path, path, at_end="keep")
    path.rename(tmp_path / "elsewhere")
    path.write_text(_FILES["log.tsv"])
    _run(tmp_path, path, note=notes.append)
    assert "no longer beside" in notes[0]


@pytest.mark.parametrize("steps", ["events", "sample(subjects=5)", "drop_bots", "drop_short", "default,sessions"])
def test_steps_that_look_at_several_rows_are_refused(tmp_path, steps):
    with pytest.raises(ParameterError, match="looks at several rows of the log: a gate sees each row once"):
        _run(tmp_path, tmp_path / "log.tsv", steps=parse_steps(steps))
    assert not list(tmp_path.iterdir())


def test_steps_of_others_say_that_they_look_at_single_rows():
    @dataclass(frozen=True)
    class Silent:
        def __call__(self, log):
            return log

    class Saying(Silent):
        looks_at = "rows"

    refuse_steps([Saying()])
    with pytest.raises(ParameterError, match="looks at several rows"):
        refuse_steps([Silent()])


def test_other_steps_are_welcome():
    refuse_steps(parse_steps("default,scrub,names,drop_numerals,drop_assets,drop_bots(robots_txt=false),visitors"))


@pytest.mark.parametrize("arrives", ["at once", "line by line"])
@pytest.mark.parametrize("steps", ["default", "default,scrub,names,drop_numerals"])
def test_steps_give_the_same_however_lines_arrive(tmp_path, monkeypatch, arrives, steps):
    """Twelve lines of three people, in one piece or in twelve."""
    rows = [(PEOPLE[n % 3], "tea" if n < 9 else f"once {n}", START + timedelta(minutes=n)) for n in range(12)]
    (tmp_path / "log.tsv").write_text("user\tquery\ttime\n" + _tsv(rows))
    if arrives == "line by line":
        monkeypatch.setattr(follow, "CHUNK", 32)
    assert _run(tmp_path, tmp_path / "log.tsv", steps=parse_steps(steps))["released"] == 9
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 9)]


def test_no_step_makes_rows_late(tmp_path):
    """A step may join rows with what it found, as `visitors` does with browsers, and give them in another order."""
    line = '10.0.0.{} - - [{:%d/%b/%Y:%H:%M:%S} +0000] "GET /tea HTTP/1.1" 200 1 "-" "Mozilla/5.0 Firefox/{}"\n'
    rows = [line.format(n % 3, START + timedelta(minutes=7 * n), 80 + n * 7 % 40) for n in range(2000)]
    (tmp_path / "access.log").write_text("".join(rows))
    numbers = _run(tmp_path, tmp_path / "access.log", steps=parse_steps("default,visitors"))
    assert (numbers["events"], numbers["late"]) == (2000, 0)
    packed = tmp_path / "access.log.gz"
    packed.write_bytes(gzip.compress("".join(rows).encode()))
    numbers = _run(tmp_path / "whole", packed, steps=parse_steps("default,visitors"))
    assert (numbers["events"], numbers["late"]) == (2000, 0)


def test_parameters_are_not_guessed(tmp_path):
    (tmp_path / "access.log").write_text("".join(_line(*row) for row in _searches()))
    with pytest.raises(ParameterError, match="cannot guess the parameter"):
        _run(tmp_path, tmp_path / "access.log", reading=Reading(query_param="auto"))


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"details": {"device": "device"}}, "Leave out --details"),
        ({"format": "aol", "columns": {"user": "AnonID"}}, "is read as aol, which makes no use of --columns"),
        ({"format": "table", "user_field": "session"}, "makes no use of --user-field"),
        ({"date": "2024-03-07"}, "log.tsv is read as table, which makes no use of --date"),
    ],
)
@pytest.mark.parametrize("resumed", [False, True])
def test_what_says_how_to_read_is_used_or_refused(tmp_path, reading, message, resumed):
    (tmp_path / "log.tsv").write_text(_FILES["log.tsv"])
    if resumed:
        _run(tmp_path, tmp_path / "log.tsv", at_end="keep")
        with (tmp_path / "log.tsv").open("a") as out:
            out.write(_tsv(_later(3)))
    with pytest.raises(ParameterError, match=message):
        _run(tmp_path, tmp_path / "log.tsv", reading=Reading(**reading))


def test_columns_of_one_log_are_not_those_of_another_format(tmp_path):
    """A table was read first; what its columns are called says nothing about an access log."""
    (tmp_path / "log.tsv").write_text(_FILES["log.tsv"].replace("query", "q", 1))
    (tmp_path / "access.log").write_text("".join(_line(*row) for row in _searches()))
    numbers = _run(tmp_path, tmp_path / "log.tsv", at_end="keep", reading=Reading(columns={"query": "q"}))
    said = Reading(format="clf", query_param="q")
    assert _run(tmp_path, tmp_path / "access.log", at_end="keep", reading=said)["events"] == numbers["events"] + 60


def test_one_stream_at_a_time(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(_FILES["log.tsv"])
    with pytest.raises(ParameterError, match="One growing file"):
        _run(tmp_path, tmp_path / "a", tmp_path / "b", at_end="follow")
    (tmp_path / "nothing").touch()
    with pytest.raises(InputError, match="no rows to read"):
        _run(tmp_path, tmp_path / "nothing", reading=Reading(format="table"))


def test_metrics_are_written(tmp_path):
    (tmp_path / "log.tsv").write_text(_FILES["log.tsv"])
    _run(tmp_path, tmp_path / "log.tsv", metrics=tmp_path / "gate.prom")
    assert "coterie_gate_events_total 60\n" in (tmp_path / "gate.prom").read_text()


def test_no_core_dumps():
    before = resource.getrlimit(resource.RLIMIT_CORE)
    without_core_dumps()
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
    resource.setrlimit(
        resource.RLIMIT_CORE, (0, before[1] if before[1] == 0 else resource.getrlimit(resource.RLIMIT_CORE)[1])
    )


def test_signals_are_a_wish():
    before = signal.getsignal(signal.SIGTERM)
    with Stop() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.asked
    assert signal.getsignal(signal.SIGTERM) is before


def _interrupted(gate, *given, _offer_many=Gate.offer_many):
    """`offer_many`, in the middle of which somebody asks the gate to stop."""
    signal.raise_signal(signal.SIGTERM)  # in this thread: another one may be slow to tell us
    _offer_many(gate, *given)


def test_a_signal_loses_nothing_that_was_read(tmp_path, monkeypatch):
    """What is read is counted before the wish to stop is looked at, and the place is behind what was counted."""
    path = tmp_path / "log.tsv"
    path.write_text(_FILES["log.tsv"])
    monkeypatch.setattr(follow, "CHUNK", 300)
    monkeypatch.setattr(Gate, "offer_many", _interrupted)
    counted = []
    while not counted or counted[-1] < 60:
        counted.append(_run(tmp_path, path)["events"])
        assert len(counted) < 40
    assert len(counted) > 3
    _end(tmp_path)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 30)]


def _end(folder):
    """A last run, to which nothing new comes: the clock ends the window."""
    with Gate(state=folder / "state", key=folder / "key", output=folder / "out", k=3, window="1d", flush="6h"):
        pass


def test_an_old_log_that_flows_loses_nothing(tmp_path, monkeypatch):
    """The clock ended its windows long ago; they end here when rows of the next one come, or nothing more."""
    os.mkfifo(tmp_path / "pipe")
    lines = _FILES["log.tsv"].splitlines(keepends=True)

    def write():
        with (tmp_path / "pipe").open("w") as out:
            for line in lines:
                out.write(line)
                out.flush()
                sleep(0.002)

    monkeypatch.setattr(follow, "_WAIT", 0.001)
    writer = threading.Thread(target=write)
    writer.start()
    numbers = _run(tmp_path, tmp_path / "pipe")
    writer.join()
    assert (numbers["events"], numbers["late"]) == (60, 0)
    assert totals(lines_in(tmp_path / "out")) == [("2024-03-07", "tea", 30)]


def test_an_old_log_that_is_followed_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "CHUNK", 300)
    (tmp_path / "log.tsv").write_text(_FILES["log.tsv"])
    monkeypatch.setattr("coterie.apps.gate.run.wait", lambda: signal.raise_signal(signal.SIGTERM) or 0.0)
    numbers = _run(tmp_path, tmp_path / "log.tsv", at_end="follow")
    assert (numbers["events"], numbers["late"], numbers["held"]) == (60, 0, 0)


def test_after_rotate_nothing_is_read_again(tmp_path, monkeypatch):
    """The mark of how a file begins outlives the window."""
    monkeypatch.setattr("coterie.apps.gate.run.wait", lambda: signal.raise_signal(signal.SIGTERM) or 0.0)
    monkeypatch.setattr("coterie.apps.gate.gate.Gate.tick", lambda _gate: None)  # the window of these rows is open
    (tmp_path / "log.tsv").write_text(_FILES["log.tsv"])
    assert _run(tmp_path, tmp_path / "log.tsv", at_end="follow")["events"] == 60
    rotate(tmp_path / "state", tmp_path / "key", tmp_path / "out")
    assert _run(tmp_path, tmp_path / "log.tsv", at_end="follow")["events"] == 60


def test_rows_without_a_time_are_told_of(tmp_path):
    (tmp_path / "log.tsv").write_text("user\tquery\na\ttea\n")
    notes = []
    assert _run(tmp_path, tmp_path / "log.tsv", note=notes.append)["timeless"] == 1
    assert notes[0].startswith("1 rows have no time")


def test_lines_of_another_shape_are_bad_and_stop_nothing(tmp_path, monkeypatch):
    other = json.dumps({"path": "/search", "user": "a", "time": str(START)}) + "\n"
    (tmp_path / "log.jsonl").write_text(_FILES["log.jsonl"] + other * 5)
    monkeypatch.setattr(follow, "CHUNK", len(other))
    numbers = _run(tmp_path, tmp_path / "log.jsonl")
    assert (numbers["events"], numbers["bad"]) == (60, 5)


def test_metrics_do_not_tell_the_moment_at_which_somebody_asks(tmp_path, monkeypatch):
    """What is held, and open, is told as it was when the last part closed."""
    seen = []
    monkeypatch.setattr("coterie.apps.gate.run.write_metrics", lambda numbers, _path: seen.append(numbers))
    monkeypatch.setattr("coterie.apps.gate.run._SOONEST", 0.0)
    monkeypatch.setattr("coterie.apps.gate.run._PATIENCE", 0.0)
    monkeypatch.setattr("coterie.apps.gate.run._COST", 0)
    monkeypatch.setattr(follow, "CHUNK", 100)
    (tmp_path / "log.tsv").write_text(_FILES["log.tsv"])
    _run(tmp_path, tmp_path / "log.tsv", metrics=tmp_path / "m", at_end="keep")
    assert len({numbers["events"] for numbers in seen}) > 10
    told = [(numbers["held"], numbers["open"]) for numbers in seen]
    assert list(dict.fromkeys(told)) == [(0, 0), (18, 1)], "ten hours of rows, and parts of six"


def test_a_file_that_was_cut_and_has_grown_after_a_stop(tmp_path, monkeypatch):
    """It is as long as before or longer, and begins in another way."""
    monkeypatch.setattr(Gate, "offer_many", _interrupted)
    monkeypatch.setattr("coterie.apps.gate.gate.Gate.tick", lambda _gate: None)  # the window of these rows is open
    path = tmp_path / "log.tsv"
    path.write_text(_FILES["log.tsv"])
    assert _run(tmp_path, path, at_end="follow")["events"] == 60
    path.write_text("user\tquery\ttime\n" + _tsv(("d", f"another query {n}", START) for n in range(90)))
    assert _run(tmp_path, path, at_end="follow")["events"] == 150


def _later(number, query="later"):
    """Rows of a window that comes after the one of `_searches`, and that the clock has ended, too."""
    return [("d", f"{query} {n}", START + timedelta(days=2, seconds=n)) for n in range(number)]


def _follow_until_idle(monkeypatch):
    """A gate that follows a file reads what is there, and is then asked to stop."""
    monkeypatch.setattr("coterie.apps.gate.run.wait", lambda: signal.raise_signal(signal.SIGTERM) or 0.0)


@pytest.mark.parametrize("ended_by", ["clock", "rotate", "key"])
def test_a_file_that_was_cut_after_its_window_ended(tmp_path, monkeypatch, ended_by):
    """The mark of how it began outlives the window; where its key is lost, the file is read from its beginning."""
    _follow_until_idle(monkeypatch)
    if ended_by == "rotate":
        monkeypatch.setattr("coterie.apps.gate.gate.Gate.tick", lambda _gate: None)
    path, notes = tmp_path / "log.tsv", []
    path.write_text(_FILES["log.tsv"])
    assert _run(tmp_path, path, at_end="follow")["events"] == 60
    if ended_by == "rotate":
        rotate(tmp_path / "state", tmp_path / "key", tmp_path / "out")
    if ended_by == "key":
        (tmp_path / "key").unlink()
    path.write_text("user\tquery\ttime\n" + _tsv(_later(200)))
    assert path.stat().st_size > len(_FILES["log.tsv"])
    numbers = _run(tmp_path, path, at_end="follow", note=notes.append)
    assert (numbers["events"], numbers["bad"], numbers["late"]) == (260, 0, 0)
    said = "Cannot tell whether" if ended_by == "key" else "was cut, or is no longer beside"
    assert [said in note for note in notes] == [True]


def test_a_file_that_was_cut_is_known_although_nothing_new_had_come(tmp_path, monkeypatch):
    """A run that finds nothing new keeps the mark of the whole beginning."""
    path = tmp_path / "log.tsv"
    path.write_text(_FILES["log.tsv"])
    for _ in range(3):
        assert _run(tmp_path, path)["events"] == 60
    path.write_text("user\tquery\ttime\n" + _tsv(_later(200)))
    assert _run(tmp_path, path)["events"] == 260


def test_a_state_without_a_mark_begins_at_the_beginning_and_says_so(tmp_path, monkeypatch):
    path, notes = tmp_path / "log.tsv", []
    path.write_text(_FILES["log.tsv"])
    with monkeypatch.context() as patched:
        patched.setattr("coterie.apps.gate.gate.Gate.mark_place", lambda _gate: None)
        _run(tmp_path, path)
    numbers = _run(tmp_path, path, note=notes.append)
    assert (numbers["events"], numbers["late"]) == (60, 60)
    assert notes[0].startswith(f"Cannot tell whether {path} is the file that was read before")


def test_a_state_whose_marks_are_under_the_key_of_its_window(tmp_path, monkeypatch):
    """So they were made before."""
    path, notes = tmp_path / "log.tsv", []
    path.write_text(_FILES["log.tsv"])

    def mark_place(gate):
        if gate.marks is not None:
            gate.position = {**gate.position, **gate.marks(gate._window.key.mark)}

    with monkeypatch.context() as patched:
        patched.setattr(Gate, "mark_place", mark_place)
        _run(tmp_path, path, at_end="keep")
    for _ in range(2):
        assert _run(tmp_path, path, at_end="keep", note=notes.append)["events"] == 60
    assert notes == []


@pytest.mark.parametrize("format", [None, "table", "aol"])
def test_killed_and_rotated_before_anything_was_counted(tmp_path, monkeypatch, format):
    """The number of a file is on the disk before its first row is counted."""
    path = tmp_path / "log.tsv"
    path.write_text(_FILES["aol.txt" if format == "aol" else "log.tsv"])

    def killed(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Gate, "offer_many", killed)
        with pytest.raises(KeyboardInterrupt):
            _run(tmp_path, path, reading=Reading(format=format))
    path.rename(tmp_path / "log.tsv.1")
    header = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" if format == "aol" else "user\tquery\ttime\n"
    path.write_text(header + _tsv((*row, "", "") if format == "aol" else row for row in _later(20)))
    assert _run(tmp_path, path, reading=Reading(format=format))["events"] == 80


def test_a_key_of_another_gate_is_not_destroyed(tmp_path):
    """Also where this gate needs none, as its window has ended."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.tsv").write_text(_FILES["log.tsv"])
        _run(tmp_path / name, tmp_path / name / "log.tsv", at_end="keep" if name == "other" else "close")
    (tmp_path / "other" / "key").rename(tmp_path / "one" / "key")
    with pytest.raises(ParameterError, match="belongs to another state"):
        _run(tmp_path / "one", tmp_path / "one" / "log.tsv")
    assert (tmp_path / "one" / "key").exists()


def test_a_reader_knows_a_file_by_how_it_begins(tmp_path):
    """It begins anew where another file stands there, and goes on where the same one has grown."""
    path = tmp_path / "log.tsv"
    path.write_text(_FILES["log.tsv"])

    def mark(begin):
        return hashlib.sha256(begin).hexdigest()

    def read(place):
        lines = follow.FileLines(path, place, mark, False)
        data = b"".join(each.data for each in lines)
        (place,) = lines.marks(mark).values()
        return data, place

    data, place = read(None)
    assert data == path.read_bytes()
    with path.open("ab") as more:
        more.write(b"more\n")
    assert read(place)[0] == b"more\n"
    path.write_text("user\tquery\ttime\n" + _tsv(("d", f"another query {n}", START) for n in range(90)))
    assert read(place)[0] == path.read_bytes()


def _ubi(number: int, who: dict[str, str], query: str = "tea") -> str:
    return json.dumps({"query_id": f"{number}", **who, "user_query": query, "timestamp": "2024-03-07T09:00:00Z"}) + "\n"


def test_later_rows_of_many_people_are_counted_and_not_asked_about(tmp_path, monkeypatch):
    """Whether a field names people is asked once: thirty rows of thirty people are nothing odd in a later piece."""
    first = [_ubi(n, {"client_id": f"c{n % 3}"}) for n in range(30)]
    later = [_ubi(n, {"client_id": f"c{n}"}) for n in range(30, 60)]
    monkeypatch.setattr(follow, "CHUNK", len("".join(first)))
    (tmp_path / "ubi.ndjson").write_text("".join((*first, *later)))
    numbers = _run(tmp_path, tmp_path / "ubi.ndjson")
    assert (numbers["events"], numbers["bad"]) == (60, 0)


@pytest.mark.parametrize("kinds", [("user_id", "client_id"), ("client_id", "user_id")])
def test_a_part_tells_of_everybody_who_was_counted_in_it(tmp_path, monkeypatch, kinds):
    """The pieces of a log may say who it was in different fields; a part holds rows of all of them."""
    pieces = ["".join(_ubi(n, {kind: f"{kind}{n % 9}"}) for n in range(20)) for kind in kinds]
    monkeypatch.setattr(follow, "CHUNK", len(pieces[0]))
    (tmp_path / "ubi.ndjson").write_text("".join(pieces))
    _run(tmp_path, tmp_path / "ubi.ndjson")
    (part,) = (tmp_path / "out").glob("part-*.json")
    sidecar = json.loads(part.read_text())
    assert sidecar["reading"]["counted"] == "user_id,client_id"
    assert "some searches have no user_id, and were counted by client_id" in " ".join(sidecar["warnings"])


@pytest.mark.parametrize("restarted", [False, True])
def test_a_field_that_names_requests_is_asked_about_however_small_pieces_are(tmp_path, monkeypatch, restarted):
    """A first piece of a few rows says nothing; the first hundreds do. Whoever names the field is not asked."""
    lines = [_ubi(n, {"client_id": f"request-{n}"}) for n in range(400)]
    monkeypatch.setattr(follow, "CHUNK", 10 * len(lines[0]))
    log = tmp_path / "ubi.ndjson"
    if restarted:
        log.write_text("".join(lines[:50]))
        _run(tmp_path, log, at_end="keep")
    log.write_text("".join(lines))
    with pytest.raises(InputError, match="--user-field NAME"):
        _run(tmp_path, log)
    assert not list((tmp_path / "out").glob("part-*.tsv"))
    (tmp_path / "said").mkdir()
    assert _run(tmp_path / "said", log, reading=Reading(user_field="client_id"))["events"] == 400


@pytest.mark.parametrize("number_reused", [True, False])
def test_two_rotations_while_the_gate_was_down(tmp_path, monkeypatch, number_reused):
    """The file that was read is compressed by now; the next one is read, and what may be missing is said."""
    path, notes, rows = tmp_path / "log.tsv", [], _tsv
    path.write_text("user\tquery\ttime\n" + rows(_later(50, "first")))
    assert _run(tmp_path, path, at_end="keep")["events"] == 50
    if number_reused:  # as the system does once the file with that number is gone
        place = follow._number
        path.rename(tmp_path / "read")
        number = place(tmp_path / "read")
        monkeypatch.setattr(follow, "_number", lambda file: number if file == path else place(file))
    else:
        path.rename(tmp_path / "read")
    (tmp_path / "log.tsv.2.gz").write_bytes(gzip.compress((tmp_path / "read").read_bytes()))
    (tmp_path / "read").unlink()
    (tmp_path / "log.tsv.1").write_text("user\tquery\ttime\n" + rows(_later(50, "second")))
    path.write_text("user\tquery\ttime\n" + rows(_later(50, "third")))
    numbers = _run(tmp_path, path, note=notes.append)
    assert (numbers["events"], numbers["bad"]) == (150, 0)
    assert ["may be missing" in note for note in notes] == [True]


def test_copied_and_cut_while_the_gate_was_down(tmp_path):
    path, notes = tmp_path / "log.tsv", []
    path.write_text("user\tquery\ttime\n" + _tsv(_later(50)))
    assert _run(tmp_path, path, at_end="keep")["events"] == 50
    with path.open("a") as out:
        out.write(_tsv(_later(10, "tail")))
    (tmp_path / "log.tsv.1").write_bytes(path.read_bytes())
    path.write_text("user\tquery\ttime\n" + _tsv(_later(10, "new")))
    assert _run(tmp_path, path, note=notes.append)["events"] == 70
    assert notes == []


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("begins", ["", "user\tquery\ttime\n", "not there"])
def test_killed_while_it_waited_for_the_first_row(tmp_path, monkeypatch, begins, copied):
    """Of a file without a row nobody knows the shape, and there is no gate yet; its number is on the disk."""
    path, header = tmp_path / "log.tsv", "user\tquery\ttime\n"
    looks = iter(range(9))

    def wait():
        if begins == "not there" and next(looks) == 0:
            path.touch()
            return 0.0
        raise KeyboardInterrupt  # killed

    if begins != "not there":
        path.write_text(begins)
    with monkeypatch.context() as patched:
        patched.setattr("coterie.apps.gate.run.wait", wait)
        with pytest.raises(KeyboardInterrupt):
            _run(tmp_path, path, at_end="follow")
    path.write_text(header + _tsv(_later(50)))
    if copied:
        (tmp_path / "log.tsv.1").write_bytes(path.read_bytes())
    else:
        path.rename(tmp_path / "log.tsv.1")
    path.write_text(header + _tsv(_later(1, "new")))
    numbers = _run(tmp_path, path, reading=Reading(format="table"))
    assert (numbers["events"], numbers["bad"]) == (51, 0)


def test_a_gate_that_waits_for_its_file_ends_without_an_error(tmp_path, monkeypatch):
    _follow_until_idle(monkeypatch)
    notes = []
    assert _run(tmp_path, tmp_path / "log.tsv", at_end="follow", note=notes.append)["events"] == 0
    assert notes == [f"{tmp_path / 'log.tsv'} is not there yet. Waiting for it."]
    with pytest.raises(MissingError, match="no such file"):  # where no file will come
        _run(tmp_path, tmp_path / "no folder" / "log.tsv", at_end="follow")


@pytest.mark.parametrize("name", [*_FILES, "access.log"])
def test_a_bad_line_soon_after_a_restart_is_counted(tmp_path, name):
    """The format is known by then: few lines, and one of them bad, or nothing but a bad one."""
    lines = _FILES.get(name, "".join(_line(*row) for row in _searches())).splitlines(keepends=True)
    path, reading = tmp_path / name, Reading(query_param="q") if name in ("access.log", "u_ex.log") else Reading()
    for part in (lines[:-10], [*lines[-10:], "garbage\n"], ["garbage\n"]):
        with path.open("a") as log:
            log.writelines(part)
        numbers = _run(tmp_path, path, reading=reading, at_end="keep")
    assert (numbers["events"], numbers["bad"]) == (60, 2)


def test_a_line_that_is_not_finished_yet_is_read_by_the_next_run(tmp_path):
    """Where it is a row as it is, its rest is a bad line."""
    path, numbers = tmp_path / "log.tsv", {}
    for part in (_FILES["log.tsv"] + "a\tte", "a\t2024-03-07 20:00:00\nb\ttea\t2024-03-07", " 21:00:00\n"):
        with path.open("a") as log:
            log.write(part)
        numbers = _run(tmp_path, path, at_end="keep")
        if part.endswith("te"):
            assert (numbers["events"], numbers["bad"]) == (60, 0)
    assert numbers["events"] + numbers["bad"] + numbers["late"] == 63
    assert numbers["bad"] == 1


@pytest.mark.parametrize("other", ["empty", "of another gate"])
def test_another_folder_for_the_parts_of_a_state_is_refused(tmp_path, other):
    path = tmp_path / "log.tsv"
    path.write_text(_FILES["log.tsv"])
    _run(tmp_path, path)
    if other == "of another gate":
        (tmp_path / "other").mkdir()
        path.write_text(_FILES["log.tsv"].replace("Tea", "coffee").replace("tea", "coffee"))
        _run(tmp_path / "other", path)
    (tmp_path / "other" / "out").mkdir(parents=True, exist_ok=True)
    before = sorted((tmp_path / "other" / "out").iterdir())
    with pytest.raises(ParameterError, match="are in another folder"):
        run_gate([str(path)], rules_in(tmp_path, k=3, output=tmp_path / "other" / "out"), steps=parse_steps("default"))
    assert sorted((tmp_path / "other" / "out").iterdir()) == before
    for part in (tmp_path / "out").glob("part-*"):  # they were handed on; the index stays
        part.unlink()
    _run(tmp_path, path)


@pytest.mark.parametrize("log", ["access.log", "ubi.ndjson", "columns.jsonl"])
def test_parts_are_verified_with_the_audit(tmp_path, log):
    """It holds searches: what the sidecar says of how the log was read is left out where it has no use for it."""
    said = {"access.log": {"query_param": "q"}, "ubi.ndjson": {"user_field": "client_id"}}
    reading = Reading(**said.get(log, {"columns": {"user": "who.is", "query": "q", "time": "ts"}}))
    path, audit = tmp_path / log, str(tmp_path / "audit" / "*.parquet")
    lines = [json.dumps({"who": {"is": u}, "q": q, "ts": str(t)}) + "\n" for u, q, t in _searches()]
    path.write_text("".join(map(_line, *zip(*_searches(), strict=True))) if log == "access.log" else
                    _FILES[log] if log == "ubi.ndjson" else "".join(lines))  # fmt: skip
    _run(tmp_path, path, reading=reading, audit=tmp_path / "audit")
    part = str(sorted((tmp_path / "out").glob("part-*.tsv"))[0])
    assert jobs.verify_file(part, [audit]).exit_code == 0
    assert coterie.verify(part, audit).exit_code == 0
    for name in {"query_param", "user_field"} & set(reading.said):  # what somebody typed is used or refused
        with pytest.raises((InputError, ParameterError), match=f"--{name.replace('_', '-')}"):
            jobs.verify_file(part, [audit], original_reading=Reading(**{name: reading.said[name]}))
