"""Sequences of pages as issue and evidence describe them, slow and obvious: the oracle of `common_visits`.

Rows are (visitor, time, path), in the order of lines; visitor and time may be None.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby

from tests.helpers.visits_reference import shared_prefixes

Row = tuple[str | None, datetime | None, str]
Walk = tuple[str, list[tuple[datetime | None, str]]]
Kind = tuple[str, ...]


def walks(
    rows: Iterable[Row], into: Mapping[str, str | None], minutes: int = 30, *, in_lines: bool = True
) -> list[Walk]:
    """The visits of each visitor in order; a page that is asked for again at once counts once.

    Rows without a time are visits of their own, and so are different pages of one second, unless rows are `in_lines`.
    """
    found: list[Walk] = []
    by_visitor = defaultdict(list)
    for visitor, time, path in rows:
        if visitor is not None:
            by_visitor[visitor].append((time, path))
    for visitor, events in sorted(by_visitor.items()):
        found += [(visitor, [(None, into[path])]) for time, path in events if time is None]
        before: datetime | None = None
        timed = sorted(((time, path) for time, path in events if time is not None), key=lambda event: event[0])
        for time, second in groupby(timed, key=lambda event: event[0]):
            paths = [path for _, path in second]
            if len(set(paths)) > 1 and not in_lines:
                found += [(visitor, [(time, into[path])]) for path in sorted(set(paths))]
                before = None
                continue
            if before is None or time - before > timedelta(minutes=minutes):
                found.append((visitor, []))
            before, walk = time, found[-1][1]
            for path in paths:
                if not walk or walk[-1][1] != into[path]:
                    walk.append((time, into[path]))
    return found


def frequent(found: Sequence[Walk], k: int, most: int) -> set[Kind]:
    """Sequences of up to `most` pages that at least k visitors walked within one visit."""
    having = defaultdict(set)
    for visitor, steps in found:
        names = [page for _, page in steps]
        for begin in range(len(names)):
            for end in range(begin + 1, min(begin + most, len(names)) + 1):
                if None in names[begin:end]:
                    break
                having[tuple(names[begin:end])].add(visitor)
    return {kind for kind, visitors in having.items() if len(visitors) >= k}


def cut(
    steps: list[tuple[datetime | None, str]], allowed: Collection[Kind], most: int
) -> list[tuple[Kind, date | None]]:
    """The longest allowed sequence from the left, then from where it ends; with the day on which it began."""
    parts, begin = [], 0
    while begin < len(steps):
        for end in range(min(begin + most, len(steps)), begin, -1):
            kind = tuple(page for _, page in steps[begin:end])
            if kind in allowed:
                time = steps[begin][0]
                parts.append((kind, None if time is None else time.date()))
                begin = end
                break
        else:
            begin += 1
    return parts


def fragments(found: Sequence[Walk], k: int, most: int) -> list[tuple[str, Kind, date | None]]:
    """(visitor, kind, day) of everything that is released, before days are left out."""
    allowed = frequent(found, k, most)
    while True:
        parts = [(visitor, *part) for visitor, steps in found for part in cut(steps, allowed, most)]
        visitors = _visitors((kind, visitor) for visitor, kind, _ in parts)
        few = {kind for kind, count in visitors.items() if count < k}
        if not few:
            return parts
        allowed -= few


def with_shared_days(parts: Sequence[tuple[str, Kind, date | None]], k: int) -> list[tuple[str, Kind, date | None]]:
    """The same with days only where k visitors share them, and k or none are left without one."""
    visitors = _visitors(((kind, day), visitor) for visitor, kind, day in parts)
    shown = {pair for pair, count in visitors.items() if pair[1] is not None and count >= k}
    left = defaultdict(set)
    for visitor, kind, day in parts:
        if (kind, day) not in shown:
            left[kind].add(visitor)
    for kind, those in left.items():
        days = sorted(
            (count, day) for (other, day), count in visitors.items() if other == kind and (kind, day) in shown
        )
        if len(those) < k and days:
            shown.remove((kind, days[0][1]))
    return [(visitor, kind, day if (kind, day) in shown else None) for visitor, kind, day in parts]


def common_visits(
    rows: Sequence[Row],
    k: int,
    most: int = 30,
    *,
    days: bool = True,
    prefixes: bool = True,
    minutes: int = 30,
    in_lines: bool = True,
) -> Counter[tuple[str, Kind, date | None]]:
    """(visitor, kind, day) of each released sequence."""
    paths = {path for _, _, path in rows}
    named = [(visitor, path) for visitor, _, path in rows if visitor is not None]
    into = shared_prefixes(named, k) if prefixes else {path: path for path in paths}
    parts = fragments(walks(rows, {path: into.get(path) for path in paths}, minutes, in_lines=in_lines), k, most)
    return Counter(with_shared_days(parts, k) if days else [(visitor, kind, None) for visitor, kind, _ in parts])


def _visitors(pairs: Iterable[tuple[object, str]]) -> dict[object, int]:
    having = defaultdict(set)
    for key, visitor in pairs:
        having[key].add(visitor)
    return {key: len(visitors) for key, visitors in having.items()}
