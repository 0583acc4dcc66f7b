"""Middleware: searches of a web application go to a gate, and no request ever waits for it.

    from coterie.apps.gate import Gate
    from coterie.apps.gate.middleware import AsgiGate, Feed

    feed = Feed(Gate(state="/var/lib/app/gate", output="/var/lib/app/safe", key="/run/app/gate.key"))
    app = AsgiGate(app, feed, path="/search", param="q")

A request puts (user, query, time) on a queue of a fixed length, or counts itself as dropped where the queue is full. A
thread takes them from there. What is on the queue is in memory alone: a crash loses it, and what came since the last
snapshot.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, MutableMapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

import polars as pl

from coterie import api
from coterie.apps.gate.gate import Gate
from coterie.apps.gate.run import refuse_steps
from coterie.apps.gate.windows import now
from coterie.core.shapes import QUERIES
from coterie.errors import CoterieError
from coterie.steps import DEFAULT, StepLike, steps_of

Environ = MutableMapping[str, Any]
App = Callable[..., Any]
User = Callable[[Environ], str | None]
_SCHEMA = {name: QUERIES.schema[name] for name in ("user", "query", "time")}
_MOST_AT_ONCE = 10_000
_LONGEST = 10_000  # characters of a query; whatever is longer is no search


class Feed:
    """A queue of a fixed length before a gate, and the thread that empties it."""

    def __init__(
        self,
        gate: Gate,
        *,
        length: int = 10_000,
        pause: float = 0.2,
        commit_every: float = 30.0,
        steps: str | Iterable[StepLike] = DEFAULT,
    ) -> None:
        self._gate, self._pause, self._every = gate, pause, commit_every
        self._steps = steps_of(steps)
        refuse_steps(self._steps)
        self._queue: queue.Queue[tuple[str | None, str, datetime]] = queue.Queue(length)
        self._ending = threading.Event()
        self.dropped = 0
        """Searches that found the queue full, or the gate stopped."""
        self.error: str | None = None
        """Why the gate stopped; None while it works."""
        self._told = 0
        self._thread = threading.Thread(target=self._work, name="coterie-gate", daemon=True)
        self._thread.start()

    def put(self, user: str | None, query: str) -> bool:
        """Put a search on the queue; False, at once, where that is not possible."""
        if self.error is None and not self._ending.is_set() and len(query) <= _LONGEST:
            try:
                self._queue.put_nowait((user, query, now()))
            except queue.Full:
                pass
            else:
                return True
        self.dropped += 1
        return False

    def close(self) -> None:
        """Count what is on the queue, and put everything on the disk."""
        self._ending.set()
        self._thread.join()

    def _work(self) -> None:
        committed = time.monotonic()
        try:
            while True:
                ending = self._ending.wait(self._pause)
                self._count()
                self._gate.tick()
                if ending and self._queue.empty():
                    break
                if self._gate.waiting or (self._gate.changed and time.monotonic() - committed > self._every):
                    self._gate.commit()
                    committed = time.monotonic()
            self._gate.close()
        except CoterieError as error:
            self._fail(str(error))
        except Exception as error:  # its message may hold a value of a request
            self._fail(type(error).__name__)

    def _fail(self, why: str) -> None:
        self.error = why
        self._gate.abandon()

    def _count(self) -> None:
        rows: list[tuple[str | None, str, datetime]] = []
        while len(rows) < _MOST_AT_ONCE:
            try:
                rows.append(self._queue.get_nowait())
            except queue.Empty:
                break
        self._gate.counts.dropped += (dropped := self.dropped - self._told)
        self._told += dropped
        if rows:
            log = api.prepare(api.log(pl.DataFrame(rows, schema=_SCHEMA, orient="row")), self._steps)
            self._gate.parts.with_steps(log.steps, {})
            self._gate.offer_many(log)


def _asked(query_string: str, param: str) -> str | None:
    values = parse_qs(query_string, max_num_fields=100).get(param) if param in query_string else None
    return values[0] if values else None


class _Middleware:
    """What both kinds have in common."""

    def __init__(self, app: App, feed: Feed, *, path: str = "/search", param: str = "q", user: User | None = None):
        """`user`: who asks, of a scope or an environment; else the address and the agent."""
        self.app, self.feed, self.path, self.param, self.user = app, feed, path, param, user

    def _hear(self, environ: Environ, query_string: bytes | str, user_of: User) -> None:
        """Put what was asked on the queue; whatever is wrong with a request, it is answered."""
        try:
            text = query_string.decode("latin-1") if isinstance(query_string, bytes) else query_string
            query = _asked(text, self.param)
            if query is not None:
                self.feed.put((self.user or user_of)(environ), query)
        except Exception:
            self.feed.dropped += 1


class AsgiGate(_Middleware):
    """ASGI: passes every request on, and tells the feed about searches."""

    async def __call__(self, scope: Environ, receive: Any, send: Any) -> None:
        """One request."""
        if scope.get("type") == "http" and scope.get("path") == self.path:
            self._hear(scope, scope.get("query_string", b""), _asgi_user)
        await self.app(scope, receive, send)


class WsgiGate(_Middleware):
    """WSGI: passes every request on, and tells the feed about searches."""

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        """One request."""
        if environ.get("PATH_INFO") == self.path:
            self._hear(environ, environ.get("QUERY_STRING", ""), _wsgi_user)
        answer: Iterable[bytes] = self.app(environ, start_response)
        return answer


def _asgi_user(scope: Environ) -> str | None:
    client = scope.get("client")
    agent = next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"user-agent"), "")
    return f"{client[0]} {agent}" if client else None


def _wsgi_user(environ: Environ) -> str | None:
    address = environ.get("REMOTE_ADDR")
    return f"{address} {environ.get('HTTP_USER_AGENT', '')}" if address else None
