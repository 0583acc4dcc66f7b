"""Worked examples of certainty_penalty, f_beta and witness, small enough to check by hand; labels and their errors.

Covers: measures/utility/certainty_penalty.py, measures/utility/f_beta.py
"""

from types import SimpleNamespace

import polars as pl
import pytest

import coterie
from coterie.errors import InputError, MissingError, NotApplicableError
from coterie.measures.attacks.witness import _learnt, _names_having
from coterie.measures.inputs import read_labels, spelled
from coterie.measures.utility.certainty_penalty import costs_of
from coterie.measures.utility.f_beta import f_beta
from coterie.methods.affinity import Affinity
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log, visits_log


def _scores(release, name, log=None, **more):
    found = coterie.measure(release, [name], original=log or queries_log(), seed=1, **more)
    return {key: value for _, key, value, _ in found.iter_rows()}


# --- certainty penalty ---------------------------------------------------------------------------


def test_words_of_queries_left_out_cost_one():
    """24 rows: weather 9, bread recipe 4, maps 4, tide tables north 4; the rest once. k = 4 keeps the first three."""
    release = coterie.anonymize(queries_log(), SuppressRare(k=4), seed=1)
    lost = 4 * 3 + 4 + 3 + 2  # tide tables north; bread recipe without yeast; ships of glass; lost rows
    kept = 9 + 4 * 2 + 4
    assert _scores(release, "certainty_penalty") == {
        "ncp": pytest.approx(lost / (lost + kept)),
        "terms": lost + kept,
        "terms.suppressed": lost,
    }


def test_a_release_of_everything_costs_nothing():
    rows = pl.DataFrame({"item": ["a b", "c"], "rows": [2, 3]})
    assert costs_of(rows, rows).rows() == [(7, 0.0), (0, 1.0)]
    assert costs_of(rows, rows.clear()).rows() == [(0, 0.0), (7, 1.0)]


def test_runs_of_spaces_are_no_words():
    rows = pl.DataFrame({"item": [" a  b ", ""], "rows": [1, 5]})
    assert costs_of(rows, rows.clear())["occurrences"].to_list() == [0, 2]


def test_common_profiles_have_no_penalty():
    release = coterie.anonymize(queries_log(), Microaggregate(k=3), seed=1)
    with pytest.raises(NotApplicableError, match="only leave queries out"):
        _scores(release, "certainty_penalty")


def test_paths_have_no_words():
    release = coterie.anonymize(visits_log(), SuppressRare(k=3), seed=1)
    with pytest.raises(NotApplicableError, match="words of queries"):
        _scores(release, "certainty_penalty", visits_log())


# --- F_β -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("precision", "recall", "beta", "expected"),
    [
        (0.5, 0.5, 1, 0.5),
        (1.0, 0.5, 1, 2 / 3),
        (1.0, 0.5, 0.1, 1.01 * 0.5 / 0.51),
        (0.5, 1.0, 0.1, 1.01 * 0.5 / 1.005),
        (0.0, 0.0, 1, 0.0),
        (None, 0.0, 1, None),
        (1.0, None, 1, None),
    ],
)
def test_f_beta(precision, recall, beta, expected):
    assert f_beta(precision, recall, beta) == (None if expected is None else pytest.approx(expected))


LABELS = pl.DataFrame({
    "query": ["Weather ", "maps", "tide tables north", "ships of glass", "bread recipe", "never asked", "BREAD recipe"],
    "label": ["no", "yes", "harmless", "0", "no", "yes", "maybe"],
})  # fmt: skip


def test_labels_are_spelled_as_the_log_is():
    """Released at k = 4: weather (harmless), maps and bread recipe (sensitive); tide tables and ships are harmless."""
    log = coterie.prepare(queries_log())
    release = coterie.anonymize(log, SuppressRare(k=4), seed=1)
    found = _scores(release, "f_beta", log, labels=LABELS)
    assert found == {
        "labelled": 5, "sensitive": 2, "absent": 1, "released": 3,
        "precision": pytest.approx(1 / 3), "recall": pytest.approx(1 / 3),
        "f_1": pytest.approx(1 / 3), "f_0_1": pytest.approx(1 / 3),
    }  # fmt: skip


def test_nothing_released_has_no_precision():
    log = coterie.prepare(queries_log())
    release = coterie.anonymize(log, SuppressRare(k=6), seed=1)
    found = _scores(release, "f_beta", log, labels=LABELS.filter(pl.col("query") == "maps"))
    assert (found["precision"], found["recall"], found["f_1"]) == (None, None, None)
    found = _scores(release, "f_beta", log, labels=LABELS.filter(pl.col("query") == "ships of glass"))
    assert (found["precision"], found["recall"], found["f_1"]) == (None, 0.0, None)


