"""Parcels: rows on their way between tasks of a cluster, packed by polars, which also says where they go.

Spark would turn every row into one of its own and back whenever it moves it; that costs several times what the work
itself does. So it sees a few large values instead, and moves them without a look inside. Each task cuts its rows by a
hash of their key, or by ranges, and whoever gets the parcels of one place has all rows that belong together.

A parcel has the place it goes `to`, which table it is `of` (or which range), its first row's place `at` in the
partition, how many `rows` it has, and the rows as compressed Arrow. Nothing here knows Spark, but for the rule by
which it finds a partition for a number.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from coterie.apps.spark.arrow import to_polars, typed
from coterie.core.run import How
from coterie.engines.remote import Piece, Schema, empty, guarded
from coterie.errors import InternalError

if TYPE_CHECKING:
    import pyarrow as pa

Frames = Callable[[Iterator["pa.RecordBatch"]], Iterator[pl.DataFrame]]
Batches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

PARCEL = "to int, of int, at long, rows long, payload binary"
"""The columns of a table of parcels, as Spark has them."""
ROWS_AT_ONCE = 100_000
"""Rows that row-by-row work sees together, and of one parcel."""
ROWS_OF_A_CUT = 250_000
"""Rows that a task cuts at once: the more, the larger are parcels."""
_SAMPLED = 2_000
"""One of so many rows is looked at to find ranges."""
_PLACE, _BOUND = "_place", "_bound"


class Parcel(NamedTuple):
    """Some packed rows."""

    to: int
    of: int
    at: int
    payload: bytes

    @property
    def content(self) -> pl.DataFrame:
        """The rows."""
        return unpacked(self.payload)


def packed(rows: pl.DataFrame) -> bytes:
    """Rows as compressed Arrow, with the types of polars."""
    target = io.BytesIO()
    # Without views: those of some rows drag the text of all others along.
    rows.write_ipc(target, compression="zstd", compat_level=pl.CompatLevel.oldest())
    return target.getvalue()


def unpacked(payload: bytes) -> pl.DataFrame:
    """The rows that `packed` packed."""
    return pl.read_ipc(io.BytesIO(payload))


def in_parcels(rows: pl.DataFrame) -> pa.Table:
    """Rows that are here, as a table of parcels."""
    import pyarrow as pa

    starts = range(0, rows.height, ROWS_AT_ONCE) or [0]
    return pa.Table.from_batches([_batch([(0, 0, at, rows.slice(at, ROWS_AT_ONCE)) for at in starts])])


# --- reading ------------------------------------------------------------------------------------------


def plain(schema: Schema) -> Frames:
    """Rows as Spark has them, some at a time."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        return _together((typed(to_polars([batch]), schema) for batch in batches if batch.num_rows), ROWS_AT_ONCE)

    return frames


