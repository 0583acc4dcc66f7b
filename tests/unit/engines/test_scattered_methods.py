"""Methods that run anywhere give the same release, and the same checks, on rows that are scattered.

Covers: testing/scattered.py
"""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

import coterie
from coterie.core import registry
from coterie.core.plan import refuse_engine
from coterie.core.run import Run
from coterie.core.shapes import QUERIES, VISITS
from coterie.engines.local import Local
from coterie.errors import InputError, ParameterError
from coterie.testing.scattered import Scattered

CASES = [
    ("suppress_rare", {"k": 3}),
    ("suppress_rare", {"k": 3, "users": "session"}),
    ("suppress_rare", {"k": 3, "users": "pseudonym"}),
    ("suppress_rare", {"k": 3, "attrs": "keep"}),
    ("suppress_rare", {"k": 3, "users": "pseudonym", "attrs": "drop"}),
    ("microaggregate", {"k": 3, "block_users": 20}),
    ("microaggregate", {"k": 3, "block_users": 20, "times": "day"}),
    ("interest_microaggregate", {"k": 3, "publish": "queries"}),
    ("semantic_microaggregate", {"k": 3}),
    ("concept_microaggregate", {"k": 3, "block_users": 20}),
    ("affinity", {"k": 3}),
    ("generalize", {"k": 3}),
    ("generalize_visits", {"k": 3}),
    ("generalize_visits", {"k": 3, "details": ""}),
    ("common_visits", {"k": 3}),
    ("suppress_rare", {"k": 3, "k_details": 2, "times": "week"}),
    ("suppress_rare", {"k": 3, "k_details": 2, "times": "month", "users": "pseudonym", "details": True}),
    ("affinity", {"k": 3, "k_details": 5, "times": "hour", "details": True}),
    ("generalize", {"k": 3, "k_details": 2, "times": "drop", "details": True}),
]


def _no_noise(count):
    """The middle of every distribution."""
    return np.full(count, 2**63, dtype=np.uint64)


@cache
def log_for(shape):
    kind = "visits" if shape is VISITS else "topics"
    return coterie.prepare(coterie.read(f"synth:users=40,seed=7,kind={kind}"))


@cache
def detailed_log():
    """The same searches with two columns more."""
    log = log_for(QUERIES)
    rows = log.frame.collect()
    kinds = pl.Series("device", [["phone", "desk", None][at % 3] for at in range(rows.height)], dtype=pl.String)
    rows = rows.with_columns(kinds, pl.col("user").str.slice(-1).alias("country"))
    return replace(log, frame=rows.lazy(), shape=log.shape.with_details(["device", "country"]))


def case_of(name, params):
    """The method, and the log that it is tried on: with further details where `details` is said."""
    method = registry.method(name)(**{name: value for name, value in params.items() if name != "details"})
    if name == "common_visits":  # rows that are scattered have no order, so pages of one second are another question
        log = log_for(VISITS)
        return method, replace(log, frame=log.frame.unique(["user", "time"], keep="first", maintain_order=True))
    return method, detailed_log() if params.get("details") else log_for(method.accepts[0])


@pytest.fixture(scope="module")
def log():
    return log_for(QUERIES)


def scattered(log, seed=1, **options):
    """The same log with its rows elsewhere."""
    engine = Scattered(seed, **options)
    return replace(log, frame=engine.keep(log.frame), engine=engine, resources=())


@pytest.mark.parametrize(("name", "params"), CASES, ids=str)
def test_a_release_is_the_same_wherever_rows_are(name, params):
    method, log = case_of(name, params)
    here = coterie.anonymize(log, method, seed=5)
    elsewhere = scattered(log)
    there = coterie.anonymize(elsewhere, method, seed=5)
    assert there.to_polars().equals(here.to_polars())
    assert there.verified == here.verified
    assert [check.text for check in there.checks] == [check.text for check in here.checks]
    assert there.warnings == here.warnings
    assert there.record.subjects.collect().equals(here.record.subjects.collect())


def test_suppress_rare_brings_no_rows_here(log):
    elsewhere = scattered(log)
    coterie.anonymize(elsewhere, registry.method("suppress_rare")(k=3), seed=5)
    assert elsewhere.engine.came == 0


@pytest.mark.parametrize(
    ("name", "params"), [("generalize_visits", {"k": 3}), ("private_counts", {"epsilon": 8.0, "delta": 1e-3})], ids=str
)
def test_a_plan_and_its_release_bring_no_rows_here(name, params):
    """What comes is asked for by `small`: distinct paths and hosts, or pairs of users and queries, each once."""
    method = registry.method(name)(**params)
    elsewhere = scattered(log_for(method.accepts[0]))
    run = Run(engine=elsewhere.engine, seed=1, words=_no_noise)
    draft = method.release(elsewhere, method.plan(method.learn(elsewhere, run), elsewhere, run), run)
    assert elsewhere.engine.came == 0
    assert draft.frame.collect().height > 0


