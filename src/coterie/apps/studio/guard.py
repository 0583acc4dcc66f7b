"""Who may ask, and how much they may send: the outermost layer of the studio.

Any web page can make a browser ask 127.0.0.1, so it is not enough to listen there only. A request is answered if its
Host is ours (a host name that somebody pointed here is not), if the browser says that it comes from the owner or from
a page of ours (Sec-Fetch-Site, Origin), and if its address begins with the secret. Everything else gets the same 403,
which says nothing. Forms carry a token besides, which `app` checks.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALL = 64 << 10
"""Bytes of a form without files."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
DOCUMENT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""For a report that the studio shows: a page of its own, without scripts and without a way back to us."""
HEADERS = {
    "Referrer-Policy": "same-origin",  # so that browsers tell us the origin of a form, and nobody else our address
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
_FORBIDDEN = b"<!doctype html><title>403</title><p>This address answers the browser of its owner only."
_TOO_MUCH = (
    b"<!doctype html><title>413</title><p>That is larger than the studio takes, so nothing was kept. Go back, and "
    b"type where the file is instead."
)
_OWN = (b"none", b"same-origin")
_HEARD_OUT = 16 << 20
_LEAD = "lead"  # no path of ours: these begin with a slash
Limit = Callable[[str], int]
"""The path of a request -> how many bytes it may bring."""


class TooMuchError(Exception):
    """More came than was allowed."""


class Guard:
    """Lets the owner's browser through, and adds what every answer says to the browser."""

    def __init__(self, app: ASGIApp, secret: str, limit: Limit = lambda _path: SMALL, once: str = "") -> None:
        self._app, self._secret, self._limit = app, secret.encode(), limit
        self._once = once.encode()
        """Another secret, which leads to the first page and works a single time."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a websocket is closed unanswered
        inside = self._inside(scope)
        if inside is None:
            await _drain(receive, SMALL)
            await _refuse(send, 403, _FORBIDDEN)
            return
        if inside == _LEAD:
            self._once = b""
            await _refuse(send, 303, b"", [(b"location", b"/" + self._secret + b"/")])
            return
        limit, sent, begun = self._limit(inside), 0, False

        async def counted() -> Message:
            nonlocal sent
            message = await receive()
            sent += len(message.get("body", b""))
            if sent > limit:
                raise TooMuchError
            return message

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with_ours(message.get("headers", ()))}
            await send(message)

        try:
            if _content_length(scope) > limit:
                raise TooMuchError
            await self._app({**scope, "path": inside, "raw_path": inside.encode(), "root_path": ""}, counted, answer)
        except TooMuchError:
            if not begun:
                await _drain(receive)
                await _refuse(send, 413, _TOO_MUCH)

    def _inside(self, scope: Scope) -> str | None:
        """The path behind the secret; None for whoever must not be answered."""
        said: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            said.setdefault(name.lower(), []).append(value)
        port = (scope.get("server") or ("", 0))[1]
        hosts = ([f"127.0.0.1:{port}".encode()], [f"localhost:{port}".encode()])
        _, _, path = scope["path"].partition("/")
        secret, slash, rest = path.partition("/")
        allowed = (
            scope["method"] in ("GET", "HEAD", "POST")
            and said.get(b"host") in hosts
            and self._is_from_owner(scope["method"], said)
        )
        if not allowed:
            return None
        given = secret.encode("utf-8", "surrogateescape")
        if self._once and scope["method"] == "GET" and hmac.compare_digest(given, self._once) and not rest:
            return _LEAD
        return f"{slash}{rest}" or "/" if hmac.compare_digest(given, self._secret) else None

    @staticmethod
    def _is_from_owner(method: str, said: dict[bytes, list[bytes]]) -> bool:
        origin = b"http://" + said[b"host"][0]
        if any(site not in _OWN for site in said.get(b"sec-fetch-site", ())):
            return False
        origins = said.get(b"origin", [])
        return origins == [origin] if method == "POST" else origins in ([], [origin])


async def _drain(receive: Receive, most: int = _HEARD_OUT) -> None:
    """Hear out somebody who sends too much, up to a point: a browser that is cut off shows no answer."""
    heard, more = 0, True
    while more and heard < most:
        message = await receive()
        heard += len(message.get("body", b""))
        more = message.get("more_body", False)


def _content_length(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name.lower() == b"content-length"]
    return max((int(each) for each in lengths if each.isdigit()), default=0)


def _with_ours(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers of an answer with ours; one that brings a policy of its own keeps it."""
    kept = [(name, value) for name, value in headers if name.lower() != b"server"]
    names = {name.lower() for name, _ in kept}
    ours = {"Content-Security-Policy": POLICY, **HEADERS}
    return [*kept, *((n.lower().encode(), v.encode()) for n, v in ours.items() if n.lower().encode() not in names)]


async def _refuse(send: Send, status: int, page: bytes, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    headers = _with_ours([(b"content-type", b"text/html; charset=utf-8"), (b"connection", b"close"), *more])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": page})
