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
anywhere = True
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
    engine, stop_words = comparison.engine, list(language_in(comparison.release.params).stop_words)
    queries = engine.each(comparison.items, lambda items: items.rename({"item": "text"}))
    split = engine.each(comparison.items, partial(_words, stop_words=stop_words))
    for kind, texts in (("query", queries), ("word", engine.blocks(split, _summed, ["text"]))):
        sizes = engine.total(texts, _sizes).row(0, named=True)
        found = engine.total(texts, _most_frequent, _most_frequent)
        before, after = _top(found, "before"), _top(found, "after")
        for rank, (text, n, n_after) in enumerate(before.iter_rows(), start=1):
            label = text if comparison.show_values else None
            yield Score(f"{kind}.{rank}", 100 * n_after / sizes["after"] if n_after else 0.0, "%", label)
            yield Score(f"{kind}.{rank}.original", 100 * n / sizes["before"], "%", label)
        kept = before.join(after, on="text", how="semi").height
        yield Score(f"{kind}.overlap", kept, f"of {min(TOP, sizes['texts'])}")


def _words(items: pl.LazyFrame, stop_words: Collection[str]) -> pl.LazyFrame:
    """text, before, after: words of distinct queries, weighted by how often the query occurs."""
    split = items.select(words(pl.col("item")).alias("text"), "before", "after").explode("text")
    return _summed(split.filter(~pl.col("text").is_in(list(stop_words)) & (pl.col("text") != "")))


def _summed(texts: pl.LazyFrame) -> pl.LazyFrame:
    return texts.group_by("text").agg(pl.col("before", "after").sum())


def _sizes(texts: pl.LazyFrame) -> pl.LazyFrame:
    """All occurrences before and after, and how many different texts there were."""
    return texts.select(pl.col("before", "after").sum(), (pl.col("before") > 0).sum().cast(pl.Int64).alias("texts"))


def _most_frequent(texts: pl.LazyFrame) -> pl.LazyFrame:
    """The most frequent of either side; those of all parts are among those of each."""
    return pl.concat([_ordered(texts, side) for side in ("before", "after")]).unique()


def _ordered(texts: pl.LazyFrame, side: str) -> pl.LazyFrame:
    there = texts.filter(pl.col(side) > 0)
    return there.sort(side, "text", descending=[True, False]).head(TOP)


def _top(found: pl.DataFrame, side: str) -> pl.DataFrame:
    return _ordered(found.lazy(), side).select("text", "before", "after").collect()
