"""Trees in files: a zip of NumPy arrays (.npz) that holds no code. docs/taxonomies.md describes the format.

WordNet 3.0's nouns as a tree (paper 001): each synset has its first hypernym as parent, the root is `entity`.

The arrays in `data/wordnet.npz` are made by `tools/build_wordnet.py`; Princeton's licence stands beside them. A noun
means its senses in WordNet's order, the most frequent first. Plurals are reduced as in WordNet: irregular ones by its
list, others by their endings.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.arrays import offsets
from coterie.errors import InputError, MissingError
from coterie.taxonomies import Taxonomy
from coterie.taxonomies.lexicon import Lexicon

FORMAT = "coterie taxonomy"
VERSION = 1

MOST_BYTES = 1 << 32
"""Bytes of all arrays; WordNet has 6 million, the Open Directory some hundred million."""
MOST_UNPACKED, MOST_TIMES = 1 << 26, 100
"""Bytes that they may always have, and how many times the size of the file beyond."""

_NUMBERS = ("parent", "form_size", "form_words", "sense_size", "senses", "irregular_base")
_TEXTS = ("about", "labels", "words", "irregular")


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


def wordnet() -> Taxonomy:
    """The tree of WordNet 3.0's nouns; the package may lie in a zip, as on some workers of a cluster."""
    with as_file(files(__package__) / "data" / "wordnet.npz") as path:
        return read(path)
