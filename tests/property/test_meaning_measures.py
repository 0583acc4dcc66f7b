"""later_queries and interest_disclosure against plain Python, and the split in time they are used with.

Covers: measures/privacy/interest_disclosure.py, measures/utility/later_queries.py
"""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

import numpy as np
import polars as pl
import pytest

import coterie
from coterie import api, taxonomies
from coterie.core import randomness
from coterie.core.log import chronological
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.subjects import levels_of
from coterie.measures.utility import later_queries
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from tests.helpers.taxonomy_reference import tree_of

WORDS = ["dog", "cat", "poodle", "violin", "guitar", "bread", "wine", "car", "truck", "teacher", "zzyzx", "the dog"]


def random_log(seed, users=12, rows=30):
    rng = np.random.default_rng(seed)
    found = []
    for user in range(users):
        taste = rng.dirichlet(np.full(len(WORDS), 0.3))
        for _ in range(rows + user % 3):
            when = datetime(2006, 3, 1) + timedelta(minutes=int(rng.integers(0, 10_000)))
            found.append((len(found), f"u{user:02}", when, WORDS[rng.choice(len(WORDS), p=taste)], None, None))
    schema = {name: QUERIES.schema[name] for name in ("row", *QUERIES.released)}
    return coterie.log(pl.DataFrame(found, schema=schema, orient="row"))


@cache
def concepts_of(item):
    return taxonomies.load("wordnet").classify(pl.Series([item])).terms["concept"].to_list()


def profile(items, level):
    """Shares of categories, one by one."""
    tree = taxonomies.load("wordnet")
    counts = Counter()
    for item in items:
        for concept in concepts_of(item):
            category = int(concept)
            while tree.depth[category] > level:
                category = int(tree.parent[category])
            if tree.depth[category] == level:
                counts[category] += 1
    total = sum(counts.values())
    return {category: n / total for category, n in counts.items()}


def overlap(one, other):
    return sum(min(one[c], other[c]) for c in one.keys() & other.keys())


def items_of(log):
    found = defaultdict(list)
    for user, query in log.frame.select("user", "query").collect().iter_rows():
        found[user].append(query)
    return found


@pytest.fixture(scope="module", params=range(3))
def case(request):
    log = coterie.prepare(random_log(request.param))
    early, later = chronological(log)
    release = api.anonymize_prepared(early, Microaggregate(k=3), seed=1)
    return early, later, release


def profiles_of(release):
    released = items_of(release.log)
    names = release.record.subjects.collect()
    return {row["original"]: released[row["released"]] for row in names.iter_rows(named=True)}


def test_later_queries(case):
    early, later, release = case
    scores = coterie.measure(release, ["later_queries"], original=early, seed=4, later=later)
    got = dict(scores.select("key", "value").iter_rows())
    before, after, released = items_of(early), items_of(later), profiles_of(release)
    names = pl.Series(sorted(before))
    strangers = defaultdict(list)
    for user, other in later_queries._strangers(names, names, 4).iter_rows():
        assert user != other
        strangers[user].append(other)
    retained = []
    for level in (5, 7, 8):
        wanted = {user: profile(after[user], level) for user in names}
        wanted = {user: found for user, found in wanted.items() if found}
        own = {user: profile(before[user], level) for user in names}
        means = {
            "released": np.mean([overlap(w, profile(released[u], level)) for u, w in wanted.items()]),
            "own": np.mean([overlap(w, own[u]) for u, w in wanted.items()]),
            "stranger": np.mean([np.mean([overlap(w, own[v]) for v in strangers[u]]) for u, w in wanted.items()]),
        }
        for kind, value in means.items():
            assert got[f"level_{level}.{kind}"] == pytest.approx(value)
        retained.append(100 * (means["released"] - means["stranger"]) / (means["own"] - means["stranger"]))
        assert got[f"level_{level}.retained"] == pytest.approx(retained[-1])
    assert got["users"] == 12
    assert got["retained"] == pytest.approx(np.mean(retained))
    assert got["retained.low"] < got["retained"] < got["retained.high"]


