"""Levenshtein distance of two words, unit costs: the fewest insertions, deletions and replacements of characters.

Bit-parallel (Myers 1999 in the form of Hyyrö 2003) where the shorter word has at most 64 characters: one column of the
table, as vertical differences of +1 and -1, lives in two machine words. Otherwise the table, row by row.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Ints
from coterie.kernels._jit import uncounted


@uncounted
def levenshtein(chars: Ints, a: int, m: int, b: int, n: int, masks: Ints, row: Ints) -> int:
    """Distance of the words chars[a:a+m] and chars[b:b+n].

    `masks` has a zero for each character and is left so; `row` is room for the length of the longest word and one.
    """
    if m > n:
        a, m, b, n = b, n, a, m
    if m == 0:
        return n
    if m > 64:
        return _by_rows(chars, a, m, b, n, row)
    one = np.int64(1)
    for i in range(m):
        masks[chars[a + i]] |= one << np.int64(i)
    last = one << np.int64(m - 1)
    plus, minus, score = np.int64(-1), np.int64(0), m
    for j in range(n):
        same = masks[chars[b + j]]
        diagonal = same | minus
        across = (((same & plus) + plus) ^ plus) | same
        up = minus | ~(across | plus)
        down = plus & across
        if up & last != 0:
            score += 1
        if down & last != 0:
            score -= 1
        up = (up << one) | one
        down = down << one
        plus = down | ~(diagonal | up)
        minus = up & diagonal
    for i in range(m):
        masks[chars[a + i]] = 0
    return score


@uncounted
def _by_rows(chars: Ints, a: int, m: int, b: int, n: int, row: Ints) -> int:
    for j in range(n + 1):
        row[j] = j
    for i in range(m):
        before = row[0]
        row[0] = i + 1
        for j in range(n):
            change = before + (1 if chars[a + i] != chars[b + j] else 0)
            before = row[j + 1]
            row[j + 1] = min(change, before + 1, row[j] + 1)
    return int(row[n])
