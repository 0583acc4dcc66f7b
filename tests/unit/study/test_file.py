"""Study files: every key is declared, and whatever else stands in one is refused with a sentence."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.core.declared import keys_of
from coterie.errors import CoterieError, InputError, MissingError, ParameterError, UnknownNameError
from coterie.reports.drawing import Drawing
from coterie.study import load_study
from coterie.study.file import (
    AnonymizeTable,
    MeasureTable,
    PrepareTable,
    ReadTable,
    ReportTable,
    SimulateTable,
    StudyFile,
)

ROOT = Path(__file__).parents[3]
TABLES = {
    "[read]": ReadTable,
    "[prepare]": PrepareTable,
    "[[anonymize]]": AnonymizeTable,
    "[measure]": MeasureTable,
    "[report]": ReportTable,
    "[[figure]]": Drawing,
}
STUDY = """
format = 1
[read]
source = "synth:users=60,seed=7"
[prepare]
steps = ["normalize"]
[[anonymize]]
method = "suppress_rare"
k = [2, 3]
[measure]
names = ["exposure"]
[report]
to = "report.html"
[[figure]]
file = "a.svg"
title = "A"
measure = "exposure"
keys = ["exposed.mean"]
"""


@pytest.fixture
def study(tmp_path):
    return tmp_path / "study.toml"


def _refused(path, text, kind=InputError):
    path.write_text(text)
    with pytest.raises(kind) as refused:
        load_study(path)
    return str(refused.value)


def test_a_study(study):
    study.write_text(STUDY)
    loaded = load_study(study)
    assert [cell.label for cell in loaded.cells] == ["suppress_rare k=2", "suppress_rare k=3"]
    assert loaded.sources == ("synth:users=60,seed=7",)
    assert loaded.prepare.steps == ("normalize",)
    assert loaded.folder == study.with_suffix(".results")
    assert loaded.report == study.with_suffix(".results") / "report.html"
    study.write_text('[read]\nsource = ["a.tsv", "/b.tsv"]\n[[anonymize]]\nmethod = "microaggregate"\nk = 2')
    least = load_study(study)
    assert least.sources == (str(study.parent / "a.tsv"), "/b.tsv")
    assert least.prepare.steps == ("default",)
    assert least.measures is None
    assert least.cells[0].seed == 7
    assert least.cells[0].baseline.params["partition"] == "random"


@pytest.mark.parametrize("table", TABLES)
def test_unknown_keys(study, table):
    kind = TABLES[table]
    where = f"in {table}" + (" number 1" if table.startswith("[[") else "")
    first = keys_of(kind)[0]
    near = _refused(study, STUDY.replace(table, f"{table}\n{first}x = 1"))
    assert f"unknown key '{first}x' {where}" in near
    assert f"did you mean '{first}'?" in near
    far = _refused(study, STUDY.replace(table, f"{table}\nqqqqqq = 1"))
    assert f"unknown key 'qqqqqq' {where}" in far
    assert all(key in far for key in keys_of(kind))


@pytest.mark.parametrize(("near", "meant"), [("reed", "read"), ("mesure", "measure"), ("figures", "figure")])
def test_unknown_tables(study, near, meant):
    assert f"study.toml: unknown key '{near}'; did you mean '{meant}'?" in _refused(study, f"{STUDY}[{near}]\na = 1")


@pytest.mark.parametrize(("table", "key"), [(table, key) for table, kind in TABLES.items() for key in keys_of(kind)])
def test_wrong_types(study, table, key):
    lines = [line for line in STUDY.splitlines() if not (line.startswith(f"{key} ") and line != "format = 1")]
    if table == "[[anonymize]]" and key == "seed":
        lines = STUDY.splitlines()
    text = "\n".join(lines).replace(table, f"{table}\n{key} = [[1.5]]")
    where = f" in {table}" + (" number 1" if table.startswith("[[") else "")
    assert re.search(rf"study.toml: '{key}'( \(item 1\))?{re.escape(where)} must be ", _refused(study, text))


@pytest.mark.parametrize("table", [name.strip("[]") for name in TABLES])
def test_a_value_in_place_of_a_table(study, table):
    text = re.sub(rf"\[+{table}\]+\n([^\[\n].*\n)*", "", STUDY)
    assert f"'{table}' must be a" in _refused(study, f"{table} = 5\n" + text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'read' is missing"),
        ("format = 2\n", "study.toml was written for another version of Coterie (format 2; this one"),
        ("format = '1'\n", "'format' must be a whole number"),
        ("format = 0\n", "'format' must be a whole number of at least 1"),
        ("x = ", "not valid TOML"),
        (STUDY.replace("k = [2, 3]", "k = []"), "'k' in [[anonymize]] number 1 is an empty list"),
        (STUDY.replace('"synth:users=60,seed=7"', "[]"), "'source' in [read] must be a list of at least 1"),
        (STUDY + "[[figure]]\n", "'file' is missing in [[figure]] number 2"),
        (STUDY + '[[anonymize]]\nmethod = "affinity"\nthetta = 1', "about affinity; did you mean 'theta'?"),
        (STUDY + "[[anonymize]]\nk = 2", "'method' is missing in [[anonymize]] number 2"),
        (STUDY.replace("[measure]", "[measure]\nkappas = [2, 'a']"), "'kappas' (item 2) in [measure] must be a"),
        (STUDY.replace("[prepare]", '[prepare]\nsplit = "random"'), "'split' in [prepare] must be 'chronological'"),
        (STUDY.replace("[prepare]", "[prepare]\nsplit_rows = -1"), "must be a whole number of at least 0"),
        (STUDY.replace("[prepare]", "[prepare]\nsplit_rows = 5"), "'split_rows' in [prepare] goes with 'split'"),
        (STUDY.replace("[read]", "[read]\ndate = 2020-01-01"), "'date' in [read] must be text, not a date"),
        (STUDY.replace("[read]", "[read]\ncolumns = {user = 1}"), "'columns' (a value in it) in [read] must be text"),
        (STUDY.replace('measure = "exposure"', 'measure = "linkage"'), "draws linkage, which [measure] does not name"),
        (STUDY.replace("k = [2, 3]", "k = nan"), "not finite"),
    ],
)  # fmt: skip
def test_mistakes(study, text, message):
    assert message in _refused(study, text)


def test_mistakes_of_other_kinds(study):
    with pytest.raises(MissingError, match="no such study file"):
        load_study(study)
    with pytest.raises(InputError, match="cannot be read"):
        load_study(study.parent)
    assert "at least 2" in _refused(study, STUDY.replace("k = [2, 3]", "k = [1]"), ParameterError)
    assert ".html" in _refused(study, STUDY.replace("report.html", "report.pdf"), ParameterError)
    assert "Did you mean 'exposure'" in _refused(study, STUDY.replace("exposure", "exposur"), UnknownNameError)
    assert "suppress_rare" in _refused(study, STUDY.replace("suppress_rare", "suppress_rar"), UnknownNameError)
    kappas = STUDY.replace("[measure]", "[measure]\nkappas = [2, 1]")
    assert "study.toml: kappas are whole numbers of at least 2" in _refused(study, kappas, ParameterError)
    labels = STUDY.replace("[measure]", '[measure]\nlabels = "no.tsv"')
    assert "no.tsv" in _refused(study, labels, MissingError)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_junk_is_refused(tmp_path, data):
    path = tmp_path / "junk.toml"
    path.write_bytes(data)
    with pytest.raises(CoterieError):
        load_study(path)


def test_the_page_has_every_key():
    """docs/studies.md has a table with one line for each key of each table, and no other."""
    page = (ROOT / "docs" / "studies.md").read_text()
    listed = re.findall(r"^\| `(\[.*?\])` \| `(\w+)` \|", page, re.M)
    tables = {**TABLES, "[[simulate]]": SimulateTable}
    declared = [(table, key) for table, kind in tables.items() for key in keys_of(kind)]
    assert sorted(listed) == sorted(declared)
    assert {name.strip("[]") for name in tables} | {"format"} == set(keys_of(StudyFile))
