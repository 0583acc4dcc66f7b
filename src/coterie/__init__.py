"""Coterie makes search logs safe to keep, share and publish.

import coterie
from coterie.methods.suppress_rare import SuppressRare

log = coterie.read("log.tsv.gz")
log = coterie.prepare(log, ["normalize", "drop_empty"])
release = coterie.anonymize(log, SuppressRare(k=5))
coterie.write(release, "safe.parquet")
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
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
    from coterie.verbs import (
        anonymize,
        inspect,
        load_release,
        log,
        measure,
        prepare,
        read,
        report,
        verify,
        write,
    )


class _Package(ModuleType):
    """The verbs, loaded on first use so that `coterie --help` does not wait for polars.

    A verb and the module that does its work have the same name (`coterie.write`, write.py). Importing a
    module would put it in the verb's place, so that one assignment is ignored.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'coterie' has no attribute {name!r}")
        return getattr(import_module("coterie.verbs"), name)


sys.modules[__name__].__class__ = _Package
