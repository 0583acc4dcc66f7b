"""Plain Python version of concept microaggregation (paper 002): slow, obvious, and the oracle of the tests.

A user is a list of queries. `means[query]` is a tuple of names, the likeliest first: ("concept", number) for each of
its concepts, or ("query", text) alone where it has none. `parent` are the parents of concepts, -1 for the root 0.
`place` gives the place of a name in the order of ties.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from math import log2

UNIT = 2**30  # distances are whole parts of this, so that ties are ties


class Reference:
    def __init__(self, parent, means, place):
        self.parent, self.means, self.place = list(map(int, parent)), means, place
        self.name_distance = cache(self.name_distance)

    def path(self, name):
        """The name with all above it, from below the root; what has nothing above it is alone."""
        kind, concept = name
        found = []
        while kind == "concept" and concept > 0:
            found.append(("concept", concept))
            concept = self.parent[concept]
        return found[::-1] or [name]

    def name_distance(self, a, b):
        if a == b:
            return 0
        if a[0] == "query" or b[0] == "query":
            return UNIT
        features = [set(self.path(name)) - {("concept", 0)} for name in (a, b)]
        union, both = features[0] | features[1], features[0] & features[1]
        return round(UNIT * log2(1 + (len(union) - len(both)) / len(union)))

    def distance(self, p, q):
        """D of two lists of tuples of names."""

        def gaps(ones, others):
            return sum(min(self.name_distance(a, b) for x in others for a in one for b in x) for one in ones)

        return (gaps(p, q) + gaps(q, p)) / (len(p) + len(q)) / UNIT

    def centroid(self, profiles):
        """The common names of several users, whose queries are tuples of names."""
        n, events = len(profiles), sum(map(len, profiles))
        slots = int(events / n + 0.5)
        return self._fill([query[0] for profile in profiles for query in profile], slots, 0)

    def _fill(self, names, slots, level):
        if len(set(names)) == 1:
            return [names[0]] * slots
        if slots == 1:
            sums = {a: sum(self.name_distance(a, b) for b in names) for a in set(names)}
            return [min(sums, key=lambda a: (sums[a], self.place(a)))]
        parts = defaultdict(list)
        for name in names:
            parts[[*self.path(name)[level:], name][0]].append(name)
        given = {part: slots * len(found) // len(names) for part, found in parts.items()}
        rests = {part: slots * len(found) % len(names) for part, found in parts.items()}
        by_rest = sorted(parts, key=lambda part: (-rests[part], self.place(part)))
        for part in by_rest[: slots - sum(given.values())]:
            given[part] += 1
        return [c for part, found in parts.items() if given[part] for c in self._fill(found, given[part], level + 1)]

    def groups(self, users, k):
        """MDAV: lists of numbers of users, each led by the one it was built around."""
        profiles = [[self.means[query] for query in queries] for queries in users]
        left = list(range(len(users)))
        found = []

        def group_around(source):
            others = sorted((self.distance(profiles[source], profiles[i]), i) for i in left if i != source)
            found.append([source, *(i for _, i in others[: k - 1])])
            left[:] = [i for i in left if i not in found[-1]]

        def farthest(profile):
            return max(left, key=lambda i: (self.distance(profiles[i], profile), -i))

        while len(left) >= 2 * k:
            twice = len(left) >= 3 * k
            source = farthest([(name,) for name in self.centroid([profiles[i] for i in left])])
            group_around(source)
            if twice:
                group_around(farthest(profiles[source]))
        return [*found, left]

    def profile(self, users, key):
        """The synthetic queries of a group; `key` breaks ties between queries that as many users typed."""
        members = Counter(query for queries in users for query in set(queries))
        chosen = []
        for name in self.centroid([[self.means[query] for query in queries] for queries in users]):
            candidates = [query for query in members if self.means[query][0] == name]
            chosen.append(min(candidates, key=lambda query: (-members[query], key(query), query)))
        return chosen
