"""The synthetic corpus: what it is made of, and that it is always the same."""

import json
from hashlib import sha256

import polars as pl
import pytest

import coterie
from coterie import synth
from coterie.errors import ParameterError
from coterie.synth import documents
from coterie.synth._kit import FIELDS, NOUNS
from coterie.taxonomies import load


@pytest.fixture(scope="module")
def corpus():
    return synth.synthesize(600, 7, "documents")


def test_documents_have_a_topic_and_a_text(corpus):
    assert corpus.columns == ["doc", "topic", "text"]
    assert corpus.height == 600
    assert set(corpus["topic"]) == set(documents.TOPICS)
    assert corpus["doc"].to_list() == [f"{topic}/{n}" for n, topic in enumerate(corpus["topic"])]
    lengths = corpus["text"].str.split(" ").list.len() / 2
    assert 110 < lengths.median() < 150


def test_the_same_seed_gives_the_same_bytes(corpus):
    digest = sha256(corpus.write_csv().encode()).hexdigest()
    assert digest == sha256(pl.concat(synth.batches(600, 7, "documents")).write_csv().encode()).hexdigest()
    assert not synth.synthesize(600, 8, "documents")["text"].equals(corpus["text"])
    assert corpus.head(500).equals(synth.synthesize(500, 7, "documents")), "blocks do not depend on later ones"


def test_words_are_nouns_of_wordnet(corpus):
    lexicon = load("wordnet").lexicon
    assert lexicon.bases(pl.Series([*NOUNS, *documents._GENERAL])).null_count() < 10
    assert {field for fields in documents._TOPICS.values() for field in fields.split()} <= set(FIELDS)
    log = coterie.log(corpus)
    assert (log.history[0].counts["lines"], log.history[0].counts["bad"]) == (600, 0)
    terms = log.frame.group_by("doc").len().collect()["len"]
    assert 70 < terms.mean() < 100


def test_topics_overlap_and_can_still_be_told(corpus):
    rows = coterie.log(corpus).frame.with_columns(topic=pl.col("doc").str.extract("^(.*)/")).collect()
    having = rows.group_by("term").agg(pl.col("topic").n_unique(), pl.len()).filter(pl.col("len") > 20)
    assert (having["topic"] == len(documents.TOPICS)).mean() > 0.3, "many words are in all topics"
    frequent = rows.group_by("topic", "term").len().sort("len", descending=True).group_by("topic").head(40)
    assert frequent["term"].n_unique() > 80, "and others mostly in one"


def test_from_a_source_and_from_a_file(tmp_path, corpus):
    made = coterie.read("synth:users=600,seed=7,kind=documents", terms=20)
    assert made.synthetic
    assert made.settings == {"terms": 20, "min_length": 3, "words": "nouns"}
    path = tmp_path / "corpus.jsonl.gz"
    assert synth.write(path, 600, 7, "documents") == 600
    read = coterie.read(path, terms=20)
    assert read.to_polars().sort("doc", "term").equals(made.to_polars().sort("doc", "term"))
    plain = tmp_path / "corpus.jsonl"
    synth.write(plain, 3, 7, "documents", lambda _: None)
    assert [json.loads(line)["doc"] for line in plain.read_text().splitlines()] == corpus["doc"][:3].to_list()


def test_its_file_has_the_name_of_json_lines(tmp_path):
    with pytest.raises(ParameterError, match=r"JSON lines: name it \.jsonl"):
        synth.check_name(tmp_path / "corpus.tsv", "documents")
