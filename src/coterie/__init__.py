"""Coterie makes search logs safe to keep, share and publish.

import coterie
from coterie.methods.suppress_rare import SuppressRare

log = coterie.read("log.tsv.gz")
log = coterie.prepare(log, ["normalize", "drop_empty"])
release = coterie.anonymize(log, SuppressRare(k=5))
coterie.write(release, "safe.parquet")
"""

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
    from coterie.core.log import Log, Release
    from coterie.measuring import report
    from coterie.verbs import (
        anonymize,
        inspect,
        load_release,
        log,
        measure,
        prepare,
        read,
        verify,
        write,
    )


def __getattr__(name: str) -> Any:
    """Public names, loaded on first use so that `coterie --help` does not wait for polars."""
    if name not in __all__:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    return getattr(import_module("coterie.measuring" if name == "report" else "coterie.verbs"), name)
