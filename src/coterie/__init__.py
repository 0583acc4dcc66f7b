"""Coterie makes search logs safe to keep, share and publish.

import coterie

log = coterie.read("log.tsv.gz")
release = coterie.anonymize(log, "suppress_rare", k=5)
coterie.write(release, "safe.parquet")
"""

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Log",
    "Release",
    "anonymize",
    "inspect",
    "load_release",
    "log",
    "measure",
    "prepare",
    "read",
    "report",
    "verify",
    "write",
]

if TYPE_CHECKING:
    from coterie.api import anonymize, inspect, load_release, log, measure, prepare, read, report, verify, write
    from coterie.core.log import Log, Release


def __dir__() -> list[str]:
    """What people are meant to use; nothing else is shown where names are completed."""
    return sorted([*__all__, "__version__"])


def __getattr__(name: str) -> Any:
    """Public names, loaded on first use so that `coterie --help` does not wait for polars."""
    if name not in __all__:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    public = getattr(import_module("coterie.api"), name)
    return public if isinstance(public, type) else _door(public)


@cache
def _door(function: Callable[..., Any]) -> Callable[..., Any]:
    """A public function whose errors name arguments; those that the command line calls name options."""
    from coterie.errors import CoterieError, in_python

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except CoterieError as error:
            error.args = (in_python(str(error)), *error.args[1:])
            raise

    return called
