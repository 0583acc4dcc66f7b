"""Elsewhere: releases that go to object stores and databases, and released files that are read from there.

A release for an object store is written to a private folder first, as any release is, with all its checks; then its
files are uploaded and read back, and the sidecar comes last: without it there is no release. Where something fails,
what was uploaded is removed. Nothing that is there is ever replaced.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from coterie.core.log import Release
from coterie.core.parts import listed_parts, sidecar_path
from coterie.core.place import OBJECTS, Place, place_of
from coterie.core.scratch import Scratch
from coterie.errors import MissingError, ParameterError
from coterie.reading.places import fetch
from coterie.writing.files import refuse_unverified, write_release
from coterie.writing.record import record_files, remove_record
from coterie.writing.sidecar import read_sidecar
from coterie.writing.tables import bring_table, refuse_table, write_table
from coterie.writing.target import Target, kind_of
from coterie.writing.targets import refuse_record


def refuse_place(target: Target, place: Place) -> None:
    """Refuse before any work what would be refused when a release is written to a place."""
    if place.is_database:
        for option, given in (("--to", target.kind), ("--csv-safe", target.csv_safe), ("--parts", target.parts)):
            if given:
                raise ParameterError(f"{place.label}: {option} is for files. Leave it out for a table.")
        refuse_table(place, target)
        return
    if place.scheme not in OBJECTS:
        raise ParameterError(f"{place.label}: nothing can be written to a web address. Write a file and send it.")
    kind_of(place.name, target.kind)
    target.refuse_spreadsheets()
    if target.sidecar is not None:
        raise ParameterError(f"{place.label}: the sidecar lies beside the release. Leave out --sidecar.")
    if target.force:
        raise ParameterError(f"{place.label}: --force replaces files of this machine only. Choose another name.")
    if target.record is not None:
        refuse_record(target.record, record_files(target.record), False)
    from coterie.reading.places import objects

    for each in (place, place.beside(".json")):
        if objects.exists(each):
            raise ParameterError(f"{each.label} exists. Choose another name: nothing is replaced there.")


def write_elsewhere(release: Release, target: Target, place: Place) -> str:
    """Write a verified release to an object store or a database; returns its digest."""
    target.refuse([])
    refuse_unverified(release, target.promise)
    if place.is_database:
        return write_table(release, place, target)
    from coterie.reading.places import objects

    scratch, record = Scratch(), target.record
    local = scratch.path / place.name
    known = record is not None and record.exists()
    digest = write_release(release, replace(target, path=str(local)))
    try:
        with objects.uploading(place) as upload:
            for file in sorted(local.iterdir()) if local.is_dir() else [local]:
                upload.put(file, place.beside(f"/{file.name}") if local.is_dir() else place)
            upload.put(sidecar_path(local), place.beside(".json"))
    except BaseException:
        if record is not None:
            files = [record / name for name in record_files(record)]
            remove_record([*([] if known else [record]), *files])
        raise
    return digest


class Near:
    """A released file that can be read here: itself, or a copy that goes with this object."""

    def __init__(self, path: Path, folder: Scratch | None = None) -> None:
        self.path, self.folder = path, folder


def bring_release(path: str | Path, sidecar: str | Path | None = None) -> Near:
    """A released file, with its sidecar beside it; what is elsewhere is copied to a private folder.

    `sidecar` is for tables of databases, which have nothing beside them.
    """
    place = place_of(path)
    if sidecar is not None and (place is None or not place.is_database):
        raise ParameterError("--sidecar is for tables of databases: a file has its sidecar beside it.")
    if place is None:
        return Near(Path(path))
    scratch = Scratch()
    if place.is_database:
        return Near(_table(place, sidecar, scratch.path), scratch)
    target = scratch.path / place.name
    try:
        (beside,) = fetch(place.beside(".json"), scratch.path)
        beside.replace(sidecar_path(target))
    except MissingError:  # rows that Coterie did not make
        fetch(place, scratch.path)
        return Near(target, scratch)
    parts = listed_parts(target)
    if not parts:
        fetch(place, scratch.path)
    elif place.scheme in OBJECTS:
        from coterie.reading.places import objects

        target.mkdir()
        objects.fetch_below(place, target)
    else:  # a web address has no list of files, so others than those named are not seen
        target.mkdir()
        for part in parts:
            fetch(place.beside(f"/{part.name}"), target)
    return Near(target, scratch)


def _table(place: Place, sidecar: str | Path | None, folder: Path) -> Path:
    if sidecar is None:
        raise ParameterError(f"{place.label}: nothing lies beside a table. Say where its sidecar is: --sidecar FILE.")
    name = Path(sidecar).name.removesuffix(".json")
    try:
        shutil.copyfile(sidecar, folder / f"{name}.json")
    except OSError:
        raise MissingError(f"{Path(sidecar).name}: the sidecar is missing, or cannot be read.") from None
    said = read_sidecar(folder / name)
    if said is None:
        raise MissingError(f"{Path(sidecar).name}: the sidecar is missing.")
    path = bring_table(place, said, folder)
    (folder / f"{name}.json").replace(sidecar_path(path))
    return path
