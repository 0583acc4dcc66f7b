"""Peers as real processes: the command line, and twenty of them with an engine that logs who asks."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict

import pytest

from coterie.algorithms.sticky import choose
from coterie.apps.peer.home import Home
from coterie.apps.peer.identity import fingerprint
from tests.helpers.peers import (
    Engine,
    Liar,
    a_home,
    as_friend,
    befriend,
    get,
    processes,
    search,
    start,
    status,
)
from tests.helpers.ports import held_ports

CANARY = "qzcanaryq"


@pytest.fixture
def engine():
    with Engine() as engine:
        yield engine


# --- the command line ----------------------------------------------------------------------------


def test_init_and_its_settings(coterie, tmp_path, engine):
    home = tmp_path / "peer"
    assert "Made a peer" in coterie("peer", "init", "--home", home, "--back-end", "http://127.0.0.1:8888").err
    key = (home / "key.pem").read_bytes()
    made = Home(home).settings()
    assert made.back_end == "http://127.0.0.1:8888/search?q={query}&format=json"
    assert "Changed" in coterie("peer", "init", "--home", home, "--address", "127.0.0.1:8643", "--redirect").err
    changed = Home(home).settings()
    assert (changed.address, changed.redirect, changed.secret) == ("127.0.0.1:8643", True, made.secret)
    assert (home / "key.pem").read_bytes() == key
    coterie("peer", "init", "--home", home, "--new-secret")
    again = Home(home).settings()
    assert (again.secret != made.secret, again.choice_key, again.address) == (True, made.choice_key, changed.address)
    told = coterie("peer", "init", "--home", home, "--back-end", "http://search.example/?q=%s").err
    assert "unencrypted" in told


def test_what_is_wrong_is_said(coterie, tmp_path, monkeypatch):
    home = tmp_path / "peer"
    assert "There is no peer in" in coterie("peer", "run", "--home", home, code=2).err
    assert "--back-end" in coterie("peer", "init", "--home", home, code=2).err
    assert (
        "HOST:PORT" in coterie("peer", "init", "--home", home, "--back-end", "http://a", "--address", "x", code=2).err
    )
    assert not home.exists()
    a_home(home)
    assert "--address" in coterie("peer", "invite", "--home", home, code=2).err
    assert "This is no invitation" in coterie("peer", "accept", "hello", "--home", home, code=2).err
    assert "No peer runs" in coterie("peer", "status", "--home", home, code=2).err
    assert "no friend of that name" in coterie("peer", "friends", "--remove", "x", "--home", home, code=2).err
    Home(home).write_running(held_ports(1)[0])
    assert "does not answer" in coterie("peer", "status", "--home", home, code=2).err
    assert "no language" in coterie("peer", "run", "--home", home, "--port", "0", "--language", "xx", code=2).err
    (home / "peer.json").write_text("{}")
    assert "peer.json is damaged" in coterie("peer", "run", "--home", home, code=2).err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'coterie[peer]'" in coterie("peer", "run", "--home", home, code=2).err


def test_invite_accept_search_and_status(coterie, tmp_path, engine, monkeypatch):
    """Two people become friends by the commands, and find themselves in the log of the engine."""
    ports = dict(zip(("anna", "ben"), held_ports(2), strict=True))
    for name, port in ports.items():
        coterie(
            "peer", "init", "--home", tmp_path / name, "--back-end", engine.url(name), "--address", f"127.0.0.1:{port}"
        )
    homes = {name: Home(tmp_path / name) for name in ports}
    with processes({name: (home, ()) for name, home in homes.items()}) as peers:
        code = coterie("peer", "invite", "--home", tmp_path / "anna", "--name", "ben").out.strip()
        assert len(code) <= 70
        accept = ("peer", "accept", code, "--home", tmp_path / "ben", "--name", "anna")
        _until(lambda: _tried(coterie, *accept))
        assert "used already" in coterie(*accept, code=2).err
        assert coterie("peer", "friends", "--home", tmp_path / "ben").out.startswith(
            f"anna  127.0.0.1:{ports['anna']}  "
        )
        _until(lambda: status(peers["ben"][1])["friends"])
        for number in range(20):
            assert search(peers["ben"][1], f"red tea {number}").status == 200
        told = coterie("peer", "status", "--home", tmp_path / "ben").out
        assert "20  Searches" in told
        assert "anna: submitted" in told
        assert (
            json.loads(coterie("peer", "status", "--home", tmp_path / "ben", "--json").out)["numbers"]["searches"] == 20
        )
    assert {who for who, _ in engine.log} == {"anna", "ben"}
    for home in homes.values():
        assert {path.name for path in home.path.iterdir()} <= {
            "certificate.pem", "friends.json", "invitations.json", "key.pem", "lock", "peer.json",
        }  # fmt: skip


def _tried(coterie, *arguments):
    try:
        return coterie(*arguments)
    except AssertionError:
        return None


def _until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked(tmp_path, number):
    home = a_home(tmp_path / "peer")
    process = start(home, "--alone")
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err
    assert home.running() is None


def test_a_port_in_use_is_said(tmp_path):
    home = a_home(tmp_path / "peer")
    with processes({"one": (home, ("--alone",))}):
        port = home.running().port
        command = [sys.executable, "-m", "coterie", "peer", "run", "--home", home.path, "--alone", "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, f"Port {port} is in use" in done.stderr) == (2, True)


# --- twenty peers --------------------------------------------------------------------------------

PEERS, DEGREE, EACH = 20, 10, 30
NAMES = [f"p{number}" for number in range(PEERS)]


def _ring():
    """Each has DEGREE friends: the nearest on a ring."""
    return [(NAMES[a], NAMES[(a + step) % PEERS]) for a in range(PEERS) for step in range(1, DEGREE // 2 + 1)]


@pytest.fixture
def ring(tmp_path, engine):
    ports = held_ports(PEERS)
    homes = {name: a_home(tmp_path / name, engine.url(name), port) for name, port in zip(NAMES, ports, strict=True)}
    befriend(homes, _ring())
    return homes


def _queries(name, moment):
    return [f"{CANARY} {moment} {name} tea {number}" for number in range(EACH)]


def _ask_all(peers, moment, names):
    """All pages, by who asked and what; each person asks one query after the other, all of them at the same time."""
    pages = {}

    def person(name):
        for query in _queries(name, moment):
            pages[name, query] = search(peers[name][1], query)

    threads = [threading.Thread(target=person, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return pages


def _predicted(homes, name, moment, refusing=()):
    """Who submits each query of a person: the rule of the simulator, and who refuses is not asked again."""
    home = homes[name]
    key = bytes.fromhex(home.settings().choice_key)
    members = {fingerprint(home.certificate_der).hex(): name}
    members |= {friend.fingerprint: friend.name for friend in home.friends()}
    found, gone = [], set()
    for query in _queries(name, moment):
        failed = set()
        while True:
            left = [member for member in members if member not in gone | failed]
            who = members[left[choose(key, query, left)]] if len(failed) < 2 else name
            if who == name or who not in refusing:
                break
            gone.add(next(member for member, named in members.items() if named == who))
            failed.add(who)
        found.append((who, query))
    return found


def test_twenty_peers(ring, engine, tmp_path):
    """Every query is answered; the engine's log is what the rule predicts; no query is left anywhere."""
    selfish, liar, killed = NAMES[:3], NAMES[3], NAMES[4:7]
    people, bad = [name for name in NAMES if name != liar], {*selfish, liar}
    arguments = {
        name: ("--back-off", "3600", *(("--rate", "0") if name in selfish else ("--rate", "6000"))) for name in people
    }
    lie = b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 400_000
    with (
        Liar(ring[liar], ring[liar].friends(), lie) as lying,
        processes({name: (ring[name], arguments[name]) for name in people}) as peers,
    ):
        _until(lambda: all(len(status(address)["friends"]) == DEGREE for _, address in peers.values()))
        pages = _ask_all(peers, "first", people)
        assert {page.status for page in pages.values()} == {200}
        predicted = Counter(each for name in people for each in _predicted(ring, name, "first", bad))
        assert Counter(engine.log) == predicted
        _own_share_is_as_predicted(engine.log, bad)
        assert 0 < lying.asked <= DEGREE, "each friend asks once, and leaves them alone then"
        told = {name: status(peers[name][1]) for name in people}
        assert sum(each["numbers"]["friends_refused"] for each in told.values()) <= len(selfish) * DEGREE

        engine.log.clear()
        living = [name for name in people if name not in killed]
        ending = threading.Timer(0.3, lambda: [peers[name][0].kill() for name in killed])
        ending.start()
        pages = _ask_all(peers, "second", living)
        ending.join()
        assert {page.status for page in pages.values()} == {200}, "answered by another, or by oneself"
        asked = Counter(query for _, query in engine.log)
        assert set(asked) == {query for name in living for query in _queries(name, "second")}
        # Whoever died in the middle may have submitted what was then submitted again.
        assert sum(asked.values()) - len(asked) <= 3 * DEGREE

        seen = "".join(get(peers[name][1], path).text for name in living for path in ("status", "status.json"))
        assert CANARY not in seen
    for process, _ in peers.values():
        assert process.returncode is not None
    _nothing_is_left(tmp_path, peers)


