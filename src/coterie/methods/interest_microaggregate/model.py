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

Every distinct query and page is looked at once, however many users have it; the order of rows and threads changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie import taxonomies
from coterie.algorithms.events import PAGE, QUERY, USER
from coterie.algorithms.groups import user_rows
from coterie.algorithms.kernels.bags import Bags, Parts, columns_of_owners, owners_of_parts, owners_with
from coterie.algorithms.kernels.grouping import UNIT, Vectors
from coterie.algorithms.kernels.lsa import Sparse, times
from coterie.algorithms.lsa import Singles, beside, by_rows, idf, lsa_vectors, tfidf, unit_rows
from coterie.algorithms.words import Stems, numbered_words, pieces_of, stems_of, typed_by, word_hashes
from coterie.core import registry
from coterie.core.arrays import Floats, Ints, Masks, Short, offsets
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.threads import Counted, in_threads
from coterie.errors import InputError, ParameterError
from coterie.text.hosts import host_of
from coterie.text.language import ENGLISH, Language, language
from coterie.text.words import without_spaces

SAMPLE_USERS = 50_000
MAX_WORDS = 200_000
_USERS_AT_ONCE = 20_000
NO_EMBEDDING = "none"
_HOST_WEIGHT = 0.5  # the length of a user's hosts where that of their words is 1
_SIZE_OCTAVES = 10.0
_BEFORE_PATH = r"^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:)?//)?[^/?#]*"
_ENGLISH = language(ENGLISH)


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
    """Users in the order of their names, and a vector for each."""

    users: pl.Series
    vectors: Vectors
    language: Language


