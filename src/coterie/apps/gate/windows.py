"""Windows and parts: when people are counted together, and when what they share comes out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.params import Span
from coterie.errors import ParameterError

DAY = 86_400
_MICRO = 1_000_000
_SHORTEST = 60
_EPOCH = datetime(1970, 1, 1)  # without a zone, as times of logs are


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Windows and parts of so many seconds, which follow each other from the beginning of 1970 on."""

    window: int
    flush: int

    @classmethod
    def of(cls, window: str, flush: str) -> Schedule:
        """The schedule of two texts such as `30d` and `1h`."""
        for name, text in (("window", window), ("flush", flush)):
            if not Span().accepts(text, str):
                raise ParameterError(f"--{name} must be {Span().describe(str)}. Got {text!r} instead.")
        given = cls(window=Span.seconds(window), flush=Span.seconds(flush))
        if given.flush < _SHORTEST:
            raise ParameterError("--flush must be a minute or more: parts that close often tell when people asked.")
        if given.window % given.flush:
            raise ParameterError(
                "--window must be a whole number of parts: as long as --flush, or 2, 3 ... times that."
            )
        return given

    def parts(self, micros: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the parts that times, in microseconds, lie in."""
        return micros // (self.flush * _MICRO)

    def windows(self, micros: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the windows that times lie in."""
        return micros // (self.window * _MICRO)

    def window_of_parts(self, parts: Any) -> Any:
        """The numbers of the windows that parts lie in."""
        return parts * self.flush // self.window

    def part_at(self, time: datetime) -> int:
        """The number of the part that a time lies in."""
        return int((time - _EPOCH) // timedelta(seconds=self.flush))

    def first_part(self, window: int) -> int:
        """The number of the part with which a window begins."""
        return window * self.window // self.flush

    def days(self, micros: NDArray[np.int64], window: NDArray[np.int64]) -> NDArray[np.uint16]:
        """How many days after that on which its window begins a time lies."""
        return (micros // (DAY * _MICRO) - window * self.window // DAY).astype(np.uint16)

    def day(self, window: int, number: int) -> str:
        """That day, as it is written."""
        return (_EPOCH + timedelta(days=window * self.window // DAY + number)).strftime("%Y-%m-%d")

    def start(self, window: int) -> str:
        """When a window begins, as it is written."""
        spelled = "%Y-%m-%d" if self.window % DAY == 0 else "%Y-%m-%d %H:%M:%S"
        return (_EPOCH + timedelta(seconds=window * self.window)).strftime(spelled)

    def closes(self, part: int) -> datetime:
        """The fixed time at which a part closes."""
        return _EPOCH + timedelta(seconds=(part + 1) * self.flush)


def now() -> datetime:
    """The time of the clock, in UTC and without a zone, as logs have it."""
    return datetime.now(UTC).replace(tzinfo=None)
