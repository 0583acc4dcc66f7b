"""What Spark itself makes of names: files and columns that are not called as people expect."""

import polars as pl
import pytest

import coterie
from coterie.apps.spark.engine import Spark
from coterie.errors import InputError

ROWS = {"user.id": [f"u{i % 5}" for i in range(40)], "query": [f"tea {i % 3}" for i in range(40)]}
COLUMNS = {"user": "user.id", "query": "query"}


@pytest.mark.parametrize("name", ["a b.parquet", "a%20b.parquet", "r[1].parquet", "{a,b}.parquet", "\u00e4.parquet"])
def test_a_release_of_any_name_is_brought(session, tmp_path, name):
    rows = pl.DataFrame({"query": ["x", "y"], "geo.country": ["de", None]})
    rows.write_parquet(tmp_path / name)
    engine = Spark(session, parts=2)
    brought = engine.placed(pl.scan_parquet(tmp_path / name, glob=False), [tmp_path / name], "place")
    assert engine.small(brought).sort("place").drop("place").equals(rows)


@pytest.mark.parametrize("name", ["log[1].csv", "a b.csv", "log.parquet"])
def test_a_log_is_the_same_as_here(session, tmp_path, name):
    for file in (name, "log1.csv"):
        rows = pl.DataFrame(ROWS) if file == name else pl.DataFrame(ROWS).head(7)
        rows.write_parquet(tmp_path / file) if file.endswith("parquet") else rows.write_csv(tmp_path / file)
    here = coterie.read(tmp_path / name, columns=COLUMNS)
    there = coterie.read(tmp_path / name, columns=COLUMNS, session=session)
    assert there.digest == here.digest
    columns = ["user", "query"]
    assert (
        there.frame.collect().select(columns).sort(columns).equals(here.frame.collect().select(columns).sort(columns))
    )


def test_headers_of_files_that_only_the_cluster_lists(session, tmp_path):
    (tmp_path / "a.csv").write_text("user,query\n" + "u1,tea\n" * 9)
    (tmp_path / "b.csv").write_text("\nuser,query\n" + "u2,tea\n" * 9)
    log = coterie.read(tmp_path, session=session)
    assert sorted(log.frame.collect()["user"].unique()) == ["u1", "u2"]
    (tmp_path / "c d.csv").write_text("query,user\n" + "tea,u2\n" * 9)
    with pytest.raises(InputError, match=r"has other columns than the files before it"):
        coterie.read(tmp_path, session=session)
