"""Canaries: no message, log line, report or repr shows a value of a log.

Each column of a log gets a string that is found nowhere else. Then every error and every report that the tests know how
to provoke is provoked, and its text searched for the canaries.
"""

import contextlib
import json
import logging
import re
import sys
from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.cli.main import run as run_command
from coterie.errors import BrokenPromiseError, CoterieError
from coterie.explain import explain_affinity, network
from coterie.lab.simulate import World, protocol, simulate
from coterie.lab.simulate.case import Case
from coterie.measures.comparison import Comparison
from coterie.methods.affinity import Affinity
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log, visits_log
from tests.helpers.broken_methods import CAUGHT_BY, MixesNames
from tests.helpers.runs import a_run

CANARIES = re.compile(r"qzuserq|qzqueryq|qzurlq|2017-04-13|08:09:37|\b31337\b")  # these digits may be in a digest
PEOPLE = 8


def _rows(people=PEOPLE):
    for n in range(people):
        yield (f"qzuserq{n}", f"qzqueryq rare {n}", "2017-04-13 08:09:37", "31337", f"http://qzurlq{n}.example")
        yield (f"qzuserq{n}", "qzqueryq common", "2017-04-13 08:09:37", "", "")


def _tsv(rows):
    return "".join("\t".join(row) + "\n" for row in rows)


HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"


@pytest.fixture
def log_path(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text(HEADER + _tsv(_rows()))
    return path


def _clean(text):
    found = CANARIES.findall(text)
    assert not found, f"{found} in: {text}"


def _run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["coterie", *map(str, arguments)])
    code = run_command()
    out, err = capsys.readouterr()
    _clean(out + err)
    return code


def test_reprs(log_path):
    log = coterie.prepare(coterie.read(log_path), ["normalize", "drop_empty", "sessions", "scrub"])
    release = coterie.anonymize(log, SuppressRare(k=3, users="pseudonym"), seed=1)
    for thing in (log, log.shape, log.history, release, release.record, release.promises, release.checks):
        _clean(repr(thing) + str(thing))
    _clean(repr(coterie.verify(release, log)))
    asked = explain_affinity(log, Affinity(), [(1, "qzqueryq common"), (2, "qzqueryq nobody")])
    _clean(repr(asked) + repr(network(asked.graph, 0)))
    _clean(repr(Comparison.of(log, release, seed=1, show_values=True)))
    _clean(repr(api.log_view(log)) + repr(api.release_view(Comparison.of(log, release, seed=1, show_values=True))))
    method, run = SuppressRare(k=3), a_run(1)
    _clean(repr(method.release(log, method.plan(None, log, run), run)) + repr(run))
    by, world = protocol("friends", degree=3), World.of(log)
    seen = by.protect(world, 1)
    _clean(repr(simulate(world, by, seed=1)) + repr(world) + repr(seen) + repr(seen.network))
    _clean(repr(Case(world=world, protocol=by, seen=seen, seed=1)))


def _labels(folder):
    (folder / "labels.csv").write_text("query,sensitive\nqzqueryq common,no\nqzqueryq nobody,yes\n")
    return folder / "labels.csv"


def _asked(folder):
    (folder / "asked.txt").write_text("qzqueryq common\nqzqueryq rare 1\nqzqueryq nobody\n")
    return folder / "asked.txt"


_ATTACKS = ("attribution", "composition", "dominance", "injection")


