"""The back end: the search engine that is asked in the end. The user's own SearXNG, or any address with a place for
the query.

    http://127.0.0.1:8888                               SearXNG: /search?q={query}&format=json is added
    https://search.example/api?q={query}                an address that answers JSON with a list of results
    https://search.example/?q=%s   (redirect)           an address that the browser is sent to; alone only

The query stands percent-encoded behind the host, so that no query changes which host is asked. Redirections are not
followed, cookies not kept, and answers are read within limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from coterie.apps.peer.results import PLAIN, AnswerError, Result, read_json, results_in
from coterie.errors import ParameterError

SECONDS = 8.0
MOST_BYTES = 2 << 20
_PLACE = re.compile(r"\{query\}|%s")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]+)?")
_SEARXNG = "/search?q={query}&format=json"
_FORM = "such as http://127.0.0.1:8888 for SearXNG, or https://search.example/api?q={query}"


@dataclass(frozen=True)
class BackEnd:
    """Where queries are sent."""

    template: str
    redirect: bool = False
    """Whether the browser goes there itself, because it answers pages for people."""

    def url(self, query: str) -> str:
        """The address for a query."""
        encoded = quote(query, safe="")
        return _PLACE.sub(lambda _: encoded, self.template)

    @property
    def origin(self) -> str:
        """The part of the address that says which host is asked; nothing where a policy for browsers cannot name it."""
        parts = urlsplit(self.template)
        origin = f"{parts.scheme}://{parts.netloc}"
        return origin if _ORIGIN.fullmatch(origin) else ""

    async def search(self, session: aiohttp.ClientSession, query: str) -> tuple[Result, ...]:
        """The results for a query; AnswerError where there are none to be had."""
        url = URL(self.url(query), encoded=True)
        limit = aiohttp.ClientTimeout(total=SECONDS)
        try:
            async with session.get(url, headers=PLAIN, timeout=limit, allow_redirects=False) as response:
                if 300 <= response.status < 400:
                    raise AnswerError("The back end sends elsewhere, and is not followed: name its final address.")
                if response.status != 200:
                    raise AnswerError(f"The back end refused ({response.status}).{_advice(response.status)}")
                answer = await read_json(response, MOST_BYTES)
        except AnswerError as error:
            what = str(error).replace("It answered", "The back end answered", 1)
            hint = " SearXNG needs the format json in its settings." if "no JSON" in what else ""
            raise AnswerError(what + hint) from None
        except TimeoutError:
            raise AnswerError(f"The back end did not answer within {SECONDS:g} seconds.") from None
        except (aiohttp.ClientError, OSError, ValueError):
            raise AnswerError("The back end cannot be reached. Is it running?") from None
        found = results_in(answer)
        if found is None:
            raise AnswerError("The back end answered JSON without a list of results.")
        if not found and isinstance(answer, dict) and answer.get("unresponsive_engines"):
            raise AnswerError("The engines behind the back end did not answer; they may have blocked it for a while.")
        return found


def checked_template(text: str) -> str:
    """The template for what the user named."""
    text = text.strip()
    if re.search(r"[\x00-\x20\x7f-\U0010ffff]", text):
        raise ParameterError(f"A back end is an address without spaces, {_FORM}.")
    try:
        parts = urlsplit(_PLACE.sub("query", text))
        _ = parts.port
    except ValueError:
        raise ParameterError(f"A back end is an address, {_FORM}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"A back end is an address of http or https, {_FORM}.")
    if "@" in parts.netloc:
        raise ParameterError("The address of a back end may have no user name or password in it.")
    places = [found.start() for found in _PLACE.finditer(text)]
    if not places:
        if parts.query or parts.fragment or parts.path.strip("/"):
            raise ParameterError(f"Say with {{query}} or %s where in the address the query stands, {_FORM}.")
        return text.rstrip("/") + _SEARXNG
    behind_host = text.index("//") + 2 + len(urlsplit(text).netloc)
    if min(places) < behind_host or parts.fragment:
        raise ParameterError("The query must stand behind the host in the address of a back end, and before any #.")
    return text


def is_in_clear(template: str) -> bool:
    """Whether queries would travel unencrypted to another machine."""
    parts = urlsplit(template)
    return parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1")


def _advice(status: int) -> str:
    if status == 403:
        return " SearXNG needs the format json in its settings."
    return " It asks to wait." if status == 429 else ""
