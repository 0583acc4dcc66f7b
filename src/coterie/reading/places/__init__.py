"""Places: bytes and tables that are elsewhere, brought to this machine and back.

    objects         s3://, gs://, az:// through obstore (extra `cloud`); https://, read only
    databases       sqlite:FILE, duckdb:FILE, postgresql://: a table is read whole, and written in one transaction

Whatever is read comes into a private folder first, so that formats, judges and measures know files only. Errors of
libraries are not passed on: they may hold an address with a password, or a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie.core.files import OBJECTS, STDIN, Place, Scratch, place_of
from coterie.errors import MissingError, ParameterError


@dataclass(frozen=True, kw_only=True)
class Brought:
    """What is on this machine now."""

    files: tuple[Path, ...]
    folder: Scratch
    """Where it lies; it goes with this object."""
    table: bool = False
    """Whether it was a table of a database, which has rows and no bytes."""


def is_elsewhere(paths: Sequence[str | Path]) -> bool:
    """Whether any of these is a place that is no file."""
    return any(place_of(path) is not None for path in paths)


def bring(paths: Sequence[str | Path], sql: str | None = None) -> Brought | None:
    """Copies of logs that are elsewhere; None where all are files of this machine.

    `sql` asks a database for rows, instead of a table's name.
    """
    places = [place_of(path) for path in paths]
    there = [place for place in places if place is not None]
    databases = [place for place in there if place.is_database]
    if sql is not None and not databases:
        raise ParameterError("--sql asks a database. Name it as the log, for example sqlite:log.db.")
    if not there:
        return None
    folder = Scratch()
    if databases:
        if len(places) > 1:
            raise ParameterError("A table of a database is a log of its own: give it alone.")
        from coterie.reading.places import databases as tables

        return Brought(files=(tables.fetch(databases[0], sql, folder.path),), folder=folder, table=True)
    if len(there) < len(places):
        which = "standard input" if STDIN in map(str, paths) else "files of this machine"
        raise ParameterError(f"Logs of other places and {which} cannot be read together. Bring them here first.")
    files: list[Path] = []
    for number, place in enumerate(there):
        inside = folder.path / f"{number:05}"
        inside.mkdir()
        files += fetch(place, inside)
    return Brought(files=tuple(files), folder=folder)


def fetch(place: Place, folder: Path) -> list[Path]:
    """Copies, in a folder, of the file that a place names, or of all that a pattern stands for."""
    from coterie.reading.places import objects

    return objects.fetch(place, folder) if place.scheme in OBJECTS else [objects.fetch_page(place, folder)]


def needs_extra(extra: str, package: str, label: str) -> MissingError:
    """What to say where a package is not installed."""
    return MissingError(f"{label} needs the package {package}, which is not installed: pip install 'coterie[{extra}]'")
