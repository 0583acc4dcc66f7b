"""The table of the gate is its plain version: a dictionary of texts with events by person and day."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from coterie.apps.gate import kernels as gate_table
from coterie.apps.gate.table import WHOLE, GateTable, Texts
from tests.helpers.gate_reference import PlainTable

KEYS = np.array([11, 22, 33, 44], np.uint64)


def _offer(table, rows):
    """Offer rows; the texts that became open."""
    frame = pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String, "day": pl.UInt16}, orient="row")
    items = Texts.of(frame["item"])
    crossed = table.offer(items, Texts.of(frame["user"]), frame["day"].to_numpy(), 0, frame.height)
    return items, frame["item"].gather(crossed).to_list()


def _lines(taken, names):
    return sorted(
        (names[taken.tags[entry]], int(day), int(count), bool(taken.crowd[entry]))
        for entry, day, count in zip(taken.entry, taken.day, taken.count, strict=True)
    )


_ROWS = st.lists(
    st.tuples(st.sampled_from([None, *"abcdefg"]), st.sampled_from(["tea", "maps", "a b", ""]), st.integers(0, 3)),
    max_size=40,
)


@given(st.integers(2, 4), st.lists(st.tuples(_ROWS, st.booleans()), max_size=5))
def test_it_is_its_plain_version(k, chunks):
    table, plain = GateTable(k, KEYS), PlainTable(k)
    names = {}
    for rows, rest in chunks:
        items, crossed = _offer(table, rows)
        known = {text for text in plain.open if plain.held[text]}
        plain.offer(rows)
        assert sorted(crossed) == sorted({text for text in plain.open if plain.held[text]} - known)
        names |= dict(zip(table.tags(items), [text for _, text, _ in rows], strict=True))
        arrays = table.arrays()
        table = GateTable(k, KEYS)
        table.restore(arrays)
        assert _lines(table.take(rest), names) == plain.take(rest)
        assert table.census == (len(plain.held) - len(plain.open), len(plain.open))
    assert _lines(table.take(True), names) == plain.take(True)


def test_it_grows_and_forgets_nothing():
    table = GateTable(2, KEYS)
    rows = [(f"u{n % 7}", f"q{n}", n % 30) for n in range(20_000)]
    assert _offer(table, rows)[1] == []
    assert (len(table), table.census) == (20_000, (20_000, 0))
    _, crossed = _offer(table, [("somebody else", text, 0) for _, text, _ in rows])
    assert len(crossed) == 20_000
    taken = table.take(rest=False)
    assert (taken.count.sum(), len(set(taken.tags))) == (40_000, 20_000)
    assert table.take(rest=True).tags == []


def test_nodes_are_used_again():
    table = GateTable(2, KEYS)
    for turn in range(50):
        _offer(table, [(f"u{n}", f"q{n % 100}", turn) for n in range(1000)])
        assert table.take(rest=False).count.sum() == 1000
    assert table.people.size < 5000


def test_a_day_is_told_where_k_people_asked_on_it():
    table = GateTable(2, KEYS)
    _offer(table, [("a", "tea", 1), ("a", "tea", 1), ("b", "tea", 1), ("c", "tea", 2), (None, "tea", 2)])
    taken = table.take(rest=False)
    assert sorted(zip(taken.day.tolist(), taken.count.tolist(), strict=True)) == [(WHOLE, 2), (1, 3)]


def test_people_are_not_linked_across_queries():
    table = GateTable(5, KEYS)
    _offer(table, [("one person", f"q{n}", 0) for n in range(500)])
    assert not table.links_anybody(1)
    table.people[:500] = 64  # as if the tag did not depend on the query
    assert table.links_anybody(64)


def test_memory():
    table = GateTable(5, KEYS)
    _offer(table, [(f"u{n % 97}", f"query {n}", 0) for n in range(200_000)])
    assert table.bytes / len(table) <= 64


def test_tables_at_their_limits():
    assert gate_table.MOST_PEOPLE == 65535
    table = GateTable(2, KEYS)
    assert table.take(rest=True).count.size == 0
    assert repr(table) == "GateTable(0 texts)"


def _used_memory(text):
    """Leave memory behind that holds a text, in blocks of many sizes."""
    for size in (*range(1 << 12, 1 << 16, 1 << 12), 1 << 20, 1 << 22):
        blocks = [text * (size // len(text)) for _ in range(20)]
        del blocks


def test_arrays_hold_nothing_that_was_in_memory_before():
    """Lines of a log that were read before are in memory that a table may get; a snapshot has its whole arrays."""
    text = b"qzqueryq"
    _used_memory(text)
    table = GateTable(2, KEYS)
    for turn in range(4):
        _offer(table, [("a", f"q{turn} {n}", 0) for n in range(4000)])
        _used_memory(text)
        assert not any(text in array.tobytes() for array in table.arrays().values())
        assert not table.lows[table.facts == 0].any()


def test_who_asked_is_wiped_when_a_text_is_taken():
    table = GateTable(2, KEYS)
    _offer(table, [("a", "tea", 1), ("b", "tea", 1), ("a", "rare", 1)])
    table.take(rest=False)
    assert np.count_nonzero(table.arrays()["people"]) == 1


def test_a_snapshot_does_not_tell_the_order_in_which_people_asked():
    """The same rows in another order, of which some were taken: the same arrays, but for the order within a text."""
    rows = [(f"u{n % 3}", f"q{n // 2}", 0) for n in range(200)]
    kept = []
    for order in (rows, rows[::-1]):
        table = GateTable(3, KEYS)
        _offer(table, [(user, "tea", 0) for user in "abc"])
        _offer(table, order)
        table.take(rest=False)
        kept.append(table.arrays())
    one, other = kept
    assert one["people"].size == 200, "free nodes are left out"
    assert (np.sort(one["people"].reshape(-1, 2)) == np.sort(other["people"].reshape(-1, 2))).all()
    for name in ("events", "days", "nexts", "book"):
        assert (one[name] == other[name]).all(), name
