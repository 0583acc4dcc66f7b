"""Studies run a grid and resume where they stopped."""

import json

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


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_a_grid(coterie, study, tmp_path):
    done = coterie("study", study)
    assert "[4/4] suppress_rare k=3 users=pseudonym" in done.err
    cells = list((tmp_path / "study.results").glob("*.json"))
    assert len(cells) == 4
    assert (tmp_path / "report.html").exists()
    scores = (tmp_path / "study.results" / "scores.csv").read_text()
    assert scores.count("exposed.mean") == 4
    assert {json.loads(cell.read_text())["promise"]["k"] for cell in cells} == {2, 3}


def test_it_resumes(coterie, study, tmp_path):
    coterie("study", study)
    first = (tmp_path / "study.results" / "scores.csv").read_bytes()
    cells = sorted((tmp_path / "study.results").glob("*.json"))
    times = {cell: cell.stat().st_mtime_ns for cell in cells[1:]}
    cells[0].unlink()
    again = coterie("study", study)
    assert again.err.count("(known)") == 3
    assert (tmp_path / "study.results" / "scores.csv").read_bytes() == first
    assert times == {cell: cell.stat().st_mtime_ns for cell in cells[1:]}


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
        ("[read]\n", "needs [read] source"),
        ("x = ", "not valid TOML"),
        (STUDY.replace("[report]", "[reports]"), "unknown reports"),
        (STUDY.replace("exposure", "exposur"), "Did you mean 'exposure'"),
        (STUDY.replace("k = [2, 3]", "k = [1]"), "at least 2"),
        (STUDY.replace("k = [2, 3]", "kk = 3"), "no such parameter"),
        (STUDY.replace("report.html", "report.pdf"), ".html"),
        (STUDY.replace("synth:users=60,seed=7", "synth:people=60"), "synth:users=1000,seed=7"),
        (STUDY.replace("synth:users=60,seed=7", "missing.tsv"), "no such file"),
    ],
)
def test_mistakes_are_found_before_the_work(coterie, study, text, message):
    study.write_text(text)
    assert message in coterie("study", study, code=2).err
