"""Taxonomies: knowledge bases as one tree of concepts, and the concepts that queries speak of.

    tree = taxonomies.load("wordnet")                   # or the path of a file made by `coterie taxonomy build`
    classified = tree.classify(queries, categories=5)   # distinct queries -> ranked concepts
    tree.ancestor_at(5)[classified.terms["concept"]]    # their categories at depth 5

Concepts are an array of parents, numbered by depth: the root is 0, and a level follows the one above it. `describe`
and `cover` tell what is in a tree and how much of a log it covers, by numbers only: name, key, value, unit.

`lexicon` finds words in a tree; `build` makes trees of tables and of dumps of the Open Directory.

Trees lie in files: a zip of NumPy arrays (.npz) that holds no code. docs/taxonomies.md describes the format.

WordNet 3.0's nouns as a tree (paper 001): each synset has its first hypernym as parent, the root is `entity`. The
arrays in `data/wordnet.npz` are made by `tools/build_wordnet.py`; Princeton's licence stands beside them. A noun means
its senses in WordNet's order, the most frequent first. Plurals are reduced as in WordNet: irregular ones by its list,
others by their endings.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.arrays import Flags, Floats, Ints, Short, offsets
from coterie.core.log import Log
from coterie.core.scores import score_table
from coterie.errors import InputError, MissingError, ParameterError
from coterie.taxonomies.lexicon import Lexicon, Unit, expand

WORDNET = "wordnet"
"""The taxonomy that comes with the package."""
NO_ROOT = -1
"""The depth of what is not below any root."""
_NUMBERED = r" \(\d+\)$"
FORMAT = "coterie taxonomy"
VERSION = 1

MOST_BYTES = 1 << 32
"""Bytes of all arrays; WordNet has 6 million, the Open Directory some hundred million."""
MOST_UNPACKED, MOST_TIMES = 1 << 26, 100
"""Bytes that they may always have, and how many times the size of the file beyond."""

_NUMBERS = ("parent", "form_size", "form_words", "sense_size", "senses", "irregular_base")
_TEXTS = ("about", "labels", "words", "irregular")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Taxonomy:
    """A tree of concepts, numbered by depth (the root is 0), and the words that mean them."""

    name: str
    parent: Short
    """The parent of each concept, -1 for the root; smaller than the concept."""
    labels: pl.Series
    lexicon: Lexicon

    def __repr__(self) -> str:
        return f"<Taxonomy {self.name}: {len(self):,} concepts, depth {self.height}>"

    def __len__(self) -> int:
        return self.parent.size

    @cached_property
    def _level_start(self) -> Ints:
        return level_starts(self.parent)

    @cached_property
    def depth(self) -> Short:
        """The depth of each concept; 0 for the root."""
        return np.repeat(np.arange(self.height + 1, dtype=np.int32), np.diff(self._level_start))

    @property
    def height(self) -> int:
        """The depth of the deepest concept."""
        return self._level_start.size - 2

    @cached_property
    def leaves(self) -> Short:
        """The number of leaves at or below each concept; 1 for a leaf."""
        childless = np.bincount(self.parent[1:], minlength=len(self)) == 0
        return totals(self.parent, childless.astype(np.int64)).astype(np.int32)

    @cached_property
    def children(self) -> tuple[Ints, Short]:
        """(start, child): the children of concept c, ascending, are child[start[c]:start[c + 1]]."""
        start = offsets(np.bincount(self.parent[1:], minlength=len(self)))
        return start, (np.argsort(self.parent[1:], kind="stable") + 1).astype(np.int32)

    @cached_property
    def names(self) -> pl.Series:
        """A name for each concept that no other has: its label, with a number where several have it: `bank (2)`."""
        numbered = pl.DataFrame({"label": self.labels}).select(
            pl.when(pl.col("label").is_unique() & ~pl.col("label").str.contains(_NUMBERED))
            .then("label")
            .otherwise(pl.format("{} ({})", "label", pl.int_range(1, pl.len() + 1).over("label")))
            .alias("name")
        )
        return numbered["name"]

    def ancestor_at(self, level: int) -> Short:
        """For each concept its ancestor (or itself) at a depth, -1 for concepts above it."""
        if level < 0:
            raise ParameterError("A level of a taxonomy is a number from 0, the root.")
        result = np.full(len(self), -1, dtype=np.int32)
        starts = self._level_start.tolist()
        if level > self.height:
            return result
        result[starts[level] : starts[level + 1]] = np.arange(starts[level], starts[level + 1])
        for start, end in zip(starts[level + 1 :], starts[level + 2 :], strict=False):
            result[start:end] = result[self.parent[start:end]]
        return result

    def cut(self, level: int) -> Short:
        """For each concept its ancestor at a depth, or itself if it is not deeper."""
        above = self.ancestor_at(level)
        return np.where(above >= 0, above, np.arange(len(self), dtype=np.int32))

    def words_below(self, label: str) -> pl.Series:
        """The single words that most likely mean a concept with this label, or one below it."""
        below = (self.labels.str.to_lowercase() == label.lower()).to_numpy().copy()
        if not below.any():
            raise ParameterError(f"The taxonomy {self.name} has no concept {label!r}: check its spelling.")
        for start, end in pairwise(self._level_start[1:]):  # a level after that of its parents
            below[start:end] |= below[self.parent[start:end]]
        lexicon = self.lexicon
        meant = below[lexicon.senses[lexicon.sense_start[:-1]]] & (np.diff(lexicon.form_start) == 1)
        return lexicon.words.gather(lexicon.form_words[lexicon.form_start[:-1][meant]]).unique().sort()

    def path(self, concept: int) -> list[str]:
        """The labels from below the root to a concept."""
        labels = []
        while concept > 0:
            labels.append(self.labels[concept])
            concept = int(self.parent[concept])
        return labels[::-1]

    def classify(
        self,
        queries: pl.Series,
        *,
        unit: Unit = "term",
        categories: int = 1,
        stop_words: bool = True,
        phrases: bool = True,
    ) -> Classification:
        """The concepts of queries; give distinct ones.

        `unit`: each term on its own, or the query as a whole (see `lexicon`). `categories`: at most this many concepts
        for a term, the likeliest first. `stop_words`: whether these are left out. `phrases`: whether a term may have
        several words.
        """
        if categories < 1:
            raise ParameterError("categories must be at least 1.")
        terms = self.lexicon.look_up(queries, unit=unit, stop_words=stop_words, phrases=phrases)
        with_form = terms.form >= 0
        first = self.lexicon.sense_start[terms.form[with_form]]
        size = np.minimum(self.lexicon.sense_start[terms.form[with_form] + 1] - first, categories)
        term, place = expand(first, size)
        table = pl.DataFrame({
            "query": terms.query[with_form][term],
            "term": terms.word[with_form][term],
            "words": terms.width[with_form][term],
            "concept": self.lexicon.senses[place],
            "rank": (place - first[term]).astype(np.int32),
        })  # fmt: skip
        n_terms = np.bincount(terms.query, minlength=len(queries)).astype(np.int32)
        return Classification(terms=table, n_terms=n_terms)

    def coverage(self, classified: Classification, events: NDArray[np.integer] | None = None) -> pl.DataFrame:
        """How far down the tree terms and queries are classified (paper 003, figure 2).

        Rows level, terms, queries: the share of terms, and of queries with such a term, one of whose concepts is at
        that depth or below. `events`: how often each query was asked; without it each counts once.
        """
        weight = np.ones(classified.n_terms.size, dtype=np.int64) if events is None else events.astype(np.int64)
        depth, query = self.depth[classified.terms["concept"].to_numpy()], classified.terms["query"].to_numpy()
        first = np.flatnonzero(classified.terms["rank"].to_numpy() == 0)
        # Terms begin with their likeliest concept, queries with their first term.
        opening = np.flatnonzero(np.diff(query, prepend=-1))

        def share(starts: Ints, total: np.int64) -> Floats:
            deepest = np.maximum.reduceat(depth, starts) if starts.size else depth
            counted = np.bincount(deepest, weight[query[starts]], minlength=self.height + 1)
            reached: Floats = counted[::-1].cumsum()[::-1]
            return reached / max(int(total), 1)

        return pl.DataFrame({
            "level": np.arange(self.height + 1),
            "terms": share(first, (classified.n_terms * weight).sum()),
            "queries": share(opening, weight.sum()),
        })  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Classification:
    """The concepts of queries. Queries and words have the numbers of their positions, from 0."""

    terms: pl.DataFrame
    """query, term (the word it begins with), words (how many it covers), concept, rank (0 is the likeliest); by query,
    term and rank. Terms without a concept are not there."""
    n_terms: Short
    """The number of terms of each query, with and without concept; stop words that were left out do not count."""

    def __repr__(self) -> str:
        return f"<Classification: {self.n_terms.size:,} queries, {self.terms.height:,} concepts>"

    @property
    def query(self) -> Short:
        """The query of each line of `terms`."""
        return self.terms["query"].to_numpy()

    @cached_property
    def mapped(self) -> Flags:
        """Which queries have a concept."""
        result = np.zeros(self.n_terms.size, dtype=np.bool_)
        result[self.query] = True
        return result

    def unmapped_share(self, events: NDArray[np.integer] | None = None) -> float:
        """The share of queries without any concept, 0..1; with `events`, of the times they were asked."""
        weight = np.ones(self.mapped.size, dtype=np.int64) if events is None else events
        return float(weight[~self.mapped].sum() / max(weight.sum(), 1))


def load(source: str | Path) -> Taxonomy:
    """The taxonomy `wordnet`, or one from a packed file. Read once; another file at the same path is read again."""
    if str(source) == WORDNET:
        return _wordnet()
    path = Path(source).absolute()
    try:
        state = path.stat()
    except OSError:
        state = None
    return _packed(path, None if state is None else (state.st_mtime_ns, state.st_size))


def public_name(source: str) -> str:
    """What a promise says about which taxonomy it is: the name of one that has a name, the digest of a file."""
    return source if source == WORDNET else "sha256:" + hashlib.sha256(Path(source).read_bytes()).hexdigest()


def own_file(source: str) -> dict[str, pl.LazyFrame]:
    """For the private record: where a taxonomy without a name is stored."""
    return {} if source == WORDNET else {"taxonomy": pl.LazyFrame({"path": [str(Path(source).absolute())]})}


def promised(name: str, paths: Sequence[str]) -> Taxonomy | None:
    """The taxonomy that a promise names; None where it is a file and none of `paths`, which a record tells, is it."""
    if name == WORDNET:
        return load(WORDNET)
    return next((load(path) for path in paths if _is_file_named(path, name)), None)


def _is_file_named(path: str, name: str) -> bool:
    try:
        return Path(path).is_file() and public_name(path) == name
    except (OSError, ValueError):  # a path that no file can have, or one that we may not read
        return False


@lru_cache(maxsize=1)
def _wordnet() -> Taxonomy:
    # The package may lie in a zip, as on some workers of a cluster.
    with as_file(files(__package__) / "data" / "wordnet.npz") as path:
        return read(path)


@lru_cache(maxsize=4)
def _packed(path: Path, _state: tuple[int, int] | None) -> Taxonomy:
    return read(path)


def by_depth(parent: Ints) -> tuple[Ints, Short]:
    """Number a tree by depth, within a depth as given: (old numbers in the new order, new parents).

    `parent` holds old numbers, -1 for the one root.
    """
    depth = depths(parent)
    if (depth == NO_ROOT).any():
        raise InputError(f"The parents form a cycle: {(depth == NO_ROOT).sum():,} categories are not below any root.")
    order = np.argsort(depth, kind="stable")
    new = np.argsort(order)
    above = parent[order]
    return order, np.where(above < 0, -1, new[above]).astype(np.int32)


def depths(parent: Ints) -> Ints:
    """The depth of each category, NO_ROOT for those in a cycle of parents and below one."""
    depth = np.where(parent < 0, 0, NO_ROOT)
    ancestor, steps = parent.copy(), 0
    while (open_ := np.flatnonzero(depth == NO_ROOT)).size:
        steps += 1
        placed = depth[ancestor[open_]] >= 0
        if not placed.any():
            break
        depth[open_[placed]] = depth[ancestor[open_[placed]]] + steps
        ancestor[open_[~placed]] = parent[ancestor[open_[~placed]]]
    return depth


def level_starts(parent: Short) -> Ints:
    """Where the concepts of each depth begin, and the end."""
    # The parents of one level are below its first concept, those of the next level are not.
    largest = np.maximum.accumulate(parent)
    starts = [0, 1]
    while starts[-1] < parent.size:
        starts.append(int(np.searchsorted(largest, starts[-1])))
    return np.array(starts)


def totals(parent: Short, numbers: Ints) -> Ints:
    """The sum of the numbers at and below each concept."""
    result = numbers.copy()
    starts = level_starts(parent).tolist()
    for start, end in reversed([*pairwise(starts[1:])]):
        np.add.at(result, parent[start:end], result[start:end])
    return result


def describe(tree: Taxonomy) -> pl.DataFrame:
    """The size of a taxonomy."""
    lexicon = tree.lexicon
    rows = [
        ("taxonomy", "concepts", len(tree), "concepts"),
        ("taxonomy", "leaves", int(tree.leaves[0]), "concepts"),
        ("taxonomy", "depth", tree.height, "levels"),
        ("taxonomy", "words", len(lexicon.words), "words"),
        ("taxonomy", "forms", lexicon.form_start.size - 1, "forms"),
        ("taxonomy", "senses", lexicon.senses.size, "senses"),
    ]
    sizes = np.bincount(tree.depth).tolist()
    rows += [("taxonomy", f"level_{level}", size, "concepts") for level, size in enumerate(sizes)]
    return score_table(rows)


def cover(log: Log, tree: Taxonomy, *, unit: Unit = "term", categories: int = 1, phrases: bool = True) -> pl.DataFrame:
    """How much of a log a taxonomy knows, and down to which level (paper 003, figure 2)."""
    item = pl.col(log.shape.item).alias("item")
    counted = log.frame.select(item).drop_nulls().group_by("item").len("rows").collect(engine="streaming").sort("item")
    rows = counted["rows"].to_numpy().astype(np.int64)
    classified = tree.classify(counted["item"], unit=unit, categories=categories, phrases=phrases)
    shares = {
        "unmapped.distinct_queries": classified.unmapped_share(),
        "unmapped.queries": classified.unmapped_share(rows),
    }
    for level, terms, queries in tree.coverage(classified, rows).iter_rows():
        shares |= {f"level_{level}.terms": terms, f"level_{level}.queries": queries}
    return score_table(("coverage", name, 100 * share, "%") for name, share in shares.items())


def write(tree: Taxonomy, path: Path) -> None:
    """Pack a taxonomy. The same taxonomy gives the same bytes."""
    lexicon = tree.lexicon
    about = {"format": FORMAT, "version": VERSION, "name": tree.name, "stemmed": lexicon.stemmed}
    arrays: dict[str, NDArray[Any]] = {
        "about": _text([json.dumps(about, sort_keys=True)]),
        "parent": tree.parent,
        "labels": _text(tree.labels.to_list()),
        "words": _text(lexicon.words.to_list()),
        "form_size": np.diff(lexicon.form_start).astype(np.int32),
        "form_words": lexicon.form_words,
        "sense_size": np.diff(lexicon.sense_start).astype(np.int32),
        "senses": lexicon.senses,
        "irregular": _text(lexicon.irregular["word"].to_list()),
        "irregular_base": lexicon.irregular["base"].to_numpy(),
    }
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def read(path: Path) -> Taxonomy:
    """The taxonomy in a packed file."""
    try:
        _refuse_bomb(path)
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            given = {name: file[name] for name in file.files if name in _NUMBERS + _TEXTS}
    except FileNotFoundError:
        raise MissingError(
            f"There is no taxonomy {path}: give `wordnet` or a file of `coterie taxonomy build`."
        ) from None
    except (OSError, ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error, MemoryError, RuntimeError):
        raise _not_packed(path, "it cannot be read as one") from None
    return _checked(given, path)


def _refuse_bomb(path: Path) -> None:
    """Raise InputError where the arrays of a file would take more memory than those of any taxonomy."""
    with zipfile.ZipFile(path) as file:
        unpacked = sum(entry.file_size for entry in file.infolist())
    if unpacked > MOST_BYTES or unpacked > max(MOST_UNPACKED, MOST_TIMES * path.stat().st_size):
        raise _not_packed(path, f"its arrays would take {unpacked / 2**20:,.0f} MB of memory")


def _checked(given: dict[str, NDArray[Any]], path: Path) -> Taxonomy:
    """The taxonomy of the arrays, none of which is believed."""
    missing = [name for name in _TEXTS + _NUMBERS if name not in given]
    if missing:
        raise _not_packed(path, f"it has no array {missing[0]}")
    for name, array in given.items():
        if array.ndim != 1 or array.dtype != (np.uint8 if name in _TEXTS else np.int32):
            raise _not_packed(path, f"array {name} has type {array.dtype} and {array.ndim} dimensions")
    try:
        about = json.loads(given["about"].tobytes())
        texts = {name: _lines(given[name]) for name in _TEXTS[1:]}
    except ValueError:
        raise _not_packed(path, "its texts are not UTF-8") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise _not_packed(path, "it does not say that it is one")
    if about.get("version") != VERSION:
        raise InputError(f"{path}: packed by another version of Coterie; run `coterie taxonomy build` again.")

    parent, n = given["parent"], given["parent"].size
    n_words, n_forms = len(texts["words"]), given["form_size"].size
    # Numbered by depth: parents come first, and each level's parents before the next level's.
    above = np.arange(n)
    good = {
        "parent": n > 1 and parent[0] == -1 and bool(((parent[1:] >= 0) & (parent[1:] < above[1:])).all()),
        "labels": len(texts["labels"]) == n,
        "words": bool(texts["words"].is_sorted()) and texts["words"].n_unique() == n_words,
        "form_size": _sizes_of(given["form_size"], given["form_words"]),
        "form_words": _within(given["form_words"], n_words),
        "sense_size": given["sense_size"].size == n_forms and _sizes_of(given["sense_size"], given["senses"]),
        "senses": _within(given["senses"], n),
        "irregular": texts["irregular"].n_unique() == len(texts["irregular"]),
        "irregular_base": given["irregular_base"].size == len(texts["irregular"])
        and _within(given["irregular_base"], n_words),
    }  # fmt: skip
    for name, fine in good.items():
        if not fine:
            raise _not_packed(path, f"array {name} does not fit the others")
    lexicon = Lexicon(
        words=texts["words"],
        form_start=offsets(given["form_size"]),
        form_words=given["form_words"],
        sense_start=offsets(given["sense_size"]),
        senses=given["senses"],
        stemmed=bool(about.get("stemmed")),
        irregular=pl.DataFrame({"word": texts["irregular"], "base": given["irregular_base"]}),
    )
    tree = Taxonomy(name=str(about.get("name")), parent=parent, labels=texts["labels"], lexicon=lexicon)
    if not bool((tree.depth[parent[1:]] + 1 == tree.depth[1:]).all()):
        raise _not_packed(path, "its concepts are not numbered by depth")
    return tree


def _sizes_of(sizes: NDArray[Any], values: NDArray[Any]) -> bool:
    """Whether these are the sizes of the pieces that values are in, none of them empty."""
    return bool((sizes > 0).all()) and sizes.sum() == values.size


def _within(numbers: NDArray[Any], limit: int) -> bool:
    return bool(((numbers >= 0) & (numbers < limit)).all())


def _text(lines: list[str]) -> NDArray[np.uint8]:
    """Lines, each ended by a line feed, as UTF-8."""
    return np.frombuffer("".join(line + "\n" for line in lines).encode(), dtype=np.uint8)


def _lines(text: NDArray[np.uint8]) -> pl.Series:
    decoded = text.tobytes().decode()
    return pl.Series("text", decoded.split("\n")[:-1], dtype=pl.String)


def _not_packed(path: Path, reason: str) -> InputError:
    return InputError(f"{path} is not a packed taxonomy: {reason}. Make one with `coterie taxonomy build`.")
