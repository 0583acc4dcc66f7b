"""`coterie report`: one page about released files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import progress, say


@click.command(context_settings=opt.CONTEXT)
@click.argument("out", nargs=-1, required=True)
@opt.required_original
@click.option(
    "--record",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Private run records, one for each OUT, in the same order.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Page to write: .html, .md or .json."
)
@click.option("--sidecar", multiple=True, metavar="FILE", help="Sidecars of those OUT that are tables of databases.")
@opt.measuring
@opt.show_values
@opt.seed
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
    show_values: bool,
    seed: int | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """One page about released files OUT: promises, checks, figures and limits; exit 1 if a promise is broken."""
    from coterie import jobs

    with progress(quiet) as (step, note):
        broken = jobs.report_files(
            out,
            original,
            output,
            records=record,
            sidecars=sidecar,
            reading=opt.reading_of(options),
            given=opt.given_to_measures(options),
            seed=seed,
            show_values=show_values,
            force=force,
            progress=step,
            note=note,
        )
    say(f"Report: {output}", quiet)
    for path in broken:  # the page is there all the same, and says so
        say(f"{path}: the promise is BROKEN, or this is not the log it was made from.", style="red")
    ctx.exit(1 if broken else 0)
