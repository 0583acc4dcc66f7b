"""Which users have which sensitive topics, once more from the original, for the judge alone.

It shares no code with the model of interests and its kernels: words are strings in polars tables here, no hashes and no
bits. What a word of a query is and when it stands for a word of a topic is said in `text`.
"""

from __future__ import annotations

import polars as pl

from coterie.text.language import Language
from coterie.text.words import without_spaces


def users_with_topics(rows: pl.LazyFrame, topics: pl.DataFrame, spoken: Language) -> pl.DataFrame:
    """topic, user: who typed a word of a topic. `rows`: user, query; `topics`: topic, word."""
    queries = rows.select("query").unique().collect(engine="streaming")
    typed = queries.with_columns(spoken.pieces(queries["query"]).alias("word")).explode("word")
    typed = typed.filter(pl.col("word").is_not_null() & ~pl.col("word").is_in(list(spoken.stop_words)))
    wanted = topics.select("topic", spoken.stems(topics["word"]).alias("stem")).unique()
    spelled = typed.select(pl.col("word").unique())
    meant = (
        spelled.with_columns(spoken.stems(spelled["word"]).alias("stem"))
        .join(wanted, on="stem")
        .select("word", "topic")
    )
    holding = [typed.join(meant, on="word").select("topic", "query")]
    joined = topics.filter(without_spaces(pl.col("word")))
    for topic, word in joined.select("topic", "word").iter_rows():
        written = queries.filter(spoken.folded(pl.col("query")).str.contains(word, literal=True))
        holding.append(written.select(pl.lit(topic, dtype=topics.schema["topic"]).alias("topic"), "query"))
    topic_of = pl.concat(holding).unique()
    return rows.join(topic_of.lazy(), on="query").select("topic", "user").unique().collect(engine="streaming")


def shared_by_all(having: pl.DataFrame, groups: pl.DataFrame, share: float) -> int:
    """Pairs of a group and a topic that all its users have, of topics that fewer than `share` of all users have.

    `having`: topic, user; `groups`: user, group, for all users.
    """
    rare = having.filter(pl.len().over("topic") < share * groups.height)
    sizes = groups.group_by("group").len("size")
    counts = rare.join(groups, on="user").group_by("group", "topic").len("having").join(sizes, on="group")
    return counts.filter(pl.col("having") == pl.col("size")).height
