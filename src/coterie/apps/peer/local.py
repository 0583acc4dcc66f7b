"""The local address: what the browser of the owner sees, and nobody else.

    GET  /SECRET/search?q=...     results; from memory where the query is a repeat
    POST /SECRET/send             the answer to "send this?", with a token that works once
    GET  /SECRET/go?to=...        leads to a result, and remembers that it was opened
    GET  /SECRET/status           numbers; status.json for `coterie peer status`

Any web page can make a browser ask 127.0.0.1, so it is not enough to listen there only. A request is answered if its
Host is ours (a host name that somebody pointed here is not), if the browser says that it comes from the owner or from
our own page (Sec-Fetch-Site, Origin, Referer), is meant to be looked at (Sec-Fetch-Mode, Sec-Fetch-Dest) and is no
guess at what comes next, and if it knows the secret. Everything else gets the same 403.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import aiohttp
from aiohttp import web

from coterie.apps.peer import links, pages
from coterie.apps.peer.back_end import BackEnd
from coterie.apps.peer.circle import Circle, Tie
from coterie.apps.peer.memory import Answer, Counts, Memory
from coterie.apps.peer.meter import Meter, Questions, looks_like
from coterie.apps.peer.results import CAREFUL, AnswerError, safe_url
from coterie.text.language import spell_one

AT_ONCE = 16
"""Searches at the same time."""
FRIENDS_ASKED = 2
"""Friends who may fail before one's own address asks."""
_OWN_PAGES = ("none", "same-origin")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(kw_only=True, repr=False)
class Desk:
    """What searches need."""

    secret: str
    back_end: BackEnd
    circle: Circle
    meter: Meter
    counts: Counts
    session: aiohttp.ClientSession
    ask_from: float | None = None
    """The reading of the meter from which to ask before sending."""


