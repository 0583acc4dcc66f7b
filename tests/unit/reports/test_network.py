"""Pictures of networks: where points are put, and what stands in the file."""

import numpy as np
import pytest

from coterie import explain
from coterie.reports.drawing import Network, draw_network, place


def test_points_stay_inside_and_apart():
    lines = [(0, i) for i in range(1, 9)]
    at = place(9, lines)
    assert at.min() >= 0
    assert at.max() <= 1
    far = np.sqrt(((at[:, None] - at[None]) ** 2).sum(axis=2))
    assert far[~np.eye(9, dtype=bool)].min() > 0.05
    assert np.array_equal(at, place(9, lines))


def test_linked_points_are_nearer():
    """Two cliques of four with one line between."""
    clique = [(a, b) for b in range(4) for a in range(b)]
    at = place(8, [*clique, *((a + 4, b + 4) for a, b in clique), (0, 4)])
    inside = np.linalg.norm(at[1] - at[2])
    across = np.linalg.norm(at[1] - at[6])
    assert inside < across / 2


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_networks(n):
    assert place(n, [(0, 1)] if n == 2 else []).shape == (n, 2)


NETWORK = Network(points=(7, 3), groups=(1, 2), lines=((0, 1),), more=1234)


def test_the_file():
    svg = draw_network(NETWORK, ["1", "2"], "Queries", "svg").decode()
    assert svg.startswith("<svg")
    assert "2 queries, 1 affine pairs" in svg
    assert "1,234 more" in svg
    assert draw_network(NETWORK, ["1", "2"], "Queries", "png").startswith(b"\x89PNG")
    page = draw_network(NETWORK, ["<b>", "2"], "Queries", "html").decode()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "&lt;b&gt;" in page


def test_a_large_component_is_cut_near_the_query(monkeypatch):
    import coterie

    log = coterie.prepare(coterie.read("synth:users=300,seed=7"))
    found = explain.explain_affinity(log, explain.Affinity(theta=0.7), [(1, "maps")])
    at = found.graph.queries.names.to_list().index("maps")
    whole = explain.network(found.graph, at)
    monkeypatch.setattr(explain, "MOST", 5)
    cut = explain.network(found.graph, at)
    assert len(whole.points) > 5
    assert len(cut.points) == 5
    assert cut.points[0] == at
    assert cut.more == len(whole.points) - 5 + whole.more
    linked = {b for a, b in cut.lines if a == 0}
    assert linked == {1, 2, 3, 4}  # all of them are neighbours
