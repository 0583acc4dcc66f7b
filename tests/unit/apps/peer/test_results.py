"""What others answer is made harmless."""

import pytest

from coterie.apps.peer.results import LONGEST_TEXT, MOST, as_sent, cleaned, results_in, safe_url


@pytest.mark.parametrize("url", [
    "https://example.org/", "http://example.org:8080/a?b=c#d", "https://example.org/%20%22", "http://192.0.2.1/",
    "http://[2001:db8::1]/a", "https://example.org/ä",
])  # fmt: skip
def test_addresses_that_pass(url):
    assert safe_url(url) == url


@pytest.mark.parametrize("url", [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://example.org/",
    "//example.org/", "/a", "", "example.org", "https://", "https:///a", "http://user@example.org/",
    "http://bank.example:x@evil.example/", "https://example.org/\r\nSet-Cookie: a=b", "https://example.org/a b",
    " https://example.org/", "\x01https://example.org/", "https://example.org/\x00", "https:\\\\example.org",
    "https://example.org\\@evil.example/", "https://exa mple.org", 'https://example.org/"onclick=', "https://a..b/",
    "http://[::1", "http://example.org:99999/", "https://example.org/" + "a" * 2000, None, 3, ["https://example.org/"],
])  # fmt: skip
def test_addresses_that_do_not(url):
    assert safe_url(url) is None


def test_letters_that_look_like_others_are_shown_as_they_are_sent():
    assert safe_url("https://аpple.example/") == "https://xn--pple-43d.example/"  # a Cyrillic a
    assert safe_url("HTTPS://Example.ORG/A") == "https://example.org/A"


def test_texts_are_cut_and_lose_what_cannot_be_seen():
    (found,) = cleaned([{"url": "https://a.example/", "title": "a\u202eb\x1b[31m\nc\u0000d", "content": "x" * 900}])
    assert found.title == "ab[31m cd"
    assert len(found.text) == LONGEST_TEXT
    assert found.host == "a.example"
    assert "https" not in repr(found)


def test_garbage_in_a_list_is_left_out():
    given = [3, None, [], {}, {"url": 3}, {"title": "no address"}, {"url": "https://a.example/", "title": ["x"]}]
    (found,) = cleaned([*given, {"url": "https://a.example/", "title": "twice"}])
    assert (found.title, found.text) == ("a.example", "")


def test_no_more_than_a_page():
    assert len(cleaned({"url": f"https://a.example/{n}"} for n in range(10**6))) == MOST


@pytest.mark.parametrize("answer", [
    {"results": [{"url": "https://a.example/", "title": "A", "content": "t"}]},
    {"items": [{"link": "https://a.example/", "title": "A", "snippet": "t"}]},
    {"web": {"results": [{"url": "https://a.example/", "name": "A", "description": "t"}]}},
    [{"href": "https://a.example/", "title": "A", "abstract": "t"}],
])  # fmt: skip
def test_ways_to_answer(answer):
    (found,) = results_in(answer)
    assert as_sent([found]) == [{"url": "https://a.example/", "title": "A", "text": "t"}]
    assert results_in({"results": as_sent([found])}) == (found,)


@pytest.mark.parametrize("answer", [None, 3, "x", {}, {"results": 3}, {"web": {"web": {"results": []}}}])
def test_what_is_no_answer(answer):
    assert results_in(answer) is None
