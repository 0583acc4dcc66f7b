"""Studies share what is learnt, and keep results that are declared."""

import json
from collections import Counter

import pytest
from polars.testing import assert_frame_equal

from coterie import verbs
from coterie.errors import InputError
from coterie.study import load_study, run_study
from coterie.study.run import CellResult, alike

GROUPS = """
[read]
source = "synth:users=24,seed=7"
[[anonymize]]
method = "microaggregate"
k = [2, 3, 4]
[[anonymize]]
method = "microaggregate"
partition = "random"
k = [5, 2]
[[anonymize]]
method = "suppress_rare"
k = 2
[measure]
names = ["exposure", "release_share"]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(GROUPS)
    return path


@pytest.fixture
def learnt(monkeypatch):
    """How many methods each call of `learn` served."""
    calls = []
    learn = verbs.learn
    monkeypatch.setattr(
        verbs, "learn", lambda log, methods, **more: (calls.append(len(methods)), learn(log, methods, **more))[1]
    )
    return calls


def test_cells_that_differ_in_k_alone_are_learnt_together(study, learnt):
    loaded = load_study(study)
    labels = [[cell.label for cell in cells] for cells in alike(loaded.cells)]
    assert labels == [
        [f"microaggregate k={k}" for k in (2, 3, 4)],
        [f"microaggregate k={k}, random groups" for k in (2, 3, 4)]
        + [f"microaggregate partition=random k={k}" for k in (5, 2)],
        ["suppress_rare k=2"],
    ]
    told = []
    scores = run_study(loaded, lambda label, there: told.append((label, there)))
    assert learnt == [3, 4, 1]  # and random groups of k = 2 are asked for twice, but made once
    assert len(told) == loaded.n_cells
    assert [label for label, there in told if there] == ["microaggregate partition=random k=2"]
    counts = Counter(scores.filter(key="exposed.mean")["release"])
    assert counts == {cell.label: 1 if cell.baseline is None else 2 for cell in loaded.cells}
    learnt.clear()
    assert run_study(loaded).equals(scores)
    assert learnt == []


def test_only_missing_cells_are_learnt_for(study, learnt):
    loaded = load_study(study)
    first = run_study(loaded)
    learnt.clear()
    for path in loaded.folder.glob("*.json"):
        if json.loads(path.read_text())["params"]["k"] in (3, 4):
            path.unlink()
    assert_frame_equal(run_study(loaded), first, rel_tol=1e-12)  # threads may add up numbers in another order
    assert learnt == [2, 2]


def _result(study):
    run_study(load_study(study))
    return next(study.with_suffix(".results").glob("*.json"))


def test_results_are_declared(study):
    path = _result(study)
    data = json.loads(path.read_text())
    assert data["format"] == 3
    assert list(data) == list(CellResult.__annotations__)
    assert all("looked_at" in check for check in data["checks"])
    for change, message in (
        ({"sores": []}, "unknown key 'sores'; did you mean 'scores'?"),
        ({"scores": [{"name": "a"}]}, "is missing in scores[0]"),
        (
            {"scores": [{"name": "a", "key": "b", "value": "c", "unit": ""}]},
            "'value' in scores[0] must be a number, not text",
        ),
        ({"largest_k": "2"}, "'largest_k' must be a whole number, not text"),
        ({"format": 4}, "newer version of Coterie"),
    ):
        path.write_text(json.dumps({**data, **change}))
        with pytest.raises(InputError) as refused:
            run_study(load_study(study))
        assert message in str(refused.value)
    for junk in (b"", b"\xff", b"[]", b'{"a": 1, "a": 2}', b'{"format": NaN}'):
        path.write_bytes(junk)
        with pytest.raises(InputError, match=r"is not a result of this study.*Delete it, and it is computed again"):
            run_study(load_study(study))
    path.unlink()
    run_study(load_study(study))
    assert json.loads(path.read_text()) == data


def test_another_version_computes_everything_again(study, monkeypatch, learnt):
    run_study(load_study(study))
    learnt.clear()
    monkeypatch.setattr("coterie.study.run.__version__", "0.0.1")
    run_study(load_study(study))
    assert learnt == [3, 4, 1]
