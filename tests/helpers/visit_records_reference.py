"""MDAV of visits as paper 004 has it, slow and obvious: the oracle of the kernel.

A record is a dict: path and referrer (without query strings), agent (browser, version, system, version), address,
method, status, time and size (scaled to whole parts of UNIT), session, visitor. None is what is missing. The average
record has the same keys; where it has nothing in common with all records, NO_COMMON, and where it has the beginning of
something, a Prefix.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from dataclasses import dataclass
from typing import Any

UNIT = 2**20
FIELDS = ("request", "referrer", "agent", "address", "time", "rest", "session")
WEIGHTS = {"request": 3, "referrer": 2, "agent": 2, "address": 2, "time": 1, "rest": 0.5, "session": 0}
NO_COMMON = object()
Record = dict[str, Any]


@dataclass(frozen=True)
class Prefix:
    """The first parts of a path, the last labels of a host (from the right), or the first bits of an address."""

    parts: tuple


# --- distances ------------------------------------------------------------------------------------


def path_parts(path):
    if isinstance(path, Prefix):
        return path.parts
    if path in ("", "/"):
        return ()
    parts = path.split("/")
    parts = parts[1:] if path.startswith("/") else [("no slash", parts[0]), *parts[1:]]
    return tuple(parts[:31] + (["/".join(parts[31:])] if len(parts) > 31 else []))


def common(a, b):
    """How many first parts are equal."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def path_distance(a, b):
    """Cumulative mismatch, segment by segment from the left: after the first difference all differ."""
    a, b = path_parts(a), path_parts(b)
    longer, same = max(len(a), len(b)), common(a, b)
    if not longer:
        return 0
    weights = [2 ** (longer - 1 - i) for i in range(longer)]
    return UNIT * sum(weights[same:]) // sum(weights)


def host_parts(host):
    if isinstance(host, Prefix):
        return host.parts
    if not host:
        return ()
    if set(host) <= set("0123456789."):
        return (host,)
    return tuple(reversed(host.rsplit(".", 31)))


def host_distance(a, b):
    """Mismatch of labels from the right, not cumulative."""
    a, b = host_parts(a), host_parts(b)
    longer = max(len(a), len(b))
    if not longer:
        return 0
    differ = [i for i in range(longer) if i >= len(a) or i >= len(b) or a[i] != b[i]]
    return UNIT * sum(2 ** (longer - 1 - i) for i in differ) // sum(2**i for i in range(longer))


def referrer_parts(referrer):
    """Host and path."""
    text = referrer.partition("//")[2] if "//" in referrer else referrer
    host, slash, path = text.partition("/")
    host = host.rpartition("@")[2].rpartition(":")[0] or host.rpartition("@")[2]
    return host.lower(), slash + path


def address_parts(address):
    """Kind, and bits or labels."""
    if isinstance(address, tuple):
        return address
    first = address.split(",")[0].strip().lower()
    try:
        found = ipaddress.ip_address(first)
    except ValueError:
        return "name", host_parts(first)
    bits = 32 if found.version == 4 else 128
    return bits, tuple(f"{int(found):0{bits}b}")


def address_distance(a, b):
    (kind, a), (other, b) = address_parts(a), address_parts(b)
    if kind != other:
        return UNIT
    if kind == "name":
        return host_distance(Prefix(a), Prefix(b))
    return UNIT * (kind - common(a, b)) // kind


def or_missing(distance, a, b):
    """What is missing is a value of its own."""
    if a is NO_COMMON or b is NO_COMMON:
        return UNIT
    if a is None or b is None:
        return 0 if a is b else UNIT
    return distance(a, b)


def equal(a, b):
    return 0 if a == b else UNIT


def number_distance(a, b):
    return abs(a - b)


def referrer_distances(a, b):
    """Host and path, each a half."""
    a, b = (each if isinstance(each, tuple) else referrer_parts(each) for each in (a, b))
    return host_distance(a[0], b[0]) + path_distance(a[1], b[1])


