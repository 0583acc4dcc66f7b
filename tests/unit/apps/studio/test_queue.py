"""Jobs run one after the other in a process of their own, can be stopped, and leave nothing on disk."""

import os
import signal
import time
from contextlib import suppress

import pytest

from coterie.apps.studio.queue import Job, Queue
from tests.helpers.studios import ThreadHand, start_misbehaving


@pytest.fixture
def queue(tmp_path):
    queue = Queue(tmp_path, start_misbehaving)
    yield queue
    queue.close()


def _until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_one_at_a_time_in_their_order_and_stopped_at_once(queue, tmp_path):
    heard = []
    long = queue.submit("long", "sleep", heard.append, seconds=600)
    second = queue.submit("second", "work", heard.append)
    third = queue.submit("third", "work", heard.append)
    _until(lambda: long.stage == "sleeping")
    assert (long.state, long.share, second.state, third.state) == ("running", 0.25, "waiting", "waiting")
    assert (queue.before(second), queue.before(third)) == (1, 2)
    assert long.left is not None
    assert [path for path in tmp_path.iterdir() if path.name.startswith("coterie-")]
    queue.stop(third)
    queue.stop(long)
    queue.wait(second)
    assert (long.state, second.state, third.state) == ("stopped", "done", "stopped")
    assert len(heard) == 1, "nothing came of what was stopped"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("coterie-")], "its rows are swept"
    queue.stop(second)
    assert second.state == "done", "what is over stays as it is"


def test_a_worker_that_ends_by_itself_fails_its_job_and_not_the_next(queue):
    heard = []
    dead = queue.wait(queue.submit("dead", "die", heard.append))
    assert dead.state == "failed"
    assert "memory" in dead.error
    assert queue.wait(queue.submit("next", "work", heard.append)).state == "done"


def test_whatever_goes_wrong_with_a_job_the_next_one_runs(queue):
    def refuses(_):
        raise RuntimeError("a value")

    nonsense = queue.wait(queue.submit("nonsense", "nonsense", print))
    thrown = queue.wait(queue.submit("thrown", "work", refuses))
    for job in (nonsense, thrown):
        assert job.state == "failed"
        assert "mistake of Coterie" in job.error
        assert "a value" not in job.error
    assert queue.wait(queue.submit("next", "work", print)).state == "done"


def test_a_worker_that_died_while_nobody_looked_fails_no_job(queue):
    heard = []
    queue.wait(queue.submit("first", "work", heard.append))
    os.kill(heard[0], signal.SIGKILL)
    _until(lambda: not queue._worker[0].is_alive())
    assert queue.wait(queue.submit("next", "work", heard.append)).state == "done"
    assert heard[0] != heard[1]


def test_a_worker_that_cannot_be_started_is_told_and_tried_again(tmp_path):
    fails = [OSError("no more processes")] * 2

    def start(connection, folder):
        if fails:
            raise fails.pop()
        return start_misbehaving(connection, folder)

    queue = Queue(tmp_path, start)
    try:
        first = queue.wait(queue.submit("first", "work", print))
        assert first.state == "failed"
        assert "could not be started" in first.error
        assert queue.wait(queue.submit("next", "work", print)).state == "done"
    finally:
        queue.close()


def test_stopping_takes_along_what_the_worker_started(queue):
    job = queue.submit("child", "child", print)
    _until(lambda: job.stage)
    child = int(job.stage)
    assert _lives(child)
    queue.stop(job)
    _until(lambda: not _lives(child))


def test_many_stops_of_a_worker_that_talks_without_a_pause(tmp_path):
    """Only one thread may touch the connection: closing it under a thread that reads from it ended that thread."""

    class Chatter(ThreadHand):
        def __init__(self, connection, folder):
            super().__init__(connection, folder, self._chat)

        @staticmethod
        def _chat(connection, _folder):
            with suppress(EOFError, OSError):
                connection.recv()
                while True:
                    connection.send(("progress", "x" * 200, 0.1))

    queue = Queue(tmp_path, Chatter)
    try:
        for _ in range(150):
            job = queue.submit("talks", "talk", print)
            _until(lambda job=job: job.stage)
            queue.stop(job)
        assert queue._thread.is_alive()
    finally:
        queue.close()


def test_nothing_starts_before_the_first_page(tmp_path):
    started = []

    def start(connection, folder):
        started.append(1)
        return ThreadHand(connection, folder)

    queue = Queue(tmp_path, start, patience=600)
    try:
        job = queue.submit("waits", "no such task", print)
        assert (job.state, started) == ("waiting", [])
        queue.begin()
        assert queue.wait(job).state == "failed"
    finally:
        queue.close()


def test_closing_ends_the_worker(tmp_path):
    queue, heard = Queue(tmp_path, start_misbehaving), []
    queue.wait(queue.submit("work", "work", heard.append))
    queue.close()
    _until(lambda: not _lives(heard[0]))


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_our_errors_are_told_as_they_are_and_others_by_their_kind(tmp_path):
    queue = Queue(tmp_path, ThreadHand)
    try:
        ours = queue.wait(queue.submit("verify", "verify", print, out=str(tmp_path / "nothing"), original=None))
        assert ours.state == "failed"
        assert "no such file" in ours.error
        other = queue.wait(queue.submit("nonsense", "no such task", print))
        assert "mistake of Coterie (KeyError)" in other.error
        assert "no such task" not in other.error, "a message of others may hold a value"
    finally:
        queue.close()


def test_how_long_it_takes():
    job = Job(id=1, title="", task="", arguments={}, then=print)
    assert (job.seconds, job.left, job.over) == (0.0, None, False)
    job.state, job.began, job.share = "running", time.monotonic() - 10, 0.5
    assert job.left == pytest.approx(10, abs=1)
    job.share = 0.001
    assert job.left is None, "too early to tell"
