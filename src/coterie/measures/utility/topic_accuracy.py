"""Topics: can somebody who has public documents with known topics tell what released vectors are about?

A classifier (`measures/learning.py`) learns from the raw vectors of `public` documents and their topics, and is asked
for the topic of each released document:

    accuracy             released documents whose topic is recognized
    raw                  the same on the raw vectors of these documents
    trained_on_release   recognized by a classifier that learnt from the released vectors of other groups and their
                         topics, half of the groups in turn: it knows how vectors look that were released
    chance               those of the most frequent topic of the public documents
    documents, topics    how many documents were asked about, and how many topics there are

Where names of concepts are released, documents are compared by concepts: a term, or a released concept, counts for its
likeliest sense in WordNet and for all concepts above it; `raw` too. A document of which nothing is released has the
most frequent topic.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Score
from coterie.core.shapes import sum_in_order
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.inputs import topics_of
from coterie.measures.learning import Classifier, learn
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import DOC, TERM, WEIGHT, DocumentVectors, concepts_of, keyed, vectors_of

needs = frozenset({"record", "topics", "public"})
SHOWN = {
    "accuracy": titled(
        "Topics recognized",
        "Released documents whose topic a classifier recognizes that learnt from other documents, which are "
        "public. Higher is more useful.",
        before="before.accuracy",
        over_k=60,
    ),
    "trained_on_release": titled(
        "Topics recognized, trained on the release",
        "The same for a classifier that learnt from the released vectors of other groups.",
    ),
    "chance": titled("Topics recognized without looking", "The share of the most frequent topic."),
}
figures = figures_in("utility", 45, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """The share of documents whose topic is recognized, in the release and in the original."""
    vectors, given = vectors_of(comparison), comparison.given("topics")
    public = comparison.given("public")
    asked, learnt = topics_of(vectors.documents, given), topics_of(public[DOC].unique().sort(), given)
    if asked.is_empty() or learnt["topic"].n_unique() < 2:
        raise NotApplicableError("The topics say nothing about the documents, or public ones have fewer than two.")
    before, after, known = (
        _compared(rows, vectors.concepts, named)
        for rows, named in ((vectors.before, False), (vectors.after, vectors.concepts), (public, False))
    )
    classifier = learn(known, learnt)
    usual = classifier.topics[classifier.usual]
    yield Score("documents", asked.height, "documents")
    yield Score("topics", len(classifier.topics), "topics")
    yield Score("accuracy", _right(classifier, after, asked), "% of documents")
    yield Score("before.accuracy", _right(classifier, before, asked), "% of documents")
    yield Score("chance", 100 * int((asked["topic"] == usual).sum()) / asked.height, "% of documents")
    yield Score("trained_on_release", _on_release(vectors, after, asked, comparison.seed), "% of documents")


def _compared(rows: pl.DataFrame, concepts: bool, named: bool) -> pl.DataFrame:
    """doc, term, weight: the terms that documents are compared by."""
    if not concepts:
        return rows
    above = concepts_of(rows[TERM].unique(), named)
    sums = rows.join(above, on=TERM).group_by(DOC, "concept").agg(sum_in_order(WEIGHT))
    return sums.select(DOC, pl.col("concept").cast(pl.String).alias(TERM), WEIGHT)


def _right(classifier: Classifier, rows: pl.DataFrame, asked: pl.DataFrame) -> float:
    return 100 * int((classifier.predict(rows, asked[DOC]) == asked["topic"]).sum()) / asked.height


def _on_release(vectors: DocumentVectors, rows: pl.DataFrame, asked: pl.DataFrame, seed: int) -> float | None:
    """Two halves of the groups: a classifier that learnt from one is asked about the other."""
    groups = keyed(vectors.members.select("group").unique(), seed, "halves of groups").sort("drawn", "group")
    groups = groups.with_columns(half=pl.int_range(pl.len()) % 2)
    sides = vectors.members.join(groups, on="group").join(asked, on=DOC)
    right = 0.0
    for side in (0, 1):
        told, rest = (sides.filter((pl.col("half") == side) == mine).select(DOC, "topic") for mine in (True, False))
        if told.is_empty() or rest.is_empty():
            return None
        right += _right(learn(rows, told), rows, rest) * rest.height
    return right / sides.height
