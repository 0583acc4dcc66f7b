"""`coterie demo`: see what it does, without a log of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from coterie.cli import options as opt
from coterie.cli.console import progress


@click.command(cls=opt.Command, context_settings=opt.CONTEXT)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("demo"), help="Folder to write.")
@click.option("--users", type=click.IntRange(20), default=300, help="Users of the synthetic log.")
@opt.quiet
def demo(output: Path, users: int, quiet: bool) -> None:
    """Synthetic log -> several releases -> verify -> report."""
    from coterie.demo import run_demo

    with progress(quiet) as job:
        lines = run_demo(output, users, job.progress)
    if not quiet:
        click.echo("\n".join(lines))
