"""The circle: friends while the peer runs. Who submits a query, who may ask, and who is left alone for a while.

Pace: how often a friend may ask, how much they may owe, and how long one waits after a refusal.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from coterie.algorithms.sticky import choose
from coterie.apps.peer.home import Friend, Home
from coterie.apps.peer.identity import client_side, fingerprint

AT_ONCE = 4
"""Queries of one friend that are submitted at the same time."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What friends may ask of each other."""

    rate: float = 60.0
    """Queries a minute that are submitted for one friend."""
    credit: float = 500.0
    """Queries that a friend may have had submitted beyond those that they submitted in return."""
    back_off: float = 5.0
    """Seconds for which a friend is left alone after a first failure; each further one doubles them."""
    longest: float = 900.0


class Tie:
    """What is known of one friend since the process began."""

    def __init__(self, friend: Friend, context: ssl.SSLContext, limits: Limits) -> None:
        self.friend, self.context = friend, context
        self.member = friend.fingerprint
        self.rate, self.credit = Rate(limits.rate), Credit(limits.credit)
        self.waiting = BackOff(limits.back_off, limits.longest)
        self.at_once = 0
        self.submitted = 0  # by the friend, for us
        self.lent = 0  # by us, for the friend
        self.failed = 0

    def numbers(self) -> dict[str, int | str | bool]:
        """What the owner may see."""
        return {
            "name": self.friend.name,
            "submitted_for_me": self.submitted,
            "submitted_for_them": self.lent,
            "failed": self.failed,
            "left_alone": not self.waiting.over(),
        }


class Circle:
    """All friends."""

    def __init__(self, home: Home, limits: Limits) -> None:
        self._home, self._limits = home, limits
        self._own = fingerprint(home.certificate_der).hex()
        self._key = bytes.fromhex(home.settings().choice_key)
        self._ties: dict[str, Tie] = {}

    def __len__(self) -> int:
        return len(self._ties)

    @property
    def ties(self) -> tuple[Tie, ...]:
        """All of them, by name."""
        return tuple(sorted(self._ties.values(), key=lambda tie: tie.friend.name))

    def update(self, friends: Iterable[Friend]) -> list[Friend]:
        """Take over who is a friend now; those that are new."""
        now = {friend.fingerprint: friend for friend in friends}
        new = [friend for member, friend in now.items() if member not in self._ties]
        self._ties = {member: tie for member, tie in self._ties.items() if member in now}
        for friend in new:
            context = client_side(self._home.certificate, self._home.key, friend.der)
            self._ties[friend.fingerprint] = Tie(friend, context, self._limits)
        return new

    def of(self, certificate: bytes | None) -> Tie | None:
        """The friend with exactly that certificate."""
        return None if certificate is None else self._ties.get(fingerprint(certificate).hex())

    def submitter(self, query: str, without: Collection[str] = ()) -> Tie | None:
        """Who submits a spelled query: a friend, or None for oneself.

        Friends who failed are left out for a while, which changes the way of their queries only.
        """
        asked = [m for m, tie in self._ties.items() if m not in without and tie.waiting.over()]
        members = [self._own, *asked]
        chosen = members[choose(self._key, query, members)]
        return None if chosen == self._own else self._ties[chosen]


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
