"""Distances between words, queries, events and users (paper 000), all in [0, 1].

    words    lev(a, b) / max(|a|, |b|)
    queries  (wl·|words(p) - words(q)| / range + wh·H) / 3, H = Hausdorff distance of the sets of words
    events   (time + rank + domain + 3·queries) / 6
    users    (|size(a) - size(b)| / range + Hausdorff distance of the events) / 2
    Hausdorff(A, B) = max(max_a min_b d(a, b), max_b min_a d(a, b))

lev is the Levenshtein distance, unit costs: the fewest insertions, deletions and replacements of characters. It is
bit-parallel (Myers 1999 in the form of Hyyrö 2003) where the shorter word has at most 64 characters: one column of the
table, as vertical differences of +1 and -1, lives in two machine words. Otherwise the table, row by row.

None of them is a metric, so nothing is pruned with the triangle inequality. What is used instead needs only that each
formula grows with each of its parts, which also holds for rounded arithmetic: a minimum is given up when it can no
longer be the smallest, a maximum when it can no longer be the largest (early break), down to the words; events of a
user with the same query are compared together; alike events of a busy user are compared together too, as long as it
suffices to know how far they are at most; words that share too few letters are not compared; and distances of words and
queries that were computed before are remembered. Every result is that of the formula, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Floats, Ints, Masks
from coterie.algorithms.kernels._jit import inlined, uncounted

MISSING = -(2**62)
"""Stands for a missing time, rank or host."""
INFINITE = np.inf
BUSY = 1000
"""Events above which those of a user are bundled."""
STEPS = 1024
"""How finely distances of words are told apart where a bound for them is looked up."""
_ID_LIMIT = 2**23
_CODE_LIMIT = 2**16
_FRONT = 64  # events of a busy user, at most, that are tried one by one before the bundles
_MIX_A, _MIX_B = -7046029254386353131, -4658895280553007687


class EventArrays(NamedTuple):
    """Users, their events, queries, words and hosts as arrays; X_start[i]:X_start[i+1] are the parts of i."""

    user_start: Ints
    """Events of a user. After the last user stands one more, the average record, which is rewritten."""
    user_runs: Ints
    """Runs of a user: events with the same query, which stand together."""
    run_start: Ints
    user_bundles: Ints
    """Bundles of a user: events with the same rank, number of words, top label and depth of the host, at about the
    same time, in the order of time. Only busy users have any."""
    bundle_start: Ints
    bundle_events: Ints
    time: Ints
    rank: Ints
    host: Ints
    depth: Ints
    """How many labels of the host count, from the right."""
    query: Ints
    length: Ints
    """Number of words of the query, with repetitions."""
    query_start: Ints
    query_words: Ints
    """Distinct words of a query, sorted."""
    word_start: Ints
    chars: Ints
    letters: Masks
    """A bit for each character of a word; several characters share a bit."""
    host_start: Ints
    host_labels: Ints
    """Labels of a host from the right."""
    fractions: Floats
    """All values a word distance can have, sorted: a distance is kept as its place here, its code."""
    code_start: Ints
    codes: Ints
    """The code of d / L is codes[code_start[L] + d]."""
    below: Ints
    """below[i] is the code of the largest distance <= i / STEPS."""
    widths: Floats
    """Ranges of time, rank, words per query, events per user, then the weights wl and wh."""


class Workspace(NamedTuple):
    """What is remembered between distances; makes them faster and never changes them."""

    words: Ints
    """Word distances: pair and code in one number, at the place that the pair hashes to."""
    queries: Ints
    masks: Ints
    row: Ints
    order: Ints
    """The events of each user, those that decided an earlier distance first."""
    place: Ints
    """Where the last scan of another user's runs ended: for an event without a host, and with one."""


