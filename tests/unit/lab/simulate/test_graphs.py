"""Networks of friends: rules, and lists of friendships with all their faults."""

import gzip

import numpy as np
import polars as pl
import pytest

from coterie.errors import InputError, MissingError, ParameterError
from coterie.lab.simulate.graphs import network, read_pairs

USERS = pl.Series([f"u{i:03}" for i in range(200)])


def _network(topology, users=USERS, **more):
    return network(str(topology), users, **{"degree": 6, "nodes": "drawn", "seed": 7, **more})


def _friends(net):
    graph = net.graph
    return [graph.friend[graph.start[u] : graph.start[u + 1]].tolist() for u in range(graph.start.size - 1)]


def test_a_ring():
    rows = _friends(_network("ring"))
    assert all(len(row) == 6 for row in rows)
    assert rows != _friends(_network("ring", seed=8))
    # Those of the three steps who know each other best are neighbours; they make one ring of all.
    shared = {u: sorted(row, key=lambda v, row=row: -len(set(row) & set(rows[v])))[:2] for u, row in enumerate(rows)}
    walked, here, before = [0], shared[0][0], 0
    while here != 0:
        walked.append(here)
        before, here = here, next(v for v in shared[here] if v != before)
    assert sorted(walked) == list(range(200))


@pytest.mark.parametrize("topology", ["er", "ba"])
def test_random_networks_have_the_degree_and_follow_the_seed(topology):
    one, same, other = (_network(topology, seed=seed) for seed in (7, 7, 8))
    assert 5 < one.degrees.mean() < 7
    assert _friends(one) == _friends(same) != _friends(other)
    assert all(u not in row and row == sorted(set(row)) for u, row in enumerate(_friends(one)))


def test_a_dense_random_network():
    assert _network("er", degree=199).degrees.tolist() == [199] * 200
    assert 140 < _network("er", degree=150).degrees.mean() < 160


@pytest.mark.parametrize(("topology", "degree"), [("ring", 5), ("ba", 3), ("ba", 1), ("ring", 200), ("er", 200)])
def test_degrees_that_cannot_be(topology, degree):
    with pytest.raises(ParameterError):
        _network(topology, degree=degree)


LIST = "# a remark\nu000 u001\nu001,u002\n\nu002\tu000\nu000 u001\nu001 u000\nu003 u003\nstranger u001\n"


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "friends.txt"
    path.write_text(LIST)
    return path


def test_people_of_a_list_are_users_by_name(edges):
    net = _network(edges, USERS[:4], nodes="users")
    assert _friends(net) == [[1, 2], [0, 2], [0, 1], []]
    assert (net.loops, net.duplicates, net.unknown, net.isolated) == (1, 2, 1, 1)
    text = " ".join(net.notes)
    assert "Users without friends, who submit their queries themselves: 1." in text
    assert "u00" not in text
    assert "stranger" not in text


def test_people_of_a_list_are_drawn_for_users(edges):
    net = _network(edges, USERS[:3])
    assert (net.beyond, net.loops, net.duplicates) == (1, 1, 2)
    assert net.degrees.sum() in (4, 6)


def test_a_list_packed(tmp_path, edges):
    packed = tmp_path / "friends.txt.gz"
    packed.write_bytes(gzip.compress(LIST.encode()))
    assert read_pairs(packed).equals(read_pairs(edges))


def test_a_list_that_was_damaged_while_packed(tmp_path):
    packed = bytearray(gzip.compress("".join(f"{i} {i * 7 % 501}\n" for i in range(2000)).encode()))
    packed[40:60] = b"\xff" * 20
    (tmp_path / "friends.txt.gz").write_bytes(packed)
    with pytest.raises(InputError, match="cannot be read as an edge list"):
        read_pairs(tmp_path / "friends.txt.gz")


def test_a_list_with_a_byte_order_mark(tmp_path):
    (tmp_path / "friends.txt").write_text("a b\n", encoding="utf-8-sig")
    assert read_pairs(tmp_path / "friends.txt").rows() == [("a", "b")]


def test_nobody_is_friends_with_themselves():
    with pytest.raises(InputError, match="one user"):
        _network("er", USERS[:1])


def test_who_meets_whom_depends_on_the_seed(tmp_path):
    path = tmp_path / "chain.txt"
    path.write_text("".join(f"{i} {i + 1}\n" for i in range(400)))
    found = {str(_friends(_network(path, USERS[:50], seed=seed))) for seed in range(5)}
    assert len(found) == 5
    assert all(np.count_nonzero(_network(path, USERS[:50], seed=seed).degrees == 1) == 2 for seed in range(5))


def _faulty():
    yield "a b\nqzlonely\n", InputError, "line 2 does not name two people"
    yield "# nothing\n\n", InputError, "no friendships"
    yield b"\xff\xfe\x00", InputError, "UTF-8"
    yield b"\x1f\x8b broken", InputError, "cannot be read"
    yield "x y\n", InputError, "2 people with friends, and the log 200 users"


@pytest.mark.parametrize(("text", "error", "words"), [*_faulty()], ids=range(5))
def test_lists_that_cannot_be_used(tmp_path, text, error, words):
    path = tmp_path / "friends.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(error, match=words) as raised:
        _network(path)
    assert "qzlonely" not in str(raised.value)


def test_a_list_of_strangers(tmp_path):
    path = tmp_path / "friends.txt"
    path.write_text("x y\ny z\n")
    with pytest.raises(InputError, match=r"None of the 3 people in friends.txt is a user of the log"):
        _network(path, nodes="users")


def test_no_list(tmp_path):
    with pytest.raises(MissingError, match="no such edge list"):
        _network(tmp_path / "nothing.txt")
    with pytest.raises(InputError, match="cannot be read"):
        _network(tmp_path)
