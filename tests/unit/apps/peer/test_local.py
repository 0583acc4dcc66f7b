"""The local address: who may ask, and what happens to a query."""

import gzip
import json
import re
import socket
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pytest

from coterie.apps.peer import local
from coterie.apps.peer.service import Options
from tests.helpers.peers import Engine, a_home, get, search, status, token_in, with_peer

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def engine():
    with Engine() as engine:
        yield engine


@pytest.fixture
def peer(tmp_path, engine):
    """Runs work with the address of a peer without friends."""

    def run(work, redirect=False, **options):
        home = a_home(tmp_path / "peer", engine.url("me"), redirect=redirect)
        return with_peer(home, Options(port=0, alone=True, **options), work)

    return run


FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "evil.example:{port}"},
    {"Host": "127.0.0.1"},
    {"Host": "127.0.0.1:1"},
    {"Host": "127.0.0.1.evil.example:{port}"},
    {"Host": "[::1]:{port}"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
    {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"},
    {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
    {"Sec_Fetch_Site": "none", "Sec_Purpose": "prefetch;prerender"},
    {"Purpose": "prefetch"},
    {"Sec_Fetch_Site": ""},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Referer": "https://evil.example/a"},
    {"Referer": "http://127.0.0.1:{port}.evil.example/"},
    {"Origin": "http://[::1"},
]


@pytest.mark.parametrize("path", ["search?q=tea", "", "status", "status.json", "go?to=x", "nothing"])
def test_foreign_pages_get_403(peer, engine, path):
    def work(address):
        port = str(urlsplit(address).port)
        for headers in FOREIGN:
            page = get(address, path, **{name: value.replace("{port}", port) for name, value in headers.items()})
            assert page.status == 403, headers
            assert urlsplit(address).path.split("/")[1] not in page.text
        assert get(address, "send", "POST", "token=a&do=send", Origin="null").status == 403
        return status(address)["numbers"]

    assert peer(work)["foreign_pages_refused"] == len(FOREIGN) + 1
    assert engine.log == []


@pytest.mark.parametrize("asked", [
    "OPTIONS *", "CONNECT evil.example:80", "GET /", "GET //", "GET /%FF/search?q=tea", "GET http://x/y/search?q=tea",
])  # fmt: skip
def test_whatever_is_asked_for_without_the_secret_gets_the_same_403(peer, engine, asked):
    def work(address):
        port = urlsplit(address).port
        with socket.create_connection(("127.0.0.1", port)) as link:
            link.sendall(f"{asked} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            return link.makefile("rb").read()

    answer = peer(work)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"owner only" in answer
    assert engine.log == []


@pytest.mark.parametrize("redirect", [False, True])
def test_forms_lead_to_the_back_end_where_the_browser_is_sent_there(peer, engine, redirect):
    """Else a search from the peer's own page, which is a form, ends at the policy of that page."""

    def forms(address):
        policy = get(address, "").headers["Content-Security-Policy"]
        return policy.partition("form-action ")[2].partition(";")[0]

    where = urlsplit(engine.url("me"))
    assert peer(forms, redirect=redirect) == ("'self'" + f" {where.scheme}://{where.netloc}" * redirect)


def test_without_the_secret_there_is_403(peer, engine):
    def work(address):
        secret = urlsplit(address).path.split("/")[1]
        for path in (
            "search?q=tea",
            f"{secret[:-1]}/search?q=tea",
            "",
            f"x/{secret}/search?q=tea",
            f"/{secret}/search",
        ):
            assert get(address, f"//{path}").status == 403
        assert get(address, f"//{secret}/../{secret}/search?q=tea").status == 404

    peer(work)
    assert engine.log == []


@pytest.mark.parametrize("headers", [
    {}, {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
    {"Sec_Fetch_Site": "same-origin", "Origin": "null"}, {"Host": "localhost:{port}"},
    {"Origin": "http://127.0.0.1:{port}"},
])  # fmt: skip
def test_the_owner_gets_results(peer, engine, headers):
    def work(address):
        port = str(urlsplit(address).port)
        return search(address, "red tea", **{name: value.replace("{port}", port) for name, value in headers.items()})

    page = peer(work)
    assert page.status == 200
    assert "A page" in page.text
    assert "Your own address asked." in page.text
    assert engine.log == [("me", "red tea")]


def test_what_every_response_says(peer, engine):
    def work(address):
        return [search(address, "tea"), get(address, "status"), get(address, "nothing"), get(address, "//x")]

    for page in peer(work):
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert page.headers["Cache-Control"] == "no-store"
        assert "Server" not in page.headers
        assert "<script" not in page.text
        assert not re.search(r'(?:src|href)="https?:', page.text), "nothing is loaded, and links go through the peer"


def test_repeats_do_not_leave(peer, engine):
    def work(address):
        search(address, "Red  Tea")
        page = search(address, "red tea")
        assert "did not leave your machine" in page.text
        again = re.search(r'href="([^"]+ask=again[^"]*)"', page.text)[1].replace("&amp;", "&")
        assert "From memory" not in get(address, "/" + again).text
        return status(address)["numbers"]

    numbers = peer(work)
    assert engine.log == [("me", "Red Tea"), ("me", "red tea")]
    assert (numbers["searches"], numbers["from_memory"], numbers["sent_myself"]) == (3, 1, 2)


def test_the_page_opened_last_is_remembered(peer, engine):
    def work(address):
        page = search(address, "tea")
        link = re.search(r'href="([^"]+/go[^"]+)"', page.text)[1].replace("&amp;", "&")
        gone = get(address, "/" + link)
        assert (gone.status, gone.headers["Location"]) == (303, "https://example.org/a")
        assert "You last opened" in search(address, "tea").text
        # No other address can be put into such a link.
        asked = parse_qs(urlsplit(link).query)
        for other in ("https://evil.example/", "javascript:alert(1)", "https://example.org/a\r\nX: y"):
            bad = urlencode({"to": other, "mark": asked["mark"][0], "of": asked["of"][0]})
            assert get(address, f"go?{bad}").status == 400
        assert get(address, "go?to=https://example.org/a").status == 400

    peer(work)


def test_personal_data_is_asked_about(peer, engine):
    def work(address):
        page = search(address, "anna@example.org house")
        assert "e-mail address" in page.text
        assert engine.log == []
        token = token_in(page)
        assert get(address, "send", "POST", "token=wrong&do=send").status == 400
        assert get(address, f"send?token={token}&do=send").status == 405, "a link cannot answer"
        assert engine.log == []
        sent = get(address, "send", "POST", f"token={token}&do=send", Sec_Fetch_Site="same-origin", Origin="null")
        assert sent.status == 200
        assert get(address, "send", "POST", f"token={token}&do=send").status == 400, "once"
        other = token_in(search(address, "12 main street"))
        dropped = get(address, "send", "POST", f"token={other}&do=drop")
        assert "Nothing was sent" in dropped.text
        assert get(address, "send", "POST", f"token={other}&do=send").status == 400
        return status(address)["numbers"]

    numbers = peer(work)
    assert engine.log == [("me", "anna@example.org house")]
    assert (numbers["asked_before_sending"], numbers["sent_anyway"], numbers["not_sent"]) == (2, 1, 1)


def test_the_meter(peer, engine):
    def work(address):
        pages = [search(address, query) for query in ("red tea", "red tea cup", "blue sky")]
        return [re.search(r'value="([0-9.]+)"', page.text)[1] for page in pages], pages[1].text

    values, page = peer(work)
    assert values == ["0.00", "0.82", "0.00"]
    assert "it points at you" in page


def test_asking_by_the_meter(peer, engine):
    def work(address):
        search(address, "red tea")
        page = search(address, "red tea cup")
        assert "much like your earlier searches" in page.text
        return get(address, "send", "POST", f"token={token_in(page)}&do=send").status

    assert peer(work, ask_from=0.5) == 200
    assert engine.log == [("me", "red tea"), ("me", "red tea cup")]


def test_a_browser_that_is_sent_on(peer, engine):
    def work(address):
        page = search(address, "red tea")
        assert (page.status, unquote(urlsplit(page.headers["Location"]).query)) == (303, "who=me&q=red tea")
        assert "e-mail" in search(address, "anna@example.org").text

    peer(work, redirect=True)
    assert engine.log == []


def test_html_in_queries_and_results_is_text(peer, engine):
    engine.answer = json.dumps(
        {"results": [{"url": "https://a.example/?x=<script>", "title": EVIL, "content": EVIL},
                     {"url": "https://a.example/'onmouseover='x", "title": EVIL, "content": EVIL},
                     {"url": "javascript:alert(1)", "title": "no"}]}
    ).encode()  # fmt: skip

    def work(address):
        return search(address, EVIL)

    page = peer(work).text
    assert "<script" not in page
    assert "<img" not in page
    assert "'onmouseover" not in page
    assert "javascript:" not in page
    assert "&lt;script&gt;" in page


def test_a_back_end_that_fails(peer, engine):
    engine.status = 500

    def work(address):
        page = search(address, "qzqueryq")
        assert (page.status, "The back end refused (500)." in page.text) == (502, True)
        return status(address)

    told = peer(work)
    assert told["numbers"]["unanswered"] == 1
    assert "qzqueryq" not in json.dumps(told)


def test_bad_requests(peer, engine, caplog):
    def work(address):
        assert get(address, "").status == 200
        assert "Search" in get(address, "search?q=%20").text
        assert search(address, "x" * 501).status == 400
        assert get(address, "search?q=" + "x" * 20_000).status == 400
        assert get(address, "search?q=tea", Cookie="x" * 20_000).status == 400
        assert get(address, "send", "POST", "token=" + "x" * 10_000).status == 413
        assert get(address, "nothing").status == 404
        assert get(address, "search", "PUT").status == 405
        assert get(address, "search?q=tea", **{f"X_{n}": "x" for n in range(1000)}).status == 400
        bomb = gzip.compress(b"token=" + bytes(10**7))
        assert len(bomb) > 4096
        assert get(address, "send", "POST", bomb[:4000], Content_Encoding="gzip").status == 400
        assert get(address, "search?q=a%00b%0d%0ac%ff%ed%a0%80").status == 200

    peer(work)
    ((_, asked),) = engine.log
    assert asked.startswith("a b c")
    assert caplog.text == "", "the server would log the address, with secret and query"


def test_what_goes_wrong_inside_is_not_told(peer, engine, monkeypatch, capfd, caplog):
    def fail(*_):
        raise RuntimeError("qzqueryq")

    monkeypatch.setattr(local, "spell_one", fail)
    page = peer(lambda address: search(address, "qzqueryq"))
    assert page.status == 500
    assert "qzqueryq" not in page.text + caplog.text + "".join(capfd.readouterr())


def test_too_many_at_once(peer, engine, monkeypatch):
    monkeypatch.setattr(local, "AT_ONCE", 0)
    page = peer(lambda address: search(address, "tea"))
    assert (page.status, "Too many searches at once" in page.text) == (503, True)