def interests(log: Log, run: Run, settings: InterestSettings) -> Interests:
    """The vectors of all users of a log."""
    spoken, uses_model = language(settings.language), settings.embedding != NO_EMBEDDING
    if uses_model:
        _embed(settings.embedding, ["word"])  # better to say now what is missing than after the work
    rows = user_rows(log).select(USER, QUERY, PAGE)
    users = rows.group_by(USER).len("size").collect(engine="streaming").sort(USER)
    run.tell(Counted(1, 5))
    order = np.argsort(run.keys("interests", users[USER]), kind="stable")
    sample = np.sort(order[:SAMPLE_USERS])
    typed = typed_by(users[USER], rows.select(USER, QUERY))
    run.tell(Counted(2, 5))
    stems = stems_of(typed.texts, spoken)
    vocabulary = _vocabulary(typed.of_users, stems, sample, least=1 if uses_model else 2)
    counts = _matrix(typed.of_users, stems, vocabulary)
    del typed
    run.tell(Counted(3, 5))
    weight_of_word = idf(counts)
    table = unit_rows(tfidf(counts))
    if settings.hosts:
        clicks = typed_by(users[USER], rows.select(USER, PAGE).drop_nulls())
        hosts = _hosts(clicks.texts)
        clicked = tfidf(_matrix(clicks.of_users, hosts, _vocabulary(clicks.of_users, hosts, sample, least=2)))
        table = beside(table, unit_rows(clicked), _HOST_WEIGHT)
    begin = run.stream("directions of interests").standard_normal
    parts = [lsa_vectors(table, sample, settings.dimensions, begin)]
    run.tell(Counted(4, 5))
    if uses_model:
        chosen = rows.join(users.select(USER)[sample].lazy(), on=USER, how="semi")
        words = pl.DataFrame({"word": stems.hashes[vocabulary]}, schema={"word": pl.UInt64}).with_row_index("column")
        model = _embed(settings.embedding, _spelled(chosen, words, spoken))
        parts.append(_means(counts, weight_of_word, model))
    parts = [part / np.float32(np.sqrt(len(parts))) for part in parts]
    parts.append(_size_columns(users["size"].to_numpy(), settings.size_weight))
    vectors = np.concatenate([np.rint(part * UNIT).astype(np.int16) for part in parts], axis=1)
    run.tell(Counted(5, 5))
    return Interests(users=users[USER], vectors=vectors, language=spoken)


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
    typed = typed_by(interests.users, user_rows(log).select(USER, QUERY))
    stems = stems_of(typed.texts, interests.language)
    masks = np.zeros((n, 1 + (len(topics) - 1) // 64), dtype=np.uint64)
    common = unknown = 0
    for number, topic in enumerate(topics):
        hashes = _hashed(interests.language.stems(topic)).to_numpy()
        by_word = np.flatnonzero(owners_with(np.isin(stems.hashes, hashes), typed.of_users, stems.of_texts))
        places = np.union1d(by_word, _owners_by_parts(log, interests, topic))
        if places.size == 0:
            unknown += 1
        elif places.size >= share * n:
            common += 1
        else:
            masks[places, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return TopicOwners(masks, common, unknown)


def _owners_by_parts(log: Log, interests: Interests, topic: pl.Series) -> Ints:
    """The places of the users in whose queries stand words of a topic that are written without spaces."""
    parts = topic.to_frame("word").filter(without_spaces(pl.col("word")))["word"].to_list()
    if not parts:
        return np.empty(0, dtype=np.int64)
    containing = (
        user_rows(log).filter(interests.language.folded(pl.col(QUERY)).str.contains_any(parts)).select(USER).unique()
    )
    users = interests.users.alias(USER).to_frame().with_row_index("place").lazy()
    return users.join(containing, on=USER, how="semi").collect(engine="streaming")["place"].to_numpy().astype(np.int64)


def _hashed(words: pl.Series) -> pl.Series:
    return word_hashes(words.alias("word"))


def _hosts(pages: pl.Series) -> Stems:
    """The host of each page as if it were its only stem; none where it has no host."""
    sites = pages.to_frame("page").select(pl.col("page").str.extract(_BEFORE_PATH, 0).alias("site"))
    start, number, distinct = numbered_words(sites.select(pl.concat_list("site"))["site"])
    hosts = pl.Series("host", [host_of(site).removeprefix("www.") for site in distinct.to_list()], dtype=pl.String)
    known = hosts.filter(hosts != "")
    hashes = np.unique(_hashed(known).to_numpy())
    part = np.searchsorted(hashes, _hashed(hosts).to_numpy()).astype(np.int32)[number]
    has = (hosts != "").to_numpy()[number]
    return Stems(Parts(offsets(has)[start], part[has]), hashes)


def _vocabulary(of_users: Bags, stems: Stems, sample: Ints, least: int) -> Ints:
    """The stems that at least `least` users of the sample have; of too many, those with most users."""
    users = owners_of_parts(sample, of_users, stems.of_texts, stems.hashes.size)
    common = np.flatnonzero(users >= least)
    return np.sort(common[np.argsort(-users[common], kind="stable")][:MAX_WORDS])


def _matrix(of_users: Bags, stems: Stems, vocabulary: Ints) -> Sparse:
    """How often each user has each stem of the vocabulary."""
    column_of = np.full(stems.hashes.size, -1, dtype=np.int32)
    column_of[vocabulary] = np.arange(vocabulary.size)
    n_users = of_users.start.size - 1
    ends = [(at, min(at + _USERS_AT_ONCE, n_users)) for at in range(0, n_users, _USERS_AT_ONCE)]

    def columns(part: tuple[int, int]) -> tuple[Ints, Short, Singles]:
        sizes, column, n = columns_of_owners(*part, of_users, stems.of_texts, column_of, vocabulary.size)
        return sizes, column, n.astype(np.float32)

    found = in_threads(columns, ends)
    sizes, column, n = (np.concatenate(each) for each in zip(*found, strict=True))
    return Sparse(offsets(sizes), column, n, vocabulary.size)


def _spelled(rows: pl.LazyFrame, vocabulary: pl.DataFrame, spoken: Language) -> list[str]:
    """For each word of the vocabulary the spelling that most users typed; of several the first."""
    queries = rows.select(USER, QUERY).unique().collect(engine="streaming")
    pieces = pieces_of(queries[QUERY].unique(), spoken)
    owned = queries.lazy().join(pieces.lazy(), left_on=QUERY, right_on="text").select(USER, "piece").unique()
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


def _means(counts: Sparse, weight_of_word: Floats, table: Singles) -> Singles:
    """The mean word vector of each user, minus that of all users who have one, of length 1 (or 0)."""
    weighted = counts._replace(value=(counts.value * weight_of_word[counts.column]).astype(np.float32))
    has_vector = np.append(np.abs(table).sum(axis=1) > 0, False)[counts.column]
    weighted = weighted._replace(value=np.where(has_vector, weighted.value, 0).astype(np.float32))
    wide = np.concatenate([table, np.ones((table.shape[0], 1), dtype=np.float32)], axis=1).astype(np.float64)

    def means(users: Sparse) -> Singles:
        sums = times(users, wide)
        return (sums[:, :-1] / np.maximum(sums[:, -1:], 1e-9)).astype(np.float32)

    result = by_rows(weighted, means)
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
