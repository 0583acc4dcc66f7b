"""Every error Coterie raises on purpose.

    CoterieError
    ├── InputError          the data is not what was expected (file, line, column, what to do)
    │   ├── NoRowsError         there is no row to read
    │   ├── NotApplicableError  a measure has no meaning for this release
    │   └── NotCheckableError   a release cannot be checked without something private that was not given
    ├── ParameterError      a parameter has a value it cannot have
    ├── UnknownNameError    no method, format, measure, step or promise of that name
    ├── MissingError        something needed is absent (a file, a record, an optional package)
    ├── BrokenPromiseError  the release does not keep its promise; nothing was written
    └── InternalError       our fault: please report it

Messages name columns, line numbers, counts and types. They never contain a value from a log.
"""

from __future__ import annotations


class CoterieError(Exception):
    """Base of all errors; `exit_code` is what the command line returns for it."""

    exit_code = 2


class InputError(CoterieError):
    """The data is not what was expected."""


class NoRowsError(InputError):
    """There is no row to read: files are empty, or have at most a header."""


class NotApplicableError(InputError):
    """A measure has no meaning for this release; the message says why."""


class NotCheckableError(InputError):
    """A release cannot be checked with what was given; the message says what it takes."""

    exit_code = 3


class ParameterError(CoterieError):
    """A parameter has a value it cannot have."""


class UnknownNameError(CoterieError):
    """Nothing is registered under that name."""


class MissingError(CoterieError):
    """Something that is needed is absent."""


class BrokenPromiseError(CoterieError):
    """A release does not keep its promise."""

    exit_code = 1


class InternalError(CoterieError):
    """A mistake of Coterie itself."""

    exit_code = 70
