"""Page headers of Parquet files are checked before native code believes them. Covers: reading/formats/_pages.py"""

import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie.errors import InputError
from coterie.reading.formats._pages import _Compact, pages_agree

ROWS = 3000


@pytest.fixture
def table():
    return pl.DataFrame({
        "user": [f"u{n % 50}" for n in range(ROWS)], "query": [f"tea {n}" for n in range(ROWS)],
        "rank": [None if n % 3 else n for n in range(ROWS)], "url": [None] * ROWS,
        "many": [[n, n] for n in range(ROWS)],
    }, schema_overrides={"url": pl.String})  # fmt: skip


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_files_of_polars_agree(table, tmp_path, compression):
    table.write_parquet(tmp_path / "t", compression=compression, row_group_size=1000, data_page_size=500)
    assert pages_agree(tmp_path / "t")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_files_of_others_agree(table, tmp_path, version, dictionary):
    options = {"data_page_version": version, "use_dictionary": dictionary, "write_page_index": dictionary}
    pq.write_table(table.to_arrow(), tmp_path / "t", data_page_size=500, row_group_size=700, **options)
    assert pages_agree(tmp_path / "t")
    empty = pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())})
    pq.write_table(empty, tmp_path / "empty", data_page_version=version)
    assert pages_agree(tmp_path / "empty")


def test_a_long_header_is_read_to_its_end(tmp_path):
    """Statistics of long texts stand in the header of a page."""
    texts = pa.table({"query": ["a" * 200_000, "b" * 200_000]})
    pq.write_table(texts, tmp_path / "t", use_dictionary=False, compression="none")
    assert pages_agree(tmp_path / "t")


def test_a_number_of_values_that_cannot_be(table, tmp_path):
    """Polars asked for 2^61 bytes, which ended the process."""
    path = tmp_path / "log.parquet"
    table.select("user", "query").head(6).write_parquet(path, compression="uncompressed")
    good = path.read_bytes()
    chunk = pq.read_metadata(path).row_group(0).column(1)
    start = chunk.data_page_offset
    compact = _Compact(good[start:])
    _, length = compact.struct()
    # The header says 6 values: 12 in zigzag, after the header of field 1 of field 5.
    at = good.index(b"\x15\x0c", start, start + length) + 1
    for wrong in (b"\x0b", b"\x0e"):  # -6 and 7
        path.write_bytes(good[:at] + wrong + good[at + 1 :])
        assert not pages_agree(path)
        code = f"import coterie; coterie.read({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "InputError: log.parquet is not a whole parquet file" in done.stderr, done.returncode


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 10, b"\x15" * 100])
def test_no_file_at_all(tmp_path, data):
    (tmp_path / "t").write_bytes(data)
    assert not pages_agree(tmp_path / "t")


@pytest.mark.parametrize(
    "data", [b"\x1c" * 50 + b"\x00" * 50, b"\x1d\x00", b"\x15" + b"\xff" * 20, b"\x18\x90\x4e", b"\x15"]
)
def test_nonsense_is_no_struct(data):
    """Too deep, an unknown type, an endless number, a text beyond the end, nothing after the field."""
    from coterie.reading.formats._pages import _CutError

    with pytest.raises((ValueError, _CutError)):
        _Compact(data).struct()


def test_the_message(tmp_path):
    import coterie

    (tmp_path / "log.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(InputError, match="is not a whole parquet file"):
        coterie.read(tmp_path / "log.parquet")
