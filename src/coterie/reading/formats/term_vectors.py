"""Documents as vectors of weighted terms: a table with doc, term and weight, or JSON lines with one document each.

A table (csv, tsv, jsonl; parquet is read as `table`) has a row for each term of a document. A JSON line is
`{"doc": "7", "terms": {"tea": 0.4, "pot": 0.2}}`. `owner`, a column or a field, says whom a document belongs to: it is
never released, and owners are then counted in place of documents. Weights are numbers above 0; a term that a document
has twice gets the sum. Names of documents are never released.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from coterie.core.shapes import TERMS
from coterie.errors import ParameterError
from coterie.reading.formats import table
from coterie.reading.formats._json import object_in
from coterie.reading.reading import Reading
from coterie.reading.sniff import kind_of, named, names_of
from coterie.reading.source import Loaded, Source, Spool

shape = TERMS
takes = ("columns",)
expected = {
    **table.expected,
    "columns": "as many fields as the header has, or a JSON object with a doc and its terms",
}
sample = """\
{"doc": "1", "terms": {"laptop": 0.4, "keyboard": 0.3, "software": 0.3}}
{"doc": "2", "terms": {"horse": 0.5, "dog": 0.2, "cat": 0.3}, "owner": "a"}
"""
TERMS_OF = "terms"
"""The field of a JSON line that holds the terms of a document with their weights."""
_SCHEMA = {"row": pl.UInt64, **TERMS.schema, "_bad": pl.String}


signature = (named([TERMS.subject], [TERMS_OF]), named([TERMS.subject], [TERMS.item], [TERMS.weight]))


def load(source: Source, options: Reading) -> Loaded:
    """Rows of a table, or of JSON lines with the terms of a document in each."""
    head = source.head()
    if kind_of(head) != "jsonl" or TERMS_OF not in names_of(head):
        return table.load(source, Reading(columns=options.columns, shape=options.shape or shape))
    if options.columns:
        raise ParameterError(
            f"{source.label} is no table but lines of JSON, which make no use of --columns. Leave it out."
        )
    spool = Spool(source.folder.path, _SCHEMA)
    owned = False
    for path, start in source.starts():
        for number, line in source.byte_lines(path):
            for row in _rows(line) if line.strip() else ():
                owned |= row[3] is not None
                spool.add((start + number - 1, *row))
    rows = spool.scan()
    frame = table.typed(rows if owned else rows.drop("owner"), shape)
    return Loaded(frame=frame, shape=shape)


def _rows(line: bytes) -> Iterator[tuple[str | None, str | None, float | None, str | None, str | None]]:
    """doc, term, weight, owner and what is wrong, for each term of a line."""
    document = object_in(line) or {}
    terms = document.get(TERMS_OF)
    if not isinstance(terms, dict) or not terms:
        yield None, None, None, None, "columns"
        return
    doc, owner = (_name(document.get(name)) for name in ("doc", "owner"))
    for term, weight in terms.items():
        yield doc, term, _number(weight), owner, None


def _name(value: Any) -> str | None:
    """A name that may be written as a number."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
