"""Are the frequent queries and words still the frequent ones?

`query.1` is the relative frequency (in percent) in the release of the query that is most frequent in the original, and
`query.1.original` the one it had; `word.1` the same for words without stop words. `query.overlap` counts how many
of the original's ten are among the release's ten. The strings are shown only on request or for a synthetic log.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.measures import Comparison, Score
from coterie.text.words import STOP_WORDS, words

needs_record = False
compares_text = True
TOP = 10


def measure(comparison: Comparison) -> Iterator[Score]:
    """Relative frequencies of the ten most frequent queries and words, before and after."""
    for kind, count in (("query", _queries), ("word", _words)):
        before, after = count(comparison.original), count(comparison.released)
        top = before.head(TOP).join(after, on="text", how="left", suffix="_after", maintain_order="left")
        for rank, (text, share, share_after) in enumerate(top.iter_rows(), start=1):
            label = text if comparison.show_values else None
            yield Score(f"{kind}.{rank}", share_after or 0.0, "%", label)
            yield Score(f"{kind}.{rank}.original", share, "%", label)
        kept = before.head(TOP).join(after.head(TOP), on="text", how="semi").height
        yield Score(f"{kind}.overlap", kept, f"of {min(TOP, before.height)}")


def _queries(rows: pl.DataFrame) -> pl.DataFrame:
    return _shares(rows.lazy().select(pl.col("item").alias("text")))


def _words(rows: pl.DataFrame) -> pl.DataFrame:
    """Words of distinct queries, weighted by how often the query occurs."""
    counts = rows.lazy().group_by("item").len("n")
    split = counts.select(words(pl.col("item")).alias("text"), "n").explode("text")
    telling = split.filter(~pl.col("text").is_in(list(STOP_WORDS)) & (pl.col("text") != ""))
    return _ordered(telling.group_by("text").agg(pl.col("n").sum()))


def _shares(texts: pl.LazyFrame) -> pl.DataFrame:
    return _ordered(texts.group_by("text").len("n"))


def _ordered(counts: pl.LazyFrame) -> pl.DataFrame:
    share = 100 * pl.col("n") / pl.col("n").sum()
    ordered = counts.select("text", share.alias("share")).sort("share", "text", descending=[True, False])
    return ordered.collect(engine="streaming")
