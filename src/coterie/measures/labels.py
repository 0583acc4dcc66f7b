"""Labelled queries: a table that says of some queries whether they are sensitive, for measures that compare with it.

A csv or tsv file (also .gz, .zst) with a header; tsv has no quoting. The column `query` holds the query, and one of
`sensitive`, `label` and `is_pii` the label: yes, true, 1 or sensitive; no, false, 0 or harmless. Queries in doubt
(`maybe`) count as sensitive, and so does a query that has both labels. Other columns are left alone.

Topics of documents: a table that says which topic some have, or the folder or file that they are in.

A csv, tsv or jsonl file (also .gz, .zst) with `topic` and `doc` or `id`; or the word `names`: a document called
`sport/17.txt` is about `sport`, one called `cacm.all#7` about `cacm.all`. Documents without a topic are left out.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from coterie.errors import InputError, MissingError, ParameterError
from coterie.reading.source import Source
from coterie.text.words import spell

COLUMNS = ("sensitive", "label", "is_pii")
_YES = ("yes", "true", "1", "sensitive", "maybe")
_NO = ("no", "false", "0", "harmless")
_SEPARATORS = {".tsv": "\t", ".csv": ","}


def read_labels(source: str | Path | pl.DataFrame) -> pl.DataFrame:
    """item, sensitive: labelled queries from a file or a table, as they are spelled there."""
    table = source if isinstance(source, pl.DataFrame) else _label_table(Path(source))
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


def _label_table(path: Path) -> pl.DataFrame:
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    separator = _SEPARATORS.get(plain.suffix)
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


# --- topics of documents ----------------------------------------------------------------------------


NAMES = "names"
_TOPIC_FILES = (".csv", ".tsv", ".jsonl")
_WITHIN = r"^(.*)[/#][^/#]*$"


def read_topics(source: object) -> pl.DataFrame | str:
    """doc, topic from a file or a table, each document once; or `names`."""
    if isinstance(source, (str, Path)):
        if str(source) == NAMES:
            return NAMES
        table = _topic_table(Path(source))
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


def _topic_table(path: Path) -> pl.DataFrame:
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if plain.suffix not in _TOPIC_FILES:
        raise InputError(f"Topics are read from {', '.join(_TOPIC_FILES)}, also .gz or .zst, not from {path.name}.")
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
