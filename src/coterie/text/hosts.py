"""Host names: what is left of a url when scheme, user, port and path are taken away."""

from __future__ import annotations

import re

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
