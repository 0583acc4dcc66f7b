import threading
import time

import pytest

from coterie.core.threads import DoneSoFar, in_threads


def test_results_come_in_the_order_of_the_parts():
    def slow_first(part):
        time.sleep(0.02 if part == 0 else 0)
        return part * 10

    assert in_threads(slow_first, range(6)) == [0, 10, 20, 30, 40, 50]
    assert in_threads(slow_first, []) == []


def test_work_runs_in_other_threads():
    names = in_threads(lambda _: threading.current_thread().name, [1, 2])
    assert threading.current_thread().name not in names


def test_an_error_reaches_the_caller():
    def fails(part):
        if part == 2:
            raise LookupError("part 2")
        return part

    with pytest.raises(LookupError, match="part 2"):
        in_threads(fails, [1, 2, 3])


def test_what_is_done_adds_up_to_all_of_it():
    shares = []
    done = DoneSoFar(100, shares.append)
    in_threads(done.add, [10, 25, 5, 60])
    assert shares == sorted(shares), "it never goes back"
    assert len(shares) == 4
    assert shares[-1] == 1.0
