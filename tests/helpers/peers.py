"""Peers for tests: a search engine that logs who asked what, folders that know each other, and real processes."""

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import msgspec

from coterie.apps.peer.home import Friend, Home, make_home, new_settings
from coterie.apps.peer.identity import server_side
from coterie.apps.peer.service import running

ANSWER = {"results": [{"url": "https://example.org/a", "title": "A page", "content": "What it says."}]}


class Engine:
    """A search engine on the loopback address: `log` has (who, query) for each request, `answer` is what it says."""

    def __init__(self):
        self.log, self.status, self.answer, self.headers = [], 200, json.dumps(ANSWER).encode(), {}
        self.free = threading.Event()  # while it is not set, nobody is answered
        self.free.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # whoever asked has left
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def url(self, who="someone"):
        return f"http://127.0.0.1:{self._server.server_address[1]}/search?who={who}&q={{query}}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                asked = parse_qs(urlsplit(self.path).query)
                engine.log.append((asked.get("who", [""])[0], asked.get("q", [""])[0]))
                engine.free.wait(30)
                self.send_response(engine.status)
                for name, value in {"Content-Length": str(len(engine.answer)), **engine.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(engine.answer)

            def log_message(self, *_):
                pass

        return Handler


class Liar:
    """A friend who answers whatever is asked with the same bytes, in a thread; `asked` counts how often."""

    def __init__(self, home, friends, answer):
        self.asked = 0
        self._home, self._friends, self._answer = home, friends, answer
        self._thread, self._ready = (
            threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True),
            threading.Event(),
        )

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)

    async def _run(self):
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        context = server_side(self._home.certificate, self._home.key)
        for friend in self._friends:
            context.load_verify_locations(cadata=friend.der)
        host, port = self._home.settings().address.split(":")
        async with await asyncio.start_server(self._lie, host, int(port), ssl=context):
            self._ready.set()
            await self._end.wait()

    async def _lie(self, reader, writer):
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"}")
            self.asked += 1
            writer.write(self._answer)
            await writer.drain()
        writer.close()


def a_home(folder, back_end="http://127.0.0.1:9", port=None, **settings):
    """A new folder of a peer; `port` is where friends reach it."""
    if port is not None:
        settings["address"] = f"127.0.0.1:{port}"
    return make_home(Path(folder), msgspec.structs.replace(new_settings(back_end), **settings))


def as_friend(home, name):
    """A peer as its friends know it."""
    return Friend(
        name=name, certificate=base64.b64encode(home.certificate_der).decode(), address=home.settings().address
    )


def befriend(homes, pairs):
    """Make friends of pairs of homes, by their names."""
    for one, other in pairs:
        for mine, theirs in ((one, other), (other, one)):
            with homes[mine].locked():
                homes[mine].add(as_friend(homes[theirs], theirs))


@dataclass
class Page:
    status: int
    text: str
    headers: dict = field(default_factory=dict)


def get(address, path, method="GET", body=None, **headers):
    """What the local address answers to a path behind the secret, or to a whole one after another slash.

    Headers have underscores for dashes.
    """
    parts = urlsplit(address)
    secret = parts.path.split("/")[1]
    link = HTTPConnection(parts.hostname, parts.port, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        named.setdefault("Content-Type", "application/x-www-form-urlencoded")
    try:
        link.request(method, path[1:] if path.startswith("//") else f"/{secret}/{path}", body, named)
        answer = link.getresponse()
        return Page(answer.status, answer.read().decode(), dict(answer.headers))
    finally:
        link.close()


def search(address, query, **headers):
    """The page for a query."""
    return get(address, f"search?q={quote(query, safe='')}", **headers)


def status(address):
    """The numbers of a peer."""
    return json.loads(get(address, "status.json").text)


def token_in(page):
    """The one-time token of a question."""
    return re.search(r'name="token" value="([^"]+)"', page.text)[1]


@contextmanager
def processes(started):
    """Real processes that end with the block: `started` are their folders and further arguments, by name."""
    found = {}
    try:
        for name, (home, arguments) in started.items():
            found[name] = start(home, *arguments)
        yield {name: (process, _first_line(process)) for name, process in found.items()}
    finally:
        for process in found.values():
            if process.poll() is None:
                process.terminate()
        for process in found.values():
            process.wait(timeout=60)
            for stream in (process.stdout, process.stderr):
                stream.close()


def start(home, *arguments):
    """A peer as a process of its own."""
    path = home.path if isinstance(home, Home) else home
    command = [sys.executable, "-m", "coterie", "peer", "run", "--home", str(path), "--port", "0", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
    )


def _first_line(process):
    line = process.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:"), process.stderr.read()
    return line


def with_peer(home, options, work):
    """What `work(address)` gives, in a thread, while a peer runs in this process."""

    async def run():
        async with running(home, options) as address:
            return await asyncio.to_thread(work, address)

    return asyncio.run(run())
