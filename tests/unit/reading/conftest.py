"""Hand-made logs. No row of a real log is ever written here."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file; names that end in .gz or .zst are compressed."""

    def write(name: str, data: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = data if isinstance(data, bytes) else data.encode(encoding)
        if name.endswith(".gz"):
            raw = gzip.compress(raw)
        elif name.endswith(".zst"):
            raw = zstandard.compress(raw)
        path.write_bytes(raw)
        return path

    return write


@pytest.fixture
def rows() -> Callable[..., list[tuple[Any, ...]]]:
    """The released columns of a log, in the order of its lines."""

    def rows(log: Any, *columns: str) -> list[tuple[Any, ...]]:
        frame = log.frame.collect().sort("row")
        assert frame["row"].n_unique() == frame.height, "row is the key of a log"
        return frame.select(columns or log.shape.released).rows()

    return rows
