"""Reading: bytes -> Log. From files, tables and places elsewhere, in the format that somebody named or that they show.

reading     what a user may say about an input beside its format
logs        a log from files, a table or a release: parse, count the lines that could not be read, say where they are
source      where lines come from: files, compressed files, several files, standard input, encodings
guess       columns of a table by their names and their content, where nobody said which is which
people      who it was, of several fields that may say it
searches    an access log as a search log
values      values of any sensible type -> the types of a shape
formats/    one file per source
places/     bytes and tables that are elsewhere: object stores, web addresses, databases
"""

from coterie.core.files import expand
from coterie.reading.logs import format_of, read, read_release, released_kind, table_log
from coterie.reading.reading import Options, details_of, takes_of
from coterie.reading.searches import search_log, search_params
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
