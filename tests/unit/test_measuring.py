"""Reports and scores of files: how far they are, which measures are taken, and that they can be made again."""

import json

import pytest

import coterie
from coterie import measuring
from coterie.errors import UnknownNameError
from coterie.measures.store import Store
from coterie.methods.microaggregate import Microaggregate
from coterie.reports.about import About
from coterie.synth import write_aol


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measuring")
    write_aol(folder / "log.tsv", 12, 7)
    log = coterie.prepare(coterie.read(folder / "log.tsv"))
    coterie.write(coterie.anonymize(log, Microaggregate(k=3), seed=7), folder / "out.tsv", record=folder / "record")
    return folder


def _report(files, to, **options):
    out, log, records = [str(files / "out.tsv")], [str(files / "log.tsv")], [files / "record"]
    measuring.report_files(out, log, to, records=records, **options)
    return json.loads(to.read_text())


NAMES = ("linkage", "release_share")


def test_a_report_says_how_far_it_is(files, tmp_path):
    told = []
    _report(files, tmp_path / "r.json", names=NAMES, progress=lambda *step: told.append(step))
    shares = [step[1] for step in told if step[0] == "measure"]
    assert shares[0] == 0
    assert shares[-1] == 1
    assert shares == sorted(shares)
    assert len(set(shares)) >= 2 * len(NAMES)  # the release and its random groups
    assert [step[0] for step in told if step[0] not in ("measure", "verify")] == ["read", "draw"]


def test_measures_can_be_chosen_and_the_sheet_is_complete(files, tmp_path):
    data = _report(files, tmp_path / "r.json", names=NAMES)
    assert {score["name"] for score in data["releases"][0]["scores"]} == {*NAMES, "personal_data"}
    with pytest.raises(UnknownNameError, match="linkage"):
        _report(files, tmp_path / "other.json", names=["linkag"])


def test_the_same_report_again(files, tmp_path):
    about = About(date="2026-01-01")
    pages = [_report(files, tmp_path / f"{n}.json", names=NAMES, about=about) for n in range(2)]
    assert pages[0] == pages[1]


def test_what_was_measured_before_is_the_same(files, tmp_path):
    about, store = About(date="2026-01-01"), Store(tmp_path / "cache")
    pages = [_report(files, tmp_path / f"{n}.json", names=NAMES, about=about, store=store) for n in range(2)]
    plain = _report(files, tmp_path / "plain.json", names=NAMES, about=about)
    assert pages[0] == pages[1] == plain
    assert len(list(store.folder.iterdir())) == 2 * (len(NAMES) + 1)


def test_scores_say_how_far_they_are(files):
    told = []
    given = {"record": files / "record", "progress": lambda *step: told.append(step)}
    measuring.measure_file(str(files / "out.tsv"), [str(files / "log.tsv")], ["linkage", "mass"], **given)
    assert told == [("read",), ("measure",), ("measure", 0.0), ("measure", 0.75)]
