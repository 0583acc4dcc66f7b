"""Add what is known of a person to the scores of the names it points to."""

from __future__ import annotations

from coterie.kernels._arrays import Ints
from coterie.kernels._jit import jit


@jit
def add(texts: Ints, of_text: Ints, name: Ints, weight: Ints, scores: Ints) -> None:
    """Give every name that has one of the texts the weight of it: `name` from of_text[text] to of_text[text + 1]."""
    for text in texts:
        for place in range(of_text[text], of_text[text + 1]):
            scores[name[place]] += weight[text]
