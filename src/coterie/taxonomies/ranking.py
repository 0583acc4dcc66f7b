"""Which categories a word means, where nobody ranked them: an imitation of the Open Directory's search (paper 003).

A category is a text: its label, and where they are known its description and the titles of its pages. Categories are
ranked for a word by BM25, equal ones by their number of pages, those below them included. A label of several words
means the categories that are called that. Words are stems; stop words are left out.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from coterie.core.arrays import Ints, offsets
from coterie.taxonomies.lexicon import Lexicon
from coterie.text.language import ENGLISH, language
from coterie.text.words import pieces

MOST = 10
"""Categories that are kept for a word."""
_LABEL_WEIGHT = 10  # a category's name tells more than the title of one of its pages
_K1, _B = 1.2, 0.75
_ENGLISH = language(ENGLISH)  # the only language whose taxonomies we have
_UNIT = 1e6  # scores are whole numbers, so that no rank depends on the order in which they are added


def stemmed(category: Ints, text: pl.Series) -> pl.DataFrame:
    """The stems in texts about categories, in their order: category, stem."""
    table = pl.DataFrame({"category": category.astype(np.int32), "piece": text})
    table = table.with_columns(pieces(pl.col("piece"))).explode("piece", empty_as_null=False, keep_nulls=False)
    table = table.filter(~pl.col("piece").is_in(sorted(_ENGLISH.stop_words)))
    distinct = table.select(pl.col("piece").unique(maintain_order=True))
    distinct = distinct.with_columns(stem=_ENGLISH.stems(distinct["piece"]))
    return table.join(distinct, on="piece", how="left", maintain_order="left").select("category", "stem")


def lexicon(labels: pl.Series, pages: Ints, titles: pl.DataFrame) -> Lexicon:
    """The lexicon of a tree: labels and numbers of pages by category, and from titles category, stem, n.

    The root has no meaning: all categories are below it.
    """
    called = stemmed(np.arange(1, len(labels)), labels[1:])
    weights = called.group_by("category", "stem").agg(pl.len().cast(pl.Int64).alias("n") * _LABEL_WEIGHT)
    titles = titles.filter(pl.col("category") > 0).select("category", "stem", pl.col("n").cast(pl.Int64))
    scored = _scored(pl.concat([weights, titles]))

    phrases = called.group_by("category").agg("stem").filter(pl.col("stem").list.len() > 1)
    phrases = phrases.with_columns(form=pl.col("stem").list.join(" "))
    phrases = phrases.explode("stem").unique().join(scored, on=["category", "stem"])
    phrases = phrases.group_by("form", "category").agg(pl.col("score").sum())
    entries = pl.concat([scored.rename({"stem": "form"}).select("form", "category", "score"), phrases])
    entries = entries.with_columns(pages=pages[entries["category"].to_numpy()])
    entries = entries.sort("form", "score", "pages", "category", descending=[False, True, True, False])
    entries = entries.filter(pl.int_range(pl.len()).over("form") < MOST)
    return _packed(entries)


def _scored(weights: pl.DataFrame) -> pl.DataFrame:
    """BM25 of each category for each of its stems: category, stem, score."""
    n = pl.col("n")
    table = weights.group_by("category", "stem").agg(n.sum())
    lengths = table.group_by("category").agg(n.sum().alias("length"))
    holding = table.group_by("stem").agg(pl.len().alias("holding"))
    mean = max(float(lengths["length"].sum()) / max(lengths.height, 1), 1.0)
    table = table.join(lengths, on="category").join(holding, on="stem")
    rarity = (1 + (lengths.height - pl.col("holding") + 0.5) / (pl.col("holding") + 0.5)).log()
    score = rarity * n * (_K1 + 1) / (n + _K1 * (1 - _B + _B * pl.col("length") / mean))
    return table.select("category", "stem", (score * _UNIT).round().cast(pl.Int64).alias("score"))


def _packed(entries: pl.DataFrame) -> Lexicon:
    """The lexicon of entries (form, category) that are sorted by form and rank."""
    forms = entries.group_by("form", maintain_order=True).agg(pl.len().alias("size"))
    parts = forms.select(pl.col("form").str.split(" "))["form"]
    spoken = parts.explode(empty_as_null=False)
    words = spoken.unique().sort().alias("text")
    return Lexicon(
        words=words,
        form_start=offsets(parts.list.len().to_numpy()),
        form_words=words.search_sorted(spoken).to_numpy().astype(np.int32),
        sense_start=offsets(forms["size"].to_numpy()),
        senses=entries["category"].to_numpy().astype(np.int32),
        stemmed=True,
        irregular=pl.DataFrame(schema={"word": pl.String, "base": pl.Int32}),
    )
