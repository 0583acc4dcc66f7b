"""A studio inside the test process, with its worker in a thread; and a worker that misbehaves."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import httpx

from coterie.apps.studio.desk import Desk
from coterie.apps.studio.queue import start_process
from coterie.apps.studio.server import Running, prepare
from coterie.apps.studio.worker import serve


class ThreadHand:
    """A worker in a thread. It cannot be killed: it is cut off, and ends when it wants to say something."""

    def __init__(self, connection, folder, work=serve):
        self._line = socket.socket(fileno=os.dup(connection.fileno()))
        self._thread = threading.Thread(target=work, args=(connection, folder), daemon=True)
        self._thread.start()

    def is_alive(self):
        return self._thread.is_alive()

    def kill(self):
        with suppress(OSError):  # it was before
            self._line.shutdown(socket.SHUT_RDWR)

    def join(self, timeout=None):
        self._thread.join(timeout)
        self._line.close()


def misbehaving(connection, folder):
    """A worker that sleeps, ends, says nonsense or leaves a file, as it is told."""
    from coterie.core.files import Scratch

    while True:
        task, arguments = connection.recv()
        if task == "die":
            os._exit(3)
        if task == "nonsense":
            connection.send(7)
            continue
        if task == "child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            connection.send(("progress", str(child.pid), 0.25))
            time.sleep(600)
        if task == "sleep":
            import tempfile

            tempfile.tempdir = str(folder)
            kept = Scratch()
            (kept.path / "rows").write_text("rows of a log")
            connection.send(("progress", "sleeping", 0.25))
            time.sleep(arguments["seconds"])
        connection.send(("done", os.getpid()))


def start_misbehaving(connection, folder):
    return start_process(connection, folder, misbehaving)


@dataclass
class Browser:
    """Asks as a browser does that shows the pages of the studio."""

    client: httpx.Client
    running: Running

    @property
    def desk(self) -> Desk:
        return self.running.desk

    @property
    def secret(self) -> str:
        return self.running.address.rstrip("/").rpartition("/")[2]

    @property
    def origin(self) -> str:
        return self.running.address.partition(f"/{self.secret}")[0]

    def get(self, path: str, **more):
        return self.client.get(f"{self.origin}/{self.secret}{path}", **more)

    def post(self, path: str, data=None, token=True, files=None, headers=None):
        form = {**({"token": self.desk.token} if token else {}), **(data or {})}
        asked = {"origin": self.origin, **(headers or {})}
        return self.client.post(f"{self.origin}/{self.secret}{path}", data=form, files=files, headers=asked)

    def done(self, response) -> str:
        """Where a form led to, once all jobs are over; the path behind the secret."""
        assert response.status_code == 303, response.text
        for job in list(self.desk.queue._jobs.values()):
            self.desk.queue.wait(job)
        return response.headers["location"].removeprefix(f"/{self.secret}").partition("#")[0]

    def follow(self, response):
        return self.get(self.done(response))

    def open(self, path: Path | str, **more) -> int:
        """The number of a log that was named."""
        where = self.done(self.post("/open", {"how": "name", "path": str(path), **more}))
        return int(re.fullmatch(r"/log/(\d+)", where)[1])

    def attempt(self, log: int, method: str, **typed) -> int:
        """The number of a release that was tried."""
        form = {"method": method, **{f"p.{name}": value for name, value in typed.items()}}
        return int(re.search(r"try=(\d+)", self.done(self.post(f"/log/{log}/try", form)))[1])


def commands_on(page: str) -> list[str]:
    """The command lines that a page shows, in the order in which they are to be pasted: a release before its scores."""
    blocks = [unescape(text) for text in re.findall(r'<pre tabindex="0"><code>(.*?)</code>', page, re.S)]
    return sorted("\n".join(blocks).splitlines(), key=lambda line: line.split()[1] == "measure")


def pasted(lines, folder) -> subprocess.CompletedProcess:
    """What a shell makes of command lines, up to the first that fails."""
    script = f'set -e\ncoterie() {{ {shlex.quote(sys.executable)} -m coterie "$@"; }}\n' + "\n".join(lines)
    return subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True)


@contextmanager
def studio(upload=1 << 20, start=ThreadHand):
    """A studio that answers at a port of its own, with its worker in a thread."""
    running = prepare(upload=upload, start=start, patience=0)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    try:
        with httpx.Client(follow_redirects=False, timeout=60) as client:
            yield Browser(client, running)
    finally:
        running.stop()
        thread.join(20)
        running.close()
