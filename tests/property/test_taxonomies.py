"""Trees and lookups against slow, obvious ones.

Covers: taxonomies/lexicon.py
"""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import taxonomies
from coterie.taxonomies import by_depth, totals
from coterie.taxonomies.build import Categories, from_categories
from coterie.text.language import language
from tests.helpers.examples import examples
from tests.helpers.small_trees import from_paths
from tests.helpers.taxonomy_reference import Reference, forms_of, tree_of


@st.composite
def parents(draw, most=30):
    """A tree in any numbering: each node hangs below an earlier one, then numbers are shuffled."""
    n = draw(st.integers(1, most))
    above = [-1, *(draw(st.integers(0, i - 1)) for i in range(1, n))]
    new = draw(st.permutations(range(n)))
    shuffled = np.empty(n, dtype=np.int64)
    for i, parent in enumerate(above):
        shuffled[new[i]] = -1 if parent < 0 else new[parent]
    return shuffled


def _chain(parent, node):
    """A node and its ancestors, the root first."""
    found = [node]
    while parent[found[-1]] >= 0:
        found.append(int(parent[found[-1]]))
    return found[::-1]


@given(parents())
def test_numbered_by_depth(given_parent):
    order, parent = by_depth(given_parent)
    assert sorted(order) == list(range(given_parent.size))
    depth = [len(_chain(given_parent, node)) for node in order]
    assert depth == sorted(depth)
    assert all(a < b for a, b, c, d in zip(order, order[1:], depth, depth[1:], strict=False) if c == d)
    back = [-1 if above < 0 else order[above] for above in parent]
    assert back == [given_parent[node] for node in order]


@given(parents(), st.integers(0, 8))
def test_the_tree_against_chains(given_parent, level):
    _, parent = by_depth(given_parent)
    tree = tree_of(parent.tolist(), {"word": [0]})
    chains = [_chain(parent, node) for node in range(parent.size)]
    assert tree.depth.tolist() == [len(chain) - 1 for chain in chains]
    assert tree.height == max(len(chain) for chain in chains) - 1
    assert tree.ancestor_at(level).tolist() == [chain[level] if level < len(chain) else -1 for chain in chains]
    assert tree.cut(level).tolist() == [chain[min(level, len(chain) - 1)] for chain in chains]
    assert [tree.path(node) for node in range(parent.size)] == [[f"c{i}" for i in chain[1:]] for chain in chains]
    leaf = [node for node in range(parent.size) if node not in parent]
    assert tree.leaves.tolist() == [sum(node in chains[each] for each in leaf) for node in range(parent.size)]
    start, child = tree.children
    for node in range(parent.size):
        assert child[start[node] : start[node + 1]].tolist() == np.flatnonzero(parent == node).tolist()
    numbers = np.arange(parent.size) ** 2
    expected = [sum(numbers[i] for i, chain in enumerate(chains) if node in chain) for node in range(parent.size)]
    assert totals(parent, numbers).tolist() == expected


# Few words, so that forms meet: in each other, across queries, and after a reduction.
WORDS = ["ox", "oxen", "man", "men", "of"]
MORE = [
    "dogs",
    "foxes",
    "glass",
    "cities",
    "new",
    "york",
    "the",
    "unknown",
    "Ox's",
    "man-ox",
    "www.men.com",
    "ç",
    "óx",
    "&",
]
form = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
senses = st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True)
regular = st.dictionaries(st.sampled_from(["dog", "fox", "glass", "glas", "city", "new york", "new york city"]), senses)
lexicons = st.builds(lambda a, b: a | b, st.dictionaries(form, senses, min_size=5, max_size=20), regular)
messy = st.one_of(st.sampled_from(WORDS), st.sampled_from([*WORDS, *MORE, ""]))
queries = st.lists(st.one_of(st.none(), st.lists(messy, max_size=7).map(" ".join)), max_size=8)


@given(lexicons, queries, st.sampled_from(["term", "query"]), st.booleans(), st.booleans(), st.integers(1, 3))
@settings(max_examples=examples(100))
@pytest.mark.parametrize("stemmed", [False, True])
def test_lookup_against_the_reference(stemmed, forms, asked, unit, stop_words, phrases, categories):
    irregular = {"oxen": "ox"} if "ox" in forms and not stemmed else {}
    tree = tree_of([-1, 0, 0, 1, 3], forms, stemmed=stemmed, irregular=irregular)
    slow = Reference(forms, stemmed=stemmed, irregular=irregular, stop_words=stop_words)
    rows, counts = slow.classify(asked, unit, categories, phrases)
    found = tree.classify(
        pl.Series(asked, dtype=pl.String), unit=unit, categories=categories, stop_words=stop_words, phrases=phrases
    )
    assert found.terms.rows() == rows
    assert found.n_terms.tolist() == counts
    assert found.mapped.tolist() == [any(row[0] == q for row in rows) for q in range(len(asked))]

    weight = np.arange(1, len(asked) + 1)
    levels = tree.coverage(found, weight)
    depth = [0, 1, 1, 2, 3]
    for level in range(4):
        deep = [
            (q, i)
            for q, query in enumerate(asked)
            for i, (_, _, senses) in enumerate(slow.terms(query, unit, phrases))
            if any(depth[sense] >= level for sense in (senses or [])[:categories])
        ]
        all_terms = sum(weight[q] * counts[q] for q in range(len(asked)))
        assert levels["terms"][level] == pytest.approx(sum(weight[q] for q, _ in deep) / max(all_terms, 1))
        by_query = sum(weight[q] for q in {q for q, _ in deep})
        assert levels["queries"][level] == pytest.approx(by_query / max(weight.sum(), 1))


