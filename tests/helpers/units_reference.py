"""Attacks on what a release links, in plain Python: slow, obvious, and the oracle of the tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise
from math import log, sqrt

from coterie.text.language import language

STOP_WORDS = language("english").stop_words


def words(query):
    return sorted(set(query.split(" ")) - STOP_WORDS - {""})


def found_by(units, clue, day=None):
    """The units that have all queries of a clue; on that day or without one, if it is given.

    units: number -> list of (query, day).
    """
    if day is None:
        return [unit for unit, rows in units.items() if set(clue) <= {query for query, _ in rows}]
    return [unit for unit, rows in units.items() if any((q, d) in {(clue[0], day), (clue[0], None)} for q, d in rows)]


def witness(searches, units, owner, person, kind):
    """1 / people behind the units that fit if the person is one of them, mean over searches, (query, day) in time."""
    if kind == "two_queries":
        clues = [((a, b), None) for (a, _), (b, _) in pairwise(searches) if a != b]
    else:
        clues = [((query,), day if kind == "query_and_day" else None) for query, day in searches]
    behind = [{owner[unit] for unit in found_by(units, clue, day)} for clue, day in clues]
    return sum(Fraction(person in people, len(people)) for people in behind if people) / len(behind) if behind else None


def two_words(one, two, rows):
    """The people behind rows (person, query) that have both words, and the further words in these rows."""
    fits = [(person, query) for person, query in rows if {one, two} <= set(words(query))]
    further = {word for _, query in fits for word in words(query)} - {one, two}
    return {person for person, _ in fits}, further


def one_user_share(rows, released):
    """(distinct, rows): what one person alone typed, of released queries. rows: (person, query)."""
    people = defaultdict(set)
    for person, query in rows:
        people[query].add(person)
    alone = {query for query in people if len(people[query]) == 1}
    times = Counter(released)
    return (
        Fraction(sum(query in alone for query in times), len(times)),
        Fraction(sum(n for query, n in times.items() if query in alone), sum(times.values())),
    )


def vectors(texts):
    """TF-IDF vectors of length 1 of lists of terms; terms that all have weigh nothing."""
    having = Counter(term for terms in texts for term in set(terms))
    result = []
    for terms in texts:
        raw = {term: (1 + log(n)) * log(len(texts) / having[term]) for term, n in Counter(terms).items()}
        length = sqrt(sum(weight**2 for weight in raw.values()))
        result.append({term: weight / length if length else 0.0 for term, weight in raw.items()})
    return result


def cosine(one, other):
    return sum(weight * other.get(term, 0.0) for term, weight in one.items())


def reciprocal_rank(scores, wanted, first=10):
    """1 / rank of what is wanted, up to some rank: the mean over all orders of equals."""
    if wanted not in scores:
        return 0.0
    better = sum(score > scores[wanted] for score in scores.values())
    alike = sum(score == scores[wanted] for score in scores.values())
    return sum(1 / rank if rank <= first else 0 for rank in range(better + 1, better + alike + 1)) / alike


def clicks(query, host, clicked, near=15):
    """MRR@10 of a clicked host; clicked: list of (query, host)."""
    base = sorted({q for q, _ in clicked})
    known = {term for q in base for term in words(q)}
    having = Counter(term for q in base for term in set(words(q)))
    idf = {term: log(len(base) / having[term]) for term in known}

    def vector(text):
        raw = {term: idf[term] for term in words(text) if term in known}
        length = sqrt(sum(weight**2 for weight in raw.values()))
        return {term: weight / length if length else 0.0 for term, weight in raw.items()}

    similar = [(cosine(vector(query), vector(q)), -place) for place, q in enumerate(base)]
    nearest = sorted((pair for pair in similar if pair[0] > 0), reverse=True)[:near]
    scores = defaultdict(float)
    for cos, place in nearest:
        hosts = Counter(h for q, h in clicked if q == base[-place])
        for each, n in hosts.items():
            scores[each] += cos * n / sum(hosts.values())
    return reciprocal_rank({each: round(score, 9) for each, score in scores.items()}, host)
