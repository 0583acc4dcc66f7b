"""A page about a log whose rows are elsewhere: the same numbers, what was not measured by name, and no advice on it."""

import json

import pytest

import coterie
from coterie import measures
from coterie.core import registry
from coterie.core.shapes import QUERIES, VISITS
from coterie.reports.about import About, Thresholds
from coterie.reports.views import log_view, overview
from tests.unit.engines.test_scattered_methods import log_for, scattered

ABOUT = About(thresholds=Thresholds(singling_out=100, linkability=100, inference=100))


@pytest.fixture(scope="module", params=["pseudonym", "drop"])
def pages(request, tmp_path_factory):
    """The pages of one release, made here and elsewhere."""
    log, folder = log_for(QUERIES), tmp_path_factory.mktemp("pages")
    release = coterie.anonymize(log, "suppress_rare", k=3, users=request.param, seed=5)
    coterie.write(release, folder / "safe.parquet", record=folder / "record", parts=2)
    loaded = coterie.load_release(folder / "safe.parquet", folder / "record")
    found = []
    for name, original in (("here", log), ("there", scattered(log))):
        for end in ("json", "md"):
            coterie.report(original, loaded, folder / f"{name}.{end}", seed=3, about=ABOUT)
        found.append((json.loads((folder / f"{name}.json").read_text()), (folder / f"{name}.md").read_text()))
    return found


def _scores(page):
    (release,) = page["releases"]
    return {(each["name"], each["key"]): each["value"] for each in release["scores"]}


def test_what_is_measured_is_the_same(pages):
    here, there = (_scores(page) for page, _ in pages)
    assert {key: here[key] for key in there} == there
    names = {name for name, _ in there}
    assert names <= {name for name in registry.names("measures") if measures.runs_anywhere(name)}
    assert {"release_share", "personal_data", "linkage", "witness"} <= names


def test_the_log_is_described_in_the_same_numbers(pages):
    (here, _), (there, _) = pages
    assert {**there["log"], "exposure": None} == {**here["log"], "exposure": None}
    assert there["releases"][0]["checks"] == here["releases"][0]["checks"]


def test_what_could_not_be_tried_is_named_and_keeps_a_release_from_being_recommended(pages):
    (here, _), (there, text) = pages
    assert "It takes one machine: the rows of the log were on a cluster." in text
    assert "Not measured: two_words" in text
    # Rows under names are recommended nowhere: no attack measures what they tell of whoever it is.
    assert (here["decision"]["mitigation"]["recommended"] is None) == (_scores(here)["linkage", "after.names"] > 0)
    assert there["decision"]["mitigation"]["recommended"] is None
    sentences = there["decision"]["can_and_cannot"].split(". ")
    open_ones = ("Not attacked in every way", "Not measured, which does not mean impossible")
    assert any("singling out" in each for each in sentences if each.startswith(open_ones))


@pytest.mark.parametrize("shape", [QUERIES, VISITS], ids=str)
def test_the_size_of_a_log(shape):
    log = log_for(shape)
    assert overview(scattered(log)) == overview(log)
    assert log_view(scattered(log)).period == log_view(log).period
