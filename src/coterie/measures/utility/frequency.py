"""Are the frequent queries and words still the frequent ones?

`query.1` is the relative frequency (in percent) in the release of the query that is most frequent in the original, and
`query.1.original` the one it had; `word.1` the same for words without stop words. `query.overlap` counts how many
of the original's ten are among the release's ten. The strings are shown only on request or for a synthetic log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import polars as pl

from coterie.core.scores import Figure, Picture, Score
from coterie.measures.comparison import Comparison
from coterie.text.language import language_in
from coterie.text.words import words

needs = frozenset({"text"})
TOP = 10
_RANKING = Picture(
    kind="ranking",
    title="The most frequent queries and words, before and after",
    reading="Share of each in all rows (words: in all words). Where rare queries are left out the shares of the others "
    "grow; what matters is that their order stays.",
)
figures = (
    Figure(
        section="utility",
        order=30,
        expected=True,
        key="query.overlap",
        title="Top queries that stayed on top",
        reading="How many of the original's most frequent queries are still among the most frequent.",
        before="all",
        picture=_RANKING,
        picture_title="Most frequent queries",
    ),
    Figure(
        section="utility",
        order=30,
        expected=True,
        key="word.overlap",
        title="Top words that stayed on top",
        reading="The same for words.",
        before="all",
        picture=_RANKING,
        picture_title="Most frequent words",
    ),
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Relative frequencies of the ten most frequent queries and words, before and after."""
    telling_words = partial(_words, stop_words=language_in(comparison.release.params).stop_words)
    for kind, count in (("query", _queries), ("word", telling_words)):
        before, after = count(comparison.items_before), count(comparison.items_after)
        top = before.head(TOP).join(after, on="text", how="left", suffix="_after", maintain_order="left")
        for rank, (text, share, share_after) in enumerate(top.iter_rows(), start=1):
            label = text if comparison.show_values else None
            yield Score(f"{kind}.{rank}", share_after or 0.0, "%", label)
            yield Score(f"{kind}.{rank}.original", share, "%", label)
        kept = before.head(TOP).join(after.head(TOP), on="text", how="semi").height
        yield Score(f"{kind}.overlap", kept, f"of {min(TOP, before.height)}")


def _queries(items: pl.DataFrame) -> pl.DataFrame:
    return _ordered(items.lazy().rename({"item": "text"}))


def _words(items: pl.DataFrame, stop_words: Collection[str]) -> pl.DataFrame:
    """Words of distinct queries, weighted by how often the query occurs."""
    split = items.lazy().select(words(pl.col("item")).alias("text"), "n").explode("text")
    telling = split.filter(~pl.col("text").is_in(list(stop_words)) & (pl.col("text") != ""))
    return _ordered(telling.group_by("text").agg(pl.col("n").sum()))


def _ordered(counts: pl.LazyFrame) -> pl.DataFrame:
    share = 100 * pl.col("n") / pl.col("n").sum()
    ordered = counts.select("text", share.alias("share")).sort("share", "text", descending=[True, False])
    return ordered.collect(engine="streaming")