def concepts_in(items):
    return [concept for item in sorted(items) for concept in sorted(concepts_of(item))]


def share_of(concepts, level):
    """The profile of words whose concepts are known."""
    tree = taxonomies.load("wordnet")
    at_level = tree.ancestor_at(level)
    counts = Counter(int(at_level[c]) for c in concepts if at_level[c] >= 0)
    return {category: n / sum(counts.values()) for category, n in counts.items()}


def above_everybody(before, wanted_items, released, seed):
    """drawn, own, everybody at each level, and the share kept: word by word, with the draws of the measure."""
    everybody = sorted(concept for items in before.values() for concept in concepts_in(items))
    means, kept = {}, []
    for level in (5, 7, 8):
        found = defaultdict(list)
        for user in sorted(before):
            wanted = profile(wanted_items[user], level)
            if not wanted:
                continue
            own, after = concepts_in(before[user]), concepts_in(released[user])
            stream = randomness.stream(seed, "profiles of one size", user)
            drawn = [after]
            if len(after) > len(own):
                drawn = stream.permuted(np.tile(after, (20, 1)), axis=1)[:, : len(own)].tolist()
            places = stream.integers(0, len(everybody), (20, len(own))).tolist()
            usual = [[everybody[place] for place in row] for row in places]
            found["drawn"].append(np.mean([overlap(wanted, share_of(each, level)) for each in drawn]))
            found["everybody"].append(np.mean([overlap(wanted, share_of(each, level)) for each in usual]))
            found["own"].append(overlap(wanted, share_of(own, level)))
        means[level] = {kind: np.mean(values) for kind, values in found.items()}
        zero, one = means[level]["everybody"], means[level]["own"]
        kept.append(100 * (means[level]["drawn"] - zero) / (one - zero) if one > zero else np.nan)
    return means, np.mean(kept)


def without_repeats(after, before):
    return {user: [item for item in items if item not in set(before[user])] for user, items in after.items()}


def test_above_everybody(case):
    early, later, release = case
    got = measured(early, release, later)
    before, after, released = items_of(early), items_of(later), profiles_of(release)
    means, kept = above_everybody(before, after, released, 4)
    for level, kinds in means.items():
        for kind, value in kinds.items():
            assert got[f"level_{level}.{kind}"] == pytest.approx(value)
    assert got["above_everybody"] == pytest.approx(kept)
    assert got["above_everybody.low"] < got["above_everybody"] < got["above_everybody.high"]
    longer = [len(concepts_in(released[user])) > len(concepts_in(before[user])) for user in before]
    assert got["drawn_down"] == pytest.approx(100 * np.mean(longer))


def test_later_queries_that_are_new(case):
    """Every second later query of a user is made one that they had not typed before."""
    early, later, release = case
    other = {"dog": "poodle", "cat": "violin", "poodle": "guitar", "violin": "bread", "guitar": "wine", "bread": "car"}
    rows = later.frame.with_row_index("place").with_columns(
        query=pl.when(pl.col("place") % 2 == 0).then(pl.col("query").replace(other)).otherwise("query")
    )
    before, released = items_of(early), profiles_of(release)
    later = replace(later, frame=rows.drop("place"))
    new = without_repeats(items_of(later), before)
    assert 0 < sum(map(len, new.values())) < sum(map(len, items_of(later).values()))
    got = measured(early, release, later)
    _means, kept = above_everybody(before, new, released, 4)
    assert got["above_everybody.new"] == (None if np.isnan(kept) else pytest.approx(kept))
    repeated = measured(early, release, early)
    assert repeated["retained.new"] is None
    assert repeated["above_everybody.new"] is None


