"""Windows and parts begin at fixed times."""

from datetime import datetime

import numpy as np

from coterie.apps.gate.windows import Schedule, now


def _micros(*times):
    return np.array([time.timestamp() * 1e6 for time in times], np.int64)


def test_fixed_times(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    schedule = Schedule.of("30d", "1h")
    assert schedule.start(0) == "1970-01-01"
    assert schedule.start(1) == "1970-01-31"
    assert schedule.first_part(1) == 720
    assert schedule.closes(719) == datetime(1970, 1, 31)
    assert schedule.part_at(datetime(1970, 1, 31)) == 720
    assert schedule.window_of_parts(np.array([719, 720])).tolist() == [0, 1]
    micros = np.array([0, 86_400_000_000 * 31 + 1])
    assert schedule.windows(micros).tolist() == [0, 1]
    assert schedule.parts(micros).tolist() == [0, 744]
    assert schedule.days(micros, np.array([0, 1])).tolist() == [0, 1]
    assert schedule.day(1, 1) == "1970-02-01"


def test_windows_that_do_not_begin_at_midnight():
    schedule = Schedule.of("90m", "30m")
    assert schedule.start(1) == "1970-01-01 01:30:00"
    assert schedule.day(17, 1) == "1970-01-03"


def test_the_clock_has_no_zone():
    assert now().tzinfo is None
