"""How alike terms are, and what they have in common, is what the plain version says."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.kernels.term_vectors import UNIT, codes_of, common_node, costs_of, table
from tests.helpers.documents import lexicon_of, reference_of, senses_of, terms_in_trees
from tests.helpers.examples import examples


def test_codes_are_in_the_order_of_distances():
    codes, costs = codes_of(4), costs_of(4)
    distance = {(c, s): 1 - Fraction(2 * c, s) for c in range(1, 5) for s in range(2 * c, 9)}
    for pair, d in distance.items():
        assert costs[codes[pair]] == int(d * UNIT + Fraction(1, 2))
        assert all((codes[pair] < codes[other]) == (d < distance[other]) for other in distance)
    assert costs[codes[2, 4]] == 0
    assert costs[codes[1, 8]] == 3 * UNIT // 4
    assert costs[-1] == UNIT


@settings(max_examples=examples(150))
@given(terms_in_trees(), st.data())
def test_pairs_of_terms(case, data):
    parent, means = case
    reference, senses = reference_of(parent, means), senses_of(parent, means)
    costs, codes, terms = costs_of(len(parent)), table(senses), sorted(means)
    assert [[costs[code] for code in line] for line in codes] == [
        [reference.cost(a, b) for b in terms] for a in terms
    ]  # fmt: skip
    a, b = (data.draw(st.integers(0, len(terms) - 1)) for _ in range(2))
    nodes = [senses.term_nodes[senses.term_start[t] : senses.term_start[t + 1]] for t in (a, b)]
    assert senses.concept[common_node(*nodes, senses)] == reference.best(terms[a], terms[b])[1]


def test_of_several_pairs_of_senses_the_deepest_then_the_smallest_number():
    #          0
    #      1       2
    #    3   4   5   6
    parent = [-1, 0, 0, 1, 1, 2, 2]
    means = {"a": (3, 5), "b": (4, 6), "c": (1, 3), "d": (5, 6)}
    senses = senses_of(parent, means)

    def common(one, other):
        terms = map(sorted(means).index, (one, other))
        nodes = [senses.term_nodes[slice(*senses.term_start[t : t + 2])] for t in terms]
        return senses.concept[common_node(*nodes, senses)]

    assert common("a", "b") == 1  # 3 and 4 below 1 as 5 and 6 below 2
    assert common("c", "c") == 3  # deeper than 1
    assert common("d", "d") == 5
    assert common("a", "d") == 5


def test_terms_of_wordnet():
    """What paper 004 says of them."""
    lexicon = lexicon_of(["computer", "laptop", "keyboard"])
    assert lexicon.best("laptop", "computer")[0] == Fraction(9, 11)
    assert lexicon.best("keyboard", "computer")[0] == Fraction(14, 17)
    assert lexicon.best("laptop", "laptop")[0] == 1
