"""`coterie study`: a grid of methods and parameters from a TOML file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, say
from coterie.cli.errors import StoppedError, answered
from coterie.errors import ParameterError


@contextmanager
def _going_on(folder: Path) -> Iterator[None]:
    """Whoever stops a study is told that what is finished stays."""
    try:
        yield
    except (KeyboardInterrupt, StoppedError) as stop:
        stop.says = f"Stopped. What is finished is in {folder}; the same command goes on from there."  # type: ignore[union-attr]
        raise


def _list_studies(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001 (click's signature)
    if not value or ctx.resilient_parsing:
        return
    from coterie.study.file import shipped

    for name, path in shipped().items():
        click.echo(f"{name:24} {path.read_text(encoding='utf-8').partition(chr(10))[0].lstrip('# ')}")
    ctx.exit()


@click.command(cls=opt.Command)
@click.argument("file", type=opt.PATH, required=False)
@click.option("--init", is_flag=True, help="Write a small study to FILE (study.toml), to run and to change.")
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_studies,
    help="List the studies that come along; run one by its name.",
)
@click.option("-o", "--output", type=opt.PATH, metavar="DIR", help="Folder for all that is written.")
@click.option(
    "--input",
    "source",
    multiple=True,
    type=opt.PLACE,
    metavar="LOG",
    help="The log to read, in place of the study's own.",
)
@opt.all_of(opt.reading, opt.as_json, opt.quiet)
def study(
    file: Path | None,
    init: bool,
    output: Path | None,
    source: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run a grid of methods and parameters; resumes where it stopped.

    FILE is a study, or the name of one that comes along. Begin with `coterie study quick`, or with `coterie study
    --init`, which writes it down for you. Scores, pictures and the report are in one folder; its sub-folder `cells` has
    the results of single cells, so that nothing is computed twice.
    """
    from coterie.study import load_study, run_study
    from coterie.study.file import located, write_first

    if init:
        to = file or Path("study.toml")
        write_first(to)
        say(f"Study: {to}. Run it: coterie study {to}", quiet)
        return
    if file is None:
        raise ParameterError("Give a study file, or the name of one that comes along: coterie study --list.")
    file, beside = located(file)
    output = output or beside
    if not source and any(options.values()):
        raise ParameterError(
            "Options that say how to read a log go with --input LOG; else the study says it in [read]."
        )
    read = (list(source), opt.reading_of(options)) if source else None
    grid = load_study(file, folder=output, read=read)
    numbers = count(1)

    def show(label: str, computed_before: bool) -> None:
        say(f"[{next(numbers)}/{grid.n_cells}] {label}{' (known)' if computed_before else ''}", quiet)

    with answered(quiet), _going_on(grid.folder):
        scores = run_study(grid, show)
    if as_json:
        print_scores(scores, as_json=True)
    say(f"Scores: {grid.folder / 'scores.csv'}", quiet)
    for drawing in grid.figures:
        say(f"Picture: {grid.folder / drawing.file}", quiet)
    if grid.report is not None:
        say(f"Report: {grid.report}", quiet)
