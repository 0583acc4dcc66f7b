"""The command line: parse, call one public function, print.

Nothing heavy is imported at the top, so that `coterie --help` answers at once. Data goes to standard output,
everything else to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coterie import __version__
from coterie.cli import options as opt
from coterie.cli.console import (
    conclusion,
    print_scores,
    print_summaries,
    print_summaries_as_json,
    print_verdict,
    progress,
    say,
)
from coterie.cli.explain import Explain
from coterie.cli.taxonomy import taxonomy_group
from coterie.errors import CoterieError, InputError, InternalError, ParameterError

if TYPE_CHECKING:
    pass

_DEPENDENCIES = (
    "polars pyarrow numpy numba click rich orjson jinja2 altair vl-convert-python python-stdnum phonenumbers"
    " PyStemmer pandas"
)


# --- commands --------------------------------------------------------------------------------------


@click.group(context_settings=opt.CONTEXT)
@click.version_option(__version__, prog_name="coterie")
def cli() -> None:
    """Make search logs safe to keep, share and publish.

    Start with: coterie demo
    """


@cli.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("demo"), help="Folder to write.")
@click.option("--users", type=click.IntRange(20), default=1000, help="Users of the synthetic log.")
@opt.quiet
def demo(output: Path, users: int, quiet: bool) -> None:
    """Synthetic log -> releases for several k -> verify -> report."""
    from coterie.demo import run_demo

    with progress(quiet) as step:
        lines = run_demo(output, users, step)
    if not quiet:
        click.echo("\n".join(lines))


@cli.command()
@click.argument("log", nargs=-1, required=True)
@opt.reading
@opt.prepare
@opt.as_json
@opt.quiet
@opt.config
def inspect(log: tuple[str, ...], prepare: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """What is in a LOG, and how exposed it is before any protection."""
    from coterie import verbs
    from coterie.steps import parse_steps

    steps = parse_steps(prepare)
    with progress(quiet) as step:
        step("read")
        read = opt.read(log, options, quiet)
        step("inspect")
        scores = verbs.inspect(verbs.prepare(read, steps))
    print_scores(scores, as_json)


def _list(kind: str, name: str | None) -> None:
    """The names of a kind with one line each, or the whole page of one."""
    from inspect import cleandoc

    from coterie.core import registry

    if name is not None:
        module = registry.module(kind, name)
        click.echo(f"{name}\n\n{cleandoc(module.__doc__ or '')}")
        if kind == "methods":
            click.echo("\nParameters:")
            for param in opt.params(name):
                click.echo(f"  {param.name} = {param.default!r}: {param.doc}; {param.rule.describe(param.kind)}")
        return
    names = registry.names(kind)
    width = max(map(len, names))
    for each in names:
        first = (registry.module(kind, each).__doc__ or "").strip().splitlines()[0]
        click.echo(f"{each:{width}}  {first}")


@cli.command()
@click.argument("name", required=False)
def methods(name: str | None) -> None:
    """List the methods, or explain one."""
    _list("methods", name)


@cli.command()
@click.argument("name", required=False)
def formats(name: str | None) -> None:
    """List the log formats, or explain one."""
    _list("formats", name)


@cli.command()
@click.argument("name", required=False)
def measures(name: str | None) -> None:
    """List the measures, or explain one."""
    _list("measures", name)


class _Methods(click.Group):
    """`coterie anonymize METHOD`: one command per method, with its parameters as options."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All methods."""
        from coterie.core import registry

        return registry.names("methods")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of one method."""
        from coterie.core import registry

        method = registry.method(cmd_name)
        shared = opt.collected(
            opt.output, opt.reading, opt.prepare, opt.seed, opt.record, *opt.streams,
            opt.force, opt.as_json, opt.quiet, opt.config,
        )  # fmt: skip
        return click.Command(
            cmd_name,
            callback=lambda **given: _anonymize(cmd_name, **given),
            help=f"{method.__doc__}\n\nMore: coterie methods {cmd_name}",
            params=[click.Argument(["log"], nargs=-1, required=True), *opt.method_options(cmd_name), *shared],
            context_settings=opt.CONTEXT,
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All methods with what they do."""
        from coterie.core import registry

        with formatter.section("Commands"):
            formatter.write_dl([(name, registry.method(name).__doc__) for name in self.list_commands(ctx)])


