"""What is known of people, added to the scores of the names it points to.

Clues stand one after the other, those of a user together and in the order in which they are learnt: `position` says
when, `text` which one it is. A text points to `name` from of_text[text] to of_text[text + 1], each time with `weight`.

Which subjects are the only ones to have some pair of items.

A subject u has the items I(u). A pair a, b of I(u) singles u out when no other subject has both. It is enough to
look, for each a, at the other owners of a: u is singled out iff for some a they do not cover I(u) \\ {a} with b at
least as frequent as a (the rarer item of the pair plays a).
"""

from __future__ import annotations

import numpy as np

from coterie.algorithms.kernels._arrays import Flags, Ints, Short
from coterie.algorithms.kernels._jit import jit


@jit
def add(
    begin: int, end: int, upto: int, position: Ints, text: Ints, of_text: Ints, name: Ints, weight: Ints, scores: Ints
) -> int:
    """Add the clues from `begin` on that are learnt by `upto`; the first one that is not, or `end`."""
    while begin < end and position[begin] <= upto:
        known = text[begin]
        for place in range(of_text[known], of_text[known + 1]):
            scores[name[place]] += weight[known]
        begin += 1
    return begin


@jit
def best_names(
    of_user: Ints, position: Ints, text: Ints, of_text: Ints, name: Ints, weight: Ints, amounts: Ints, size: Ints
) -> Ints:
    """For each kind of clue, user and amount of knowledge the name with the highest score of that kind.

    Among equals the one with the highest sum over all kinds, then the smallest one, then the first. of_user[kind, user]
    is where the clues of a user begin; amounts[user, column] grow from column to column.
    """
    kinds, users, columns = of_user.shape[0], amounts.shape[0], amounts.shape[1]
    chosen = np.zeros((kinds, users, columns), dtype=np.int64)
    scores = np.zeros((kinds, size.size), dtype=np.int64)
    total = np.zeros(size.size, dtype=np.int64)
    for user in range(users):
        scores[:] = 0
        begin = of_user[:, user].copy()
        for column in range(columns):
            total[:] = 0
            for kind in range(kinds):
                begin[kind] = add(
                    begin[kind], of_user[kind, user + 1], amounts[user, column],
                    position, text, of_text, name, weight, scores[kind],
                )  # fmt: skip
                total += scores[kind]
            for kind in range(kinds):
                score, best = scores[kind], 0
                for other in range(1, size.size):
                    if score[other] != score[best]:
                        better = score[other] > score[best]
                    elif total[other] != total[best]:
                        better = total[other] > total[best]
                    else:
                        better = size[other] < size[best]
                    if better:
                        best = other
                chosen[kind, user, column] = best
    return chosen


# --- pairs of items -------------------------------------------------------------------------------


@jit
def singled_out_by_two(item_start: Ints, items: Short, owner_start: Ints, owners: Short) -> Flags:
    """For each subject, whether one of its items, or two of them together, belong to it alone.

    `items[item_start[u]:item_start[u + 1]]` are the distinct items of u, sorted by number of owners;
    `owners[owner_start[i]:owner_start[i + 1]]` are the distinct owners of item i.
    """
    n_subjects = item_start.size - 1
    n_items = owner_start.size - 1
    result = np.zeros(n_subjects, dtype=np.bool_)
    position = np.full(n_items, -1, dtype=np.int64)  # of an item within the items of u
    seen = np.full(n_items, -1, dtype=np.int64)  # stamp: covered for the current (u, a)
    stamp = 0
    for u in range(n_subjects):
        first, last = item_start[u], item_start[u + 1]
        if first == last:
            continue
        rarest = items[first]
        if owner_start[rarest + 1] - owner_start[rarest] == 1:
            result[u] = True
            continue
        for j in range(first, last):
            position[items[j]] = j
        for j in range(first, last - 1):
            a = items[j]
            stamp += 1
            missing = last - 1 - j  # the partners of a, all at least as frequent
            for o in range(owner_start[a], owner_start[a + 1]):
                v = owners[o]
                if v == u:
                    continue
                for m in range(item_start[v], item_start[v + 1]):
                    b = items[m]
                    if position[b] > j and seen[b] != stamp:
                        seen[b] = stamp
                        missing -= 1
                if missing == 0:
                    break
            if missing > 0:
                result[u] = True
                break
        for j in range(first, last):
            position[items[j]] = -1
    return result
