"""WordNet 3.0's nouns as a tree (paper 001): each synset has its first hypernym as parent, the root is `entity`.

The arrays in `data/wordnet.npz` are made by `tools/build_wordnet.py`; Princeton's licence stands beside them. A noun
means its senses in WordNet's order, the most frequent first. Plurals are reduced as in WordNet: irregular ones by its
list, others by their endings.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from coterie.taxonomies import Taxonomy, packed


def load() -> Taxonomy:
    """The tree of WordNet 3.0's nouns; the package may lie in a zip, as on some workers of a cluster."""
    with as_file(files(__package__) / "data" / "wordnet.npz") as path:
        return packed.read(path)
