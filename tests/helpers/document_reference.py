"""Plain Python version of microaggregated documents (paper 004): slow, obvious, and the oracle of the tests.

A document is a list of (term, weight). `means[term]` are the concepts that a term can mean; what several documents have
in common is a list of (concept, weight), and a concept means itself. `parent` are the parents of concepts, -1 for the
root 0. Concepts are numbers, terms are texts.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import inf

UNIT = 2**50  # distances are whole parts of this, so that ties are ties
EPSILON = 1e-6


class Reference:
    def __init__(self, parent, means):
        self.parent, self.means = list(map(int, parent)), means
        self.best = cache(self.best)

    def path(self, concept):
        """From the root to a concept."""
        found = [concept]
        while self.parent[found[-1]] >= 0:
            found.append(self.parent[found[-1]])
        return found[::-1]

    def senses(self, term):
        return self.means[term] if isinstance(term, str) else (term,)

    def best(self, a, b):
        """How alike two terms are, and what they have in common."""
        found = []
        for one in self.senses(a):
            for other in self.senses(b):
                above, beside = self.path(one), self.path(other)
                both = [x for x, y in zip(above, beside, strict=False) if x == y]
                found.append((Fraction(2 * len(both), len(above) + len(beside)), len(both), -both[-1]))
        similarity, _, concept = max(found)
        return similarity, -concept

    def cost(self, a, b):
        return int((1 - self.best(a, b)[0]) * UNIT + Fraction(1, 2))

    def matched(self, a, b, ties):
        """The costs of the terms of two vectors, square, and which of b is the partner of each of a."""
        n = max(len(a), len(b))
        costs = [[UNIT] * n for _ in range(n)]
        for i, (term, weight) in enumerate(a):
            for j, (other, beside) in enumerate(b):
                costs[i][j] = self.cost(term, other)
                if ties:
                    costs[i][j] += round(EPSILON * UNIT * min(weight, beside) * abs(weight - beside))
        return costs, cheapest(costs)

    def distance(self, a, b):
        n = max(len(a), len(b))
        costs, partner = self.matched(a, b, ties=False)
        return float(sum(costs[i][partner[i]] for i in range(n))) / float(n * UNIT) if n else 0.0

    def common(self, documents):
        """What documents have in common, folded in their order."""
        first, *others = documents
        if not others:
            return [(self.best(term, term)[1], weight) for term, weight in first]
        found = list(first)
        for step, document in enumerate(others, 1):
            _, partner = self.matched(found, document, ties=True)
            found = [
                (self.best(term, document[j][0])[1], (weight * step + document[j][1]) / (step + 1))
                for (term, weight), j in zip(found, partner, strict=False)
                if j < len(document)
            ]
        return found

    def groups(self, documents, k, centre=0):
        """MDAV: lists of numbers of documents, each led by the one it was built around."""
        left, found = list(range(len(documents))), []

        def group_around(source):
            others = sorted((self.distance(documents[source], documents[i]), i) for i in left if i != source)
            found.append([source, *(i for _, i in others[: k - 1])])
            left[:] = [i for i in left if i not in found[-1]]

        def farthest(vector):
            return max(left, key=lambda i: (self.distance(vector, documents[i]), -i))

        while len(left) >= 2 * k:
            twice = len(left) >= 3 * k
            source = farthest(self.common([documents[i] for i in left[: centre or None]]))
            group_around(source)
            if twice:
                group_around(farthest(documents[source]))
        return [*found, left]


def cheapest(costs):
    """The column of each row in the cheapest assignment: the Hungarian algorithm, as textbooks have it."""
    n = len(costs)
    rows, columns, row_of, before = [0] * (n + 1), [0] * (n + 1), [0] * (n + 1), [0] * (n + 1)
    for row in range(1, n + 1):
        row_of[0], here = row, 0
        least, used = [inf] * (n + 1), [False] * (n + 1)
        while True:
            used[here] = True
            gap, there = inf, 0
            for j in range(1, n + 1):
                if not used[j]:
                    way = costs[row_of[here] - 1][j - 1] - rows[row_of[here]] - columns[j]
                    if way < least[j]:
                        least[j], before[j] = way, here
                    if least[j] < gap:
                        gap, there = least[j], j
            for j in range(n + 1):
                if used[j]:
                    rows[row_of[j]] += gap
                    columns[j] -= gap
                else:
                    least[j] -= gap
            here = there
            if row_of[here] == 0:
                break
        while here:
            row_of[here] = row_of[before[here]]
            here = before[here]
    column = [0] * n
    for j in range(1, n + 1):
        column[row_of[j] - 1] = j - 1
    return column
