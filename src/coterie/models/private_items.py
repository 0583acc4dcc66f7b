"""What users have, as rows of subject and item: queries, words, phrases, clicked pages, days.

Each row depends on one row of the log alone. An item of two parts (a query and its page) is one text with a separator;
rows whose own text has it are left out.
"""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log

SEPARATOR = "\x1f"
_PHRASE_WORDS = (2, 3)


def queries(log: Log) -> pl.LazyFrame:
    """Whole items: queries, or the pages of an access log."""
    return _rows(log).select("subject", "item")


def words(log: Log) -> pl.LazyFrame:
    """The words of queries, as white space cuts them."""
    return _rows(log).select("subject", _words()).explode("item", empty_as_null=True, keep_nulls=True)


def phrases(log: Log, known: pl.Series) -> pl.LazyFrame:
    """Two or three consecutive words that are all known."""
    cut = _rows(log).select("subject", _words().alias("words")).with_row_index("number")
    each = cut.explode("words", empty_as_null=True, keep_nulls=True)
    each = each.with_columns(pl.col("words").is_in(known.implode()).alias("known"))
    made = []
    for size in _PHRASE_WORDS:
        phrase = pl.concat_str((pl.col("words").shift(-n) for n in range(size)), separator=" ").alias("item")
        same_query = pl.col("number").shift(1 - size) == pl.col("number")
        kept = pl.all_horizontal(same_query, *(pl.col("known").shift(-n) for n in range(size))).fill_null(False)
        made.append(each.select("subject", phrase, kept.alias("kept")).filter("kept").drop("kept"))
    return pl.concat(made)


def clicks(log: Log, known: pl.Series) -> pl.LazyFrame:
    """Known queries with the page that was clicked."""
    page = pl.col(log.shape.page)
    rows = _rows(log).filter(pl.col("item").is_in(known.implode()), ~page.str.contains(SEPARATOR, literal=True))
    pair = pl.concat_str(pl.col("item"), page, separator=SEPARATOR)
    return rows.select("subject", pair.alias("item"))


def days(log: Log, known: pl.Series, first: str, last: str, *, of_words: bool = False) -> pl.LazyFrame:
    """Known queries, or words, with the day, within the days that were given."""
    day = pl.col(log.shape.time).dt.strftime("%Y-%m-%d").alias("day")
    rows = _rows(log).select("subject", _words() if of_words else "item", day)
    rows = rows.filter(pl.col("day").is_between(pl.lit(first), pl.lit(last)))
    if of_words:
        rows = rows.explode("item", empty_as_null=True, keep_nulls=True)
    rows = rows.filter(pl.col("item").is_in(known.implode()))
    return rows.select("subject", pl.concat_str("item", "day", separator=SEPARATOR).alias("item"))


def _rows(log: Log) -> pl.LazyFrame:
    item = pl.col(log.shape.item)
    rows = log.frame.filter(~item.str.contains(SEPARATOR, literal=True))
    return rows.with_columns(pl.col(log.shape.subject).alias("subject"), item.alias("item"))


def _words() -> pl.Expr:
    return pl.col("item").str.replace_all(r"\s+", " ").str.split(" ").list.eval(pl.element().filter(pl.element() != ""))