def test_longer_profiles_gain_nothing(case):
    """Own rows released five times over are as good as once; everybody's rows are as good as nothing."""
    early, later, release = case
    own = own_profiles(early, release)
    five = replace(own, log=replace(early, frame=pl.concat([early.frame] * 5)))
    once, longer = measured(early, own, later), measured(early, five, later)
    assert once["above_everybody"] == pytest.approx(100)
    assert once["drawn_down"] == 0
    assert longer["drawn_down"] == 100
    assert 60 < longer["above_everybody"] < 102  # a draw of so few words is a little less like what it is drawn from
    queries = early.frame.select("query")
    rows = early.frame.select("user").unique().join(queries, how="cross")
    everybody = replace(own, log=replace(early, frame=rows.select(*[
        pl.col(name) if name in ("user", "query") else pl.lit(None, QUERIES.schema[name]).alias(name)
        for name in ("row", *QUERIES.released)])))  # fmt: skip
    got = measured(early, everybody, later)
    assert abs(got["above_everybody"]) < 12
    assert got["retained"] > got["above_everybody"]  # which is why there is another zero


def measured(early, release, later):
    scores = coterie.measure(release, ["later_queries"], original=early, seed=4, later=later)
    return dict(scores.select("key", "value").iter_rows())


def own_profiles(early, release):
    """A release of what users typed, each under their own name."""
    users = early.frame.select("user").unique().collect()["user"].sort()
    names = pl.DataFrame({"original": users, "released": users, "group": range(len(users))})
    return replace(release, log=early, record=replace(release.record, subjects=names.lazy()))


@pytest.mark.parametrize(("parent", "levels"), [
    ([-1, 0], (1,)),
    ([-1, 0, 1], (1, 2)),
    ([-1, 0, 1, 2], (1, 2, 3)),  # the deepest level counts as well
    ([-1, 0, 1, 2, 3], (1, 2, 3)),
])  # fmt: skip
def test_levels_of_a_tree_of_ones_own(parent, levels):
    assert levels_of(tree_of(parent, {"music": [1]})) == levels


def test_levels_of_wordnet():
    assert levels_of(taxonomies.load("wordnet")) == (5, 7, 8)


def test_own_and_strangers_profiles_are_the_ends_of_the_scale(case):
    """A release of what users typed retains all of it; one where each has another's profile retains about nothing."""
    early, later, release = case
    own = own_profiles(early, release)
    names = own.record.subjects.collect()
    users = names["original"]
    score = dict(
        coterie.measure(own, ["later_queries"], original=early, seed=4, later=later).select("key", "value").iter_rows()
    )
    assert score["retained"] == score["retained.low"] == score["retained.high"] == pytest.approx(100)
    kept = []
    for step in range(1, len(users)):
        shifted = names.with_columns(released=users.gather([(i + step) % len(users) for i in range(len(users))]))
        wrong = replace(own, record=replace(release.record, subjects=shifted.lazy()))
        found = coterie.measure(wrong, ["later_queries"], original=early, seed=4, later=later)
        kept.append(dict(found.select("key", "value").iter_rows())["retained"])
    assert abs(np.mean(kept)) < 10


def test_later_queries_are_needed(case):
    early, later, release = case
    with pytest.raises(NotApplicableError, match="later="):
        coterie.measure(release, ["later_queries"], original=early)
    few = replace(later, frame=later.frame.head(5))
    with pytest.raises(NotApplicableError, match="10 later queries"):
        coterie.measure(release, ["later_queries"], original=early, later=few)
    unknown = {name: replace(log, frame=log.frame.with_columns(query=pl.lit("zzyzx"))) for name, log in
               (("early", early), ("later", later))}  # fmt: skip
    again = api.anonymize_prepared(unknown["early"], Microaggregate(k=3), seed=1)
    with pytest.raises(NotApplicableError, match="taxonomy knows"):
        coterie.measure(again, ["later_queries"], original=unknown["early"], later=unknown["later"])


def main_interest(profiles):
    everybody = [p for p in profiles.values() if p]
    usual = Counter()
    for found in everybody:
        for category, share in found.items():
            usual[category] += share / len(everybody)
    return {
        user: min(found, key=lambda c: (round(usual[c] - found[c], 12), c)) for user, found in profiles.items() if found
    }


