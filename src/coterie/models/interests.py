"""Interests: each user as a vector of what their words mean, and sensitive topics that users have.

    tf-idf       (1 + ln n) · (1 + ln((1 + N) / (1 + N_w))) for the n times that a user has a word, N users, N_w with it
    hosts        the same of the hosts of clicked pages without www., for the n rows in which a user clicked one; words
                 to length 1, hosts to length 1/2, side by side
    LSA          their projection on the directions along which users differ most (kernels/lsa.py): on the first D of
                 them, on the first D/2 and on the first D/4, each to the same length, side by side, length 1
    embedding    mean of word vectors weighted by n and the same idf, minus the mean of all users, length 1
    size         sqrt(w) (cos(f log2 m), sin(f log2 m)) for m rows; f = π / max(10, log2 of the largest m), and
                 w = weight · (π / 10f)², so that users of unlike size are a little less similar: 0.005 for a factor 2

A vector is LSA and size, or LSA / sqrt 2, embedding / sqrt 2 and size, in whole numbers: what is compared later does
not depend on rounding. Words are stems of the pieces of queries (`text/language.py`) without stop words. Directions are
found on at most 50,000 users that the seed chooses, and on the words and hosts that two of them have; a user who has
none of these is known by size alone. Of several words with one stem, the one that most of these users typed stands for
it in a model.

Nothing but numbers of words and hosts leaves the blocks of an engine; the order of rows, blocks and threads changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie import taxonomies
from coterie.core import registry
from coterie.core.arrays import Floats, Ints, Masks, offsets
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.threads import in_threads
from coterie.errors import InputError, ParameterError
from coterie.kernels.grouping import UNIT, Vectors
from coterie.kernels.grouping import load as load_grouping
from coterie.kernels.lsa import Sparse, directions, project, times
from coterie.models.events import PAGE, QUERY, USER
from coterie.models.groups import user_rows
from coterie.models.words import pieces_of, stem_hashes, word_hashes
from coterie.text.hosts import host_of
from coterie.text.language import ENGLISH, Language, language
from coterie.text.words import without_spaces

SAMPLE_USERS = 50_000
MAX_WORDS = 200_000
NO_EMBEDDING = "none"
_HOST_WEIGHT = 0.5  # the length of a user's hosts where that of their words is 1
_SCALES = 3  # each with half the directions of the one before
_FEWEST = 8  # directions of a scale: with fewer, everybody is like half of all others
_SPARE = 16  # directions more than wanted, which make the wanted ones exact
_USERS_AT_ONCE = 20_000
_SIZE_OCTAVES = 10.0
_BEFORE_PATH = r"^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:)?//)?[^/?#]*"
_ENGLISH = language(ENGLISH)
Singles = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class InterestSettings:
    """What vectors depend on besides log and seed."""

    dimensions: int = 128
    hosts: bool = True
    embedding: str = NO_EMBEDDING
    size_weight: float = 0.1
    language: str = ENGLISH


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Interests:
    """Users in the order of their names, a vector for each, and how often each one has each word."""

    users: pl.Series
    vectors: Vectors
    words: pl.LazyFrame
    """user (its place), word (its hash), n."""
    language: Language


def interests(log: Log, run: Run, settings: InterestSettings) -> Interests:
    """The vectors of all users of a log."""
    spoken, uses_model = language(settings.language), settings.embedding != NO_EMBEDDING
    if uses_model:
        _embed(settings.embedding, ["word"])  # better to say now what is missing than after the work
    _load_kernels()
    rows = user_rows(log).select(USER, QUERY, PAGE)
    users = rows.group_by(USER).len("size").collect(engine="streaming").sort(USER)
    users = users.with_row_index("place")
    run.tell(0.1)
    places = users.lazy().select(USER, "place")
    placed = rows.join(places, on=USER)
    words = run.collect(run.map(placed.drop(PAGE), partial(_count_words, spoken=spoken), by=["place"]))
    run.tell(0.5)
    order = np.argsort(run.keys("interests", users[USER]), kind="stable")
    sample = np.sort(order[:SAMPLE_USERS])
    vocabulary = _vocabulary(words, sample, least=1 if uses_model else 2)
    counts = _matrix(words, vocabulary, users.height)
    idf = _idf(counts)
    table = _unit_rows(_tfidf(counts))
    if settings.hosts:
        hosts = run.collect(run.map(placed.drop(QUERY).drop_nulls(PAGE), _count_hosts, by=["place"]))
        clicked = _tfidf(_matrix(hosts, _vocabulary(hosts, sample, least=2), users.height))
        table = _beside(table, _unit_rows(clicked), _HOST_WEIGHT)
    parts = [_lsa(table, sample, settings.dimensions, run)]
    run.tell(0.8)
    if uses_model:
        chosen = rows.join(
            places.join(pl.LazyFrame({"place": sample}, schema={"place": pl.UInt32}), on="place", how="semi"), on=USER
        )
        model = _embed(settings.embedding, _spelled(chosen, vocabulary, spoken))
        parts.append(_means(counts, idf, model))
    parts = [part / np.float32(np.sqrt(len(parts))) for part in parts]
    parts.append(_size_columns(users["size"].to_numpy(), settings.size_weight))
    vectors = np.concatenate([np.rint(part * UNIT).astype(np.int16) for part in parts], axis=1)
    run.tell(0.9)
    return Interests(users=users[USER], vectors=vectors, words=words, language=spoken)


def places_of(interests: Interests, subjects: pl.Series) -> Ints:
    """Where users stand among all of them."""
    places = interests.users.alias("subject").to_frame().with_row_index("place")
    found = subjects.alias("subject").to_frame().join(places, on="subject", maintain_order="left")
    return found["place"].to_numpy().astype(np.int64)


def group_vectors(interests: Interests, members: pl.DataFrame) -> Vectors:
    """The mean vector of each group (subject, group): the product of two is the mean similarity of their members."""
    place, group = places_of(interests, members["subject"]), members["group"].to_numpy().astype(np.int64)
    size = np.bincount(group)
    means = np.empty((size.size, interests.vectors.shape[1]), dtype=np.int16)
    for c in range(means.shape[1]):  # sums of whole numbers, which are exact in any order
        means[:, c] = np.rint(np.bincount(group, weights=interests.vectors[place, c]) / size)
    return means


def read_topics(path: Path, spoken: Language = _ENGLISH) -> list[pl.Series]:
    """The words of each topic of a file: whoever typed one of them, or a word with its stem, has the topic.

    Words that are written without spaces stay whole: whoever typed one, inside whatever text, has the topic.

    A line is a topic, `name: word word` or words alone; `@disease` stands for the words that most likely mean something
    that WordNet has below it (`@physical_condition` for a label of several words); # begins a remark.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError("The file of sensitive topics cannot be read as text: save it as UTF-8.") from None
    topics = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0]
        if not text.strip():
            continue
        written = text.partition(":")[2] if ":" in text else text
        words = pl.select(spoken.runs(pl.lit(_with_branches(written))).explode().alias("word"))["word"].drop_nulls()
        words = words.filter(~words.is_in(sorted(spoken.stop_words)))
        if words.is_empty():  # a topic that guards nothing must not look like one that does
            raise ParameterError(
                f"Line {number} of the file of sensitive topics has no words, or stop words only: add a word, or take "
                "the line out."
            )
        topics.append(words.unique().sort())
    if not topics:
        raise ParameterError("The file of sensitive topics has no words: write one topic per line.")
    return topics