@pytest.mark.parametrize("params", [{}, {"items": "phrases"}, {"items": "clicks"}, {"days": "2006-03-01..2006-03-03"}])
def test_counts_are_the_same_before_noise(log, params):
    """The noise itself cannot be repeated; here it is that of a test."""
    method = registry.method("private_counts")(epsilon=24.0, delta=1e-2, k=2, **params)
    assert method.anywhere
    plans = []
    for each in (log, scattered(log)):
        run = Run(engine=each.engine or Local(), seed=1, words=_no_noise)
        plans.append(method.plan(method.learn(each, run), each, run))
    order = ["table", "item", "detail"]
    assert plans[0].table.collect().sort(order).equals(plans[1].table.collect().sort(order))
    assert plans[0].table.collect().height > 0


@pytest.mark.parametrize("name", [name for name in registry.names("methods") if not registry.method(name).anywhere])
def test_other_methods_say_that_they_run_on_one_machine(name):
    with pytest.raises(ParameterError, match=re.escape(f"{name} runs on one machine; leave out --engine.")):
        refuse_engine(registry.method(name))


def test_phrases_are_cut_on_one_machine(log):
    with pytest.raises(ParameterError, match="with publish = phrases runs on one machine"):
        coterie.anonymize(scattered(log), registry.method("microaggregate")(k=3, publish="phrases", attrs="drop"))


def test_blocks_are_those_of_one_machine(log):
    with pytest.raises(ParameterError, match="leave it out with session"):
        coterie.anonymize(scattered(log), registry.method("suppress_rare")(k=3), blocks=2)


def test_a_log_that_is_too_large_for_the_driver_is_refused(log):
    with pytest.raises(InputError, match="more than 100 rows on one machine"):
        coterie.anonymize(scattered(log, limit=100), registry.method("affinity")(k=3), seed=1)
    released = coterie.anonymize(scattered(log, limit=100), registry.method("suppress_rare")(k=3), seed=1)
    assert released.rows > 100


def test_pairs_come_here_once_each(log):
    """A limit between the pairs and the rows is enough for counts, and none of them for a method that needs rows."""
    rows = log.frame.collect()
    pairs = rows.select("user", "query").unique().height
    assert pairs < rows.height
    method, limited = registry.method("private_counts")(epsilon=8.0, delta=1e-3), scattered(log, limit=pairs)
    run = Run(engine=limited.engine, seed=1, words=_no_noise)
    assert method.plan(method.learn(limited, run), limited, run).table.collect().height > 0
    with pytest.raises(InputError, match="on one machine"):
        method.learn(few := scattered(log, limit=pairs - 1), Run(engine=few.engine, seed=1))


def test_steps_run_wherever_rows_are():
    raw = coterie.read("synth:users=20,seed=7")
    steps = ["default", "sessions(minutes=10)"]
    here, there = coterie.prepare(raw, steps), coterie.prepare(scattered(raw), steps)
    assert there.steps == here.steps
    assert there.frame.collect().sort("row").equals(here.frame.collect().sort("row"))
    mail = pl.when(pl.col("row") % 5 == 0).then(pl.lit("kim@mail.example.org")).otherwise("query").alias("query")
    raw = replace(raw, frame=raw.frame.with_columns(mail).collect().lazy())
    here, there = coterie.prepare(raw, ["default", "scrub"]), coterie.prepare(scattered(raw), ["default", "scrub"])
    assert there.frame.collect().sort("row").equals(here.frame.collect().sort("row"))
    assert here.history[-1].counts["email"] > 0
    there = coterie.prepare(scattered(raw), ["events", "drop_short", "names", "drop_numerals"])
    here = coterie.prepare(raw, ["events", "drop_short", "names", "drop_numerals"])
    assert there.frame.collect().sort("row").equals(here.frame.collect().sort("row"))
    with pytest.raises(ParameterError, match="The step sample runs on one machine"):
        coterie.prepare(scattered(raw), ["sample"])


def test_steps_for_access_logs_run_wherever_rows_are():
    raw = coterie.read("synth:users=20,seed=7,kind=visits")
    steps = ["drop_bots", "drop_assets", "visitors", "default"]
    here, there = coterie.prepare(raw, steps), coterie.prepare(scattered(raw), steps)
    assert there.steps == here.steps
    assert there.frame.collect().sort("row").equals(here.frame.collect().sort("row"))
    assert 0 < here.frame.collect().height < raw.frame.collect().height


def test_a_list_of_names_of_ones_own_is_on_this_machine_only(tmp_path):
    (tmp_path / "names.txt").write_text("kim example\n")
    raw = coterie.read("synth:users=20,seed=7")
    with pytest.raises(ParameterError, match="The step names runs on one machine"):
        coterie.prepare(scattered(raw), [f'names(listed="{tmp_path / "names.txt"}")'])
