"""The server: one port on loopback, one secret, one private folder, from the start of the command until its end."""

from __future__ import annotations

import secrets
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field

import uvicorn

from coterie.apps.studio.app import Studio
from coterie.apps.studio.desk import Desk
from coterie.apps.studio.guard import SMALL, Guard
from coterie.apps.studio.plain import Source, whole_path
from coterie.apps.studio.queue import Queue, Start, start_process
from coterie.core.files import Scratch
from coterie.errors import InputError

UPLOAD = 2 << 30
"""Bytes that may be dropped at once."""
PATIENCE = 1.0
"""Seconds that work waits for the first page: on a busy machine the two would slow each other down."""
_WITH_FILES = ("/open", "/verify")


@dataclass(kw_only=True)
class Running:
    """A studio that answers, and how to end it."""

    address: str
    """With the secret: whoever has it is the owner."""
    once: str
    """Leads there a single time: for a program that starts a browser, whose arguments others may see."""
    desk: Desk
    guard: Guard
    listening: socket.socket
    scratch: Scratch
    _server: uvicorn.Server | None = field(default=None, repr=False)

    def run(self) -> None:
        """Answer until somebody closes the studio, or the process is told to end."""
        config = uvicorn.Config(
            self.guard, log_level="critical", access_log=False, lifespan="off", server_header=False, ws="none",
            timeout_graceful_shutdown=2, timeout_keep_alive=15,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._server.run(sockets=[self.listening])

    def stop(self) -> None:
        """Answer what is being answered, and no more."""
        if self._server is not None:
            self._server.should_exit = True

    def close(self) -> None:
        """End the worker, and remove everything that is on disk."""
        self.desk.queue.close()
        self.listening.close()
        self.scratch.remove()


def prepare(port: int = 0, upload: int = UPLOAD, start: Start = start_process, patience: float = PATIENCE) -> Running:
    """A studio at a port of this machine, any unless said, which nobody else can reach."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise InputError(f"Port {port} cannot be used ({error.strerror}). Leave out --port to take any.") from None
    scratch = Scratch()
    secret, once = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    desk = Desk(scratch.path, Queue(scratch.path, start, patience))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    running: list[Running] = []
    app = Studio(desk, f"/{secret}", upload, close=lambda: running[0].stop()).app()
    guard = Guard(app, secret, lambda path: upload if path in _WITH_FILES else SMALL, once=once)
    home, lead = f"{address}/{secret}/", f"{address}/{once}"
    running.append(Running(address=home, once=lead, desk=desk, guard=guard, listening=listening, scratch=scratch))
    return running[0]


def serve(
    log: str | None,
    ready: Callable[[Running], None],
    *,
    port: int = 0,
    upload: int = UPLOAD,
    start: Start = start_process,
) -> None:
    """Run a studio until it is closed; `ready` is told where it is."""
    running = prepare(port, upload, start)
    tempfile.tempdir = str(running.scratch.path)  # of what is being dropped, too: this process does nothing else
    try:
        if log is not None:
            running.desk.open(Source(paths=(whole_path(log),)))
        ready(running)
        running.run()
    except KeyboardInterrupt:
        pass  # how a studio is usually closed
    finally:
        running.close()
