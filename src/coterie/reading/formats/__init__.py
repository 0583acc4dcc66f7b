"""Formats: bytes -> Log. One file per log format.

A format is a module with

    shape                       the shape of its rows
    sample                      a small made-up file, for `coterie.testing.check_format`
    signature                   by what it is known: clues (`coterie.reading.sniff`), of which the first that a file
                                has says how sure it is; or `sniff(head: list[str])`, how sure it is that a file with
                                these first lines is of this format
    load(source, options)       Loaded: a lazy table with the columns of the shape that it has, and `bad`
    expected                    for each reason that `bad` may give, what was expected instead
    takes                       (optional) names of the options that it makes use of; others are refused
    encoding                    (optional) that of `sample`, where it is not UTF-8
    sniff_files(files)          (optional) how sure it is by the files themselves (`core.files.Opening`): folders,
                                archives. Files are then given to `load` as they are, and `first_lines(paths)` shows
                                lines in them that others may know

`bad` is null for a good line, else the name of the column that could not be read. `read` does the
rest: it asks all formats, takes the surest, counts the bad lines, reports them by number and never by content.

How sure a format is, from 0 to 1; the surest one wins, and two that are equally sure are an error that asks for
`--format`:

    1.0         there is a header, or a name of a field, that only this format has
    0.6 to 0.9  the first line fits a strict pattern, and so do none to all of the next ones (`sureness`)
    0.5         columns have names that this format could read, and many others have too: `table`
    0           no

Third parties ship a format by an entry point of the group `coterie.formats`:

    [project.entry-points."coterie.formats"]
    my_format = "my_package.my_format"

What `coterie.formats` exports helps to write one; `excite.py` is the smallest example.
"""
