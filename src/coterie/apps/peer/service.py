"""The peer as one process: the local address, the door for friends, and an end without traces."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from coterie.apps.peer.back_end import BackEnd, checked_template
from coterie.apps.peer.circle import Circle, Limits
from coterie.apps.peer.home import Home, Settings, host_and_port
from coterie.apps.peer.invitations import any_open
from coterie.apps.peer.links import Door
from coterie.apps.peer.local import Desk, Local, serve
from coterie.apps.peer.memory import Counts
from coterie.apps.peer.meter import Meter
from coterie.apps.peer.results import Result
from coterie.errors import CoterieError, InputError, ParameterError
from coterie.text.language import language

LOOPBACK = "127.0.0.1"
_LOOK_EVERY = 0.5  # seconds, for friends and invitations that another process wrote
_AT_ONCE = 64  # connections to others


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a peer runs."""

    alone: bool = False
    port: int | None = None
    limits: Limits = field(default_factory=Limits)
    language: str = "english"
    past: Path | None = None
    ask_from: float | None = None


def run(home: Home, options: Options, ready: Callable[[str], None]) -> None:
    """Run until the process is asked to end; `ready` is told the address for the browser."""
    home.check()
    _keep_quiet()
    asyncio.run(_run(home, options, ready))


async def _run(home: Home, options: Options, ready: Callable[[str], None]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_debug(False)  # which would log what is slow, with its values
    loop.set_exception_handler(lambda _loop, _context: None)
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, stop.set)
    async with running(home, options) as address:
        ready(address)
        await stop.wait()


@asynccontextmanager
async def running(home: Home, options: Options) -> AsyncIterator[str]:
    """A peer that runs meanwhile, and its address for the browser."""
    settings = home.settings()
    back_end = BackEnd(checked_template(settings.back_end), settings.redirect)
    circle, counts = Circle(home, options.limits), Counts()
    with_friends = not options.alone and settings.address is not None
    if with_friends and back_end.redirect:
        raise ParameterError(
            "A back end that the browser is sent to (--redirect) serves nobody else. Use one that answers JSON, or "
            "start with --alone."
        )
    meter = Meter(language(options.language), file=options.past)
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(_session())
        port = settings.port if options.port is None else options.port
        near = stack.enter_context(_listening(LOOPBACK, port, "--port"))
        desk = Desk(
            secret=settings.secret, back_end=back_end, circle=circle, meter=meter, counts=counts, session=session,
            ask_from=options.ask_from,
        )  # fmt: skip
        if with_friends:

            async def search(query: str) -> tuple[Result, ...]:
                return await back_end.search(session, query)

            door = Door(home, circle, search, counts)
            far = stack.enter_context(_listening(*_far(settings), "--listen"))
            _take_over(home, circle, door)
            stack.push_async_callback(door.close)
            await door.open(far)
            watching = asyncio.create_task(_watch(home, circle, door))
            stack.callback(watching.cancel)
        local = Local(desk)
        runner = await serve(local, near)
        stack.push_async_callback(runner.cleanup)
        home.write_running(local.port)
        stack.callback(home.forget_running)
        yield f"http://{LOOPBACK}:{local.port}/{settings.secret}/search?q=%s"


async def _watch(home: Home, circle: Circle, door: Door) -> None:
    """Notice friends and invitations that another process wrote, and invitations whose time is over."""
    seen, expecting = home.changed(), True  # also what changed since it was taken over
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        now = home.changed()
        if now != seen or expecting:
            with contextlib.suppress(CoterieError, OSError):  # a file that is damaged meanwhile changes nothing
                expecting = _take_over(home, circle, door)
                seen = now


def _take_over(home: Home, circle: Circle, door: Door) -> bool:
    """Take over friends and invitations as they are in the folder; whether somebody is expected."""
    new, expecting = circle.update(home.friends()), any_open(home)
    door.let_in(new, expecting)
    return expecting


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_AT_ONCE),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        headers={"User-Agent": "coterie-peer"},
    )


def _far(settings: Settings) -> tuple[str, int]:
    """Where to listen for friends: as the settings say, else at the port of the address, on all networks."""
    if settings.listen is not None:
        return host_and_port(settings.listen, "--listen")
    host, port = host_and_port(settings.address or "")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "0.0.0.0", port  # noqa: S104 (friends come from other machines)
    if address.is_loopback:
        return host, port
    return ("::" if address.version == 6 else "0.0.0.0"), port  # noqa: S104 (the same)


@contextlib.contextmanager
def _listening(host: str, port: int, option: str) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":  # where it would let others take the port over
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setblocking(False)
        try:
            listening.bind((host, port))
            listening.listen(128)
        except OSError as error:
            raise _no_port(error, host, port, option) from None
        yield listening
    finally:
        listening.close()


def _no_port(error: OSError, host: str, port: int, option: str) -> CoterieError:
    if error.errno == errno.EADDRINUSE:
        how = "run it with another --port" if option == "--port" else "choose another with 'coterie peer init'"
        return InputError(f"Port {port} is in use, perhaps by a peer that runs already. Stop that, or {how}.")
    if error.errno == errno.EACCES:
        return InputError(f"Port {port} needs the rights of an administrator. Choose one above 1023 with {option}.")
    return InputError(f"It is not possible to listen at {host}, port {port}: {error.strerror}.")


def _keep_quiet() -> None:
    """No library logs what it works on, and a crash writes no memory to the disk."""
    for name in ("asyncio", "aiohttp.access", "aiohttp.client", "aiohttp.internal", "aiohttp.server", "aiohttp.web"):
        logging.getLogger(name).disabled = True
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