def _with_branches(topic: str) -> str:
    """The words of a topic, branches of WordNet written out."""
    words = []
    for word in topic.split():
        if word.startswith("@"):
            words += taxonomies.load(taxonomies.WORDNET).words_below(word[1:].replace("_", " ")).to_list()
        else:
            words.append(word)
    return " ".join(words)


class TopicOwners(NamedTuple):
    """Which users have which sensitive topics."""

    masks: Masks
    """One bit for each topic that is rare enough, 64 in a column."""
    common: int
    """Topics that enough users have for them to be shared; their bits are 0."""
    unknown: int
    """Topics that nobody has."""


def topic_owners(log: Log, interests: Interests, topics: Sequence[pl.Series], share: float) -> TopicOwners:
    """Who has which of the topics that fewer than `share` of all users have."""
    n = len(interests.users)
    masks = np.zeros((n, 1 + (len(topics) - 1) // 64), dtype=np.uint64)
    common = unknown = 0
    for number, topic in enumerate(topics):
        places = _places_of_owners(log, interests, topic)
        if places.size == 0:
            unknown += 1
        elif places.size >= share * n:
            common += 1
        else:
            masks[places, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return TopicOwners(masks, common, unknown)


def _places_of_owners(log: Log, interests: Interests, topic: pl.Series) -> Ints:
    """The places of the users who have a topic."""
    by_word = interests.words.filter(pl.col("word").is_in(_hashed(interests.language.stems(topic)).implode())).select(
        pl.col("place").unique()
    )
    places = by_word.collect(engine="streaming")["place"].to_numpy().astype(np.int64)
    parts = topic.to_frame("word").filter(without_spaces(pl.col("word")))["word"].to_list()
    if not parts:
        return places
    containing = (
        user_rows(log).filter(interests.language.folded(pl.col(QUERY)).str.contains_any(parts)).select(USER).unique()
    )
    users = interests.users.alias(USER).to_frame().with_row_index("place").lazy()
    by_part = users.join(containing, on=USER, how="semi").collect(engine="streaming")["place"].to_numpy()
    return np.union1d(places, by_part.astype(np.int64))


def _load_kernels() -> None:
    """Compile the kernels, or load them where they are compiled, before threads need them."""
    two = Sparse(np.arange(3), np.arange(2, dtype=np.int32), np.ones(2, dtype=np.float32), 2)
    table = directions(two, np.eye(2)).astype(np.float32)
    project(two, table)
    load_grouping()


def _hashed(words: pl.Series) -> pl.Series:
    return word_hashes(words.alias("word"))


def _count_words(frame: pl.LazyFrame, spoken: Language) -> pl.LazyFrame:
    """place, word (hash of the stem), n of the users in a block."""
    counts = frame.group_by("place", QUERY).len("n").collect(engine="streaming")
    pairs = stem_hashes(counts[QUERY].unique(), spoken).lazy()
    n = pl.col("n").sum().cast(pl.UInt32)
    return counts.lazy().join(pairs, left_on=QUERY, right_on="text").group_by("place", "word").agg(n)


def _count_hosts(frame: pl.LazyFrame) -> pl.LazyFrame:
    """place, word (hash of the host of a clicked page), n of the users in a block."""
    clicks = frame.group_by("place", PAGE).len("n").collect(engine="streaming")
    pages = clicks.select(PAGE).unique().with_columns(pl.col(PAGE).str.extract(_BEFORE_PATH, 0).alias("site"))
    sites = pages["site"].unique()
    hosts = pl.Series("host", [host_of(site).removeprefix("www.") for site in sites.to_list()], dtype=pl.String)
    words = pl.DataFrame([sites, hosts, _hashed(hosts)]).filter(hosts != "")
    of_pages = pages.lazy().join(words.lazy(), on="site").select(PAGE, "word")
    n = pl.col("n").sum().cast(pl.UInt32)
    return clicks.lazy().join(of_pages, on=PAGE).group_by("place", "word").agg(n)


def _vocabulary(words: pl.LazyFrame, sample: Ints, least: int) -> pl.DataFrame:
    """word, column: the words that at least `least` users of the sample have; of too many, those with most users."""
    chosen = words.join(pl.LazyFrame({"place": sample}, schema={"place": pl.UInt32}), on="place", how="semi")
    common = chosen.group_by("word").len("users").filter(pl.col("users") >= least).collect(engine="streaming")
    kept = common.sort("users", "word", descending=[True, False]).head(MAX_WORDS)
    return kept.select("word").sort("word").with_row_index("column")


def _matrix(words: pl.LazyFrame, vocabulary: pl.DataFrame, n_users: int) -> Sparse:
    """How often each user has each word."""
    entries = words.join(vocabulary.lazy(), on="word").select("place", "column", "n").collect(engine="streaming")
    entries = entries.sort("place", "column")
    start = offsets(np.bincount(entries["place"].to_numpy(), minlength=n_users))
    column, n = entries["column"].to_numpy().astype(np.int32), entries["n"].to_numpy().astype(np.float32)
    return Sparse(start, column, n, vocabulary.height)


def _idf(counts: Sparse) -> Floats:
    n_users = np.bincount(counts.column, minlength=counts.width)
    return 1 + np.log(counts.start.size / (1 + n_users))


def _tfidf(counts: Sparse) -> Sparse:
    """The weight of each word of each user; what one user alone has weighs nothing."""
    n_users = np.bincount(counts.column, minlength=counts.width)
    weight = np.where(n_users > 1, _idf(counts), 0)[counts.column]
    return counts._replace(value=((1 + np.log(counts.value)) * weight).astype(np.float32))


def _beside(left: Sparse, right: Sparse, weight: float) -> Sparse:
    """Two matrices of the same height side by side, the right one times `weight`."""
    row = np.concatenate([np.repeat(np.arange(each.start.size - 1), np.diff(each.start)) for each in (left, right)])
    order = np.argsort(row, kind="stable")
    column = np.concatenate([left.column, right.column + np.int32(left.width)])[order]
    value = np.concatenate([left.value, right.value * np.float32(weight)])[order]
    return Sparse(left.start + right.start, column, value, left.width + right.width)


def _lsa(table: Sparse, sample: Ints, dimensions: int, run: Run) -> Singles:
    """Users by the directions along which they differ most: by the first few alone, by more, and by all of them."""
    sampled = _unit_rows(_rows_of(table, sample))
    wanted = min(dimensions, sample.size, table.width)
    if wanted == 0:
        return np.zeros((table.start.size - 1, 0), dtype=np.float32)
    tried = min(wanted + _SPARE, sample.size, table.width)
    begin = run.stream("directions of interests").standard_normal((sample.size, tried))
    found = directions(sampled, begin)[:, :wanted].astype(np.float32)
    scales = sorted({wanted, *(dimensions >> i for i in range(1, _SCALES) if _FEWEST <= dimensions >> i < wanted)})
    parts = [_by_users(table, partial(project, words=np.ascontiguousarray(found[:, :scale]))) for scale in scales]
    return np.concatenate(parts, axis=1) / np.float32(np.sqrt(len(scales)))


def _rows_of(matrix: Sparse, rows: Ints) -> Sparse:
    counts = matrix.start[rows + 1] - matrix.start[rows]
    start = offsets(counts)
    entries = np.repeat(matrix.start[rows] - start[:-1], counts) + np.arange(start[-1])
    return Sparse(start, matrix.column[entries], matrix.value[entries], matrix.width)


def _unit_rows(matrix: Sparse) -> Sparse:
    counts = np.diff(matrix.start)
    row = np.repeat(np.arange(counts.size), counts)
    squares = np.bincount(row, weights=matrix.value.astype(np.float64) ** 2, minlength=counts.size)
    return matrix._replace(value=(matrix.value / np.sqrt(np.maximum(squares, 1e-9))[row]).astype(np.float32))


def _by_users(matrix: Sparse, work: Callable[[Sparse], Singles]) -> Singles:
    """`work` on the rows of some users at a time, in threads."""
    parts = [
        matrix._replace(start=matrix.start[at : at + _USERS_AT_ONCE + 1])
        for at in range(0, matrix.start.size - 1, _USERS_AT_ONCE)
    ]
    return np.concatenate(in_threads(work, parts))


def _spelled(rows: pl.LazyFrame, vocabulary: pl.DataFrame, spoken: Language) -> list[str]:
    """For each word of the vocabulary the spelling that most users typed; of several the first."""
    queries = rows.select("place", QUERY).unique().collect(engine="streaming")
    pieces = pieces_of(queries[QUERY].unique(), spoken)
    owned = queries.lazy().join(pieces.lazy(), left_on=QUERY, right_on="text").select("place", "piece").unique()
    typed = owned.group_by("piece").len("users").collect(engine="streaming")
    table = typed.with_columns(_hashed(spoken.stems(typed["piece"]))).join(vocabulary, on="word")
    first = table.sort("column", "users", "piece", descending=[False, True, False]).unique("column", keep="first")
    return first.sort("column")["piece"].to_list()


def _embed(name: str, words: list[str]) -> Singles:
    """The vectors of a model, checked: what a third party gives is only believed if it fits."""
    model = registry.module("embeddings", name)
    if not words:  # a model need not know what to do with nothing
        return np.zeros((0, 0), dtype=np.float32)
    table = np.asarray(model.embed(words), dtype=np.float32)
    if table.ndim != 2 or table.shape[0] != len(words):
        raise ParameterError(f"The embedding {name!r} must give one row of numbers for each word.")
    if not np.isfinite(table).all():
        raise ParameterError(f"The embedding {name!r} gave numbers that are not finite: zeros stand for unknown words.")
    return table


def _means(counts: Sparse, idf: Floats, table: Singles) -> Singles:
    """The mean word vector of each user, minus that of all users who have one, of length 1 (or 0)."""
    weighted = counts._replace(value=(counts.value * idf[counts.column]).astype(np.float32))
    has_vector = np.append(np.abs(table).sum(axis=1) > 0, False)[counts.column]
    weighted = weighted._replace(value=np.where(has_vector, weighted.value, 0).astype(np.float32))
    wide = np.concatenate([table, np.ones((table.shape[0], 1), dtype=np.float32)], axis=1).astype(np.float64)

    def means(users: Sparse) -> Singles:
        sums = times(users, wide)
        return (sums[:, :-1] / np.maximum(sums[:, -1:], 1e-9)).astype(np.float32)

    result = _by_users(weighted, means)
    filled = np.abs(result).max(axis=1, initial=0) > 0
    if filled.any():
        result[filled] -= result[filled].mean(axis=0, dtype=np.float64).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", result, result, dtype=np.float64))
    result /= np.maximum(lengths, 1e-9).astype(np.float32)[:, None]
    return result


def _size_columns(sizes: NDArray[np.integer], weight: float) -> Singles:
    octaves = np.log2(sizes)
    span = max(_SIZE_OCTAVES, float(octaves.max()))
    angle = np.pi / span * octaves
    length = np.sqrt(weight) * span / _SIZE_OCTAVES
    return np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1).astype(np.float32)
