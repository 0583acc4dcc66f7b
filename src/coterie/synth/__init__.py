"""Synthetic logs with the statistics of real ones, and no real person in them.

Why: the AOL log may not be passed on, and lines of logs are personal data. Demos, tests and benchmarks use these logs
instead. No row, word list or user of a real log went into them. There are four kinds:

    topics    clear-cut interests; lengths, repeats and clicks of the AOL log as a whole (`synth/topics.py`)
    people    interests that overlap and change: grouping users is about as hard as with people (`synth/people.py`)
    visits    an access log: pages in a tree, sessions, bots, agents, referrers (`synth/visits.py`)
    documents a corpus with topics; users are documents (`synth/documents.py`)

The bytes depend on kind, users, seed and NumPy's random streams; never on batches or threads.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

import polars as pl

from coterie.core.files import COMPRESSIONS, compressed
from coterie.errors import ParameterError
from coterie.synth import documents, people, topics, visits
from coterie.synth._kit import BLOCK_USERS, DAYS, LINES_MEAN, RANK_MAX

__all__ = [
    "DAYS",
    "KINDS",
    "LINES_MEAN",
    "RANK_MAX",
    "batches",
    "check_name",
    "from_text",
    "synthesize",
    "write",
]

_BLOCKS = {"topics": topics.blocks, "people": people.blocks}


class _Layout(NamedTuple):
    """How a log of a kind is written."""

    ending: str
    """Of the name of its file."""
    what: str
    rows: float
    """For each user, about."""
    columns: Sequence[str | pl.Expr]
    header: bytes = b""


_AOL = _Layout(
    ".tsv",
    "text in AOL's layout",
    LINES_MEAN,
    ("user", "query", "time", "rank", "url"),
    b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n",
)
_LAYOUTS = {
    **dict.fromkeys(_BLOCKS, _AOL),
    "visits": _Layout(".log", "an access log", visits.LINES_MEAN, [visits.line()]),  # in the combined log format
    # Made of plain letters: nothing is escaped.
    "documents": _Layout(".jsonl", "JSON lines", 1, [pl.struct("doc", "topic", "text").struct.json_encode()]),
}
KINDS = tuple(_LAYOUTS)


def batches(users: int, seed: int, kind: str = "topics", *, users_per_batch: int = 20_000) -> Iterator[pl.DataFrame]:
    """Rows of a synthetic log, batch by batch.

    Search logs are sorted by user (as a number), then time. Columns: user str, time datetime[us], query str, rank i32
    or null, url str or null. A batch holds whole blocks: `users_per_batch` is rounded up to a multiple of BLOCK_USERS.
    It has no influence on the rows. Access logs are sorted by time; a batch is a day and has the columns of VISITS.
    Documents have the columns doc, topic and text.
    """
    if users < 1:
        raise ValueError(f"users must be at least 1. Got {users!r} instead.")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}. Got {kind!r} instead.")
    if kind == "visits":
        return visits.days(users, seed)
    if kind == "documents":
        return documents.documents(users, seed)
    rows = _BLOCKS[kind](users, seed)
    blocks = range(-(-users // BLOCK_USERS))
    step = max(1, -(-users_per_batch // BLOCK_USERS))
    return (pl.concat([rows(block) for block in blocks[start : start + step]]) for start in blocks[::step])


def synthesize(users: int, seed: int = 7, kind: str = "topics") -> pl.DataFrame:
    """A synthetic log in memory; for small logs and tests."""
    return pl.concat(batches(users, seed, kind), rechunk=True)


def from_text(text: str) -> pl.DataFrame:
    """A synthetic log from `synth:users=1000,seed=7` or `synth:users=1000,seed=7,kind=people`."""
    try:
        settings = dict(part.split("=") for part in text.removeprefix("synth:").split(",") if part)
        kind = settings.pop("kind", KINDS[0])
        users, seed = int(settings.pop("users", 1000)), int(settings.pop("seed", 7))
    except ValueError:
        settings = {text: ""}
    if settings or users < 1 or kind not in KINDS:
        raise ParameterError(
            "A synthetic source is written synth:users=1000,seed=7, or synth:users=1000,seed=7,kind=people; kinds are "
            f"{', '.join(KINDS)}."
        )
    return synthesize(users, seed, kind)


def check_name(path: Path, kind: str) -> None:
    """Raise ParameterError where a file has not the name of the layout of a kind."""
    ending, what = _LAYOUTS[kind].ending, _LAYOUTS[kind].what
    if path.suffix not in (ending, ".txt", ".gz", ".zst"):
        raise ParameterError(f"A synthetic log of this kind is {what}: name it {ending}, {ending}.gz or {ending}.zst.")


def write(
    path: Path, users: int, seed: int, kind: str = "topics", progress: Callable[[float], None] | None = None
) -> int:
    """Write a synthetic log in the layout of its kind and return its number of rows; `progress` hears which share.

    A path that ends in .gz or .zst is compressed.
    """
    parts = batches(users, seed, kind)  # where these are refused, no file is there
    layout, rows = _LAYOUTS[kind], 0
    with ExitStack() as stack:
        file = _open(path, stack)
        file.write(layout.header)
        for part in parts:
            part.select(layout.columns).write_csv(
                file,
                include_header=False,
                separator="\t",
                quote_style="never",
                datetime_format="%Y-%m-%d %H:%M:%S",
            )
            rows += part.height
            if progress is not None:
                progress(min(1.0, rows / (users * layout.rows)))
    return rows


def _open(path: Path, stack: ExitStack) -> IO[bytes]:
    file = stack.enter_context(path.open("wb"))
    kind = path.suffix.removeprefix(".")
    return stack.enter_context(compressed(file, kind)) if kind in COMPRESSIONS else file
