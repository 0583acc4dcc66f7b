"""`coterie simulate`: what an engine and friends would see if people protected themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, progress, say
from coterie.errors import ParameterError


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


@click.command(
    cls=Simulate, context_settings=opt.CONTEXT, short_help="What an engine sees if people protect themselves."
)
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
