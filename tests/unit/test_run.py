"""What a method may ask for."""

import logging
import time

import pytest

from coterie import run


@pytest.mark.parametrize(("seconds", "said"), [(0.3, True), (0.0, False)])
def test_a_first_use_that_takes_long_says_so(monkeypatch, caplog, seconds, said):
    monkeypatch.setattr(run, "_NOTICED", 0.1)
    with caplog.at_level(logging.INFO, logger="coterie"), run.first_use():
        time.sleep(seconds)
    assert ("first use only" in caplog.text) is said
    time.sleep(0.2)
    assert ("first use only" in caplog.text) is said
