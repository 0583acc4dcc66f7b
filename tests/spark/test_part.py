"""What CI runs: two methods give the same bytes on a cluster, also where one of its executors is killed.

Covers: apps/spark/engine.py
"""

import threading
import time
from pathlib import Path

import polars as pl
import pytest

import coterie
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare

CANARY = "zanzibarcanary"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A log of 1,000 users in two files of text, with a query that no message may show."""
    rows = coterie.read("synth:users=1000,seed=7").to_polars()
    rows = rows.with_columns(pl.when(pl.int_range(pl.len()) < 3).then(pl.lit(CANARY)).otherwise("query").alias("query"))
    folder = tmp_path_factory.mktemp("log")
    for number, part in enumerate((rows[: rows.height // 2], rows[rows.height // 2 :])):
        part.write_csv(
            folder / f"log-{number}.tsv", separator="\t", quote_style="never", datetime_format="%Y-%m-%d %H:%M:%S"
        )
    return [folder / "log-0.tsv", folder / "log-1.tsv"]


def _written(log, method, path):
    release = coterie.anonymize(coterie.prepare(log), method, seed=5)
    coterie.write(release, path)
    return release


def test_text_files_and_suppress_rare(session, files, tmp_path):
    here = _written(coterie.read(files), SuppressRare(k=5), tmp_path / "here.tsv")
    log = coterie.read(files, session=session, parts=4)
    there = _written(log, SuppressRare(k=5), tmp_path / "there.tsv")
    assert (tmp_path / "there.tsv").read_bytes() == (tmp_path / "here.tsv").read_bytes()
    assert [check.text for check in there.checks] == [check.text for check in here.checks]
    assert log.engine.came == 0, "no row of the log came to the driver"


def test_names_and_an_executor_that_is_killed(cluster, session, files, tmp_path):
    method = SuppressRare(k=5, users="pseudonym")
    _written(coterie.read(files), method, tmp_path / "here.tsv")
    before, stop = cluster.executors(), threading.Event()

    def kill():
        time.sleep(8)  # in the middle of the work
        if not stop.is_set():
            cluster.kill_an_executor()

    killer = threading.Thread(target=kill)
    killer.start()
    _written(coterie.read(files, session=session, parts=4), method, tmp_path / "there.tsv")
    stop.set()
    killer.join()
    assert cluster.executors() != before, "one was killed"
    assert (tmp_path / "there.tsv").read_bytes() == (tmp_path / "here.tsv").read_bytes()


def test_a_dataframe_and_microaggregate(session, tmp_path):
    rows = coterie.read("synth:users=1000,seed=7").to_polars()
    table = session.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    method = Microaggregate(k=5, block_users=200)
    here = _written(coterie.log(rows), method, tmp_path / "here.parquet")
    there = _written(coterie.log(table), method, tmp_path / "there.parquet")
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    assert [check.text for check in there.checks] == [check.text for check in here.checks]


def test_no_value_is_in_the_events(environment, files):
    logged = [path.read_text(errors="replace") for path in Path(environment["EVENTS"]).rglob("*") if path.is_file()]
    assert logged
    assert not any(CANARY in text for text in logged)


@pytest.mark.parametrize("kind", ["parquet", "tsv"])
def test_a_written_release_is_verified_there(session, files, tmp_path, kind):
    """Nodes read parts of Parquet themselves; text is sent to them."""
    method = SuppressRare(k=5, users="session")
    release = coterie.anonymize(coterie.prepare(coterie.read(files)), method, seed=5)
    path = tmp_path / f"safe.{kind}"
    coterie.write(release, path, record=tmp_path / "record", parts=3)
    log = coterie.read(files, session=session, parts=3)
    here, there = (coterie.verify(path, each, record=tmp_path / "record") for each in (coterie.read(files), log))
    assert there.checks == here.checks
    assert there.exit_code == 0
    assert log.engine.came == 0, "no row of the log came to the driver"
    assert coterie.verify(path, log, record=tmp_path / "record", k=40).exit_code == 1
