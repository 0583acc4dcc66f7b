"""Documents of tests: random trees in which terms mean several concepts, and terms of WordNet."""

import numpy as np
import polars as pl
from hypothesis import strategies as st

from coterie import taxonomies
from coterie.algorithms.kernels.term_vectors import Senses, codes_of
from coterie.algorithms.kernels.tree import preorder
from coterie.core.arrays import offsets
from coterie.core.shapes import TERMS
from tests.helpers.document_reference import Reference
from tests.helpers.small_trees import trees

reference_of = Reference


def lexicon_of(terms):
    """The plain version for terms of WordNet."""
    tree, words = taxonomies.load("wordnet"), pl.Series(sorted(set(terms)))
    means = {word: [] for word in words}
    found = tree.classify(words, unit="query", categories=1000, stop_words=False).terms
    for number, concept in found.select("query", "concept").rows():
        means[words[number]].append(concept)
    return Reference(tree.parent, {word: tuple(concepts) for word, concepts in means.items()})


def senses_of(parent, means):
    """Terms, in their order, and what they mean in a tree."""
    place, _ = preorder(np.array(parent, dtype=np.int32))
    order = np.argsort(place)
    depth = [0] * len(parent)
    for concept, above in enumerate(parent):
        depth[concept] = 1 if above < 0 else depth[above] + 1
    concepts = [means[term] for term in sorted(means)]
    return Senses(
        parent=np.array([-1 if parent[c] < 0 else place[parent[c]] for c in order]),
        depth=np.array(depth)[order],
        concept=order,
        term_start=offsets(np.array([len(some) for some in concepts])),
        term_nodes=place[np.concatenate(concepts).astype(np.int64)],
        codes=codes_of(len(parent)),
    )


@st.composite
def terms_in_trees(draw):
    """Parents, and the concepts that each of some terms means."""
    parent = draw(trees(most=20))
    some = st.lists(st.integers(0, len(parent) - 1), min_size=1, max_size=3, unique=True)
    means = draw(st.lists(some, min_size=1, max_size=12))
    return parent, {f"t{number:02}": tuple(concepts) for number, concepts in enumerate(means)}


def weighted(rng, terms):
    """A document with weights that no two pairs share, heaviest first."""
    weights = rng.random(len(terms))
    document = zip(terms, (weights / max(weights.sum(), 1)).tolist(), strict=True)
    return sorted(document, key=lambda entry: (-entry[1], entry[0]))


def frame_of(documents):
    """Rows of documents, which are called 000, 001 and so on."""
    rows = [(f"{number:03}", term, weight) for number, document in enumerate(documents) for term, weight in document]
    return pl.DataFrame(rows, schema={name: TERMS.schema[name] for name in TERMS.released}, orient="row")
