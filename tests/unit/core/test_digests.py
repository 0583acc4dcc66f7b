"""The digest of rows, compared with its definition written out value by value."""

import hashlib
import struct
from datetime import datetime

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coterie.core import digests as row_digest
from coterie.core.digests import RowDigest, block_digest, digest_of_blocks, digest_of_rows
from coterie.core.shapes import TIME
from coterie.errors import InternalError
from tests.helpers.examples import examples

SCHEMA = {"who": pl.String, "when": TIME, "place": pl.Int32, "weight": pl.Float64}
KINDS = {"who": "text", "when": "time", "place": "whole", "weight": "number"}
EPOCH = datetime(1970, 1, 1)


def _micros(time):
    since = time - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def plain_digest(rows, block):
    """The definition: slow, and without a table."""
    whole = hashlib.sha256(b"coterie rows 1\n")
    for name, kind in KINDS.items():
        whole.update(f"{name} {kind}\n".encode())
    whole.update(f"{len(rows)}\n".encode())
    for start in range(0, len(rows), block):
        part = hashlib.sha256()
        whos, *others = zip(*rows[start : start + block], strict=True)
        for who in whos:
            part.update(struct.pack("<q", -1 if who is None else len(who.encode())))
        part.update("".join(who or "" for who in whos).encode())
        for kind, values in zip("qqd", others, strict=True):
            part.update(bytes(value is None for value in values))
            for value in values:
                number = _micros(value) if isinstance(value, datetime) else 0 if value is None else value
                part.update(struct.pack(f"<{kind}", number))
        whole.update(part.digest())
    return whole.hexdigest()


ROW = st.tuples(
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.none() | st.datetimes(datetime(1901, 1, 1), datetime(2100, 1, 1)),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)


@example(rows=[(None, None, None, -0.0)], block=1, cuts=[])
@settings(max_examples=examples(40))
@given(rows=st.lists(ROW, max_size=12), block=st.integers(1, 5), cuts=st.lists(st.integers(0, 12), max_size=4))
def test_as_defined_however_rows_arrive(rows, block, cuts):
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    before, row_digest.BLOCK = row_digest.BLOCK, block
    try:
        digest, start = RowDigest(frame.schema), 0
        for end in [*sorted(cuts), 12]:
            digest.add(frame.slice(start, end - start))
            start = end
        found = digest.hexdigest()
        assert digest_of_rows(frame.lazy()) == found
        blocks = [block_digest(frame.slice(at, block)) for at in range(0, frame.height, block)]
        assert digest_of_blocks(blocks, frame.height, frame.schema) == found
    finally:
        row_digest.BLOCK = before
    assert found == plain_digest(rows, block)


def test_it_does_not_change():
    """Sidecars everywhere hold such digests."""
    rows = [("é", EPOCH, 1, 0.5), (None, None, None, None)]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").lazy()
    assert digest_of_rows(frame) == "68df0d550277ef6554217e15499e2cd1cc2e9d6d31effbe850ce1d2c89c85790"


def test_what_makes_a_difference():
    frame = pl.DataFrame([("ab", EPOCH, 1, 0.5), ("c", None, 2, 1.0)], schema=SCHEMA, orient="row")
    others = [
        frame,
        frame.reverse(),
        frame.head(1),
        frame.clear(),
        frame.rename({"who": "whom"}),
        frame.select("when", "who", "place", "weight"),
        frame.with_columns(pl.Series("who", ["a", "bc"])),
        frame.with_columns(pl.Series("who", ["ab", None])),
        frame.with_columns(pl.Series("who", ["ab", ""])),
        frame.with_columns(pl.lit(0, pl.Int32).alias("place")),
        frame.with_columns(pl.lit(None, pl.Int32).alias("place")),
    ]
    assert len({digest_of_rows(each.lazy()) for each in others}) == len(others)
    wider = frame.with_columns(pl.col("place").cast(pl.Int64))
    assert digest_of_rows(wider.lazy()) == digest_of_rows(frame.lazy())  # the same numbers


def test_types_that_no_release_has():
    with pytest.raises(InternalError, match="'x'"):
        digest_of_rows(pl.LazyFrame({"x": [[1]]}))
