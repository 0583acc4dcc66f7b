"""The log of people: deterministic, and of a kind that is not easier than people are: interests overlap and drift.

Tolerances are wide enough for any seed; docs/interests.md has what was measured beside people.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from coterie import synth
from coterie.synth import people
from coterie.synth._kit import FIELDS, NOUNS, PLURALS

DIGEST = "e39b461c390d8cc8"


@cache
def log(users: int = 4_000, seed: int = 7) -> pl.DataFrame:
    return synth.synthesize(users, seed, "people")


@cache
def halves() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first 56 rows of users with 84 and more, and their next 56."""
    numbered = log().with_columns(rows=pl.len().over("user"), row=pl.int_range(pl.len()).over("user"))
    busy = numbered.filter(pl.col("rows") >= 84)
    return busy.filter(pl.col("row") < 56), busy.filter(pl.col("row").is_between(56, 111))


def words(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return rows.select(*columns, word=pl.col("query").str.split(" ")).explode("word")


def share_known(rows: pl.DataFrame, known: pl.DataFrame, on: list[str]) -> float:
    """The share of the rows that stand among those known."""
    return rows.join(known.select(on).unique(), on=on, how="semi").height / rows.height


def test_the_bytes_are_held() -> None:
    rows = synth.synthesize(300, 7, "people")
    assert sha256(rows.write_csv().encode()).hexdigest()[:16] == DIGEST


def test_one_seed_one_log() -> None:
    assert_frame_equal(synth.synthesize(300, 11, "people"), synth.synthesize(300, 11, "people"))
    assert not synth.synthesize(300, 11, "people").equals(synth.synthesize(300, 12, "people"))
    assert not synth.synthesize(300, 11, "people").equals(synth.synthesize(300, 11))


def test_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="one of topics, people, visits"):
        synth.batches(3, 7, "crowd")


def test_columns_order_and_times() -> None:
    rows = log()
    assert rows.schema == synth.synthesize(3).schema
    keys = rows.select(pl.col("user").cast(pl.Int64), "time")
    assert_frame_equal(keys, keys.sort("user", "time"))
    assert rows.group_by("user", "time").agg(pl.col("query").n_unique())["query"].max() == 1
    assert (rows["rank"].is_null() == rows["url"].is_null()).all()
    assert rows["url"].drop_nulls().str.contains(r"^http://www\.[a-z]+\.com$").all()


@pytest.mark.parametrize("users", [1, 2, 1_999, 2_001])
def test_any_number_of_users(users: int) -> None:
    assert synth.synthesize(users, 7, "people")["user"].n_unique() == users


@pytest.mark.parametrize("users_per_batch", [1, 3_001, 100_000])
def test_batches_do_not_change_the_rows(users_per_batch: int) -> None:
    parts = list(synth.batches(4_000, 7, "people", users_per_batch=users_per_batch))
    assert_frame_equal(pl.concat(parts), log())


def test_sizes_are_log_normal() -> None:
    sizes = log().group_by("user").len()["len"]
    assert sizes.mean() == pytest.approx(55.7, abs=3)
    assert sizes.median() == pytest.approx(20, abs=1.5)


def test_queries_are_normalised() -> None:
    queries = log()["query"].unique()
    assert_frame_equal(
        queries.to_frame(), queries.str.normalize("NFKC").str.to_lowercase().str.strip_chars().to_frame()
    )
    assert not queries.str.contains(r"\s\s|\t|\"|^-?$").any()
    lengths = words(log().head(100_000).with_row_index("row"), "row").group_by("row").len()["len"]
    assert lengths.max() <= people.WIDTH


def test_fields_are_lists_of_nouns() -> None:
    assert len(FIELDS) == 38
    assert min(map(len, FIELDS.values())) >= 20
    assert len(NOUNS) == len(PLURALS) == len(set(NOUNS))
    assert {"dogs", "church", "fish"} <= set(PLURALS)


def test_topics_of_a_field_are_close_related_ones_less_so_and_others_hardly() -> None:
    world = people._world(1_000, 7)
    topics = [set(row) for row in world.lists.tolist()]

    def alike(step: int) -> float:
        pairs = [(topic, topics[(number + step) % len(topics)]) for number, topic in enumerate(topics)]
        return float(np.mean([len(one & other) / len(one | other) for one, other in pairs]))

    beside, far = alike(world.siblings), alike(10 * world.siblings)
    siblings = np.mean([len(topics[n] & topics[n + 1]) / 48 for n in range(0, len(topics), world.siblings)])
    assert siblings > 2 * beside
    assert beside > 3 * far > 0


def test_users_have_interests_of_their_own() -> None:
    """Nouns that users type later are much more often those they typed before than those of somebody else."""
    first, later = (words(rows, "user").filter(pl.col("word").is_in(NOUNS + PLURALS)) for rows in halves())
    users = first["user"].unique(maintain_order=True)
    somebody = first.with_columns(pl.col("user").replace_strict(users, pl.concat([users[1:], users[:1]])))
    own, other = (share_known(later, known, ["user", "word"]) for known in (first, somebody))
    assert 0.3 < own < 0.6
    assert own > 5 * other


def test_interests_drift() -> None:
    """What users typed a while ago tells less about their new queries than what they typed just before."""
    rows = log().unique(["user", "query"], keep="first", maintain_order=True)
    rows = rows.with_columns(new=pl.len().over("user"), part=pl.int_range(pl.len()).over("user") // 20)
    nouns = words(rows.filter(pl.col("new") >= 80), "user", "part").filter(pl.col("word").is_in(NOUNS + PLURALS))

    def known(part: int, before: int) -> float:
        some, earlier = (nouns.filter(pl.col("part") == number) for number in (part, before))
        return share_known(some, earlier, ["user", "word"])

    near, far = np.mean([known(1, 0), known(2, 1), known(3, 2)]), np.mean([known(3, 0), known(0, 3)])
    assert near > far + 0.02
    assert far > 0.1


def test_a_fifth_of_later_rows_are_queries_typed_before() -> None:
    first, later = halves()
    assert share_known(later, first, ["user", "query"]) == pytest.approx(0.22, abs=0.04)


def test_some_users_repeat_themselves_much_and_others_hardly() -> None:
    first, later = halves()
    again = later.join(first.select("user", "query").unique(), on=["user", "query"], how="semi")
    per_user = first.select("user").unique().join(again.group_by("user").len(), on="user", how="left")["len"]
    low, high = (per_user.fill_null(0).quantile(at) for at in (0.25, 0.9))
    assert low <= 5
    assert high >= 20


def test_queries_are_refined() -> None:
    """Of two queries in a row that differ, about a quarter have a word in common."""
    first, _ = halves()
    pairs = first.select("user", "query", before=pl.col("query").shift().over("user")).drop_nulls()
    pairs = pairs.filter(pl.col("query") != pl.col("before"))
    split = [pl.col(name).str.split(" ") for name in ("query", "before")]
    common = pairs.select(split[0].list.set_intersection(split[1]).list.len() > 0).to_series().mean()
    assert 0.2 < common < 0.4


def test_most_strings_are_ones_own() -> None:
    first, _ = halves()
    users = first.group_by("query").agg(users=pl.col("user").n_unique(), rows=pl.len())
    shared = users.filter(pl.col("users") > 1)["rows"].sum() / first.height
    assert 0.08 < shared < 0.16


def test_larger_logs_have_more_topics_and_words() -> None:
    small, large = people._world(1_000, 7), people._world(100_000, 7)
    assert large.siblings > small.siblings
    assert large.lists.shape[1] > small.lists.shape[1]
    assert people._world(10, 7).lists.shape == small.lists.shape
