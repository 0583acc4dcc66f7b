"""Labelled queries: a table that says of some queries whether they are sensitive, for measures that compare with it.

A csv or tsv file (also .gz, .zst) with a header; tsv has no quoting. The column `query` holds the query, and one of
`sensitive`, `label` and `is_pii` the label: yes, true, 1 or sensitive; no, false, 0 or harmless. Queries in doubt
(`maybe`) count as sensitive, and so does a query that has both labels. Other columns are left alone.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from coterie.errors import InputError, MissingError
from coterie.reading.source import Source
from coterie.text.words import spell

COLUMNS = ("sensitive", "label", "is_pii")
_YES = ("yes", "true", "1", "sensitive", "maybe")
_NO = ("no", "false", "0", "harmless")
_KINDS = {".tsv": "\t", ".csv": ","}


def read_labels(source: str | Path | pl.DataFrame) -> pl.DataFrame:
    """item, sensitive: labelled queries from a file or a table, as they are spelled there."""
    table = source if isinstance(source, pl.DataFrame) else _read(Path(source))
    given = [name for name in COLUMNS if name in table.columns]
    if "query" not in table.columns or len(given) != 1:
        raise InputError(f"Labelled queries have a column 'query' and one of: {', '.join(COLUMNS)}.")
    word = pl.col(given[0]).cast(pl.String).str.strip_chars().str.to_lowercase()
    labelled = table.select(
        pl.col("query").cast(pl.String).alias("item"),
        pl.when(word.is_in(_YES)).then(True).when(word.is_in(_NO)).then(False).alias("sensitive"),
    )
    unknown = labelled["sensitive"].null_count()
    if unknown:
        raise InputError(
            f"{unknown:,} of {labelled.height:,} labelled queries have a label that is none of: "
            f"{', '.join((*_YES, *_NO))}."
        )
    return labelled.drop_nulls()


def spelled(labels: pl.DataFrame, normalized: bool) -> pl.DataFrame:
    """Each labelled query once, spelled as in a log that was normalized or not."""
    item = spell(pl.col("item")) if normalized else pl.col("item")
    return labels.group_by(item.alias("item")).agg(pl.col("sensitive").any()).sort("item")


def _read(path: Path) -> pl.DataFrame:
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    separator = _KINDS.get(plain.suffix)
    if separator is None:
        raise InputError(f"Labelled queries are read from .tsv or .csv, also .gz or .zst, not from {path.name}.")
    if not path.is_file():
        raise MissingError(f"{path}: no such file of labelled queries.")
    quote = None if separator == "\t" else '"'
    try:
        source = Source([path])
        (plain,) = source.paths
        return pl.read_csv(plain, separator=separator, quote_char=quote, infer_schema=False)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):  # whose messages show values
        raise InputError(f"{path.name} cannot be read as a table of labelled queries.") from None
