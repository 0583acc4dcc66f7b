"""Worked examples of the attacks, small enough to check by hand.

Covers: measures/attacks/simattack.py
"""

import polars as pl
import pytest

from coterie.measures.attacks.linkage import attack, draw
from coterie.measures.attacks.simattack import Targets, similarity
from coterie.measures.attacks.simattack import attack as guess
from coterie.text.language import language


def test_keywords():
    frame = pl.DataFrame({"item": ["the blue  teapot blue", "the", "/a/b"]})
    found = frame.select(language("english").keywords(pl.col("item")).list.sort()).to_series().to_list()
    assert found == [["blue", "teapot"], [], ["/a/b"]]


@pytest.mark.parametrize(
    ("past", "expected"),
    [
        (["blue teapot", "blue train", "maps"], 0.72),  # 0, 0.5, 1: 0 -> 0.3 -> 0.6 + 0.4 * 0.3
        (["blue teapot", "blue train"], 0.8),  # 0.5, 1: 0.5 -> 0.6 + 0.4 * 0.5
        (["blue train", "blue train", "blue train"], 0.5),
        (["maps", "blue train", "blue train"], 0.42),  # 0 -> 0.3 -> 0.3 + 0.12
        (["blue"], 1 / 2**0.5),
        (["", "blue teapot"], 0.6),  # a known query without keywords is like none
    ],
)
def test_similarity(past, expected):
    known = pl.DataFrame({"user": ["u"] * len(past), "keywords": past})
    found = similarity(known, pl.DataFrame({"keywords": ["blue teapot"]}))
    assert found.rows() == [("blue teapot", "u", pytest.approx(expected))]


def test_no_common_word_is_no_guess():
    known = pl.DataFrame({"user": ["u"], "keywords": ["maps"]})
    assert similarity(known, pl.DataFrame({"keywords": ["blue teapot", ""]})).is_empty()


def test_a_right_guess_counts_by_the_names_that_look_alike():
    known = pl.DataFrame({"user": ["u", "v", "w"], "keywords": ["tea", "maps", "maps"]})
    targets = Targets(
        queries=pl.DataFrame({"target": [0, 1, 2, 3], "keywords": ["tea", "tea", "maps", "rain"]}),
        owners=pl.DataFrame({"target": [0, 1, 2, 3], "user": ["u", "v", "w", "u"]}),
        names=pl.DataFrame({"target": [0, 1, 2, 3], "names": [4, 1, 2, 1]}),
    )
    # u among four names; u is wrong; v or w among two names; nobody fits
    # The control: the same if what is known of each were known of the next one (u of v, v of w, w of u).
    assert guess(known, targets).rows() == [(0, "u", 0.25, 0.0), (1, "v", 0.0, 0.0), (2, "w", 0.25, 0.0)]


PROFILES = [
    ("n1", "tea"), ("n1", "maps"), ("n1", "rain"),
    ("n2", "tea"), ("n2", "blue train"),
    ("n3", "rain"), ("n3", "maps"), ("n3", "x"), ("n3", "y"),
    ("n4", "blue pot"), ("n5", "blue pot"), ("n4", "z"), ("n5", "z"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "own", "expected"),
    [
        (["tea"], "n2", 1),  # n1 has it too, among more queries
        (["tea", "maps"], "n1", 1),
        (["rain"], "n3", 0),  # n1 has it among fewer
        (["blue maps train"], "n2", 1),  # two words of it: no query fits
        (["blue cup"], "n4", 1 / 3),  # n2, n4 and n5 have the word
        (["z", "tea"], "n5", 1 / 3),  # both have two names and weigh the same: n2, n4 and n5, which are smaller than n1
        (["nothing"], "n4", 1 / 3),  # a guess among the smallest: n2, n4, n5
        (["nothing"], "n1", 0),
        (["tea"], "gone", 0),
    ],
)
def test_linkage(items, own, expected):
    profiles = pl.DataFrame(PROFILES, schema=["subject", "item"], orient="row")
    rows = [("u", place, len(items), item) for place, item in enumerate(items, start=1)]
    known = pl.DataFrame(rows, schema=["user", "position", "half", "item"], orient="row")
    names = pl.DataFrame({"original": ["u"], "released": [own]})
    found = attack(known, profiles, names)
    assert found["five_queries"].item() == pytest.approx(expected)
    assert found["half"].item() == pytest.approx(expected)


def test_half_is_rounded_up_and_orders_are_nested():
    pairs = pl.DataFrame([("u", f"q{n}") for n in range(15)] + [("v", "q1")], schema=["subject", "item"], orient="row")
    known = draw(pairs, pairs.select("subject").unique(), seed=1)
    assert known.filter(pl.col("user") == "u")["position"].to_list() == list(range(1, 9))
    assert known.filter(pl.col("user") == "u")["half"].to_list() == [8] * 8
    assert known.filter(pl.col("user") == "v").rows() == [("v", 1, 1, "q1")]
    other = draw(pairs, pairs.select("subject").unique(), seed=2)
    assert not other.equals(known)
