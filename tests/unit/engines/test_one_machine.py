"""What is measured, reported and inspected is on one machine: where rows are on a cluster, a sentence says so."""

import pytest

import coterie
from coterie.core.shapes import QUERIES
from coterie.errors import ParameterError
from tests.unit.engines.test_scattered_methods import log_for, scattered


@pytest.fixture(scope="module")
def release():
    return coterie.anonymize(log_for(QUERIES), "suppress_rare", k=3, seed=5)


def test_a_release_is_measured_here(release):
    log = scattered(log_for(QUERIES))
    with pytest.raises(ParameterError, match=r"measured and reported on one machine.*leave out session"):
        coterie.measure(release, "release_share", original=log)
    assert log.engine.came == 0


def test_a_page_is_made_here(release, tmp_path):
    log = scattered(log_for(QUERIES))
    with pytest.raises(ParameterError, match=r"a release of a sample of its people"):
        coterie.report(release, original=log, to=tmp_path / "page.md")
    assert log.engine.came == 0
    assert not any(tmp_path.iterdir())


def test_a_log_is_inspected_here():
    log = scattered(log_for(QUERIES))
    with pytest.raises(ParameterError, match=r"inspected on one machine"):
        coterie.inspect(log)
    assert log.engine.came == 0
