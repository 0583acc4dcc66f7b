"""The console: what commands print. Nothing heavy is imported before something is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from coterie.core.threads import Progress, Stages, Told

if TYPE_CHECKING:
    import polars as pl

    from coterie.api import Job
    from coterie.core.promise import Verdict
    from coterie.jobs import Summary


_LISTS = ("--k", "--prepare", "--columns", "--details", "--measures", "--kappa")
"""Options whose value may be a list with commas."""


class Command(click.Command):
    """A command that refuses an option which is given twice where only the last one would count."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **{"context_settings": CONTEXT, **named})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look at how often each option comes before anything is made of it."""
        if not ctx.resilient_parsing and not set(args) & set(ctx.help_option_names):
            _, _, order = self.make_parser(ctx).parse_args(list(args))
            for option in order:
                several = isinstance(option, click.Option) and (option.multiple or option.is_flag or option.count)
                if isinstance(option, click.Option) and not several and order.count(option) > 1:
                    name = max(option.opts, key=len)
                    hint = " Several values go into one, with commas between them." if name in _LISTS else ""
                    raise click.UsageError(f"{name} is given more than once, and only one can count.{hint}", ctx)
        return super().parse_args(ctx, args)


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
"""How the help of every command is asked for and shown."""


def console(stderr: bool = True) -> Any:
    """Standard error or output, with colours where the terminal has them."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            raise  # the error that rich asks about, which would end the process with 1 otherwise

    return Ours(stderr=stderr, highlight=False, soft_wrap=True)


def say(text: str, quiet: bool = False, style: str | None = None) -> None:
    """A line on standard error, coloured on a terminal unless NO_COLOR is set."""
    if not quiet:
        console().print(text, style=style, markup=False)


Note = Callable[[str], None]
Number: TypeAlias = tuple[str, float | None, str]
"""Key, value and unit."""


def _unseen(_name: str, _told: Told | None = None) -> None: ...


@contextmanager
def progress(quiet: bool, *, stages: int = 0, ends_itself: bool = False, **how: Any) -> Iterator[Job]:
    """A job that shows the step it is at, and notes for people; `how` it is done otherwise, as `Job` has it.

    Ctrl-C is answered at once, unless the job `ends_itself` when it is asked to.

    Stages are a bar with their time on standard error, only on a terminal, and numbered where it is known how many
    `stages` there will be; notes are shown everywhere, unless `quiet`.
    """
    from coterie.api import Job
    from coterie.cli.errors import answered
    from coterie.core.files import stop_if_asked

    with nullcontext() if ends_itself else answered(quiet), _shown(quiet) as (step, note):
        seen = Stages(stages, step) if stages else step

        def heard(name: str, told: Told | None = None) -> None:
            stop_if_asked()
            seen(name, told)

        yield Job(progress=heard, note=note, **how)


@contextmanager
def _shown(quiet: bool) -> Iterator[tuple[Progress, Note]]:
    if quiet:
        yield _unseen, _unseen
        return
    if not sys.stderr.isatty():
        with _messages(say):
            yield _unseen, lambda text: say(text, style="yellow")
        return
    from coterie.cli.bars import Bars

    with Bars(console()) as bars, _messages(bars.print):
        yield bars.step, lambda text: bars.print(text, style="yellow")


@contextmanager
def _messages(show: Callable[[str], None]) -> Iterator[None]:
    """Show what the library has to say while a command works."""
    import logging

    handler = logging.Handler()
    handler.emit = lambda record: show(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("coterie")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


EXIT_CODES = (
    "Exit codes: 0 done; 1 the promise does not hold; 2 bad usage, bad input or a full disk; 3 not checkable with what "
    "was given; 4 nothing to release tonight (append); 70 our fault; 130 Ctrl-C; 141 SIGPIPE."
)


def print_scores(scores: pl.DataFrame, as_json: bool) -> None:
    """A table of scores, or one JSON array."""
    if as_json:
        _print_json(scores.to_dicts())
        return
    numbers = ["-" if each is None else f"{each:,.2f}".rstrip("0").rstrip(".") for each in scores["value"]]
    columns = {"measure": scores["name"].to_list(), "key": scores["key"].to_list(), "value": numbers,
               "unit": scores["unit"].to_list()}  # fmt: skip
    least = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
    labels = {"of": scores["label"].fill_null("").to_list()} if "label" in scores.columns else {}
    _print_columns({**columns, **labels}, {"value"}, least)


def print_numbers(name: str, numbers: Iterable[Number], as_json: bool) -> None:
    """Numbers that no measure gives, in a table or as one JSON array."""
    from coterie.core.scores import score_table

    rows = ((name, key, None if value is None else float(value), unit) for key, value, unit in numbers)
    print_scores(score_table(rows), as_json)


def print_table(table: pl.DataFrame) -> None:
    """A table as it is; numbers to the right, nothing where there is none. Only headings and the last column wrap."""
    columns = {
        column.name: ["-" if v is None else f"{v:,}" if isinstance(v, int) else v for v in column] for column in table
    }
    whole = {**columns, table.columns[-1]: []}
    least = {name: max(map(len, [*name.split("_"), *texts])) for name, texts in whole.items()}
    _print_columns(columns, {name for name, kind in table.schema.items() if kind.is_numeric()}, least)


def _print_columns(columns: dict[str, list[str]], to_the_right: set[str], least: dict[str, int]) -> None:
    """Columns of text; none is narrower than its `least` width, however narrow the terminal or where it is none."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in columns:
        side: Literal["left", "right"] = "right" if name in to_the_right else "left"
        table.add_column(name.replace("_", " "), justify=side, min_width=least.get(name))
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text("".join(c for c in text if c.isprintable())) for text in row))
    console(stderr=False).print(table)