@cli.command(cls=_Methods, name="anonymize", subcommand_metavar="METHOD LOG... -o OUT [OPTIONS]")
def anonymize_group() -> None:
    """Anonymize LOGs with a METHOD; nothing is written unless the promise is verified.

    \b
    coterie anonymize suppress_rare log.tsv.gz -o safe.parquet --k 5
    """


def _anonymize(name: str, log: tuple[str, ...], output: str, **options: Any) -> None:
    from coterie import jobs, verbs
    from coterie.core import registry
    from coterie.formats import expand
    from coterie.steps import parse_steps

    quiet, as_json, record = options["quiet"], options["as_json"], options["record"]
    if output == jobs.STDOUT and as_json:
        raise ParameterError("--json prints to standard output, which -o - uses for the rows.")
    params = {param.name: options[param.name] for param in opt.params(name)}
    ks = params.pop("k", [None])
    targets = jobs.targets(
        ks, output, kind=options["to"], sidecar=options["sidecar"], record=None if record is None else str(record)
    )
    for target in targets:
        target.refuse(expand(log), options["force"])
    methods = [registry.method(name)(**params, **({} if k is None else {"k": k})) for k in ks]
    steps = parse_steps(options["prepare"])
    with progress(quiet) as step:
        step("read")
        prepared = verbs.prepare(opt.read(log, options, quiet), steps)
        summaries = jobs.write_each(
            prepared,
            methods,
            targets,
            seed=options["seed"],
            blocks=options["blocks"],
            force=options["force"],
            progress=step,
        )
    if as_json:
        print_summaries_as_json(summaries)
    else:
        print_summaries(summaries, prepared, quiet)


@cli.command()
@click.argument("out")
@opt.original
@click.option("--promise", metavar="NAME", help="What to check, for a file without a sidecar.")
@click.option("--k", type=int, help="Check this k instead of the promised one.")
@opt.reading
@click.option("--original-format", metavar="NAME", help="Format of the original, where OUT has another one.")
@click.option("--original-columns", metavar="user=A,query=B", help="Columns of the original, where OUT has others.")
@click.option("--prepare", metavar="STEPS", help="Steps for the original; else those of the sidecar.")
@opt.record
@opt.as_json
@opt.quiet
@opt.config
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    out: str,
    original: tuple[str, ...],
    promise: str | None,
    k: int | None,
    prepare: str | None,
    record: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Check a released file OUT again; exit 0 holds, 1 broken, 3 not checkable.

    Works for files that Coterie did not make too: name --promise and --k.
    """
    from coterie import verbs
    from coterie.steps import parse_steps
    from coterie.writing.files import sidecar_path

    steps = None if prepare is None else parse_steps(prepare)
    with progress(quiet) as step:
        step("read")
        foreign = not sidecar_path(Path(out)).exists()  # not made by Coterie: read it like any log
        of_original = {**options, "format": options.pop("original_format"), "columns": options.pop("original_columns")}
        if not foreign:  # then only the original has to be described
            of_original = {**of_original, **{k: of_original[k] or options[k] for k in ("format", "columns")}}
        log = opt.read(original, of_original, quiet) if original else None
        rows: Any = out
        if foreign:
            rows = opt.read([out], options, quiet)
        step("verify")
        verdict = verbs.verify(rows, log, promise=promise, k=k, steps=steps, record=record)
    if not quiet or as_json:
        print_verdict(verdict, as_json)
    elif verdict.exit_code:
        say(conclusion(verdict), style="red")
    ctx.exit(verdict.exit_code)


@cli.command()
@click.argument("out")
@click.argument("names", nargs=-1)
@opt.required_original
@opt.record
@opt.measuring
@opt.seed
@opt.show_values
@opt.reading
@opt.as_json
@opt.quiet
@opt.config
def measure(
    out: str,
    names: tuple[str, ...],
    original: tuple[str, ...],
    record: Path | None,
    seed: int | None,
    show_values: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Privacy and utility of a released file OUT against the original log."""
    from coterie import verbs
    from coterie.core import registry
    from coterie.measures import needing

    for name in names:
        registry.module("measures", name)
    with progress(quiet) as step:
        step("read")
        release = verbs.load_release(out, record)
        log = opt.read(original, options, quiet)
        step("measure")
        no_meaning: list[str] = []
        scores = verbs.measure(
            log,
            release,
            list(names) or None,
            seed=seed,
            show_values=show_values,
            left_out=no_meaning.append,
            **opt.measured_with(options, quiet),
        )
    if not names and record is None:
        say(f"Left out, because they need --record DIR: {', '.join(needing('record'))}.", quiet, style="yellow")
    for reason in no_meaning:
        say(f"Left out: {reason}", quiet, style="yellow")
    print_scores(scores, as_json)


