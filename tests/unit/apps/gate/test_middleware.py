"""Middleware: searches reach the gate, requests never wait, drops are counted."""

import asyncio
import threading

import pytest

from coterie.apps.gate.middleware import AsgiGate, Feed, WsgiGate
from coterie.apps.gate.windows import now
from coterie.errors import ParameterError
from tests.helpers.gates import gate_in, lines_in


def _feed(folder, **given):
    gate = gate_in(folder, clock=now, shadow=1)
    return gate, Feed(gate, pause=0.01, **given)


def _finish(gate, feed):
    """End the window before the gate closes, so that what came is seen."""
    closing = gate.close
    gate.close = lambda: (gate.end_window(), closing())
    feed.close()


async def _answer(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})


def _asgi(app, path, query, agent=b"B/1"):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "path": path,
        "query_string": query,
        "client": ("10.0.0.1", 1),
        "headers": [(b"user-agent", agent)],
    }
    asyncio.run(app(scope, None, send))
    return sent


def test_asgi(tmp_path):
    gate, feed = _feed(tmp_path)
    app = AsgiGate(_answer, feed)
    for agent in (b"B/1", b"B/2"):
        assert _asgi(app, "/search", b"q=Green+Tea&x=1", agent)[0]["status"] == 200
    _asgi(app, "/other", b"q=x")
    _asgi(app, "/search", b"page=2")
    _finish(gate, feed)
    lines = lines_in(tmp_path / "out")
    assert lines["item"].to_list() == ["green tea"]
    assert (gate.counts.events, feed.dropped, feed.error) == (2, 0, None)


def test_wsgi(tmp_path):
    gate, feed = _feed(tmp_path)
    app = WsgiGate(lambda environ, start: [b"ok"], feed, user=lambda environ: environ["name"])
    for name in "ab":
        assert app({"PATH_INFO": "/search", "QUERY_STRING": "q=tea", "name": name}, None) == [b"ok"]
    _finish(gate, feed)
    assert lines_in(tmp_path / "out")["item"].to_list() == ["tea"]


def test_a_request_with_something_wrong_is_answered(tmp_path):
    gate, feed = _feed(tmp_path)
    assert WsgiGate(lambda environ, start: [b"ok"], feed)(
        {"PATH_INFO": "/search", "QUERY_STRING": "q=" + "&q=" * 200}, None
    ) == [b"ok"]
    assert _asgi(AsgiGate(_answer, feed), "/search", b"q=" + b"&q=" * 200)[0]["status"] == 200
    assert feed.dropped == 2
    feed.close()
    assert gate.counts.dropped == 2


def test_a_full_queue_never_blocks(tmp_path):
    gate = gate_in(tmp_path, clock=now)
    entered, leave = threading.Event(), threading.Event()
    counting = gate.offer_many

    def slow(rows):
        entered.set()
        leave.wait()
        counting(rows)

    gate.offer_many = slow
    feed = Feed(gate, length=3, pause=0.01)
    assert feed.put("a", "tea")
    entered.wait()  # the thread holds what was on the queue, and waits
    assert [feed.put("a", "tea") for _ in range(5)] == [True, True, True, False, False]
    assert not feed.put("a", "x" * 20_000)
    leave.set()
    feed.close()
    assert (feed.dropped, gate.counts.events) == (3, 4)
    assert not feed.put("a", "tea"), "it is closed"


def test_steps_that_look_at_several_requests_are_refused(tmp_path):
    gate = gate_in(tmp_path, clock=now, shadow=1)
    with gate.abandoned(), pytest.raises(ParameterError, match="looks at several rows"):
        Feed(gate, steps="default,drop_short")


def test_a_gate_that_stops_stops_no_request(tmp_path):
    gate = gate_in(tmp_path, clock=now)

    def fail(rows):
        raise RuntimeError("qzqueryq")

    gate.offer_many = fail
    feed = Feed(gate, pause=0.01)
    feed.put("a", "tea")
    feed._thread.join()
    assert feed.error == "RuntimeError"
    assert not feed.put("b", "tea")
    assert feed.dropped == 1