def _own_share_is_as_predicted(log, bad):
    """Over all honest people with no bad friend, one's own address submits 1 / (degree + 1), within 4 sigma."""
    far = [name for name in NAMES if not bad & {a for pair in _ring() if name in pair for a in pair} - {name}]
    own = defaultdict(list)
    for who, query in log:
        asked_by = query.split()[2]
        own[asked_by].append(who == asked_by)
    share, n = 1 / (DEGREE + 1), EACH * len(far)
    found = sum(sum(own[name]) for name in far)
    assert abs(found - n * share) <= 4 * math.sqrt(n * share * (1 - share)) + 1


def _nothing_is_left(folder, peers):
    for path in folder.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path
    names = {path.name for name in NAMES for path in (folder / name).iterdir()}
    assert names <= {"certificate.pem", "friends.json", "key.pem", "lock", "peer.json", "running.json"}
    assert peers


def test_no_query_is_printed_or_logged(tmp_path, engine):
    """Not by a request that cannot be read, a back end that fails, a friend who lies; with all warnings on."""
    ports = held_ports(2)
    homes = {name: a_home(tmp_path / name, engine.url(name), port) for name, port in zip("ab", ports, strict=True)}
    befriend(homes, [("a", "b")])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-X", "dev", "-m", "coterie", "peer", "run", "--home", homes["a"].path, "--port", "0"]
    env = {**os.environ, "TMPDIR": str(scratch), "PYTHONASYNCIODEBUG": "1", "NO_COLOR": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=scratch)
    address = process.stdout.readline().strip()
    try:
        for number in range(6):  # b is not there
            assert search(address, f"{CANARY} {number}").status == 200
        assert get(address, f"search?q={CANARY}" + "x" * 20_000).status == 400
        assert search(address, f"{CANARY}@example.org").status == 200
        engine.status = 500
        assert search(address, f"{CANARY} fails").status == 502
        engine.status, engine.answer = 200, b"<html>"
        assert search(address, f"{CANARY} garbage").status == 502
        assert CANARY not in get(address, "status").text
    finally:
        process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert CANARY not in out + err
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path
    assert not list(scratch.iterdir())


