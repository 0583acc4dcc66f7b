"""The command `coterie explain`: what a method makes of single queries, and of a log as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, print_table, progress, say
from coterie.errors import ParameterError

_GIVEN = (
    click.option(
        "--query-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Queries to explain, one a line; without it the whole log is told of in numbers.",
    ),
    click.option(
        "--picture",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Draw the queries around the first one that is in the graph: .svg, .png or .html.",
    ),
)


class Explain(click.Group):
    """`coterie explain METHOD`: for the methods that can say more than what they release."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Those methods."""
        return ["affinity"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one of them, with the parameters that degrees depend on."""
        known = self.list_commands(ctx)
        if cmd_name not in known:
            raise ParameterError(f"'{cmd_name}' explains nothing. Methods that do: {', '.join(known)}.")
        wanted = ("theta", "min_users", "min_term_users", "strict", "function_words", "max_degree")
        params = [option for option in opt.method_options(cmd_name) if option.name in wanted]
        shared = opt.collected(
            *_GIVEN, opt.reading, opt.prepare, opt.show_values, opt.force, opt.as_json, opt.quiet, opt.config
        )
        return click.Command(
            cmd_name,
            callback=_explain_affinity,
            help="A log in numbers, or why queries have the anonymity degree they have: who covers them, in what core.",
            params=[click.Argument(["log"], nargs=-1, required=True), *params, *shared],
            context_settings=opt.CONTEXT,
        )


def _explain_affinity(log: tuple[str, ...], query_file: Path | None, picture: Path | None, **options: Any) -> None:
    from coterie import explain, verbs
    from coterie.core import registry
    from coterie.steps import parse_steps
    from coterie.writing.files import refuse_existing

    quiet, show_values = options["quiet"], options["show_values"]
    names = [name for name in (param.name for param in opt.params("affinity")) if name in options]
    method = registry.method("affinity")(**{name: options[name] for name in names})
    queries, steps = explain.read_queries(query_file) if query_file else [], parse_steps(options["prepare"])
    if picture is not None:
        if not queries:
            raise ParameterError("A picture shows the queries around one of yours. Give it: --query-file FILE.")
        explain.picture_kind(picture)
        refuse_existing(picture, options["force"])
    with progress(quiet) as step:
        step("read")
        read = verbs.prepare(opt.read(log, options, quiet), steps)
        step("explain")
        found = explain.explain_affinity(read, method, queries)
        if picture is not None:
            step("draw")
            explain.draw_component(found, picture, show_values)
    if query_file is None:
        print_scores(explain.overview(found.graph), as_json=options["as_json"])
    elif options["as_json"]:
        print_scores(found.scores(show_values), as_json=True)
    else:
        print_table(found.table if show_values else found.table.drop("query"))
    if picture is not None:
        say(f"Picture: {picture}", quiet)
