"""semantic_remain agrees with its plain reference on random logs."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api, taxonomies
from coterie.errors import NotApplicableError
from coterie.measures.utility import semantic_remain
from coterie.methods.semantic_microaggregate import SemanticMicroaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing._logs import visits_log
from tests.helpers import semantic_reference as reference
from tests.helpers.examples import examples
from tests.helpers.semantic_logs import log_of as _log
from tests.helpers.semantic_logs import logs, paths
from tests.helpers.taxonomy_reference import tree_of

METHODS = [
    SemanticMicroaggregate(k=2),
    SemanticMicroaggregate(k=3, leftovers="suppress"),
    SuppressRare(k=2),
    SuppressRare(k=3, users="pseudonym"),
]


def _scores(log, release):
    return dict(coterie.measure(release, ["semantic_remain"], original=log).select("key", "value").rows())


def _after(log, release):
    """What was released for each user: under her name, or of her own rows."""
    released = release.to_polars()["query"]
    if release.record.rows is None:
        names = dict(release.record.subjects.collect().select("original", "released").rows())
        by_name = dict(release.to_polars().group_by("user").agg("query").rows())
        return {user: by_name.get(name, []) for user, name in names.items()}
    user_of = dict(log.frame.select("row", "user").collect().rows())
    after = {}
    for row, at in release.record.rows.collect().select("row", "released_row").rows():
        after.setdefault(user_of[row], []).append(released[at])
    return after


@settings(max_examples=examples(40))
@given(logs, st.sampled_from(METHODS), st.sampled_from([1, 5]))
def test_it_is_the_plain_reference(pairs, method, categories):
    log = _log(pairs)
    release = api.anonymize_prepared(log, method, seed=1)
    scores, after = _scores(log, release), _after(log, release)
    before = dict(log.frame.group_by("user").agg("query").collect().rows())

    def counts(queries):
        return reference.category_counts(queries, lambda q: paths(q, "term", categories), 8)

    groups = {f"level_{level}": [level] for level in range(1, 9)} | {f"up_to_{n}": range(1, n + 1) for n in (5, 8)}
    for name, levels in groups.items():
        found = [reference.remaining(counts(q), counts(after.get(user, [])), levels) for user, q in before.items()]
        found = [pair for pair in found if pair is not None]
        for which, key in enumerate((name, f"{name}.relative")):
            got = scores[f"categories_{categories}.{key}"]
            assert (got is None) == (not found)
            if found:
                assert got == pytest.approx(sum(pair[which] for pair in found) / len(found))


def test_a_shallow_tree_has_no_empty_levels(tmp_path):
    path = tmp_path / "shallow.npz"
    taxonomies.write(tree_of([-1, 0, 1], {"music": [1], "jazz": [2]}), path)
    log = _log([("a", "jazz"), ("b", "jazz"), ("c", "music")])
    release = api.anonymize_prepared(log, SuppressRare(k=2, users="pseudonym"), seed=1)
    scores = coterie.measure(release, ["semantic_remain"], original=log, taxonomy=str(path))
    keys = [key for key in scores["key"] if key.startswith("categories_1.")]
    assert keys == [
        f"categories_1.{name}{end}" for name in ("level_1", "level_2", "up_to_5") for end in ("", ".relative")
    ]
    assert scores["value"].null_count() == 0


def test_the_whole_log_is_100(monkeypatch):
    log = coterie.prepare(coterie.read("synth:users=40,seed=2"))
    everything = api.anonymize_prepared(log, SuppressRare(k=2, users="pseudonym"), seed=1)
    expected = _scores(log, everything)
    monkeypatch.setattr(semantic_remain, "_ROWS_AT_ONCE", 7)
    assert _scores(log, everything) == expected
    same = log.frame.group_by(pl.col("user").alias("subject"), pl.col("query").alias("item")).len("before")
    profiles = same.with_columns(pl.col("before").alias("after")).collect().sort("subject", "item")
    tree = semantic_remain.taxonomies.load("wordnet")
    concepts = semantic_remain.concepts_of(profiles["item"].unique().sort(), tree)
    shares = semantic_remain.remaining(profiles, tree, concepts)
    assert shares["remain"].to_list() == pytest.approx([100] * shares.height)
    assert shares["relative"].to_list() == pytest.approx([100] * shares.height)


def test_size_is_no_merit_of_the_relative_number():
    """Who is given ten times her own queries keeps them all, and her shares; who is given others as well keeps half."""
    tree = semantic_remain.taxonomies.load("wordnet")
    rows = [("a", "dog", 1, 10), ("a", "piano", 1, 10), ("b", "dog", 1, 5), ("b", "piano", 0, 5)]
    profiles = pl.DataFrame(rows, schema=["subject", "item", "before", "after"], orient="row")
    concepts = semantic_remain.concepts_of(pl.Series(["dog", "piano"]), tree).filter(pl.col("rank") == 0)
    deep = semantic_remain.remaining(profiles, tree, concepts).filter(pl.col("levels") == "level_8")
    assert deep.select("remain", "relative").rows() == [(100, 100), (100, 50)]


def test_it_is_about_queries():
    log = visits_log()
    release = api.anonymize_prepared(log, SuppressRare(k=2), seed=1)
    with pytest.raises(NotApplicableError, match="what queries mean"):
        coterie.measure(release, ["semantic_remain"], original=log)
