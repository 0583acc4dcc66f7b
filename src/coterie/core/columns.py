"""Columns: `user=cookie,query=q`, which column of a table holds what, as text and back.

A pair with a comma in it stands in quotes, as in any table of values: `"user=name, first",query=q`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping


def columns_in(text: str) -> dict[str, str]:
    """Our names and those of the table; ValueError where that is not how it is written."""
    try:
        parts = next(csv.reader([text]), [])
    except csv.Error:
        raise ValueError(text) from None
    pairs = [part.partition("=") for part in parts if part]
    if any(not (name.strip() and mark and column.strip()) for name, mark, column in pairs):
        raise ValueError(text)
    return {name.strip(): column.strip() for name, _, column in pairs}


def columns_as_text(columns: Mapping[str, str]) -> str:
    """The text that `columns_in` reads."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([f"{name}={column}" for name, column in columns.items()])
    return line.getvalue()