def test_every_command(log_path, tmp_path, capsys, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    safe, record = tmp_path / "safe.tsv", tmp_path / "record"
    grouped, groups = tmp_path / "grouped.tsv", tmp_path / "groups"
    table = f"sqlite:{tmp_path / 'safe.db'}#safe"
    run = [
        ["inspect", log_path],
        ["inspect", log_path, "--json"],
        ["anonymize", "suppress_rare", log_path, "-o", safe, "--record", record, "--k", "3", "--users", "session"],
        ["verify", safe, "-O", log_path],
        ["verify", safe],
        ["verify", safe, "-O", log_path, "--k", "100"],
        ["measure", safe, "-O", log_path, "--record", record],
        ["measure", safe, "-O", log_path, "--json"],
        ["measure", safe, "-O", log_path, "injection"],
        ["anonymize", "microaggregate", log_path, "-o", grouped, "--record", groups, "--k", "3"],
        [
            "measure",
            grouped,
            "-O",
            log_path,
            "--record",
            groups,
            *_ATTACKS,
            "--second",
            grouped,
            "--second-record",
            groups,
        ],
        ["anonymize", "microaggregate", log_path, "-o", tmp_path / "again.tsv", "--groups-of", groups, "--k", "4"],
        ["report", grouped, "-O", log_path, "--record", groups, "-o", tmp_path / "g.md"],
        ["measure", safe, "-O", log_path, "f_beta", "--labels", _labels(tmp_path)],
        ["explain", "affinity", log_path, "--query-file", _asked(tmp_path), "--picture", tmp_path / "p.svg"],
        ["report", safe, "-O", log_path, "--record", record, "-o", tmp_path / "r.html"],
        ["report", safe, "-O", log_path, "-o", tmp_path / "r.md"],
        ["report", safe, "-O", log_path, "-o", tmp_path / "r.json"],
        ["anonymize", "suppress_rare", log_path, "-o", tmp_path / "parts.tsv", "--parts", "2", "--k", "3"],
        ["verify", tmp_path / "parts.tsv", "-O", log_path],
        ["anonymize", "suppress_rare", log_path, "-o", table, "--sidecar", tmp_path / "table.json", "--k", "3"],
        ["verify", table, "--sidecar", tmp_path / "table.json", "-O", log_path],
        ["inspect", table],
        ["gate", "run", log_path, "-o", tmp_path / "gate", "--state", tmp_path / "state", "--k", "3", "--keep-open"],
        ["gate", "status", "--state", tmp_path / "state", "--json"],
        ["gate", "rotate", "--state", tmp_path / "state", "-o", tmp_path / "gate"],
        ["gate", "forget", "--state", tmp_path / "state"],
        [
            "append",
            "suppress_rare",
            log_path,
            "-o",
            tmp_path / "nights",
            "--state",
            tmp_path / "nights_state",
            "--k",
            "3",
        ],
        [
            "append",
            "suppress_rare",
            log_path,
            "-o",
            tmp_path / "nights",
            "--state",
            tmp_path / "nights_state",
            "--k",
            "3",
        ],
        ["simulate", log_path, "--degree", "3", "--seed", "7", "-o", tmp_path / "simulated"],
    ]
    for arguments in run:
        assert _run(capsys, monkeypatch, *arguments) in (0, 1, 3)
    for name in (
        "r.html",
        "r.md",
        "r.json",
        "g.md",
        "safe.tsv.json",
        "again.tsv.json",
        "parts.tsv.json",
        "table.json",
        "p.svg",
        "simulated/scores.csv",
        "simulated/simulation.json",
    ):
        # The page that stays with those who keep the log says its period; nothing else of its times.
        _clean(re.sub(r'2017-04-13( to |",\s*")2017-04-13', "", (tmp_path / name).read_text()))
    sidecars = [*(tmp_path / "gate").glob("*.json"), *(tmp_path / "nights").glob("*.json")]
    assert len(sidecars) > 2
    for path in sidecars:
        _clean(path.read_text().replace("2017-04-13", ""))  # when a part closed may be told, of the day of the log
    _clean(caplog.text)
    _clean(json.dumps(json.loads((record / "run.json").read_text())))


def _variants():
    lines = [*_rows()]
    yield "no header", _tsv(lines)
    yield "swapped columns", _tsv([(t, u, q, r, c) for u, q, t, r, c in lines])
    yield "missing columns", _tsv([row[:2] for row in lines])
    yield "too many columns", _tsv([(*row, "qzqueryq") for row in lines])
    yield "commas", HEADER.replace("\t", ",") + "".join(",".join(row) + "\n" for row in lines)
    yield "bad times", HEADER + _tsv([(u, q, "qzqueryq", r, c) for u, q, _, r, c in lines])
    yield "bad ranks", HEADER + _tsv([(u, q, t, "qzqueryq", c) for u, q, t, _, c in lines])
    yield "quotes", '"user","query"\n"qzuserq","qzqueryq\n"qzuserq",qzqueryq"\n'
    yield "ragged", "user,query\nqzuserq,qzqueryq,extra\nqzuserq\n" * 3
    yield "json", '{"user": "qzuserq", "query": ["qzqueryq"]}\n{"user": qzuserq}\nqzqueryq\n'
    yield "json without query", '{"qzuserq": 1, "qzqueryq": 2}\n'
    yield ("ubi", '{"user_query": {"qzqueryq": 1}, "client_id": ["qzuserq"]}\n{"action_name": "qzqueryq"\n')
    yield "clf", 'qzuserq - - [qzqueryq] "GET /qzurlq" 200 1\n' * 3
    yield "first row as header", "qzuserq\tqzqueryq\tqzurlq\n" * 3
    yield "header named like a value", "qzuserq,qzqueryq\n1,2\n"
    yield "one user", HEADER + _tsv(_rows(1))


FORMATS = [None, "aol", "excite", "sogou", "ubi", "clf", "table"]


@pytest.mark.parametrize(("name", "text"), [*_variants()])
def test_every_input_error(tmp_path, capsys, monkeypatch, name, text):
    path = tmp_path / "in.txt"
    for data in (text.encode(), text.encode() + b"qzqueryq\xff\xfe\n", text.encode("utf-16")):
        path.write_bytes(data)
        for format in FORMATS:
            more = ["--format", format] if format else []
            target = tmp_path / "safe.tsv"
            _run(capsys, monkeypatch, "anonymize", "suppress_rare", path, "-o", target, "--force", *more)
            _run(capsys, monkeypatch, "inspect", path, "--columns", "query=query", *more)
            with contextlib.suppress(CoterieError):
                _clean(repr(coterie.read(path, format=format, allow_bad=True)))


@pytest.mark.parametrize(("method", "shape", "check"), CAUGHT_BY)
def test_every_broken_promise(method, shape, check):
    if shape not in ("QUERIES", "VISITS") or method is MixesNames:
        pytest.skip("made for rows of its own; the message is that of another case")
    log = {"QUERIES": queries_log, "VISITS": visits_log}[shape]()
    text = pl.col(pl.String)
    marked = log.frame.with_columns(pl.when(text.is_not_null()).then(pl.lit("qzqueryq") + text).name.keep())
    with pytest.raises(BrokenPromiseError) as error:
        coterie.anonymize(replace(log, frame=marked), method(k=3), seed=1)
    _clean(str(error.value))


def test_tables_in_python():
    frame = pl.DataFrame({"user": ["qzuserq"], "query": ["qzqueryq"], "rank": ["qzqueryq"], "time": ["qzqueryq"]})
    for broken in (frame, frame.drop("query"), frame.drop("rank"), frame.rename({"query": "qzqueryq"})):
        with pytest.raises(CoterieError) as error:
            coterie.log(broken)
        _clean(str(error.value))


def test_further_details(log_path, tmp_path, capsys, monkeypatch):
    path, safe = tmp_path / "wide.csv", tmp_path / "safe.csv"
    rows = coterie.read(log_path).to_polars().with_columns(device=pl.lit("qzqueryq device"))
    rows.write_csv(path)
    given = ["--details", "device", "--force"]
    assert _run(capsys, monkeypatch, "anonymize", "suppress_rare", path, "-o", safe, "--k", "3", *given) == 0
    _clean((tmp_path / "safe.csv.json").read_text())
    assert "qzqueryq device" in safe.read_text()  # so many share it
    safe.write_text(safe.read_text().replace("device", "devices"))
    assert _run(capsys, monkeypatch, "verify", safe, "-O", path) in (1, 2)
    for wrong in ("device=user", "device=query", "again=device,device", "other"):
        assert _run(capsys, monkeypatch, "anonymize", "suppress_rare", path, "-o", safe, "--details", wrong) == 2
    with pytest.raises(CoterieError) as error:
        coterie.verify(safe, coterie.read(path))
    _clean(str(error.value))


def test_unexpected_errors_do_not_pass_on_their_message(log_path, tmp_path, capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("qzqueryq")

    monkeypatch.setattr("coterie.api.anonymize_prepared", fail)
    assert _run(capsys, monkeypatch, "anonymize", "suppress_rare", log_path, "-o", tmp_path / "x.tsv") == 70