@given(lexicons, queries, st.integers(1, 3))
@settings(max_examples=examples(30))
def test_chunks_change_nothing(forms, asked, size):
    tree, asked = tree_of([-1, 0, 0, 1, 3], forms), pl.Series(asked, dtype=pl.String)
    whole = tree.classify(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.taxonomies.lexicon._CHUNK", size)
        parts = tree.classify(asked)
    assert parts.terms.equals(whole.terms)
    assert parts.n_terms.tolist() == whole.n_terms.tolist()


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), max_size=20))
@settings(max_examples=examples(20))
def test_wordnet_against_the_reference(wordnet_reference, asked):
    asked += [
        "glass churches",
        "new york hotels",
        "presidents of the united states",
        "wolves and geese",
        "merry-go-rounds",
        "attorneys general",
    ]
    tree = taxonomies.load("wordnet")
    for unit in ("term", "query"):
        rows, counts = wordnet_reference.classify(asked, unit, 5)
        found = tree.classify(pl.Series(asked), unit=unit, categories=5)
        assert found.terms.rows() == rows
        assert found.n_terms.tolist() == counts


@pytest.fixture(scope="module")
def wordnet_reference():
    forms, irregular = forms_of(taxonomies.load("wordnet"))
    return Reference(forms, irregular=irregular)


labels = st.sampled_from(["Arts", "Music", "News", "Ärzte", "Bed & Breakfast", "The", "New York", "A/B"])


@given(st.lists(st.lists(labels, min_size=1, max_size=4), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=examples(40))
def test_trees_of_paths(paths, random):
    tree = from_paths(paths)
    prefixes = {tuple(path[:n]) for path in paths for n in range(1, len(path) + 1)}
    roots = {prefix for prefix in prefixes if len(prefix) == 1}
    named = [tuple(tree.path(node)) for node in range(len(tree))]
    if len(roots) > 1:
        assert sorted(named[1:]) == sorted(prefixes)
    else:
        root = tree.labels[0]
        assert sorted((root, *path) for path in named) == sorted(prefixes)
    assert (tree.depth[tree.parent[1:]] + 1 == tree.depth[1:]).all()

    shuffled = [*paths]
    random.shuffle(shuffled)
    again = from_paths(shuffled)
    assert again.labels.equals(tree.labels)
    assert again.parent.tolist() == tree.parent.tolist()
    assert forms_of(again) == forms_of(tree)


about = st.lists(st.sampled_from(["fish", "bone", "bird", "and", "fishes"]), max_size=6).map(" ".join)
described = st.dictionaries(
    st.sampled_from(["a", "fish", "bird", "fish bird", "bird of fish", "fish bird x", "y", "z"]),
    st.tuples(st.integers(0, 3), about, about),
    min_size=1,
)


@given(described)
def test_ranks_by_bm25(categories):
    known = Categories()
    for label, (pages, *titles) in categories.items():
        number = known.add_path(["root", label], pages)
        for title in titles:
            known.add_title(number, title)
    tree = from_categories(known, "ranked").tree

    stem = Stemmer.Stemmer("english").stemWord
    texts, called = {}, {}
    for concept in range(1, len(tree)):
        label = tree.labels[concept]
        called[concept] = [stem(word) for word in label.split() if word not in language("english").stop_words]
        titles = " ".join(categories[label][1:]).split()
        texts[concept] = Counter(
            called[concept] * 10 + [stem(word) for word in titles if word not in language("english").stop_words]
        )
    texts = {concept: text for concept, text in texts.items() if text}
    mean = max(sum(text.total() for text in texts.values()) / max(len(texts), 1), 1)

    def score(concept, word):
        text, holding = texts[concept], sum(word in text for text in texts.values())
        rarity = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        part = text[word] * 2.2 / (text[word] + 1.2 * (0.25 + 0.75 * text.total() / mean))
        return round(rarity * part * 1e6)

    expected = {word: [c for c, text in texts.items() if word in text] for text in texts.values() for word in text}
    for words in called.values():
        if len(words) > 1:
            expected[" ".join(words)] = [concept for concept in called if called[concept] == words]
    for form, concepts in expected.items():
        of = {c: (-sum(score(c, w) for w in set(form.split())), -categories[tree.labels[c]][0], c) for c in concepts}
        expected[form] = sorted(concepts, key=of.__getitem__)[:10]
    assert forms_of(tree) == (expected, {})


@given(parents(most=12).filter(lambda parent: parent.size > 1), lexicons, st.booleans())
@settings(max_examples=examples(30))
def test_packing_keeps_everything(tmp_path_factory, given_parent, forms, stemmed):
    _, parent = by_depth(given_parent)
    forms = {form: [sense % parent.size for sense in senses] for form, senses in forms.items()}
    irregular = {"oxen": "ox"} if "ox" in forms else {}
    tree = tree_of(parent.tolist(), forms, stemmed=stemmed, irregular=irregular)
    path = tmp_path_factory.mktemp("packed") / "tree.npz"
    taxonomies.write(tree, path)
    first = path.read_bytes()
    again = taxonomies.read(path)
    assert (again.name, again.parent.tolist(), again.labels.to_list()) == (
        "small",
        parent.tolist(),
        tree.labels.to_list(),
    )
    assert forms_of(again) == (forms, irregular)
    assert again.lexicon.stemmed == stemmed
    taxonomies.write(again, path)
    assert path.read_bytes() == first