def _print_json(rows: Sequence[Mapping[str, Any]]) -> None:
    import orjson

    click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())


def print_summaries(summaries: Sequence[Summary], quiet: bool) -> None:
    """What was written, what it promises and what it costs."""
    for each in summaries:
        for caution in each.cautions:  # also where nothing else is said: whoever reads the log of a job must see it
            say(f"Warning: {caution}.", style="bold yellow")
        for warning in each.warnings:
            if warning not in each.cautions:
                say(f"Cost: {warning}", quiet, style="yellow")
        if each.rows == 0:
            say(f"Nothing survives at {each.headline}: {each.target} has a header and no rows.", quiet, "yellow")
        say(f"{each.target}: {each.size}. {each.sentence}", quiet)
        best = each.largest_k
        holds = "" if best is None else f"; the largest k that holds is {best}"
        say(f"  {each.checks} checks passed{holds if each.rows else '; there are no rows to check'}.", quiet)
    first = summaries[0]  # they were prepared together
    if first.scrubbed:
        say("Scrubbed rows: " + ", ".join(f"{kind} {count:,}" for kind, count in first.scrubbed.items()), quiet)
    if not any(step.startswith("scrub") for step in first.steps):
        say("Tip: --prepare default,scrub also leaves out what looks like personal data.", quiet, "dim")


def print_summaries_as_json(summaries: Sequence[Summary]) -> None:
    """The same in numbers."""
    numbers: list[Number] = []
    for each in summaries:
        prefix = "" if len(summaries) == 1 else f"{each.headline.replace(' = ', '=')}."
        numbers += [(f"{prefix}rows", each.rows, "rows"), (f"{prefix}checks", each.checks, "passed"),
                    (f"{prefix}largest_k", each.largest_k, each.subjects)]  # fmt: skip
    print_numbers("anonymize", numbers, as_json=True)


def _numbers_of(verdict: Verdict) -> Iterator[tuple[str, float | str | None, str]]:
    """What JSON says of a verdict."""
    for check in verdict.checks:
        yield check.name, {"passed": 1.0, "failed": 0.0}.get(check.status), check.status
        if check.broken:
            yield f"{check.name}.broken", float(check.broken), "count"
    yield "largest_k", None if verdict.largest_k is None else float(verdict.largest_k), verdict.subjects
    yield "counted", verdict.person or None, "column"  # the one value that is a text


def print_verdict(verdict: Verdict, as_json: bool) -> None:
    """The promise, each check and the conclusion."""
    if as_json:
        names = ("name", "key", "value", "unit")
        _print_json([dict(zip(names, ("verify", *row), strict=True)) for row in _numbers_of(verdict)])
        return
    out = console(stderr=False)
    out.print(verdict.sentence, markup=False)
    out.print(who_is_counted(verdict), markup=False)
    marks = {"passed": ("ok  ", "green"), "failed": ("FAIL", "bold red"), "not checked": ("?   ", "yellow")}
    for check in verdict.checks:
        mark, style = marks[check.status]
        where = " [original]" if check.needs_original and check.status != "not checked" else ""
        out.print(f"  {mark} {check.name}: {check.text}{where}", style=style, markup=False)
    out.print(conclusion(verdict), style="bold", markup=False)


def who_is_counted(verdict: Verdict) -> str:
    """One line: which column of the log is taken for the person."""
    one = f"one of the {verdict.subjects}" if verdict.counted else "one person"
    if not verdict.person:
        return f"Counted as {one}: what the format of the log calls its user."
    return f"Counted as {one}: each value of {' with '.join(map(repr, verdict.person.split(',')))} in the log."


def conclusion(verdict: Verdict) -> str:
    """One line: the promise holds, is broken, or could not be checked."""
    from coterie.core.promise import promise_nothing

    best = verdict.largest_k
    largest = "" if best is None else f" The largest k that holds is {best}."
    if verdict.broken:
        worst = ", ".join(f"{check.name} ({check.broken:,})" for check in verdict.broken)
        return f"The promise is BROKEN: {worst}.{largest}"
    if promise_nothing(verdict.promises):
        return "Nothing is promised about the people in this file: there is nothing that could hold."
    if not verdict.promise_checked:
        return "The promise could not be checked with what was given. The lines with ? say what it needs."
    if verdict.foreign and verdict.unchecked:
        return f"The number holds, as far as the file itself can tell; see what was not checked.{largest}"
    return f"The promise holds.{largest}"
