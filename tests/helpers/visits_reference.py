"""generalize_visits in plain Python: slow and obvious, the oracle of the fast one.

A row is a tuple (visitor, path, *values), a value for each detail, the most important one first. Rows of nobody, whose
visitor is None, are not counted and go where the others of their kind go.
"""

from __future__ import annotations

from collections import Counter, defaultdict

_DEEPEST = 32  # segments of the longest prefix


def prefixes(path):
    """What a path can become, from the path itself to the shortest prefix, each with how fine it is."""
    page = path.partition("?")[0]
    if page != path:
        yield path, 1001
    yield page, 1000
    segments = page.split("/")
    for length in range(min(len(segments) - 1, _DEEPEST), 0, -1):
        yield "/".join([*segments[:length], "*"]), length


def visitors(rows):
    """How many different visitors rows have."""
    return len({row[0] for row in rows} - {None})


def shared_prefixes(rows, k):
    """What each path becomes: where visitors are too few, all go on together to the next shorter prefix."""
    rows_of = defaultdict(list)
    for row in rows:
        rows_of[row[1]].append(row)
    waiting = {path: list(prefixes(path)) for path in rows_of}
    into = {}
    for fineness in sorted({fine for ladder in waiting.values() for _, fine in ladder}, reverse=True):
        together = defaultdict(list)
        for path, ladder in waiting.items():
            if path not in into and ladder and ladder[0][1] == fineness:
                together[ladder[0][0]].append(path)
        for prefix, paths in together.items():
            if visitors([row for path in paths for row in rows_of[path]]) >= k:
                into |= dict.fromkeys(paths, prefix)
            for path in paths:
                waiting[path].pop(0)
    return into


def kept_value(rows, at, k):
    """Which values of one detail stay in rows that are alike so far."""
    of_value = defaultdict(list)
    for row in rows:
        of_value[row[at]].append(row)
    stay = {value for value, those in of_value.items() if value is not None and visitors(those) >= k}
    while stay:
        left = [row for value, those in of_value.items() if value not in stay for row in those]
        if not left or visitors(left) >= k:
            break
        stay.remove(min(stay, key=lambda value: (visitors(of_value[value]), value)))
    return stay


def generalize(rows, k, instead=None):
    """The released rows (path, *values), in the order of the given ones; None for one that is left out.

    `instead`: the place of a detail, and that of the one in whose place it stands, where that one did not stay.
    """
    into = shared_prefixes(rows, k)
    released = [None if row[1] not in into else [into[row[1]]] for row in rows]
    for at in range(2, max((len(row) for row in rows), default=2)):
        classes = defaultdict(list)
        for number, so_far in enumerate(released):
            if so_far is not None:
                classes[tuple(so_far)].append(number)
        for numbers in classes.values():
            finer = (instead or {}).get(at)
            filled = finer is not None and released[numbers[0]][finer - 1] is not None
            stay = set() if filled else kept_value([rows[number] for number in numbers], at, k)
            for number in numbers:
                value = rows[number][at]
                released[number].append(value if value in stay else None)
    return [None if row is None else tuple(row) for row in released]


def crowds(rows, released):
    """How many visitors stand behind each different released row."""
    behind = defaultdict(set)
    for row, what in zip(rows, released, strict=True):
        if what is not None:
            behind[what].add(row[0])
    return Counter({what: len(who - {None}) for what, who in behind.items()})
