"""Clusters: engines on other machines, which packages register under the entry point group `coterie.engines`.

    [project.entry-points."coterie.engines"]
    my_cluster = "my_package.my_cluster"

Such a module has

    addresses                   what `--engine` may say for it, for messages
    takes(given)                whether an address, a session or a table belongs to it
    session_for(address)        a context: the session at an address, while it is needed
    read(paths, reading)        a log from files that the cluster of `reading.session` reads
    log(table, reading)         a log from a table
    examine(address)            what `coterie doctor --engine` says of the cluster at an address, line by line

A log that it gives carries an `Engine` (core/run.py); `engines/remote.py` helps to write one. `takes` is asked of every
registered module: what such a module needs is imported where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coterie.core import registry
from coterie.core.log import Log
from coterie.errors import ParameterError


def cluster_of(given: object) -> Any:
    """The cluster that an address, a session or a table belongs to; None for a table of this machine."""
    return next((cluster for cluster in _registered() if cluster.takes(given)), None)


def cluster_at(address: str) -> Any:
    """The cluster at an address; ParameterError where nobody knows it."""
    found = cluster_of(address)
    if found is None:
        known = "; ".join(each.addresses for each in _registered())
        raise ParameterError(
            f"--engine is one of: {known}." if known else "No engine is installed; leave out --engine."
        )
    return found


@contextmanager
def session_for(address: str | None) -> Iterator[Any]:
    """The session at an address while it is needed; None where there is no address, and so no cluster."""
    if address is None:
        yield None
        return
    with cluster_at(address).session_for(address) as session:
        yield session


def read(paths: Sequence[str | Path], reading: Any) -> Log:
    """A log from files that the cluster of a session reads."""
    cluster = cluster_of(reading.session)
    if cluster is None:
        raise ParameterError(f"A session of a cluster is expected, not {type(reading.session).__name__}.")
    log: Log = cluster.read(paths, reading)
    return log


def _registered() -> list[Any]:
    return [registry.complete("engines", name, registry.module("engines", name)) for name in registry.names("engines")]