def test_the_peer_needs_no_compiler():
    """A process that waits for queries has no use for what simulations and methods need."""
    heavy = ("numba", "scipy", "altair", "rich")
    code = f"import sys, coterie.apps.peer.service; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_friend_is_known_by_the_certificate(tmp_path):
    home = a_home(tmp_path / "a", port=1)
    assert as_friend(home, "x").fingerprint == fingerprint(home.certificate_der).hex()


# --- a real browser ------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --virtual-time-budget=3000
"""
EVIL = """<!doctype html><title>evil</title><img src="URL"><iframe src="URL"></iframe><script src="URL"></script>
<iframe name="there"></iframe><form id="f" action="URL" target="there"></form>
<form id="p" action="SEND" method="post" target="there"><input name="token" value="x"></form>
<script>fetch("URL", {mode: "no-cors"}).catch(() => 0); f.submit(); p.submit(); new Image().src = "URL";</script>"""


def _browse(folder, url, *flags):
    command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={folder}", *flags, "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_browser_lets_only_its_owner_search(tmp_path, engine):
    """Even a page that knows the secret gets nothing: on another site, on another port, or by rebinding."""
    home = a_home(tmp_path / "peer", engine.url("me"))
    with processes({"me": (home, ("--alone",))}) as peers:
        address = peers["me"][1]
        url, send = address.replace("%s", "stolen"), address.partition("search?")[0] + "send"
        with Engine() as evil:
            evil.answer = EVIL.replace("URL", url).replace("SEND", send).encode()
            evil.headers = {"Content-Type": "text/html"}
            for host in ("localhost", "127.0.0.1"):
                _browse(tmp_path / "profile", evil.url().replace("127.0.0.1", host))
            assert len(evil.log) >= 2, "the page was read"
        refused = status(address)["numbers"]["foreign_pages_refused"]
        assert refused >= 8
        rebound = url.replace("127.0.0.1", "evil.example")
        page = _browse(tmp_path / "profile", rebound, "--host-resolver-rules=MAP evil.example 127.0.0.1")
        assert "browser of its owner only" in page
        assert status(address)["numbers"]["foreign_pages_refused"] > refused
        assert engine.log == []
        assert "A page" in _browse(tmp_path / "profile", address.replace("%s", "mine"))
    assert engine.log == [("me", "mine")]
