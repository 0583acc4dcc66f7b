"""`coterie gate` and `coterie append` as people run them: killed, rotated, piped; and nothing rare on any disk."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from coterie.apps.gate import cli as gate_commands
from coterie.apps.gate import state as states_of_gates
from coterie.apps.gate.keys import KeyFile
from tests.helpers import stopped_gate
from tests.helpers.gates import START, lines_in, totals
from tests.helpers.ports import held_ports

ROOT = Path(__file__).parents[2]
CANARY = "qzqueryq"
_WAIT = 60.0


def _rows(number=600, people=12):
    draw = random.Random(5)
    for place in range(number):
        time_ = START + timedelta(minutes=place * 5)
        query = f"{CANARY} {place}" if place % 5 == 0 else f"common {int(draw.paretovariate(0.8))}"
        yield f"qzuserq{draw.randrange(people)}", query, time_


def _write(path, rows):
    path.write_text("user\tquery\ttime\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path


def _outputs(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A log, the states of a gate at all moments, and what it gives where nobody disturbs it."""
    folder = tmp_path_factory.mktemp("killed")
    log = _write(folder / "log.tsv", _rows())
    done = _helper("states", log, folder / "states")
    assert done.returncode == 0, done.stderr[-2000:]
    return log, sorted((folder / "states").glob("state-*")), _outputs(folder / "states" / "gate" / "out")


