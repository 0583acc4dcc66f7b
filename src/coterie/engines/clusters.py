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
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from coterie.core import registry
from coterie.core.log import Log
from coterie.errors import ParameterError


class Cluster(Protocol):
    """What a registered module has."""

    addresses: str

    def takes(self, given: object) -> bool:
        """Whether an address, a session or a table is one of its own."""

    def session_for(self, address: str) -> AbstractContextManager[Any]:
        """The session at an address, while it is needed."""

    def read(self, paths: Sequence[str | Path], reading: Any) -> Log:
        """A log from files that the cluster reads."""

    def log(self, table: Any, reading: Any) -> Log:
        """A log from a table."""

    def examine(self, address: str) -> Iterator[str]:
        """What can be said of the cluster at an address."""


def cluster_of(given: object) -> Cluster | None:
    """The cluster that an address, a session or a table belongs to; None for a table of this machine."""
    return next((cluster for cluster in _registered() if cluster.takes(given)), None)


def cluster_at(address: str) -> Cluster:
    """The cluster at an address; ParameterError where nobody knows it."""
    found = cluster_of(address)
    if found is None:
        raise ParameterError(f"--engine is one of: {'; '.join(each.addresses for each in _registered())}.")
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
    return cluster.read(paths, reading)


def _registered() -> list[Cluster]:
    return [registry.complete("engines", name, registry.module("engines", name)) for name in registry.names("engines")]