@cli.command(cls=Explain, name="explain", subcommand_metavar="METHOD LOG... [OPTIONS]")
def explain_group() -> None:
    """Explain what a METHOD makes of LOGs as a whole, or of single queries.

    \b
    coterie explain affinity log.tsv.gz
    coterie explain affinity log.tsv.gz --query-file queries.txt
    """


@cli.command()
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
    read = {"source": list(source), **opt.settings(options)} if source else None
    plan = load_study(file, folder=output, read=read)
    done = 0

    def told(label: str, known: bool) -> None:
        nonlocal done
        done += 1
        say(f"[{done}/{plan.n_cells}] {label}{' (known)' if known else ''}", quiet)

    scores = run_study(plan, told)
    if as_json:
        print_scores(scores, as_json=True)
    say(f"Scores: {plan.folder / 'scores.csv'}", quiet)
    if plan.report is not None:
        say(f"Report: {plan.report}", quiet)


@cli.command()
@click.argument("out", nargs=-1, required=True)
@opt.required_original
@click.option(
    "--record",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Private run records, one for each OUT, in the same order.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Page to write: .html, .md or .json."
)
@opt.measuring
@opt.show_values
@opt.seed
@opt.reading
@opt.force
@opt.quiet
@opt.config
def report(
    out: tuple[str, ...],
    original: tuple[str, ...],
    record: tuple[Path, ...],
    output: Path,
    show_values: bool,
    seed: int | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """One page about released files OUT: promises, checks, figures and limits."""
    from coterie import jobs

    jobs.refuse_report(out, record, output, force)
    with progress(quiet) as step:
        step("read")
        log = opt.read(original, options, quiet)
        step("report")
        given = opt.measured_with(options, quiet)
        broken = jobs.report_files(log, out, record, output, show_values=show_values, seed=seed, force=force, **given)
    say(f"Report: {output}", quiet)
    for path in broken:
        say(f"{path}: the promise is BROKEN, or this is not the log it was made from.", style="red")


@cli.command()
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write, also .gz, .zst.")
@click.option("--users", type=click.IntRange(1), required=True, help="Number of users.")
@click.option("--seed", type=int, default=7, help="Same seed, same log.")
@opt.force
@opt.quiet
def synth(output: Path, users: int, seed: int, force: bool, quiet: bool) -> None:
    """Write a synthetic log (AOL layout) with the statistics of a real one."""
    from coterie.synth import LINES_MEAN, write_aol
    from coterie.writing.files import refuse_existing, temporary

    if output.suffixes[-1:] not in ([".tsv"], [".txt"], [".gz"], [".zst"]):
        raise ParameterError("A synthetic log is text in AOL's layout: name it .tsv, .tsv.gz or .tsv.zst.")
    refuse_existing(output, force)
    expected = users * LINES_MEAN
    with temporary(output.parent, output.name) as part, progress(quiet) as step:
        rows = write_aol(part, users, seed, lambda count: step("synth", min(1.0, count / expected)))
        part.replace(output)
    say(f"{output}: {rows:,} rows of {users:,} made-up users.", quiet)


@cli.command()
def doctor() -> None:
    """Versions, threads and memory: paste into bug reports."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    click.echo(f"coterie {__version__}")
    click.echo(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in _DEPENDENCIES.split():
        try:
            click.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            click.echo(f"{name} not installed")
    import tempfile

    import polars as pl

    click.echo(f"threads {pl.thread_pool_size()}")
    if hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        click.echo(f"memory {memory / 2**30:.1f} GiB")
    import shutil

    click.echo(f"free space for temporary files {shutil.disk_usage(tempfile.gettempdir()).free / 2**30:.1f} GiB")
    from coterie import taxonomies

    click.echo(f"knowledge bases: wordnet ({len(taxonomies.load('wordnet')):,} nouns of WordNet 3.0)")


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL: eval "$(coterie completion bash)"."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 (the choices above are those click knows)
    click.echo(found(cli, {}, "coterie", "_COTERIE_COMPLETE").source())


cli.add_command(taxonomy_group)


# --- errors ----------------------------------------------------------------------------------------


_STOPS = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU")  # what ends a process unless it says otherwise


class _StoppedError(BaseException):
    """The process was told to end; what it holds on disk is cleaned up on the way out."""

    number = 0
    """The signal that came, if any."""


def _stop(number: int, frame: object) -> None:  # noqa: ARG001
    signal.signal(number, signal.SIG_IGN)  # once is enough
    _StoppedError.number = number
    raise _StoppedError


def main() -> None:
    """Run the command line and turn every error into a sentence and an exit code."""
    known = [getattr(signal, name) for name in _STOPS if hasattr(signal, name)]
    stops = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]  # nohup wants it so
    for number in stops:
        signal.signal(number, _stop)
    try:
        sys.exit(_run())
    finally:
        for number in (*stops, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # what is left to do is to remove rows from the disk


def _invoke() -> object:
    """What the command returns; a stop stays one where a library wraps it in an error of its own."""
    try:
        return cli.main(prog_name="coterie", standalone_mode=False)
    except BaseException:
        if _StoppedError.number:
            raise _StoppedError from None
        raise


def _run() -> int:
    try:
        result = _invoke()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.exceptions.Abort:
        return _fail("Interrupted. Nothing was written.", 130)
    except click.ClickException as error:
        error.show()
        return 2
    except KeyboardInterrupt:
        return _fail("Interrupted. Nothing was written.", 130)
    except _StoppedError:
        return _fail("Stopped. Nothing was written.", 128 + _StoppedError.number)
    except CoterieError as error:
        return _fail(f"Error: {error}", error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        return _unexpected(error)
    return result if isinstance(result, int) else 0


def _unexpected(error: BaseException) -> int:
    """Errors that are not ours: the system's are told apart, and no message is passed on as it is."""
    if os.environ.get("COTERIE_DEBUG"):
        raise error
    from coterie.core.scratch import disk_is_full

    if isinstance(error, MemoryError):
        return _fail("Error: out of memory. Use --blocks 8 or more to work on disk.", 2)
    if disk_is_full(error):
        return _fail("Error: the disk is full. Nothing was written; make room and try again.", 2)
    if isinstance(error, OSError) and not error.strerror:
        return _fail(f"Error: a file could not be read or written ({type(error).__name__}).", InputError.exit_code)
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return _fail(f"Error: {named}{error.strerror}.", InputError.exit_code)
    kind = type(error).__name__
    return _fail(
        f"Internal error ({kind}). Nothing was written. Please report it with the output of 'coterie doctor'; "
        f"COTERIE_DEBUG=1 shows where it happened, and may show values of the log.",
        InternalError.exit_code,
    )


def _fail(message: str, code: int) -> int:
    say(message, style="red")
    return code
