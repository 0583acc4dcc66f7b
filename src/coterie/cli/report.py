"""`coterie measure` and `coterie report`: what released files score, and one page about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, progress, say

if TYPE_CHECKING:
    from coterie.reports.about import About


@click.command(cls=opt.Command)
@opt.released
@click.argument("names", nargs=-1)
@opt.all_of(opt.required_original, opt.record, opt.sidecar_of_table, opt.measuring, opt.seed, opt.cache)
@opt.all_of(opt.show_values, opt.reading, opt.as_json, opt.quiet, opt.config)
def measure(
    out: str, names: tuple[str, ...], original: tuple[str, ...], as_json: bool, quiet: bool, **options: Any
) -> None:
    """Privacy and utility of a released file OUT against the original log."""
    from coterie import jobs

    with progress(quiet, stages=2, for_people=not as_json, **_kept(options)) as job:
        scores = jobs.measure_file(
            out,
            original,
            reading=opt.reading_of(options),
            record=options["record"],
            job=job,
            names=names,
            **opt.given_to_measures(options),
        )
    print_scores(scores, as_json)


def _kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a job keeps to: the seed, the scores that were measured before, and sidecars of tables."""
    from coterie.measures.comparison import default_store

    return {"seed": options["seed"], "store": default_store(options["cache"]), "sidecars": options["sidecars"]}


@click.command(cls=opt.Command)
@click.argument("out", nargs=-1, required=True, type=opt.PLACE)
@opt.all_of(opt.required_original, opt.records)
@click.option("-o", "--output", required=True, type=opt.PATH, help="Page to write: .html, .md or .json.")
@opt.sidecars
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
@opt.all_of(opt.measuring, opt.show_values, opt.seed, opt.cache, opt.reading, opt.force, opt.quiet, opt.config)
@click.pass_context
def report(
    ctx: click.Context,
    /,
    out: tuple[str, ...],
    original: tuple[str, ...],
    output: Path,
    measures: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """One page about released files OUT, a decision sheet first; exit 1 if a promise is broken."""
    from coterie import jobs

    about = _about(options["about"], options["policy"], options["ask"])
    page = jobs.Page(to=output, about=about, edition=options["edition"], force=options["force"])
    with progress(quiet, stages=4, **_kept(options)) as job:
        broken = jobs.report_files(
            out,
            original,
            page,
            reading=opt.reading_of(options),
            records=options["record"],
            job=job,
            names=[name.strip() for name in (measures or "").split(",") if name.strip()],
            **opt.given_to_measures(options),
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
