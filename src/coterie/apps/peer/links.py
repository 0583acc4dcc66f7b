"""Links: what friends say to each other, over TLS 1.3 with the certificates that both know. One hop, no further.

    POST /query   {"query": ...}  ->  200 {"results": [...]}, or {"refused": why}
    POST /accept  {"secret": ..., "certificate": ..., "address": ...}  ->  200 {}
                  the only thing that somebody without a certificate may say, and only while an invitation is open

A refusal has one of the words in `WHY`. Nothing that was asked is kept, and no answer comes from memory, because how
fast it came would tell a friend what was searched here.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from coterie.apps.peer.circle import AT_ONCE, Circle, Rate, Tie
from coterie.apps.peer.home import Friend, Home, host_and_port
from coterie.apps.peer.identity import certificate_of, is_certificate, server_side, stranger_side, trust
from coterie.apps.peer.invitations import SECRET, Code, any_open, take
from coterie.apps.peer.memory import Counts
from coterie.apps.peer.meter import looks_like
from coterie.apps.peer.results import CAREFUL, PLAIN, AnswerError, Result, as_sent, read_json, results_in
from coterie.errors import CoterieError, InputError, MissingError, ParameterError

SECONDS = 10.0
"""What a friend has for an answer."""
CONNECT = 3.0
MOST_BYTES = 256 << 10
LONGEST_QUERY = 500
_BODY = 16 << 10
_HANDSHAKES, _HANDSHAKES_OF_ONE, _HANDSHAKE_SECONDS = 32, 8, 5.0
_CONNECTIONS, _OF_ONE = 256, 8  # all who have no certificate are one, too
_STRANGER_SECONDS = 10.0
_WRONG_A_MINUTE = 60
_OWN_MACHINE = ("127.", "::1")

WHY = frozenset({"no friend", "rate", "credit", "busy", "personal", "back end", "unreadable"})
"""Why a friend refuses: does not know us, was asked too often, submitted more than we did in return, has no time, found
personal data, has no answer from the back end, or could not read what was sent."""
_LASTING = WHY - {"personal", "unreadable"}

Search = Callable[[str], Awaitable[tuple[Result, ...]]]


class RefusedError(AnswerError):
    """A friend refused; the message is a word of `WHY`."""


async def ask(session: aiohttp.ClientSession, tie: Tie, query: str) -> tuple[Result, ...]:
    """The results that a friend has for a query. Whoever fails is left alone for a while."""
    try:
        found = await _ask(session, tie, query)
    except RefusedError as error:
        if str(error) in _LASTING:
            tie.waiting.failed()
        raise
    except AnswerError:
        tie.failed += 1
        tie.waiting.failed()
        raise
    tie.waiting.worked()
    tie.credit.repay()
    tie.submitted += 1
    return found


async def _ask(session: aiohttp.ClientSession, tie: Tie, query: str) -> tuple[Result, ...]:
    url = f"https://{tie.friend.address}/query"
    limit = aiohttp.ClientTimeout(total=SECONDS, connect=CONNECT)
    try:
        async with session.post(
            url,
            data=orjson.dumps({"query": query}),
            headers=PLAIN,
            ssl=tie.context,
            timeout=limit,
            allow_redirects=False,
        ) as response:
            answer = await read_json(response, MOST_BYTES)
            good = response.status == 200
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
        raise AnswerError("The friend did not answer.") from None
    if not isinstance(answer, dict):
        raise AnswerError("The friend answered something else.")
    why = answer.get("refused")
    if isinstance(why, str) and why in WHY:
        raise RefusedError(why)
    found = results_in(answer)
    if not good or found is None:
        raise AnswerError("The friend answered something else.")
    return found


class Door:
    """Listens for friends, and for who was invited."""

    def __init__(self, home: Home, circle: Circle, search: Search, counts: Counts) -> None:
        self._home, self._circle, self._search, self._counts = home, circle, search, counts
        self._context = server_side(home.certificate, home.key)
        self._shaking: set[asyncio.Task[None]] = set()
        self._shaking_from: Counter[str] = Counter()
        self._wrong = Rate(_WRONG_A_MINUTE)
        app = web.Application(client_max_size=_BODY, middlewares=[_guarded])
        app.router.add_post("/query", self._query)
        app.router.add_post("/accept", self._accept)
        app.on_response_prepare.append(_unsigned)
        self._runner = web.AppRunner(app, handle_signals=False, **CAREFUL)
        self._loop: asyncio.Task[None] | None = None

    async def open(self, listening: socket.socket) -> None:
        """Listen from now on."""
        await self._runner.setup()
        self._loop = asyncio.create_task(self._welcome(listening))

    async def close(self) -> None:
        """Listen no more, and end what goes on."""
        if self._loop is not None:
            for task in (self._loop, *self._shaking):
                task.cancel()
            await asyncio.gather(self._loop, *self._shaking, return_exceptions=True)
        await self._runner.cleanup()

    def let_in(self, friends: list[Friend], expecting: bool) -> None:
        """Let the certificates of friends pass; and whoever has none, while somebody is expected."""
        for friend in friends:
            trust(self._context, friend.der)
        self._context.verify_mode = ssl.CERT_OPTIONAL if expecting else ssl.CERT_REQUIRED

    # --- connections -----------------------------------------------------------------------------

    async def _welcome(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, (host, *_) = await loop.sock_accept(listening)
            except OSError:  # too many open files, or who knocked is gone
                await asyncio.sleep(0.05)
                continue
            if self._is_crowded(host):
                connection.close()
                self._counts.strangers_cut_off += 1
                continue
            task = asyncio.create_task(self._shake(connection))
            self._shaking.add(task)
            self._shaking_from[host] += 1
            task.add_done_callback(partial(self._shaken, host))

    def _is_crowded(self, host: str) -> bool:
        """Whether there are too many to let one more begin; nobody in the network takes all places of others."""
        full = len(self._shaking) >= _HANDSHAKES or len(self._server.connections) >= _CONNECTIONS
        return full or (not host.startswith(_OWN_MACHINE) and self._shaking_from[host] >= _HANDSHAKES_OF_ONE)

    def _shaken(self, host: str, task: asyncio.Task[None]) -> None:
        self._shaking.discard(task)
        self._shaking_from[host] -= 1
        self._shaking_from += Counter()  # forgets those with none

    async def _shake(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.connect_accepted_socket(
                self._server, connection, ssl=self._context, ssl_handshake_timeout=_HANDSHAKE_SECONDS
            )
        except (TimeoutError, OSError, ssl.SSLError):
            connection.close()
            self._counts.strangers_cut_off += 1
            return
        who = certificate_of(transport)
        if self._connections_of(who) > _OF_ONE:
            transport.abort()
        elif who is None:
            loop.call_later(_STRANGER_SECONDS, transport.abort)

    def _connections_of(self, certificate: bytes | None) -> int:
        return sum(certificate_of(each.transport) == certificate for each in self._server.connections)

    @property
    def _server(self) -> web.Server:
        server = self._runner.server
        if server is None:
            raise asyncio.CancelledError
        return server

    # --- what is said ----------------------------------------------------------------------------

    async def _query(self, request: web.Request) -> web.Response:
        tie = self._circle.of(certificate_of(request.transport))
        if tie is None:
            return self._refuse("no friend", 403)
        if not tie.rate.allows():
            return self._refuse("rate", 429)
        query = await _field(request, "query")
        if not query or len(query) > LONGEST_QUERY:
            return self._refuse("unreadable", 400)
        if looks_like(query):
            return self._refuse("personal", 403)
        if tie.at_once >= AT_ONCE:
            return self._refuse("busy", 429)
        if not tie.credit.allows():
            return self._refuse("credit", 429)
        tie.credit.lend()
        tie.at_once += 1
        try:
            found = await self._search(query)
        except AnswerError:
            tie.credit.repay()
            return self._refuse("back end", 503)
        finally:
            tie.at_once -= 1
        tie.lent += 1
        self._counts.sent_for_friends += 1
        return _said({"results": as_sent(found)})

    def _refuse(self, why: str, status: int) -> web.Response:
        self._counts.refused_to_friends += 1
        response = _said({"refused": why}, status)
        if why in ("no friend", "rate"):
            response.force_close()  # who goes on asking has to begin anew
        return response

    async def _accept(self, request: web.Request) -> web.Response:
        if not self._wrong.allows():
            return self._refuse("rate", 429)
        said = await _object(request)
        secret, certificate = _bytes(said.get("secret")), _bytes(said.get("certificate"))
        address = said.get("address")
        if len(secret) != SECRET or not is_certificate(certificate) or not _is_address(address):
            return self._refuse("unreadable", 400)
        if certificate == self._home.certificate_der:
            return self._refuse("unreadable", 400)
        with self._home.locked():
            invitation = take(self._home, secret)
            if invitation is None:
                return self._refuse("no friend", 403)
            friend = Friend(
                name=invitation.name, certificate=base64.b64encode(certificate).decode(), address=str(address)
            )
            try:
                self._home.add(friend)  # one who is known stays as they are, so that nobody can move a friend
            except ParameterError:
                return self._refuse("busy", 403)
        self.let_in(self._circle.update(self._home.friends()), any_open(self._home))
        return _said({})


async def accept(home: Home, code: Code, name: str) -> None:
    """Become friends with who made a code."""
    settings = home.settings()
    if settings.address is None:
        raise ParameterError(
            "Your friend needs to know where to reach you: coterie peer init --address HOST:PORT, with the address of "
            "this machine in your network and a free port."
        )
    own = home.certificate_der
    theirs = await _certificate_at(code)
    if theirs == own:
        raise ParameterError("This is your own invitation. Give it to a friend.")
    if not code.fits(theirs):
        raise InputError(
            "Somebody else answers at the address of the invitation, so nothing was sent. Ask your friend for a new "
            "invitation."
        )
    body = {
        "secret": base64.b64encode(code.secret).decode(),
        "certificate": base64.b64encode(own).decode(),
        "address": settings.address,
    }
    status = await _post(code, theirs, body)
    if status == 403:
        raise InputError("The invitation is not open: it was used already, or its time is over. Ask for a new one.")
    if status != 200:
        raise InputError(f"Your friend's peer did not take the invitation ({status}). Try again in a minute.")
    friend = Friend(name=name, certificate=base64.b64encode(theirs).decode(), address=code.address)
    with home.locked():
        home.add(friend)


async def _certificate_at(code: Code) -> bytes:
    """The certificate of who answers; nothing is said to them."""
    try:
        async with asyncio.timeout(CONNECT + _HANDSHAKE_SECONDS):
            _, writer = await asyncio.open_connection(code.host, code.port, ssl=stranger_side())
            try:
                found = certificate_of(writer.transport)
            finally:
                writer.transport.abort()
    except (TimeoutError, OSError, ssl.SSLError):
        found = None
    if found is None:
        raise MissingError(
            f"Nobody answers at {code.address}. Your friend's peer must be running ('coterie peer run'), and be "
            f"reachable from here."
        )
    return found


async def _post(code: Code, certificate: bytes, body: dict[str, str]) -> int:
    """Say something to who has a certificate, and to nobody else."""
    limit = aiohttp.ClientTimeout(total=SECONDS, connect=CONNECT)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False) as session,
            session.post(
                f"https://{code.address}/accept",
                data=orjson.dumps(body),
                headers=PLAIN,
                ssl=stranger_side(certificate),
                allow_redirects=False,
            ) as response,
        ):
            return response.status
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
        raise MissingError(
            "Your friend's peer expects nobody: the invitation was used already, or its time is over. Ask for another."
        ) from None


@web.middleware
async def _guarded(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Any:
    """Nothing that goes wrong is passed on or logged."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return _said({"refused": "unreadable"}, error.status)
    except (TimeoutError, CoterieError, OSError):
        return _said({"refused": "busy"}, 503)


async def _unsigned(request: web.Request, response: web.StreamResponse) -> None:  # noqa: ARG001 (aiohttp's signature)
    response.headers.pop("Server", None)


async def _object(request: web.Request) -> dict[str, Any]:
    async with asyncio.timeout(_HANDSHAKE_SECONDS):
        data = await request.read()
    try:
        said = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}


async def _field(request: web.Request, name: str) -> str:
    value = (await _object(request)).get(name)
    return value if isinstance(value, str) else ""


def _said(value: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        return b""
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _is_address(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(host_and_port(value))
    except ParameterError:
        return False
