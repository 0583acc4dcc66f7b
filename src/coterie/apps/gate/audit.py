"""The audit: the rows themselves, so that parts can be verified in tests. Nothing is protected in that folder.

Files get their names with the snapshot that counts their rows, as parts do: the audit has exactly the rows that the
gate has counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from coterie.core.shapes import Shape
from coterie.writing.history import onto_the_disk

_NEW = ".new"


class Audit:
    """A folder of Parquet files that a log can be read from."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder, self.shape = folder, shape
        self._rows: list[pl.DataFrame] = []
        self._known: list[str] = []
        self._staged: list[str] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Rows that were counted."""
        shape = self.shape
        names = {"user": shape.subject, "item": shape.item, "time": shape.time}
        names |= {"page": shape.page} if shape.page else {}
        self._rows.append(rows.select(pl.col(ours).alias(name) for ours, name in names.items()))

    def stage(self, columns: Mapping[str, str]) -> list[str]:
        """Write the rows since the last time under a name that is no log's; the names of all files.

        `columns`: what the log calls them, as the sidecars of parts say.
        """
        if self._rows:
            name = f"rows-{len(self._known) + 1:06}.parquet"
            path = self.folder / (name + _NEW)
            path.touch(mode=0o600)
            pl.concat(self._rows).rename(dict(columns), strict=False).write_parquet(path)
            onto_the_disk(path)
            self._staged, self._rows = [name], []
        return [*self._known, *self._staged]

    def publish(self) -> None:
        """Give what was staged its name."""
        for name in self._staged:
            (self.folder / (name + _NEW)).replace(self.folder / name)
        self._known, self._staged = [*self._known, *self._staged], []

    def settle(self, known: Sequence[str]) -> None:
        """After a start: name what the state knows, remove what it does not."""
        for path in self.folder.glob(f"*{_NEW}"):
            if path.name.removesuffix(_NEW) in known:
                path.replace(path.with_name(path.name.removesuffix(_NEW)))
            else:
                path.unlink()
        self._known = list(known)
