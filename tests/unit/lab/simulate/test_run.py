"""Simulations as a whole.

Covers: lab/simulate/__init__.py, lab/simulate/case.py
"""

import polars as pl
import pytest

import coterie
import coterie.lab.simulate
from coterie.errors import UnknownNameError
from coterie.lab.simulate import Simulation, World, case, protocol, simulate
from coterie.synth import synthesize
from tests.helpers.worlds import scores, synthetic_world


def test_of_a_log_and_of_a_world():
    log = coterie.prepare(coterie.log(synthesize(60, 7, "people")), ["normalize", "drop_empty"])
    one = simulate(log, protocol("friends", degree=6), measures=["exposure", "simattack"], seed=7)
    other = simulate(synthetic_world(), protocol("friends", degree=6), measures=["exposure", "simattack"], seed=7)
    assert isinstance(one, Simulation)
    assert isinstance(synthetic_world(), World)
    assert one.scores.equals(other.scores)
    assert one.scores.schema == {"name": pl.String, "key": pl.String, "value": pl.Float64, "unit": pl.String}
    assert not hasattr(one, "promises"), "a simulation promises nothing"


def test_exposure_is_never_told_alone():
    done = simulate(synthetic_world(), protocol("friends", degree=6), measures=["exposure"], seed=7)
    assert ("simattack", "true_past.recall") in scores(done)


def test_the_seed_decides():
    world = synthetic_world()
    one, same, other, none = (
        scores(simulate(world, protocol("friends", degree=6), measures=["exposure"], seed=seed))
        for seed in (1, 1, 2, None)
    )
    assert one == same != other != none


def test_measures_without_a_meaning_are_left_out_with_a_reason():
    done = simulate(synthetic_world(), protocol("unlinkable"), seed=7)
    assert set(done.left_out) == {"distribution", "friends", "unmix"}
    assert done.left_out["friends"] == "it is about friends, and this protocol has none"
    with pytest.raises(UnknownNameError, match="No simulation measure is called 'exposur'"):
        simulate(synthetic_world(), protocol("unlinkable"), measures=["exposur"], seed=7)


def test_paths_of_files_are_not_told(tmp_path):
    (tmp_path / "friends.txt").write_text("".join(f"{i} {i + 1}\n" for i in range(80)))
    by = protocol("friends", topology=str(tmp_path / "friends.txt"))
    assert simulate(synthetic_world(), by, measures=["exposure"], seed=7).params["topology"] == "friends.txt"


def test_what_is_attacked():
    world, by = synthetic_world(), protocol("friends", degree=6)
    found = case.Case(world=world, protocol=by, seen=by.protect(world, 7), seed=7)
    assert world.late[found.targets].all()
    start, people = found.candidates(found.targets)
    graph = found.network().graph
    for i, event in enumerate(found.targets[:50].tolist()):
        w = int(found.seen.identity[event])
        friends = graph.friend[graph.start[w] : graph.start[w + 1]].tolist()
        assert people[start[i] : start[i + 1]].tolist() == [w, *friends]


def test_names_are_loaded_when_asked_for():
    assert coterie.lab.simulate.simulate is simulate
    with pytest.raises(AttributeError):
        coterie.lab.simulate.nothing  # noqa: B018
