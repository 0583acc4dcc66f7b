"""`coterie gate run`: from lines of a log to parts, through a reader, prepare steps and a gate.

Lines are parsed in memory: no line of the log is written to any disk on the way. Only what has to be read as a whole
(compressed files, Parquet) is unpacked to temporary files, as everywhere in Coterie.

Numbers of a gate as Prometheus reads them: counts only, in a file for the textfile collector of node_exporter.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl

from coterie import api
from coterie.apps.gate import state as states
from coterie.apps.gate.follow import FileLines, Lines, StreamLines, is_stream, is_whole, wait
from coterie.apps.gate.gate import Counts, Gate
from coterie.apps.gate.rules import Rules
from coterie.core import registry
from coterie.core.files import Scratch, expand, in_memory
from coterie.core.log import Log
from coterie.core.shapes import QUERIES, SHAPES
from coterie.errors import InputError, ParameterError
from coterie.reading.people import ADDRESS_AND_AGENT, nearly_unique, no_people
from coterie.reading.reading import Reading, takes_of
from coterie.reading.searches import AUTO
from coterie.reading.sniff import format_of, kind_of
from coterie.steps import PrepareStep, looks_at, spelled
from coterie.writing.targets import temporary

AtEnd = Literal["close", "keep", "follow"]
"""Close what is due by the clock; keep it open, as more of the same will come; or wait for more lines."""
Note = Callable[[str], None]
Marks = Callable[[Callable[[bytes], str]], Mapping[str, Any]]
_WHOLE_ROWS = 500_000  # rows of a file that is read as a whole, which are counted at once
_PATIENCE = 30.0  # seconds after which what came from a stream is put on the disk
_QUIET = 5.0  # seconds without a line after which a stream is taken to be at its end for now
_SOONEST = 1.0  # seconds between two snapshots
_FIELDS = b"#Fields:"
_ASKED = 200  # rows after which it is asked whether a field that nobody named names people
_COST = 10  # how many times as long as a snapshot takes is worked before the next one


_HINTS = {
    "late": "A gate needs rows roughly in the order of time: sort the log, or use coterie append.",
    "timeless": "With --arrival, rows have the time at which they come.",
}


@dataclass(kw_only=True)
class Reader:
    """How lines become rows: the format, how it is read, and the steps."""

    reading: Reading
    steps: Sequence[PrepareStep]
    name: str = "log"
    format: str | None = None
    known: str | None = None
    """The format of a log that was read before: single lines of it may be bad from the first one on."""
    _directive: bytes = b""
    """The last line that named the fields of a W3C log."""
    _names: set[str] | None = field(default_factory=set, repr=False)
    """Who was in the first rows, until it is settled that they are people."""
    _rows: int = 0
    _scratch: Scratch = field(default_factory=Scratch, repr=False)

    @in_memory()
    def log_of(self, lines: Lines) -> tuple[Log | None, int]:
        """The prepared rows of lines, and how many lines are bad; no rows where none is good."""
        first = self.format is None
        if first:
            header = b"" if lines.data.startswith(lines.header) else lines.header
            with self._in_memory(header + lines.data) as path:
                self.format = self.reading.format or self._sniffed(path)
            first = self.format != self.known
        header = self._header(lines)
        with self._in_memory(header + lines.data) as path:
            given = replace(self.reading, format=self.format, allow_bad=self.reading.allow_bad or not first)
            try:
                log = api.read(path, given)
                bad = sum(step.counts.get("bad", 0) for step in log.history)
                prepared = api.prepare(log, self.steps)
                # Lines that need another encoding, for example, are copied to a temporary file by their reader.
                rows = prepared.frame.collect(engine="streaming")
            except InputError:
                if first and lines.data != lines.header:
                    raise
                if first:  # a header that came before its rows: the next lines tell more
                    self.format = None
                if first or (lines.data == lines.header and self._is_header(lines)):
                    return None, 0
                return None, sum(bool(line.strip()) for line in lines.data.split(b"\n"))
        self._ask(rows, prepared)
        self.fix(prepared.settings)
        return Log(frame=rows.lazy(), shape=prepared.shape, history=prepared.history, settings=prepared.settings,
                   warnings=prepared.warnings), bad  # fmt: skip

    def _ask(self, rows: pl.DataFrame, log: Log) -> None:
        """Raise where a field that nobody named does not name people: by the first rows, however few come at once."""
        shape, settings = log.shape, log.settings
        columns = settings.get("columns")
        chosen = settings.get("counted") or (columns.get(shape.subject) if isinstance(columns, Mapping) else "")
        said = self.reading.user_field or (self._rows == 0 and self.reading.columns.get("user"))
        if self._names is None or said or not chosen or chosen == ADDRESS_AND_AGENT:
            self._names = None
            return
        names = rows[shape.subject].drop_nulls()
        self._names, self._rows = self._names | set(names), self._rows + len(names)
        if self._rows > _ASKED:
            different, self._names = len(self._names), None
            if nearly_unique(self._rows, different):
                option = "--user-field NAME" if settings.get("counted") else f"--columns {shape.subject}=NAME"
                raise no_people(repr(chosen), shape, self._rows, different, option)

    def _header(self, lines: Lines) -> bytes:
        """What has to stand before lines so that they can be read; a first line that is a row must not count again."""
        if self.format == "w3c":
            header = self._directive or lines.header
            found = [line for line in lines.data.split(b"\n") if line.startswith(_FIELDS)]
            self._directive = found[-1] + b"\n" if found else header
            return header
        return lines.header if self._is_header(lines) and not lines.data.startswith(lines.header) else b""

    def _is_header(self, lines: Lines) -> bool:
        """Whether the first line of the file names columns."""
        return self.format in ("table", "matomo") and kind_of([lines.header.decode(errors="replace")]) in ("csv", "tsv")

    def _sniffed(self, path: Path) -> str:
        """The format of the lines in a file; the one that is known where they do not tell."""
        try:
            return format_of(path, self.reading)
        except InputError:
            if self.known is None:
                raise
            return self.known

    def resume(self, header: Mapping[str, Any]) -> None:
        """Go on as a state says; where many rows were counted, it was asked before whether they name people."""
        self.fix(header["settings"])
        if header["counts"]["events"] > _ASKED:
            self._names = None

    def fix(self, settings: Mapping[str, Any]) -> None:
        """From now on read as before."""
        self.reading = as_before(self.reading, settings)

    @contextmanager
    def _in_memory(self, data: bytes) -> Iterator[Path]:
        """A path under which bytes can be read that are on no disk."""
        link, memory = self._scratch.path / self.name, hasattr(os, "memfd_create")
        with os.fdopen(os.memfd_create("coterie"), "wb") if memory else link.open("wb") as stream:
            stream.write(data)
            stream.flush()
            if memory:
                link.symlink_to(f"/proc/{os.getpid()}/fd/{stream.fileno()}")
            try:
                yield link
            finally:
                link.unlink(missing_ok=True)


def as_before(reading: Reading, settings: Mapping[str, Any]) -> Reading:
    """Read with the columns that were read first: rows that come later must not change who is counted."""
    named = reading.format
    found = settings.get("columns", {}) if named is None or "columns" in takes_of(named) else {}
    return replace(reading, columns={**found, **reading.columns}, guess=False)


def run_gate(
    paths: Sequence[str],
    rules: Rules,
    *,
    reading: Reading | None = None,
    steps: Sequence[PrepareStep] = (),
    at_end: AtEnd = "close",
    metrics: Path | None = None,
    note: Note = api.silent,
) -> dict[str, Any]:
    """Run a gate over logs, or along one; returns its numbers.

    `steps`: those of the user; see the command. `at_end`: what happens where the logs end.
    """
    without_core_dumps()
    refuse_steps(steps)
    reading = reading or Reading()
    follow = at_end == "follow"
    waits = follow and len(paths) == 1 and not Path(paths[0]).exists() and Path(paths[0]).parent.is_dir()
    files = [*paths] if waits else [str(path) for path in expand(paths)]
    if (follow or any(map(is_stream, files))) and len(files) > 1:
        raise ParameterError("One growing file or stream at a time: give one LOG, or leave out --follow.")
    if reading.query_param == AUTO:
        raise ParameterError("A gate sees a log piece by piece and cannot guess the parameter: say --query-param NAME.")
    if reading.details:
        raise ParameterError("Parts have no further details. Leave out --details.")
    if reading.format:
        reading.refuse_unused(reading.format, "The log")
    reader = Reader(reading=reading, steps=steps)
    peeked = _peek(files, reader)
    if waits:
        note(f"{paths[0]} is not there yet. Waiting for it.")
    runner = Runner(rules=rules, reader=reader, metrics=metrics, note=note, shape_known=peeked)
    with runner.stop, runner:
        for path in files:
            if not runner.stop.asked:
                runner.read(path, follow)
        return runner.finish(keep_open=at_end == "keep" or runner.stop.asked)


def _peek(files: Sequence[str], reader: Reader) -> str | None:
    """The shape of the log, where it can be known before anything is read; opening the state needs it."""
    if reader.reading.query_param:
        return QUERIES.name
    given = reader.reading.format
    first = next((Path(f) for f in files if not is_stream(f) and Path(f).is_file() and Path(f).stat().st_size), None)
    if given is None and first is not None:
        given = format_of(first, reader.reading)
    return None if given is None or given == "table" else str(registry.module("formats", given).shape.name)


def refuse_steps(steps: Sequence[PrepareStep]) -> None:
    """Refuse steps that look at several rows: the gate sees each row once, in pieces of any size."""
    for step in steps:
        if looks_at(step) != "rows":
            raise ParameterError(
                f"The step {spelled(step)} looks at several rows of the log: a gate sees each row once, and alone. "
                f"Leave it out, or use coterie append, which reads whole nights."
            )


def without_core_dumps() -> None:
    """Keep the system from writing this process's memory, with queries in it, to the disk when it crashes."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Stop:
    """Turns the signals that end a process into a wish, which is looked at between two chunks: none is counted half."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            numbers = (signal.SIGTERM, signal.SIGINT)
            self._before = {number: signal.signal(number, self._ask) for number in numbers}
        return self

    def _ask(self, _number: int, _frame: object) -> None:
        self.asked = True

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@dataclass(kw_only=True)
class Runner:
    """One run: a reader, and a gate that is opened with the first rows, which tell their shape."""

    rules: Rules
    reader: Reader
    metrics: Path | None = None
    note: Note = api.silent
    shape_known: str | None = None
    stop: Stop = field(default_factory=lambda: Stop())
    gate: Gate | None = None
    _committed: float = field(default_factory=time.monotonic)
    _cost: float = 0.0
    _told: Counts = field(default_factory=Counts)

    def __enter__(self) -> Runner:
        found = states.read(Path(self.rules.state), header_only=True)
        if found is not None:
            self.reader.resume(found[0])
        shape = self.shape_known or (None if found is None else str(found[0]["about"]["shape"]))
        if shape is not None:
            self._open(SHAPES[shape])
        return self

    def __exit__(self, *error: object) -> None:
        if self.gate is not None:
            self.gate.abandon()

    def _open(self, shape: Any) -> Gate:
        if self.gate is None:
            self.gate = Gate(self.rules, shape=shape)
            self._told = replace(self.gate.counts)
        return self.gate

    def read(self, path: str, follow: bool) -> None:
        """Read a file or a stream to its end, or for ever."""
        self.reader.name = "standard input" if path == "-" else Path(path).name
        if not is_stream(path) and is_whole(Path(path)):
            if follow:
                raise ParameterError(f"{path} is compressed or no file of lines, and cannot be followed.")
            self._read_whole(Path(path))
            return
        name = str(Path(path).absolute())
        position = states.opened(Path(self.rules.state)) if self.gate is None else self.gate.position
        self.reader.known = position.get("formats", {}).get(name)
        mark = None if self.gate is None else self.gate.mark
        lines: FileLines | StreamLines
        if is_stream(path):
            lines = StreamLines(path)
        else:
            lines = FileLines(Path(path), position.get(name), mark, follow, self._know_file)
            if lines.unsure:
                self.note(
                    f"Cannot tell whether {path} is the file that was read before: the mark of how it began, or the "
                    f"key of that mark, is missing. It is read again from its beginning: rows of a window that is "
                    f"still open count twice."
                )
        heard = time.monotonic()
        for chunk in lines:
            self._tell_lost(lines, path)
            if chunk is None:
                # At the end of a file nothing is behind the clock; a stream may be an old log that comes slowly.
                self._idle(at_end=isinstance(lines, FileLines) or time.monotonic() - heard > _QUIET)
            else:
                heard = time.monotonic()
                marks = partial(lines.marks, known=lines.known()) if isinstance(lines, FileLines) else None
                self._count(chunk, name, marks)
            if self.stop.asked:  # looked at behind what was read: it is counted, and the place is behind it
                break
        self._tell_lost(lines, path)
        if self.gate is not None:
            self.gate.mark_place()
            self.gate.marks = None

    def _tell_lost(self, lines: FileLines | StreamLines, path: str) -> None:
        if isinstance(lines, FileLines) and lines.lost:
            lines.lost = False
            self.note(
                f"The file that was read before was cut, or is no longer beside {path}. Rows that came to it after it "
                f"was last read may be missing, and so may rotated files that are compressed by now: let rotation "
                f"compress later (delaycompress)."
            )

    def _count(self, chunk: Lines, name: str, marks: Marks | None) -> None:
        first = self.reader.format is None
        log, bad = self.reader.log_of(chunk)
        for text in (*log.notes, *log.warnings) if first and log is not None else ():
            self.note(text)
        gate = self._open(log.shape) if log is not None else self.gate
        if gate is None:
            return
        # A header alone is no place, as other files may begin with it. A line that is not finished may be, until the
        # next run.
        if log is None and (not bad or (marks is not None and not chunk.data.endswith(b"\n"))):
            return
        gate.marks = marks
        if log is not None and log.shape is not gate.shape:  # such as lines of JSON with other fields
            bad += int(log.frame.select(pl.len()).collect().item())
            log = None
        gate.counts.bad += bad
        if log is not None:
            gate.parts.with_steps(log.steps, log.settings)
            formats = {**gate.position.get("formats", {}), name: self.reader.format}
            gate.offer_many(log, {**chunk.position, "formats": formats})
        else:
            gate.go_on_to(chunk.position)
        self._commit_if_due(gate)

    def _know_file(self, position: Mapping[str, Any]) -> None:
        """Put the number of the first file on the disk before any line of it is read.

        A gate that is killed before its next snapshot then finds the file by its number, also if it was rotated.
        """
        if self.gate is None:
            states.remember(Path(self.rules.state), position)
        else:
            self.gate.go_on_to(position)
            self._commit(self.gate)

    def _read_whole(self, path: Path) -> None:
        """A file that polars reads as a whole; the place in it is a number of rows."""
        log = api.prepare(api.read(path, self.reader.reading), self.reader.steps)
        if self.reader.reading.guess:
            for text in (*log.notes, *log.warnings):
                self.note(text)
        self.reader.fix(log.settings)
        gate = self._open(log.shape)
        name, number = str(path.absolute()), f"{path.stat().st_dev}:{path.stat().st_ino}:{path.stat().st_size}"
        place = gate.position.get(name, {})
        done = int(place.get("rows", 0)) if place.get("file") == number else 0
        if not done:
            gate.counts.bad += sum(step.counts.get("bad", 0) for step in log.history)
        gate.parts.with_steps(log.steps, log.settings)
        rows = log.frame.sort("row").collect(engine="streaming")
        for start in range(done, rows.height, _WHOLE_ROWS):
            if self.stop.asked:
                return
            piece = rows.slice(start, _WHOLE_ROWS)
            gate.offer_many(piece, {name: {"file": number, "rows": start + piece.height}})
            self._commit_if_due(gate)

    def _idle(self, at_end: bool) -> None:
        if self.gate is not None:
            if at_end:
                self.gate.tick()
            if self.gate.changed:
                self._commit(self.gate)
        time.sleep(wait())

    def _commit_if_due(self, gate: Gate) -> None:
        """A snapshot, once enough was done since the last one. The clock closes nothing here: more may be behind."""
        since = time.monotonic() - self._committed
        if since > max(_COST * self._cost, _SOONEST) and (gate.waiting or since > _PATIENCE):
            self._commit(gate)

    def _commit(self, gate: Gate) -> None:
        start = time.monotonic()
        gate.commit()
        self._committed = time.monotonic()
        self._cost = self._committed - start
        if self.metrics is not None:
            write_metrics({**gate.status(), **gate.at_part}, self.metrics)
        for text in gate.counts.left_out_since(self._told, _HINTS):
            self.note(text)
        self._told = replace(gate.counts)

    def finish(self, keep_open: bool = False) -> dict[str, Any]:
        """Close what is due, put everything on the disk; the numbers of the gate."""
        if self.gate is None:
            if self.stop.asked:  # while it waited for the first row
                return {**asdict(Counts()), "held": 0, "open": 0, "bytes": 0, "parts": 0}
            raise InputError("There were no rows to read.")
        if not keep_open:
            self.gate.tick()
        self._commit(self.gate)
        return self.gate.status()


# --- numbers for Prometheus -------------------------------------------------------------------------


_NAMES = {
    "events": ("counter", "events_total", "Rows that were counted."),
    "released": ("counter", "released_events_total", "Rows that came out, as numbers beside their query."),
    "late": ("counter", "late_rows_total", "Rows left out because their window had ended."),
    "ahead": ("counter", "ahead_rows_total", "Rows left out because their time is more than a day ahead."),
    "timeless": ("counter", "timeless_rows_total", "Rows left out because they have no time."),
    "bad": ("counter", "bad_lines_total", "Lines that could not be read."),
    "dropped": ("counter", "dropped_rows_total", "Rows that a full queue left out."),
    "parts": ("counter", "parts_total", "Parts that were written."),
    "held": ("gauge", "held_queries", "Distinct queries that were held as tags when the last part closed."),
    "open": ("gauge", "open_queries", "Distinct queries that k people had asked within the window by then."),
    "bytes": ("gauge", "memory_bytes", "Memory of the tables."),
}


def metrics_text(status: Mapping[str, Any]) -> str:
    """The numbers of `Gate.status` in Prometheus' text format."""
    lines = []
    for key, (kind, name, about) in _NAMES.items():
        full = f"coterie_gate_{name}"
        lines += [f"# HELP {full} {about}", f"# TYPE {full} {kind}", f"{full} {int(status.get(key, 0))}"]
    return "\n".join(lines) + "\n"


def write_metrics(status: Mapping[str, Any], path: Path) -> None:
    """The same as a file, which is replaced as a whole."""
    with temporary(path.parent, path.name) as part:
        part.write_text(metrics_text(status), encoding="utf-8")
        part.replace(path)
