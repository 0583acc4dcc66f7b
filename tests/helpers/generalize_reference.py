"""Generalization as paper 001 has it, with sets and recursion: slow, obvious, the oracle of the fast versions.

A tree is a list of parents, -1 for the root; queries and records are sets of concepts.
"""

from __future__ import annotations


def children_of(parent):
    children = {c: [] for c in range(len(parent))}
    for c, above in enumerate(parent):
        if above >= 0:
            children[above].append(c)
    return children


def way(parent, concept):
    """A concept and all above it, the root last."""
    found = [concept]
    while parent[found[-1]] >= 0:
        found.append(parent[found[-1]])
    return found


def leaves_of(parent):
    """The number of leaves at or below each concept."""
    children = children_of(parent)
    return [sum(c in way(parent, leaf) for leaf in children if not children[leaf]) for c in range(len(parent))]


# --- single queries (7.3) --------------------------------------------------------------------------


def walk(parent, queries):
    """Where each query ends; None for a query without concepts."""
    children, ends = children_of(parent), [None] * len(queries)

    def at(concept, members):
        candidates = {
            q: {d for d in children[concept] if any(d in way(parent, c) for c in queries[q])} for q in members
        }
        support = {d: sum(d in found for found in candidates.values()) for d in children[concept]}
        for q in members:
            ends[q] = concept
        chosen = {q: min(found, key=lambda d: (-support[d], d)) for q, found in candidates.items() if found}
        for d in children[concept]:
            at(d, [q for q in members if chosen.get(q) == d])

    at(0, [q for q, concepts in enumerate(queries) if concepts])
    return ends


def rise(parent, ends, people, k):
    """What each query is released as, or None: the left-over of a concept rises if it has fewer than k people."""
    children, into = children_of(parent), [None] * len(ends)

    def left_over(concept):
        rest = [q for q, end in enumerate(ends) if end == concept]
        for d in children[concept]:
            rest += left_over(d)
        if len(set().union(*(people[q] for q in rest))) < k:
            return rest
        for q in rest:
            into[q] = concept
        return []

    left_over(0)
    return into


# --- users (7.2) -------------------------------------------------------------------------------------


def partition(parent, records, k):
    """Pairs (members, released concepts). An item that is no leaf is a leaf ("self", concept) below its concept."""
    children, leaves = children_of(parent), leaves_of(parent)
    done = []

    def under(node, record):
        if isinstance(node, tuple):
            return {c for c in records[record] if c == node[1]}
        return {c for c in records[record] if node in way(parent, c)}

    def below(node, record):
        found = {("self", node)} if node in records[record] else set()
        return frozenset(found | {d for d in children[node] if under(d, record)})

    def anonymise(members, cut, closed):
        gains = {
            node: leaves[node] * sum(len(under(node, r)) for r in members)
            for node in cut
            if not isinstance(node, tuple) and children[node] and node not in closed
        }
        if not gains:
            done.append((members, {node[1] if isinstance(node, tuple) else node for node in cut}))
            return
        node = min(gains, key=lambda n: (-gains[n], n))
        groups = {}
        for r in members:
            groups.setdefault(below(node, r), []).append(r)
        kept = {touched: some for touched, some in groups.items() if len(some) >= k}
        rest = [r for touched, some in groups.items() if touched not in kept for r in some]
        if kept and 0 < len(rest) < k:
            spare = sum(len(some) - k for some in kept.values())
            if len(rest) + spare >= k:
                while len(rest) < k:
                    loose = [(len(under(node, r)), r, some) for some in kept.values() if len(some) > k for r in some]
                    _, r, some = min(loose, key=lambda each: each[:2])
                    some.remove(r)
                    rest.append(r)
            else:
                first = {touched: min(groups[touched]) for touched in kept}
                least = min(kept, key=lambda t: (sum(len(under(node, r)) for r in kept[t]), first[t]))
                rest += kept.pop(least)
        if rest:
            anonymise(sorted(rest), cut, closed | {node})
        for touched, some in kept.items():
            anonymise(some, (cut - {node}) | touched, closed)

    if len(records) >= k:
        anonymise(list(range(len(records))), frozenset({0}), frozenset())
    return done


def common_cut(parent, records):
    """The most specific concepts that cover all items of the records, each of them for every record."""
    children = children_of(parent)

    def below(node):
        touched = [
            frozenset({node} & record) | {d for d in children[node] if any(d in way(parent, c) for c in record)}
            for record in records
        ]
        if not children[node] or len(set(touched)) > 1:
            return {node}
        return {c for d in touched[0] for c in (below(d) if d != node else {node})}

    return below(0)


# --- certainty penalty (2.6) ----------------------------------------------------------------------------


def penalty(parent, words, released):
    """The cost of one query: `words` are the concept of each word, or None; `released` the concepts in its place."""
    leaves = leaves_of(parent)
    total = 0.0
    for concept in words:
        covering = [v for v in released if concept is not None and v in way(parent, concept)]
        total += min((0.0 if leaves[v] == 1 else leaves[v] / leaves[0] for v in covering), default=1.0)
    return total
