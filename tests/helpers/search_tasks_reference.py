"""completion and train_on_release in plain Python: one query, one user, one word at a time."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl

from coterie.text.language import language


def reciprocal_rank(query, log, profile=None, letters=3, first=10):
    """1 / rank of the query among the strings of a log that begin alike, over all orders of equals."""
    counts, own = Counter(log), Counter(profile or [])
    share = {
        item: Fraction(n, len(log)) + (Fraction(own[item], len(profile)) if profile else 0)
        for item, n in counts.items()
        if item[:letters] == query[:letters] and len(item) > letters
    }
    if query not in share:
        return 0
    better = sum(each > share[query] for each in share.values())
    alike = [item for item in share if share[item] == share[query]]
    ranks = [better + 1 + order.index(query) for order in permutations(alike)]
    return sum(Fraction(1, rank) if rank <= first else 0 for rank in ranks) / len(ranks)


def stems(items):
    """How often each stem stands in strings."""
    spoken = language("english")
    words = [word for item in items for word in spoken.pieces(pl.Series([item]))[0] if word not in spoken.stop_words]
    return Counter(spoken.stems(pl.Series(words, dtype=pl.String)).to_list())


def ndcg(scores, known, truth):
    """nDCG@100 of words by their scores, the first in the alphabet before others with the same."""
    ranked = sorted((-score, word) for word, score in scores.items() if word not in known and score > 0)[:100]
    gain = sum(1 / math.log2(place + 2) for place, (_, word) in enumerate(ranked) if word in truth)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(len(truth), 100)))


def model(profiles):
    """What is learnt from profiles (Counters of stems) of fewer than 24 users: idf, popularity, and a matrix."""
    having = Counter(word for profile in profiles for word in profile)
    words = sorted(word for word, n in having.items() if n >= 2)
    idf = {word: 1 + math.log((1 + len(profiles)) / (1 + having[word])) for word in words}
    rows = [weights(profile, idf) for profile in profiles]
    matrix = np.array([[row.get(word, 0) for word in words] for row in rows]).reshape(len(rows), len(words))
    span = np.linalg.pinv(matrix, rcond=1e-5) @ matrix  # all directions, so V Vᵀ is the projection on the rows
    most = max(having.values(), default=1)
    return words, idf, {word: having[word] / most for word in words}, span


def weights(profile, idf):
    raw = {word: (1 + math.log(n)) * idf[word] for word, n in profile.items() if word in idf}
    length = math.sqrt(sum(value**2 for value in raw.values()))
    return {word: float(np.float32(value / length)) for word, value in raw.items()}


def train_on_release(earlier, later, released, part):
    """Mean nDCG in percent of the model, of model and popularity, and of popularity; `part` of each user."""
    before, after = ({user: stems(items) for user, items in log.items()} for log in (earlier, released))
    users_of = Counter(word for profile in before.values() for word in profile)
    found = []
    for user in sorted(earlier):
        truth = {word for word in stems(later.get(user, [])) if word not in before[user] and users_of[word] >= 2}
        if not truth:
            continue
        words, idf, popular, span = model([after[other] for other in sorted(after) if part[other] != part[user]])
        given = weights(before[user], idf)
        expected = np.round(span @ [given.get(word, 0) for word in words], 6) if words else []
        scores = dict(zip(words, expected, strict=True))
        largest = max([*scores.values(), 1e-12])
        together = {word: score / largest + popular[word] for word, score in scores.items()}
        found.append([ndcg(each, before[user], truth) for each in (scores, together, popular)])
    return 100 * np.mean(found, axis=0), len(found)
