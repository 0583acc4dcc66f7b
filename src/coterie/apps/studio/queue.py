"""The queue: one job at a time, in the order in which they came, in a process of their own.

A job is the name of a task and plain values. Its worker says how far it is, and at last what came of it or, in a
sentence, why nothing did. To stop a job ends its worker at once; the next job starts another one. Nothing that was
written is touched by that, and what the worker had on disk, or was writing beside a target, is swept.

One thread talks to the worker and clears up after it. Others only kill it, which the thread then hears.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, Protocol

from coterie.core.files import sweep

State = Literal["waiting", "running", "done", "failed", "stopped"]
ENDED = ("done", "failed", "stopped")
KEPT = 500
"""Jobs that are remembered."""
_CRASHED = "The process that worked on this ended by itself, perhaps for want of memory. Nothing was written."
_NO_WORKER = "The process that would work on this could not be started. Free some memory and try again."
_OURS = "This is a mistake of Coterie ({}). Please report it with the output of 'coterie doctor'."


@dataclass(kw_only=True)
class Job:
    """One job, as pages show it."""

    id: int
    title: str
    task: str
    arguments: Mapping[str, Any] = field(repr=False)
    then: Callable[[Any], None] = field(repr=False)
    """Hears what came of it, before it counts as done."""
    beside: Path | None = None
    """The folder where its worker makes what it writes, before that gets its name."""
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

    def is_alive(self) -> bool:
        """Whether it can still be given work."""

    def kill(self) -> None:
        """End it at once."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""


Start = Callable[[Connection, Path], Hand]
Work = Callable[[Connection, Path], None]
"""What a worker does: take tasks from a connection until it is hung up; what it has on disk goes below a folder."""


class ProcessHand:
    """A worker in a process of its own, which takes along whatever it started, such as a browser that prints."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    def is_alive(self) -> bool:
        """Whether it can still be given work."""
        return self._process.is_alive()

    def kill(self) -> None:
        """End it at once, and what it started."""
        group = self._process.pid
        try:
            if group:  # never 0, which would be our own
                os.killpg(group, signal.SIGKILL)
        except (OSError, AttributeError):  # it is not that far yet, or there are no groups of processes (Windows)
            self._process.kill()

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""
        self._process.join(timeout)


def start_process(connection: Connection, folder: Path, work: Work | None = None) -> Hand:
    """A worker in a process of its own; it does what the tasks say unless other `work` is given."""
    if work is None:
        from coterie.apps.studio.worker import run as work
    process = multiprocessing.get_context("spawn").Process(target=_alone, args=(work, connection, folder), daemon=True)
    resource_tracker.ensure_running()  # which would let Ctrl-C through again
    with _deaf_to_ctrl_c():
        process.start()
    connection.close()  # ours is a copy, and would keep it open
    return ProcessHand(process)


def _alone(work: Work, connection: Connection, folder: Path) -> None:
    """Work in a group of processes of its own, so that all of it can be ended, and a terminal does not reach it."""
    if hasattr(os, "setsid"):
        os.setsid()
    work(connection, folder)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """A process that this thread starts now never hears Ctrl-C: it is the server that ends it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Queue:
    """Jobs, and the thread that hands them to a worker.

    No worker starts before `begin` was called, or so many seconds have passed: a browser that waits for its first page
    comes first.
    """

    def __init__(self, folder: Path, start: Start = start_process, patience: float = 0.0) -> None:
        self._folder, self._start, self._patience = folder, start, patience
        self._jobs: dict[int, Job] = {}
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._begun = self._closed = self._killed = False
        self._worker: tuple[Hand, Connection] | None = None
        self._beside: set[Path] = set()
        self._thread = threading.Thread(target=self._work, name="studio queue", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Work may start."""
        with self._changed:
            self._begun = True
            self._changed.notify_all()

    def submit(
        self, title: str, task: str, then: Callable[[Any], None], *, beside: Path | None = None, **arguments: Any
    ) -> Job:
        """Put a job at the end of the queue."""
        with self._changed:
            job = Job(id=next(self._numbers), title=title, task=task, arguments=arguments, then=then, beside=beside)
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
                self._kill()
            self._changed.notify_all()

    def close(self) -> None:
        """End everything."""
        with self._changed:
            self._closed = True
            for job in self._waiting:
                job.state = "stopped"
            self._waiting.clear()
            self._kill()
            self._changed.notify_all()
        self._thread.join(20)

    def wait(self, job: Job, timeout: float = 120.0) -> Job:
        """Wait until a job is over: for tests."""
        with self._changed:
            if not self._changed.wait_for(lambda: job.over, timeout):
                raise TimeoutError(job.title)
        return job

    def _kill(self) -> None:
        if self._worker is not None:
            self._killed = True
            self._worker[0].kill()

    # --- the thread ------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._begun or self._closed, self._patience)
            while (job := self._next()) is not None:
                self._run(job)
        finally:
            self._end_worker()

    def _next(self) -> Job | None:
        """The next job, once there is one; None where the studio was closed."""
        with self._changed:
            if not self._closed:
                with suppress(Exception):  # whoever needs it is told why there is none
                    self._begin_worker()  # so that it is warm when the first job comes
            self._changed.wait_for(lambda: self._closed or bool(self._waiting))
            if self._closed:
                return None
            job = self._waiting.popleft()
            job.state, job.began = "running", time.monotonic()
            self._changed.notify_all()
            return job

    def _run(self, job: Job) -> None:
        """Run a job to its end, whatever that is: the next one must not wait for ever."""
        try:
            with self._changed:
                if job.over:  # stopped in between
                    return
                _, connection = self._begin_worker()
        except Exception:  # whatever the system says: no worker, no job
            self._over(job, "failed", _NO_WORKER)
            return
        if job.beside is not None:
            self._beside.add(job.beside)
        try:
            connection.send((job.task, dict(job.arguments)))
            while True:
                kind, *said = connection.recv()
                if kind == "progress":
                    job.stage, job.share = said
                elif kind == "done":
                    job.then(said[0])
                    self._over(job, "done")
                    break
                else:
                    self._over(job, "failed", said[0])
                    break
        except (EOFError, OSError):  # it was stopped, or ended by itself
            self._end_worker()
            self._over(job, "failed", _CRASHED)
        except Exception as error:  # what it says may hold a value
            self._end_worker()
            self._over(job, "failed", _OURS.format(type(error).__name__))
        if not self._worker_lives():  # stopped in the moment in which it was done, perhaps
            self._end_worker()

    def _over(self, job: Job, state: State, error: str = "") -> None:
        with self._changed:
            if job.state == "running":
                job.state, job.error, job.ended = state, error, time.monotonic()
            self._changed.notify_all()

    def _worker_lives(self) -> bool:
        return self._worker is not None and not self._killed and self._worker[0].is_alive()

    def _begin_worker(self) -> tuple[Hand, Connection]:
        """The worker, another one where it died while nobody looked."""
        if not self._worker_lives():
            self._end_worker()
        if self._worker is None:
            ours, theirs = multiprocessing.Pipe()
            self._worker, self._killed = (self._start(theirs, self._folder), ours), False
        return self._worker

    def _end_worker(self) -> None:
        with self._changed:
            worker, self._worker = self._worker, None
        if worker is None:
            return
        hand, connection = worker
        hand.kill()
        hand.join(10)
        connection.close()
        for folder in (self._folder, *self._beside):  # rows that it had on disk, and what it was writing
            sweep(folder)
        self._beside.clear()
