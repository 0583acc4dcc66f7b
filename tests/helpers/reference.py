"""Plain Python versions, written from the papers: slow, obvious, and the oracle of the tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import floor, log2
from typing import NamedTuple

import polars as pl
import Stemmer

from coterie.text.language import language


def degrees(pairs):
    """Distinct users of each query; rows without a user are not counted."""
    users = defaultdict(set)
    for user, query in pairs:
        if user is not None:
            users[query].add(user)
    return {query: len(found) for query, found in users.items()}


def suppress_rare(rows, k):
    """Query k-anonymity with users dropped and common details; rows are (user, time, query, rank, url)."""
    asked = degrees((user, query) for user, _, query, _, _ in rows)
    kept = [row for row in rows if asked.get(row[2], 0) >= k]
    shared = common_details([(user, query, (url, rank), time) for user, time, query, rank, url in kept], k)
    return [(None, time, level, query, rank, url) for query, (url, rank), time, level in shared]


def common_details(rows, k, times="day"):
    """What accompanies an item as far as k users share it: (item, details, time, level) of rows (user, item, details,
    time).

    The tuple (item, details, day) stays where k users share it. Rows that fall short go on together: to the week, the
    month, no time; then the details go from the last to the first. `times`: another finest time than the day.
    """
    count = len(rows[0][2]) if rows else 0
    units = {
        "hour": ("hour", "day", "week", "month"),
        "day": ("day", "week", "month"),
        "week": ("week", "month"),
        "month": ("month",),
        "quarter": ("quarter",),
        "drop": (),
    }[times]
    levels = [*((count, unit) for unit in units), *((left, "drop") for left in range(count, -1, -1))]
    released, waiting = {}, dict(enumerate(rows))
    for left, when in levels:
        carry = {
            at: (
                item,
                details[:left] + (None,) * (count - left),
                cut(time, when),
                None if cut(time, when) is None else when,
            )
            for at, (_, item, details, time) in waiting.items()
        }
        users = degrees((rows[at][0], found) for at, found in carry.items())
        last = (left, when) == levels[-1]
        released |= {at: found for at, found in carry.items() if last or users.get(found, 0) >= k}
        waiting = {at: row for at, row in waiting.items() if at not in released}
    return [released[at] for at in range(len(rows))]


def entropy(counts):
    total = sum(counts.values())
    return -sum(n / total * log2(n / total) for n in counts.values() if n) if total else 0.0


def exposure(before, after):
    """Profile exposure level: (exposed, channel) in percent for two multisets."""
    before, after = Counter(before), Counter(after)
    n = sum(before.values())
    r = {q: min(1, after[q] / before[q]) for q in before}
    if len(before) == 1:
        only = 100 * next(iter(r.values()))
        return only, only
    p = {q: count / n for q, count in before.items()}
    shown = sum(p[q] * r[q] * log2(1 / p[q]) for q in p)
    erased = sum(p[q] * (1 - r[q]) for q in p)
    absent = sum(p[q] * (1 - r[q]) * log2((1 - r[q]) / erased) for q in p if r[q] < 1)
    h = entropy(before)
    return 100 * shown / h, 100 * (shown + absent) / h


def information_loss(before, after):
    """Information loss ratio of two multisets."""
    h0, h1 = entropy(Counter(before)), entropy(Counter(after))
    if h0 == 0:
        return 0.0 if h1 == 0 else 100.0
    return 100 * abs(h0 - h1) / h0


def singled_out(profiles):
    """How many users are alone with one query, with one or two, with their whole set."""
    profiles = {user: set(queries) for user, queries in profiles.items()}

    def alone(user, queries):
        return sum(queries <= other for other in profiles.values()) == 1 and queries <= profiles[user]

    one = sum(any(alone(u, {q}) for q in qs) for u, qs in profiles.items())
    two = sum(
        any(alone(u, {q}) for q in qs) or any(alone(u, set(pair)) for pair in combinations(qs, 2))
        for u, qs in profiles.items()
    )
    whole = sum(list(profiles.values()).count(qs) == 1 for qs in profiles.values())
    return one, two, whole


# --- user microaggregation: paper 000 ------------------------------------------------------
# An event is (time in whole seconds or None, query, rank or None, url or None). A user is (id, events), users in byte
# order of their ids, events in the order of (time, query, rank, url) with nulls first.


class Scales(NamedTuple):
    """max - min of time, rank, words per query and events per user over the whole log."""

    time: int
    rank: int
    words: int
    size: int


def scales(users):
    def width(values):
        values = [value for value in values if value is not None]
        return max(values) - min(values) if values else 0

    events = [event for _, found in users for event in found]
    return Scales(
        width(t for t, _, _, _ in events),
        width(r for _, _, r, _ in events),
        width(len(words(q)) for _, q, _, _ in events),
        width(len(found) for _, found in users),
    )


def words(query):
    return [word for word in query.split(" ") if word]


def number_distance(a, b, width):
    """|norm(a) - norm(b)|; both missing 0, exactly one missing 1."""
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    return min(1.0, float(abs(a - b)) / float(width)) if width else 0.0  # a day may be outside the range of times


def host(url):
    """A url without scheme, name, port and path, in lower case; None where nothing is left."""
    if url is None:
        return None
    text = url.lower()
    scheme, found, rest = text.partition("://")
    if (
        found
        and scheme[:1].isascii()
        and scheme[:1].isalpha()
        and all(c.isascii() and (c.isalnum() or c in "+.-") for c in scheme)
    ):
        text = rest
    text = text[2:] if text.startswith("//") else text
    for end in "/?#":
        text = text.split(end)[0]
    text = text.split("@")[-1]
    head, colon, port = text.rpartition(":")
    if colon and all(c in "0123456789" for c in port):
        text = head
    text = text.strip(". ")
    if any(c.isspace() or c in "\\:\"'<>()[]{}|^`,;=%&*!$+~" for c in text):
        return None
    return text or None


@cache
def labels(url):
    """The labels of a host from the right; what is left of the 32nd is one label."""
    found = host(url)
    if found is not None and all(c in "0123456789." for c in found):
        return [found]  # an address has no domain that others share
    return None if found is None else found.rsplit(".", 31)[::-1]


def domain_distance(a, b):
    a, b = labels(a), labels(b)
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    m = max(len(a), len(b)) - 1
    differ = [i >= len(a) or i >= len(b) or a[i] != b[i] for i in range(m + 1)]
    return float(sum(2 ** (m - i) for i in range(m + 1) if differ[i])) / float(2 ** (m + 1) - 1)


def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


@cache
def word_distance(a, b):
    longer = max(len(a), len(b))
    return levenshtein(a, b) / longer if longer else 0.0


def hausdorff(a, b, distance):
    if not a or not b:
        return 0.0 if not a and not b else 1.0
    table = [[distance(x, y) for y in b] for x in a]
    there = max(min(row) for row in table)
    back = max(min(column) for column in zip(*table, strict=True))
    return max(there, back)


def query_distance(a, b, scale, eq1="text"):
    length = number_distance(len(words(a)), len(words(b)), scale.words)
    h = hausdorff(set(words(a)), set(words(b)), word_distance)
    return (length + 2.0 * h) / 3.0 if eq1 == "text" else (2.0 * length + h) / 3.0


def event_distance(a, b, scale, eq1="text"):
    t = number_distance(a[0], b[0], scale.time)
    r = number_distance(a[2], b[2], scale.rank)
    u = domain_distance(a[3], b[3])
    return (t + r + u + 3.0 * query_distance(a[1], b[1], scale, eq1)) / 6.0


def user_distance(a, b, scale, eq1="text"):
    """Two lists of events."""
    size = number_distance(len(a), len(b), scale.size)
    return (size + hausdorff(a, b, lambda x, y: event_distance(x, y, scale, eq1))) / 2.0


def apportion(seats, weights, priorities):
    """Largest remainders: how many of `seats` each weight gets; ties to the higher priority."""
    total = sum(weights)
    given = [seats * weight // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(seats * weights[i] % total), -priorities[i], i))
    for i in order[: seats - sum(given)]:
        given[i] += 1
    return given


def half_up(total, count):
    return (2 * total + count) // (2 * count)


def capped(quotas, sizes, max_share, priorities):
    """Quotas of at most `max_share` of all, or an equal part; what is above goes to the others by their sizes."""
    seats = sum(quotas)

    def most(i):
        equal = -(-seats // len(sizes))
        return min(sizes[i], max(floor(seats * Fraction(str(max_share))), equal))

    if all(quota <= max(floor(seats * Fraction(str(max_share))), -(-seats // len(sizes))) for quota in quotas):
        return quotas
    while sum(most(i) for i in range(len(sizes))) < seats:
        seats -= 1
    full = set()
    while True:
        left = seats - sum(most(i) for i in full)
        shares = apportion(left, [0 if i in full else size for i, size in enumerate(sizes)], priorities)
        more = {i for i, share in enumerate(shares) if share > most(i)}
        if not more:
            return [most(i) if i in full else share for i, share in enumerate(shares)]
        full |= more


def herding(members, quotas, priority):
    """The rows (member, position) whose mean is nearest to that of all, step by step, as many of each as their quota.

    A row is a vector of length 1024 with equal entries for its query, the stems of it and its host.
    """
    rows = []
    for i, (user, events) in enumerate(members):
        for j, (_, query, _, url) in enumerate(events):
            names = {("query", query), *(("stem", stem) for stem in english_stems(query))}
            clicked = ((url and host(url)) or "").removeprefix("www.")
            names |= {("host", clicked)} if clicked else set()
            rows.append(((i, j), -(priority(user, query) >> 11), dict.fromkeys(names, round(1024 / len(names) ** 0.5))))
    everything = Counter()
    for _, _, vector in rows:
        everything.update(vector)

    def product(one, other):
        return sum(value * other.get(name, 0) for name, value in one.items())

    chosen, sums, left = [], Counter(), list(quotas)
    for t in range(sum(quotas)):
        free = [row for row in rows if row[0] not in chosen and left[row[0][0]] > 0]

        def score(row, t=t):
            mean, before = Fraction(product(row[2], everything), len(rows)), product(row[2], sums)
            return (t + 1) * mean - before - Fraction(product(row[2], row[2]), 2)

        # Of rows with equal scores the first by priority, then by member, then in the order of events.
        place, _, vector = min(free, key=lambda row: (-score(row), row[1], row[0]))
        chosen.append(place)
        left[place[0]] -= 1
        sums.update(vector)
    return chosen


def english_stems(query):
    pieces = language("english").pieces(pl.Series([query]))[0]
    kept = [piece for piece in pieces if piece not in language("english").stop_words]
    return Stemmer.Stemmer("english").stemWords(kept)


def cut(time, to):
    """The beginning of its hour, day, week (on Monday), month or quarter; None with "drop"."""
    if time is None or to == "drop":
        return None
    if to == "hour":
        return time.replace(minute=0, second=0, microsecond=0)
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    if to == "week":
        return day - timedelta(days=day.weekday())
    if to == "quarter":
        return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
    return day.replace(day=1) if to == "month" else day


def cut_seconds(seconds, to):
    """The same for seconds since 1970."""
    found = cut(datetime(1970, 1, 1) + timedelta(seconds=seconds), to)
    return None if found is None else int((found - datetime(1970, 1, 1)).total_seconds())


def centroid(
    members, scale, priority, eq1="text", attrs="nearest", pairs=2**24, max_share=1, choice="shares", finest=None
):
    """The events of C(members), and how many of them, or of their parts, come from fewer than two users.

    `priority(user, query)` breaks ties between queries of a user, `priority(user, None)` between users. With more than
    `pairs` events times chosen events, `same_string` takes the place of `nearest`. With `finest`, as in releases, times
    are cut to that, unless it is exact; what comes from one user has the month of its time at most, and the query
    counts, too.
    """
    sizes = [len(events) for _, events in members]
    size = max(1, half_up(sum(sizes), len(members)))
    priorities = [priority(user, None) for user, _ in members]
    quotas = capped(apportion(size, sizes, priorities), sizes, max_share, priorities)
    chosen = []  # (member, position)
    for i, ((user, events), quota) in enumerate(zip(members, quotas, strict=True)):
        counts = Counter(sorted(query for _, query, _, _ in events))
        shares = apportion(quota, list(counts.values()), [priority(user, query) for query in counts])
        for query, share in zip(counts, shares, strict=True):
            places = [j for j, event in enumerate(events) if event[1] == query]
            chosen += [(i, j) for j in places[:share]]
    if choice == "herding":
        chosen = herding(members, quotas, priority)
    chosen.sort()
    everything = [(i, j) for i, (_, events) in enumerate(members) for j in range(len(events))]

    def event(at):
        return members[at[0]][1][at[1]]

    def nearest(at):
        return at if at in chosen else min(chosen, key=lambda c: (event_distance(event(at), event(c), scale, eq1), c))

    if attrs == "nearest" and len(everything) * len(chosen) <= pairs:
        behind = {c: [] for c in chosen}
        for at in everything:
            behind[nearest(at)].append(at)
    else:
        behind = {c: [at for at in everything if event(at)[1] == event(c)[1]] for c in chosen}
    released, alone = [], 0
    for c in chosen:
        query = event(c)[1]
        if attrs == "drop":
            released.append((None, query, None, None))
            alone += len({i for i, _ in behind[c]}) < 2
            continue
        times, ranks, urls = (
            [event(at)[column] for at in behind[c] if event(at)[column] is not None] for column in (0, 2, 3)
        )
        owners = [{i for i, j in behind[c] if event((i, j))[column] is not None} for column in (0, 2)]
        owners.append({i for i, j in behind[c] if labels(event((i, j))[3]) is not None})
        t = half_up(sum(times), len(times)) if times else None
        r = half_up(sum(ranks), len(ranks)) if ranks else None
        u = common_suffix([labels(url) for url in urls if labels(url) is not None])
        t = t // 86400 * 86400 if len(owners[0]) == 1 else t
        r = None if len(owners[1]) == 1 else r
        u = None if len(owners[2]) == 1 else u
        of_one = len({i for i, _ in behind[c]}) < 2 or any(len(found) == 1 for found in owners)
        if finest:
            of_one = of_one or len({i for i, j in everything if event((i, j))[1] == query}) == 1
            to = "month" if of_one and finest in ("week", "day", "hour", "exact") else finest
            t = t if t is None or to == "exact" else cut_seconds(t, to)
        alone += of_one
        released.append((t, query, r, u))
    return released, alone


def common_suffix(hosts):
    """The longest common right-hand part of hosts given as labels from the right."""
    if not hosts:
        return None
    common = []
    for column in zip(*hosts, strict=False):
        if len(set(column)) > 1:
            break
        common.append(column[0])
    return ".".join(reversed(common)) or None


def mdav(records, k, distance, aggregate):
    """MDAV: clusters as lists of indices, each led by the record it was built around."""
    left, clusters = list(range(len(records))), []

    def farthest_from(record):
        return max(left, key=lambda i: (distance(records[i], record), -i))

    def cluster_around(i):
        others = sorted((j for j in left if j != i), key=lambda j: (distance(records[j], records[i]), j))
        clusters.append([i, *others[: k - 1]])
        left[:] = [j for j in left if j not in clusters[-1]]

    while len(left) >= 3 * k:
        r = farthest_from(aggregate([records[i] for i in left]))
        cluster_around(r)
        cluster_around(farthest_from(records[r]))
    if len(left) >= 2 * k:
        cluster_around(farthest_from(aggregate([records[i] for i in left])))
    return [*clusters, list(left)]


def microaggregate(users, k, priority, eq1="text", pairs=2**24):
    """The clusters of MDAV on users, with x̄ = C(X)."""
    scale = scales(users)
    records = [(user, list(events)) for user, events in users]
    return mdav(
        records,
        k,
        lambda a, b: user_distance(a[1], b[1], scale, eq1),
        lambda some: (None, centroid(some, scale, priority, eq1, pairs=pairs)[0]),
    )


# --- clusters of users: papers 000 and 004 ---------------------------------------------------


def kmeans(users, start, priority, rounds=30):
    """The cluster of each user, from the profiles of the users `start`; centres are C of their members."""
    scale = scales(users)
    profiles = [events for _, events in users]
    different = [i for i, events in enumerate(profiles) if profiles.index(events) == i]
    kappa = min(len(start), len(different))
    centres = []
    for i in start:
        if profiles[i] not in centres:
            centres.append(profiles[i])
    earlier = []
    for _ in range(rounds):
        tables = [[user_distance(events, centre, scale) for centre in centres] for events in profiles]
        clusters = [table.index(min(table)) for table in tables]
        if clusters in earlier:
            break
        earlier.append(clusters)
        farthest = sorted(different, key=lambda i: (-min(tables[i]), i))
        centres = []
        for c in range(kappa):
            members = [user for user, cluster in zip(users, clusters, strict=True) if cluster == c]
            centres.append(centroid(members, scale, priority)[0] if members else profiles[farthest.pop(0)])
    return clusters


def partition_agreement(one, other):
    """Rand, Jaccard and adjusted Rand by looking at every pair."""
    pairs = list(combinations(range(len(one)), 2))
    a = [one[i] == one[j] for i, j in pairs]
    b = [other[i] == other[j] for i, j in pairs]
    r, s, t, u = (sum((x, y) == kind for x, y in zip(a, b, strict=True)) for kind in ((1, 1), (1, 0), (0, 1), (0, 0)))
    rand = (r + u) / len(pairs) if pairs else 1.0
    jaccard = r / (r + s + t) if r + s + t else 1.0
    expected = ((r + s) * (r + t) + (u + s) * (u + t)) / len(pairs) ** 2 if pairs else 1.0
    return rand, jaccard, 1.0 if expected == 1 else (rand - expected) / (1 - expected)


def homogeneity(users, groups, profiles, middle, scale, eq1="text"):
    """SSE, mean distance and SSA of users, the number of each one's group and the profiles of the groups."""
    gaps = [user_distance(e, profiles[g], scale, eq1) for (_, e), g in zip(users, groups, strict=True)]
    between = [user_distance(profiles[g], middle, scale, eq1) for g in groups]
    return sum(gap**2 for gap in gaps), sum(gaps) / len(gaps), sum(gap**2 for gap in between)


# --- names for a few queries in a row --------------------------------------------------------------


def few_queries(rows, queries, minutes):
    """The unit of each row (user, time, query): (user, number), or None for rows without a user or a time.

    A unit ends before the row that is more than so many minutes after its first one, and before the query that would
    be one too many; rows in a row with the same query are one query.
    """
    order = sorted((at for at, row in enumerate(rows) if None not in row[:2]), key=lambda at: rows[at])
    units, before = [None] * len(rows), None
    for at in order:
        user, time, query = rows[at]
        if before is None or before[0] != user:
            number, first, typed = 0, time, [query]
        elif time - first > timedelta(minutes=minutes) or (query != typed[-1] and len(typed) == queries):
            number, first, typed = number + 1, time, [query]
        elif query != typed[-1]:
            typed.append(query)
        before, units[at] = rows[at], (user, number)
    return units
