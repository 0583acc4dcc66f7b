"""The gate itself: rows in, parts out, and between them nothing but tags under a key.

    from coterie.apps.gate import Gate

    with Gate(k=5, window="30d", state="gate.state", output="safe") as gate:
        gate.offer("ann", "maps")

A row belongs to the window of its own time. Parts close when a row comes whose time is at or behind their fixed time,
or by the clock (`tick`). Rows of a window that has ended come too late and are left out; so are rows that are more than
a day ahead of the clock, which would end the window for all others. Both are counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.apps.gate import state as states
from coterie.apps.gate.audit import Audit
from coterie.apps.gate.held import Window, pairs
from coterie.apps.gate.keys import Key, KeyFile
from coterie.apps.gate.parts import Part, Parts
from coterie.apps.gate.rules import Rules
from coterie.apps.gate.shadow import CLICK, QUERY, Shadow
from coterie.apps.gate.state import State
from coterie.apps.gate.table import GateTable, Texts
from coterie.apps.gate.windows import Schedule, now
from coterie.core.log import Log
from coterie.core.promise import Check
from coterie.core.shapes import QUERIES, TIME, Shape
from coterie.errors import BrokenPromiseError, InputError, InternalError, ParameterError

_AHEAD = timedelta(days=1)
_BUFFER = 20_000  # rows of `offer` that are counted at once
_LINKS = 64  # one tag of a person in so many is looked at
_WHY = {
    "late": "came after their window had ended and were left out.",
    "timeless": "have no time, belong to no window, and were left out.",
}
_SCHEMA = {"user": pl.String(), "item": pl.String(), "time": TIME, "page": pl.String()}


@dataclass
class Counts:
    """What a gate has counted since its state began; numbers only."""

    events: int = 0
    late: int = 0
    """Rows of a window that had ended."""
    ahead: int = 0
    """Rows more than a day ahead of the clock."""
    timeless: int = 0
    """Rows without a time."""
    bad: int = 0
    """Lines that could not be read."""
    released: int = 0
    """Events that came out, as queries."""
    dropped: int = 0
    """Rows that a full queue left out (middleware)."""

    def left_out_since(self, before: Counts, hints: Mapping[str, str]) -> Iterator[str]:
        """What people should know of the rows that were left out since then, and by `hints` what to do about it."""
        for name, why in _WHY.items():
            if more := getattr(self, name) - getattr(before, name):
                yield f"{more:,} rows {why} {hints.get(name, '')}".rstrip()


class Gate:
    """Holds rows until k people have asked the same within a window."""

    table_class: type[GateTable] = GateTable

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        shape: Shape = QUERIES,
        steps: tuple[str, ...] = (),
        settings: Mapping[str, Any] | None = None,
        clock: Callable[[], datetime] = now,
        **given: Any,
    ) -> None:
        """`given`: rules by their names, such as `k=5`; in place of `rules`, or of those of them."""
        self.rules = rules = Rules(**given) if rules is None else replace(rules, **given)
        if shape.further:
            raise ParameterError(f"Parts have no further details ({', '.join(shape.further)}). Leave out --details.")
        self.schedule = Schedule.of(rules.window, rules.flush)
        self.shape = shape
        self._clicks = rules.clicks and bool(shape.page)
        self._clock = clock
        self._state = State(Path(rules.state))
        self._keys = KeyFile.of(self._state, rules.key)
        self._buffer: list[tuple[str | None, str, datetime | None, str | None]] = []
        self.counts = Counts()
        self.position: dict[str, Any] = {}
        """Where the input is, as whoever offers rows calls it; kept in the snapshot."""
        self.marks: Callable[[Callable[[bytes], str]], Mapping[str, Any]] | None = None
        """What a reader adds to the position when a snapshot is made, with a hash under a key."""
        self._place_key: Key | None = None
        """The key of these hashes. It outlives windows: a file may be cut after its window has ended."""
        self._window: Window | None = None
        self._part: int | None = None
        self._listed: list[Part] = []
        self._new: list[Part] = []
        self._next = 1
        self._about = {**rules.of_state, "shape": shape.name}
        self.at_part = self._census
        """How many queries were held, and open, when the last part closed. Numbers of this moment, shown to others,
        would tell when somebody asks what nobody has asked before, or is the k-th to ask."""
        self._busy = False  # stays so where an error came in between: then memory is no longer what the input says
        self.changed = False
        """Whether anything came since the last snapshot."""
        try:
            self.parts = Parts(rules, shape, steps, settings or {})
            self._audit = None if rules.audit is None else Audit(Path(rules.audit), shape)
            self._resume()
        except BaseException:
            self._state.release()
            raise

    def __repr__(self) -> str:
        return f"Gate(k = {self.rules.k}, {self.counts.events:,} events)"

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self.close()
        else:
            self._state.release()

    # Rows in.

    def offer(self, user: str | None, query: str, *, time: datetime | None = None, url: str | None = None) -> None:
        """One row; its time is that of the clock unless given. Rows are counted some thousands at a time."""
        _check_row(user, query, time, url)
        self._buffer.append((user, query, self._arrived() if time is None else time, url))
        if len(self._buffer) >= _BUFFER:
            self._count_buffer()

    def offer_many(self, rows: Log | pl.DataFrame | pl.LazyFrame, position: Mapping[str, Any] | None = None) -> None:
        """Rows of a log, or of a table with its columns; `position`: where the input is after them."""
        self._count_buffer()
        frame = rows.frame if isinstance(rows, Log) else rows.lazy()
        shape, have = self.shape, frame.collect_schema()
        if isinstance(rows, Log) and rows.shape is not shape:
            raise InputError(f"This gate is for {shape.name}, and the log is {rows.shape.name}.")
        if isinstance(rows, Log) and "row" in have:  # a step may give them in another order, and then some are late
            frame = frame.sort("row")
        absent = [name for name in (shape.subject, shape.item) if name not in have]
        if absent:
            raise InputError(f"A table that is offered to a gate needs the columns {' and '.join(map(repr, absent))}.")
        if shape.time in have and not (have[shape.time].is_temporal() or have[shape.time] == pl.Null):
            raise InputError(f"The column {shape.time!r} of a table that is offered to a gate must hold times.")
        wanted = zip(_SCHEMA.items(), (shape.subject, shape.item, shape.time, shape.page), strict=True)
        columns = [
            (pl.col(name).cast(kind) if name in have else pl.lit(None, kind)).alias(ours)
            for (ours, kind), name in wanted
        ]
        self._take_in(frame.select(columns).collect(engine="streaming"))
        if position is not None:
            self.go_on_to(position)

    def go_on_to(self, position: Mapping[str, Any]) -> None:
        """The input is at this place, and all that is before it was counted."""
        self.position = {**self.position, **position}
        self.changed = True

    def _arrived(self) -> datetime:
        """The time of a row that comes now: never before the part that is open, even if the clock was set back."""
        clock = self._clock()
        return clock if self._part is None else max(clock, self.schedule.closes(self._part - 1))

    def _count_buffer(self) -> None:
        if self._buffer:
            rows, self._buffer = self._buffer, []
            self._take_in(pl.DataFrame(rows, schema=_SCHEMA, orient="row"))

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """What is held changes meanwhile; after an error in between it is no longer what the input says."""
        self.changed = self._busy = True
        yield
        self._busy = False

    def _take_in(self, frame: pl.DataFrame) -> None:
        if frame.height:
            with self._counting():
                self._sort_in(frame)

    def _sort_in(self, frame: pl.DataFrame) -> None:
        """Rows into their parts and windows."""
        clock = self._arrived()
        if self.rules.arrival:
            frame = frame.with_columns(pl.lit(clock, TIME).alias("time"))
        timed = frame.filter(pl.col("time").is_not_null() & pl.col("item").is_not_null())
        self.counts.timeless += frame.height - timed.height
        frame = timed.filter(pl.col("time") <= clock + _AHEAD)
        self.counts.ahead += timed.height - frame.height
        if frame.height == 0:
            return
        micros = frame["time"].dt.epoch("us").to_numpy()
        running = np.maximum.accumulate(self.schedule.parts(micros))
        if self._part is not None:
            running = np.maximum(running, self._part)
        windows = self.schedule.window_of_parts(running)
        in_time = self.schedule.windows(micros) == windows
        if not in_time.all():
            self.counts.late += int((~in_time).sum())
            frame, micros = frame.filter(pl.Series(in_time)), micros[in_time]
            running, windows = running[in_time], windows[in_time]
        if frame.height:
            self._count_rows(frame, running, self.schedule.days(micros, windows))

    def _count_rows(self, frame: pl.DataFrame, running: NDArray[np.int64], days: NDArray[np.uint16]) -> None:
        """Rows with the parts in which they come, in order."""
        self.counts.events += frame.height
        if self._audit is not None:
            self._audit.add(frame)
        frame = frame.with_columns(pl.Series("day", days.astype(np.int64)))
        cuts = [0, *(np.flatnonzero(np.diff(running)) + 1).tolist(), frame.height]
        for first, last in itertools.pairwise(cuts):
            window, rows = self._window_at(int(running[first])), frame[first:last]
            self._offer(window, QUERY, rows["item"], rows, days[first:last])
            clicked = rows.filter(pl.col("page").is_not_null() & self._clicks)
            if clicked.height:
                self._offer(window, CLICK, pairs(clicked), clicked, np.zeros(clicked.height, np.uint16))
            if window.shadow is not None:
                chosen = rows.filter(window.shadow.chosen(rows["item"]))
                if chosen.height:
                    pages = chosen if self._clicks else chosen.with_columns(pl.lit(None, pl.String).alias("page"))
                    window.shadow.count(pages)

    def _offer(self, window: Window, what: int, texts: pl.Series, rows: pl.DataFrame, days: NDArray[np.uint16]) -> None:
        """Count events in one of the tables, and keep the texts that it wants."""
        table = window.tables[what]
        wanted = table.offer(Texts.of(texts), Texts.of(rows["user"]), days, 0, rows.height)
        if wanted.size:
            tags = table.tags(Texts.of(texts.gather(wanted)))
            for tag, (item, page) in zip(tags, rows.select("item", "page")[wanted].iter_rows(), strict=True):
                window.texts[what][tag] = (item, page if what == CLICK else None)

    # Parts out.

    def tick(self) -> None:
        """Close what the clock says is due: parts whose fixed time has passed, and windows that have ended."""
        self._count_buffer()
        if self._window is not None and self._part is not None:
            due = self.schedule.part_at(self._clock())
            if due > self._part:
                # Never beyond the end of the window: what comes next may be older than the clock.
                with self._counting():
                    self._reach(min(due, self.schedule.first_part(self._window.number + 1)))

    def end_part(self) -> None:
        """Close the part now, whatever the time is; for nights, whose end is their fixed time."""
        self._count_buffer()
        if self._window is not None:
            with self._counting():
                self._close_part(self._window, ended=False)

    def end_window(self) -> None:
        """End the window now, whatever the time is; rows of it that come later are too late."""
        self._count_buffer()
        if self._window is not None:
            with self._counting():
                self._reach(self.schedule.first_part(self._window.number + 1))

    def _reach(self, part: int) -> None:
        """Go on to a part; close those before it and, at its end, the window."""
        if self._part is not None and part <= self._part:
            return
        if self._window is not None:
            ended = self._window.number < self.schedule.window_of_parts(part)
            self._close_part(self._window, ended)
            self._window = None if ended else self._window
        self._part = part
        self.at_part = self._census

    def _window_at(self, part: int) -> Window:
        """The window of a part whose rows have come."""
        self._reach(part)
        if self._window is None:
            self._window = self._opened(self.schedule.window_of_parts(part), Key.new())
        return self._window

    @property
    def _census(self) -> dict[str, int]:
        """How many queries are held, and open, now."""
        held, opened = (0, 0) if self._window is None else self._window.tables[QUERY].census
        return {"held": held, "open": opened}

    def _opened(self, number: int, key: Key, blobs: Mapping[str, Any] | None = None) -> Window:
        tables = [self.table_class(self.rules.k, key.words) for _ in (QUERY, CLICK)]
        kept = None if blobs is None else blobs.get("shadow")
        shadow = Shadow(self.rules.k, key.shadow, self.rules.shadow, kept) if self.rules.shadow else None
        window = Window(number, key, tables, shadow)
        if blobs is not None:
            window.restore(blobs)
        return window

    def _close_part(self, window: Window, ended: bool) -> None:
        """Stage what is due; at the end of a window all that is open."""
        if self._part is None:
            return
        rest = ended or self.rules.rest == "part"
        lines = pl.concat([window.take(what, rest) for what in (QUERY, CLICK)])
        watched = self._watched(window, lines, rest)
        if lines.height == 0:
            return
        self.counts.released += int(lines.filter(pl.col("what") == QUERY)["count"].sum())
        closed = self.schedule.closes(self._part)
        self._new.append(self.parts.stage(self._next, closed, self._told(window, lines), watched))
        self._next += 1

    def _watched(self, window: Window, lines: pl.DataFrame, rest: bool) -> Check | None:
        """What the shadow says about lines; an error where it counted otherwise, or where tags link people."""
        if window.shadow is None:
            return None
        if any(table.links_anybody(_LINKS) for table in window.tables):
            raise BrokenPromiseError(
                "The tag of a person stands beside two queries, so that what they asked could be linked. The part was "
                "not written, and the gate stopped. Keep state and key, and report it."
            )
        return window.shadow.compare(lines, rest)

    def _told(self, window: Window, lines: pl.DataFrame) -> pl.DataFrame:
        """Lines as a part has them."""
        start, nouns = self.schedule.start(window.number), self.shape.item_nouns
        days = [None if day is None else self.schedule.day(window.number, day) for day in lines["day"].to_list()]
        rest = pl.when(pl.col("crowd")).then(pl.lit("")).otherwise(pl.lit("rest of "))
        what = pl.when(pl.col("what") == CLICK).then(pl.lit("clicks")).otherwise(pl.lit(nouns))
        return lines.select(
            pl.concat_str(rest, what, pl.lit(f" from {start}")).alias("table"),
            "item",
            pl.coalesce("page", pl.Series(days, dtype=pl.String)).alias("detail"),
            "count",
        )

    # Snapshots.

    def commit(self) -> None:
        """Put everything on the disk: state, position in the input, and the parts that have closed."""
        self._count_buffer()
        if self._busy:
            raise InternalError("This gate failed while it counted. Open it again: it goes on from its last snapshot.")
        if self._part is None and not self.position:
            return
        window = self._window
        self.mark_place()
        # New keys come before the snapshot that needs them; others go once it is on the disk.
        self._keys.keep({**self._keys.read(), **self._needed_keys()})
        listed = [*self._listed, *self._new]
        audits = [] if self._audit is None else self._audit.stage(self.parts.settings.get("columns", {}))
        header = {
            "about": self._about,
            "key": None if window is None else window.key.name,
            "place_key": None if self._place_key is None else self._place_key.name,
            "window_number": None if window is None else window.number,
            "window_from": None if window is None else self.schedule.start(window.number),
            "part": self._part,
            "next": self._next,
            "position": self.position,
            "counts": asdict(self.counts),
            "parts": [asdict(part) for part in listed],
            "audits": audits,
            **self._census,
            "steps": self.parts.steps,
            "settings": self.parts.settings,
        }
        self._state.save(header, {} if window is None else window.blobs())
        self.parts.publish(self._new)
        if self._new or not self._listed:
            self.parts.list(listed)
        if self._audit is not None:
            self._audit.publish()
        self._listed, self._new = listed, []
        self._keys.keep(self._needed_keys())
        self.changed = False

    def mark_place(self) -> None:
        """Add what the reader says about its place, such as how the file begins."""
        if self.marks is not None:
            self._place_key = self._place_key or Key.new()
            self.position = {**self.position, **self.marks(self._place_key.mark)}

    def _needed_keys(self) -> dict[str, Key]:
        keys = (self._place_key, None if self._window is None else self._window.key)
        return {key.name: key for key in keys if key is not None}

    def _resume(self) -> None:
        self._keys.sweep()
        found, keys = states.read(self._state.folder), self._keys.read()
        if found is None:
            self._keys.keep({})  # they were made for this state, and its first snapshot never was
            self.parts.settle([])
            return
        header, blobs = found
        different = [name for name, value in self._about.items() if header["about"].get(name) != value]
        if different:
            raise ParameterError(
                f"The state was made with other values of {', '.join(different)}. Give the same ones, or begin a new "
                f"state."
            )
        if header["key"] is not None:
            self._window = self._opened(header["window_number"], self._keys.needed(header["key"]), blobs)
        self._place_key = keys.get(str(header.get("place_key")))
        self._part, self._next = header["part"], header["next"]
        self.position = header["position"]
        self.counts = Counts(**header["counts"])
        self._listed = [Part(**part) for part in header["parts"]]
        self.parts.with_steps(tuple(header["steps"]), header["settings"])
        self.parts.settle(self._listed)
        self.parts.list(self._listed)
        if self._audit is not None:
            self._audit.settle(header["audits"])
        self._keys.keep(self._needed_keys())
        self.at_part = self._census

    def rotate(self) -> None:
        """End the window now: what is held is forgotten, and so is its key. What is open comes out with the part."""
        self._count_buffer()
        if self._window is None:
            return
        self._close_part(self._window, ended=True)
        self._window = self._opened(self._window.number, Key.new())
        self.commit()

    @property
    def waiting(self) -> bool:
        """Whether parts have closed that no snapshot knows yet."""
        return bool(self._new)

    @property
    def published(self) -> list[Part]:
        """The parts that are in place."""
        return list(self._listed)

    def status(self) -> dict[str, Any]:
        """Numbers of the gate; no text, no tag, no name."""
        tables = [] if self._window is None else self._window.tables
        return {
            **asdict(self.counts),
            **self._census,
            "bytes": sum(table.bytes for table in tables),
            "parts": len(self._listed) + len(self._new),
        }

    @property
    def mark(self) -> Callable[[bytes], str] | None:
        """The hash of places that were read; None where its key is gone, so that nobody can compare."""
        if self._place_key is not None:
            return self._place_key.mark
        return None if self._window is None else self._window.key.mark  # a state of before has no key for places

    def close(self, keep_open: bool = False) -> None:
        """Count what is buffered, close what is due, put everything on the disk and let others have the state.

        `keep_open`: more of the same part will come, whatever the clock says.
        """
        try:
            if not keep_open:
                self.tick()
            self.commit()
        finally:
            self._state.release()

    def abandon(self) -> None:
        """Let others have the state, as it was at the last commit."""
        self._state.release()

    @contextmanager
    def abandoned(self) -> Iterator[Gate]:
        """Let others have the state when the block ends, as it was at the last commit."""
        try:
            yield self
        finally:
            self.abandon()


def _check_row(user: object, query: object, time: object, url: object) -> None:
    """Refuse a row that would fail later, among others, with a message that shows it."""
    texts = [text for text in (query, user, url) if text is not None]
    if query is None or not all(isinstance(text, str) for text in texts):
        raise InputError("A row that is offered to a gate has texts: a query; and a user and a url, or None.")
    if not all(_is_unicode(str(text)) for text in texts):
        raise InputError("A text that is offered to a gate is not Unicode: it has half of a pair of surrogates.")
    if time is not None and not isinstance(time, datetime):
        raise InputError("The time of a row that is offered to a gate must be a datetime.")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def work_once(logs: Sequence[Log]) -> None:
    """Compile what a gate is made of: it takes the largest log, and makes a snapshot."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        here = Path(folder)
        with Gate(state=here / "state", key=here / "key", output=here / "parts", window="120d") as gate:
            gate.offer_many(logs[-1])
            gate.commit()
