"""Nobody but the owner's browser is answered, and every answer says what the browser may do with it."""

import re

import pytest

from coterie.apps.studio.app import Studio
from coterie.apps.studio.guard import POLICY, Guard


def test_the_owner_is_answered(browser):
    answer = browser.get("/open")
    assert answer.status_code == 200
    assert "Open a log" in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:{}"]
)
def test_another_host_name_is_refused(browser, host):
    """DNS rebinding: a name of somebody else that points at this machine."""
    answer = browser.get("/open", headers={"host": host.format(browser.origin.rpartition(":")[2])})
    assert answer.status_code == 403
    assert "Open a log" not in answer.text


def test_localhost_is_ours(browser):
    assert browser.get("/open", headers={"host": f"localhost:{browser.origin.rpartition(':')[2]}"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/open", "/{}x/open", "/x{}/open", "//{}/open", "/%00/open", "/./{}/../open"])
def test_without_the_secret_there_is_nothing(browser, path):
    answer = browser.client.get(browser.origin + path.format(browser.secret))
    assert answer.status_code == 403
    assert browser.secret not in answer.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_are_refused(browser, site):
    assert browser.get("/open", headers={"sec-fetch-site": site}).status_code == 403


def test_a_typed_address_is_answered(browser):
    assert browser.get("/open", headers={"sec-fetch-site": "none"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https{}"])
def test_a_form_of_another_page_is_refused(browser, origin):
    logs = len(browser.desk.logs)
    answer = browser.post(
        "/open", {"how": "synthetic", "users": "20"}, headers={"origin": origin.format(browser.origin[4:])}
    )
    assert answer.status_code == 403
    assert len(browser.desk.logs) == logs


def test_a_form_without_an_origin_is_refused(browser):
    data = {"token": browser.desk.token, "how": "synthetic", "users": "20"}
    assert browser.client.post(f"{browser.origin}/{browser.secret}/open", data=data).status_code == 403


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_a_form_without_the_token_is_refused(browser, opened, token):
    """Every form there is, with numbers of what is there."""
    attempt = browser.attempt(opened, "suppress_rare", k="3")
    numbers = {"log": opened, "attempt": attempt, "job": browser.desk.attempts[attempt].job.id}
    routes = Studio(browser.desk, "", 1).app().routes
    paths = [re.sub(r":int", "", route.path).format(**numbers) for route in routes if "POST" in route.methods]
    assert len(paths) == 11
    jobs = len(browser.desk.queue._jobs)
    for path in paths:
        answer = browser.post(path, {"token": token, "how": "synthetic", "users": "20"}, token=False)
        assert answer.status_code == 403, path
    assert len(browser.desk.queue._jobs) == jobs
    assert browser.desk.attempts[attempt].attack is None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(browser, method):
    assert browser.client.request(method, f"{browser.origin}/{browser.secret}/open").status_code == 403


def test_looking_never_works(browser):
    """A link cannot begin anything."""
    for path in ("/close", "/log/1/again", "/log/1/show", "/try/1/attack", "/job/1/stop"):
        assert browser.get(path).status_code in (404, 405)


def test_what_every_answer_says(browser):
    for path in ("/open", "/nothing", "/static/studio.js"):
        said = browser.get(path).headers
        assert said["content-security-policy"] == POLICY
        assert said["cache-control"] == "no-store"
        assert said["x-content-type-options"] == "nosniff"
        assert said["referrer-policy"] == "same-origin"
        assert "server" not in said
    assert browser.client.get(browser.origin).headers["content-security-policy"] == POLICY


def test_no_page_holds_script_or_style_of_its_own(browser):
    import re

    text = re.sub("&lt;.*?&gt;", "", browser.get("/open").text)  # names of files that other tests opened
    assert re.findall(r"<script[^>]*>", text) == [f'<script src="/{browser.secret}/static/studio.js" defer>']
    assert "<style" not in text
    assert not re.search(r"\son\w+=|\sstyle=|javascript:", text)


def test_too_much_is_refused_by_what_it_says_and_by_what_comes(browser):
    big = {"files": ("big.tsv", b"x" * (1 << 20))}
    assert browser.post("/open", {"how": "drop"}, files=big).status_code == 413
    assert browser.post("/log/1/try", {"p.k": "x" * 70_000}).status_code == 413

    parts = (b"token=" + b"x" * 10_000 for _ in range(20))
    to = f"{browser.origin}/{browser.secret}/log/1/try"
    said = {"origin": browser.origin, "content-type": "application/x-www-form-urlencoded"}
    assert browser.client.post(to, content=parts, headers=said).status_code == 413


def test_an_address_that_works_once(browser):
    once = browser.running.once
    assert browser.client.get(once, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    first = browser.client.get(once)
    assert (first.status_code, first.headers["location"]) == (303, f"/{browser.secret}/")
    assert browser.client.get(once).status_code == 403
    assert browser.get("/open").status_code == 200


def test_websockets_are_not_answered():
    import asyncio

    async def never(*_):
        raise AssertionError

    asyncio.run(Guard(never, "secret")({"type": "websocket"}, never, never))
