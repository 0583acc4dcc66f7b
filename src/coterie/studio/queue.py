"""The queue: one job at a time, in the order in which they came, in a process of their own.

A job is the name of a task and plain values. Its worker says how far it is, and at last what came of it or, in a
sentence, why nothing did. To stop a job ends its worker at once; the next job starts another one. Nothing that was
written is touched by that, and rows that the worker had on disk are swept.
"""

from __future__ import annotations

import itertools
import multiprocessing
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, Protocol

from coterie.core.scratch import sweep

State = Literal["waiting", "running", "done", "failed", "stopped"]
ENDED = ("done", "failed", "stopped")
KEPT = 500
"""Jobs that are remembered."""
_CRASHED = "The process that worked on this ended by itself, perhaps for want of memory. Nothing was written."


@dataclass(kw_only=True)
class Job:
    """One job, as pages show it."""

    id: int
    title: str
    task: str
    arguments: Mapping[str, Any] = field(repr=False)
    then: Callable[[Any], None] = field(repr=False)
    """Hears what came of it, before it counts as done."""
    state: State = "waiting"
    stage: str = ""
    share: float | None = None
    """How much of the whole job is done; None where nobody knows."""
    began: float = 0.0
    ended: float = 0.0
    error: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ENDED

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return 0.0 if not self.began else (self.ended or time.monotonic()) - self.began

    @property
    def left(self) -> float | None:
        """How many seconds it will probably take; None where too little is known."""
        if self.state != "running" or not self.share or self.share < 0.02:
            return None
        return self.seconds * (1 - self.share) / self.share


class Hand(Protocol):
    """Whoever does the work, at the other end of a connection."""

    def kill(self) -> None:
        """End it at once."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""


Start = Callable[[Connection, Path], Hand]


def start_process(connection: Connection, folder: Path) -> Hand:
    """A worker in a process of its own."""
    from coterie.studio.worker import run

    process = multiprocessing.get_context("spawn").Process(target=run, args=(connection, folder), daemon=True)
    process.start()
    connection.close()  # ours is a copy, and would keep it open
    return process


class Queue:
    """Jobs, and the thread that hands them to a worker."""

    def __init__(self, folder: Path, start: Start = start_process) -> None:
        self._folder, self._start = folder, start
        self._jobs: dict[int, Job] = {}
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._closed = False
        self._worker: tuple[Hand, Connection] | None = None
        self._thread = threading.Thread(target=self._work, name="studio queue", daemon=True)
        self._thread.start()

    def submit(self, title: str, task: str, then: Callable[[Any], None], **arguments: Any) -> Job:
        """Put a job at the end of the queue."""
        with self._changed:
            job = Job(id=next(self._numbers), title=title, task=task, arguments=arguments, then=then)
            self._jobs[job.id] = job
            self._waiting.append(job)
            for old in [each for each in self._jobs.values() if each.over][: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[old.id]
            self._changed.notify_all()
            return job

    def get(self, number: int) -> Job | None:
        """The job of that number."""
        return self._jobs.get(number)

    def before(self, job: Job) -> int:
        """How many jobs come before one that waits."""
        with self._changed:
            running = any(each.state == "running" for each in self._jobs.values())
            return running + (self._waiting.index(job) if job in self._waiting else 0)

    def stop(self, job: Job) -> None:
        """End a job, whether it waits or runs; one that is over stays as it is."""
        with self._changed:
            if job.state == "waiting" and job in self._waiting:
                self._waiting.remove(job)
                job.state = "stopped"
            elif job.state == "running":
                job.state, job.ended = "stopped", time.monotonic()
                self._end_worker()
            self._changed.notify_all()

    def close(self) -> None:
        """End everything."""
        with self._changed:
            self._closed = True
            for job in self._waiting:
                job.state = "stopped"
            self._waiting.clear()
            self._end_worker()
            self._changed.notify_all()
        self._thread.join(10)

    def wait(self, job: Job, timeout: float = 120.0) -> Job:
        """Wait until a job is over: for tests."""
        with self._changed:
            if not self._changed.wait_for(lambda: job.over, timeout):
                raise TimeoutError(job.title)
        return job

    # --- the thread ------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._closed:
                    self._begin_worker()  # so that it is warm when the first job comes
                self._changed.wait_for(lambda: self._closed or bool(self._waiting))
                if self._closed:
                    return
                job = self._waiting.popleft()
                job.state, job.began = "running", time.monotonic()
                _, connection = self._begin_worker()
            self._run(job, connection)

    def _run(self, job: Job, connection: Connection) -> None:
        try:
            connection.send((job.task, dict(job.arguments)))
            while True:
                kind, *said = connection.recv()
                if kind == "progress":
                    job.stage, job.share = said
                elif kind == "done":
                    job.then(said[0])
                    self._over(job, "done")
                    return
                else:
                    self._over(job, "failed", said[0])
                    return
        except (EOFError, OSError):
            with self._changed:
                self._end_worker()
            self._over(job, "failed", _CRASHED)

    def _over(self, job: Job, state: State, error: str = "") -> None:
        with self._changed:
            if job.state == "running":
                job.state, job.error, job.ended = state, error, time.monotonic()
            self._changed.notify_all()

    def _begin_worker(self) -> tuple[Hand, Connection]:
        if self._worker is None:
            ours, theirs = multiprocessing.Pipe()
            self._worker = (self._start(theirs, self._folder), ours)
        return self._worker

    def _end_worker(self) -> None:
        if self._worker is None:
            return
        hand, connection = self._worker
        self._worker = None
        hand.kill()
        connection.close()
        hand.join(10)
        sweep(self._folder)  # rows that it had on disk
