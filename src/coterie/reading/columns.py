"""Columns that somebody named: whether a log has them, and the table does."""

from __future__ import annotations

from collections.abc import Mapping

from coterie.core.shapes import QUERIES, TERMS, VISITS
from coterie.errors import InputError


def check_columns(names: list[str], columns: Mapping[str, str]) -> None:
    """Raise InputError for a column that no log has, or that the table does not have."""
    for name, column in columns.items():
        if not any(name in shape.readable for shape in (QUERIES, VISITS, TERMS)):
            raise InputError(
                f"--columns {name}=...: a log has no column {name!r}. Search logs have "
                f"{', '.join(QUERIES.readable)}; access logs {', '.join(VISITS.readable)}; documents "
                f"{', '.join(TERMS.readable)}."
            )
        if column not in names and column.split(".")[0] not in names:
            raise InputError(f"--columns {name}={column}: the table has no column of that name.")


def refuse_absent(picked: Mapping[str, str], found: set[str]) -> None:
    """Raise InputError for a field inside of others that no document has."""
    for name, column in picked.items():
        if "." in column and column not in found:
            option = "columns" if any(name in shape.readable for shape in (QUERIES, VISITS, TERMS)) else "details"
            raise InputError(
                f"--{option} {name}={column}: the table has no column of that name. A path leads into objects, not "
                f"into lists."
            )


def check_details(names: list[str], details: Mapping[str, str], picked: Mapping[str, str]) -> None:
    """Raise InputError for a further detail that the table does not have, or that is another column already."""
    for name, column in details.items():
        if column not in names and column.split(".")[0] not in names:
            raise InputError(f"--details {name}={column}: the table has no column of that name.")
        if other := next((own for own, there in picked.items() if there == column and own != name), None):
            raise InputError(
                f"--details {name}={column}: that column is the {other} already. A detail needs one of its own."
            )
