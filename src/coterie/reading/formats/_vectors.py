"""Texts -> vectors of terms, some million letters at a time.

A term is a noun of WordNet in its base form, by the rules of the lexicon. Left out: English stop words, words of fewer
letters than `min_length`, words with digits, words that are no noun. The weight of a term is its share of the words
that were kept (Eq. 2.1); the `terms` most frequent ones make the vector, ties in alphabetical order. So weights of a
vector sum to less than 1 where a document has more terms. With `words = all`, words that are no noun stay as they are.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path

import polars as pl

from coterie import taxonomies
from coterie.core.shapes import TERMS
from coterie.reading.reading import Reading
from coterie.taxonomies.lexicon import Lexicon
from coterie.text.language import ENGLISH, language
from coterie.text.words import pieces

LEAST_KNOWN = 0.5
"""The share of known words (nouns of WordNet, stop words) below which a text looks like another language: 2 of 5,737
English abstracts are below it (their mean is 0.82), sentences in six other languages had 0.07 to 0.41."""
_TELLING = 10  # words without which nothing can be said about a language
"""Which words are terms."""
_LETTERS = 1 << 23  # of texts whose words are counted at once
_DOCUMENTS = 20_000
_SCHEMA = {"row": pl.UInt64, **TERMS.schema, "bad": pl.String}
_COLUMNS = tuple(_SCHEMA)


class Vectors:
    """Collects documents; their vectors go to files, so that memory does not grow with the texts."""

    def __init__(self, folder: Path, reading: Reading) -> None:
        terms, min_length, words = reading.terms or 100, reading.min_length or 3, reading.words or "nouns"
        self._folder, self._terms, self._min_length, self._all = folder, terms, min_length, words == "all"
        self.settings: dict[str, int | str] = {"terms": terms, "min_length": min_length, "words": words}
        self._names: set[str] = set()
        self._texts: set[bytes] = set()
        self._waiting: list[tuple[int, str, str, str | None]] = []
        self._letters = 0
        self._parts: list[str] = []
        self._bad: list[tuple[int, str]] = []
        self.documents = 0
        """How many were added, also those that could not be read."""
        self.vectors = 0
        """How many have a term."""
        self.rows = 0
        """How many terms these have together."""
        self.copies = 0
        """How many have the same text as an earlier one."""
        self.foreign = 0
        """How many look like another language."""
        self.owned = False

    def add(self, name: str, text: str, owner: str | None = None) -> None:
        """A document; its name must be its own."""
        if not name.strip() or name in self._names:
            self.add_bad("id")
            return
        self._names.add(name)
        digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()
        self.copies += digest in self._texts and bool(text.strip())
        self._texts.add(digest)
        self.owned |= owner is not None
        self._waiting.append((self.documents, name, text, owner))
        self.documents += 1
        self._letters += len(text)
        if self._letters >= _LETTERS or len(self._waiting) >= _DOCUMENTS:
            self._flush()

    def add_bad(self, reason: str) -> None:
        """A document that could not be read."""
        self._bad.append((self.documents, reason))
        self.documents += 1

    @property
    def bad(self) -> int:
        """How many could not be read."""
        return len(self._bad)

    def scan(self) -> pl.LazyFrame:
        """The rows of all vectors, and one with `bad` for each document that could not be read."""
        self._flush()
        bad = pl.DataFrame(self._bad, schema={"row": pl.UInt64, "bad": pl.String}, orient="row")
        self._write(bad.with_columns(pl.lit(None, TERMS.schema[name]).alias(name) for name in TERMS.schema))
        rows = pl.scan_parquet(self._parts, glob=False)
        return rows if self.owned else rows.drop(TERMS.owner)

    @cached_property
    def _lexicon(self) -> Lexicon:
        return taxonomies.load(taxonomies.WORDNET).lexicon

    def _flush(self) -> None:
        if not self._waiting:
            return
        schema = {"row": pl.UInt64, TERMS.subject: pl.String, "text": pl.String, TERMS.owner: pl.String}
        documents = pl.DataFrame(self._waiting, schema=schema, orient="row")
        self._waiting, self._letters = [], 0
        counted = self._counted(documents.select("row", "text"))
        known = counted.group_by("row").agg(known=pl.col("n").filter("known").sum(), words=pl.col("n").sum())
        strange = (pl.col("words") >= _TELLING) & (pl.col("known") < LEAST_KNOWN * pl.col("words"))
        self.foreign += 0 if self._all else known.filter(strange).height
        rows = self._weighted(counted)
        self.vectors += rows["row"].n_unique()
        self.rows += rows.height
        named = rows.join(documents.drop("text"), on="row", maintain_order="left")
        self._write(named.with_columns(bad=pl.lit(None, pl.String)))

    def _counted(self, texts: pl.DataFrame) -> pl.DataFrame:
        """row, piece, n, base (null where it is no term), and whether the piece is known, for all words of letters."""
        words = texts.lazy().select("row", pieces(pl.col("text")).alias("piece")).explode("piece").drop_nulls()
        counted = words.filter(~pl.col("piece").str.contains(r"\p{N}")).group_by("row", "piece").len("n").collect()
        distinct = counted.select(pl.col("piece").unique())
        stop = pl.col("piece").is_in(sorted(language(ENGLISH).stop_words))
        long = pl.min_horizontal(pl.col("piece", "base").str.len_chars()) >= self._min_length
        whole = pl.when(pl.col("piece").str.len_chars() >= self._min_length).then("piece")
        bases = distinct.with_columns(self._lexicon.bases(distinct["piece"]).alias("base"))
        bases = bases.with_columns(pl.when(long).then("base").alias("base")).select(
            "piece",
            pl.when(~stop).then(pl.coalesce("base", whole) if self._all else "base").alias("base"),
            (stop | pl.col("base").is_not_null()).alias("known"),
        )
        return counted.join(bases, on="piece")

    def _weighted(self, counted: pl.DataFrame) -> pl.DataFrame:
        """row, term and weight of the most frequent terms."""
        kept = counted.drop_nulls("base").group_by("row", pl.col("base").alias(TERMS.item)).agg(pl.col("n").sum())
        weights = kept.with_columns((pl.col("n") / pl.col("n").sum().over("row")).alias(TERMS.weight))
        ordered = weights.sort("row", "n", TERMS.item, descending=[False, True, False])
        return ordered.filter(pl.int_range(pl.len()).over("row") < self._terms).drop("n")

    def _write(self, rows: pl.DataFrame) -> None:
        path = self._folder / f"vectors-{len(self._parts):06}.parquet"
        rows.select(_COLUMNS).cast(_SCHEMA).write_parquet(path)  # type: ignore[arg-type]
        self._parts.append(str(path))
