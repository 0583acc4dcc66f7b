"""The attacks in plain Python, written from their descriptions: slow, obvious, and the oracle of the tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from math import log1p, sqrt

from coterie.text.language import language


def keywords(query):
    return frozenset(query.split(" ")) - language("english").stop_words - {""}


def linkage(learnt, profiles, own):
    """The chance that the best name for the `learnt` queries is one of `own`; profiles: name -> set of queries."""
    words = {name: frozenset().union(*map(keywords, queries)) for name, queries in profiles.items()}

    def weight(text, of):
        return round(1_000_000 * log1p(len(of) / sum(text in texts for texts in of.values())))

    def rank(name):
        by_query = sum(weight(query, profiles) for query in learnt if query in profiles[name])
        known = frozenset().union(*map(keywords, learnt))
        by_word = sum(weight(word, words) for word in known if word in words[name])
        return by_query, by_word, -len(profiles[name])

    ranks = {name: rank(name) for name in profiles}
    best = [name for name in profiles if ranks[name] == max(ranks.values())]
    return Fraction(sum(name in own for name in best), len(best))


def similarity(query, past, alpha=0.6):
    """SimAttack's similarity for sets of keywords."""
    cosines = sorted(len(query & q) / sqrt(len(query) * len(q)) if query and q else 0.0 for q in past)
    smoothed = cosines[0]
    for s in cosines[1:]:
        smoothed = alpha * s + (1 - alpha) * smoothed
    return smoothed


def simattack(known, targets):
    """For each target about which there is a guess, its place and how right it is for each of the users behind it.

    known: user -> keyword sets. targets: (keyword sets, users behind it, number of names that look like it).
    """
    guesses = {}
    for place, (queries, owners, names) in enumerate(targets):
        votes = Counter()
        for query in queries:
            fits = {user: similarity(query, past) for user, past in known.items() if past}
            total = sum(fits.values())
            for user, fit in fits.items():
                if fit:
                    votes[user] += fit / total
        if votes:
            rounded = {user: round(vote, 9) for user, vote in votes.items()}
            best = [user for user in rounded if rounded[user] == max(rounded.values())]
            guesses[place] = {user: (user in best) / len(best) / names for user in owners}
    return guesses


def profile_targets(ends, names):
    """Targets of a release with names. ends: name -> attacked queries. names: user -> her names."""
    looks = defaultdict(list)
    for name, queries in ends.items():
        looks[tuple(sorted(tuple(sorted(keywords(q))) for q in queries))].append(name)
    targets = []
    for look, alike in looks.items():
        owners = {user for user, own in names.items() if own & set(alike)}
        if owners:
            targets.append(([frozenset(q) for q in look], owners, len(alike)))
    return targets


def witness(user, profiles, released, own):
    """What a witness may learn about a user: for each query she may have seen, (its names, expected queries read).

    profiles: user -> set of queries; released: name -> set of queries; own: the names of the user.
    """
    found = []
    for query in profiles[user]:
        names = [name for name, queries in released.items() if query in queries]
        if names:
            read = sum(len((released[name] & profiles[user]) - {query}) for name in names if name in own)
            found.append((len(names), read / len(names), len(names) == 1 and names[0] in own))
    fewest = min((n for n, _, _ in found), default=0)
    return [(unique, read) for n, read, unique in found if n == fewest] or [(False, 0.0)]
