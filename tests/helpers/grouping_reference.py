"""Groups of similar vectors in plain Python, straight from the definitions in the kernels."""

from itertools import combinations


def similarity(a, b):
    return sum(int(x) * int(y) for x, y in zip(a, b, strict=True))


def table(vectors):
    return [[0 if i == j else similarity(a, b) for j, b in enumerate(vectors)] for i, a in enumerate(vectors)]


def greedy(k, alike):
    """Groups as lists, in the order in which they are made."""
    free = set(range(len(alike)))
    groups = []
    while len(free) >= 2 * k:
        first = min(combinations(sorted(free), 2), key=lambda pair: (-alike[pair[0]][pair[1]], pair))
        members = list(first)
        while len(members) < k:
            others = free - set(members)
            members.append(min(others, key=lambda u: (-sum(alike[u][m] for m in members), u)))
        groups.append(members)
        free -= set(members)
    return [*groups, sorted(free)]


def value(group, alike):
    """Sum of similarities of all pairs within groups; `group` is the number of each one."""
    return sum(alike[i][j] for i, j in combinations(range(len(group)), 2) if group[i] == group[j])


def exchanged(group, i, j):
    found = list(group)
    found[i], found[j] = group[j], group[i]
    return found


def swap(group, alike):
    """Best exchanges, each judged by the value of all groups before and after, until none adds anything."""
    while True:
        now = value(group, alike)
        pairs = [(i, j) for i, j in combinations(range(len(group)), 2) if group[i] != group[j]]
        best = min(pairs, key=lambda p: (-value(exchanged(group, *p), alike), p), default=None)
        if best is None or value(exchanged(group, *best), alike) <= now:
            return group
        group = exchanged(group, *best)


def dense_groups(k, vectors):
    """The number of each one's group."""
    alike = table(vectors)
    group = [0] * len(vectors)
    for number, members in enumerate(greedy(k, alike)):
        for member in members:
            group[member] = number
    return swap(group, alike)


def one_sided(group, topics):
    """Groups in which all members have one topic; `topics` is a set for each one."""
    return [
        number
        for number in sorted(set(group))
        if set.intersection(*(topics[i] for i in range(len(group)) if group[i] == number))
    ]


def mend_by_swaps(group, topics, vectors):
    """Each one-sided group makes the exchange that mends it, leaves the other one mended too, and costs least."""
    alike = table(vectors)
    group = list(group)
    for number in one_sided(group, topics):
        if number not in one_sided(group, topics):  # mended by an exchange with another
            continue
        possible = []
        for i in (u for u in range(len(group)) if group[u] == number):
            for j in (u for u in range(len(group)) if group[u] != number):
                after = exchanged(group, i, j)
                if not {number, group[j]} & set(one_sided(after, topics)):
                    possible.append((-value(after, alike), j, i))
        if possible:
            _, j, i = min(possible)
            group = exchanged(group, i, j)
    return group