class Local:
    """Answers the browser."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._memory, self._questions = Memory(), Questions()
        self._said = pages.headers(desk.back_end.origin if desk.back_end.redirect else "")
        self._at_once = 0
        self._base = f"/{desk.secret}"
        self._mark = hashlib.blake2b(desk.secret.encode(), digest_size=32, person=b"links").digest()
        self.port = 0
        """Known once it listens."""

    def app(self) -> web.Application:
        """The application to run."""
        app = web.Application(client_max_size=4 << 10, middlewares=[self._guarded])
        app.router.add_get(f"{self._base}/", self._start)
        app.router.add_get(f"{self._base}/search", self._search)
        app.router.add_post(f"{self._base}/send", self._send)
        app.router.add_get(f"{self._base}/go", self._go)
        app.router.add_get(f"{self._base}/status", self._status)
        app.router.add_get(f"{self._base}/status.json", self._status_json)
        app.on_response_prepare.append(self._headers)
        return app

    # --- who may ask -----------------------------------------------------------------------------

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._is_own(request):
            self._desk.counts.foreign_pages_refused += 1
            return _html(pages.forbidden_page(), 403)
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status == 413:
                return self._error("That was too much", ["Nothing was sent."], 413)
            return self._error("There is nothing here", ["Search from the box above."], error.status)
        except Exception:  # whatever it is: its message may have the query in it, and must not be shown or logged
            return self._error("Something went wrong", ["This is a mistake of Coterie. Nothing was kept."], 500)

    def _is_own(self, request: web.Request) -> bool:
        _, _, path = request.rel_url.raw_path.partition("/")  # "*" and hosts (CONNECT) have none
        secret = path.partition("/")[0]
        return (
            request.headers.getall("Host", []) in ([f"127.0.0.1:{self.port}"], [f"localhost:{self.port}"])
            and self._is_from_owner(request)
            and hmac.compare_digest(secret.encode("utf-8", "surrogateescape"), self._desk.secret.encode())
        )

    def _is_from_owner(self, request: web.Request) -> bool:
        said = request.headers
        if any("prefetch" in said.get(name, "").lower() for name in ("Sec-Purpose", "Purpose", "X-Moz")):
            return False
        site = said.get("Sec-Fetch-Site")
        if site is not None:
            dest, mode = said.get("Sec-Fetch-Dest", "document"), said.get("Sec-Fetch-Mode", "navigate")
            return site in _OWN_PAGES and dest == "document" and mode == "navigate"
        # Older browsers, and programs. A page of ours sends no referrer, and "null" could be anybody.
        begin = f"http://{said['Host']}"
        referrer = said.get("Referer", begin)
        return said.get("Origin", begin) == begin and (referrer == begin or referrer.startswith(f"{begin}/"))

    async def _headers(self, request: web.Request, response: web.StreamResponse) -> None:  # noqa: ARG002 (the same)
        response.headers.pop("Server", None)
        response.headers.update(self._said)

    # --- pages -----------------------------------------------------------------------------------

    async def _start(self, request: web.Request) -> web.Response:  # noqa: ARG002 (aiohttp's signature)
        return _html(pages.start_page(self._base))

    async def _search(self, request: web.Request) -> web.StreamResponse:
        query = _typed(request.query.get("q", ""))
        if not query:
            return _html(pages.start_page(self._base))
        if len(query) > links.LONGEST_QUERY:
            lines = [f"A search has at most {links.LONGEST_QUERY} letters. Nothing was sent."]
            return self._error("That is too long", lines, 400)
        how = request.query.get("ask", "")
        self._desk.counts.searches += 1
        spelled = spell_one(query)
        known = None if how in ("again", "myself") else self._memory.recall(spelled)
        if known is not None:
            self._desk.counts.from_memory += 1
            return self._results(query, known, self._desk.meter.of(spelled), remembered=True)
        if reasons := self._reasons(query, spelled):
            self._desk.counts.asked_before_sending += 1
            token = self._questions.ask(query)
            return _html(pages.question_page(self._base, query, token, reasons))
        return await self._answer(query, spelled, with_friends=how != "myself")

    async def _send(self, request: web.Request) -> web.StreamResponse:
        form = _form(await request.read())
        query = self._questions.answered(form.get("token", ""))
        if query is None:
            return self._error("This question is too old", ["Nothing was sent. Search once more."], 400)
        if form.get("do") != "send":
            self._desk.counts.not_sent += 1
            return _html(pages.start_page(self._base, ["Nothing was sent."]))
        self._desk.counts.sent_anyway += 1
        return await self._answer(query, spell_one(query), with_friends=not looks_like(query))

    async def _go(self, request: web.Request) -> web.Response:
        url = request.query.get("to", "")
        mark = request.query.get("mark", "")
        if safe_url(url) != url or not hmac.compare_digest(mark.encode(), self._marked(url).encode()):
            return self._error("This link does not lead anywhere", ["Search once more."], 400)
        self._memory.opened(request.query.get("of", ""), url)
        return web.Response(status=303, headers={"Location": url})

    async def _status(self, request: web.Request) -> web.Response:  # noqa: ARG002 (aiohttp's signature)
        friends = [tie.numbers() for tie in self._desk.circle.ties]
        return _html(pages.status_page(self._base, self._desk.counts.numbers(), friends))

    async def _status_json(self, request: web.Request) -> web.Response:  # noqa: ARG002 (aiohttp's signature)
        friends = [tie.numbers() for tie in self._desk.circle.ties]
        return web.json_response({"numbers": self._desk.counts.numbers(), "friends": friends})

    # --- answers ---------------------------------------------------------------------------------

    def _reasons(self, query: str, spelled: str) -> list[str]:
        """Why to ask before a query leaves."""
        reasons = [f"It looks like personal data: {what}." for what in looks_like(query)]
        least = self._desk.ask_from
        if least is not None and (score := self._desk.meter.of(spelled)) >= least:
            reasons.append(f"It is much like your earlier searches ({score:.2f}), so it points at you.")
        return reasons

    async def _answer(self, query: str, spelled: str, with_friends: bool) -> web.StreamResponse:
        """Submit a query; every one is answered, or refused with a reason."""
        desk = self._desk
        score = desk.meter.of(spelled)
        if self._at_once >= AT_ONCE:
            return self._error("Too many searches at once", ["Nothing was sent. Try again in a moment."], 503, query)
        self._at_once += 1
        try:
            if desk.back_end.redirect:
                desk.meter.add(spelled)
                desk.counts.sent_myself += 1
                return web.Response(status=303, headers={"Location": desk.back_end.url(query)})
            answer = await self._submit(query, spelled, with_friends)
        except AnswerError as error:
            desk.counts.unanswered += 1
            return self._error("No answer", [str(error)], 502, query)
        finally:
            self._at_once -= 1
        self._memory.keep(spelled, answer)
        return self._results(query, answer, score, remembered=False)

    async def _submit(self, query: str, spelled: str, with_friends: bool) -> Answer:
        desk, failed = self._desk, set[str]()
        while with_friends and len(failed) < FRIENDS_ASKED:
            tie = desk.circle.submitter(spelled, failed)
            if tie is None:
                break
            found = await self._ask(tie, query)
            if found is not None:
                desk.meter.add(spelled)
                return found
            failed.add(tie.member)
        results = await desk.back_end.search(desk.session, query)
        desk.meter.add(spelled)
        desk.counts.sent_myself += 1
        return Answer(results=results, through_friend=False)

    async def _ask(self, tie: Tie, query: str) -> Answer | None:
        counts = self._desk.counts
        try:
            results = await links.ask(self._desk.session, tie, query)
        except links.RefusedError:
            counts.friends_refused += 1
            return None
        except AnswerError:
            counts.friends_silent += 1
            return None
        counts.sent_through_friends += 1
        return Answer(results=results, through_friend=True)

    def _results(self, query: str, answer: Answer, score: float, *, remembered: bool) -> web.Response:
        hrefs = {result.url: f"{self._base}/go?{self._link(result.url, answer)}" for result in answer.results}
        again = urlencode({"q": query, "ask": "again" if remembered else "myself"})
        page = pages.results_page(self._base, query, answer, hrefs, score, remembered=remembered, again=again)
        return _html(page)

    def _link(self, url: str, answer: Answer) -> str:
        return urlencode({"to": url, "mark": self._marked(url), "of": answer.token})

    def _marked(self, url: str) -> str:
        """What shows that a link is from a page of ours, also after the peer was started anew."""
        return hashlib.blake2b(url.encode(), digest_size=16, key=self._mark).hexdigest()

    def _error(self, heading: str, lines: list[str], status: int, query: str = "") -> web.Response:
        return _html(pages.error_page(self._base, heading, lines, query), status)


def _form(body: bytes) -> dict[str, str]:
    """The fields of a form; not by aiohttp, which would put parts of it into temporary files."""
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=8))
    except ValueError:
        return {}


def _html(page: str, status: int = 200) -> web.Response:
    return web.Response(text=page, status=status, content_type="text/html")


def _typed(text: str) -> str:
    """What was typed, without what cannot be seen."""
    kept = (letter if unicodedata.category(letter) not in ("Cc", "Cs", "Cn") else " " for letter in text[:4000])
    return " ".join("".join(kept).split())


async def serve(local: Local, listening: socket.socket) -> web.AppRunner:
    """Answer at a socket that listens."""
    local.port = listening.getsockname()[1]
    runner = web.AppRunner(local.app(), handle_signals=False, keepalive_timeout=15.0, **CAREFUL)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    return runner
