"""Paths and referrers, and what they have in common."""

import polars as pl
import pytest

from coterie.text.hosts import common_host, common_path, common_referrer, host_and_path, segments, without_query


@pytest.mark.parametrize(("path", "expected"), [
    ("/", []), ("", []), ("/a", ["a"]), ("/a/", ["a", ""]), ("/a/b", ["a", "b"]), ("//", ["", ""]),
    ("a/b", ["\0a", "b"]), ("*", ["\0*"]),
])  # fmt: skip
def test_segments(path, expected):
    assert segments(path) == expected


def test_long_paths_end_in_one_segment():
    assert segments("/" + "/".join(map(str, range(40))))[30:] == ["30", "31/32/33/34/35/36/37/38/39"]


def test_query_strings_are_cut():
    texts = pl.Series("t", ["/a?b#c", "/a#b?c", "/a", "?", None, "/a\n?b"]).to_frame()
    assert texts.select(without_query(pl.col("t")))["t"].to_list() == ["/a", "/a", "/a", "", None, "/a\n"]


@pytest.mark.parametrize(("referrer", "expected"), [
    ("http://Shop.example/a/b", ("shop.example", "/a/b")), ("https://shop.example", ("shop.example", "")),
    ("shop.example/a", ("shop.example", "/a")), ("/start", ("", "/start")),
    ("http://u@h.example:80/", ("h.example", "/")), ("android-app://com.mail/", ("com.mail", "/")),
    ("nonsense", ("nonsense", "")),
])  # fmt: skip
def test_host_and_path(referrer, expected):
    assert host_and_path(referrer) == expected


@pytest.mark.parametrize(("first", "last", "expected"), [
    ("/a/b", "/a/b", "/a/b"), ("/a/b", "/a/c", "/a/*"), ("/a", "/a/b", "/a/*"), ("/", "/a", "/*"), ("/a", "*", "*"),
    ("/a/b/", "/a/b", "/a/b/*"), ("/ab", "/ac", "/*"),
])  # fmt: skip
def test_common_path(first, last, expected):
    assert common_path(first, last) == common_path(last, first) == expected


@pytest.mark.parametrize(("first", "last", "expected"), [
    ("www.a.com", "www.a.com", "www.a.com"), ("www.a.com", "b.a.com", "*.a.com"), ("a.com", "www.a.com", "*.a.com"),
    ("a.com", "a.org", "*"), ("a.com", "", "*"), ("10.0.0.1", "10.0.0.2", "*"),
])  # fmt: skip
def test_common_host(first, last, expected):
    assert common_host(first, last) == common_host(last, first) == expected


@pytest.mark.parametrize(("hosts", "paths", "expected"), [
    (("a.com", "a.com"), ("/x", "/x"), "a.com/x"), (("a.com", "a.com"), ("/x", "/y"), "a.com/*"),
    (("a.com", "b.org"), ("/x", "/y"), None), (("a.com", "b.org"), ("", ""), None),
    (("a.com", "b.org"), ("/x", "/x"), "*/x"), (("a.b.com", "c.b.com"), ("", ""), "*.b.com"),
    (("a.com", "b.org"), ("", "/x"), None),
])  # fmt: skip
def test_common_referrer(hosts, paths, expected):
    assert common_referrer(hosts, paths) == expected
