"""People who are kept out, regimes in place of methods, and steps of single tables."""

import polars as pl
import pytest

from coterie.errors import InputError
from coterie.study import load_study, run_study
from coterie.study.run import read_log

STUDY = """
[read]
source = "synth:users=60,seed=7"
[prepare]
steps = ["normalize", "drop_empty"]
split = "chronological"
outsiders = 0.25
[[anonymize]]
method = "suppress_rare"
k = 2
[[anonymize]]
method = "suppress_rare"
steps = ["sample(subjects=20)"]
k = 2
[[anonymize]]
regime = "orcas"
k = 3
[measure]
names = ["one_user_share", "witness", "clicks", "completion"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(STUDY)
    return load_study(path)


def test_who_is_kept_out(study):
    log, given = read_log(study)
    people = {name: set(part.frame.collect()["user"]) for name, part in given.items()}
    inside = set(log.frame.collect()["user"])
    assert (len(inside), len(people["outsiders"])) == (45, 15)
    assert not inside & people["outsiders"]
    assert people["later"] & people["outsiders"]


def test_cells(study):
    assert [cell.label for cell in study.cells] == [
        "suppress_rare k=2",
        "suppress_rare k=2 after sample(subjects=20)",
        "orcas: suppress_rare k=3 k_details=30 users=drop times=drop",
    ]
    assert [cell.steps for cell in study.cells] == [(), ("sample(subjects=20)",), ()]


def test_each_cell_has_its_log(study):
    scores = run_study(study).filter(~pl.col("baseline"))
    users = scores.filter(name="one_user_share", key="users").select("release", "value")
    assert dict(users.iter_rows()) == dict(zip([cell.label for cell in study.cells], (45, 20, 45), strict=True))
    assert scores.filter(name="witness", key="outsiders")["value"].to_list() == [15, 15, 15]
    assert scores.filter(name="clicks", key="people")["value"].min() > 0
    assert scores.filter(name="completion", key="others.users")["value"].min() > 0


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('regime = "orcas"\nmethod = "suppress_rare"', "leave out 'method' and 'steps' in"),
        ('regime = "orcas"\nwords = 2', "unknown key 'words'"),
        ('steps = ["sample(subjects=20)"]', "'method' is missing"),
    ],
)
def test_what_is_refused(tmp_path, table, reason):
    path = tmp_path / "study.toml"
    path.write_text(STUDY + f"[[anonymize]]\n{table}\n")
    with pytest.raises(InputError, match=reason):
        load_study(path)


def test_a_regime_has_its_own_steps(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace('"drop_empty"', '"events"'))
    with pytest.raises(InputError, match="orcas begins with the steps normalize, drop_empty"):
        load_study(path)