def unpacking(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
    """Rows of parcels, some at a time."""
    return _together((parcel.content for parcel in _parcels(batches)), ROWS_AT_ONCE)


def then(before: Frames, piece: Piece) -> Frames:
    """One more piece of work on each of the frames."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        return (piece.elsewhere(rows) for rows in before(batches))

    return frames


def placed(starts: Mapping[int, int], name: str) -> Frames:
    """Rows of sorted parcels with their places in front; `starts`: those of the ranges."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        for parcel in _parcels(batches):
            yield parcel.content.with_row_index(name, starts[parcel.of] + parcel.at)

    return frames


# --- moving -------------------------------------------------------------------------------------------


def packing(frames: Frames, columns: Sequence[str] | None = None) -> Batches:
    """Rows as parcels that stay where they are, or come to the driver."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        at = 0
        for rows in _together(frames(batches), ROWS_AT_ONCE):
            wanted = rows if columns is None else rows.select(columns)
            yield _batch(
                [
                    (0, 0, at + start, wanted.slice(start, ROWS_AT_ONCE))
                    for start in range(0, wanted.height, ROWS_AT_ONCE)
                ]
            )
            at += wanted.height

    return guarded(run)


def cutting(frames: Frames, by: Sequence[str], parts: int, of: int = 0) -> Batches:
    """Rows as parcels for the parts that a hash of their keys names: equal keys of any table go to the same."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _together(frames(batches), ROWS_OF_A_CUT):
            keys = [_hashable(name, rows.schema[name]) for name in by]
            key = keys[0] if len(keys) == 1 else pl.struct(keys)
            yield _cut(rows.with_columns((key.hash() % parts).alias(_PLACE)), parts, of)

    return guarded(run)


def ranging(frames: Frames, by: Sequence[str], bounds: pl.DataFrame) -> Batches:
    """Rows as parcels for the range they belong to, between `bounds` in order; each is `of` the number of its range."""
    parts = bounds.height + 1

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ends = bounds.with_columns(pl.lit(True).alias(_BOUND))
        for rows in _together(frames(batches), ROWS_OF_A_CUT):
            both = pl.concat([rows.with_columns(pl.lit(False).alias(_BOUND)), ends], how="diagonal")
            place = pl.col(_BOUND).cum_sum().alias(_PLACE)
            ordered = both.sort(*by, _BOUND).with_columns(place).filter(~pl.col(_BOUND))
            yield _cut(ordered.drop(_BOUND), parts, None)

    return guarded(run)


def sampling(by: Sequence[str]) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """Work that takes a few rows of all, to find ranges by."""
    columns = list(by)
    return lambda rows: rows.select(columns).gather_every(_SAMPLED)


def bounds_of(sample: pl.DataFrame, by: Sequence[str], parts: int) -> pl.DataFrame:
    """Ends of so many ranges, but for the last, each with about as many rows of a sample."""
    ordered = sample.select(by).sort(by)
    places = [ordered.height * part // parts for part in range(1, parts)]
    return ordered[places] if ordered.height else ordered.clear(parts - 1)


# --- blocks -------------------------------------------------------------------------------------------


def blocking(piece: Piece, given: Sequence[Schema]) -> Frames:
    """A piece of work on all rows of a partition, and those of other tables beside them."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        tables = _tables(batches, given)
        if tables is not None:  # a partition may have no rows
            yield piece.elsewhere(*tables)

    return frames


def blocking_in_place(before: Frames, piece: Piece) -> Frames:
    """The same on a table whose rows are together already."""

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        rows = list(before(batches))
        if rows:
            yield piece.elsewhere(pl.concat(rows))

    return frames


def joining(given: tuple[Schema, Schema], on: Sequence[str], how: How) -> Frames:
    """Rows of two tables that are equal in `on`. The first comes some rows at a time, however frequent a key is."""
    _, of_other = given
    keys = list(on)

    def frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        ours: list[bytes] = []
        others = [empty(of_other)]
        for parcel in _parcels(batches):
            if parcel.of:
                others.append(parcel.content)
            else:
                ours.append(parcel.payload)
        other = pl.concat(others, rechunk=True)
        for rows in _together(map(unpacked, ours), ROWS_AT_ONCE):
            yield rows.join(other.cast({key: rows.schema[key] for key in keys}), on=keys, how=how)

    return frames


def sorting(schema: Schema, by: Sequence[str]) -> Batches:
    """The rows of a range in order, as parcels `of` it that know their places."""
    keys = list(by)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parcels = list(_parcels(batches))
        ranges = {parcel.of for parcel in parcels}
        if len(ranges) > 1:
            raise InternalError("The cluster brought two ranges of rows into one part. Please report it.")
        if not parcels:
            return
        rows = pl.concat([empty(schema), *(parcel.content for parcel in parcels)]).sort(keys)
        part = ranges.pop()
        yield _batch(
            [(0, part, at, rows.slice(at, ROWS_AT_ONCE)) for at in range(0, rows.height, ROWS_AT_ONCE)],
        )

    return guarded(run)


# --- inside -------------------------------------------------------------------------------------------


def _together(frames: Iterable[pl.DataFrame], about: int) -> Iterator[pl.DataFrame]:
    """The same rows in frames of about so many; none where there are no rows."""
    waiting: list[pl.DataFrame] = []
    height = 0
    for rows in frames:
        if not rows.height:
            continue
        waiting.append(rows)
        height += rows.height
        if height >= about:
            yield waiting[0] if len(waiting) == 1 else pl.concat(waiting)
            waiting, height = [], 0
    if waiting:
        yield waiting[0] if len(waiting) == 1 else pl.concat(waiting)


def _tables(batches: Iterator[pa.RecordBatch], given: Sequence[Schema]) -> list[pl.DataFrame] | None:
    """The tables that parcels are of; None where there is none."""
    tables = [[empty(schema)] for schema in given]
    for parcel in _parcels(batches):
        tables[parcel.of].append(parcel.content)
    if all(len(table) == 1 for table in tables):
        return None
    return [pl.concat(table) for table in tables]


def _parcels(batches: Iterator[pa.RecordBatch]) -> Iterator[Parcel]:
    for batch in batches:
        columns = [batch.column(name) for name in Parcel._fields]
        for row in range(batch.num_rows):
            yield Parcel(*(column[row].as_py() for column in columns))


def _batch(parcels: Sequence[tuple[int, int, int, pl.DataFrame]]) -> pa.RecordBatch:
    import pyarrow as pa

    to, of, at, rows = zip(*parcels, strict=True)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(to, pa.int32()),
            pa.array(of, pa.int32()),
            pa.array(at, pa.int64()),
            pa.array([each.height for each in rows], pa.int64()),
            pa.array([packed(each) for each in rows], pa.binary()),
        ],
        ["to", "of", "at", "rows", "payload"],
    )


def _cut(rows: pl.DataFrame, parts: int, of: int | None) -> pa.RecordBatch:
    """Rows with the number of their part, as parcels on their way there; they are `of` that part unless said."""
    addresses = _addresses(parts)
    pieces = rows.partition_by(_PLACE, as_dict=True, include_key=False)
    return _batch(
        [
            (addresses[place], place if of is None else of, 0, some)
            for (place,), some in sorted(pieces.items(), key=_first)
        ]
    )


def _first(item: tuple[tuple[int, ...], pl.DataFrame]) -> tuple[int, ...]:
    return item[0]


def _hashable(name: str, dtype: pl.DataType) -> pl.Expr:
    """A key as what has the same hash wherever its values are equal: tables may have it in other types."""
    if dtype == pl.UInt64:
        return pl.col(name).reinterpret(signed=True)
    if dtype.is_integer():
        return pl.col(name).cast(pl.Int64)
    return pl.col(name).cast(pl.String) if isinstance(dtype, (pl.Categorical, pl.Enum)) else pl.col(name)


@cache
def _addresses(parts: int) -> list[int]:
    """For each part a number that Spark brings there: the first whose hash (Murmur3 with the seed 42) leaves it."""
    for size in count(4):
        found, first = np.unique(_murmur(np.arange(parts << size, dtype=np.uint32)) % parts, return_index=True)
        if len(found) == parts:
            return [int(each) for each in first]
    raise AssertionError


def _murmur(values: np.ndarray) -> np.ndarray:
    """The hash by which Spark brings whole numbers of 32 bits to partitions."""

    def turned(bits: np.ndarray, by: int) -> np.ndarray:
        return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))

    mixed = turned(values * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    bits = turned(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    bits = bits ^ np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        bits = (bits ^ (bits >> np.uint32(shift))) * np.uint32(factor)
    return (bits ^ (bits >> np.uint32(16))).astype(np.int32).astype(np.int64)
