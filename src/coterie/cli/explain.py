"""`coterie inspect`: what is in a log; `coterie explain`: what a method makes of it, and of single queries."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import Number, print_numbers, print_scores, print_table, progress, say
from coterie.errors import ParameterError


@click.command(cls=opt.Command)
@opt.all_of(opt.logs, opt.reading, opt.prepare, opt.as_json, opt.quiet, opt.config)
def inspect(log: tuple[str, ...], steps: opt.Steps, as_json: bool, quiet: bool, **options: Any) -> None:
    """What is in a LOG, and how exposed it is before any protection."""
    from coterie import jobs

    with progress(quiet, stages=3, for_people=not as_json) as job:
        scores = jobs.inspect_logs(log, opt.reading_of(options), steps=steps, job=job)
    print_scores(scores, as_json)
    for name, rows in scores.filter(scores["name"] == "search_params").select("key", "value").iter_rows():
        say(f"Tip: --query-param {name} reads the searches of {rows:,.0f} rows as a search log.", quiet, "dim")


_PARAMS = ("theta", "min_users", "min_term_users", "strict", "language", "function_words", "max_degree")
_GIVEN = (
    click.option(
        "--query-file",
        type=opt.PATH,
        metavar="FILE",
        help="Queries to explain, one per line; without it, figures for the whole log.",
    ),
    click.option(
        "--picture",
        type=opt.PATH,
        metavar="FILE",
        help="Draw the queries around the first one that is in the graph: .svg, .png or .html.",
    ),
)


class ExplainedMethods(click.Group):
    """Knows the methods that can say more than what they release."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Those methods."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one of them."""
        names = self.list_commands(ctx)
        if cmd_name not in names and ctx.resilient_parsing:  # a shell completes something else
            return None
        if cmd_name not in names:
            raise ParameterError(
                f"explain does not support {cmd_name!r}. Methods that it explains: {', '.join(names)}."
            )
        return _COMMANDS[cmd_name](cmd_name)


@click.command(cls=ExplainedMethods, subcommand_metavar="METHOD LOG... [OPTIONS]", context_settings=opt.CONTEXT)
def explain() -> None:
    """Explain what a METHOD makes of LOGs as a whole, or of single queries.

    \b
    coterie explain affinity log.tsv.gz
    coterie explain affinity log.tsv.gz --query-file queries.txt
    coterie explain private_counts --epsilon 1 --population 650000
    """


def _degrees_command(name: str) -> click.Command:
    """Why queries have their degrees, with the parameters that degrees depend on."""
    params = [option for option in opt.method_options(name) if option.name in _PARAMS]
    shared = opt.collected(
        *_GIVEN, opt.reading, opt.prepare, opt.show_values, opt.force, opt.as_json, opt.quiet, opt.config
    )
    return opt.Command(
        name,
        callback=partial(_explain, name),
        help="A log in numbers, or why queries have the anonymity degree they have: who covers them, in what core.",
        params=[click.Argument(["log"], nargs=-1, required=True, type=opt.PLACE), *params, *shared],
    )


def _forecast_command(name: str) -> click.Command:
    """How many users a query needs; it takes no log."""
    synthetic = click.option(
        "--synthetic",
        type=click.IntRange(1),
        metavar="USERS",
        help="What a synthetic log of this many users would yield.",
    )
    return opt.Command(
        name,
        callback=partial(_forecast, name),
        help="How many users a query needs to be released, for these parameters; no log is looked at.",
        params=[*opt.method_options(name), *opt.collected(synthetic, opt.as_json)],
    )


def _forecast(name: str, synthetic: int | None, as_json: bool, **params: Any) -> None:
    from coterie import jobs
    from coterie.explain.forecast import synthetic_yield, users_needed

    ks = params.pop("k")
    numbers: list[Number] = []
    for method in jobs.methods_for(name, params, ks):
        prefix = f"k={method.k}." if len(ks) > 1 else ""  # type: ignore[attr-defined]  # this method has one
        for items, half, nearly_all in users_needed(method).iter_rows():  # type: ignore[arg-type]
            key = f"{prefix}users_needed.{items}_items_per_user"
            numbers += [(f"{key}.half", half, "users"), (f"{key}.99_percent", nearly_all, "users")]
        if synthetic is not None:
            released, distinct, _ = synthetic_yield(method, synthetic)  # type: ignore[arg-type]
            numbers += [(f"{prefix}synthetic.released", released, "items"),
                        (f"{prefix}synthetic.share", 100 * released / distinct, "% of distinct queries")]  # fmt: skip
    print_numbers("explain", numbers, as_json)


def _explain(name: str, log: tuple[str, ...], steps: opt.Steps, as_json: bool, quiet: bool, **options: Any) -> None:
    from coterie import jobs
    from coterie.core import registry

    method = registry.method(name)(**{param: options[param] for param in _PARAMS})
    asked = jobs.Asked(**{name: options[name] for name in ("query_file", "picture", "force", "show_values")})
    with progress(quiet) as job:
        explained = jobs.explain_files(log, method, asked, reading=opt.reading_of(options), steps=steps, job=job)
    if as_json or explained.table is None:
        print_scores(explained.scores, as_json)
    else:
        print_table(explained.table)
    if asked.picture is not None:
        say(f"Picture: {asked.picture}", quiet)


_COMMANDS = {"affinity": _degrees_command, "private_counts": _forecast_command}
