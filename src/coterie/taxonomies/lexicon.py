"""From the words of queries to the concepts of a taxonomy (papers 001, 002 and 003).

The steps, all on arrays:
    1. Queries are split into words, and words into pieces (`text.pieces`); what costs is done once per distinct word.
    2. Pieces become words of the lexicon: as typed and in the singular (WordNet), or as stems (other taxonomies).
    3. Forms of several words are found by walking a trie: one step per word, for all positions at once. Each word
       counts as typed or in the singular; of forms of one length, the one with the longest beginning as typed counts.
    4. `unit = "term"`: from left to right the longest form that begins there; what begins no form is a term without
       concept. `unit = "query"`: the whole query, and words stripped from the left until the rest is a form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from coterie.core.arrays import Flags, Ints, Short, numbered, offsets
from coterie.errors import ParameterError
from coterie.text.language import ENGLISH, language
from coterie.text.words import pieces

Unit = Literal["term", "query"]

UNITS = ("term", "query")
_ENGLISH = language(ENGLISH)  # the only language whose words we can look up
_CHUNK = 1 << 20  # queries that are looked up at once, for the sake of memory
# WordNet's rules for nouns, in its order. At most two fit a word: the first, and one of the others.
_ENDINGS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Lexicon:
    """Forms (sequences of words), and for each the concepts it can mean, the likeliest first."""

    words: pl.Series
    """The distinct words, in byte order; stems if `stemmed`."""
    form_start: Ints
    form_words: Short
    """The words of form f: form_words[form_start[f]:form_start[f + 1]]."""
    sense_start: Ints
    senses: Short
    """The ranked concepts of form f: senses[sense_start[f]:sense_start[f + 1]]."""
    stemmed: bool
    """Whether queries are stemmed; otherwise plurals are reduced as WordNet does."""
    irregular: pl.DataFrame
    """Irregular plurals: word, base (a number of a word); empty if `stemmed`."""

    def __repr__(self) -> str:
        return f"<Lexicon: {len(self.words):,} words, {self.form_start.size - 1:,} forms, {self.senses.size:,} senses>"

    @cached_property
    def _noun(self) -> Flags:
        """Which words are a form on their own."""
        single = np.zeros(len(self.words), dtype=np.bool_)
        single[self.form_words[self.form_start[:-1][np.diff(self.form_start) == 1]]] = True
        return single

    @cached_property
    def _full_trie(self) -> _Trie:
        return _trie(self.form_start, self.form_words, np.arange(self.form_start.size - 1), len(self.words))

    @cached_property
    def _content_trie(self) -> _Trie:
        """The forms without their stop words, as queries are looked up without them."""
        if self.stemmed:
            return self._full_trie  # built without stop words
        kept = ~self.words.is_in(sorted(_ENGLISH.stop_words)).to_numpy()[self.form_words]
        before, start = np.diff(self.form_start), offsets(np.add.reduceat(kept, self.form_start[:-1], dtype=np.int64))
        after = np.diff(start)
        # `out of doors` must not become what `doors` means.
        good = (after == before) | (after > 1)
        # Where two forms become the same, the one that was so before counts: the last, for the trie.
        forms = np.flatnonzero(good)
        forms = forms[np.argsort(after[forms] == before[forms], kind="stable")]
        return _trie(start, self.form_words[kept], forms, len(self.words))

    def bases(self, words: pl.Series) -> pl.Series:
        """For each word the form of one word that it is, or that its plural belongs to; null where there is none."""
        base = np.full(len(words), -1, dtype=np.int32)
        for number in self._numbers(words).T:  # as typed last
            base = np.where(np.append(self._noun, False)[number], number, base)
        return pl.Series(words.name, self.words.gather(np.maximum(base, 0))).set(pl.Series(base < 0), None)

    def look_up(self, queries: pl.Series, *, unit: Unit, stop_words: bool, phrases: bool) -> Terms:
        """The terms of queries, with the form that each is, or -1."""
        if unit not in UNITS:
            raise ParameterError(f"unit must be one of: {', '.join(UNITS)}.")
        parts = []
        for begin in range(0, max(len(queries), 1), _CHUNK):
            terms = self._look_up(queries[begin : begin + _CHUNK], unit, stop_words, phrases)
            parts.append(terms._replace(query=terms.query + np.int32(begin)))
        return Terms(*map(np.concatenate, zip(*parts, strict=True)))

    def _look_up(self, queries: pl.Series, unit: Unit, stop_words: bool, phrases: bool) -> Terms:
        trie = self._content_trie if stop_words else self._full_trie
        at = self._pieces(queries, stop_words)
        longest = None if phrases or unit == "query" else 1
        width, form = _walk(at, trie, longest, whole=unit == "query")
        first = _segments(at, width) if unit == "term" else _suffixes(at, width)
        last = first + np.maximum(width[first], 1) - 1
        if unit == "query":
            last = np.where(form[first] >= 0, last, at.start[at.query[first] + 1] - 1)
        return Terms(at.query[first], at.word[first], at.word[last] - at.word[first] + 1, form[first])

    def _pieces(self, queries: pl.Series, stop_words: bool) -> _Pieces:
        """The pieces of all queries, one after the other."""
        split = queries.cast(pl.String).fill_null("").str.split(" ")
        n_words = split.list.len().to_numpy().astype(np.int64)
        word_start = offsets(n_words)
        number, vocabulary = numbered(split.explode(empty_as_null=False))
        parts = pl.DataFrame({"word": np.arange(len(vocabulary), dtype=np.int32), "piece": vocabulary})
        parts = parts.with_columns(pieces(pl.col("piece"))).explode("piece", empty_as_null=False, keep_nulls=False)
        if stop_words:
            parts = parts.filter(~pl.col("piece").is_in(sorted(_ENGLISH.stop_words)))
        distinct = parts.select(pl.col("piece").unique(maintain_order=True))
        numbers = self._numbers(distinct["piece"])
        parts = parts.join(distinct.with_row_index("at"), on="piece", how="left", maintain_order="left")
        part_start = offsets(np.bincount(parts["word"].to_numpy(), minlength=len(vocabulary)))

        size = np.diff(part_start)[number]
        token, source = expand(part_start[number], size)
        query = np.repeat(np.arange(len(queries), dtype=np.int32), n_words)[token]
        return _Pieces(
            query=query,
            word=(token - word_start[query]).astype(np.int32),
            numbers=numbers[parts["at"].to_numpy()[source]],
            start=offsets(np.bincount(query, minlength=len(queries))),
        )

    def _numbers(self, distinct: pl.Series) -> Short:
        """A line for each piece, with -1 where there is no word: two singulars by ending, one by the list, as typed."""
        vocabulary = pl.DataFrame({"piece": self.words, "number": np.arange(len(self.words), dtype=np.int32)})

        def numbers(texts: pl.Series) -> Short:
            asked = texts.rename("piece").to_frame()
            numbers_found = asked.join(vocabulary, on="piece", how="left", maintain_order="left")["number"]
            return numbers_found.fill_null(-1).to_numpy()

        if self.stemmed:
            return numbers(_ENGLISH.stems(distinct))[:, None]
        found = np.full((len(distinct), 4), -1, dtype=np.int32)
        found[:, 3] = numbers(distinct)
        plurals = distinct.rename("word").to_frame()
        irregular = plurals.join(self.irregular, on="word", how="left", maintain_order="left")["base"]
        found[:, 2] = irregular.fill_null(-1).to_numpy()

        # WordNet leaves short words and words like `glass` alone.
        regular = (distinct.str.len_chars() > 2) & ~distinct.str.ends_with("ss")
        for ending, instead in _ENDINGS:
            plural = (regular & distinct.str.ends_with(ending)).arg_true()
            singular = distinct.gather(plural).str.head(-len(ending)) + instead
            found[plural.to_numpy(), int(ending == "s")] = numbers(singular)
        return found


class Terms(NamedTuple):
    """Terms of queries, by query and position."""

    query: Short
    word: Short
    """The word of the query with which the term begins."""
    width: Short
    """The number of words it covers."""
    form: Ints
    """The form it is, or -1."""


class _Pieces(NamedTuple):
    """The pieces of all queries; those of query q are from start[q] to start[q + 1]."""

    query: Short
    word: Short
    numbers: Short
    """A line for each piece: the words it counts as, the likeliest last; -1 for none."""
    start: Ints


class _Trie(NamedTuple):
    """Forms by their first word, and steps from a state to the next by a word."""

    n_words: int
    single: Ints
    """For each word the form it is, or -1."""
    opens: Flags
    """Which words begin a form of several words."""
    steps: list[tuple[Ints, Ints]]
    """For each further word: sorted keys (state x n_words + word), the form that ends there or -1."""


def _trie(start: Ints, words: Short, forms: Ints, n_words: int) -> _Trie:
    """The trie of some forms; of equal ones the last counts."""
    size = np.diff(start)
    state = words[start[forms]].astype(np.int64)
    single = np.full(n_words, -1, dtype=np.int64)
    single[state[size[forms] == 1]] = forms[size[forms] == 1]
    opens = np.zeros(n_words, dtype=np.bool_)
    opens[state[size[forms] > 1]] = True
    steps: list[tuple[Ints, Ints]] = []
    length = 1
    while True:
        longer = size[forms] > length
        forms, state = forms[longer], state[longer]
        if not forms.size:
            return _Trie(n_words, single, opens, steps)
        keys, state = np.unique(state * n_words + words[start[forms] + length], return_inverse=True)
        length += 1
        ends = np.full(keys.size, -1, dtype=np.int64)
        ends[state[size[forms] == length]] = forms[size[forms] == length]
        steps.append((keys, ends))


def _walk(at: _Pieces, trie: _Trie, longest: int | None, whole: bool) -> tuple[Ints, Ints]:
    """For each position the longest form that begins there: its number of pieces (0 if none) and the form.

    With `whole`, only forms that end where the query ends.
    """
    width, form = np.zeros(at.query.size, dtype=np.int64), np.full(at.query.size, -1, dtype=np.int64)
    end = at.start[at.query + 1]

    def note(position: Ints, forms: Ints, length: int) -> None:
        ends = (forms >= 0) & ((position + length == end[position]) | (not whole))
        width[position[ends]], form[position[ends]] = length, forms[ends]

    # Of several ways from one position the last that is noted stays: that with the longest beginning as typed.
    position, words = _likeliest_last(np.arange(at.query.size), at.numbers)
    state = words.astype(np.int64)
    note(position, trie.single[state], 1)
    position, state = position[trie.opens[state]], state[trie.opens[state]]
    for length, (keys, ends) in enumerate(trie.steps[: None if longest is None else longest - 1], start=2):
        following = position + length - 1
        inside = following < end[position]
        position, following, state = position[inside], following[inside], state[inside]
        way, words = _likeliest_last(np.arange(position.size), at.numbers[following])
        key = state[way] * trie.n_words + words
        place = np.minimum(np.searchsorted(keys, key), keys.size - 1)
        stepped = keys[place] == key
        position, state = position[way[stepped]], place[stepped]
        note(position, ends[state], length)
    return width, form


def _likeliest_last(ways: Ints, numbers: Short) -> tuple[Ints, Short]:
    """Each way once for each word it can go on with."""
    known = numbers >= 0
    return np.repeat(ways, known.sum(axis=1)), numbers[known]


def _segments(at: _Pieces, width: Ints) -> Ints:
    """Where terms begin if each is as long as it can be, from left to right."""
    step = np.maximum(width, 1)
    first = np.zeros(width.size, dtype=np.bool_)
    here, end = at.start[:-1], at.start[1:]
    while True:
        inside = here < end
        here, end = here[inside], end[inside]
        if not here.size:
            return np.flatnonzero(first)
        first[here] = True
        here = here + step[here]


def _suffixes(at: _Pieces, width: Ints) -> Ints:
    """Where the one term of each query begins: at the first form, or where the query begins if there is none."""
    position = np.arange(width.size)
    first = np.full(at.start.size - 1, width.size, dtype=np.int64)
    np.minimum.at(first, at.query[width > 0], position[width > 0])
    first = np.where(first == width.size, at.start[:-1], first)
    return first[np.diff(at.start) > 0]


def expand(start: Ints, size: Ints) -> tuple[Ints, Ints]:
    """For stretches start[i]:start[i] + size[i], one after the other: the stretch, and the place within the source."""
    stretch = np.repeat(np.arange(size.size), size)
    return stretch, np.arange(stretch.size) - (offsets(size)[:-1] - start)[stretch]
