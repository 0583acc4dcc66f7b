"""What is known of people, added to the scores of the names it points to.

Clues stand one after the other, those of a user together and in the order in which they are learnt: `position` says
when, `text` which one it is. A text points to `name` from of_text[text] to of_text[text + 1], each time with `weight`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Ints
from coterie.kernels._jit import jit


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
