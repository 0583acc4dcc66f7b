"""Plain Python of k_θ-affinity (paper 001), by definition: all pairs, cores by removing what does not fit.

Rows are (user, time, query, ...). Slow and obvious on purpose: the oracle of coterie.affine_queries, of its kernels
and of the verifier.
"""

from collections import Counter, defaultdict
from math import log2, sqrt

from coterie.text.language import language

FUNCTION_WORDS = language("english").function_words


def grams(query):
    """The n-grams of a query, n = 1..3, with repetitions."""
    words = [word for word in query.split(" ") if word]
    return [tuple(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)]


def users_of(rows):
    """Query -> its users; rows without a user are nobody's."""
    found = defaultdict(set)
    for user, _, query, *_ in rows:
        if user is not None:
            found[query].add(user)
    return dict(found)


def events_of(rows):
    """Query -> its events: distinct (user, time); rows without a time are all different."""
    seen, count = set(), Counter()
    for at, (user, time, query, *_) in enumerate(rows):
        key = (user, query, at if time is None else time, time is None)
        if user is not None and key not in seen:
            seen.add(key)
            count[query] += 1
    return count


def weights(rows, min_users=0, function_words=FUNCTION_WORDS):
    """Step 6.2: the n-grams that are concepts, with their weights."""
    users, events = users_of(rows), events_of(rows)
    people = len(set().union(*users.values())) if users else 0
    tau = min_users or max(2, people // 10_000)
    occurrences, containing, owners, totals = Counter(), Counter(), defaultdict(set), Counter()
    for query, count in events.items():
        for gram in grams(query):
            occurrences[gram] += count
            totals[len(gram)] += count
            owners[gram] |= users[query]
        for gram in set(grams(query)):
            containing[gram] += count

    def p(*gram):
        return occurrences[gram] / totals[len(gram)]

    def weight(gram):
        if len(gram) == 1:
            return log2(containing[gram] + 1)
        if len(gram) == 2:
            x, y = gram
            return log2(p(x, y) / (p(x) * p(y)) + 1)
        x, y, z = gram
        return log2(p(x, y, z) / (p(x) * p(y) * p(z) + p(x) * p(y, z) + p(x, y) * p(z)) + 1)

    kept = [g for g in owners if len(owners[g]) >= tau and not set(g) <= function_words]
    return {gram: weight(gram) for gram in kept}, {g[0]: len(o) for g, o in owners.items() if len(g) == 1}


def cosine(a, b):
    """Cosine of two vectors, given as n-gram -> weight."""
    dot = sum(a[gram] * b[gram] for gram in a.keys() & b.keys())
    return dot / sqrt(sum(w * w for w in a.values()) * sum(w * w for w in b.values()))


def affine(a, b, theta):
    return cosine(a, b) >= theta - 1e-9


def vectors(rows, min_users=0, min_term_users=2, function_words=FUNCTION_WORDS):
    """Step 6.3: the queries in the graph and their vectors; and the queries with a word of too few users."""
    concept, word_users = weights(rows, min_users, function_words)
    expanded, rare = {}, set()
    for query in users_of(rows):
        found = set(grams(query))
        if any(word_users[gram[0]] < min_term_users for gram in found if len(gram) == 1):
            rare.add(query)
        elif found & concept.keys():
            expanded[query] = {gram: concept[gram] for gram in found & concept.keys()}
    return expanded, rare


def degree_in(v, members, neighbours, users):
    """Distinct users in the closed neighbourhood of v inside `members`, minus one."""
    return len(set(users[v]).union(*(users[w] for w in neighbours[v] if w in members))) - 1


def cores(neighbours, users, allowed=None):
    """Core number of each vertex: the largest k whose core it is in. `allowed[v]` is the last level v may stay at."""
    core = dict.fromkeys(neighbours, 0)
    members, k = set(neighbours), 0
    while members:
        k += 1
        if allowed is not None:
            members = {v for v in members if allowed[v] >= k}
        while poor := {v for v in members if degree_in(v, members, neighbours, users) < k}:
            members -= poor
        for v in members:
            core[v] = k
    return core


def graph(expanded, theta):
    """Step 6.4: query -> its affine queries."""
    return {q: {r for r in expanded if r != q and affine(expanded[q], expanded[r], theta)} for q in expanded}


def degrees(
    rows, theta=0.9, min_users=0, min_term_users=2, strict=False, max_degree=None, function_words=FUNCTION_WORDS
):
    """Anonymity degree of each query."""
    users = users_of(rows)
    expanded, rare = vectors(rows, min_users, min_term_users, function_words)
    return _degrees(users, cores(graph(expanded, theta), users), rare if strict else (), max_degree)


def _degrees(users, core, refused, max_degree):
    found = {}
    for query, people in users.items():
        degree = core.get(query, 0) + 1
        capped = degree if max_degree is None else min(degree, max_degree)
        found[query] = 0 if query in refused else max(len(people), capped)
    return found


def approximate_degrees(rows, v_max, theta=0.9, min_users=0, min_term_users=2, strict=False):
    """Step 6.5, on distinct vectors: the core of each in the part of the graph that growth from it reaches.

    Afterwards a query leaves the levels at which those that cover it left, so that covers are inside the release.
    """
    users = users_of(rows)
    expanded, rare = vectors(rows, min_users, min_term_users)
    twins = defaultdict(list)
    for query in sorted(expanded):
        twins[frozenset(expanded[query])].append(query)
    names = [members[0] for members in twins.values()]
    vectors_ = {name: expanded[name] for name in names}
    people = {name: set().union(*(users[q] for q in twins[frozenset(expanded[name])])) for name in names}
    near = graph(vectors_, theta)
    local = {}
    for name in names:
        part = grow(name, near, v_max)
        local[name] = cores({v: near[v] & part for v in part}, people)[name]
    final = cores(near, people, allowed=local)
    core = {query: final[name] for name in names for query in twins[frozenset(expanded[name])]}
    return _degrees(users, core, rare if strict else (), None)


def grow(start, neighbours, v_max):
    """Breadth-first growth, neighbours in byte order, until closed or v_max vertices."""
    order = [start]
    for v in order:
        for w in sorted(neighbours[v]):
            if len(order) == v_max:
                return set(order)
            if w not in order:
                order.append(w)
    return set(order)
