"""A studio inside the test process, with its worker in a thread; and a worker that misbehaves."""

from __future__ import annotations

import multiprocessing
import os
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from coterie.studio.desk import Desk
from coterie.studio.server import Running, prepare
from coterie.studio.worker import serve


class ThreadHand:
    """A worker in a thread. It cannot be killed: it ends when its connection is closed."""

    def __init__(self, connection, folder):
        self._thread = threading.Thread(target=serve, args=(connection, folder), daemon=True)
        self._thread.start()

    def kill(self):
        pass

    def join(self, timeout=None):
        self._thread.join(timeout)


def misbehaving(connection, folder):
    """A worker that sleeps, ends, says nonsense or leaves a file, as it is told."""
    from coterie.core.scratch import Scratch

    while True:
        task, arguments = connection.recv()
        if task == "die":
            os._exit(3)
        if task == "sleep":
            import tempfile

            tempfile.tempdir = str(folder)
            kept = Scratch()
            (kept.path / "rows").write_text("rows of a log")
            connection.send(("progress", "sleeping", 0.25))
            time.sleep(arguments["seconds"])
        connection.send(("done", os.getpid()))


def start_misbehaving(connection, folder):
    process = multiprocessing.get_context("spawn").Process(target=misbehaving, args=(connection, folder), daemon=True)
    process.start()
    connection.close()
    return process


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


@contextmanager
def studio(upload=1 << 20):
    """A studio that answers at a port of its own, with its worker in a thread."""
    running = prepare(upload=upload, start=ThreadHand)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    try:
        with httpx.Client(follow_redirects=False, timeout=60) as client:
            yield Browser(client, running)
    finally:
        running.stop()
        thread.join(20)
        running.close()
