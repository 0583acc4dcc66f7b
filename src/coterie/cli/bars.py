"""Bars: how far a command is, on a terminal. Nothing is shown that is not known."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display
from rich.text import Text

from coterie.core.threads import Counted, Told

_SHOWN = 6  # stages that are seen at once: the terminal may be low
_PER_SECOND = 3  # times that bars are drawn: more costs percents of the whole command
_EARLY = 0.01  # below this share nobody knows how long the rest takes


class _Left(ProgressColumn):
    """The time that is left, where it follows from the share that is done; it runs on between two words."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now

    def render(self, task: Task) -> Text:
        """Minutes and seconds; nothing where they are not known, or have passed."""
        ends = task.fields["ends"]
        left = None if ends is None or task.finished else round(ends - self._now())
        return Text("" if left is None or left < 0 else f"{left // 60}:{left % 60:02} left", style="cyan")


class Bars:
    """A bar for each stage, with its time; with a share, the time that is left; else what is counted, if anything."""

    def __init__(self, console: Console, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._display = Display(
            TextColumn("{task.description:24}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[counted]}"),
            _Left(now),
            console=console,
            get_time=now,
            refresh_per_second=_PER_SECOND,
            transient=True,
        )
        self._tasks: list[TaskID] = []
        self._name, self._began = "", 0.0

    def __enter__(self) -> Bars:
        self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.stop()

    def print(self, text: str, style: str | None = None) -> None:
        """A line above the bars."""
        self._display.console.print(text, style=style, markup=False)

    def step(self, name: str, told: Told | None = None) -> None:
        """Show a stage, and how far it is; those before it are done."""
        if name != self._name:
            self._next(name)
        task = self._tasks[-1]
        if isinstance(told, Counted):
            total = told.of if told.of is not None and told.done <= told.of else None
            self._display.update(task, total=total, completed=told.done if total else 0, counted=str(told))
        elif told is not None:
            now = self._now()
            ends = now + (now - self._began) * (1 - told) / told if told >= _EARLY else None
            self._display.update(task, total=1.0, completed=told, ends=ends)

    def _next(self, name: str) -> None:
        for task in self._tasks[-1:]:
            self._display.update(task, total=1, completed=1, counted="", ends=None)
        for task in self._tasks[: 1 - _SHOWN]:
            self._display.update(task, visible=False)
        self._tasks.append(self._display.add_task(name, total=None, counted="", ends=None))
        self._name, self._began = name, self._now()
