"""The command line: one file per command. Parse, call one function of the library, print."""

from coterie.cli.main import cli, main

__all__ = ["cli", "main"]
