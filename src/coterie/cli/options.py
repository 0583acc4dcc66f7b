"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from coterie.cli import console
from coterie.reading.reading import columns_as_text

if TYPE_CHECKING:
    from coterie.reading.reading import Reading

    _Numbers = click.ParamType[list[int]]
else:
    _Numbers = click.ParamType  # takes no type before click 8.4

CONTEXT = console.CONTEXT
Command = console.Command
F = TypeVar("F", bound=Callable[..., Any])
Steps: TypeAlias = Sequence[Any]
"""Prepare steps, as `--prepare` gives them to a command."""


class Place(click.types.StringParamType):
    """A file, a folder, a glob or a place elsewhere: any text, which a shell completes with names of files."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leave it to the shell."""
        return click.Path().shell_complete(ctx, param, incomplete)


PLACE = Place()
PATH = click.Path(path_type=Path)
logs = click.argument("log", nargs=-1, required=True, type=PLACE)
released = click.argument("out", type=PLACE)


def _load_config(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:  # noqa: ARG001
    """Take defaults from a TOML file with the same keys as the options."""
    if value is None:
        return
    options = {flag.lstrip("-"): option for option in ctx.command.params for flag in option.opts}
    settings: dict[str, Any] = {}
    for key, item in _read_toml(value).items():
        option = options.get(key.replace("_", "-"))
        if option is None or option.name is None:
            raise click.BadParameter(f"{key}: no such option of this command.")
        settings[option.name] = _as_given(option, item)
    ctx.default_map = {**(ctx.default_map or {}), **settings}


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise click.BadParameter(f"{path}: no such file.") from None
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise click.BadParameter(f"{path} is not text in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise click.BadParameter(f"{path} is not valid TOML: {error}.") from None


def _as_given(option: click.Parameter, item: Any) -> Any:
    """A value of TOML as it would stand on the command line: lists and tables are one text there."""
    if option.multiple:
        return item if isinstance(item, list) else [item]
    if isinstance(item, list) and option.nargs == 1:
        return ",".join(map(str, item))
    if isinstance(item, dict):
        return columns_as_text(item)
    return item


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
force = click.option("--force", is_flag=True, help="Replace existing files; never an input, a link or a device.")
seed = click.option("--seed", type=int, help="Make the run repeatable; whoever guesses it can undo pseudonyms.")
cache = click.option(
    "--cache/--no-cache", default=True, help="Reuse scores that were measured before; they hold no text of the log."
)
show_values = click.option("--show-values", is_flag=True, help="Show strings of the log. They can be personal data.")
_original = partial(
    click.option, "--original", "-O", multiple=True, type=PLACE, metavar="LOG", help="The log that was anonymized."
)
original, required_original = _original(), _original(required=True)


def reading(command: F) -> F:
    """The options that say how a log is to be read; `reading/reading.py` has them."""
    from coterie.reading.reading import options

    for name, each in reversed(options().items()):
        flag, kind = f"--{name.replace('_', '-')}", int if each.read is int else None
        command = click.option(flag, name, type=kind, is_flag=not each.metavar, metavar=each.metavar or None,
                               default=None if each.metavar else False, help=each.help)(command)  # fmt: skip
    return command


def _steps(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:  # noqa: ARG001 (click's signature)
    """The steps that a text means, where a command is run."""
    if value is None or ctx.resilient_parsing:  # a shell completes something
        return value
    from coterie.steps import parse_steps

    return parse_steps(value)


def _in_a_list(ctx: click.Context, param: click.Parameter, value: Any) -> list[Any]:  # noqa: ARG001 (click's signature)
    return [] if value is None else [value]


_prepare = partial(click.option, "--prepare", "steps", callback=_steps, metavar="STEPS")
prepare = _prepare(
    default="default",
    help="Steps before the method, or 'none'. 'default' is normalize,drop_empty; for access logs strip_query before "
    "them. Others: events, sessions(minutes=30), scrub (a default where whole queries of single users are released), "
    "names; for access logs drop_bots, drop_assets, visitors.",
)
prepare_original = _prepare(help="Steps for the original; else those of the sidecar.")
output = click.option(
    "-o",
    "--output",
    required=True,
    type=PLACE,
    metavar="OUT",
    help="File to write: .tsv .csv .parquet .jsonl, also .gz .zst; '-' for standard output; {k} for several k; also "
    "s3://, gs://, az:// or a table (sqlite:FILE#TABLE, duckdb:, postgresql://).",
)
promise = click.option(
    "--promise",
    type=click.Choice(["none"]),
    help="Say that you know that nothing is promised: needed for a method without a promise, and for no other.",
)
_record = partial(click.option, "--record", type=PATH, metavar="DIR")
record = _record(help="The private run record: who became whom.")
record_to_keep = _record(
    help="Keep the private run record here: who became whom. Without it, `report` and `measure` cannot try some "
    "attacks later, and `verify` cannot count the people behind names. It cannot be made afterwards."
)
records = _record(
    multiple=True,
    help="Private run record of an OUT, as `anonymize --record` kept it; of some OUTs or all, in any order. Some risks "
    "of an OUT are not measured without it.",
)
_sidecar = partial(click.option, "--sidecar", type=PLACE, metavar="FILE")
sidecar_of_table = _sidecar("sidecars", callback=_in_a_list, help="Sidecar of OUT, where OUT is a table of a database.")
sidecars = _sidecar("sidecars", multiple=True, help="Sidecars of those OUT that are tables of databases.")
engine = click.option(
    "--engine",
    metavar="ADDRESS",
    help="Work on a Spark cluster: spark://HOST:PORT, sc://HOST:PORT, yarn, or spark under spark-submit.",
)
streams = (
    click.option("--to", metavar="KIND", help="What to write, where OUT does not say: tsv, csv, parquet, jsonl, ubi."),
    _sidecar(help="Where to put the sidecar, with -o - or a table."),
    click.option("--csv-safe", is_flag=True, help="In csv and tsv, put ' before text that spreadsheets compute."),
    click.option(
        "--parts", type=click.IntRange(1, 100_000), metavar="N", help="Write a folder of N files of even size."
    ),
    click.option("--blocks", type=click.IntRange(1), help="Work in this many blocks on disk; by default size decides."),
    engine,
)
history = (
    click.option(
        "--history",
        type=PLACE,
        metavar="FILE",
        help="Private list of the log's releases; else LOG.history.json beside the log. 'none' for none.",
    ),
    click.option("--log-name", metavar="NAME", help="Name of the log in that list; else the name of its file."),
)
budget = click.option(
    "--budget", metavar="EPS,DELTA", help="Most that may be spent of the people in LOG, over all releases in that list."
)
groups = (
    click.option(
        "--groups-of",
        type=PATH,
        metavar="DIR",
        help="Run record of an earlier release of LOG: the same groups of users, or unions of them for a larger k.",
    ),
    click.option(
        "--independent",
        is_flag=True,
        help="New groups for each of several k, to compare k; else unions of the smallest.",
    ),
)


def measuring(command: F) -> F:
    """The options that give measures what they need besides the log and the release; `measures/inputs.py` has them."""
    from coterie.measures.inputs import INPUTS

    for each in reversed([*INPUTS.values()]):
        command = click.option(
            each.option,
            each.name,
            type=Whole(least=2) if each.kind == "numbers" else PLACE,
            multiple=each.kind == "log",
            metavar=each.metavar,
            help=each.help,
        )(command)
    return command


def given_to_measures(options: dict[str, Any]) -> dict[str, Any]:
    """What these options give and `--show-values`, as jobs take it."""
    from coterie.measures.inputs import INPUTS

    return {name: options[name] for name in (*INPUTS, "show_values") if options[name]}


def reading_of(given: dict[str, Any]) -> Reading:
    """The options that say how a log is to be read, as jobs take them."""
    from coterie.reading.reading import Reading, options

    return Reading().with_options({name: given[name] for name in options()})


def all_of(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options in one, in their order."""

    def added(command: F) -> F:
        for add in reversed(decorators):
            command = add(command)
        return command

    return added


def parted(given: dict[str, Any]) -> tuple[Reading, dict[str, Any]]:
    """The options that say how a log is to be read, as jobs take them, and all others."""
    from coterie.reading.reading import options

    return reading_of(given), {name: value for name, value in given.items() if name not in options()}


def collected(*decorators: Callable[[Any], Any]) -> list[click.Parameter]:
    """The parameters that decorators would give a command, in their order."""

    def command() -> None: ...

    all_of(*decorators)(command)
    given: list[click.Parameter] = getattr(command, "__click_params__", [])
    return given[::-1]


def params(method: str) -> list[Any]:
    """The parameters of a method."""
    from coterie.core import registry
    from coterie.core.params import params_of

    return list(params_of(registry.method(method)))


class Whole(_Numbers):
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
    yield from param_options(params(name))


def param_options(params: Iterable[Any]) -> Iterator[click.Option]:
    """Parameters as options."""
    from coterie.core.params import Choice, File, Flag, NumberOr, ShareOr

    for param in params:
        kind: Any = param.kind
        if isinstance(param.rule, Choice):
            kind = click.Choice(param.rule.options)
        elif param.name == "k":
            kind = Whole()
        elif isinstance(param.rule, File):
            kind = PLACE
        elif isinstance(param.rule, NumberOr | ShareOr):
            kind = click.types.FuncParamType(param.rule.read)
        flag = f"--{param.name.replace('_', '-')}"
        is_flag = isinstance(param.rule, Flag)
        if is_flag and param.default:
            flag = f"{flag}/--no-{param.name.replace('_', '-')}"
        metavar = "|".join((*param.rule.names, "FILE")) if isinstance(param.rule, File) else None
        if isinstance(param.rule, NumberOr | ShareOr):
            metavar = f"{param.rule.word}|NUMBER"
        flags = [flag, "-k"] if param.name == "k" else [flag]
        yield click.Option(flags, type=kind, is_flag=is_flag, default=param.default, metavar=metavar, help=param.doc)
