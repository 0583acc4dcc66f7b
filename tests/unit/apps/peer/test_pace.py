"""Rates, credit and back-off, by a clock that the test sets."""

from coterie.apps.peer.circle import BackOff, Credit, Rate


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_a_rate_is_a_minutes_worth_and_comes_back():
    clock = Clock()
    rate = Rate(6, clock)
    assert [rate.allows() for _ in range(8)] == [True] * 6 + [False] * 2
    clock.now += 10
    assert [rate.allows() for _ in range(2)] == [True, False]
    clock.now += 10_000
    assert [rate.allows() for _ in range(8)] == [True] * 6 + [False] * 2


def test_a_rate_below_one():
    clock = Clock()
    rate = Rate(0.5, clock)
    assert [rate.allows(), rate.allows()] == [True, False]
    clock.now += 119
    assert not rate.allows()
    clock.now += 2
    assert rate.allows()


def test_no_rate_refuses_everything():
    assert not Rate(0, Clock()).allows()


def test_credit_is_a_difference():
    clock = Clock()
    credit = Credit(3, clock)
    for _ in range(3):
        assert credit.allows()
        credit.lend()
    assert not credit.allows()
    credit.repay()
    assert credit.allows()
    credit.lend()
    clock.now += 86_400 / 3  # a third of a day forgives a third
    assert credit.allows()
    credit.lend()
    assert not credit.allows()


def test_what_is_repaid_ahead_has_a_limit_and_is_not_forgiven():
    clock = Clock()
    credit = Credit(3, clock)
    for _ in range(100):
        credit.repay()
    clock.now += 86_400
    lent = 0
    while credit.allows():
        credit.lend()
        lent += 1
    assert lent == 6


def test_failures_at_the_same_time_count_once():
    clock = Clock()
    waiting = BackOff(5, 900, clock)
    for _ in range(16):
        waiting.failed()
    clock.now += 5
    assert waiting.over()
    waiting.failed()
    clock.now += 9
    assert not waiting.over()


def test_back_off_doubles_up_to_a_limit():
    clock = Clock()
    waiting = BackOff(5, 60, clock)
    waits = []
    for _ in range(6):
        assert waiting.over()
        waiting.failed()
        start = clock.now
        while not waiting.over():
            clock.now += 1
        waits.append(clock.now - start)
    assert waits == [5, 10, 20, 40, 60, 60]
    waiting.failed()
    waiting.worked()
    assert waiting.over()
    waiting.failed()
    clock.now += 5
    assert waiting.over()
