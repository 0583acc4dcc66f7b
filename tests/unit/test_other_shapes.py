"""A release of another shape than its log, and a promise without k, from the log to the report."""

import json
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

import coterie
from coterie import measures
from coterie.core import registry
from coterie.core.shapes import COUNTS
from coterie.errors import BrokenPromiseError, InputError, NotApplicableError, ParameterError
from coterie.measures.inputs import INPUTS
from coterie.testing import queries_log, visits_log
from tests.helpers.cell_k import CellK
from tests.helpers.count_queries import CountQueries

POINTS = {
    "methods": [SimpleNamespace(name="count_queries", module="tests.helpers.count_queries")],
    "promises": [SimpleNamespace(name="cell_k", module="tests.helpers.cell_k")],
}
CELLS = [("bread recipe", 4), ("maps", 4), ("weather", 9)]
NUMBERS = {
    "one_user_share",
    "personal_data",
    "certainty_penalty",
    "completion",
    "f_beta",
    "frequency",
    "injection",
    "linkage",
    "mass",
    "release_share",
    "uniqueness",
    "witness",
}


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The method and the promise as a package of somebody else would bring them."""
    monkeypatch.setattr(registry, "_entry_points", lambda kind: POINTS.get(kind, []))


@pytest.fixture(params=[queries_log, visits_log])
def log(request):
    return request.param()


def released(log, k=3):
    return coterie.anonymize(log, CountQueries(k=k), seed=1)


def test_the_release_has_its_own_shape():
    release = released(queries_log())
    assert release.log.shape is COUNTS
    assert release.to_polars().select("item", "count").rows() == CELLS
    assert release.headline == "cells of 3"
    assert "cells of 3" in repr(release)
    assert release.verdict.largest_k is None
    assert [check.name for check in release.checks] == ["columns", "order", "identifying", "cells"]


def test_a_broken_promise_is_not_released(monkeypatch):
    monkeypatch.setattr(CountQueries, "promises", lambda self, facts: (CellK(least=5),))
    with pytest.raises(BrokenPromiseError, match="2 of 3 have fewer users"):
        released(queries_log())


@pytest.mark.parametrize("kind", ["tsv", "csv.gz", "parquet", "jsonl"])
def test_written_and_verified_from_the_file(tmp_path, log, kind):
    path = tmp_path / f"counts.{kind}"
    coterie.write(released(log), path, record=tmp_path / "record")
    sidecar = json.loads((tmp_path / f"counts.{kind}.json").read_text())
    assert sidecar["shape"] == "COUNTS"
    promise = CellK(least=3)
    words = {"sentence": promise.sentence, "headline": promise.headline}
    assert sidecar["promises"] == [{"name": "cell_k", "least": 3, **words}]
    assert coterie.verify(path, log).exit_code == 0
    assert coterie.verify(path, log, record=tmp_path / "record").exit_code == 0
    assert coterie.verify(path).exit_code == 3
    with pytest.raises(ParameterError, match="no k"):
        coterie.verify(path, log, k=5)
    loaded = coterie.load_release(path, tmp_path / "record")
    assert loaded.to_polars().rows() == released(log).to_polars().rows()
    assert loaded.promises == (CellK(least=3),)


def test_a_file_without_rows(tmp_path):
    log = coterie.log(pl.DataFrame({"user": list("abc"), "query": ["x", "y", "z"]}))
    for kind in ("tsv", "parquet", "jsonl"):
        coterie.write(released(log), tmp_path / f"none.{kind}")
        assert coterie.verify(tmp_path / f"none.{kind}", log).exit_code == 0
        assert coterie.load_release(tmp_path / f"none.{kind}").to_polars().height == 0


def test_a_changed_count_is_noticed(tmp_path):
    log, path = queries_log(), tmp_path / "counts.tsv"
    coterie.write(released(log), path)
    path.write_text(path.read_text().replace("9", "8"))
    broken = {check.name for check in coterie.verify(path, log).broken}
    assert broken == {"digest", "cells"}
    path.write_text(path.read_text().replace("item", "thing"))
    with pytest.raises(InputError, match="sidecar"):
        coterie.verify(path, log)


@pytest.mark.parametrize("name", registry.names("measures"))
@pytest.mark.parametrize("with_record", [True, False])
def test_each_measure_gives_a_number_or_a_reason(name, with_record):
    log = queries_log()
    release = released(log)
    if not with_record:
        if "record" in measures.load(name).needs:
            pytest.skip("needs the record")
        release = replace(release, record=None)
    labels = pl.DataFrame({"query": ["weather", "maps", "lost rows"], "sensitive": ["no", "yes", "no"]})
    given = {"labels": labels, "later": log, "kappas": [2], "second": release, "second_record": release.record}
    given["outsiders"] = log
    assert set(given) | {"taxonomy", "topics", "public"} == set(INPUTS)
    if name in NUMBERS:
        scores = coterie.measure(release, [name], original=log, seed=1, **given)
        assert scores["value"].drop_nulls().is_finite().all()
    else:
        with pytest.raises(
            NotApplicableError,
            match=r"does not apply here.*(counts in place of rows|COUNTS|profile|is QUERIES|keep rows|public)",
        ):
            coterie.measure(release, [name], original=log, seed=1, **given)


def test_counts_stand_for_rows():
    log = queries_log()
    scores = coterie.measure(released(log), original=log, seed=1)
    numbers = {(name, key): value for name, key, value in scores.select("name", "key", "value").iter_rows()}
    assert numbers["release_share", "rows.count"] == 17
    assert numbers["release_share", "rows"] == pytest.approx(100 * 17 / 24)
    assert numbers["release_share", "queries.count"] == 3
    assert numbers["frequency", "query.1"] == pytest.approx(100 * 9 / 17)
    assert numbers["uniqueness", "after.subjects"] == 0
    assert numbers["linkage", "after.names"] == 0


def test_reasons_are_told():
    log, reasons = queries_log(), []
    coterie.measure(released(log), original=log, left_out=reasons.append)
    assert any(reason.startswith("exposure: The release has counts in place of rows") for reason in reasons)


@pytest.mark.parametrize("with_record", [True, False])
def test_reports(tmp_path, log, with_record):
    coterie.write(released(log), tmp_path / "counts.parquet", record=tmp_path / "record")
    release = coterie.load_release(tmp_path / "counts.parquet", tmp_path / "record" if with_record else None)
    texts = {}
    for kind in ("html", "md", "json"):
        texts[kind] = coterie.report([release], original=log, to=tmp_path / f"report.{kind}", seed=1).read_text()
        assert "count_queries cells of 3" in texts[kind]
        assert CellK(least=3).sentence in texts[kind]
    data = json.loads(texts["json"])["releases"][0]
    assert data["verdict"] == "kept"
    assert data["largest_k"] is None
    for kind in ("html", "md"):
        assert "argest k" not in texts[kind]
        assert "What a larger k changes" not in texts[kind]
    if with_record:
        assert "counts in place of rows" in texts["md"]
    else:
        assert "Nothing of this was measured." in texts["md"]
        assert "Nothing of this was measured." in texts["html"]


def test_several_releases_side_by_side(tmp_path):
    log = queries_log()
    page = coterie.report(
        [released(log, 2), released(log, 3)], original=log, to=tmp_path / "both.html", seed=1
    ).read_text()
    assert "cells of 2" in page
    assert "cells of 3" in page
    assert "What a larger k changes" not in page, "no promise has a k, whatever parameters a method has"
