"""Trees from what people have: tables of paths, tables of parents, dumps of the Open Directory.

    built = build(["google_product_taxonomy.txt"], name="google")
    taxonomies.write(built.tree, Path("google.npz"))

Sources are read line by line, from files that may be compressed. Categories are numbered by depth and then by path, so
that the order of lines does not matter. Messages name files and lines.

Tables of paths: one per line, `Top/Arts/Movies` or `Media > Books`, then optionally the number of pages and titles,
separated by tabs (or commas in a .csv). A header may name the columns: path, count, title. Several lines may have one
path: their numbers are added. Lines that begin with # are left out, and so are numbers before a path (`784 - Media >
Books`).

Tables of parents: a header with id, parent and label, as in the IAB's tables; a root has no parent, or is its own (the
IAB has both in one table). Also count and title.

Dumps of the Open Directory (DMOZ, Curlie), `structure.rdf.u8` and `content.rdf.u8`, are read tag by tag, because they
are gigabytes in size and not always well-formed XML. The structure names the categories and describes them; the content
lists pages, whose titles and number tell what a category is about. Either file alone will do.

Which categories a word means, where nobody ranked them: an imitation of the Open Directory's search (paper 003).

A category is a text: its label, and where they are known its description and the titles of its pages. Categories are
ranked for a word by BM25, equal ones by their number of pages, those below them included. A label of several words
means the categories that are called that. Words are stems; stop words are left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import chain, islice
from pathlib import Path

import numpy as np
import polars as pl

from coterie.core.arrays import Ints, Short, offsets
from coterie.core.files import byte_lines, expand, head
from coterie.errors import InputError, ParameterError
from coterie.taxonomies import NO_ROOT, Taxonomy, by_depth, depths, totals
from coterie.taxonomies.lexicon import Lexicon
from coterie.text.language import ENGLISH, language
from coterie.text.words import pieces

_BATCH = 200_000  # titles that are taken apart at once
_ROOT = "root"  # the label of a root that the source does not have
_TOP = "Top"  # the root of the Open Directory
MOST = 10
"""Categories that are kept for a word."""
_LABEL_WEIGHT = 10  # a category's name tells more than the title of one of its pages
_K1, _B = 1.2, 0.75
_ENGLISH = language(ENGLISH)  # the only language whose taxonomies we have
_UNIT = 1e6  # scores are whole numbers, so that no rank depends on the order in which they are added
_TAG = re.compile(
    rb'<(Topic) r:id="([^"]*)"|<(/Topic)()|<(ExternalPage)()|<(d:Title)>([^<]*)|<(d:Description)>([^<]*)|'
    rb"<(topic)>([^<]*)</topic>"
)
_BAD = 0.01  # share of lines in a wrong encoding from which the file is refused
_NAMES = {
    "path": ("path", "category", "topic"),
    "id": ("id", "uniqueid"),
    "parent": ("parent", "parentid"),
    "label": ("label", "name"),
    "pages": ("count", "pages", "n"),
    "title": ("title", "titles", "text"),
}
_HEADER_LINES = 5  # the IAB's tables have a line above the header
_SAMPLE = 1000  # lines that tell what separates the parts of a path
_NUMBER = re.compile(r"^\d+ - ")

Row = tuple[int, list[str]]
Columns = dict[str, int]
"""Where a table has what; what it lacks is not there."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A tree, and what was done to make it one."""

    tree: Taxonomy
    notes: tuple[str, ...]


