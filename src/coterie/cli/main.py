"""The command line: all commands by name. The file of a command is loaded when it is asked for, and no other.

Nothing heavy is imported at the top of a command's file either, so that help answers at once. Data goes to standard
output, everything else to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from coterie import __version__
from coterie.cli.console import CONTEXT, EXIT_CODES
from coterie.cli.errors import Signals, exit_code, reader_may_leave
from coterie.core import registry

COMMANDS = {
    "anonymize": ("anonymize", "Anonymize logs; nothing is written unless its promise is kept."),
    "completion": ("doctor", "Print the completion script of a shell."),
    "demo": ("demo", "Synthetic log -> several releases -> verify -> report."),
    "doctor": ("doctor", "Versions, threads and memory: paste into bug reports."),
    "explain": ("explain", "Explain what a method makes of a log, or of single queries."),
    "formats": ("lists", "List the log formats, or explain one."),
    "inspect": ("explain", "What is in a log, and how exposed it is before any protection."),
    "ledger": ("ledger", "What private releases have spent of the people in a log."),
    "measure": ("report", "Privacy and utility of a released file against the original."),
    "measures": ("lists", "List the measures, or explain one."),
    "methods": ("lists", "List the methods, or explain one."),
    "promises": ("lists", "List the promises, or explain one."),
    "regimes": ("lists", "List the rules by which search data are shared, or show one."),
    "report": ("report", "One page about released files: promises, checks, figures."),
    "study": ("study", "Run a grid of methods and parameters; resumes where it stopped."),
    "synth": ("demo", "Write a synthetic log with the statistics of a real one."),
    "taxonomy": ("lists", "The trees of concepts that methods and measures of meaning use."),
    "verify": ("verify", "Check a released file again."),
}
"""The commands of the core: the file each is in, and what it does in one line. Others come by entry point."""


class Commands(click.Group):
    """Knows all commands by name and loads one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """All names."""
        return sorted({*COMMANDS, *registry.added("commands")})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        command: click.Command
        if cmd_name in COMMANDS:
            command = getattr(import_module(f"coterie.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        elif point := registry.added("commands").get(cmd_name):
            command = point.load()
        else:
            return None if ctx.resilient_parsing else _no_such_command(ctx, cmd_name, self.list_commands(ctx))
        return command

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        """Take the arguments; help is printed here."""
        with reader_may_leave():
            return super().make_context(*given, **named)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        with reader_may_leave():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All names, each with its line."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._line(ctx, name)) for name in self.list_commands(ctx)])

    def _line(self, ctx: click.Context, name: str) -> str:
        """What a command does in one line; those of the core are not loaded for it."""
        command = None if name in COMMANDS else self.get_command(ctx, name)
        return COMMANDS[name][1] if command is None else command.get_short_help_str(80)


def _no_such_command(ctx: click.Context, name: str, known: Sequence[str]) -> NoReturn:
    from coterie.errors import did_you_mean

    ctx.fail(f"No such command {name!r}.{did_you_mean(name, known)}")


@click.group(cls=Commands, context_settings=CONTEXT, epilog=EXIT_CODES)
@click.version_option(__version__, prog_name="coterie")
def cli() -> None:
    """Make search logs safe to keep, share and publish.

    Start with: coterie demo
    """


def run(signals: Signals | None = None) -> int:
    """Run what the arguments of the process ask for, and turn every error into a sentence and an exit code."""
    return exit_code(lambda: cli.main(prog_name="coterie", standalone_mode=False), signals or Signals())


def main() -> None:
    """The program `coterie`."""
    signals = Signals()
    signals.listen()
    try:
        sys.exit(run(signals))
    finally:
        signals.ignore()  # what is left to do is to remove rows from the disk
