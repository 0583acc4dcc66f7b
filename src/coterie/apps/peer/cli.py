"""`coterie peer`: a local search address for one person and their friends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import console, say
from coterie.errors import InputError, MissingError, ParameterError

_HOME = click.option(
    "--home",
    type=opt.PATH,
    envvar="COTERIE_PEER",
    metavar="DIR",
    help="Private folder of the peer; else 'peer' in the folder for settings of Coterie.",
)
_NAME = click.option("--name", default="friend", metavar="NAME", help="What you call them; they never see it.")


@click.group(context_settings=opt.CONTEXT, short_help="A local search address for you and your friends (experimental).")
def peer() -> None:
    """A local search address for you and your friends (experimental, no promise).

    \b
    coterie peer init --back-end http://127.0.0.1:8888     # your own SearXNG
    coterie peer run --alone                               # prints the address for your browser

    Answers repeats from memory, asks before personal data leaves, and says how much a search points at you. With
    friends it also submits each other's searches: read docs/peer.md first.
    """


@peer.command(cls=opt.Command)
@_HOME
@click.option("--back-end", metavar="URL", help="SearXNG, or an address with {query} or %s in it.")
@click.option("--redirect/--no-redirect", default=None, help="Send the browser to the back end; for --alone only.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the local address.  [default: 8642]")
@click.option("--address", metavar="HOST:PORT", help="Where friends reach this machine.")
@click.option("--listen", metavar="HOST:PORT", help="Where to listen for them; else that port, on all networks.")
@click.option("--new-secret", is_flag=True, help="Another local address, if somebody else learned yours.")
def init(home: Path | None, new_secret: bool, **given: Any) -> None:
    """Make the private folder of a peer, or change its settings; keys and friends stay."""
    _needs_packages()
    import msgspec

    from coterie.apps.peer.back_end import checked_template, is_in_clear
    from coterie.apps.peer.home import Home, host_and_port, make_home, new_settings

    place = Home(_folder(home))
    chosen = {name: value for name, value in given.items() if value is not None}
    if "back_end" in chosen:
        chosen["back_end"] = checked_template(chosen["back_end"])
        if is_in_clear(chosen["back_end"]):
            say("Searches will travel unencrypted to the back end: use https if you can.", style="yellow")
    for name in ("address", "listen"):
        if name in chosen:
            host_and_port(chosen[name], f"--{name}")
    if place.exists():
        place.check()
        if new_secret:
            chosen["secret"] = new_settings("").secret
        place.write_settings(msgspec.structs.replace(place.settings(), **chosen))
        say(f"Changed the peer in {place.path}. Start it anew to use that; keys and friends stay.")
        return
    if "back_end" not in chosen:
        raise ParameterError("Name the search engine that is asked: --back-end http://127.0.0.1:8888 for SearXNG.")
    make_home(place.path, msgspec.structs.replace(new_settings(chosen["back_end"]), **chosen))
    say(f"Made a peer in {place.path}. Next: coterie peer run")


@peer.command(cls=opt.Command)
@opt.all_of(_HOME, _NAME)
@click.option("--hours", type=click.FloatRange(0, 24 * 30, min_open=True), default=24.0, help="How long it is open.")
def invite(home: Path | None, name: str, hours: float) -> None:
    """Print a code for one friend. It works once, while your peer runs."""
    _needs_packages()
    from coterie.apps.peer import invitations

    code = invitations.invite(_checked(home), name, hours)
    say(f"For one friend, within {hours:g} hours and while your peer runs. They type: coterie peer accept CODE")
    click.echo(invitations.spell_code(code))


@peer.command(cls=opt.Command)
@click.argument("code")
@opt.all_of(_HOME, _NAME)
def accept(code: str, home: Path | None, name: str) -> None:
    """Become friends with who made CODE (- to read it from standard input)."""
    _needs_packages()
    import asyncio
    import sys

    from coterie.apps.peer import links
    from coterie.apps.peer.home import checked_name
    from coterie.apps.peer.invitations import read_code

    place = _checked(home)
    said = read_code(sys.stdin.read(2_000) if code == "-" else code)
    asyncio.run(links.accept(place, said, checked_name(name)))
    say("You are friends now. Each of your addresses submits searches of the other while both peers run.")


@peer.command(cls=opt.Command)
@_HOME
@click.option("--remove", metavar="NAME", help="Remove a friend; a running peer refuses them at once.")
def friends(home: Path | None, remove: str | None) -> None:
    """List your friends, or remove one."""
    _needs_packages()
    place = _checked(home)
    if remove is not None:
        place.remove(remove)
        say("Removed. Ask them to remove you, too.")
        return
    out = console(stderr=False)
    known = place.friends()
    if not known:
        say("You have no friends here yet: 'coterie peer invite' makes a code for one.")
    for friend in known:
        out.print(f"{friend.name}  {friend.address}  {friend.fingerprint[:16]}", markup=False)


@peer.command(cls=opt.Command)
@_HOME
@click.option("--alone", is_flag=True, help="Ask no friends and do not listen for them.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the local address; 0 for any.")
@click.option("--rate", type=click.FloatRange(0), default=60.0, help="Searches a minute to submit for each friend.")
@click.option("--credit", type=click.FloatRange(0), default=500.0, help="Searches a friend may owe you.")
@click.option("--back-off", type=click.FloatRange(0), default=5.0, help="Seconds to leave a friend alone who failed.")
@click.option("--ask-from", type=click.FloatRange(0, 1), metavar="S", help="Also ask before a search with S or more.")
@click.option("--language", default="english", metavar="NAME", help="Language of your searches, for the meter.")
@click.option("--past", type=opt.PATH, metavar="FILE", help="Keep words of searches for the meter.")
def run(home: Path | None, rate: float, credit: float, back_off: float, **options: Any) -> None:
    """Run the peer until Ctrl-C; prints the address to set as search engine in your browser."""
    _needs_packages()
    from coterie.apps.peer import service
    from coterie.apps.peer.circle import Limits

    def ready(address: str) -> None:
        click.echo(address)
        say("Set this as search engine in your browser; keep it to yourself. Ctrl-C ends the peer.")

    limits = Limits(rate=rate, credit=credit, back_off=back_off)
    service.run(_checked(home), service.Options(limits=limits, **options), ready)


@peer.command(cls=opt.Command)
@_HOME
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(home: Path | None, as_json: bool) -> None:
    """What the running peer did, in numbers."""
    _needs_packages()
    import json

    from coterie.apps.peer.memory import SAID

    told = _told(_checked(home))
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    out = console(stderr=False)
    for name, value in told["numbers"].items():
        out.print(f"{value:>8,}  {SAID[name]}", markup=False)
    for friend in told["friends"]:
        mine, theirs = friend["submitted_for_me"], friend["submitted_for_them"]
        alone = "; left alone for a while" if friend["left_alone"] else ""
        out.print(f"{friend['name']}: submitted {mine:,} for you and you {theirs:,} for them{alone}", markup=False)


def _told(place: Any) -> Any:
    """What the running peer says of itself."""
    import http.client
    import json

    running = place.running()
    if running is None:
        raise MissingError(f"No peer runs in {place.path}. Start it with 'coterie peer run'.")
    link = http.client.HTTPConnection("127.0.0.1", running.port, timeout=5)
    try:
        link.request("GET", f"/{place.settings().secret}/status.json")
        answer = link.getresponse()
        return json.loads(answer.read(1 << 20)) if answer.status == 200 else _no_peer(place)
    except (OSError, http.client.HTTPException, ValueError):
        return _no_peer(place)
    finally:
        link.close()


def _no_peer(place: Any) -> Any:
    raise InputError(f"The peer in {place.path} does not answer. It may have been killed: start it anew.")


def _folder(home: Path | None) -> Path:
    return home if home is not None else Path(click.get_app_dir("coterie")) / "peer"


def _checked(home: Path | None) -> Any:
    from coterie.apps.peer.home import Home

    place = Home(_folder(home))
    place.check()
    return place


def _needs_packages() -> None:
    from importlib.util import find_spec

    if find_spec("aiohttp") is None or find_spec("cryptography") is None:
        raise MissingError("The peer needs aiohttp and cryptography: python -m pip install 'coterie[peer]'")
