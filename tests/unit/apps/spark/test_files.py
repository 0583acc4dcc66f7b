"""Paths for Spark, which takes them for patterns and leaves out some names."""

from pathlib import Path

import pytest

from coterie.apps.spark.files import addresses
from coterie.errors import InputError


def test_files_become_paths_that_are_no_patterns():
    files = ["/a/log[1].csv", "/a/a b.csv", "/a/{x,y}*?.csv", "/a/b\\c.csv"]
    assert addresses(list(map(Path, files))) == [
        "file:/a/log\\[1\\].csv", "file:/a/a b.csv", "file:/a/\\{x,y\\}\\*\\?.csv", "file:/a/b\\\\c.csv"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["_r.parquet", ".r.parquet", "r.parquet._COPYING_", "r:1.parquet"])
def test_names_that_spark_does_not_read_are_refused(name):
    with pytest.raises(InputError, match="Rename it"):
        addresses([Path("/a") / name])
