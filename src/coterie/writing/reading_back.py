"""Reading back: text that was written, as files of a bounded size, so that memory does not grow with a release.

Whoever parses a text file as a whole holds a few times its size. A file of lines can be cut behind any line, and one of
csv behind a line with whose end all quotes are closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from coterie.core.files import CHUNK, compression, open_bytes

BYTES_AT_ONCE = 1 << 22
_PACKED = 8  # bytes of text that one of a compressed file stands for, about
_WITH_HEADER, _QUOTED = ("tsv", "csv"), "csv"
_KINDS = (*_WITH_HEADER, "jsonl")


def is_large(paths: Sequence[Path], kind: str) -> bool:
    """Whether files, one after the other, should be read back piece by piece; and can be."""
    sizes = (path.stat().st_size * (_PACKED if compression(path) else 1) for path in paths)
    return kind in _KINDS and sum(sizes) > BYTES_AT_ONCE


def in_pieces(paths: Sequence[Path], kind: str, folder: Path) -> Iterator[Path]:
    """Text files that are one, as several: each with the header, in a folder, and there until the next comes."""
    header, piece = b"", folder / f"piece.{kind}"
    for block in _blocks(_chunks(paths), quoted=kind == _QUOTED):
        piece.write_bytes(header + block)
        yield piece
        if kind in _WITH_HEADER and not header:
            header = block[: block.index(b"\n") + 1]
    piece.unlink(missing_ok=True)


def _chunks(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        with open_bytes(path) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk


def _blocks(chunks: Iterable[bytes], *, quoted: bool) -> Iterator[bytes]:
    """The same bytes in blocks of whole lines; `quoted`: no line ends within quotes."""
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        if len(waiting) < BYTES_AT_ONCE:
            continue
        end = waiting.rfind(b"\n") + 1
        while quoted and end and waiting.count(b'"', 0, end) % 2:
            end = waiting.rfind(b"\n", 0, end - 1) + 1
        if end:
            yield bytes(waiting[:end])
            del waiting[:end]
    if waiting:
        yield bytes(waiting)
