"""Host names, network addresses and pages. A host is what is left of a url without scheme, user, port and path.

An address has a kind and bits. Pages are paths and referrers of visits: their segments, and what several of them have
in common.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import polars as pl

_MAX_LABELS = 32
_ADDRESS = re.compile(r"[0-9.]*")
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]*:)?//")
_NO_HOST = re.compile(r"""[\s\\:"'<>()\[\]{}|^`,;=%&*!$+~]""")
_PORT = re.compile(r":[0-9]*$")


def host_of(url: str) -> str:
    """The host of a url in lower case; empty where there is no host name."""
    text = url.lower()
    text = _SCHEME.sub("", text)
    text = re.split("[/?#]", text, maxsplit=1)[0].rpartition("@")[2]
    text = _PORT.sub("", text).strip(". ")
    return "" if _NO_HOST.search(text) else text


def host_labels(host: str) -> list[str]:
    """The labels of a host from the right. An address is one label: it has no domain that others share."""
    return [host] if _ADDRESS.fullmatch(host) else host.rsplit(".", _MAX_LABELS - 1)[::-1]


# --- addresses --------------------------------------------------------------------------------------


IPV4, IPV6 = 32, 128
"""Bits of an address."""


def bits_of(address: str) -> tuple[int, int] | None:
    """The number of bits of an address, and the bits as a number; None for what is a name, or anything else.

    Of several addresses, as proxies list them, the first is that of the client.
    """
    text = first_address(address)
    try:
        return (IPV6, int(IPv6Address(text))) if ":" in text else (IPV4, int(IPv4Address(text)))
    except AddressValueError:
        return None


def first_address(address: str) -> str:
    """The first address of a list, in lower case."""
    return address.partition(",")[0].strip().lower()


# --- pages ------------------------------------------------------------------------------------------


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
