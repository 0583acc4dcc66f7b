"""Large text files are read back piece by piece, and are compared as strictly."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.errors import BrokenPromiseError
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from coterie.writing import canonical, files
from tests.helpers.examples import examples

KINDS = ["tsv", "csv", "jsonl", "tsv.gz", "jsonl.zst"]


@pytest.fixture
def small_pieces(monkeypatch):
    """So that a small file is a large one; how many pieces were read back."""
    monkeypatch.setattr(canonical, "BYTES_AT_ONCE", 150)
    monkeypatch.setattr(canonical, "CHUNK", 60)
    seen, in_pieces = [], canonical.in_pieces

    def counted(*given):
        for piece in in_pieces(*given):
            seen.append(piece.read_bytes())
            yield piece

    monkeypatch.setattr(canonical, "in_pieces", counted)
    return seen


@pytest.fixture(scope="module")
def release():
    log = queries_log().to_polars()
    awkward = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit('"maps", of ""')).otherwise("query")
    return coterie.anonymize(coterie.log(log.with_columns(awkward.alias("query"))), SuppressRare(k=3), seed=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [None, 3])
def test_a_file_is_the_same_in_pieces(release, tmp_path, small_pieces, kind, parts):
    coterie.write(release, tmp_path / f"safe.{kind}", parts=parts)
    assert len(small_pieces) > 1
    assert not coterie.verify(tmp_path / f"safe.{kind}").broken


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_were_not_verified_are_not_written(release, tmp_path, small_pieces, monkeypatch, kind):
    sink = files._sink

    def fewer(frame, *given):
        sink(frame.filter(pl.int_range(pl.len()) != 7), *given)

    monkeypatch.setattr(files, "_sink", fewer)
    with pytest.raises(BrokenPromiseError, match="not the rows that were verified"):
        coterie.write(release, tmp_path / f"safe.{kind}")
    assert len(small_pieces) > 1
    assert list(tmp_path.iterdir()) == []


LINES = st.lists(st.sampled_from(["a", '"x\ny"', '"""\n"', "b,c", ""]), max_size=20).map(
    lambda values: "".join(f"{value}\n" for value in values).encode()
)


@settings(max_examples=examples(60))
@given(LINES, st.integers(1, 30), st.integers(1, 20))
def test_blocks_are_whole_lines_with_all_quotes_closed(text, most, size):
    before = canonical.BYTES_AT_ONCE
    canonical.BYTES_AT_ONCE = most
    try:
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        blocks = list(canonical._blocks(chunks, quoted=True))
    finally:
        canonical.BYTES_AT_ONCE = before
    assert b"".join(blocks) == text
    assert all(block.endswith(b"\n") and block.count(b'"') % 2 == 0 for block in blocks)


def test_other_kinds_are_read_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(canonical, "BYTES_AT_ONCE", 1)
    (tmp_path / "a").write_bytes(b"some text")
    assert canonical.is_large([tmp_path / "a"], "tsv")
    assert not canonical.is_large([tmp_path / "a"], "ubi")
