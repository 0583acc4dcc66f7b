"""`coterie study`: a grid of methods and parameters from a TOML file; and `coterie simulate`: what an engine and
friends would see if people protected themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, progress, say
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


class Simulate(click.Command):
    """A command whose options are those of all protocols."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own options, and after them the parameters of protocols."""
        return [*super().get_params(ctx), *_of_protocols()]


def _of_protocols() -> list[click.Option]:
    """Each parameter once, without a default: those of protocols differ."""
    from coterie.core import registry
    from coterie.core.params import params_of

    found: dict[str, click.Option] = {}
    for name in registry.names("protocols"):
        params = list(params_of(registry.member("protocols", name)))
        for param, option in zip(params, opt.param_options(params), strict=True):
            shown = "" if param.default in (False, None) else f"  [{name}: {param.default}]"
            if param.name in found:
                found[param.name].help = f"{found[param.name].help or ''}{shown}"
                continue
            option.default, option.show_default = None, False
            option.help = f"{option.help or ''}{shown}"
            found[param.name] = option
    return list(found.values())


@click.command(cls=Simulate, context_settings=opt.CONTEXT)
@opt.logs
@click.option("--protocol", default="friends", help="How people protect themselves; docs/simulate.md has them all.")
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="Measures; else all that apply.")
@click.option("--users", type=click.IntRange(2), help="Replay so many users only, drawn by the seed.")
@click.option("--language", default="english", help="Language of the queries, for their keywords.")
@click.option("-o", "--output", type=opt.PATH, metavar="DIR", help="Folder for the numbers.")
@click.option("--seed", type=int, help="Make the simulation repeatable.")
@opt.all_of(opt.prepare, opt.reading, opt.force, opt.as_json, opt.quiet, opt.config)
def simulate(
    log: tuple[str, ...], protocol: str, output: Path | None, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Replay LOGs as if people protected themselves, and measure what others would see.

    A simulation is no release and promises nothing.

    \b
    coterie simulate log.tsv.gz --protocol friends --topology er --degree 10 --choice sticky_query
    coterie simulate log.tsv.gz --protocol unlinkable --answer-repeats
    """
    from coterie.core import registry
    from coterie.core.params import params_of
    from coterie.lab.simulate import protocol as made
    from coterie.lab.simulate.run import Replay, simulate_files
    from coterie.writing.target import Target

    known = {param.name for param in params_of(registry.member("protocols", protocol))}
    every = {option.name: option for option in _of_protocols()}
    given = {name: options[name] for name in every if options[name] is not None}
    if strange := [every[name].opts[0] for name in given if name not in known]:
        raise ParameterError(f"{protocol} has no parameter {strange[0]}. Leave it out, or choose another --protocol.")
    by = made(protocol, **given)
    replay = Replay(by=by, **{name: options[name] for name in ("measures", "users", "language")})
    to = None if output is None else Target(path=str(output), force=options["force"])
    with progress(quiet, seed=options["seed"]) as job:
        done = simulate_files(log, replay, reading=opt.reading_of(options), steps=options["steps"], to=to, job=job)
    print_scores(done.scores, as_json)
    for name, why in done.left_out.items():
        say(f"Left out: {name}: {why}.", quiet, style="dim")
    if options["seed"] is None:
        say(f"--seed {done.seed} repeats this simulation.", quiet, style="dim")
    if output is not None:
        say(f"Numbers: {output / 'scores.csv'}", quiet)
