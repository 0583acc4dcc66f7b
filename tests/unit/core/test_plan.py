"""A plan is the whole decision and can be stored; what a method may leave out has a default."""

import stat
from dataclasses import dataclass, replace

import polars as pl
import pytest

from coterie.core.plan import Facts, Plan, enough_subjects
from coterie.core.shapes import COUNTS, QUERIES
from coterie.errors import InputError
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from tests.helpers.count_queries import CountQueries
from tests.helpers.runs import a_run

TABLE = pl.LazyFrame({"item": ["maps", "weather"], "degree": [3, 5]})
GROUPS = pl.LazyFrame({"subject": ["ann"], "group": pl.Series([7], dtype=pl.UInt32)})
PLAN = Plan(
    table=TABLE,
    tables={"[x]*": GROUPS, "centers": GROUPS, "empty": GROUPS.clear()},
    evidence={"certificate": GROUPS},
    notes=("2 of 9 users lose everything.", "Größe: ½"),
)


def test_a_stored_plan_is_the_same_plan(tmp_path):
    folder = tmp_path / "records [1]" / "plan"  # brackets are no pattern
    PLAN.write(folder)
    stored = Plan.read(folder)
    assert stored.table.collect().equals(TABLE.collect())
    for kept, given in ((stored.tables, PLAN.tables), (stored.evidence, PLAN.evidence)):
        assert list(kept) == list(given)
        assert all(table.collect().equals(given[name].collect()) for name, table in kept.items())
        assert all(table.collect_schema() == given[name].collect_schema() for name, table in kept.items())
    assert stored.notes == PLAN.notes


def test_a_plan_may_be_a_table_and_nothing_else(tmp_path):
    Plan(table=TABLE).write(tmp_path / "plan")
    stored = Plan.read(tmp_path / "plan")
    assert (stored.tables, stored.evidence, stored.notes) == ({}, {}, ())


def test_folders_of_a_plan_are_private(tmp_path):
    folder = tmp_path / "new" / "plan"
    PLAN.write(folder)
    folders = [folder, *(path for path in folder.iterdir() if path.is_dir())]
    assert len(folders) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_a_plan_shows_no_value():
    assert "maps" not in repr(PLAN)


@pytest.mark.parametrize(("subjects", "k"), [(4, 5), (1, 2)])
def test_too_few_users_are_refused_with_what_to_do(subjects, k):
    with pytest.raises(
        InputError, match=f"mine with k = {k} needs at least {k} users, and the log has {subjects}. Use a"
    ):
        enough_subjects("mine", k, Facts(subjects=subjects, rows=100))


def test_exactly_k_users_are_enough():
    enough_subjects("mine", 5, Facts(subjects=5, rows=5))


@dataclass(frozen=True, kw_only=True)
class Learns(SuppressRare):
    """Learns the number of columns."""

    def learn(self, log, run):
        return len(log.frame.collect_schema()), run.seed


def test_a_method_without_learn_learns_nothing():
    log, run = queries_log(), a_run(seed=4)
    assert SuppressRare(k=3).learn(log, run) is None
    assert Learns(k=3).learn(log, run) == (len(log.frame.collect_schema()), 4)


def test_the_shape_of_a_release_is_that_of_the_log_unless_a_method_says_so():
    log = queries_log()
    assert SuppressRare().shape_given(log) is log.shape
    assert CountQueries().shape_given(log) is COUNTS
    wider = replace(log, shape=replace(QUERIES, name="wider"))
    assert SuppressRare().shape_given(wider).name == "wider"


def test_what_a_method_does_not_say_is_no():
    assert Microaggregate.holds_rows
    assert Microaggregate().holds_rows
    assert not SuppressRare.holds_rows
    assert SuppressRare().baseline() is None


def test_a_baseline_differs_in_its_groups_alone():
    method = Microaggregate(k=4, attrs="drop")
    baseline = method.baseline()
    assert baseline == replace(method, partition="random")
    assert baseline.baseline() is None
