"""Who it was: of several fields that may say it, the one that names a person best; and how often each one did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.reading.formats._json import first_text
from coterie.reading.source import Loaded, Sections


class Who:
    """Takes the first of some fields that a search has, and counts which one it was."""

    def __init__(self, fields: Sequence[str], said: str | None, get: Callable[..., str | None] = first_text) -> None:
        self._fields = (said,) if said else tuple(fields)
        self._said, self._get = said, get
        self._used: Counter[str] = Counter()

    def of(self, *places: Mapping[str, Any]) -> str | None:
        """The name of whoever searched, from the first field that one of these objects has."""
        for field in self._fields:
            for place in places:
                if value := self._get(place, field):
                    self._used[field] += 1
                    return value
        return None

    def used(self, field: str, times: int) -> None:
        """Count a field that was used elsewhere."""
        self._used[field] += times

    def loaded(self, frame: pl.LazyFrame, sections: Sections, *notes: str) -> Loaded:
        """Searches of a format, with what is to be said about whom k counts before its own `notes`."""
        return Loaded(
            frame=frame,
            shape=QUERIES,
            sections=sections,
            notes=(*self.notes, *notes),
            counted=self.counted,
            may_count=self.may_count,
        )

    @property
    def counted(self) -> str:
        """The fields that were used, where nobody said which."""
        return "" if self._said else ",".join(field for field in self._fields if self._used[field])

    @property
    def may_count(self) -> str:
        """All fields that a search could have been counted by, where nobody said which."""
        return "" if self._said else ",".join(self._fields)

    @property
    def notes(self) -> tuple[str, ...]:
        """Who is counted, where nobody said it."""
        if not self.counted:
            return ()
        return (
            f"Users are told apart by {' or else '.join(self.counted.split(','))}. If another field names people, say "
            f"--user-field NAME (in Python: user_field=...).",
        )


def counted_by(frame: pl.LazyFrame, fields: Sequence[str], said: str | None) -> Who:
    """Who is counted in a table whose `user` is the first field, and `visitor` the second."""
    who = Who(fields, said)
    names = ["user", "visitor"][: len(fields)]
    user = [pl.coalesce(pl.when(pl.col(name) != "").then(pl.col(name)) for name in names[:n]).count().alias(f"_{n}")
            for n in range(1, len(names) + 1)]  # fmt: skip
    before = 0
    for field, count in zip(fields, frame.select(user).collect(engine="streaming").row(0) if user else (), strict=True):
        who.used(field, count - before)
        before = count
    return who
