"""What every format must pass."""

from __future__ import annotations

import gzip
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import polars as pl

from coterie import api
from coterie.core import registry
from coterie.core.log import Log
from coterie.core.shapes import NORMAL
from coterie.errors import CoterieError
from coterie.reading.sniff import Head, sure_of


def check_format(name: str | ModuleType, sample: str | None = None) -> None:
    """Raise AssertionError if the format breaks the contract; `sample` is a small valid file, else the format's own."""
    name = registry.name_in("formats", name)
    module = registry.module("formats", name)
    sample = module.sample if sample is None else sample
    assert module.__doc__, "a format says what it reads"
    assert module.shape.subject, "its shape is that of a log"
    encoding = getattr(module, "encoding", "utf-8")
    heads: tuple[list[str], ...] = ([line for line in sample.splitlines() if line], [], ["\x00\x01\x02"])
    own, nothing, junk = (sure_of(module, Head(lines)) for lines in heads)
    assert 0 < own <= 1, "it knows its own"
    assert nothing == 0, "nothing is not its own"
    assert junk == 0, "junk is not its own"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample"
        path.write_bytes(sample.encode(encoding))
        expected = _rows(api.read(path, format=name))
        assert expected.height, "the sample has rows"
        assert _rows(api.read(path)).equals(expected), "sniffed or named, the same rows"
        _reads_variants(path, sample, encoding, name, expected)
        _survives_junk(path, name, getattr(module, "any_text", False))


def _rows(log: Log) -> pl.DataFrame:
    counts = log.history[0].counts
    assert counts["bad"] == 0, "no bad line in a valid file"
    return log.frame.drop(NORMAL, strict=False).collect()  # which only large or compressed logs have


def _reads_variants(path: Path, sample: str, encoding: str, name: str, expected: pl.DataFrame) -> None:
    variants = {
        "compressed": gzip.compress(sample.encode(encoding)),
        "Windows line ends": sample.replace("\n", "\r\n").encode(encoding),
        "no final line end": sample.rstrip("\n").encode(encoding),
        "blank lines at the end": (sample + "\n\n").encode(encoding),
    }
    for what, data in variants.items():
        path.write_bytes(data)
        assert _rows(api.read(path, format=name)).equals(expected), what
    path.write_bytes(sample.encode(encoding))
    second = path.with_name("second")
    second.write_bytes(path.read_bytes())
    # A document that stands in both files is a fault of the files, not of the format.
    logs = (api.read(paths, format=name, allow_bad=True) for paths in ([path], [path, second]))
    once, twice = (log.history[0].counts["lines"] for log in logs)
    assert twice >= 2 * once, "two files are read one after the other"


def _survives_junk(path: Path, name: str, any_text: bool) -> None:
    texts = () if any_text else (b"one line of text\n", b"[{", b"PAR1")
    for junk in (b"", b"\n\n", b"\x00\xff\xfe" * 50, b"\x1f\x8b\x08", *texts):
        path.write_bytes(junk)
        with suppress(CoterieError):
            api.read(path, format=name).frame.collect()
            raise AssertionError("a file that is not of the format was read")
