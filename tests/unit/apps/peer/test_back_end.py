"""Back ends that answer, and those that do not."""

import asyncio
import gzip
import json
import socket

import aiohttp
import pytest

from coterie.apps.peer import back_end
from coterie.apps.peer.back_end import BackEnd, checked_template, is_in_clear
from coterie.apps.peer.results import AnswerError
from coterie.errors import ParameterError
from tests.helpers.peers import ANSWER, Engine
from tests.helpers.ports import held_ports

NO_JSON = "that is no JSON. SearXNG needs the format json in its settings."


@pytest.fixture
def engine():
    with Engine() as engine:
        yield engine


def _ask(template, query="qzqueryq tea"):
    async def run():
        async with aiohttp.ClientSession(auto_decompress=False) as session:
            return await BackEnd(template).search(session, query)

    return asyncio.run(run())


@pytest.mark.parametrize(("template", "origin"), [
    ("https://search.example/?q=%s", "https://search.example"),
    ("http://127.0.0.1:8888/search?q={query}", "http://127.0.0.1:8888"),
    ("http://[::1]:8888/search?q={query}", ""),
    ("https://a.example;script-src/?q=%s", ""),
])  # fmt: skip
def test_the_host_for_a_policy(template, origin):
    assert BackEnd(template).origin == origin


def _error(template):
    with pytest.raises(AnswerError) as error:
        _ask(template)
    assert "qzqueryq" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(("given", "template"), [
    ("http://127.0.0.1:8888", "http://127.0.0.1:8888/search?q={query}&format=json"),
    (" http://127.0.0.1:8888/ ", "http://127.0.0.1:8888/search?q={query}&format=json"),
    ("https://search.example/?q=%s", "https://search.example/?q=%s"),
    ("https://search.example/api/{query}?a=b", "https://search.example/api/{query}?a=b"),
])  # fmt: skip
def test_templates(given, template):
    assert checked_template(given) == template


@pytest.mark.parametrize("given", [
    "", "search.example", "ftp://search.example/{query}", "file:///{query}", "http://{query}/", "http://{query}.example/",
    "http://search.example:{query}/", "https://user:pw@search.example/{query}", "https://search.example/#{query}",
    "https://search.example/search?q=", "https://search.example/search", "http://search.example/ {query}", "http://[::1",
    "{query}", "http://%s@search.example/", "http://search.example\\{query}", "http:///{query}", "http://a:99999/{query}",
])  # fmt: skip
def test_what_is_no_template(given):
    with pytest.raises(ParameterError):
        checked_template(given)


@pytest.mark.parametrize("query", [
    "a b", "a&format=html", "../../admin", "x#y", "a?b=c", "@evil.example/", "//evil.example", "\\\\1 \\g<0>",
    "ä %s {query}", "a%00b", "http://127.0.0.1:22/", "a\r\nX: y",
])  # fmt: skip
@pytest.mark.parametrize("place", ["/search?q={query}", "/{query}", "/a?q=%s&z=1"])
def test_no_query_changes_where_it_goes(engine, query, place):
    """Whatever is typed, or sent by a friend, stays one value behind the host."""
    base = engine.url().partition("/search")[0]
    url = BackEnd(base + place).url(query)
    before, after = place.replace("{query}", "%s").split("%s")
    encoded = url.removeprefix(base + before).removesuffix(after)
    assert not set(encoded) & set("/?#&\\ \r\n")
    assert url.startswith(base + "/")
    _ask(engine.url(), query)
    assert engine.log == [("someone", query)]


def test_it_answers(engine):
    (found,) = _ask(engine.url())
    assert (found.url, found.title, found.text) == ("https://example.org/a", "A page", "What it says.")


def test_it_is_down():
    assert _error(f"http://127.0.0.1:{held_ports(1)[0]}/{{query}}") == "The back end cannot be reached. Is it running?"


@pytest.mark.parametrize(("status", "says"), [
    (429, "The back end refused (429). It asks to wait."),
    (403, "The back end refused (403). SearXNG needs the format json in its settings."),
    (500, "The back end refused (500)."),
    (302, "The back end sends elsewhere, and is not followed: name its final address."),
])  # fmt: skip
def test_it_refuses(engine, status, says):
    engine.status, engine.headers = status, {"Location": "http://127.0.0.1:1/"}
    assert _error(engine.url()) == says


@pytest.mark.parametrize(("answer", "says"), [
    (b"<!doctype html>", f"The back end answered a web page {NO_JSON}"),
    (b"\x00\xff", f"The back end answered something {NO_JSON}"),
    (b"", f"The back end answered something {NO_JSON}"),
    (b"[" * 100_000, f"The back end answered something {NO_JSON}"),
    (b"3", "The back end answered JSON without a list of results."),
    (b'{"a": 1}', "The back end answered JSON without a list of results."),
    (b" " * (3 << 20), "The back end answered more than 2048 kB."),
    (b'{"results": [], "unresponsive_engines": [["a", "CAPTCHA"]]}',
     "The engines behind the back end did not answer; they may have blocked it for a while."),
])  # fmt: skip
def test_it_answers_garbage(engine, answer, says):
    engine.answer = answer
    assert _error(engine.url()) == says


def test_it_answers_something_packed(engine):
    engine.answer, engine.headers = gzip.compress(bytes(10**6)), {"Content-Encoding": "gzip"}
    assert _error(engine.url()) == "The back end answered something packed, which was not asked for."


def test_it_finds_nothing(engine):
    engine.answer = json.dumps({**ANSWER, "results": []}).encode()
    assert _ask(engine.url()) == ()


@pytest.fixture
def trickle():
    """A server that sends for ever: its first bytes, and then the same again."""
    import threading

    listening, end = socket.create_server(("127.0.0.1", 0)), threading.Event()
    kinds = {}

    def serve():
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 16)
            try:
                connection.sendall(kinds["first"])
                while not end.wait(kinds["pause"]):
                    connection.sendall(kinds["again"])
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/{{query}}", kinds
    end.set()
    listening.close()
    thread.join(timeout=10)


def test_it_is_slow(trickle, monkeypatch):
    monkeypatch.setattr(back_end, "SECONDS", 0.3)
    url, kinds = trickle
    kinds |= {"first": b"HTTP/1.1 200 OK\r\n\r\n[", "again": b" ", "pause": 0.02}
    assert _error(url) == "The back end did not answer within 0.3 seconds."


@pytest.mark.parametrize("first", [b"HTTP/1.1 200 OK\r\n\r\n[", b"HTTP/1.1 200 OK\r\nX: "])
def test_it_never_ends(trickle, first):
    """Neither an answer without an end nor a header without an end fills the memory."""
    url, kinds = trickle
    kinds |= {"first": first, "again": b"x" * 60_000, "pause": 0}
    assert _error(url) in ("The back end answered more than 2048 kB.", "The back end cannot be reached. Is it running?")


def test_queries_in_clear():
    assert is_in_clear("http://search.example/{query}")
    assert not is_in_clear("http://127.0.0.1:8888/{query}")
    assert not is_in_clear("https://search.example/{query}")
