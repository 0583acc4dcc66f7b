"""`coterie demo` and `coterie synth`: see what it does, without a log of one's own; and a synthetic log."""

from __future__ import annotations

from pathlib import Path

import click

from coterie.cli import options as opt
from coterie.cli.console import progress, say


@click.command(cls=opt.Command)
@click.option("-o", "--output", type=opt.PATH, default=Path("demo"), help="Folder to write.")
@click.option("--users", type=click.IntRange(20), default=300, help="Users of the synthetic log.")
@opt.quiet
def demo(output: Path, users: int, quiet: bool) -> None:
    """Synthetic log -> several releases -> verify -> report."""
    from coterie.demo import run_demo

    with progress(quiet) as job:
        lines = run_demo(output, users, job.progress)
    if not quiet:
        click.echo("\n".join(lines))


@click.command(cls=opt.Command)
@click.option("-o", "--output", required=True, type=opt.PATH, help="File to write, also .gz, .zst.")
@click.option("--users", type=click.IntRange(1), required=True, help="Number of users; of documents for that kind.")
@click.option("--seed", type=int, default=7, help="Same seed, same log.")
@click.option(
    "--kind",
    type=click.Choice(["topics", "people", "visits", "documents"]),
    default="topics",
    help="topics: clear-cut interests. people: interests that overlap and change, as hard to group as people's. "
    "visits: an access log. documents: texts with topics.",
)
@opt.all_of(opt.force, opt.quiet)
def synth(output: Path, users: int, seed: int, kind: str, force: bool, quiet: bool) -> None:
    """Write a synthetic search log (AOL layout) or access log with the statistics of a real one, or documents."""
    from coterie import jobs

    with progress(quiet) as job:
        rows = jobs.write_synthetic(output, users, seed=seed, kind=kind, force=force, progress=job.progress)
    who = {"visits": "visitors", "documents": "documents"}.get(kind, "users")
    say(f"{output}: {rows:,} rows of {users:,} made-up {who}.", quiet)
