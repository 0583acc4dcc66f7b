"""MDAV of visits (paper 004): distances of records of an access log in whole numbers, and groups of similar records.

    path      (2^(m-c) - 1) / (2^m - 1), m = segments of the longer path, c = first segments that both have
    host      Σ 2^(m-i) / (2^(m+1) - 1) over the labels i, from the right, that differ; m + 1 = labels of the longer one
    referrer  half the distance of hosts, half that of paths
    agent     a quarter for each of browser, version, system, version that differs
    address   1 - common first bits / bits; that of hosts for names; 1 between different kinds
    others    0 or 1 (method, status, session); the difference of numbers that are scaled already (time, size)

One is UNIT, quotients are cut to whole numbers, and weights are whole numbers, so that sums depend on no order. What is
missing has the distance 0 to what is missing, too, and 1 to anything else. Ties go to the smallest index.

Paths, hosts and addresses are numbered in an order in which those with a common beginning stand together. So what a
set has in common is what its first and its last have in common, and one sweep from a source gives the distances to all.
The average record has what all records that are left have in common, the commonest values, and means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Ints, Lists, Masks, Short
from coterie.algorithms.kernels._jit import inlined, jit

UNIT = 1 << 20
LONGEST = 32
"""Segments of a path, and labels of a host, that are told apart."""
MISSING = 1 << 21
"""A scaled number that is not there: at least UNIT away from all that are."""
NOTHING, IPV4, IPV6, NAME = 0, 1, 2, 3
"""Kinds of addresses."""

(PATH, REFERRER, AGENT, ADDRESS, ANSWER, TIME, SIZE, SESSION, VISITOR) = range(9)
"""Columns of records: numbers of distinct values, but for the scaled numbers TIME and SIZE."""
_INDEX = 9
(W_REQUEST, W_REFERRER, W_AGENT, W_ADDRESS, W_TIME, W_REST, W_SESSION) = range(7)
"""Places of weights."""
_BROWSER_PARTS = 4


class Addresses(NamedTuple):
    """Addresses, sorted by kind and then by bits or labels."""

    kind: Ints
    high: Masks
    """The first 64 bits; those of an IPv4 address are the first 32 of them."""
    low: Masks
    host: Ints
    """The place of a name in the table of hosts."""


class RecordTables(NamedTuple):
    """What the numbers in records stand for; `paths` are those of requests."""

    paths: Lists
    """Segments; those of hosts are labels from the right. Lists are sorted."""
    hosts: Lists
    referrer_paths: Lists
    referrer: Ints
    """(host, path) of each referrer; -1 where it is missing."""
    agent: Ints
    """Numbers of browser, version, system, version of each agent."""
    answer: Ints
    """Numbers of (method, status)."""
    addresses: Addresses


class Rows(NamedTuple):
    """Weighted distances from one source to all distinct values."""

    path: Ints
    host: Ints
    referrer_path: Ints
    referrer: Ints
    agent: Ints
    address: Ints
    answer: Ints


class _Left(NamedTuple):
    """How often the records that are left have each value."""

    path: Ints
    host: Ints
    referrer_path: Ints
    address: Ints
    agent: Ints
    answer: Ints
    session: Ints
    visitor: Ints
    numbers: Ints
    """Sum and count of times, sum and count of sizes, records without a referrer, visitors."""


_NO_REFERRER, _VISITORS = 4, 5


@jit
def new_rows(tables: RecordTables) -> Rows:
    """Room for the distances from one source."""
    return Rows(
        np.zeros(tables.paths.start.size - 1, dtype=np.int64),
        np.zeros(tables.hosts.start.size - 1, dtype=np.int64),
        np.zeros(tables.referrer_paths.start.size - 1, dtype=np.int64),
        np.zeros(tables.referrer.shape[0], dtype=np.int64),
        np.zeros(tables.agent.shape[0], dtype=np.int64),
        np.zeros(tables.addresses.kind.size, dtype=np.int64),
        np.zeros(tables.answer.shape[0], dtype=np.int64),
    )


@jit
def path_distances() -> Ints:
    """The distance of two paths by the segments of the longer one and the common ones."""
    table = np.zeros((LONGEST + 1, LONGEST + 1), dtype=np.int64)
    for m in range(1, LONGEST + 1):
        for c in range(m):
            table[m, c] = UNIT * ((1 << (m - c)) - 1) // ((1 << m) - 1)
    return table


@inlined
def _length(a: int, sequences: Lists) -> int:
    return int(sequences.start[a + 1] - sequences.start[a])


@inlined
def _common(a: int, b: int, sequences: Lists) -> int:
    """How many first parts two lists have in common."""
    most = min(_length(a, sequences), _length(b, sequences))
    at_a, at_b = sequences.start[a], sequences.start[b]
    n = 0
    while n < most and sequences.items[at_a + n] == sequences.items[at_b + n]:
        n += 1
    return n


@jit
def commons(sequences: Lists) -> Ints:
    """How many first parts each list has in common with the one before it."""
    n = sequences.start.size - 1
    result = np.zeros(n, dtype=np.int64)
    for i in range(1, n):
        result[i] = _common(i - 1, i, sequences)
    return result


@jit
def _paths_from(source: int, weight: int, sequences: Lists, common: Ints, distances: Ints, row: Ints) -> None:
    """From a path to all paths: a sweep in both directions, as those that have more in common are nearer in order."""
    length = _length(source, sequences)
    row[source] = 0
    c = length
    for i in range(source + 1, row.size):
        c = min(c, common[i])
        row[i] = weight * distances[max(length, _length(i, sequences)), c]
    c = length
    for i in range(source - 1, -1, -1):
        c = min(c, common[i + 1])
        row[i] = weight * distances[max(length, _length(i, sequences)), c]


@jit
def _paths_from_common(depth: int, weight: int, sequences: Lists, distances: Ints, row: Ints) -> None:
    """From what all paths have in common to all paths; those that are gone get any distance."""
    for i in range(row.size):
        length = _length(i, sequences)
        row[i] = weight * distances[length, min(depth, length)]


@jit
def host_distance(a: int, depth: int, b: int, hosts: Lists) -> int:
    """The distance of the last `depth` labels of a host and a host."""
    n_b = _length(b, hosts)
    longer = max(depth, n_b)
    if longer == 0:
        return 0
    at_a, at_b = hosts.start[a], hosts.start[b]
    total = 0
    for i in range(longer):
        if i >= depth or i >= n_b or hosts.items[at_a + i] != hosts.items[at_b + i]:
            total += 1 << (longer - 1 - i)
    return int(UNIT * total // ((1 << longer) - 1))


@inlined
def _first_bits(a: int, b: int, addresses: Addresses) -> int:
    """How many first bits two addresses have in common, up to 128."""
    differ = addresses.high[a] ^ addresses.high[b]
    bits = 0
    if differ == np.uint64(0):
        differ = addresses.low[a] ^ addresses.low[b]
        bits = 64
        if differ == np.uint64(0):
            return 128
    step = 32
    while step > 0:
        if differ >> np.uint64(64 - step) == np.uint64(0):
            bits += step
            differ = differ << np.uint64(step)
        step //= 2
    return bits


@jit
def _addresses_from(source: int, depth: int, weight: int, tables: RecordTables, row: Ints) -> None:
    """From the first `depth` bits, or last labels, of an address to all addresses."""
    addresses = tables.addresses
    kind = addresses.kind[source]
    bits = 32 if kind == IPV4 else 128
    for i in range(row.size):
        if addresses.kind[i] != kind:
            row[i] = weight * UNIT
        elif kind == NOTHING:
            row[i] = 0
        elif kind == NAME:
            row[i] = weight * host_distance(addresses.host[source], depth, addresses.host[i], tables.hosts)
        else:
            common = min(_first_bits(source, i, addresses), depth)
            row[i] = weight * (UNIT * (bits - common) // bits)


@inlined
def _depth_of_address(a: int, tables: RecordTables) -> int:
    kind = tables.addresses.kind[a]
    if kind == NAME:
        return _length(tables.addresses.host[a], tables.hosts)
    return 32 if kind == IPV4 else 128


@inlined
def _referrers(missing: bool, weight: int, tables: RecordTables, rows: Rows) -> None:
    """Put hosts and paths of referrers together; `missing`: the source has none."""
    for i in range(rows.referrer.size):
        host = tables.referrer[i, 0]
        if (host < 0) == missing:
            rows.referrer[i] = 0 if missing else rows.host[host] + rows.referrer_path[tables.referrer[i, 1]]
        else:
            rows.referrer[i] = weight * UNIT


@jit
def _parts_differ(parts: Ints, values: Ints, weight: int, row: Ints) -> None:
    """From some values to all tuples of values: the weight for each part that differs."""
    for i in range(row.size):
        differ = 0
        for j in range(parts.size):
            if values[i, j] != parts[j]:
                differ += 1
        row[i] = weight * differ


@jit
def from_record(
    record: Short, weights: Ints, tables: RecordTables, common: tuple[Ints, Ints], distances: Ints, rows: Rows
) -> None:
    """From a record to all distinct values. Weights are even, as a referrer has two halves."""
    _paths_from(record[PATH], weights[W_REQUEST], tables.paths, common[0], distances, rows.path)
    host, path = tables.referrer[record[REFERRER]]
    if host >= 0:
        half = weights[W_REFERRER] // 2
        for i in range(rows.host.size):
            rows.host[i] = half * host_distance(host, _length(host, tables.hosts), i, tables.hosts)
        _paths_from(path, half, tables.referrer_paths, common[1], distances, rows.referrer_path)
    _referrers(host < 0, weights[W_REFERRER], tables, rows)
    _parts_differ(tables.agent[record[AGENT]], tables.agent, weights[W_AGENT] * UNIT // _BROWSER_PARTS, rows.agent)
    a = record[ADDRESS]
    _addresses_from(a, _depth_of_address(a, tables), weights[W_ADDRESS], tables, rows.address)
    _parts_differ(tables.answer[record[ANSWER]], tables.answer, weights[W_REST] * UNIT, rows.answer)


@inlined
def _ends(counts: Ints) -> tuple[int, int]:
    """The first and the last value that is left; (0, -1) where none is."""
    first, last = 0, counts.size - 1
    while first < counts.size and counts[first] == 0:
        first += 1
    if first == counts.size:
        return 0, -1
    while counts[last] == 0:
        last -= 1
    return first, last


@inlined
def _mean(total: int, count: int) -> int:
    return total // count if count > 0 else MISSING


@jit
def _from_average(
    left: _Left, n: int, weights: Ints, tables: RecordTables, distances: Ints, rows: Rows, average: Short
) -> None:
    """From the average record to all distinct values; its time, size and session are written to `average`."""
    first, last = _ends(left.path)
    _paths_from_common(_common(first, last, tables.paths), weights[W_REQUEST], tables.paths, distances, rows.path)
    without = left.numbers[_NO_REFERRER]
    half = weights[W_REFERRER] // 2
    if without == 0:
        first, last = _ends(left.host)
        depth = _common(first, last, tables.hosts)
        for i in range(rows.host.size):
            rows.host[i] = half * host_distance(first, depth, i, tables.hosts)
        first, last = _ends(left.referrer_path)
        depth = _common(first, last, tables.referrer_paths)
        _paths_from_common(depth, half, tables.referrer_paths, distances, rows.referrer_path)
    _referrers(without > 0, weights[W_REFERRER], tables, rows)
    if 0 < without < n:  # some have one, some have none: the average is unlike both
        rows.referrer[:] = weights[W_REFERRER] * UNIT
    parts = np.empty(_BROWSER_PARTS, dtype=np.int64)
    for j in range(_BROWSER_PARTS):
        parts[j] = np.argmax(left.agent[j])
    _parts_differ(parts, tables.agent, weights[W_AGENT] * UNIT // _BROWSER_PARTS, rows.agent)
    first, last = _ends(left.address)
    if tables.addresses.kind[first] != tables.addresses.kind[last]:
        rows.address[:] = weights[W_ADDRESS] * UNIT
    else:
        if tables.addresses.kind[first] == NAME:
            depth = _common(tables.addresses.host[first], tables.addresses.host[last], tables.hosts)
        else:
            depth = min(_first_bits(first, last, tables.addresses), _depth_of_address(first, tables))
        _addresses_from(first, depth, weights[W_ADDRESS], tables, rows.address)
    answer = np.empty(2, dtype=np.int64)
    for j in range(2):
        answer[j] = np.argmax(left.answer[j])
    _parts_differ(answer, tables.answer, weights[W_REST] * UNIT, rows.answer)
    average[TIME] = _mean(left.numbers[0], left.numbers[1])
    average[SIZE] = _mean(left.numbers[2], left.numbers[3])
    average[SESSION] = np.argmax(left.session)


@inlined
def record_distance(record: Short, source: Short, weights: Ints, rows: Rows) -> int:
    """The weighted sum, with what was looked up for the source in `rows`."""
    total = rows.path[record[PATH]] + rows.referrer[record[REFERRER]] + rows.agent[record[AGENT]]
    total += rows.address[record[ADDRESS]] + rows.answer[record[ANSWER]]
    total += weights[W_TIME] * min(abs(np.int64(record[TIME]) - source[TIME]), UNIT)
    total += weights[W_REST] * min(abs(np.int64(record[SIZE]) - source[SIZE]), UNIT)
    if record[SESSION] != source[SESSION]:
        total += weights[W_SESSION] * UNIT
    return int(total)


@jit
def _count(record: Short, tables: RecordTables, left: _Left, one: int) -> None:
    """One record more, or one less, is left."""
    left.path[record[PATH]] += one
    host, path = tables.referrer[record[REFERRER]]
    if host >= 0:
        left.host[host] += one
        left.referrer_path[path] += one
    else:
        left.numbers[_NO_REFERRER] += one
    left.address[record[ADDRESS]] += one
    for j in range(_BROWSER_PARTS):
        left.agent[j, tables.agent[record[AGENT], j]] += one
    for j in range(2):
        left.answer[j, tables.answer[record[ANSWER], j]] += one
    left.session[record[SESSION]] += one
    for j, column in ((0, TIME), (2, SIZE)):
        if record[column] != MISSING:
            left.numbers[j] += one * record[column]
            left.numbers[j + 1] += one
    before = left.visitor[record[VISITOR]]
    left.visitor[record[VISITOR]] = before + one
    if before == 0:
        left.numbers[_VISITORS] += 1
    elif before + one == 0:
        left.numbers[_VISITORS] -= 1


@jit
def _nearest(records: Short, n: int, source: int, wanted: int, distinct: bool, distance: Ints) -> Ints:
    """Places of the records nearest to one, without it; with `distinct` of that many visitors, none of them its own."""
    places = np.full(wanted, -1, dtype=np.int64)
    size = 0
    for i in range(n):
        if i == source or (size == wanted and distance[i] > distance[places[size - 1]]):
            continue
        if distinct:
            visitor = records[i, VISITOR]
            if visitor == records[source, VISITOR]:
                continue
            at = 0
            while at < size and records[places[at], VISITOR] != visitor:
                at += 1
            if at < size:  # a record of the same visitor: the nearer one stays
                if not _before(i, places[at], records, distance):
                    continue
                for j in range(at, size - 1):
                    places[j] = places[j + 1]
                size -= 1
        if size == wanted:
            if not _before(i, places[size - 1], records, distance):
                continue
            size -= 1
        at = size
        while at > 0 and _before(i, places[at - 1], records, distance):
            places[at] = places[at - 1]
            at -= 1
        places[at] = i
        size += 1
    return places[:size]


@inlined
def _before(i: int, j: int, records: Short, distance: Ints) -> bool:
    """Whether one record is nearer than another, or as near and has the smaller index."""
    return bool(distance[i] < distance[j] or (distance[i] == distance[j] and records[i, _INDEX] < records[j, _INDEX]))


@inlined
def _farthest(records: Short, n: int, distance: Ints) -> int:
    best = 0
    for i in range(1, n):
        if distance[i] > distance[best] or (
            distance[i] == distance[best] and records[i, _INDEX] < records[best, _INDEX]
        ):
            best = i
    return best


@jit
def partition(
    k: int, distinct: bool, join: bool, columns: Short, sizes: Ints, weights: Ints, tables: RecordTables
) -> Ints:  # fmt: skip
    """The group of each record: MDAV, groups numbered as they are made.

    With `distinct` a group is k records of k different visitors, as long as records of k visitors are left; the others
    belong to the group whose first record is nearest (`join`), or to none: -1.

    `columns` are records; `sizes` the numbers of parts of agents and answers, of sessions and visitors.
    """
    n_all = columns.shape[0]
    records = np.empty((n_all, _INDEX + 1), dtype=np.int32)
    for i in range(n_all):
        records[i, :_INDEX] = columns[i]
        records[i, _INDEX] = i
    distances = path_distances()
    common = (commons(tables.paths), commons(tables.referrer_paths))
    rows = new_rows(tables)
    left = _Left(
        np.zeros(rows.path.size, dtype=np.int64),
        np.zeros(rows.host.size, dtype=np.int64),
        np.zeros(rows.referrer_path.size, dtype=np.int64),
        np.zeros(rows.address.size, dtype=np.int64),
        np.zeros((_BROWSER_PARTS, sizes[0]), dtype=np.int64),
        np.zeros((2, sizes[1]), dtype=np.int64),
        np.zeros(sizes[2], dtype=np.int64),
        np.zeros(sizes[3], dtype=np.int64),
        np.zeros(_VISITORS + 1, dtype=np.int64),
    )
    for i in range(n_all):
        _count(records[i], tables, left, 1)
    group = np.full(n_all, -1, dtype=np.int64)
    leaders = np.empty((n_all // k + 1, _INDEX + 1), dtype=np.int32)
    distance = np.empty(n_all, dtype=np.int64)
    average = np.zeros(_INDEX + 1, dtype=np.int32)
    n, n_groups = n_all, 0
    while (left.numbers[_VISITORS] >= k) if distinct else (n >= 2 * k):
        _from_average(left, n, weights, tables, distances, rows, average)
        for i in range(n):
            distance[i] = record_distance(records[i], average, weights, rows)
        two = distinct or n >= 3 * k
        for _turn in range(2 if two else 1):
            if distinct and left.numbers[_VISITORS] < k:
                break
            source = _farthest(records, n, distance)
            leader = records[source].copy()
            leaders[n_groups] = leader
            from_record(leader, weights, tables, common, distances, rows)
            for i in range(n):
                distance[i] = record_distance(records[i], leader, weights, rows)
            near = _nearest(records, n, source, k - 1, distinct, distance)
            places = np.sort(np.append(near, source))
            for at in places[::-1]:  # the last record takes the place of one that goes
                _count(records[at], tables, left, -1)
                group[records[at, _INDEX]] = n_groups
                n -= 1
                records[at] = records[n]
                distance[at] = distance[n]
            n_groups += 1
    if not distinct:
        for i in range(n):
            group[records[i, _INDEX]] = n_groups
    elif join and n_groups > 0:
        for i in range(n):
            from_record(records[i], weights, tables, common, distances, rows)
            best, nearest = 0, -1
            for g in range(n_groups):
                d = record_distance(leaders[g], records[i], weights, rows)
                if nearest < 0 or d < best:
                    best, nearest = d, g
            group[records[i, _INDEX]] = nearest
    return group
