"""Who has which sensitive topic: the verifier's count is the plain one, and the method's."""

from collections import defaultdict

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.methods.interest_microaggregate.model import InterestSettings, interests, topic_owners
from coterie.promises.user_k_anonymity import shared_by_all, users_with_topics
from coterie.text.language import language
from tests.helpers.runs import a_run

WORDS = ["rose", "roses", "Rose's", "garden", "gardening", "the", "car", "café", "天気", "今日の天気", "u.s"]
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
rows_of = st.lists(st.tuples(st.sampled_from("abcdef"), queries), min_size=1, max_size=12)
topics_of = st.lists(st.lists(st.sampled_from(["rose", "gardens", "cafe", "天気", "car"]), min_size=1, max_size=2),
                     min_size=1, max_size=3)  # fmt: skip
MEANS = {  # by hand: which of the words above stand for which word of a topic
    "rose": {"rose", "roses", "Rose's"},
    "gardens": {"garden", "gardening"},
    "cafe": {"café"},
    "天気": {"天気", "今日の天気"},
    "car": {"car"},
}


def _plain(rows, topics):
    return {
        (number, user)
        for user, query in rows
        for number, words in enumerate(topics)
        if any(set(query.split()) & MEANS[word] for word in words)
    }


@given(rows_of, topics_of)
def test_who_has_which_topic(rows, topics):
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    table = pl.DataFrame(
        [(n, word) for n, words in enumerate(topics) for word in words], schema=["topic", "word"], orient="row"
    )
    found = users_with_topics(log.frame.select("user", "query"), table, language("english"))
    assert sorted(found.rows()) == sorted(_plain(rows, topics))
    of_method = interests(log, a_run(1), InterestSettings())
    masks = topic_owners(log, of_method, [pl.Series(words) for words in topics], 2.0).masks[:, 0]
    assert {
        (number, user)
        for number in range(len(topics))
        for user, mask in zip(of_method.users, masks, strict=True)
        if mask & np.uint64(1 << number)
    } == _plain(rows, topics)


@given(
    st.sets(st.tuples(st.integers(0, 2), st.integers(0, 7))),
    st.lists(st.integers(0, 2), min_size=8, max_size=8),
    st.floats(0, 1),
)
def test_which_groups_share_one(pairs, group, share):
    members = defaultdict(set)
    for user, number in enumerate(group):
        members[number].add(user)
    expected = 0
    for topic in range(3):
        have = {user for number, user in pairs if number == topic}
        if len(have) < share * 8:
            expected += sum(some <= have for some in members.values())
    having = pl.DataFrame(list(pairs), schema={"topic": pl.Int64, "user": pl.Int64}, orient="row")
    groups = pl.DataFrame({"user": range(8), "group": group})
    assert shared_by_all(having, groups, share) == expected
