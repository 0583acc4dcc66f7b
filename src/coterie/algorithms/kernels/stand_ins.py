"""Which chosen event each event stands behind: the nearest one, by the distance of events (paper 000).

A word is compared with each word of the chosen events once, if at all. Ties go to the smallest index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.algorithms.kernels._arrays import Floats, Ints, Short
from coterie.algorithms.kernels._jit import inlined, jit, uncounted
from coterie.algorithms.kernels.hausdorff import (
    INFINITE,
    EventArrays,
    Workspace,
    domain_distance,
    event_value,
    exact_code,
    high_code,
    length_distance,
    lowest_code,
    number_distance,
    others_distance,
)

_NEAR_FIRST = 3  # candidates that are tried before the others


class Assignment(NamedTuple):
    """Which chosen event each event stands behind."""

    near: Ints
    """-1 where that is not known yet."""
    gap: Floats
    """The distance to it; -1 for chosen events."""
    mark: Ints
    """1 chosen, 2 chosen before."""
    slot: Ints
    """The number of a chosen event among the chosen ones."""


def new_assignment(n_events: int) -> Assignment:
    """An assignment in which nothing is known yet."""
    return Assignment(
        np.full(n_events, -1, dtype=np.int64),
        np.zeros(n_events, dtype=np.float64),
        np.zeros(n_events, dtype=np.int64),
        np.zeros(n_events, dtype=np.int64),
    )


class _Candidates(NamedTuple):
    """Chosen events side by side, so that all of them stay in the fastest memory."""

    event: Ints
    query: Ints
    length: Ints
    time: Ints
    rank: Ints
    host: Ints
    depth: Ints
    word_start: Ints
    words: Ints
    """Columns of the distinct words of each."""
    apart: Floats
    """Room for the distance of each one to an event without that of the words, times 6; infinite once it was tried."""


class _WordTable(NamedTuple):
    """Distances of the words of some events from those of chosen ones."""

    row: Ints
    """Of each word of the events."""
    word: Ints
    """Of each column."""
    known: Short
    """0 where nothing is known; the code of a distance, plus 1; or of one that it is not below, plus 1, times -1."""


@jit
def _candidates(chosen: Ints, column: Ints, events: EventArrays) -> _Candidates:
    """`column` is that of each word, -1 where it has none yet: words of the chosen events get columns."""
    query = events.query[chosen]
    start = np.zeros(chosen.size + 1, dtype=np.int64)
    for i in range(chosen.size):
        start[i + 1] = start[i] + events.query_start[query[i] + 1] - events.query_start[query[i]]
    words = np.empty(start[-1], dtype=np.int64)
    count = column.max() + 1 if column.size else 0
    for i in range(chosen.size):
        for j in range(start[i + 1] - start[i]):
            word = events.query_words[events.query_start[query[i]] + j]
            if column[word] < 0:
                column[word] = count
                count += 1
            words[start[i] + j] = column[word]
    return _Candidates(
        chosen, query, events.length[chosen], events.time[chosen], events.rank[chosen], events.host[chosen],
        events.depth[chosen], start, words, np.empty(chosen.size, dtype=np.float64),
    )  # fmt: skip


@jit
def _word_table(members: Ints, column: Ints, events: EventArrays) -> _WordTable:
    """A table in which nothing is known yet."""
    row = np.full(column.size, -1, dtype=np.int64)
    rows = 0
    for u in members:
        for run in range(events.user_runs[u], events.user_runs[u + 1]):
            query = events.query[events.run_start[run]]
            for i in range(events.query_start[query], events.query_start[query + 1]):
                if row[events.query_words[i]] < 0:
                    row[events.query_words[i]] = rows
                    rows += 1
    word = np.empty(column.max() + 1 if column.size else 0, dtype=np.int64)
    for i in range(column.size):
        if column[i] >= 0:
            word[column[i]] = i
    return _WordTable(row, word, np.zeros((rows, word.size), dtype=np.int32))


@inlined
def _code_in(
    word: int, column: int, best: int, table: _WordTable, events: EventArrays, workspace: Workspace
) -> int:  # fmt: skip
    """The code of the distance of two words, or any code >= best where it is not below best."""
    row = table.row[word]
    held = np.int64(table.known[row, column])
    if held > 0:
        return int(held - 1)
    other = table.word[column]
    if held == 0:
        held = np.int64(-1 - lowest_code(word, other, events))
        table.known[row, column] = held
    if -1 - held >= best:
        return int(-1 - held)
    code = exact_code(word, other, events, workspace)
    table.known[row, column] = code + 1
    return int(code)


@inlined
def _words_code(
    query: int, i: int, high: int, candidates: _Candidates, table: _WordTable, events: EventArrays, workspace: Workspace
) -> int:
    """The code of the Hausdorff distance of the words of a query and of a candidate; -1 where it exceeds high."""
    p0, p1 = events.query_start[query], events.query_start[query + 1]
    q0, q1 = candidates.word_start[i], candidates.word_start[i + 1]
    if p0 == p1 or q0 == q1:
        return 0 if p1 - p0 == q1 - q0 else events.fractions.size - 1
    running = int(np.int64(0))
    for p in range(p0, p1):
        best = high + 1
        for q in range(q0, q1):
            best = min(best, _code_in(events.query_words[p], candidates.words[q], best, table, events, workspace))
            if best <= running:
                break
        if best > high:
            return -1
        running = max(running, best)
    for q in range(q0, q1):
        best = high + 1
        for p in range(p0, p1):
            best = min(best, _code_in(events.query_words[p], candidates.words[q], best, table, events, workspace))
            if best <= running:
                break
        if best > high:
            return -1
        running = max(running, best)
    return running


@inlined
def _try(
    e: int, i: int, candidates: _Candidates, table: _WordTable, events: EventArrays, workspace: Workspace,
    assignment: Assignment,
) -> None:  # fmt: skip
    """Let an event stand behind a candidate with another query, if that is nearer."""
    near, gap, widths = assignment.near, assignment.gap, events.widths
    rest = 6.0 * gap[e] + 1e-9 - candidates.apart[i]  # what the words may add
    high = high_code(rest / widths[5], events)
    code = _words_code(events.query[e], i, high, candidates, table, events, workspace)
    if code >= 0:
        c = candidates.event[i]
        d = event_value(
            others_distance(e, c, events), length_distance(e, c, events), events.fractions[code], widths
        )  # fmt: skip
        if d < gap[e] or (d == gap[e] and c < near[e]):
            near[e], gap[e] = c, d


@uncounted
def _offer(
    e: int, candidates: _Candidates, table: _WordTable, events: EventArrays, workspace: Workspace,
    assignment: Assignment,
) -> None:  # fmt: skip
    """Let an event stand behind the nearest candidate, if that is nearer than what it stands behind.

    Candidates with the same query come first, then a few that are near but for the words: the sooner one is near, the
    less is computed of the others.
    """
    near, gap, widths, apart = assignment.near, assignment.gap, events.widths, candidates.apart
    time, rank, host, depth = events.time[e], events.rank[e], events.host[e], events.depth[e]
    query, words = events.query[e], events.length[e]
    for i in range(apart.size):
        others = number_distance(time, candidates.time[i], widths[0])
        others += number_distance(rank, candidates.rank[i], widths[1])
        others += domain_distance(host, depth, candidates.host[i], candidates.depth[i], events)
        if candidates.query[i] == query:
            c, d = candidates.event[i], event_value(others, 0.0, 0.0, widths)
            if d < gap[e] or (d == gap[e] and c < near[e]):
                near[e], gap[e] = c, d
            apart[i] = INFINITE
        else:
            apart[i] = others + widths[4] * number_distance(words, candidates.length[i], widths[2])
    tried, at = int(np.int64(0)), int(np.int64(0))
    while True:
        if tried < _NEAR_FIRST:
            i = int(np.argmin(apart)) if apart.size else at
            tried += 1
        else:
            while at < apart.size and not apart[at] < 6.0 * gap[e] + 1e-9:
                at += 1
            i = at
        if i == apart.size or not apart[i] < 6.0 * gap[e] + 1e-9:
            return
        _try(e, i, candidates, table, events, workspace, assignment)
        apart[i] = INFINITE


@jit
def assign(
    members: Ints, chosen: Ints, before: Ints, events: EventArrays, workspace: Workspace, assignment: Assignment
) -> None:
    """Step 4 of C: the nearest chosen event of each event, given that of an earlier choice."""
    near, gap, mark = assignment.near, assignment.gap, assignment.mark
    for c in before:
        mark[c] = 2
    added = np.empty(chosen.size, dtype=np.int64)
    n_added = 0
    for c in chosen:
        if mark[c] != 2:
            added[n_added] = c
            n_added += 1
        mark[c] = 1
    column = np.full(events.letters.size, -1, dtype=np.int64)
    everything, new = _candidates(chosen, column, events), _candidates(added[:n_added], column, events)
    table = _word_table(members, column, events)
    for u in members:
        for e in range(events.user_start[u], events.user_start[u + 1]):
            if mark[e] == 1:
                near[e], gap[e] = e, -1.0
            elif near[e] < 0 or mark[near[e]] == 2:
                near[e], gap[e] = -1, INFINITE
                _offer(e, everything, table, events, workspace, assignment)
            else:
                _offer(e, new, table, events, workspace, assignment)
    for c in before:
        if mark[c] == 2:
            mark[c] = 0


@jit
def assign_strings(members: Ints, chosen: Ints, events: EventArrays, assignment: Assignment) -> None:
    """The cheaper step 4: an event stands behind the first chosen event with its query string."""
    first = {np.int64(-1): np.int64(-1)}
    for c in chosen:
        if events.query[c] not in first:
            first[events.query[c]] = c
    for u in members:
        for e in range(events.user_start[u], events.user_start[u + 1]):
            assignment.near[e] = first.get(events.query[e], np.int64(-1))
