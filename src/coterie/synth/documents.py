"""A synthetic corpus: documents with a topic, made of nouns of WordNet.

Model
    A topic is made of four to six fields of everyday nouns (`_kit.py`), some of which other topics have as well: a
    word tells little about the topic by itself, and words of a topic mean very different things (a bank, a judge and a
    school are about society). Each topic has stories: lists of some of its words, the first ones frequent.
    A document tells a story of its topic, and has another topic beside it. Its nouns come from the story, from the
    topic, from the other topic, from general nouns (time, people, part) that every text has, and a few from all of
    WordNet, which hardly any other document has. Lengths are lognormal. Between the nouns stand articles and
    prepositions; some are in the plural.

Calibration
    By 2,225 news articles of five topics, with the classifier of `topic_accuracy` and k = 5: topics recognized in 96 %
    of raw documents (news: 97 %), 95 % (95 %) by concepts, 87 % (88 %) of released vectors of groups by interest, 55 %
    (52 %) of those that the paper's rules give; a group by interest has 88 % (90 %) documents of one topic, one by
    WordNet 67 % (71 %). Vectors released of groups by interest have 31 terms (23).

The name of a document begins with its topic: `health/17`. Documents are numbered over all topics, and topics are drawn
at random. The bytes depend on the number of documents, the seed and NumPy's random streams.

Limits: no names of people, no verbs, no meaning; stories have no time and no author.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.arrays import Ints
from coterie.synth._kit import FIELDS, NOUNS, PLURALS, WORDS, cumulative, pick, split, stream, zipf

BLOCK = 500  # documents that are made at once
NOUNS_MEDIAN, NOUNS_SPREAD = 130, 0.5  # of a document
STORIES = 40  # of a topic
STORY_WORDS, STORY_EXPONENT = 45, 0.8
TOPIC_EXPONENT = 0.5
GENERAL_EXPONENT = 0.9
SOURCES = (0.17, 0.26, 0.23, 0.20, 0.14)  # story, topic, another topic, general nouns, all of WordNet
PLURAL = 0.3
SENTENCE = 9  # nouns of a sentence
_TOPICS = WORDS["topics"]
TOPICS = tuple(_TOPICS)
_GENERAL = split(WORDS["general"])
_LINKS = split("the a of in and with for on to the of his her their this that from by at an into over")


def documents(number: int, seed: int) -> Iterator[pl.DataFrame]:
    """Documents in blocks: doc, topic, text."""
    return (_block(block, min(BLOCK, number - block * BLOCK), seed) for block in range(-(-number // BLOCK)))


@cache
def _vocabulary() -> pl.Series:
    """Everyday nouns, their plurals, general nouns, and nouns of WordNet that are plain words."""
    lexicon = taxonomies.load(taxonomies.WORDNET).lexicon
    nouns = lexicon.words.filter(lexicon.words.str.contains("^[a-z]{4,12}$"))
    nouns = nouns.filter((lexicon.bases(nouns) == nouns).fill_null(False))
    return pl.concat([pl.Series([*NOUNS, *PLURALS, *_GENERAL, *_LINKS]), nouns])


def _story_words(seed: int) -> tuple[list[Ints], Ints]:
    """The nouns of each topic, and those of each story: topic by topic, the first ones frequent."""
    number = {noun: place for place, noun in enumerate(NOUNS)}
    topics = [
        np.array(list(dict.fromkeys(number[noun] for name in fields.split() for noun in FIELDS[name])))
        for fields in _TOPICS.values()
    ]
    rng = stream(seed, "stories")
    stories = [rng.permutation(nouns)[:STORY_WORDS] for nouns in topics for _ in range(STORIES)]
    return [rng.permutation(nouns) for nouns in topics], np.stack(stories)


def _block(block: int, size: int, seed: int) -> pl.DataFrame:
    """The documents of a block."""
    topics, stories = _story_words(seed)
    rng = stream(seed, "documents", block)
    topic = rng.integers(len(TOPICS), size=BLOCK)[:size]
    story = topic * STORIES + rng.integers(STORIES, size=BLOCK)[:size]
    beside = (topic + rng.integers(1, len(TOPICS), size=BLOCK)[:size]) % len(TOPICS)
    lengths = np.maximum(10, np.rint(NOUNS_MEDIAN * np.exp(NOUNS_SPREAD * rng.standard_normal(BLOCK)))[:size])
    document = np.repeat(np.arange(size), lengths.astype(np.int64))
    n = document.size
    source = pick(rng, cumulative(SOURCES), n)
    told = np.where(source == 2, beside[document], topic[document])
    width = np.array([nouns.size for nouns in topics])
    padded = np.stack([np.resize(nouns, width.max()) for nouns in topics])
    # Positions by rank: u to a power makes the first ones frequent.
    in_topic = (width[told] * rng.random(n) ** (1 / (1 - TOPIC_EXPONENT))).astype(np.int64)
    words = padded[told, in_topic]
    words = np.where(source == 0, stories[story[document], pick(rng, zipf(STORY_WORDS, STORY_EXPONENT), n)], words)
    plural = (rng.random(n) < PLURAL) & (source < 3)
    vocabulary = _vocabulary()
    general = 2 * len(NOUNS)
    links = general + len(_GENERAL)
    rest = links + len(_LINKS)
    words = np.where(plural, words + len(NOUNS), words)
    words = np.where(source == 3, general + pick(rng, zipf(len(_GENERAL), GENERAL_EXPONENT), n), words)
    words = np.where(source == 4, rest + rng.integers(len(vocabulary) - rest, size=n), words)
    link = links + rng.integers(len(_LINKS), size=n)
    stop = np.where(rng.integers(SENTENCE, size=n) == 0, ".", "")
    tokens = pl.DataFrame({
        "document": document,
        "token": pl.Series(vocabulary.gather(link)) + " " + pl.Series(vocabulary.gather(words)) + pl.Series(stop),
    })  # fmt: skip
    texts = tokens.group_by("document", maintain_order=True).agg(pl.col("token").str.join(" "))["token"]
    names = pl.Series("topic", TOPICS).gather(topic)
    return pl.DataFrame({"topic": names, "text": texts + "."}).select(
        pl.format("{}/{}", "topic", pl.int_range(pl.len()) + block * BLOCK).alias("doc"), "topic", "text"
    )
