"""Reading: bytes -> Log.

From files, tables and places elsewhere, in the format that somebody named or that they show.

    reading     `Reading`: how to read a log, each option declared once
    logs        a log from files, a table or a release: parsed, and lines that could not be read counted
    sniff       the format of a log, by the first bytes of its files
    source      where lines come from: files, compressed files, several files, standard input, encodings
    guess       columns of a table by their names and their content, where nobody said which is which
    people      who is counted: of several fields that may say who it was, and whether they name people
    searches    an access log as a search log
    values      values of any sensible type -> the types of a shape
    formats/    one file per source
    places/     bytes and tables that are elsewhere: object stores, web addresses, databases

Importing this package is cheap, because the command line does so to know its options.
"""