def distance(a: Record, b: Record, weights=WEIGHTS) -> int:
    """Four times the weighted sum of distances, so that halves and quarters are whole."""
    referrer = or_missing(lambda x, y: -referrer_distances(x, y), a["referrer"], b["referrer"])
    referrer = -referrer if referrer < 0 else 2 * referrer
    total = 4 * weights["request"] * path_distance(a["path"], b["path"])
    total += 2 * weights["referrer"] * referrer
    total += weights["agent"] * sum(equal(x, y) for x, y in zip(a["agent"], b["agent"], strict=True))
    total += 4 * weights["address"] * or_missing(address_distance, a["address"], b["address"])
    total += 4 * weights["time"] * or_missing(number_distance, a["time"], b["time"])
    rest = equal(a["method"], b["method"]) + equal(a["status"], b["status"])
    total += 4 * weights["rest"] * (rest + or_missing(number_distance, a["size"], b["size"]))
    total += 4 * weights["session"] * equal(a["session"], b["session"])
    assert total == int(total)
    return int(total)


# --- the average record ---------------------------------------------------------------------------


def common_parts(lists):
    first, *others = lists
    return first[: min([len(first), *(common(first, other) for other in others)])]


def mode(values):
    """The commonest value, the smallest of several; what is missing is smaller than anything."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value is not None, value))


def mean(numbers):
    numbers = [number for number in numbers if number is not None]
    return sum(numbers) // len(numbers) if numbers else None


def average(records: list[Record]) -> Record:
    referrers = [record["referrer"] for record in records]
    addresses = [record["address"] for record in records]
    return {
        "path": Prefix(common_parts([path_parts(record["path"]) for record in records])),
        "referrer": _average_referrer(referrers),
        "agent": tuple(mode([record["agent"][i] for record in records]) for i in range(4)),
        "address": _average_address(addresses),
        **{name: mode([record[name] for record in records]) for name in ("method", "status", "session")},
        **{name: mean([record[name] for record in records]) for name in ("time", "size")},
    }


def _average_referrer(referrers):
    if None in referrers:
        return None if set(referrers) == {None} else NO_COMMON
    parts = [referrer_parts(referrer) for referrer in referrers]
    hosts, paths = [host_parts(host) for host, _ in parts], [path_parts(path) for _, path in parts]
    return Prefix(common_parts(hosts)), Prefix(common_parts(paths))


def _average_address(addresses):
    if None in addresses:
        return None if set(addresses) == {None} else NO_COMMON
    parts = [address_parts(address) for address in addresses]
    if len({kind for kind, _ in parts}) > 1:
        return NO_COMMON
    return parts[0][0], common_parts([bits for _, bits in parts])


# --- MDAV -----------------------------------------------------------------------------------------


def mdav(records: list[Record], k: int, weights=WEIGHTS, visitors: bool = False, join: bool = True) -> list[int | None]:
    """The group of each record. With `visitors` groups are k records of k different visitors."""
    left, groups = list(range(len(records))), []

    def farthest(source):
        return max(left, key=lambda i: (distance(records[i], source, weights), -i))

    def take(leader):
        near = sorted(
            (i for i in left if i != leader), key=lambda i: (distance(records[i], records[leader], weights), i)
        )
        group, seen = [leader], {records[leader]["visitor"]}
        for i in near:
            if len(group) < k and not (visitors and records[i]["visitor"] in seen):
                group.append(i)
                seen.add(records[i]["visitor"])
        groups.append(group)
        left[:] = [i for i in left if i not in group]

    def enough():
        return len({records[i]["visitor"] for i in left}) >= k if visitors else len(left) >= 2 * k

    while enough():
        two = visitors or len(left) >= 3 * k
        first = farthest(average([records[i] for i in left]))
        take(first)
        if two and (not visitors or enough()):
            take(farthest(records[first]))
    result: list[int | None] = [None] * len(records)
    if not visitors:
        groups.append(list(left))
    for number, group in enumerate(groups):
        for i in group:
            result[i] = number
    if visitors and join and groups:
        for i in left:
            result[i] = min(range(len(groups)), key=lambda g: (distance(records[groups[g][0]], records[i], weights), g))
    return result
