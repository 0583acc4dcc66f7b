"""count_visits in plain Python. A row is (visitor, time, path, host, browser); None where something is not known."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from itertools import pairwise


def visits(rows, minutes=30):
    """The visits of all visitors: lists of (visitor, path)."""
    of_visitor = defaultdict(list)
    for visitor, time, path, *_ in rows:
        if visitor is not None and time is not None:
            of_visitor[visitor].append((time, path))
    for visitor, requests in of_visitor.items():
        visit, before = [], None
        for time, path in sorted(requests, key=lambda request: request[0]):  # those of one second as in the log
            if visit and time - before > timedelta(minutes=minutes):
                yield visit
                visit = []
            visit.append((visitor, path))
            before = time
        yield visit


def counted(rows, minutes=30):
    """How often each visitor is counted in each cell: ((table, item, detail), visitor) to a number."""
    cells = Counter()
    for visitor, time, path, host, browser in rows:
        if visitor is None:
            continue
        cells[("pages", path, None), visitor] += 1
        cells[("referrers", host, None), visitor] += 1
        cells[("browsers", browser, None), visitor] += 1
        day, hour = (f"{time:%Y-%m-%d}", f"{time:%H}") if time is not None else (None, None)
        cells[("days", day, hour), visitor] += 1
        cells[("hours", hour, None), visitor] += 1
        if time is None:
            cells[("lengths", None, None), visitor] += 1
    for visit in visits(rows, minutes):
        (visitor, first), *_ = visit
        cells[("landing", first, None), visitor] += 1
        cells[("lengths", str(len(visit)), None), visitor] += 1
        for (_, page), (_, following) in pairwise(visit):
            if page != following:
                cells[("pairs", page, following), visitor] += 1
    return cells


def released(rows, k, tables, minutes=30):
    """The lines (table, item, detail, count) that are released, in order."""
    who, count = defaultdict(set), Counter()
    for (cell, visitor), number in counted(rows, minutes).items():
        if cell[0] in tables:
            who[cell].add(visitor)
            count[cell] += number
    stay = {cell for cell in who if cell[1] is not None and len(who[cell]) >= k}
    for table in tables:
        while any(cell[0] == table for cell in stay):
            left = set().union(*(who[cell] for cell in who if cell[0] == table and cell not in stay))
            if not left or len(left) >= k:
                break
            mine = [cell for cell in stay if cell[0] == table]
            stay.remove(min(mine, key=lambda cell: (len(who[cell]), cell[1], cell[2] or "")))
    return sorted(((*cell, count[cell]) for cell in stay), key=lambda line: (line[0], line[1], line[2] or ""))
