"""Formats: bytes -> Log. One file per log format.

A format is a module with

    shape                       the shape of its rows
    sniff(head: list[str])      whether the first lines of a file look like it
    load(source, options)       a lazy table: the columns of the shape that it has, and `bad`

`bad` is null for a good line, else the name of the column that could not be read. `read` does the rest:
it finds the format, counts the bad lines, reports them by number and never by content.
"""

from coterie.formats._read import Options, expand, read, read_release, table_log

__all__ = ["Options", "expand", "read", "read_release", "table_log"]
