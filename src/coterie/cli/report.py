"""`coterie report`: one page about released files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from coterie.cli import options as opt
from coterie.cli.console import progress, say

if TYPE_CHECKING:
    from coterie.reports.about import About


@click.command(cls=opt.Command, context_settings=opt.CONTEXT)
@click.argument("out", nargs=-1, required=True, type=opt.PLACE)
@opt.required_original
@click.option(
    "--record",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Private run record of an OUT, as `anonymize --record` kept it; of some OUTs or all, in any order. Some risks "
    "of an OUT are not measured without it.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Page to write: .html, .md or .json."
)
@click.option(
    "--sidecar",
    multiple=True,
    type=opt.PLACE,
    metavar="FILE",
    help="Sidecars of those OUT that are tables of databases.",
)
@click.option(
    "--about",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.toml",
    help="Purpose, recipient, conditions, reason for k, reviewer, next review, thresholds.",
)
@click.option(
    "--policy",
    type=click.Choice(["default", "internal"]),
    help="Where thresholds come from: default is 1 in 11, internal 1 in 3; --about may give your own.",
)
@click.option("--ask", is_flag=True, help="Ask in the terminal for what --about leaves open.")
@click.option(
    "--edition",
    type=click.Choice(["internal", "external"]),
    default="internal",
    help="For those who keep the log, or for those who get the release.",
)
@click.option("--measures", metavar="NAME,...", help="Take these measures in place of all; see `coterie measures`.")
@opt.measuring
@opt.show_values
@opt.seed
@opt.cache
@opt.reading
@opt.force
@opt.quiet
@opt.config
@click.pass_context
def report(
    ctx: click.Context,
    /,
    out: tuple[str, ...],
    original: tuple[str, ...],
    record: tuple[Path, ...],
    sidecar: tuple[str, ...],
    output: Path,
    about: Path | None,
    policy: str | None,
    ask: bool,
    edition: Literal["internal", "external"],
    measures: str | None,
    show_values: bool,
    seed: int | None,
    cache: bool,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """One page about released files OUT, a decision sheet first; exit 1 if a promise is broken."""
    from coterie import measuring
    from coterie.measures.comparison import default_store

    sheet = _about(about, policy, ask)
    with progress(quiet, stages=4) as (step, note):
        broken = measuring.report_files(
            out,
            original,
            output,
            records=record,
            sidecars=sidecar,
            names=[name.strip() for name in (measures or "").split(",") if name.strip()],
            about=sheet,
            edition=edition,
            reading=opt.reading_of(options),
            given=opt.given_to_measures(options),
            seed=seed,
            store=default_store(cache),
            show_values=show_values,
            force=force,
            progress=step,
            note=note,
        )
    say(f"Report: {output}", quiet)
    for path in broken:  # the page is there all the same, and says so
        say(f"{path}: the promise is BROKEN, or this is not the log it was made from.", style="red")
    ctx.exit(1 if broken else 0)


def _about(path: Path | None, policy: str | None, asking: bool) -> About:
    """What people say of the release: from a file and, on a terminal, from whoever sits there."""
    import sys

    from coterie.errors import ParameterError
    from coterie.reports.about import ask, read_about, with_policy

    about = with_policy(None if path is None else read_about(path), policy)
    if not asking or not about.missing:
        return about
    if not sys.stdin.isatty():
        raise ParameterError("--ask needs a terminal. Write the answers into a file: --about FILE.toml.")
    say("For the first page. Leave a line empty to fill it in by hand.")
    return ask(about, lambda question: str(click.prompt(question, default="", show_default=False, err=True)))
