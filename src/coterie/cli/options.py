"""Options that several commands share, and reading a log as they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from coterie.cli.console import say
from coterie.errors import ParameterError

if TYPE_CHECKING:
    from coterie.core.log import Log

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
F = TypeVar("F", bound=Callable[..., Any])


def _load_config(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:  # noqa: ARG001
    """Take defaults from a TOML file with the same keys as the options."""
    if value is None:
        return
    import tomllib

    try:
        data = tomllib.loads(value.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise click.BadParameter(f"{value}: no such file.") from None
    except OSError as error:
        raise click.BadParameter(f"{value}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise click.BadParameter(f"{value} is not text in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise click.BadParameter(f"{value} is not valid TOML: {error}.") from None
    options = {flag.lstrip("-"): option for option in ctx.command.params for flag in option.opts}
    settings: dict[str, Any] = {}
    for key, item in data.items():
        option = options.get(key.replace("_", "-"))
        if option is None or option.name is None:
            raise click.BadParameter(f"{key}: no such option of this command.")
        if option.multiple and not isinstance(item, list):
            item = [item]
        elif isinstance(item, list) and not option.multiple and option.nargs == 1:
            item = ",".join(map(str, item))
        elif isinstance(item, dict):
            item = ",".join(f"{name}={column}" for name, column in item.items())
        settings[option.name] = item
    ctx.default_map = {**(ctx.default_map or {}), **settings}


config = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_load_config,
    is_eager=True,
    expose_value=False,
    help="TOML file with the same keys as the options.",
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON array of name, key, value, unit.")
force = click.option("--force", is_flag=True, help="Replace existing files.")
seed = click.option("--seed", type=int, help="Make the run repeatable; whoever guesses it can undo pseudonyms.")
show_values = click.option("--show-values", is_flag=True, help="Show strings of the log. They can be personal data.")
original = click.option("--original", "-O", multiple=True, metavar="LOG", help="The log that was anonymized.")


def reading(command: F) -> F:
    """The options that say how a log is to be read."""
    options = (
        click.option("--format", "format", metavar="NAME", help="Log format; else it is sniffed."),
        click.option("--columns", metavar="user=A,query=B", help="Which column of a table holds what."),
        click.option("--user-field", metavar="NAME", help="Field that identifies a user (ubi)."),
        click.option("--date", metavar="YYYY-MM-DD", help="Day of times that have none (sogou)."),
        click.option("--allow-bad", is_flag=True, help="Leave out bad lines even if they are many."),
    )
    for option in reversed(options):
        command = option(command)
    return command


prepare = click.option(
    "--prepare",
    default="normalize,drop_empty",
    metavar="STEPS",
    help="Steps before the method: normalize, drop_empty, events, sessions, scrub; or 'none'.",
)
output = click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="File to write: .tsv .csv .parquet .jsonl, also .gz .zst; '-' for standard output; {k} for several k.",
)
record = click.option(
    "--record", type=click.Path(path_type=Path), metavar="DIR", help="The private run record: who became whom."
)
streams = (
    click.option("--to", metavar="KIND", help="What to write to standard output: tsv, csv, parquet, jsonl."),
    click.option("--sidecar", metavar="FILE", help="Where to put the sidecar, with -o -."),
    click.option("--blocks", type=click.IntRange(1), help="Work in so many blocks on disk; else chosen by size."),
)
required_original = click.option(
    "--original", "-O", multiple=True, required=True, metavar="LOG", help="The log that was anonymized."
)
READING = ("format", "columns", "user_field", "date", "allow_bad")


def measuring(command: F) -> F:
    """The options that give measures what they need besides the log and the release; `measures/inputs.py` has them."""
    from coterie.measures.inputs import INPUTS

    for each in reversed([*INPUTS.values()]):
        numbers = each.kind == "numbers"
        command = click.option(
            each.option,
            each.name,
            type=Whole(least=2) if numbers else None,
            multiple=each.kind == "log",
            metavar=each.metavar,
            help=each.help,
        )(command)
    return command


def measured_with(options: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """What these options give, as the functions take it."""
    from coterie.measures.inputs import INPUTS

    given = {name: options[name] for name in INPUTS if options[name]}
    logs = [name for name in given if INPUTS[name].kind == "log"]
    return {**given, **{name: read(given[name], options, quiet) for name in logs}}


def read(paths: Sequence[str], options: dict[str, Any], quiet: bool) -> Log:
    """Read a log and say what could not be read."""
    from coterie import verbs

    log = verbs.read(list(paths), **settings(options))
    for step in log.history:
        for note in step.notes:
            say(note, quiet, style="yellow")
    return log


def settings(options: dict[str, Any]) -> dict[str, Any]:
    """The options that say how a log is to be read, as the functions take them."""
    return {**{name: options[name] for name in READING}, "columns": _parse_columns(options["columns"])}


def _parse_columns(text: str | None) -> dict[str, str]:
    pairs = [part.partition("=") for part in (text or "").split(",") if part]
    if any(not (name and mark and column) for name, mark, column in pairs):
        raise ParameterError("--columns is written user=NAME,query=NAME, our name first.")
    return {name.strip(): column.strip() for name, _, column in pairs}


def collected(*decorators: Callable[[Any], Any]) -> list[click.Parameter]:
    """The parameters that decorators would give a command, in their order."""

    def command() -> None: ...

    for add in reversed(decorators):
        add(command)
    found: list[click.Parameter] = getattr(command, "__click_params__", [])
    return found[::-1]


def params(method: str) -> list[Any]:
    """The parameters of a method."""
    from coterie.core import registry
    from coterie.core.params import params_of

    return list(params_of(registry.method(method)))


class Whole(click.ParamType[list[int]]):
    """Whole numbers separated by commas."""

    name = "integer[,integer...]"

    def __init__(self, least: int | None = None) -> None:
        """`least`: the smallest number allowed; None where others check it."""
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Parse `5` or `2,5,10`."""
        if isinstance(value, list):
            return value
        try:
            numbers = [int(part) for part in str(value).split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a whole number or a list of them such as 2,5,10.", param, ctx)
        if self.least is not None and min(numbers) < self.least:
            self.fail(f"{min(numbers)} is less than {self.least}.", param, ctx)
        return numbers


def method_options(name: str) -> Iterator[click.Option]:
    """The parameters of a method as options."""
    from coterie.core.params import Choice, File, Flag

    for param in params(name):
        kind: Any = param.kind
        if isinstance(param.rule, Choice):
            kind = click.Choice(param.rule.options)
        elif param.name == "k":
            kind = Whole()
        flag = f"--{param.name.replace('_', '-')}"
        is_flag = isinstance(param.rule, Flag)
        metavar = "|".join((*param.rule.names, "FILE")) if isinstance(param.rule, File) else None
        yield click.Option([flag], type=kind, is_flag=is_flag, default=param.default, metavar=metavar, help=param.doc)
