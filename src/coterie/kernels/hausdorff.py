"""Distances between words, queries, events and users (SPEC 4.2), all in [0, 1].

    words    lev(a, b) / max(|a|, |b|)
    queries  (wl·|words(p) - words(q)| / range + wh·H) / 3, H = Hausdorff distance of the sets of words
    events   (time + rank + domain + 3·queries) / 6
    users    (|size(a) - size(b)| / range + Hausdorff distance of the events) / 2
    Hausdorff(A, B) = max(max_a min_b d(a, b), max_b min_a d(a, b))

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
from numpy.typing import NDArray

from coterie.kernels._jit import inlined, uncounted
from coterie.kernels.levenshtein import levenshtein

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Masks = NDArray[np.uint64]

MISSING = -(2**62)
"""Stands for a missing time, rank or host."""
INFINITE = np.inf
BUSY = 1000
"""Events above which those of a user are bundled."""
STEPS = 1024
"""How finely distances of words are told apart where a bound for them is looked up."""
_ID_LIMIT = 2**23
_CODE_LIMIT = 2**16
_FRONT = 64  # events of a busy user, at most, that are tried one by one before her bundles
_MIX_A, _MIX_B = -7046029254386353131, -4658895280553007687


class Trees(NamedTuple):
    """Users, their events, queries, words and hosts as arrays; X_start[i]:X_start[i+1] are the parts of i."""

    user_start: Ints
    """Events of a user. After the last user stands one more, the average record, which is rewritten."""
    user_runs: Ints
    """Runs of a user: her events with the same query, which stand together."""
    run_start: Ints
    user_bundles: Ints
    """Bundles of a user: her events with the same rank, number of words, top label and depth of the host, at about the
    same time, in the order of time. Only busy users have some."""
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


class Scratch(NamedTuple):
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


def new_scratch(trees: Trees, places: int = 2**16) -> Scratch:
    """Empty memory for distances on `trees`."""
    lengths = np.diff(trees.word_start)
    longest = int(lengths.max()) if lengths.size else 0
    n_chars = int(trees.chars.max()) + 1 if trees.chars.size else 1
    return Scratch(
        words=np.zeros(places, dtype=np.int64),
        queries=np.zeros(places, dtype=np.int64),
        masks=np.zeros(n_chars, dtype=np.int64),
        row=np.zeros(longest + 1, dtype=np.int64),
        order=np.arange(trees.time.size),
        place=np.zeros(2, dtype=np.int64),
    )


@inlined
def _place(a: int, b: int, size: int) -> int:
    mixed = (a * _MIX_A) ^ (b * _MIX_B)
    return (mixed >> 29) & (size - 1)


@inlined
def _bits(mask: np.uint64) -> np.int64:
    """How many bits are set."""
    mask = mask - ((mask >> np.uint64(1)) & np.uint64(0x5555555555555555))
    mask = (mask & np.uint64(0x3333333333333333)) + ((mask >> np.uint64(2)) & np.uint64(0x3333333333333333))
    mask = (mask + (mask >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((mask * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def word_code(a: int, b: int, best: int, trees: Trees, scratch: Scratch) -> int:
    """The code of the distance of two different words, or any code >= best where it is not below best."""
    if a > b:
        a, b = b, a
    at_a, at_b = trees.word_start[a], trees.word_start[b]
    m, n = trees.word_start[a + 1] - at_a, trees.word_start[b + 1] - at_b
    first = trees.code_start[max(m, n)]
    only_a, only_b = trees.letters[a] & ~trees.letters[b], trees.letters[b] & ~trees.letters[a]
    low = trees.codes[first + max(abs(m - n), _bits(only_a), _bits(only_b))]  # each needs an edit of its own
    if low >= best:
        return int(low)
    key = (a << 40) | (b << 16)
    place = _place(a, b, scratch.words.size)
    held = scratch.words[place]
    if held & ~np.int64(0xFFFF) == key and b < _ID_LIMIT:
        return int(held & np.int64(0xFFFF))
    code = trees.codes[first + levenshtein(trees.chars, at_a, m, at_b, n, scratch.masks, scratch.row)]
    if b < _ID_LIMIT and code < _CODE_LIMIT:
        scratch.words[place] = key | code
    return int(code)


@inlined
def _directed_words(p: int, q: int, running: int, high: int, trees: Trees, scratch: Scratch) -> int:
    """max(running, max over words of p of min over words of q), or -1 as soon as it exceeds high."""
    q0, q1 = trees.query_start[q], trees.query_start[q + 1]
    for i in range(trees.query_start[p], trees.query_start[p + 1]):
        word = trees.query_words[i]
        best = high + 1
        for j in range(q0, q1):
            other = trees.query_words[j]
            if word == other:
                best = 0
                break
            best = min(best, word_code(word, other, best, trees, scratch))
            if best <= running:
                break
        if best > high:
            return -1
        running = max(running, best)
    return running


@inlined
def query_code(p: int, q: int, low: int, high: int, trees: Trees, scratch: Scratch) -> int:
    """The code of the Hausdorff distance of the words of two different queries.

    Any code <= low where it is at most low; -1 where it exceeds high.
    """
    if p > q:
        p, q = q, p
    key = (p << 40) | (q << 16)
    place = _place(p, q, scratch.queries.size)
    held = scratch.queries[place]
    if held & ~np.int64(0xFFFF) == key and q < _ID_LIMIT:
        return int(held & np.int64(0xFFFF))
    n_p = trees.query_start[p + 1] - trees.query_start[p]
    n_q = trees.query_start[q + 1] - trees.query_start[q]
    if n_p == 0 or n_q == 0:
        return 0 if n_p == n_q else trees.fractions.size - 1
    code = _directed_words(p, q, low, high, trees, scratch)
    if code >= 0:
        code = _directed_words(q, p, code, high, trees, scratch)
    if code > low and q < _ID_LIMIT and code < _CODE_LIMIT:
        scratch.queries[place] = key | code
    return code


@inlined
def _number(a: int, b: int, width: float) -> float:
    if a == MISSING or b == MISSING:
        return 0.0 if a == b else 1.0
    return min(1.0, float(abs(a - b)) / width) if width > 0.0 else 0.0


@inlined
def _domain(a: int, b: int, trees: Trees) -> float:
    """Σ 2^(m-i)·[labels i differ] / (2^(m+1) - 1), labels from the right, m + 1 of them in the longer host."""
    host_a, host_b = trees.host[a], trees.host[b]
    if host_a == MISSING or host_b == MISSING:
        return 0.0 if host_a == host_b else 1.0
    n_a, n_b = trees.depth[a], trees.depth[b]
    if host_a == host_b and n_a == n_b:
        return 0.0
    at_a, at_b = trees.host_start[host_a], trees.host_start[host_b]
    differ, all_bits = 0, 0
    for i in range(max(n_a, n_b)):
        same = i < n_a and i < n_b and trees.host_labels[at_a + i] == trees.host_labels[at_b + i]
        differ = 2 * differ + (0 if same else 1)
        all_bits = 2 * all_bits + 1
    return float(differ) / float(all_bits)


@inlined
def event_value(others: float, length: float, h: float, widths: Floats) -> float:
    """The distance of two events from the distances of their parts."""
    return float((others + 3.0 * ((widths[4] * length + widths[5] * h) / 3.0)) / 6.0)


@inlined
def _low_code(distance: float, trees: Trees) -> int:
    """A code of a distance that is at most this one; the smallest code where there is none."""
    return int(trees.below[int(min(distance, 1.0) * STEPS)]) if distance > 0.0 else 0


@inlined
def high_code(distance: float, trees: Trees) -> int:
    """A code such that the distances of all larger codes are larger than this one."""
    return int(trees.below[int(distance * STEPS) + 1]) if distance < 1.0 else trees.fractions.size - 1


@inlined
def _with_words(
    p: int, q: int, others: float, length: float, floor: float, best: float, trees: Trees, scratch: Scratch
) -> float:
    """The distance of two events with these queries, given that of the rest.

    Anything >= best where it is not below best, and floor where it is not above floor.
    """
    widths = trees.widths
    if p == q:
        return event_value(others, 0.0, 0.0, widths)
    if event_value(others, length, 0.0, widths) >= best:
        return best
    if event_value(others, length, 1.0, widths) <= floor:
        return floor
    given = others + widths[4] * length
    low = _low_code((6.0 * floor - given) / widths[5] - 1e-9, trees)
    code = query_code(p, q, low, high_code((6.0 * best - given) / widths[5] + 1e-9, trees), trees, scratch)
    if code < 0:
        return best
    found = event_value(others, length, trees.fractions[code], widths)
    return max(found, floor) if code <= low else found


@inlined
def others_distance(a: int, b: int, trees: Trees) -> float:
    """The distances of times, ranks and domains of two events, added."""
    time = _number(trees.time[a], trees.time[b], trees.widths[0])
    return time + _number(trees.rank[a], trees.rank[b], trees.widths[1]) + _domain(a, b, trees)


@inlined
def length_distance(a: int, b: int, trees: Trees) -> float:
    """The distance of the numbers of words of two events."""
    return _number(trees.length[a], trees.length[b], trees.widths[2])


@inlined
def _run_distance(a: int, run: int, floor: float, best: float, trees: Trees, scratch: Scratch) -> float:
    """The smallest distance of an event to those of a run, or anything >= best, or floor, as above."""
    widths = trees.widths
    b0, b1 = trees.run_start[run], trees.run_start[run + 1]
    length = length_distance(a, b0, trees)
    time, rank = trees.time[a], trees.rank[a]
    most = 6.0 * best - widths[4] * length + 1e-9  # with more than this elsewhere, even equal words do not help
    enough = 6.0 * floor - widths[4] * length - widths[5] - 1e-9  # with this elsewhere, words cannot do harm
    least = INFINITE
    for b in range(b0, b1):
        others = _number(time, trees.time[b], widths[0]) + _number(rank, trees.rank[b], widths[1])
        if others < least and others < most:
            least = min(least, others + _domain(a, b, trees))
            if least <= enough:
                return floor
    if least == INFINITE:
        return best
    return _with_words(trees.query[a], trees.query[b0], least, length, floor, best, trees, scratch)


@inlined
def _nearest_run(a: int, b: int, floor: float, best: float, trees: Trees, scratch: Scratch) -> float:
    """The smallest distance of an event to those of user b, or anything >= best, or anything <= floor."""
    b0, b1 = trees.user_runs[b], trees.user_runs[b + 1]
    kind = 1 if trees.host[a] != MISSING else 0
    j = scratch.place[kind]
    for _ in range(b1 - b0):
        best = min(best, _run_distance(a, j, floor, best, trees, scratch))
        if best <= floor:
            break
        j += 1
        if j == b1:
            j = b0
    scratch.place[kind] = j
    return best


@inlined
def _most_domain(a: int, b: int, trees: Trees) -> float:
    """The largest distance to the host of b of a host with the top label and the depth of that of a."""
    host_a, host_b = trees.host[a], trees.host[b]
    if host_a == MISSING or host_b == MISSING:
        return 0.0 if host_a == host_b else 1.0
    if trees.host_labels[trees.host_start[host_a]] != trees.host_labels[trees.host_start[host_b]]:
        return 1.0
    top = np.int64(1) << (max(trees.depth[a], trees.depth[b]) - 1)
    return float(top - 1) / float(2 * top - 1)


@inlined
def _bundle_within(bundle: int, b: int, distance: float, trees: Trees, scratch: Scratch) -> bool:
    """Whether all events of a bundle are certainly this near to one and the same event of user b."""
    first = trees.bundle_events[trees.bundle_start[bundle]]
    last = trees.bundle_events[trees.bundle_start[bundle + 1] - 1]
    b0, b1 = trees.user_runs[b], trees.user_runs[b + 1]
    kind = 1 if trees.host[first] != MISSING else 0
    j = scratch.place[kind]
    for _ in range(b1 - b0):
        length = length_distance(first, trees.run_start[j], trees)
        for event in range(trees.run_start[j], trees.run_start[j + 1]):
            since = _number(trees.time[first], trees.time[event], trees.widths[0])
            till = _number(trees.time[last], trees.time[event], trees.widths[0])
            rank = _number(trees.rank[first], trees.rank[event], trees.widths[1])
            others = max(since, till) + rank + _most_domain(first, event, trees)
            if event_value(others, length, 1.0, trees.widths) <= distance - 1e-9:
                scratch.place[kind] = j
                return True
        j += 1
        if j == b1:
            j = b0
    return False


@uncounted
def directed(a: int, b: int, low: float, high: float, trees: Trees, scratch: Scratch) -> float:
    """max(low, max over events of user a of min over events of user b); infinite as soon as it exceeds high."""
    a0, a1 = trees.user_start[a], trees.user_start[a + 1]
    bundle, bundles_end = trees.user_bundles[a], trees.user_bundles[a + 1]
    order = scratch.order
    scratch.place[:] = trees.user_runs[b]
    running = low
    cap = high + 1e-12
    witness = order[a0]
    for i in range(a0, a1 if bundle == bundles_end else a0 + min(_FRONT, (a1 - a0) // 16)):
        best = _nearest_run(order[i], b, running, cap, trees, scratch)
        if best > running:
            running = best
            witness = order[i]
            if running > high:
                break
    while bundle < bundles_end and running <= high:
        if not _bundle_within(bundle, b, running, trees, scratch):
            for i in range(trees.bundle_start[bundle], trees.bundle_start[bundle + 1]):
                best = _nearest_run(trees.bundle_events[i], b, running, cap, trees, scratch)
                if best > running:
                    running = best
                    witness = trees.bundle_events[i]
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
def size_distance(a: int, b: int, trees: Trees) -> float:
    """|size(a) - size(b)| / range."""
    size_a = trees.user_start[a + 1] - trees.user_start[a]
    size_b = trees.user_start[b + 1] - trees.user_start[b]
    return _number(size_a, size_b, trees.widths[3])


@uncounted
def user_distance_below(a: int, b: int, bound: float, trees: Trees, scratch: Scratch) -> float:
    """The distance of two users, or infinite where it is certainly above bound."""
    size = size_distance(a, b, trees)
    high = 2.0 * bound - size + 1e-9
    if high < 0.0:
        return INFINITE
    there = directed(a, b, -1.0, high, trees, scratch)
    if there == INFINITE:
        return INFINITE
    return (size + directed(b, a, there, high, trees, scratch)) / 2.0


@uncounted
def user_distance_above(a: int, b: int, bound: float, trees: Trees, scratch: Scratch) -> float:
    """The distance of two users, or -1 where it is certainly below bound."""
    size = size_distance(a, b, trees)
    low = max(-1.0, 2.0 * bound - size - 1e-9)
    found = directed(b, a, directed(a, b, low, INFINITE, trees, scratch), INFINITE, trees, scratch)
    return -1.0 if found == low else (size + found) / 2.0
