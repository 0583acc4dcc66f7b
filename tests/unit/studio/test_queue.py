"""Jobs run one after the other in a process of their own, can be stopped, and leave nothing on disk."""

import os
import time

import pytest

from coterie.studio.queue import Job, Queue
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