class Categories:
    """The categories of a source, as they come: by path, or by name and parent."""

    def __init__(self, without: Iterable[str] = ()) -> None:
        self.without = dict.fromkeys(without, 0)
        self.keys: list[tuple[str, ...]] = []
        """What categories of one depth are sorted by."""
        self.labels: list[str] = []
        self.pages: list[int] = []
        self.parent: list[int] = []
        self._number: dict[tuple[str, ...], int] = {}
        self._titled: list[int] = []
        self._titles: list[str] = []
        self._stems: list[pl.DataFrame] = []

    def add_path(self, path: Sequence[str], pages: int = 0, title: str | None = None) -> int | None:
        """A category by the labels from the root to it, and what is above it; its number, or None if left out."""
        labels = tuple(filter(None, map(tidy, path)))
        inner = labels[1:] if labels[:1] == (_TOP,) else labels
        if not labels or (inner and self._left_out(inner[0])):
            return None
        number = self._at(labels)
        self.pages[number] += pages
        self.add_title(number, title)
        return number

    def add(self, key: tuple[str, ...], label: str, pages: int = 0) -> int:
        """A category whose parent is said later; its number."""
        self.keys.append(key)
        self.labels.append(label)
        self.pages.append(pages)
        self.parent.append(-1)
        return len(self.labels) - 1

    def add_title(self, number: int, title: str | None) -> None:
        """The title of a page of a category, or its description."""
        if title:
            self._titled.append(number)
            self._titles.append(title)
            if len(self._titles) == _BATCH:
                self._take_apart()

    def stems(self) -> pl.DataFrame:
        """category, stem, n: how often titles of a category have a stem."""
        self._take_apart()
        return pl.concat(self._stems).group_by("category", "stem").agg(pl.col("n").sum())

    def _at(self, labels: tuple[str, ...]) -> int:
        missing = []
        while labels and labels not in self._number:
            missing.append(labels)
            labels = labels[:-1]
        number = self._number[labels] if labels else -1
        for each in reversed(missing):
            above, number = number, self.add(each, each[-1])
            self._number[each], self.parent[number] = number, above
        return number

    def _left_out(self, name: str) -> bool:
        if name not in self.without:
            return False
        self.without[name] += 1
        return True

    def _take_apart(self) -> None:
        counted = stemmed(np.array(self._titled, dtype=np.int64), pl.Series(self._titles, dtype=pl.String))
        self._stems.append(counted.group_by("category", "stem").agg(pl.len().cast(pl.Int64).alias("n")))
        self._titled, self._titles = [], []


def tidy(label: str) -> str:
    """A label with single spaces, also for the Open Directory's underscores."""
    return " ".join(label.replace("_", " ").split())


