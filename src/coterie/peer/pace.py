"""Pace: how often a friend may ask, how much they may owe, and how long one waits after a refusal."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
_DAY = 86_400.0


class Rate:
    """So many requests a minute, and no more than a minute's worth at once."""

    def __init__(self, a_minute: float, clock: Clock = time.monotonic) -> None:
        self._a_minute, self._clock = a_minute, clock
        self._most = max(1.0, a_minute) if a_minute else 0.0
        self._left, self._then = self._most, clock()

    def allows(self) -> bool:
        """Whether one more is allowed, which it counts if so."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._then) * self._a_minute / 60)
        self._then = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Credit:
    """How many more queries a friend may have had submitted than they submitted in return.

    A limit for the difference, and no ratio: somebody who searches much among friends who search little is no free
    rider. What is owed is forgiven over a day.
    """

    def __init__(self, most: float, clock: Clock = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._owed, self._then = 0.0, clock()

    def allows(self) -> bool:
        """Whether the friend may ask once more."""
        return self._now() + 1 <= self._most

    def lend(self) -> None:
        """Something was submitted for the friend."""
        self._owed = self._now() + 1

    def repay(self) -> None:
        """The friend submitted something."""
        self._owed = max(-self._most, self._now() - 1)

    def _now(self) -> float:
        now = self._clock()
        forgiven = (now - self._then) * self._most / _DAY
        self._then = now
        if self._owed > 0:
            self._owed = max(0.0, self._owed - forgiven)
        return self._owed


class BackOff:
    """Ask again only after a while, which doubles with each failure in a row."""

    def __init__(self, seconds: float, longest: float, clock: Clock = time.monotonic) -> None:
        self._seconds, self._longest, self._clock = seconds, longest, clock
        self._failures, self._until = 0, 0.0

    def over(self) -> bool:
        """Whether one may ask."""
        return self._clock() >= self._until

    def failed(self) -> None:
        """It did not work. What was asked at the same time fails for the same reason, and counts once."""
        if not self.over():
            return
        self._until = self._clock() + min(self._longest, self._seconds * 2.0 ** min(self._failures, 30))
        self._failures += 1

    def worked(self) -> None:
        """It worked."""
        self._failures, self._until = 0, 0.0
