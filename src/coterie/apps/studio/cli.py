"""`coterie studio`: the same jobs in the browser."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import say
from coterie.cli.errors import StoppedError
from coterie.errors import MissingError


@click.command(cls=opt.Command, short_help="The same in your browser, on this machine only.")
@click.argument("log", required=False, type=opt.PLACE)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the local address; else any.")
@click.option(
    "--upload-limit", type=click.IntRange(1), default=2048, metavar="MB", help="Most that may be dropped at once."
)
@click.option("--browser/--no-browser", default=None, help="Open it in your browser; else where there is a screen.")
def studio(log: str | None, port: int, upload_limit: int, browser: bool | None) -> None:
    """See the risk of a LOG, try protections, compare, decide and verify, in your browser.

    Answers on this machine only, and only who has the address it prints. Nothing is kept once it is closed (Ctrl-C),
    but for the folders that you ask for.
    """
    _needs_packages()
    from coterie.apps.studio.server import serve

    def ready(running: Any) -> None:
        click.echo(running.address)
        say("Open this in your browser, and keep it to yourself. Ctrl-C closes the studio.")
        if browser or (browser is None and _has_screen()):
            import threading
            import webbrowser

            # Its arguments can be seen by others on this machine, so it is told an address that works once.
            threading.Thread(target=webbrowser.open, args=(running.once,), daemon=True).start()

    closed = "Closed. Nothing is left but the folders that you asked for and that were complete."
    try:
        serve(log, ready, port=port, upload=upload_limit << 20)
    except StoppedError as stop:
        stop.says = closed
        raise
    say(closed)


def _has_screen() -> bool:
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _needs_packages() -> None:
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "python_multipart")):
        raise MissingError("The studio needs a small web server: python -m pip install 'coterie[studio]'")
