"""`coterie gate`: rare queries are never written down; and `coterie append`, the same for whole nights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from coterie.apps.gate import Rules
from coterie.cli import options as opt
from coterie.cli.console import print_numbers, progress, say

if TYPE_CHECKING:
    from coterie.apps.gate.run import AtEnd
    from coterie.reading.reading import Reading

F = TypeVar("F", bound=Callable[..., Any])
_STATE = click.option("--state", type=opt.PATH, required=True, metavar="DIR", help="Folder of the state; private.")
_KEY = click.option("--key", type=opt.PATH, metavar="FILE", help="Key file; else STATE.key. Best in memory: /run.")
_OUT = click.option("-o", "--output", type=opt.PATH, required=True, metavar="DIR", help="Folder of the parts.")
_K = click.option("--k", "-k", type=click.IntRange(2), default=Rules.k, help="Smallest number of users behind a query.")
_WINDOW = click.option("--window", default=Rules.window, metavar="SPAN", help="How long people are counted together.")
_TO = click.option("--to", "kind", default=Rules.kind, metavar="KIND", help="What parts are: tsv, csv, parquet, jsonl.")
_CLICKS = click.option("--clicks/--no-clicks", default=Rules.clicks, help="Count (query, page) pairs of k users, too.")
_AUDIT = click.option(
    "--audit", type=opt.PATH, metavar="DIR", help="Keep the rows themselves, to verify parts in tests. Unprotected."
)
_NOTHING = 4  # exit code: nothing to release tonight


def _rest(default: str) -> Callable[[F], F]:
    return click.option(
        "--rest",
        type=click.Choice(["window", "part"]),
        default=default,
        help="When rows come out that fewer than k users add to a released query: with its window's end, or the next "
        "part, whose time then tells when they asked.",
    )


@click.group(context_settings=opt.CONTEXT, short_help="Hold each query of a log back until k people have asked it.")
def gate() -> None:
    """The gate: rare queries are never written down.

    \b
    coterie gate run access.log --follow -o safe --state gate --key /run/gate.key
    """


@gate.command(cls=opt.Command)
@opt.all_of(opt.logs, _OUT, _K, _WINDOW)
@click.option("--flush", default=Rules.flush, metavar="SPAN", help="How often parts close, at fixed times.")
@opt.all_of(_STATE, _KEY)
@click.option(
    "--follow", is_flag=True, help="Go on as the file grows, through rotation; SIGTERM and Ctrl-C end it with 0."
)
@click.option("--keep-open", is_flag=True, help="Close nothing by the clock at the end: more of the same will come.")
@click.option("--arrival", is_flag=True, help="Rows have the time at which they come, not that of the log.")
@opt.all_of(_rest(Rules.rest), _CLICKS, _TO, _AUDIT)
@click.option("--metrics", type=opt.PATH, metavar="FILE", help="Write counts for Prometheus to FILE.")
@opt.all_of(opt.reading, opt.prepare, opt.as_json, opt.quiet, opt.config)
def run(log: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Hold each query of LOG ('-': standard input) until k people have asked it within a window.

    Parts with their sidecars come out at fixed times. Run it again on the same state to go on where it stopped.
    """
    from coterie.apps.gate.follow import is_stream
    from coterie.apps.gate.run import run_gate

    follow, keep_open = options.pop("follow"), options.pop("keep_open")
    if follow and keep_open and is_stream(log[0]):
        follow = False  # a stream is read to its end anyway
    at_end: AtEnd = "follow" if follow else "keep" if keep_open else "close"
    rules, reading, own = _parted(options)
    with progress(quiet, ends_itself=True) as job:
        numbers = run_gate(log, rules, reading=reading, at_end=at_end, note=job.note, **own)
    _show(numbers, as_json, quiet)


@gate.command(cls=opt.Command)
@opt.all_of(_STATE, opt.as_json)
def status(state: Path, as_json: bool) -> None:
    """What a gate holds, in numbers, as of its last snapshot."""
    from coterie.apps.gate.manage import status_of

    _show(status_of(state), as_json, False)


@gate.command(cls=opt.Command)
@opt.all_of(_STATE, _KEY, _OUT, opt.quiet)
def rotate(state: Path, key: Path | None, output: Path, quiet: bool) -> None:
    """End the window now: what is held is forgotten, its key is destroyed, and counting begins anew."""
    from coterie.apps.gate.manage import rotate as rotate_gate

    rotate_gate(state, key, output)
    say("The window has ended. What was held is forgotten, and its key is destroyed.", quiet)


@gate.command(cls=opt.Command)
@opt.all_of(_STATE, _KEY, opt.quiet)
def forget(state: Path, key: Path | None, quiet: bool) -> None:
    """Destroy the key and remove the state. Parts stay. What was held can never be counted again."""
    from coterie.apps.gate.manage import forget as forget_gate

    forget_gate(state, key)
    say("Key and state are gone.", quiet)


@click.command(cls=opt.Command, short_help="Append a night's log; what k people have asked so far comes out.")
@click.argument("method")
@opt.all_of(opt.logs, _OUT, _K, _WINDOW, _STATE, _KEY, _rest("part"))
@click.option("--end-window", is_flag=True, help="The window ends with this night, whatever the date.")
@opt.all_of(_CLICKS, _TO, _AUDIT, opt.reading, opt.prepare, opt.as_json, opt.quiet, opt.config)
@click.pass_context
def append(
    ctx: click.Context, /, method: str, log: tuple[str, ...], as_json: bool, quiet: bool, **options: Any
) -> None:
    """Append a night's LOG: what k people have asked so far within the window comes out.

    METHOD is suppress_rare. Exit 0: a part was written, or this night was appended before; 4: nothing to release
    tonight, which is no error.

    \b
    coterie append suppress_rare night.log --state gate -o safe
    """
    from coterie.apps.gate.append import append_night

    rules, reading, own = _parted(options)
    with progress(quiet, ends_itself=True) as job:
        numbers = append_night(method, log, rules, reading=reading, note=job.note, **own)
    new, known = numbers.pop("new"), numbers.pop("known")
    _show(numbers, as_json, quiet)
    for name in new:
        say(f"{options['output'] / name}: written.", quiet)
    if not new and not known:
        say("Nothing to release tonight: no query has k users yet within the window.", quiet)
        ctx.exit(_NOTHING)


def _parted(options: dict[str, Any]) -> tuple[Rules, Reading, dict[str, Any]]:
    """The options that are rules of the gate, those that say how a log is to be read, and all others."""
    reading, own = opt.parted(options)
    rules = Rules(**{each.name: own.pop(each.name) for each in fields(Rules) if each.name in own})
    return rules, reading, own


def _show(numbers: dict[str, Any], as_json: bool, quiet: bool) -> None:
    if as_json or not quiet:
        shown = ((name, value, "") for name, value in numbers.items() if not isinstance(value, str))
        print_numbers("gate", shown, as_json)
