"""The gate in plain Python: SipHash as its authors wrote it down, and a dictionary of sets in place of the table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

_MASK = (1 << 64) - 1


def _turned(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _rounds(v: list[int], number: int) -> None:
    for _ in range(number):
        v[0] = (v[0] + v[1]) & _MASK
        v[1] = _turned(v[1], 13) ^ v[0]
        v[0] = _turned(v[0], 32)
        v[2] = (v[2] + v[3]) & _MASK
        v[3] = _turned(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & _MASK
        v[3] = _turned(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & _MASK
        v[1] = _turned(v[1], 17) ^ v[2]
        v[2] = _turned(v[2], 32)


def siphash(key: bytes, text: bytes, *, wide: bool) -> bytes:
    """SipHash-2-4 of 64 or, `wide`, of 128 bits."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE if wide else 0
    padded = text + b"\0" * (7 - len(text) % 8) + bytes([len(text) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xEE if wide else 0xFF
    _rounds(v, 4)
    result = (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    if not wide:
        return result
    v[1] ^= 0xDD
    _rounds(v, 4)
    return result + (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")


@dataclass
class PlainTable:
    """Events of each text by (person, day); nobody is None."""

    k: int
    held: dict[str, Counter[tuple[str | None, int]]] = field(default_factory=lambda: defaultdict(Counter))
    open: set[str] = field(default_factory=set)

    def offer(self, rows: Iterable[tuple[str | None, str, int]]) -> None:
        for user, text, day in rows:
            self.held[text][user, day] += 1
            if self._people(self.held[text]) >= self.k:
                self.open.add(text)

    def take(self, rest: bool) -> list[tuple[str, int, int, bool]]:
        """(text, day or -1, events, whether k people are behind the text's events), sorted."""
        lines = []
        for text in sorted(self.open):
            events = self.held[text]
            crowd = self._people(events) >= self.k
            if not events or not (crowd or rest):
                continue
            days = {day for _, day in events}
            common = {
                d for d in days if self._people(Counter({e: n for e, n in events.items() if e[1] == d})) >= self.k
            }
            told = Counter({d: sum(n for (_, day), n in events.items() if day == d) for d in common})
            told[-1] = sum(n for (_, day), n in events.items() if day not in common)
            lines += [(text, day, count, crowd) for day, count in told.items() if count]
            events.clear()
        return sorted(lines)

    @staticmethod
    def _people(events: Counter[tuple[str | None, int]]) -> int:
        return len({user for user, _ in events if user is not None})
