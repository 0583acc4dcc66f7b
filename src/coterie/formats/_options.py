"""What a user may say about an input beside its format."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from coterie.core.shapes import Shape
from coterie.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Options:
    """Reading options; each format uses those that concern it."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Column of the shape -> column of the file (format `table`)."""
    user_field: str | None = None
    """The field that identifies a user (format `ubi`)."""
    date: str | None = None
    """The day of times that have none (format `sogou`), as YYYY-MM-DD."""
    shape: Shape | None = None
    """The shape of a release, which its sidecar tells (format `table`); else it follows from the columns."""

    @property
    def said(self) -> str:
        """What was said about how to read, as text; empty where nothing was."""
        given = {"columns": dict(self.columns), "user_field": self.user_field, "date": self.date}
        given = {name: value for name, value in given.items() if value}
        return json.dumps(given, sort_keys=True) if given else ""

    def __post_init__(self) -> None:
        if self.date is None:
            return
        try:
            if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", self.date):
                raise ValueError
            date.fromisoformat(self.date)
        except (TypeError, ValueError):
            raise ParameterError(f"--date must be YYYY-MM-DD. Got {self.date!r}.") from None
