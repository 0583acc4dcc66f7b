"""Pages: paths and referrers of visits, their segments, and what several of them have in common."""

from __future__ import annotations

import polars as pl

from coterie.text.hosts import host_labels, host_of

LONGEST = 32
"""Segments of a path that are told apart."""
ANYTHING = "*"
"""What stands for the part of a path, or of a host, that pages do not have in common."""


def without_query(path: pl.Expr) -> pl.Expr:
    """A path, or the address of a page, without its query string."""
    return path.str.extract(r"(?s)^([^?#]*)")


def segments(path: str) -> list[str]:
    """The segments of a path; from the 32nd on all is one. A path that begins without a slash begins otherwise."""
    rest = path[1:] if path.startswith("/") else f"\0{path}" if path else ""
    return rest.split("/", LONGEST - 1) if rest else []


def host_and_path(referrer: str) -> tuple[str, str]:
    """Host and path of a referrer that has no query string."""
    _, scheme, rest = referrer.partition("//")
    rest = rest if scheme else referrer
    slash = rest.find("/")
    return host_of(referrer), rest[slash:] if slash >= 0 else ""


def common_path(first: str, last: str) -> str:
    """The path itself, or the first segments that two paths have in common: `/a/b/*`."""
    if first == last:
        return first
    return "/".join([*_common(first.split("/"), last.split("/")), ANYTHING])


def common_host(first: str, last: str) -> str:
    """The host itself, or the last labels that two hosts have in common: `*.example.com`."""
    if first == last:
        return first
    common = _common(host_labels(first) if first else [], host_labels(last) if last else [])
    return ".".join([ANYTHING, *reversed(common)])


def common_referrer(hosts: tuple[str, str], paths: tuple[str, str]) -> str | None:
    """What referrers have in common: host and path; None for nothing."""
    host, path = common_host(*hosts), common_path(*paths)
    return None if host == ANYTHING and path in ("", "/", "/*", ANYTHING) else host + path


def _common(first: list[str], last: list[str]) -> list[str]:
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]