def _helper(*words):
    command = [sys.executable, "-m", "tests.helpers.stopped_gate", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


def test_killed_at_any_moment_the_output_is_the_same(killed, tmp_path):
    log, states, expected = killed
    assert len(states) > 200
    assert len(expected) > 10
    draw, middle = random.Random(11), len(states) // 2
    for state in sorted({*draw.sample(states, 10), *states[middle : middle + 40]}):  # a whole snapshot, step by step
        again = tmp_path / state.name
        shutil.copytree(state, again)
        stopped_gate.work(log, again)
        assert _outputs(again / "out") == expected, state.name
        kept = KeyFile(again / "key", (again / "state" / "lock").read_text()).read()
        assert list(kept) == [states_of_gates.required(again / "state")["place_key"]], "the window is over"
        assert [path.name for path in again.glob("key*")] == ["key"]


def _moments(states, number):
    """Some states of a killed gate: the first ones, and others drawn from the whole work."""
    return sorted({*states[:40:5], *random.Random(17).sample(states, number)})


def _next_day(number=1200):
    """A log of the days after `_rows`, longer than that one."""
    times = [START + timedelta(days=3, minutes=place) for place in range(number)]
    return [(f"qzuserq{n % 7}", f"common {n % 20}", time_) for n, time_ in enumerate(times)]


def test_killed_at_any_moment_and_cut_meanwhile(killed, tmp_path):
    """The log is cut and has grown again before the gate goes on: every row of it is counted, and counted once."""
    log, states, _ = killed
    before = log.read_bytes()
    assert _write(tmp_path / "longer.tsv", _next_day()).stat().st_size > len(before)
    try:
        for state in _moments(states, 8):
            again = tmp_path / state.name
            shutil.copytree(state, again)
            counted = _counts(again).get("events", 0)
            log.write_bytes((tmp_path / "longer.tsv").read_bytes())  # the same file, by its number
            numbers = stopped_gate.work(log, again)
            assert (numbers["events"], numbers["bad"], numbers["late"]) == (counted + 1200, 0, 0), state.name
    finally:
        log.write_bytes(before)


def test_killed_at_any_moment_and_rotated_meanwhile(killed, tmp_path):
    """The gate finds the file that it read, as its number is on the disk before any line is read."""
    log, states, _ = killed
    rotated, unknown = log.with_name(log.name + ".1"), 0
    for state in _moments(states, 8):
        again = tmp_path / state.name
        shutil.copytree(state, again)
        known = bool(_counts(again)) or (again / "state" / "opened").exists()
        log.rename(rotated)
        try:
            _write(log, _next_day())
            numbers = stopped_gate.work(log, again)
        finally:
            rotated.replace(log)
        assert (numbers["events"], numbers["bad"], numbers["late"]) == (1800 if known else 1200, 0, 0), state.name
        unknown += not known
    assert 0 < unknown < 8, "before its number is on the disk, nothing was read"


def test_real_kills(killed, tmp_path):
    log, states, expected = killed
    draw = random.Random(3)
    for at in sorted(draw.sample(range(1, len(states) // 2), 4)):
        assert _helper("kill", log, tmp_path, at).returncode == -signal.SIGKILL
    assert _helper("kill", log, tmp_path, 0).returncode == 0
    assert _outputs(tmp_path / "out") == expected


def test_no_rare_query_and_no_user_on_any_disk(killed):
    _, states, _ = killed
    files = {path for state in states for path in state.rglob("*") if path.is_file()}
    seen = {path.relative_to(path.parents[[p.name[:6] for p in path.parents].index("state-")]) for path in files}
    assert {Path("state/snapshot"), Path("key")} <= seen
    for data in {path.read_bytes() for path in files}:
        assert CANARY.encode() not in data
        assert b"qzuserq" not in data


def test_no_rare_query_in_temporary_files(tmp_path):
    """All that is written anywhere while the gate runs is looked at."""
    log = _write(tmp_path / "log.tsv", _rows())
    (tmp_path / "tmp").mkdir()
    code = (
        "import sys\n"
        "written = set()\n"
        "def hear(event, given):\n"
        "    if event == 'open' and isinstance(given[0], str) and isinstance(given[2], int) and given[2] & 3:\n"
        "        written.add(given[0])\n"
        "sys.addaudithook(hear)\n"
        "from coterie.cli.main import run\n"
        "code = run()\n"
        "texts = [p for p in written if __import__('os').path.isfile(p)]\n"
        "bad = [p for p in texts if b'qzqueryq' in open(p, 'rb').read()]\n"
        "print(code, bad, len(texts))\n"
    )
    arguments = ["gate", "run", log, "-o", tmp_path / "out", "--state", tmp_path / "state", "--window", "1d", "-q"]
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=env
    )  # fmt: skip
    ended, bad, number = re.fullmatch(r"(\d+) (\[.*\]) (\d+)\n", done.stdout).groups()
    assert (ended, bad) == ("0", "[]"), done.stderr
    assert int(number) > 0
    assert CANARY not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_run_status_rotate_and_forget(coterie, tmp_path):
    log = _write(tmp_path / "log.tsv", _rows())
    where = ["--state", tmp_path / "state", "--key", tmp_path / "key"]
    run = ["gate", "run", log, "-o", tmp_path / "out", *where, "--window", "7d", "--flush", "1d", "--k", "3"]
    numbers = {row["key"]: row["value"] for row in json.loads(coterie(*run, "--keep-open", "--json").out)}
    assert (numbers["events"], numbers["late"]) == (600, 0)
    assert numbers["held"] > 100
    assert numbers["parts"] >= 2
    assert "600" in coterie("gate", "status", "--state", tmp_path / "state").out
    assert coterie(*run[:-1], "4", "--keep-open", code=2).err.startswith("Error: The state was made with other values")
    assert "forgotten" in coterie("gate", "rotate", *where, "-o", tmp_path / "out").err
    assert "gone" in coterie("gate", "forget", *where).err
    assert coterie("gate", "status", "--state", tmp_path / "state", code=2).err.startswith("Error: There is no state")
    part = sorted((tmp_path / "out").glob("part-*.tsv"))[0]
    assert coterie("verify", part, "-O", log).code == 0
    coterie("verify", part, code=3)
    assert gate_commands.gate.commands.keys() == {"run", "status", "rotate", "forget"}


def test_options_that_would_change_nothing_are_refused(coterie, tmp_path):
    """By every command that reads a log, before anything is written."""
    log = tmp_path / "aol.txt"
    log.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n1\ttea\t2024-03-07 09:00:00\t\t\n")
    said = [log, "--format", "aol", "--columns", "user=AnonID"]
    state = ["-o", tmp_path / "out", "--state", tmp_path / "state"]
    for command in (
        ["gate", "run", *said, *state],
        ["append", "suppress_rare", *said, *state, "--key", tmp_path / "key"],
        ["inspect", *said],
        ["anonymize", "suppress_rare", *said, "-o", tmp_path / "safe.tsv"],
        ["simulate", *said],
    ):
        assert "is read as aol, which makes no use of --columns" in " ".join(coterie(*command, code=2).err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["aol.txt"]


def test_append(coterie, tmp_path):
    rows = [*_rows()]
    nights = [_write(tmp_path / f"{n}.tsv", rows[n * 200 : n * 200 + 200]) for n in range(3)]
    where = ["--state", tmp_path / "state", "-o", tmp_path / "out", "--k", "3", "--window", "7d"]
    for night in nights:
        assert "written" in coterie("append", "suppress_rare", night, *where).err
    again = coterie("append", "suppress_rare", nights[0], *where)
    assert "appended before" in again.err
    whole = coterie("anonymize", "suppress_rare", *nights, "-o", tmp_path / "all.tsv", "--k", "3", "--history", "none",
                    "--attrs", "drop")  # fmt: skip
    assert whole.code == 0
    batch = pl.read_csv(tmp_path / "all.tsv", separator="\t").group_by("query").len().sort("query").rows()
    assert [(query, count) for _, query, count in totals(lines_in(tmp_path / "out"))] == batch
    quiet = _write(tmp_path / "quiet.tsv", [("a", "something new", START + timedelta(days=3))])
    assert "Nothing to release tonight" in coterie("append", "suppress_rare", quiet, *where, code=4).err


class _Process:
    """A gate in a process of its own."""

    def __init__(self, folder, *arguments, stdin=None):
        command = [sys.executable, "-m", "coterie", "gate", "run", *map(str, arguments), "-o", str(folder / "out"),
                   "--state", str(folder / "state"), "--key", str(folder / "key"), "--json"]  # fmt: skip
        self.folder = folder
        self.process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip

    def until(self, condition):
        end = time.monotonic() + _WAIT
        while not condition():
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < end, "it takes too long"
            time.sleep(0.1)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=_WAIT)
        return self.process.returncode, out, err


def _counts(folder):
    path = folder / "state" / "snapshot"
    if not path.exists():
        return {}
    header = path.read_bytes().partition(b"\n")[2][8:]
    return json.JSONDecoder().raw_decode(header.decode(errors="replace"))[0]["counts"]


def _recent(number, query="tea"):
    """Rows of three people, from an hour and a half ago to an hour ago."""
    start = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=90)
    return [(f"u{n % 3}", query, f"{start + timedelta(seconds=n):%Y-%m-%d %H:%M:%S}") for n in range(number)]


def test_following_through_rotation_kills_and_restarts(tmp_path):
    path = tmp_path / "log.tsv"
    header = "user\tquery\ttime\n"
    rows = ["\t".join(row) + "\n" for row in _recent(60)]
    options = [path, "--follow", "--flush", "1m", "--k", "3"]
    path.write_text(header + "".join(rows[:10]))
    gate = _Process(tmp_path, *options)
    gate.until(lambda: _counts(tmp_path).get("events") == 10)
    with path.open("a") as out:
        out.write("".join(rows[10:20]))
    path.rename(tmp_path / "log.tsv.1")
    path.write_text(header + "".join(rows[20:30]))
    gate.until(lambda: _counts(tmp_path).get("events") == 30)
    gate.stop(signal.SIGKILL)
    with path.open("a") as out:  # nobody reads
        out.write("".join(rows[30:40]))
    path.rename(tmp_path / "log.tsv.2")
    path.write_text(header + "".join(rows[40:50]))
    gate = _Process(tmp_path, *options)
    gate.until(lambda: _counts(tmp_path).get("events") == 50)
    second = _Process(tmp_path, *options)
    assert "Another gate works with" in second.process.communicate(timeout=_WAIT)[1]
    assert second.process.returncode == 2
    path.write_text(header + "".join(rows[50:55]))  # cut
    gate.until(lambda: _counts(tmp_path).get("events") == 55)
    with path.open("a") as out:
        out.write("".join(rows[55:]))
    gate.until(lambda: _counts(tmp_path).get("events") == 60)
    code, out, _ = gate.stop()
    assert code == 0
    assert json.loads(out)[0]["value"] == 60
    assert sum(count for _, _, count in totals(lines_in(tmp_path / "out"))) <= 60


def test_json_lines_from_a_pipe(tmp_path):
    gate = _Process(tmp_path, "-", "--flush", "1m", "--k", "3", stdin=subprocess.PIPE)
    for user, query, time_ in _recent(30):
        gate.process.stdin.write(json.dumps({"user": user, "query": query, "time": time_}) + "\n")
    gate.process.stdin.flush()
    gate.until(lambda: _counts(tmp_path).get("events") == 30)
    gate.process.communicate(timeout=_WAIT)  # which closes its end of the pipe
    assert gate.process.returncode == 0
    assert totals(lines_in(tmp_path / "out"))[0][1] == "tea"


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed (apt install nginx-light)")
def test_a_real_nginx(tmp_path):
    """nginx writes its access log to a pipe that the gate reads; no access log is ever on the disk."""
    (port,) = held_ports(1)
    os.mkfifo(tmp_path / "pipe")
    gate = _Process(tmp_path, tmp_path / "pipe", "--format", "clf", "--query-param", "q", "--k", "3", "--flush", "1m")
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr; master_process off;\n"
        "events {}\n"
        "http {\n"
        f"  access_log {tmp_path}/pipe combined;\n"
        + "".join(
            f"  {name}_temp_path {tmp_path}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        + f"  server {{ listen 127.0.0.1:{port}; location / {{ return 200 'ok'; }} }}\n}}\n"
    )
    nginx = subprocess.Popen(["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")], stderr=subprocess.PIPE)
    try:
        _until_open(port, nginx)
        for agent in ("A/1", "B/1", "C/1"):
            _ask(port, "/search?q=green+tea", agent)
            _ask(port, f"/search?q={CANARY}{agent[0]}", agent)
        gate.until(lambda: _counts(tmp_path).get("events") == 6)
        nginx.send_signal(signal.SIGQUIT)
        nginx.communicate(timeout=_WAIT)
        assert gate.process.wait(_WAIT) == 0
        gate.process.communicate()
    finally:
        if nginx.poll() is None:
            nginx.kill()
            nginx.communicate()
    snapshot = (tmp_path / "state" / "snapshot").read_bytes()
    assert b"green tea" in snapshot or lines_in(tmp_path / "out")["item"].to_list() == ["green tea"]
    assert CANARY.encode() not in snapshot


def _until_open(port, process):
    end = time.monotonic() + _WAIT
    while True:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return


def _ask(port, path, agent):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nUser-Agent: {agent}\r\n\r\n".encode())
        assert b"200" in connection.recv(1000)
