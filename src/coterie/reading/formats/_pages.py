"""The pages of a Parquet file: whether their headers agree with the file, before native code believes them.

Polars takes the number of values and the sizes that a page header tells for granted; a header that was damaged, or made
up, can make it ask for more memory than there is, which ends the whole process. Only headers are read here, so a large
file costs little. They are structs of Thrift's compact protocol (parquet-format, `PageHeader`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

_MAGIC = b"PAR1"
_TAIL = 8  # bytes behind the description: its length, and the magic word
_WINDOW = 1 << 14  # bytes in which nearly every header ends
_LONGEST_HEADER = 1 << 24
_MOST_PAGE = 1 << 30
_DEEPEST = 16
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_HEADERS = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}  # which field tells the number of values of a kind of page


class _CutError(Exception):
    """A header goes on after the bytes that were read."""


def pages_agree(path: Path) -> bool:
    """Whether all page headers of a file are possible."""
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            return all(_chunk_agrees(stream, chunk, size) for chunk in _chunks(stream, size))
    except (OSError, ValueError, OverflowError, _CutError):
        return False


class _Chunk(NamedTuple):
    """What the description of a file tells of one column of one group of rows."""

    num_values: int
    total_compressed_size: int
    data_page_offset: int
    dictionary_page_offset: int


def _chunks(stream: IO[bytes], size: int) -> Iterator[_Chunk]:
    """The columns of all groups of rows, as the description at the end of the file lists them (`FileMetaData`)."""
    if size < len(_MAGIC) * 3:
        raise ValueError
    stream.seek(size - _TAIL)
    tail = stream.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or not 0 < length <= size - _TAIL - len(_MAGIC):
        raise ValueError
    stream.seek(size - _TAIL - length)
    described, _ = _Compact(stream.read(length)).struct()
    for group in _items(described.get(4)):
        for column in _items(group.get(1)):
            told = column.get(3)
            if not isinstance(told, dict):  # in another file, or encrypted
                raise ValueError("a column without a description")  # noqa: TRY004 (what a damaged file raises)
            offset = _number(told, 11) if 11 in told else 0
            yield _Chunk(_number(told, 5), _number(told, 7), _number(told, 9), offset)


def _items(value: object) -> list[dict[int, Any]]:
    """The structs of a list."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError
    return value


def _chunk_agrees(stream: IO[bytes], chunk: _Chunk, size: int) -> bool:
    places = (chunk.data_page_offset, chunk.dictionary_page_offset)
    if min(places) < 0 or chunk.total_compressed_size < 0:
        return False
    at = min((place for place in places if place), default=0)
    end = at + chunk.total_compressed_size
    if not 0 <= at <= end <= size or chunk.num_values < 0:
        return False
    values = 0
    while at < end:
        header, length = _header(stream, at, end)
        kind, unpacked, packed = _number(header, 1), _number(header, 2), _number(header, 3)
        at += length + packed
        if packed < 0 or at > end or not 0 <= unpacked <= _MOST_PAGE:
            return False
        if kind not in _HEADERS:
            continue  # an index, which nobody reads
        page = header.get(_HEADERS[kind])
        count = _number(page, 1)
        if not 0 <= count <= (unpacked if kind == _DICTIONARY else chunk.num_values):
            return False
        if kind == _DATA_V2 and not _second_version_agrees(page, count, packed):
            return False
        values += count if kind != _DICTIONARY else 0
    return values == int(chunk.num_values)


def _second_version_agrees(page: object, values: int, packed: int) -> bool:
    nulls, rows, *levels = (_number(page, place) for place in (2, 3, 5, 6))
    return 0 <= nulls <= values and rows >= 0 and min(levels) >= 0 and sum(levels) <= packed


def _number(fields: object, place: int) -> int:
    """A number of a struct; -1 where there is something else."""
    value = fields.get(place) if isinstance(fields, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _header(stream: IO[bytes], at: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the page header at a place, and its length."""
    window = _WINDOW
    while True:
        stream.seek(at)
        data = stream.read(min(window, end - at))
        try:
            return _Compact(data).struct()
        except _CutError:
            if window >= min(_LONGEST_HEADER, end - at):
                raise
            window *= 8


class _Compact:
    """Reads Thrift's compact protocol; raises _CutError at the end of the bytes, ValueError for what is none of it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int = 0) -> tuple[dict[int, Any], int]:
        """Fields by their number, and where the struct ends."""
        if depth > _DEEPEST:
            raise ValueError
        fields: dict[int, Any] = {}
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._zigzag()
            fields[number] = self._value(byte & 15, depth)
        return fields, self.at

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 1 | 2:  # the type says true or false
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._zigzag()
            case 7:
                return self._skip(8)
            case 8:
                return self._skip(self._varint())
            case 9 | 10:
                return self._list(depth)
            case 12:
                return self.struct(depth + 1)[0]
        raise ValueError

    def _list(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise ValueError
        byte = self._byte()
        size, kind = byte >> 4, byte & 15
        return [
            self._byte() if kind in (1, 2) else self._value(kind, depth + 1)
            for _ in range(self._varint() if size == 15 else size)
        ]

    def _skip(self, length: int) -> None:
        self.at += length
        if self.at > len(self.data):
            raise _CutError

    def _byte(self) -> int:
        self._skip(1)
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
