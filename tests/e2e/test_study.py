"""Studies run a grid and resume where they stopped."""

import json
import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

STUDY = """
[read]
source = "synth:users=60,seed=7"
[prepare]
steps = ["normalize", "drop_empty"]
[[anonymize]]
method = "suppress_rare"
k = [2, 3]
users = ["drop", "pseudonym"]
[measure]
names = ["exposure", "release_share"]
[report]
to = "report.html"
"""


GROUPS = """
[read]
source = "synth:users=24,seed=7"
[[anonymize]]
method = "microaggregate"
k = [2, 3]
[measure]
names = ["exposure", "release_share"]
[report]
to = "report.html"
[[figure]]
file = "exposure.svg"
title = "Exposure"
measure = "exposure"
keys = ["exposed.mean"]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_a_grid(coterie, study, tmp_path):
    done = coterie("study", study)
    assert "[4/4] suppress_rare k=3 users=pseudonym" in done.err
    cells = list((tmp_path / "study.results" / "cells").glob("*.json"))
    assert len(cells) == 4
    assert (tmp_path / "study.results" / "report.html").exists()
    scores = (tmp_path / "study.results" / "scores.csv").read_text()
    assert scores.count("exposed.mean") == 4
    assert {json.loads(cell.read_text())["promises"][0]["k"] for cell in cells} == {2, 3}


def test_it_resumes(coterie, study, tmp_path):
    coterie("study", study)
    first = (tmp_path / "study.results" / "scores.csv").read_bytes()
    cells = sorted((tmp_path / "study.results" / "cells").glob("*.json"))
    times = {cell: cell.stat().st_mtime_ns for cell in cells[1:]}
    cells[0].unlink()
    again = coterie("study", study)
    assert again.err.count("(known)") == 3
    assert (tmp_path / "study.results" / "scores.csv").read_bytes() == first
    assert times == {cell: cell.stat().st_mtime_ns for cell in cells[1:]}


def test_one_that_is_stopped_says_what_stays(coterie, study, tmp_path, monkeypatch):
    from coterie.study import run

    whole, made = run.release_view, []

    def stopped(*given, **named):
        if made:
            raise KeyboardInterrupt
        made.append(1)
        return whole(*given, **named)

    monkeypatch.setattr(run, "release_view", stopped)
    said = " ".join(coterie("study", study, code=130).err.split())
    assert "Nothing was written" not in said
    assert f"What is finished is in {tmp_path / 'study.results'}" in said
    monkeypatch.undo()
    assert coterie("study", study).err.count("(known)") == 1


def test_an_edited_study_computes_what_changed(coterie, study):
    coterie("study", study)
    study.write_text(STUDY.replace("k = [2, 3]", "k = [2, 4]"))
    assert coterie("study", study).err.count("(known)") == 2


def test_a_changed_log_is_computed_anew(coterie, study, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("user,query\n" + "".join(f"{n},tea\n" for n in range(9)))
    study.write_text(STUDY.replace("synth:users=60,seed=7", "log.csv"))
    coterie("study", study)
    assert coterie("study", study).err.count("(known)") == 4
    log.write_text(log.read_text() + "9,tea\n")
    assert coterie("study", study).err.count("(known)") == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[read]\n", "'source' is missing in [read]"),
        ("", "'read' is missing"),
        ("x = ", "not valid TOML"),
        (STUDY.replace("[report]", "[reports]"), "unknown key 'reports'; did you mean 'report'?"),
        (STUDY.replace("[report]", "[report]\nfor = 1"), "unknown key 'for' in [report]"),
        (STUDY.replace("[prepare]", '[prepare]\nsplit = "random"'), "'split' in [prepare] must be 'chronological'"),
        (STUDY.replace("[prepare]", "[prepare]\nsplit_rows = 5"), "goes with 'split'"),
        (STUDY.replace("steps =", "step ="), "unknown key 'step' in [prepare]; did you mean 'steps'?"),
        (GROUPS.replace('keys = ["', 'keys = ["no such '), "no score of exposure is called"),
        (STUDY.replace("exposure", "exposur"), "Did you mean 'exposure'"),
        (STUDY.replace("k = [2, 3]", "k = [1]"), "at least 2"),
        (
            STUDY.replace("k = [2, 3]", "kk = 3"),
            "unknown key 'kk' in [[anonymize]] number 1, which is about suppress_rare; did you mean 'k'?",
        ),
        (STUDY.replace("report.html", "report.pdf"), ".html"),
        (STUDY + '[[figure]]\nfile = "a.svg"\n', "'title' is missing in [[figure]] number 1"),
        (GROUPS.replace('measure = "exposure"', 'measure = "uniqueness"'), "which [measure] does not name"),
        (STUDY.replace("synth:users=60,seed=7", "synth:people=60"), "synth:users=1000,seed=7"),
        (STUDY.replace("synth:users=60,seed=7", "missing.tsv"), "no such file"),
    ],
)
def test_mistakes_are_found_before_the_work(coterie, study, text, message):
    study.write_text(text)
    assert message in coterie("study", study, code=2).err


def _scores(folder):
    scores = pl.read_csv(folder / "scores.csv")
    picked = scores.filter(pl.col("key") == "exposed.mean").select("release", "baseline", "value")
    return {row[:2]: row[2] for row in picked.iter_rows()}


def test_random_groups_run_beside_a_grouping(coterie, study, tmp_path):
    study.write_text(GROUPS)
    done = coterie("study", study)
    assert "[3/4] microaggregate k=2, random groups" in done.err
    found = _scores(tmp_path / "study.results")
    study.write_text(GROUPS.replace("k = [2, 3]", 'k = [2, 3]\npartition = "random"'))
    again = coterie("study", study)  # a random partition has no baseline, and was computed already
    assert again.err.count("(known)") == 2
    random = _scores(tmp_path / "study.results")
    for k in (2, 3):
        assert found[f"microaggregate k={k}", True] == random[f"microaggregate k={k} partition=random", False]
        assert found[f"microaggregate k={k}", True] != found[f"microaggregate k={k}", False]
    assert len(random) == 2


def test_all_goes_into_one_folder_and_another_log_is_read(coterie, study, tmp_path, log):
    study.write_text(GROUPS)
    out = tmp_path / "new" / "out"
    coterie("study", study, "-o", out)
    assert {path.name for path in out.iterdir()} == {"scores.csv", "report.html", "exposure.svg", "cells"}
    assert not (tmp_path / "study.results").exists()
    assert "Random groups" in (out / "exposure.svg").read_text()
    made = _scores(out)
    small = tmp_path / "small.csv"
    small.write_text("who,what\n" + "".join(f"{n % 9},tea {n % 4}\n" for n in range(30)))
    coterie("study", study, "-o", out, "--input", small, "--columns", "user=who,query=what")
    assert _scores(out).keys() == made.keys()
    assert _scores(out) != made
    assert "go with --input" in coterie("study", study, "--format", "aol", code=2).err


def test_the_study_of_paper_000(coterie, tmp_path):
    shipped = Path(__file__).parents[2] / "studies" / "paper_000.toml"
    text = re.sub(r"k = \[.*\]", "k = [3, 50]", shipped.read_text(), count=1)
    (tmp_path / "paper.toml").write_text(text)
    coterie("study", tmp_path / "paper.toml", "-o", tmp_path / "out", "--input", "synth:users=60,seed=7")
    figures = {figure["file"] for figure in tomllib.loads(text)["figure"]}
    assert {path.name for path in (tmp_path / "out").glob("*.svg")} == figures
    for name in figures:
        marks = (tmp_path / "out" / name).read_text().count('role="graphics-symbol"')
        assert marks > 2, f"{name} is empty"


def test_one_curve_for_each_theta(coterie, study, tmp_path):
    """A grid over k and θ draws shares over k, a line for each θ, and computes degrees once for each."""
    grid = STUDY.replace(
        '"suppress_rare"\nk = [2, 3]\nusers = ["drop", "pseudonym"]', '"affinity"\ntheta = [1.0, 0.8]\nk = [2, 3]'
    )
    grid = grid.replace('["exposure", "release_share"]', '["release_share", "f_beta"]\nlabels = "labels.csv"')
    figure = '[[figure]]\nfile = "c1.svg"\ntitle = "Released"\nmeasure = "release_share"\nkeys = ["queries"]\n'
    study.write_text(grid + figure)
    assert "labels.csv" in coterie("study", study, code=2).err
    (tmp_path / "labels.csv").write_text("query,sensitive\nmaps,no\nno such query,yes\n")
    from coterie.methods.affinity import model as affine_queries

    calls = []
    gather = affine_queries.gather
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(affine_queries, "gather", lambda *given: (calls.append(1), gather(*given))[1])
        coterie("study", study)
    assert len(calls) == 2
    drawn = (tmp_path / "study.results" / "c1.svg").read_text()
    page = (tmp_path / "study.results" / "report.html").read_text()
    for theta in ("1.0", "0.8"):
        assert f"affinity (theta={theta})" in drawn
        assert f"affinity (theta={theta})" in page
    scores = (tmp_path / "study.results" / "scores.csv").read_text()
    assert scores.count("f_beta,f_1,") == 4
    (tmp_path / "labels.csv").write_text("query,sensitive\nmaps,yes\n")
    assert "(known)" not in coterie("study", study).err


@pytest.mark.parametrize("given", ["kappas = 5", "kappas = ['a']", "kappas = [1]", "names = 'linkage'"])
def test_wrong_values_of_measures(coterie, tmp_path, given):
    study = tmp_path / "study.toml"
    study.write_text(
        f'[read]\nsource = "synth:users=30"\n[[anonymize]]\nmethod = "suppress_rare"\nk = 2\n[measure]\n{given}\n'
    )
    said = coterie("study", study, code=2)
    assert "study.toml" in said.err
    assert list(tmp_path.iterdir()) == [study]


def test_a_file_of_words_is_beside_the_study_and_counts_by_content(coterie, tmp_path, monkeypatch):
    """Cells depend on what is in the file, not on its name."""
    (tmp_path / "inner").mkdir()
    study, words = tmp_path / "inner" / "study.toml", tmp_path / "inner" / "words.txt"
    words.write_text("der die das")
    study.write_text(
        '[read]\nsource = "synth:users=60,seed=7"\n[[anonymize]]\nmethod = "affinity"\nk = 2\n'
        'function_words = ["none", "words.txt"]\n[measure]\nnames = ["release_share"]\n'
    )
    monkeypatch.chdir(tmp_path)
    assert "(known)" not in coterie("study", study).err
    assert coterie("study", study).err.count("(known)") == 2
    words.write_text("der die das und")
    done = coterie("study", study)
    assert done.err.count("(known)") == 1
    assert "function_words=words.txt" in done.err
    assert all(
        str(tmp_path) not in cell.read_text() for cell in (tmp_path / "inner" / "study.results" / "cells").iterdir()
    )


def test_a_study_of_later_queries(coterie, study, tmp_path):
    study.write_text(
        GROUPS.replace("[[anonymize]]", '[prepare]\nsplit = "chronological"\n[[anonymize]]', 1)
        .replace('names = ["exposure", "release_share"]', 'names = ["later_queries", "exposure"]')
        .replace("users=24", "users=60")
    )
    coterie("study", study, "-o", tmp_path / "out")
    scores = pl.read_csv(tmp_path / "out" / "scores.csv")
    halves = scores.filter(pl.col("key") == "retained")
    assert halves.height == 4
    ratios = scores.filter(pl.col("key") == "retained.ratio").join(halves.filter("baseline"), on="release")
    assert not ratios["baseline"].any()
    kept = halves.filter(~pl.col("baseline")).join(ratios, on="release", suffix="_ratio", maintain_order="right")
    assert (ratios["value"] * ratios["value_right"]).to_list() == pytest.approx(kept["value"].to_list())
    assert ratios.height == 2
    assert halves["value"].null_count() == 0
    study.write_text(study.read_text().replace('split = "chronological"', 'split = "chronological"\nsplit_rows = 10'))
    assert coterie("study", study, "-o", tmp_path / "out").err.count("(known)") == 0
    tens = pl.read_csv(tmp_path / "out" / "scores.csv").filter(pl.col("key") == "retained")
    assert tens["value"].to_list() != halves["value"].to_list()