def test_without_labels():
    release = coterie.anonymize(queries_log(), SuppressRare(k=4), seed=1)
    with pytest.raises(NotApplicableError, match="labels=FILE"):
        _scores(release, "f_beta")
    assert "f_beta" not in coterie.measure(release, original=queries_log(), seed=1)["name"].unique()


def test_label_files(tmp_path):
    (tmp_path / "a.tsv").write_text('query\thas_num\tis_pii\nsay "no\t1\tyes\nb\t0\tNo\n')
    (tmp_path / "b.csv").write_text('sensitive,query\ntrue,"say ""no"\nfalse,b\n')
    for name in ("a.tsv", "b.csv"):
        assert read_labels(tmp_path / name).rows() == [('say "no', True), ("b", False)]


def test_both_labels_make_a_query_sensitive():
    table = read_labels(pl.DataFrame({"query": ["A", "a"], "sensitive": [False, True]}))
    assert spelled(table, SimpleNamespace(steps=("normalize",))).rows() == [("a", True)]
    assert spelled(table, SimpleNamespace(steps=())).rows() == [("A", False), ("a", True)]


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("x.tsv", "query\tx\nqzqueryq\t1\n", InputError, "one of: sensitive, label, is_pii"),
        ("x.tsv", "query\tlabel\tsensitive\nqzqueryq\t1\t1\n", InputError, "one of"),
        ("x.tsv", "query\tlabel\nqzqueryq\tqzqueryq\nb\tno\n", InputError, "1 of 2 labelled queries"),
        ("x.csv", 'query,label\n"qzqueryq,1\n"b"c,d,e,f', InputError, ""),
        ("x.txt", "query", InputError, ".tsv or .csv"),
    ],
)
def test_label_errors_show_no_value(tmp_path, name, text, error, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(error) as caught:
        read_labels(tmp_path / name)
    assert message in str(caught.value)
    assert "qzqueryq" not in str(caught.value)


def test_a_missing_label_file(tmp_path):
    with pytest.raises(MissingError, match="no such file"):
        read_labels(tmp_path / "x.tsv")


# --- witness -------------------------------------------------------------------------------------

PAIRS = {"ann": "rare common more", "bob": "common more", "cyd": "alone"}


def _pairs(profiles):
    rows = [(name, item) for name, items in profiles.items() for item in items.split()]
    return pl.DataFrame(rows, schema={"subject": pl.String, "item": pl.String}, orient="row")


def _witness(released, names):
    original = _pairs(PAIRS)
    own = pl.DataFrame(names, schema={"original": pl.String, "released": pl.String}, orient="row")
    shown = _pairs(released)
    found = _learnt(original, _names_having(shown, original), shown, shown["subject"].n_unique(), own, seed=3)
    return {subject: row for subject, *row in found.rows()}


def test_a_pseudonym_gives_everything_away():
    """ann's rare query is hers alone; bob's two are shared by two names, one of which is his."""
    found = _witness({"n1": "rare common more", "n2": "common more"}, [("ann", "n1"), ("bob", "n2")])
    assert found == {
        "ann": [2, True, 2.0, 2.0, 0.5],
        "bob": [1, False, 0.5, 1.0, 0.5],
        "cyd": [0, False, 0.0, 0.0, 0.0],
    }


def test_sessions_give_away_one_session():
    names = [("ann", "s1"), ("ann", "s2"), ("bob", "s3")]
    found = _witness({"s1": "rare more", "s2": "common", "s3": "common more"}, names)
    # By chance: each of ann's other queries stands under two of the three names, and two of them are hers.
    assert found["ann"] == [2, True, 1.0, pytest.approx(4 / 3), pytest.approx(2 / 3)]


def test_what_others_asked_is_not_learnt():
    """n1 is a common profile: `more` under it was not ann's to lose, if ann never asked for it."""
    found = _witness({"n1": "rare alone"}, [("ann", "n1")])
    assert found["ann"] == [2, True, 0.0, 0.0, 1.0]
    assert found["cyd"] == [0, False, 0.0, 0.0, 0.0]  # under one name, and it is not hers


def test_rows_without_names():
    release = coterie.anonymize(queries_log(), Affinity(k=2, theta=0.5), seed=1)
    found = _scores(release, "witness")
    assert found["before.unique"] > 0
    assert [found[key] for key in ("after.names", "after.unique", "after.queries", "after.share")] == [0, 0, 0, 0]
