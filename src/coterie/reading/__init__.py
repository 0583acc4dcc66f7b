"""Reading: bytes -> Log.

From files, tables and places elsewhere, in the format that somebody named or that they show.

    reading     what a user may say about an input beside its format
    logs        a log from files, a table or a release: parsed, and lines that could not be read counted
    sniff       the format of a log, by the first bytes of its files
    source      where lines come from: files, compressed files, several files, standard input, encodings
    guess       columns of a table by their names and their content, where nobody said which is which
    people      who is counted: of several fields that may say who it was, and whether they name people
    searches    an access log as a search log
    values      values of any sensible type -> the types of a shape
    formats/    one file per source
    places/     bytes and tables that are elsewhere: object stores, web addresses, databases
"""

from coterie.core.files import expand
from coterie.reading.logs import read, read_release, released_kind, table_log
from coterie.reading.reading import Options, details_of, takes_of
from coterie.reading.searches import search_log, search_params
from coterie.reading.sniff import format_of
from coterie.reading.source import Source

__all__ = [
    "Options",
    "Source",
    "details_of",
    "expand",
    "format_of",
    "read",
    "read_release",
    "released_kind",
    "search_log",
    "search_params",
    "table_log",
    "takes_of",
]
