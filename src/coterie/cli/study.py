"""`coterie study`: a grid of methods and parameters from a TOML file."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, say
from coterie.errors import ParameterError


@click.command(context_settings=opt.CONTEXT)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Folder for all that is written.")
@click.option("--input", "source", multiple=True, metavar="LOG", help="The log to read, in place of the study's own.")
@opt.reading
@opt.as_json
@opt.quiet
def study(file: Path, output: Path | None, source: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Run a grid of methods and parameters; resumes where it stopped."""
    from coterie.study import load_study, run_study

    if not source and any(options.values()):
        raise ParameterError(
            "Options that say how to read a log go with --input LOG; else the study says it in [read]."
        )
    read = {"source": list(source), **opt.reading_of(options)} if source else None
    grid = load_study(file, folder=output, read=read)
    numbers = count(1)

    def show(label: str, computed_before: bool) -> None:
        say(f"[{next(numbers)}/{grid.n_cells}] {label}{' (known)' if computed_before else ''}", quiet)

    scores = run_study(grid, show)
    if as_json:
        print_scores(scores, as_json=True)
    say(f"Scores: {grid.folder / 'scores.csv'}", quiet)
    if grid.report is not None:
        say(f"Report: {grid.report}", quiet)
