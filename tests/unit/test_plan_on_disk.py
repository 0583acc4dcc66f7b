"""A plan on disk: all of it comes back, and nobody but its owner may look at it."""

import stat

import polars as pl

from coterie.core.plan import Plan


def test_a_plan_comes_back_as_it_was(tmp_path):
    tables = {name: pl.LazyFrame({"item": ["tea", name]}) for name in ("a", "b", "c", "d")}
    plan = Plan(
        table=tables["a"],
        tables={"cuts": tables["b"], "[x]*": tables["c"]},
        evidence={"certificate": tables["d"]},
        notes=("one", "zwölf"),
    )
    plan.write(tmp_path / "plan")
    again = Plan.read(tmp_path / "plan")
    assert again.table.collect().equals(plan.table.collect())
    for before, after in ((plan.tables, again.tables), (plan.evidence, again.evidence)):
        assert set(before) == set(after)
        assert all(before[name].collect().equals(after[name].collect()) for name in before)
    assert again.notes == plan.notes
    Plan(table=tables["a"]).write(tmp_path / "less")
    less = Plan.read(tmp_path / "less")
    assert (less.tables, less.evidence, less.notes) == ({}, {}, ())


def test_a_plan_is_private(tmp_path):
    Plan(table=pl.LazyFrame({"item": ["tea"]})).write(tmp_path / "new" / "plan")
    folder = tmp_path / "new" / "plan"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir()) if path.is_dir()}
    assert modes == {"plan": 0o700, "tables": 0o700, "evidence": 0o700}
