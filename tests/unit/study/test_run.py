"""Studies share what is learnt, and keep results that are declared."""

import json
from collections import Counter

import pytest
from polars.testing import assert_frame_equal

from coterie import api
from coterie.errors import InputError, NotApplicableError
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
    learn = api.learn
    monkeypatch.setattr(
        api, "learn", lambda log, methods, **more: (calls.append(len(methods)), learn(log, methods, **more))[1]
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
    for path in loaded.folder.glob("cells/*.json"):
        if json.loads(path.read_text())["params"]["k"] in (3, 4):
            path.unlink()
    assert_frame_equal(run_study(loaded), first, rel_tol=1e-12)  # threads may add up numbers in another order
    assert learnt == [2, 2]


def _result(study):
    run_study(load_study(study))
    return next(study.with_suffix(".results").glob("cells/*.json"))


def test_results_are_declared(study):
    path = _result(study)
    data = json.loads(path.read_text())
    assert data["format"] == 1
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
        ({"format": 3}, "was written by another version of Coterie"),
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


SEEDS = """
[read]
source = "synth:users=24,seed=7"
[[anonymize]]
method = "microaggregate"
partition = "size"
seed = %s
k = [2, 3]
[measure]
names = ["exposure", "release_share"]
[report]
to = "report.md"
"""


def test_of_several_seeds_the_mean_is_told(tmp_path):
    path, told = tmp_path / "study.toml", []

    def scores(seeds):
        path.write_text(SEEDS % seeds)
        return run_study(load_study(path), lambda label, there: told.append((label, there)))

    one, other = scores("1"), scores("[2]")
    told.clear()
    both = scores("[1, 2, 1]")
    assert (both.drop("value").rows()) == one.drop("value").rows()
    for left, right, mean in zip(one["value"], other["value"], both["value"], strict=True):
        assert mean == (None if left is None else pytest.approx((left + right) / 2))
    assert one["value"].to_list() != other["value"].to_list()
    assert ("microaggregate partition=size k=2, seed 2", True) in told  # each seed is a cell of its own
    assert all(there for _, there in told)
    assert "means over 2 seeds: 1, 2." in (tmp_path / "study.results" / "report.md").read_text()


def test_a_measure_without_meaning_for_one_method_is_left_out_there_with_its_reason(tmp_path):
    path = tmp_path / "study.toml"
    text = SEEDS % 7 + '[[anonymize]]\nmethod = "suppress_rare"\nk = 2\n'
    path.write_text(text.replace('"release_share"', '"attribution"'))
    scores = run_study(load_study(path))
    with_scores = set(scores.filter(scores["name"] == "attribution")["release"])
    assert with_scores == {"microaggregate partition=size k=2", "microaggregate partition=size k=3"}
    assert "Not measured: attribution. " in (tmp_path / "study.results" / "report.md").read_text()


def test_a_measure_without_meaning_for_all_methods_is_refused(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('[read]\nsource = "synth:users=24,seed=7"\n[[anonymize]]\nmethod = "suppress_rare"\nk = 2\n'
                    '[measure]\nnames = ["attribution"]')  # fmt: skip
    with pytest.raises(NotApplicableError, match="'attribution' does not apply here"):
        run_study(load_study(path))


def test_searches_of_an_access_log(tmp_path):
    time = "[03/Feb/2020:09:00:00 +0000]"
    lines = [f'192.0.2.{n} - - {time} "GET /?q=blue+tea HTTP/1.1" 200 5 "-" "B/1"\n' for n in range(1, 8)]
    (tmp_path / "site.log").write_text("".join(lines))
    path = tmp_path / "study.toml"
    path.write_text(
        '[read]\nsource = "site.log"\nquery_param = "q"\n[[anonymize]]\nmethod = "suppress_rare"\nk = 5\n'
        '[measure]\nnames = ["release_share"]\n'
    )
    scores = run_study(load_study(path))
    assert dict(scores.select("key", "value").iter_rows())["rows"] == 100
