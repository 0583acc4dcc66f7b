"""The classifier of texts, beside a plain version that looks for the smallest loss by many small steps."""

import math

import numpy as np
import polars as pl
import pytest

from coterie.measures.learning import learn

ROWS = [
    ("a", "tea", 2.0), ("a", "cup", 1.0), ("a", "day", 1.0),
    ("b", "tea", 1.0), ("b", "pot", 1.0),
    ("c", "train", 1.0), ("c", "day", 1.0), ("c", "road", 1.0),
    ("d", "train", 3.0), ("d", "road", 1.0), ("d", "rare", 1.0),
    ("e", "cup", 1.0), ("e", "pot", 1.0), ("e", "road", 1.0),
]  # fmt: skip
TABLE = pl.DataFrame(ROWS, schema=["doc", "term", "weight"], orient="row")
LABELS = pl.DataFrame({"doc": ["e", "d", "c", "b", "a"], "topic": ["drink", "go", "go", "drink", "drink"]})


def plain(steps=60_000, pace=0.05):
    """Weights by term and topic, and of topics themselves."""
    docs, topics = sorted({row[0] for row in ROWS}), ["drink", "go"]
    having = {term: {d for d, t, _ in ROWS if t == term} for _, term, _ in ROWS}
    terms = sorted(term for term, where in having.items() if len(where) > 1)
    x = np.zeros((len(docs), len(terms)))
    for doc, term, weight in ROWS:
        if term in terms:
            idf = 1 + math.log(len(docs) / len(having[term]))
            x[docs.index(doc), terms.index(term)] = math.sqrt(weight) * idf
    x /= np.sqrt((x**2).sum(axis=1, keepdims=True))
    y = np.array([[LABELS.filter(pl.col("doc") == doc)["topic"].item() == topic for topic in topics] for doc in docs])
    w, b = np.zeros((len(terms), 2)), np.zeros(2)
    for _ in range(steps):
        scores = x @ w + b
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        w -= pace * (x.T @ (p - y) + w) / len(docs)
        b -= pace * (p - y).sum(axis=0) / len(docs)
    return terms, np.vstack([w, b])


def test_it_finds_the_smallest_loss():
    terms, weights = plain()
    found = learn(TABLE, LABELS)
    assert found.terms["term"].to_list() == terms
    np.testing.assert_allclose(found.weights, weights, atol=2e-3)


def test_topics_of_new_documents():
    found = learn(TABLE, LABELS)
    new = pl.DataFrame({"doc": ["x", "x", "y", "z"], "term": ["tea", "pot", "train", "unknown"], "weight": [1.0] * 4})
    asked = pl.Series(["x", "y", "z", "nothing"])
    assert found.predict(new, asked).to_list() == ["drink", "go", "drink", "drink"], "who has no term: the usual topic"


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_changes_nothing(seed):
    found, again = learn(TABLE, LABELS), learn(TABLE.sample(fraction=1, shuffle=True, seed=seed), LABELS.reverse())
    assert (found.weights == again.weights).all()
