"""Formats: bytes -> Log. One file per log format.

A format is a module with

    shape                       the shape of its rows
    sniff(head: list[str])      whether the first lines of a file look like it
    load(source, options)       a lazy table: the columns of the shape that it has, and `bad`
    expected                    for each reason that `bad` may give, what was expected instead

`bad` is null for a good line, else the name of the column that could not be read. `read` does the
rest: it finds the format, counts the bad lines, reports them by number and never by content.
"""

from coterie.formats._options import Options
from coterie.formats._read import read, read_release, table_log
from coterie.formats._source import expand

__all__ = ["Options", "expand", "read", "read_release", "table_log"]
