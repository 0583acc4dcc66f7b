"""How many examples property tests draw: all more, or all fewer, by COTERIE_EXAMPLES."""

import os

USUAL = 30
WANTED = int(os.environ.get("COTERIE_EXAMPLES", USUAL))


def examples(number: int) -> int:
    """`number` in proportion to what is wanted of a usual test."""
    return max(1, number * WANTED // USUAL)
