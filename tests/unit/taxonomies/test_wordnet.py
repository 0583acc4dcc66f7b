"""WordNet 3.0 as a tree: known facts, and what queries map to."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from coterie import taxonomies

TREE = taxonomies.load("wordnet")


def concepts(query, **options):
    found = TREE.classify(pl.Series([query]), **options)
    return [TREE.labels[concept] for concept in found.terms["concept"]]


def test_the_counts():
    # 82,115 noun synsets below one root; leaves are synsets without hyponyms.
    assert len(TREE) == 82_115
    assert TREE.labels[0] == "entity"
    assert (TREE.parent < 0).sum() == 1
    assert TREE.leaves[0] == (np.bincount(TREE.parent[1:], minlength=len(TREE)) == 0).sum()
    assert sorted(TREE.labels[1:4]) == ["abstraction", "physical entity", "thing"]
    assert TREE.height == 19
    assert repr(TREE) == "<Taxonomy wordnet: 82,115 concepts, depth 19>"


def test_a_dog():
    found = TREE.classify(pl.Series(["dog"])).terms["concept"][0]
    assert TREE.path(found) == [
        "physical entity", "object", "whole", "living thing", "organism", "animal", "chordate", "vertebrate",
        "mammal", "placental", "carnivore", "canine", "dog",
    ]  # fmt: skip
    assert TREE.depth[found] == 13
    assert TREE.labels[int(TREE.ancestor_at(6)[found])] == "animal"


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("dogs", ["dog"]),
        ("geese", ["goose"]),
        ("wolves and mice", ["wolf", "mouse"]),
        ("churches", ["church"]),
        ("cities", ["city"]),
        ("firemen", ["fireman"]),
        ("glass", ["glass"]),  # not the plural of glas
        ("glasses", ["spectacles"]),  # a noun itself comes before the singular it could have
        ("new york hotels", ["New York", "hotel"]),
        ("mother's day", ["Mother's Day"]),
        ("mothers day", ["Mother's Day"]),
        ("attorneys general", ["attorney general"]),
        ("merry go round", ["merry-go-round"]),
        ("the president of the united states", ["President of the United States"]),
        ("out of doors", ["door"]),  # and not what `out-of-doors` means
        ("www.dogs.com", ["dog"]),
        ("in the", []),
        ("qwxyz", []),
    ],
)
def test_what_queries_mean(query, meant):
    assert concepts(query) == meant


def test_stop_words_as_in_paper_001():
    # "the preposition 'in' became Indiana": its third sense.
    assert concepts("in") == []
    assert concepts("in", stop_words=False, categories=3)[-1] == "Indiana"


def test_words_are_stripped_from_the_left():
    assert concepts("cheap hotels in new york", unit="query") == ["New York"]
    assert concepts("new york hotels", unit="query") == ["hotel"]
    assert concepts("new york hotels", phrases=False)[-1] == "hotel"
    assert len(concepts("new york hotels", phrases=False)) == 2  # `new` is no noun


def test_ranked_senses():
    assert len(concepts("dog", categories=5)) == 5
    assert concepts("dog", categories=100)[0] == "dog"
    assert len(concepts("dog", categories=100)) == 7


def test_loaded_once(monkeypatch):
    """How long it takes to load is measured by benchmarks/bench_taxonomy.py."""
    again = taxonomies._wordnet.__wrapped__()
    assert again is not TREE
    assert again.parent.tolist() == TREE.parent.tolist()
    monkeypatch.setattr(taxonomies, "read", None)  # nothing is read any more
    assert taxonomies.load("wordnet") is TREE


def test_the_licence_stands_beside_it():
    text = (Path(taxonomies.__file__).parent / "data" / "WORDNET-LICENCE").read_text()
    assert "WordNet 3.0 Copyright 2006 by Princeton University." in text
    assert text.startswith("This software and database is being provided to you")


def test_a_real_log(real_data):
    with gzip.open(real_data / "aol_128users.tsv.gz") as file:
        queries = pl.read_csv(file.read(), separator="\t", quote_char=None)["Query"].unique().sort()
    found = TREE.classify(queries)
    # Paper 003, figure 2: 57 % of terms are classified down to level 5 of the Open Directory.
    at = TREE.coverage(found)["terms"]
    assert 0.5 < at[5] < 0.7
    assert 0.2 < found.unmapped_share() < 0.4


def test_the_package_may_lie_in_a_zip(tmp_path):
    """As it does on workers of a cluster that were sent one."""
    package = Path(taxonomies.__file__).parents[1]
    with zipfile.ZipFile(tmp_path / "coterie.zip", "w") as file:
        for path in package.rglob("*"):
            if path.suffix in (".py", ".npz", ".toml"):
                file.write(path, Path("coterie") / path.relative_to(package))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'coterie.zip')!r}); import coterie; "
        "from coterie import taxonomies; print('.zip' in coterie.__file__, len(taxonomies.load('wordnet')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"True {len(TREE)}\n"
