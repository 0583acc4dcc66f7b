"""Reading tells which share is read, without changing what is read.

Covers: reading/source.py
"""

import gzip

import pytest

import coterie
from coterie.core.threads import Counted
from coterie.reading import source as _source


@pytest.fixture
def large(monkeypatch):
    """Small files are treated as large ones, and looked at as those are."""
    monkeypatch.setattr(_source, "_SMALL", 0)
    monkeypatch.setattr(_source, "_TOLD_LINES", 100)
    monkeypatch.setattr(_source.files, "HEAD_BYTES", 256)


LINES = {
    "csv": ("user,query,time\n", "u{0},weather in june {1},2026-05-01 10:00:00\n"),
    "jsonl": ("", '{{"user":"u{0}","query":"weather in june {1}"}}\n'),
    "ubi": ("", '{{"query_id":"{1}","client_id":"c{0}","user_query":"weather in june {1}"}}\n'),
}


def _write(path, kind, rows=20_000):
    first, line = LINES[kind]
    text = first + "".join(line.format(n % 97, n) for n in range(rows))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.usefixtures("large")
def test_shares_rise_to_the_end_and_the_rows_stay_the_same(tmp_path, kind):
    paths = [_write(tmp_path / f"{name}.{'jsonl' if kind == 'ubi' else kind}", kind) for name in "ab"]
    told = []
    heard = coterie.read(paths, progress=lambda stage, share: told.append((stage, share)))
    shares = [share for _, share in told]
    assert {stage for stage, _ in told} == {"read"}
    assert shares == sorted(set(shares))
    assert shares[0] > 0
    assert 0.9 < shares[-1] <= 1
    if kind == "ubi":
        assert len(shares) > 20, "lines that are read one by one are told while they are"
    rows, same = (log.frame.sort("row").collect() for log in (heard, coterie.read(paths)))  # clicks join in any order
    assert rows.equals(same)


@pytest.mark.usefixtures("large")
def test_what_is_unpacked_is_counted(tmp_path):
    path, told = _write(tmp_path / "log.csv.gz", "csv"), []
    coterie.read(path, progress=lambda stage, how_far: told.append((stage, how_far)))
    assert told[0] == ("read: unpack", Counted(0, what="MB"))
    assert told[-1][0] == "read"
    assert told[-1][1] > 0.9


@pytest.mark.usefixtures("large")
def test_lines_of_a_large_file_are_estimated_at_some_places_of_it(tmp_path):
    """Lines get longer to its end: the places are all over the file."""
    path = tmp_path / "log.tsv"
    path.write_text("".join(f"u\t{'x' * (20 + n // 100)}\n" for n in range(20_000)))
    about = _source.Source([path], progress=lambda *_: None)._lines_about(path)
    assert about == pytest.approx(20_000, rel=0.1)