def new_workspace(events: EventArrays, places: int = 2**13) -> Workspace:
    """Empty memory for distances of these events; what is remembered has to fit into fast memory to be of use."""
    lengths = np.diff(events.word_start)
    longest = int(lengths.max()) if lengths.size else 0
    n_chars = int(events.chars.max()) + 1 if events.chars.size else 1
    return Workspace(
        words=np.zeros(places, dtype=np.int64),
        queries=np.zeros(places, dtype=np.int64),
        masks=np.zeros(n_chars, dtype=np.int64),
        row=np.zeros(longest + 1, dtype=np.int64),
        order=np.arange(events.time.size),
        place=np.zeros(2, dtype=np.int64),
    )


@inlined
def _place(a: int, b: int, size: int) -> int:
    hashed = (a * _MIX_A) ^ (b * _MIX_B)
    return (hashed >> 29) & (size - 1)


@inlined
def _bits(mask: np.uint64) -> np.int64:
    """How many bits are set."""
    mask = mask - ((mask >> np.uint64(1)) & np.uint64(0x5555555555555555))
    mask = (mask & np.uint64(0x3333333333333333)) + ((mask >> np.uint64(2)) & np.uint64(0x3333333333333333))
    mask = (mask + (mask >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((mask * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def lowest_code(a: int, b: int, events: EventArrays) -> int:
    """A code that the distance of two words is not below, by their lengths and letters."""
    m, n = events.word_start[a + 1] - events.word_start[a], events.word_start[b + 1] - events.word_start[b]
    only_a, only_b = events.letters[a] & ~events.letters[b], events.letters[b] & ~events.letters[a]
    edits = max(abs(m - n), _bits(only_a), _bits(only_b))  # each needs one of its own
    return int(events.codes[events.code_start[max(m, n)] + edits])


@inlined
def exact_code(a: int, b: int, events: EventArrays, workspace: Workspace) -> int:
    """The code of the distance of two words."""
    at_a, at_b = events.word_start[a], events.word_start[b]
    m, n = events.word_start[a + 1] - at_a, events.word_start[b + 1] - at_b
    edits = levenshtein(events.chars, at_a, m, at_b, n, workspace.masks, workspace.row)
    return int(events.codes[events.code_start[max(m, n)] + edits])


@inlined
def word_code(a: int, b: int, best: int, events: EventArrays, workspace: Workspace) -> int:
    """The code of the distance of two different words, or any code >= best where it is not below best."""
    if a > b:
        a, b = b, a
    low = lowest_code(a, b, events)
    if low >= best:
        return low
    key = (a << 40) | (b << 16)
    place = _place(a, b, workspace.words.size)
    held = workspace.words[place]
    if held & ~np.int64(0xFFFF) == key and b < _ID_LIMIT:
        return int(held & np.int64(0xFFFF))
    code = exact_code(a, b, events, workspace)
    if b < _ID_LIMIT and code < _CODE_LIMIT:
        workspace.words[place] = key | code
    return int(code)


@inlined
def _directed_words(p: int, q: int, running: int, high: int, events: EventArrays, workspace: Workspace) -> int:
    """max(running, max over words of p of min over words of q), or -1 as soon as it exceeds high."""
    q0, q1 = events.query_start[q], events.query_start[q + 1]
    for i in range(events.query_start[p], events.query_start[p + 1]):
        word = events.query_words[i]
        best = high + 1
        for j in range(q0, q1):
            other = events.query_words[j]
            if word == other:
                best = 0
                break
            best = min(best, word_code(word, other, best, events, workspace))
            if best <= running:
                break
        if best > high:
            return -1
        running = max(running, best)
    return running


@inlined
def query_code(p: int, q: int, low: int, high: int, events: EventArrays, workspace: Workspace) -> int:
    """The code of the Hausdorff distance of the words of two different queries.

    Any code <= low where it is at most low; -1 where it exceeds high.
    """
    if p > q:
        p, q = q, p
    key = (p << 40) | (q << 16)
    place = _place(p, q, workspace.queries.size)
    held = workspace.queries[place]
    if held & ~np.int64(0xFFFF) == key and q < _ID_LIMIT:
        return int(held & np.int64(0xFFFF))
    n_p = events.query_start[p + 1] - events.query_start[p]
    n_q = events.query_start[q + 1] - events.query_start[q]
    if n_p == 0 or n_q == 0:
        return 0 if n_p == n_q else events.fractions.size - 1
    code = _directed_words(p, q, low, high, events, workspace)
    if code >= 0:
        code = _directed_words(q, p, code, high, events, workspace)
    if code > low and q < _ID_LIMIT and code < _CODE_LIMIT:
        workspace.queries[place] = key | code
    return code


@inlined
def number_distance(a: int, b: int, width: float) -> float:
    """The distance of two numbers, as a share of their range."""
    if a == MISSING or b == MISSING:
        return 0.0 if a == b else 1.0
    return min(1.0, float(abs(a - b)) / width) if width > 0.0 else 0.0


@inlined
def domain_distance(host_a: int, n_a: int, host_b: int, n_b: int, events: EventArrays) -> float:
    """Σ 2^(m-i)·[labels i differ] / (2^(m+1) - 1), labels from the right, m + 1 of them in the longer host."""
    if host_a == MISSING or host_b == MISSING:
        return 0.0 if host_a == host_b else 1.0
    if host_a == host_b and n_a == n_b:
        return 0.0
    at_a, at_b = events.host_start[host_a], events.host_start[host_b]
    differ, all_bits = 0, 0
    for i in range(max(n_a, n_b)):
        same = i < n_a and i < n_b and events.host_labels[at_a + i] == events.host_labels[at_b + i]
        differ = 2 * differ + (0 if same else 1)
        all_bits = 2 * all_bits + 1
    return float(differ) / float(all_bits)


@inlined
def _domain(a: int, b: int, events: EventArrays) -> float:
    """The same of the hosts of two events."""
    return domain_distance(events.host[a], events.depth[a], events.host[b], events.depth[b], events)


@inlined
def event_value(others: float, length: float, h: float, widths: Floats) -> float:
    """The distance of two events from the distances of their parts."""
    return float((others + 3.0 * ((widths[4] * length + widths[5] * h) / 3.0)) / 6.0)


@inlined
def _low_code(distance: float, events: EventArrays) -> int:
    """A code of a distance that is at most this one; the smallest code where there is none."""
    return int(events.below[int(min(distance, 1.0) * STEPS)]) if distance > 0.0 else 0


@inlined
def high_code(distance: float, events: EventArrays) -> int:
    """A code such that the distances of all larger codes are larger than this one."""
    return int(events.below[int(distance * STEPS) + 1]) if distance < 1.0 else events.fractions.size - 1


@inlined
def _with_words(
    p: int, q: int, others: float, length: float, floor: float, best: float, events: EventArrays, workspace: Workspace
) -> float:
    """The distance of two events with these queries, given that of the rest.

    Anything >= best where it is not below best, and floor where it is not above floor.
    """
    widths = events.widths
    if p == q:
        return event_value(others, 0.0, 0.0, widths)
    if event_value(others, length, 0.0, widths) >= best:
        return best
    if event_value(others, length, 1.0, widths) <= floor:
        return floor
    given = others + widths[4] * length
    low = _low_code((6.0 * floor - given) / widths[5] - 1e-9, events)
    code = query_code(p, q, low, high_code((6.0 * best - given) / widths[5] + 1e-9, events), events, workspace)
    if code < 0:
        return best
    distance = event_value(others, length, events.fractions[code], widths)
    return max(distance, floor) if code <= low else distance


@inlined
def others_distance(a: int, b: int, events: EventArrays) -> float:
    """The distances of times, ranks and domains of two events, added."""
    time = number_distance(events.time[a], events.time[b], events.widths[0])
    return time + number_distance(events.rank[a], events.rank[b], events.widths[1]) + _domain(a, b, events)


@inlined
def length_distance(a: int, b: int, events: EventArrays) -> float:
    """The distance of the numbers of words of two events."""
    return number_distance(events.length[a], events.length[b], events.widths[2])


@inlined
def _run_distance(a: int, run: int, floor: float, best: float, events: EventArrays, workspace: Workspace) -> float:
    """The smallest distance of an event to those of a run, or anything >= best, or floor, as above."""
    widths = events.widths
    b0, b1 = events.run_start[run], events.run_start[run + 1]
    length = length_distance(a, b0, events)
    time, rank = events.time[a], events.rank[a]
    most = 6.0 * best - widths[4] * length + 1e-9  # with more than this elsewhere, even equal words do not help
    enough = (
        6.0 * floor - widths[4] * length - widths[5] - 1e-9
    )  # with no more than this elsewhere, words do not matter
    least = INFINITE
    for b in range(b0, b1):
        others = number_distance(time, events.time[b], widths[0]) + number_distance(rank, events.rank[b], widths[1])
        if others < least and others < most:
            least = min(least, others + _domain(a, b, events))
            if least <= enough:
                return floor
    if least == INFINITE:
        return best
    return _with_words(events.query[a], events.query[b0], least, length, floor, best, events, workspace)


@inlined
def _nearest_run(a: int, b: int, floor: float, best: float, events: EventArrays, workspace: Workspace) -> float:
    """The smallest distance of an event to those of user b, or anything >= best, or anything <= floor."""
    b0, b1 = events.user_runs[b], events.user_runs[b + 1]
    kind = 1 if events.host[a] != MISSING else 0
    j = workspace.place[kind]
    for _ in range(b1 - b0):
        best = min(best, _run_distance(a, j, floor, best, events, workspace))
        if best <= floor:
            break
        j += 1
        if j == b1:
            j = b0
    workspace.place[kind] = j
    return best


@inlined
def _most_domain(a: int, b: int, events: EventArrays) -> float:
    """The largest distance to the host of b of a host with the top label and the depth of that of a."""
    host_a, host_b = events.host[a], events.host[b]
    if host_a == MISSING or host_b == MISSING:
        return 0.0 if host_a == host_b else 1.0
    if events.host_labels[events.host_start[host_a]] != events.host_labels[events.host_start[host_b]]:
        return 1.0
    top = np.int64(1) << (max(events.depth[a], events.depth[b]) - 1)
    return float(top - 1) / float(2 * top - 1)


@inlined
def _bundle_within(bundle: int, b: int, distance: float, events: EventArrays, workspace: Workspace) -> bool:
    """Whether all events of a bundle are certainly this near to one and the same event of user b."""
    first = events.bundle_events[events.bundle_start[bundle]]
    last = events.bundle_events[events.bundle_start[bundle + 1] - 1]
    b0, b1 = events.user_runs[b], events.user_runs[b + 1]
    kind = 1 if events.host[first] != MISSING else 0
    j = workspace.place[kind]
    for _ in range(b1 - b0):
        length = length_distance(first, events.run_start[j], events)
        for event in range(events.run_start[j], events.run_start[j + 1]):
            since = number_distance(events.time[first], events.time[event], events.widths[0])
            till = number_distance(events.time[last], events.time[event], events.widths[0])
            rank = number_distance(events.rank[first], events.rank[event], events.widths[1])
            others = max(since, till) + rank + _most_domain(first, event, events)
            if event_value(others, length, 1.0, events.widths) <= distance - 1e-9:
                workspace.place[kind] = j
                return True
        j += 1
        if j == b1:
            j = b0
    return False


@uncounted
def directed(a: int, b: int, low: float, high: float, events: EventArrays, workspace: Workspace) -> float:
    """max(low, max over events of user a of min over events of user b); infinite as soon as it exceeds high."""
    a0, a1 = events.user_start[a], events.user_start[a + 1]
    bundle, bundles_end = events.user_bundles[a], events.user_bundles[a + 1]
    order = workspace.order
    workspace.place[:] = events.user_runs[b]
    running = low
    cap = high + 1e-12
    witness = order[a0]
    for i in range(a0, a1 if bundle == bundles_end else a0 + min(_FRONT, (a1 - a0) // 16)):
        best = _nearest_run(order[i], b, running, cap, events, workspace)
        if best > running:
            running = best
            witness = order[i]
            if running > high:
                break
    while bundle < bundles_end and running <= high:
        if not _bundle_within(bundle, b, running, events, workspace):
            for i in range(events.bundle_start[bundle], events.bundle_start[bundle + 1]):
                best = _nearest_run(events.bundle_events[i], b, running, cap, events, workspace)
                if best > running:
                    running = best
                    witness = events.bundle_events[i]
                    if running > high:
                        break
        bundle += 1
    event = witness  # tried first next time: what is far from one user is often far from others
    i = a0
    while order[i] != witness:
        order[i], event = event, order[i]
        i += 1
    order[i] = event
    return INFINITE if running > high else running


@inlined
def size_distance(a: int, b: int, events: EventArrays) -> float:
    """|size(a) - size(b)| / range."""
    size_a = events.user_start[a + 1] - events.user_start[a]
    size_b = events.user_start[b + 1] - events.user_start[b]
    return number_distance(size_a, size_b, events.widths[3])


@uncounted
def user_distance_below(a: int, b: int, bound: float, events: EventArrays, workspace: Workspace) -> float:
    """The distance of two users, or infinite where it is certainly above bound."""
    size = size_distance(a, b, events)
    high = 2.0 * bound - size + 1e-9
    if high < 0.0:
        return INFINITE
    there = directed(a, b, -1.0, high, events, workspace)
    if there == INFINITE:
        return INFINITE
    return (size + directed(b, a, there, high, events, workspace)) / 2.0


@uncounted
def user_distance_above(a: int, b: int, bound: float, events: EventArrays, workspace: Workspace) -> float:
    """The distance of two users, or -1 where it is certainly below bound."""
    size = size_distance(a, b, events)
    low = max(-1.0, 2.0 * bound - size - 1e-9)
    hausdorff = directed(b, a, directed(a, b, low, INFINITE, events, workspace), INFINITE, events, workspace)
    return -1.0 if hausdorff == low else (size + hausdorff) / 2.0


@uncounted
def levenshtein(chars: Ints, a: int, m: int, b: int, n: int, masks: Ints, row: Ints) -> int:
    """Distance of the words chars[a:a+m] and chars[b:b+n].

    `masks` has a zero for each character and is left so; `row` is room for the length of the longest word and one.
    """
    if m > n:
        a, m, b, n = b, n, a, m
    if m == 0:
        return n
    if m > 64:
        return _by_rows(chars, a, m, b, n, row)
    one = np.int64(1)
    for i in range(m):
        masks[chars[a + i]] |= one << np.int64(i)
    last = one << np.int64(m - 1)
    plus, minus, score = np.int64(-1), np.int64(0), m
    for j in range(n):
        same = masks[chars[b + j]]
        diagonal = same | minus
        across = (((same & plus) + plus) ^ plus) | same
        up = minus | ~(across | plus)
        down = plus & across
        if up & last != 0:
            score += 1
        if down & last != 0:
            score -= 1
        up = (up << one) | one
        down = down << one
        plus = down | ~(diagonal | up)
        minus = up & diagonal
    for i in range(m):
        masks[chars[a + i]] = 0
    return score


@uncounted
def _by_rows(chars: Ints, a: int, m: int, b: int, n: int, row: Ints) -> int:
    for j in range(n + 1):
        row[j] = j
    for i in range(m):
        before = row[0]
        row[0] = i + 1
        for j in range(n):
            change = before + (1 if chars[a + i] != chars[b + j] else 0)
            before = row[j + 1]
            row[j + 1] = min(change, before + 1, row[j] + 1)
    return int(row[n])