def test_interest_disclosure(case):
    early, _later, release = case
    got = dict(
        coterie.measure(release, ["interest_disclosure"], original=early, seed=4).select("key", "value").iter_rows()
    )
    before, released = items_of(early), profiles_of(release)
    for level in (5, 7, 8):
        truth = main_interest({user: profile(items, level) for user, items in before.items()})
        guess = main_interest({user: profile(items, level) for user, items in released.items()})
        right = 100 * np.mean([truth[user] == guess.get(user) for user in truth])
        majority = 100 * max(Counter(truth.values()).values()) / len(truth)
        assert got[f"level_{level}.right"] == pytest.approx(right)
        assert got[f"level_{level}.majority"] == pytest.approx(majority)
        assert got[f"level_{level}.gain"] == pytest.approx(right - majority)
    for key in ("right", "majority", "gain"):
        assert got[key] == pytest.approx(np.mean([got[f"level_{level}.{key}"] for level in (5, 7, 8)]))


@pytest.mark.parametrize("users", ["drop", "session"])
def test_releases_without_profiles_of_users_are_refused(case, users):
    early, later, _ = case
    release = api.anonymize_prepared(coterie.prepare(early, ["sessions"]), SuppressRare(k=2, users=users), seed=1)
    for name in ("later_queries", "interest_disclosure"):
        with pytest.raises(NotApplicableError, match="one profile for each user"):
            coterie.measure(release, [name], original=early, later=later)


def test_the_split_is_in_time_and_complete():
    log = random_log(5)
    log = replace(log, frame=pl.concat([log.frame, log.frame.head(3).with_columns(user=pl.lit(None, pl.String))]))
    early, later = (part.frame.collect() for part in chronological(log))
    assert sorted([*early["row"], *later["row"]]) == list(range(log.frame.drop_nulls("user").collect().height))
    for user in early["user"].unique():
        first, second = (part.filter(pl.col("user") == user) for part in (early, later))
        assert first.height - second.height in (0, 1)
        assert first["time"].max() <= second["time"].min()
    shuffled = replace(log, frame=log.frame.collect().sample(fraction=1, shuffle=True, seed=3).lazy())
    assert chronological(shuffled)[0].frame.collect().sort("row").equals(early.sort("row"))


def test_the_split_does_not_depend_on_the_order_of_rows():
    """Several clicks of one search have one time; which of them are the earlier ones is not up to the file."""
    when = datetime(2006, 3, 1)
    rows = [(0, "u", when, "dog", rank, f"http://{rank}.example") for rank in range(1, 8)]
    schema = {name: QUERIES.schema[name] for name in ("row", *QUERIES.released)}

    def earlier(order):
        some = [(place, *rows[i][1:]) for place, i in enumerate(order)]
        log = coterie.log(pl.DataFrame(some, schema=schema, orient="row"))
        return sorted(chronological(log)[0].frame.collect()["rank"])

    assert earlier(range(7)) == earlier([6, 2, 4, 0, 1, 3, 5]) == earlier(range(6, -1, -1)) == [1, 2, 3, 4]


def test_the_split_into_equal_sizes():
    log = random_log(5)  # 30, 31 and 32 rows a user
    early, later = (part.frame.collect() for part in chronological(log, 21))
    lengths = log.frame.group_by("user").len().collect()
    enough = lengths.filter(pl.col("len") >= 32)["user"]
    assert 0 < enough.len() < lengths.height
    assert sorted(early["user"].unique()) == sorted(later["user"].unique()) == sorted(enough)
    assert set(early["user"].unique_counts()) == {21}
    assert set(later["user"].unique_counts()) == {11}
    assert not set(early["row"]) & set(later["row"])
    for user in enough:
        assert early.filter(user=user)["time"].max() <= later.filter(user=user)["time"].min()
    assert set(chronological(log, 10)[1].frame.collect()["user"].unique_counts()) == {10}