def build(
    sources: Sequence[str | Path],
    *,
    name: str,
    without: Sequence[str] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Built:
    """The tree in files: a table, or the structure and content files of the Open Directory.

    `without`: first-level categories to leave out, such as World. `separator`: what stands between the parts of a path;
    else ` > ` or `/`, whichever is there.
    """
    paths = expand(sources)
    categories = Categories(without)
    notes: list[str] = []
    dumps = [_is_dump(path) for path in paths]
    if any(dumps):
        if not all(dumps):
            raise InputError("A dump of the Open Directory and a table cannot be one taxonomy: give one of them.")
        for path in paths:
            notes += _read_dump(path, categories, encoding)
    elif len(paths) > 1:
        raise InputError("Several files make a taxonomy only if they are a dump of the Open Directory; give one table.")
    else:
        notes += _read_table(paths[0], categories, separator, encoding)
    missing = [branch for branch, count in categories.without.items() if not count]
    if missing:
        raise ParameterError(
            f"There is no first-level category {missing[0]} that could be left out: check its spelling."
        )
    if len(categories.labels) == 1:
        raise InputError("There is nothing in it but a root. A taxonomy has categories below its root.")
    return from_categories(categories, name, notes)


def from_categories(categories: Categories, name: str, notes: Sequence[str] = ()) -> Built:
    """Join roots, number by depth, and rank what words mean."""
    if not categories.labels:
        raise InputError("There are no categories in it. A taxonomy is a table of paths or of parents, or an ODP dump.")
    keys, labels, pages, said = [*categories.keys], [*categories.labels], [*categories.pages], [*notes]
    parent = np.array(categories.parent, dtype=np.int64)
    roots = np.flatnonzero(parent < 0)
    if roots.size > 1:
        said.append(f"It has {roots.size:,} roots; they were joined under one.")
        parent[roots] = len(labels)
        parent = np.append(parent, -1)
        keys.append(())
        labels.append(_ROOT)
        pages.append(0)
    order, above = _numbered(parent, keys)
    titles = categories.stems()
    titles = titles.with_columns(category=np.argsort(order).astype(np.int32)[titles["category"].to_numpy()])
    sorted_labels = pl.Series("text", [labels[i] for i in order.tolist()], dtype=pl.String)
    lexicon = ranked_lexicon(sorted_labels, totals(above, np.array(pages, dtype=np.int64)[order]), titles)
    tree = Taxonomy(name=name, parent=above, labels=sorted_labels, lexicon=lexicon)
    return Built(tree=tree, notes=tuple(said))


def _numbered(parent: Ints, keys: Sequence[tuple[str, ...]]) -> tuple[Ints, Short]:
    """The numbering by depth, within a depth by key."""
    sorted_ = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    above = parent[sorted_]
    order, numbers = by_depth(np.where(above < 0, -1, np.argsort(sorted_)[above]))
    return sorted_[order], numbers


def stemmed(category: Ints, text: pl.Series) -> pl.DataFrame:
    """The stems in texts about categories, in their order: category, stem."""
    table = pl.DataFrame({"category": category.astype(np.int32), "piece": text})
    table = table.with_columns(pieces(pl.col("piece"))).explode("piece", empty_as_null=False, keep_nulls=False)
    table = table.filter(~pl.col("piece").is_in(sorted(_ENGLISH.stop_words)))
    distinct = table.select(pl.col("piece").unique(maintain_order=True))
    distinct = distinct.with_columns(stem=_ENGLISH.stems(distinct["piece"]))
    return table.join(distinct, on="piece", how="left", maintain_order="left").select("category", "stem")


def ranked_lexicon(labels: pl.Series, pages: Ints, titles: pl.DataFrame) -> Lexicon:
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


def _is_dump(path: Path) -> bool:
    """Whether a file looks like a dump: by its first lines."""
    return any("<RDF" in line for line in head(path)[:20])


def _read_dump(path: Path, categories: Categories, encoding: str) -> list[str]:
    """Add the categories of a file; what there is to say about it."""
    check(encoding)
    lines = bad = 0
    category, title = "", ""
    for _, raw in byte_lines(path):
        found = [next(pair for pair in zip(tag[::2], tag[1::2], strict=True) if pair[0]) for tag in _TAG.findall(raw)]
        if not found:
            continue
        lines += 1
        try:
            tags = [(name, unescape(text.decode(encoding))) for name, text in found]
        except UnicodeError:
            bad += 1
            continue
        for name, text in tags:
            if name == b"Topic":
                category, title = text, ""
                categories.add_path(category.split("/"))
            elif name == b"/Topic":
                category = ""
            elif name == b"ExternalPage":
                category = title = ""
            elif name == b"d:Title":
                title = text
            elif name == b"d:Description" and category:
                categories.add_path(category.split("/"), title=text)
            elif name == b"topic":
                categories.add_path(text.split("/"), pages=1, title=title)
    if bad > _BAD * lines:
        raise InputError(
            f"{path.name}: {bad:,} lines are not in the encoding {encoding}. Say which it is: --encoding latin-1"
        )
    return [f"{path.name}: {bad:,} lines are not in the encoding {encoding} and were left out."] if bad else []


def _read_table(path: Path, categories: Categories, separator: str | None, encoding: str) -> list[str]:
    """Add the categories of a table; what there is to say about it."""
    rows = _rows(path, encoding)
    first = list(islice(rows, _HEADER_LINES))
    columns, header = _columns(first)
    rows = chain(first[header:], rows)
    if "path" not in columns:
        return _read_parents(rows, columns, categories, path.name)
    sample = list(islice(rows, _SAMPLE))
    if separator is None:
        separator = " > " if any(" > " in _cell(row, columns, "path") for _, row in sample) else "/"
    named = set()
    for line, row in chain(sample, rows):
        where = _cell(row, columns, "path")
        if separator == " > ":
            where = _NUMBER.sub("", where, count=1)
        pages, title = _pages(row, columns, path.name, line), _cell(row, columns, "title")
        named.add(categories.add_path(where.split(separator), pages, title))
    if not header and len(categories.labels) > 1 and all(parent < 0 for parent in categories.parent):
        return [f"No category is below another: no path has {separator!r} in it. Name what is there with --separator."]
    added = len(categories.labels) - len(named - {None})
    return [f"{added:,} categories are only named as a part of others; they were added."] if added else []


def _read_parents(rows: Iterable[Row], columns: Columns, categories: Categories, name: str) -> list[str]:
    if categories.without:
        raise ParameterError(
            "Categories can be left out of paths and dumps only: take them out of the table of parents."
        )
    number: dict[str, int] = {}
    above: list[tuple[int, str]] = []
    for line, row in rows:
        own, label = _cell(row, columns, "id"), tidy(_cell(row, columns, "label"))
        if not own or not label:
            raise InputError(f"{name} line {line} has no {'label' if own else 'id'}: every category needs both.")
        if own in number:
            raise InputError(f"{name} line {line} has an id that another line has too: give each category its own.")
        number[own] = categories.add((label, own), label, _pages(row, columns, name, line))
        categories.add_title(number[own], _cell(row, columns, "title"))
        parent = _cell(row, columns, "parent")
        above.append((line, "" if parent == own else parent))
    missing = [line for line, parent in above if parent and parent not in number]
    if missing:
        raise InputError(
            f"{name}: {len(missing):,} categories have a parent that is not in the table, the first in line "
            f"{missing[0]}. Add the parents, or leave the parent empty for a root."
        )
    categories.parent[:] = [number[parent] if parent else -1 for _, parent in above]
    circling = np.flatnonzero(depths(np.array(categories.parent, dtype=np.int64)) == NO_ROOT)
    if circling.size:
        raise InputError(
            f"{name}: the parents form a cycle, so that {circling.size:,} categories are not below any root, the first "
            f"in line {above[circling[0]][0]}. Leave the parent empty for a root."
        )
    return []


def _columns(rows: list[Row]) -> tuple[Columns, int]:
    """What the columns are, and how many rows at the top are not categories."""
    for at, (_, row) in enumerate(rows):
        cells = [re.sub(r"[\s_]", "", cell).lower() for cell in row]
        places = {what: [cells.index(name) for name in names if name in cells] for what, names in _NAMES.items()}
        columns = {what: found[0] for what, found in places.items() if found}
        if {"id", "parent", "label"} <= columns.keys():
            return {what: place for what, place in columns.items() if what != "path"}, at + 1
        if at == 0 and "path" in columns:
            return columns, 1
    # No header: a path, then a number, then titles.
    width = max((len(row) for _, row in rows), default=0)
    if width > 1 and not next(row[1] for _, row in rows if len(row) > 1).strip().isdigit():
        return {"path": 0, "title": 1}, 0
    return {what: place for place, what in enumerate(("path", "pages", "title")) if place < max(width, 1)}, 0


def _rows(path: Path, encoding: str) -> Iterator[Row]:
    """The cells of each line that is not blank."""
    lines = text_lines(path, encoding)
    if ".csv" not in path.suffixes:
        for number, line in lines:
            if line.strip() and not line.startswith("#"):
                yield number, [cell.strip() for cell in line.split("\t")]
        return
    reader = csv.reader(line + "\n" for _, line in lines)
    try:
        for row in reader:
            if any(row) and not row[0].startswith("#"):
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error:
        raise InputError(f"{path.name} line {reader.line_num} is not csv: check its quotes.") from None


def _cell(row: list[str], columns: Columns, what: str) -> str:
    return row[columns[what]] if what in columns and columns[what] < len(row) else ""


def _pages(row: list[str], columns: Columns, name: str, line: int) -> int:
    """The number of pages of a row: its count, else one for each title."""
    text = _cell(row, columns, "pages")
    if not text:
        return int(bool(_cell(row, columns, "title")))
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise InputError(f"{name} line {line}: the number of pages is not a whole number: write digits only.")
    return int(text)


def text_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line, without its end."""
    check(encoding)
    for number, line in byte_lines(path):
        if b"\0" in line:
            raise InputError(f"{path.name} line {number} is not text. Save the table as UTF-8 text.")
        try:
            yield number, line.decode(encoding).rstrip("\r\n")
        except UnicodeError:
            raise InputError(
                f"{path.name} line {number} is not in the encoding {encoding}. Say which it is: --encoding latin-1"
            ) from None


def check(encoding: str) -> None:
    """Raise ParameterError for an unknown encoding."""
    try:
        "text".encode(encoding)
    except (LookupError, ValueError):  # also of codecs that are not encodings of text, such as hex
        raise ParameterError(
            "There is no such encoding. Known ones are utf-8, latin-1 and cp1252, for example."
        ) from None
