"""Results: what a back end or a friend answers, made harmless. Neither is believed.

Only links to http and https pages pass, without user names in them and with hosts in plain letters; texts are cut, and
lose what changes the direction of writing or moves the cursor. Pages escape them.

What others send: read no further than a limit of bytes, only as it is, not unpacked, and never logged.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import orjson

from coterie.errors import CoterieError

MOST = 30
LONGEST_URL, LONGEST_TITLE, LONGEST_TEXT = 2_000, 200, 500
_URL = ("url", "link", "href")
_TITLE = ("title", "name")
_TEXT = ("content", "text", "snippet", "description", "abstract")
_LISTS = ("results", "items", "organic_results", "organic", "webPages", "web", "value", "data")
_NO_URL = re.compile(r"[\x00-\x20\x7f-\x9f\\<>\"`{}|^]")
_HOST = re.compile(r"[a-z0-9.-]{1,253}|\[?[0-9a-f:.]{2,45}\]?")
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@dataclass(frozen=True, repr=False)
class Result:
    """One result."""

    url: str
    title: str
    text: str

    @property
    def host(self) -> str:
        """The host of the page."""
        return urlsplit(self.url).hostname or ""


def results_in(answer: Any) -> tuple[Result, ...] | None:
    """The results in what was answered; None where there is no list of them."""
    found = _list_in(answer)
    return None if found is None else cleaned(found)


def cleaned(found: Iterable[Any]) -> tuple[Result, ...]:
    """What of a list of results can be shown, each page once."""
    kept: dict[str, Result] = {}
    for each in found:
        if isinstance(each, Mapping) and (result := _result(each)) is not None:
            kept.setdefault(result.url, result)
        if len(kept) == MOST:
            break
    return tuple(kept.values())


def as_sent(results: Iterable[Result]) -> list[dict[str, str]]:
    """Results as friends send them."""
    return [asdict(result) for result in results]


def safe_url(url: Any) -> str | None:
    """An address that a browser may be sent to, or None."""
    if not isinstance(url, str) or len(url) > LONGEST_URL or _NO_URL.search(url):
        return None
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("ascii").lower()
        _ = parts.port
    except (ValueError, UnicodeError):
        return None
    if parts.scheme.lower() not in ("http", "https") or "@" in parts.netloc or not _HOST.fullmatch(host):
        return None
    port = "" if parts.port is None else f":{parts.port}"
    shown = f"[{host}]" if ":" in host else host  # as its letters are sent, so that none looks like another
    return parts._replace(scheme=parts.scheme.lower(), netloc=shown + port).geturl()


def _result(each: Mapping[str, Any]) -> Result | None:
    url = safe_url(_first(each, _URL))
    if url is None:
        return None
    title = _plain(_first(each, _TITLE), LONGEST_TITLE)
    return Result(url=url, title=title or urlsplit(url).netloc, text=_plain(_first(each, _TEXT), LONGEST_TEXT))


def _first(each: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((each[name] for name in names if each.get(name)), "")


def _plain(text: Any, longest: int) -> str:
    if not isinstance(text, str):
        return ""
    seen = "".join(
        " " if letter.isspace() else letter
        for letter in text[: 4 * longest]
        if letter.isspace() or unicodedata.category(letter) not in _UNSEEN
    )
    words = " ".join(seen.split())
    return words if len(words) <= longest else words[: longest - 1].rstrip() + "…"


def _list_in(answer: Any, deep: int = 2) -> list[Any] | None:
    if isinstance(answer, list):
        return answer
    if isinstance(answer, Mapping) and deep:
        for name in _LISTS:
            if name in answer and (found := _list_in(answer[name], deep - 1)) is not None:
                return found
    return None


# --- answers ----------------------------------------------------------------------------------------


PLAIN = {"Accept": "application/json", "Accept-Encoding": "identity"}
"""What is asked for: nothing packed, because little that is packed can be much."""
_PIECE = 1 << 14
_SILENT = logging.Logger("silent")  # outside the tree of loggers, so that nobody's settings make it speak
_SILENT.disabled = True
CAREFUL: Final[dict[str, Any]] = {"access_log": None, "logger": _SILENT, "auto_decompress": False}
"""How servers run: they log nothing (else requests that cannot be read, with their addresses), and unpack nothing."""


class AnswerError(CoterieError):
    """Somebody did not answer, or not as they should; the message says why, without a word of the query."""


async def read_json(response: aiohttp.ClientResponse, most: int) -> Any:
    """The JSON of a response of at most so many bytes."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise AnswerError("It answered something packed, which was not asked for.")
    if (response.content_length or 0) > most:
        raise AnswerError(f"It answered more than {most >> 10} kB.")
    data = bytearray()
    async for piece in response.content.iter_chunked(_PIECE):
        data += piece
        if len(data) > most:
            raise AnswerError(f"It answered more than {most >> 10} kB.")
    try:
        return orjson.loads(bytes(data))
    except orjson.JSONDecodeError:
        kind = "a web page" if data.lstrip()[:1] == b"<" else "something"
        raise AnswerError(f"It answered {kind} that is no JSON.") from None
