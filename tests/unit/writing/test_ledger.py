import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from coterie.errors import ParameterError
from coterie.writing.history import Allowance, History, Spent, spent_of, total


def entry(epsilon=1.0, delta=1e-6, log="log.tsv", digest="d"):
    return Spent(
        log=log,
        input_digest=digest,
        date="2026-01-01T00:00:00+00:00",
        method="private_counts",
        what="queries",
        epsilon=epsilon,
        delta=delta,
        orders=(),
    )


@pytest.fixture
def book(tmp_path):
    return History(path=tmp_path / "log.tsv.history.json", log_name="log.tsv")


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "0,1e-6", "-1,1e-6", "inf,1e-6", "nan,1e-6", "1,0", "1,1"])
def test_a_budget_is_two_numbers(text):
    with pytest.raises(ParameterError, match="A budget must be"):
        Allowance.read(text)


def test_what_is_spent_adds_up_and_is_refused_beyond_the_budget(book):
    allowance = Allowance.read("2,1e-5")
    book.spend([entry()], allowance)
    book.spend([entry()], allowance)
    with pytest.raises(ParameterError, match=r"epsilon of 2 in all, 2 spent in 2 runs, 0 left, 1 asked for"):
        book.spend([entry()], allowance)
    assert total(book.read().spent) == pytest.approx((2.0, 2e-6))
    with pytest.raises(ParameterError, match="delta of 1e-06"):
        book.spend([entry(epsilon=0.1)], Allowance(epsilon=100, delta=1e-6))


def test_another_log_in_the_same_file_has_a_budget_of_its_own(book):
    book.spend([entry(log="other.tsv", digest="e", epsilon=50.0)], None)
    book.spend([entry()], Allowance(epsilon=1, delta=1e-5))
    # The same bytes under another name are the same people.
    renamed = History(path=book.path, log_name="copy.tsv")
    with pytest.raises(ParameterError, match="budget"):
        renamed.spend([entry(log="copy.tsv")], Allowance(epsilon=1, delta=1e-5))


def test_the_file_is_private_and_says_what_was_spent(book, tmp_path):
    book.spend([entry()], None)
    assert book.path.stat().st_mode & 0o777 == 0o600
    assert json.loads(book.path.read_text())["spent"][0]["epsilon"] == 1.0
    (tmp_path / "log.tsv").write_text("x")
    assert spent_of([tmp_path / "log.tsv"]) == [entry()]


def _spend_all(path, allowed, done):
    book = History(path=path, log_name="log.tsv")
    spent = 0
    for _ in range(10):
        try:
            book.spend([entry(epsilon=0.5)], Allowance(epsilon=allowed, delta=1))
            spent += 1
        except ParameterError:
            pass
    done.put(spent)


def test_two_runs_cannot_both_spend_the_last_of_it(book):
    context = multiprocessing.get_context("spawn")
    done = context.Queue()
    runs = [context.Process(target=_spend_all, args=(book.path, 3.0, done)) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert sum(done.get() for _ in runs) == 6
    assert len(book.read().spent) == 6


_ENDLESS = """
import sys
from pathlib import Path
from tests.unit.writing.test_ledger import entry
from coterie.writing.history import History
book = History(path=Path(sys.argv[1]), log_name="log.tsv")
for number in range(10**6):
    book.spend([entry(epsilon=float(number))], None)
    print(number, flush=True)
"""


@pytest.mark.parametrize("wait", [0.0, 0.01, 0.037])
def test_an_entry_that_was_written_survives_a_kill(book, wait):
    """Whatever was told to be spent is in the file, and the file can be read."""
    with subprocess.Popen([sys.executable, "-c", _ENDLESS, str(book.path)], stdout=subprocess.PIPE, text=True) as run:
        told = [int(run.stdout.readline()) for _ in range(3)]
        time.sleep(wait)
        os.kill(run.pid, signal.SIGKILL)
        told += [int(line) for line in run.stdout.read().splitlines()]
    listed = [each.epsilon for each in book.read().spent]
    assert set(told) <= set(listed)
    book.spend([entry(epsilon=0.25)], None)
    assert book.read().spent[-1].epsilon == 0.25


def test_nothing_is_spent_where_the_file_cannot_be_written(tmp_path):
    folder = tmp_path / "gone"
    with pytest.raises(Exception, match=r"gone|No such file"):
        History(path=folder / "h.json", log_name="l").spend([entry()], None)
