"""`coterie anonymize`: one command per method, with its parameters as options."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from coterie.cli import options as opt
from coterie.cli.console import EXIT_CODES, print_summaries, print_summaries_as_json, progress
from coterie.errors import ParameterError

_SHARED = (
    opt.output, opt.reading, opt.prepare, opt.seed, opt.promise, opt.record_to_keep, *opt.groups, *opt.history,
    opt.budget, *opt.streams, opt.force, opt.as_json, opt.quiet, opt.config,
)  # fmt: skip


class Methods(click.Group):
    """Knows all methods by name and loads one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """All methods."""
        from coterie.core import registry

        return registry.names("methods")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Methods, and regimes in place of them."""
        from coterie import regimes

        every = [CompletionItem(f"{regimes.PREFIX}{name}", help=regimes.load(name).title) for name in regimes.names()]
        fitting = [item for item in every if str(item.value).startswith(incomplete)]
        return [*super().shell_complete(ctx, incomplete), *fitting]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one method."""
        from coterie import regimes
        from coterie.core import registry

        if cmd_name.startswith(regimes.PREFIX):
            return _of_regime(cmd_name.removeprefix(regimes.PREFIX))
        if ctx.resilient_parsing and cmd_name not in self.list_commands(ctx):  # a shell completes something else
            return None
        method = registry.method(cmd_name)
        return opt.Command(
            cmd_name,
            callback=partial(_anonymize, cmd_name, ""),
            help=f"{method.__doc__}\n\nMore: coterie methods {cmd_name}",
            params=[click.Argument(["log"], nargs=-1, required=True, type=opt.PLACE), *_options(cmd_name)],
            context_settings=opt.CONTEXT,
            epilog=EXIT_CODES,
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All methods with what they do."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(name)) for name in self.list_commands(ctx)])


def _options(method: str) -> list[click.Parameter]:
    """The parameters of a method as options, and those that all methods share, but for one of the same name.

    `words` says in a method which words count together, and for documents, which such methods do not take, which words
    are terms.
    """
    own = list(opt.method_options(method))
    names = {param.name for param in own}
    return [*own, *(param for param in opt.collected(*_SHARED) if param.name not in names)]


def _of_regime(name: str) -> click.Command:
    """The command of one regime: that of its method, with other defaults."""
    from coterie import regimes

    regime = regimes.load(name)
    settings = {**regime.settings, "steps": ",".join(regime.prepare)}
    params = _options(regime.method)
    for param in params:
        if param.name in settings:
            param.default = settings[param.name]
    return opt.Command(
        f"{regimes.PREFIX}{name}",
        callback=partial(_anonymize, regime.method, name),
        help=f"{regime.title}: {regime.about}\n\nMore: coterie regimes {name}",
        params=[click.Argument(["log"], nargs=-1, required=True, type=opt.PLACE), *params],
    )


def _summary(name: str) -> str:
    """What a method does, in its own words; read from its file, because to import all methods takes a while."""
    from ast import ClassDef, get_docstring, parse

    from coterie.core import registry

    path = registry.path_of("methods", name)
    file = registry.file_of(path) if path.startswith("coterie.") else None
    if file is None:  # of another package
        return registry.method(name).__doc__ or ""
    classes = {node.name: node for node in parse(file.read_bytes()).body if isinstance(node, ClassDef)}
    return get_docstring(classes[registry.class_name(name)]) or ""


@click.command(cls=Methods, subcommand_metavar="METHOD LOG... -o OUT [OPTIONS]", context_settings=opt.CONTEXT)
def anonymize() -> None:
    """Anonymize LOGs with a METHOD; nothing is written unless the promise is verified.

    \b
    coterie anonymize suppress_rare log.tsv.gz -o safe.parquet -k 5
    coterie anonymize regime:commission_2026 log.tsv.gz -o shared.parquet

    `regime:NAME` in place of METHOD takes method, parameters and steps from a regime; see: coterie regimes
    """


def _anonymize(
    name: str, regime: str, log: tuple[str, ...], output: str, as_json: bool, quiet: bool, **options: Any
) -> None:
    from coterie import jobs
    from coterie.api import default_steps
    from coterie.core.plan import YARDSTICK
    from coterie.writing.history import Allowance
    from coterie.writing.target import STDOUT, Target, refuse_promise

    if output == STDOUT and as_json:
        raise ParameterError("--json prints to standard output, which -o - uses for the rows.")
    params = {param.name: options[param.name] for param in opt.params(name)}
    given = click.get_current_context().get_parameter_source("times")
    if params.get("attrs") == "keep" and "k_details" in params and given not in (None, ParameterSource.DEFAULT):
        raise ParameterError(
            "--attrs keep keeps times as they were logged, so --times cannot be had with it. Use --attrs common, or "
            "leave out --times."
        )
    ks = sorted(params.pop("k", [None]))  # groups of the smallest k come first, and are joined for larger ones
    to = Target(
        path=output,
        kind=options["to"],
        regime=regime,
        **{name: options[name] for name in ("sidecar", "record", "force", "csv_safe", "parts", "promise")},
    ).for_each(ks)
    methods = jobs.methods_for(name, params, ks)
    refuse_promise(name, methods[0].status == YARDSTICK, options["promise"])  # before any work
    steps = options["steps"]
    if click.get_current_context().get_parameter_source("steps") is ParameterSource.DEFAULT:
        steps = default_steps(methods, steps)
    account = jobs.Account(
        history=options["history"],
        log_name=options["log_name"],
        budget=None if options["budget"] is None else Allowance.read(options["budget"]),
    )
    how: dict[str, Any] = {
        name: options.get(name) for name in ("seed", "blocks", "engine", "parts", "groups_of", "independent")
    }
    with progress(quiet, stages=jobs.stages_of(methods), **how) as job:
        summaries = jobs.anonymize_files(
            log,
            methods,
            to,
            reading=opt.reading_of({**options, **dict.fromkeys(params)}),  # what a method has is no matter of reading
            steps=steps,
            account=account,
            job=job,
        )
    if as_json:
        print_summaries_as_json(summaries)
    else:
        print_summaries(summaries, quiet)
