"""Are the frequent queries and words still the frequent ones?

`query.1` is the relative frequency (in percent) in the release of the query that is most frequent in the original, and
`query.1.original` the one it had; `word.1` the same for words without stop words. `query.overlap` counts how many
of the original's ten are among the release's ten. The strings are shown only on request or for a synthetic log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from coterie.core.scores import Picture, Score
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
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
SHOWN = {
    "query.overlap": titled(
        "Top queries that stayed on top",
        "How many of the original's most frequent queries are still among the most frequent.",
        picture_title="Most frequent queries",
    ),
    "word.overlap": titled("Top words that stayed on top", "The same for words.", picture_title="Most frequent words"),
}
figures = figures_in("utility", 30, SHOWN, expected=True, before="all", picture=_RANKING)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Relative frequencies of the ten most frequent queries and words, before and after."""
    queries = comparison.items.rename({"item": "text"})
    split = _words(comparison.items, language_in(comparison.release.params).stop_words)
    for kind, texts in (("query", queries), ("word", split)):
        # All occurrences before and after, and how many different texts there were.
        counts = pl.col("before", "after").sum(), (pl.col("before") > 0).sum().cast(pl.Int64).alias("texts")
        sizes = texts.select(counts).row(0, named=True)
        before, after = _top(texts, "before"), _top(texts, "after")
        for rank, (text, n, n_after) in enumerate(before.iter_rows(), start=1):
            label = text if comparison.show_values else None
            yield Score(f"{kind}.{rank}", 100 * n_after / sizes["after"] if n_after else 0.0, "%", label)
            yield Score(f"{kind}.{rank}.original", 100 * n / sizes["before"], "%", label)
        kept = before.join(after, on="text", how="semi").height
        yield Score(f"{kind}.overlap", kept, f"of {min(TOP, sizes['texts'])}")


def _words(items: pl.DataFrame, stop_words: Collection[str]) -> pl.DataFrame:
    """text, before, after: words of distinct queries, weighted by how often the query occurs."""
    split = items.lazy().select(words(pl.col("item")).alias("text"), "before", "after").explode("text")
    known = split.filter(~pl.col("text").is_in(list(stop_words)) & (pl.col("text") != ""))
    return known.group_by("text").agg(pl.col("before", "after").sum()).collect(engine="streaming")


def _top(texts: pl.DataFrame, side: str) -> pl.DataFrame:
    there = texts.filter(pl.col(side) > 0).sort(side, "text", descending=[True, False]).head(TOP)
    return there.select("text", "before", "after")
