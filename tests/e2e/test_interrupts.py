"""Ctrl-C: heard at once, and the end of the process, also where Python itself cannot react."""

import signal
import subprocess
import sys
import threading

import pytest

from coterie.cli.errors import ENDED, HEARD, answered

JOB = """
import hashlib, signal, sys, time
from pathlib import Path
from coterie.cli.errors import answered
from coterie.core.files import Scratch
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background of a shell does not have
scratch = Scratch(beside=Path(sys.argv[1]))
(scratch.path / "rows").write_text("rows")
try:
    with answered(patience=float(sys.argv[3])):
        if sys.argv[2] == "kernel":  # deaf to signals, as kernels are, wherever this process is when one arrives
            signal.signal(signal.SIGINT, lambda *_: None)
        print("ready", flush=True)
        while sys.argv[2] == "kernel":
            hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)  # without the interpreter lock
        time.sleep(600)
except KeyboardInterrupt:
    sys.exit(77)
"""


def _start(folder, kind, patience):
    command = [sys.executable, "-c", JOB, str(folder), kind, str(patience)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def _heard(process):
    """What is said first."""
    while not (line := process.stderr.readline()).strip():
        assert line, "it said nothing"
    return line.strip()


def _rest(process):
    """What is said until the end; `communicate` would lose what `readline` has read ahead."""
    with process:
        return process.stderr.read()


def test_a_job_that_can_react_ends_as_it_likes(tmp_path):
    process = _start(tmp_path, "python", 60)
    process.send_signal(signal.SIGINT)
    assert _heard(process) == HEARD
    _rest(process)
    assert process.returncode == 77
    assert list(tmp_path.iterdir()) == []


def test_a_job_inside_a_kernel_is_ended(tmp_path):
    process = _start(tmp_path, "kernel", 0.2)
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(signal.SIGINT)
    assert _heard(process) == HEARD
    assert ENDED in _rest(process)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_second_time_does_not_wait(tmp_path):
    process = _start(tmp_path, "kernel", 600)
    process.send_signal(signal.SIGINT)
    assert _heard(process) == HEARD
    process.send_signal(signal.SIGINT)
    assert ENDED in _rest(process)
    assert process.returncode == 130


def test_nothing_stays_behind():
    threads = threading.active_count()
    before = signal.set_wakeup_fd(-1)
    with answered():
        assert threading.active_count() == threads + 1
    assert threading.active_count() == threads
    assert signal.set_wakeup_fd(before) == -1


def test_in_another_thread_there_is_nothing_to_answer():
    seen = []

    def job():
        with answered():
            seen.append(True)

    thread = threading.Thread(target=job)
    thread.start()
    thread.join()
    assert seen == [True]


def test_an_error_goes_through():
    with pytest.raises(ValueError, match="mine"), answered():
        raise ValueError("mine")
