"""Topics of documents: a table that says which topic some have, or the folder or file that they are in.

A csv, tsv or jsonl file (also .gz, .zst) with `topic` and `doc` or `id`; or the word `names`: a document called
`sport/17.txt` is about `sport`, one called `cacm.all#7` about `cacm.all`. Documents without a topic are left out.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from coterie.errors import InputError, MissingError, ParameterError
from coterie.reading.source import Source

NAMES = "names"
_KINDS = (".csv", ".tsv", ".jsonl")
_WITHIN = r"^(.*)[/#][^/#]*$"


def read_topics(source: object) -> pl.DataFrame | str:
    """doc, topic from a file or a table, each document once; or `names`."""
    if isinstance(source, (str, Path)):
        if str(source) == NAMES:
            return NAMES
        table = _read(Path(source))
    elif isinstance(source, pl.DataFrame):
        table = source
    else:
        raise ParameterError(f"topics is a file, a table or 'names', not {type(source).__name__}.")
    name = next((column for column in ("doc", "id") if column in table.columns), None)
    if name is None or "topic" not in table.columns:
        raise InputError("Topics of documents have a column 'topic' and a column 'doc' or 'id'.")
    topics = table.select(pl.col(name).cast(pl.String).str.strip_chars().alias("doc"), pl.col("topic").cast(pl.String))
    topics = topics.drop_nulls().unique()
    if several := int(topics["doc"].is_duplicated().sum()):
        raise InputError(f"{several:,} lines of topics say different things about a document. Give each one topic.")
    return topics


def topics_of(documents: pl.Series, topics: pl.DataFrame | str) -> pl.DataFrame:
    """doc, topic of those of some documents that have one, in the order of documents."""
    asked = documents.alias("doc").to_frame().sort("doc")
    if isinstance(topics, str):
        return asked.with_columns(pl.col("doc").str.extract(_WITHIN).alias("topic")).drop_nulls()
    return asked.join(topics, on="doc", maintain_order="left")


def _read(path: Path) -> pl.DataFrame:
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if plain.suffix not in _KINDS:
        raise InputError(f"Topics are read from {', '.join(_KINDS)}, also .gz or .zst, not from {path.name}.")
    if not path.is_file():
        raise MissingError(f"{path}: no such file of topics.")
    try:
        source = Source([path])
        (there,) = source.paths
        if plain.suffix == ".jsonl":
            return pl.read_ndjson(there, infer_schema_length=None)
        separator, quote = ("\t", None) if plain.suffix == ".tsv" else (",", '"')
        return pl.read_csv(there, separator=separator, quote_char=quote, infer_schema=False)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):  # whose messages show values
        raise InputError(f"{path.name} cannot be read as a table of topics.") from None
