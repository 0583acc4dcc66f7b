"""Each group gets one profile, under a fresh name for each member. Profiles are made up here, without kernels."""

import numpy as np
import polars as pl
import pytest

from coterie.algorithms import profiles as model
from coterie.algorithms.events import Scales
from coterie.algorithms.groups import user_rows
from coterie.algorithms.kernels import mdav
from coterie.core.plan import Plan
from coterie.core.run import Run
from coterie.core.shapes import QUERIES, VISITS
from coterie.errors import ParameterError
from coterie.methods.microaggregate import Microaggregate
from coterie.releasing import profiles
from coterie.releasing.profiles import release_profiles, release_texts, share_profiles, typed_alone
from tests.helpers.hand_made_logs import NOON, Listener, log_of, rows_of
from tests.helpers.runs import a_run

LOG = log_of(
    ("user", "query", "time", "rank", "url"),
    ("d", "tea", NOON, 1, "x"),
    ("b", "tea", NOON, 2, "y"),
    ("b", "tea", NOON, 1, "y"),
    ("a", "rum", None, None, None),
    ("a", "beer", NOON, None, None),
    ("c", "gin", NOON, 3, "z"),
    (None, "tea", NOON, 4, "x"),
    ("e", "alone", NOON, 5, "x"),
    ("a", "beer", None, None, None),
)
GROUPS = pl.LazyFrame(
    {"subject": ["d", "c", "b", "a"], "group": [0, 0, 7, 7]}, schema={"subject": pl.String, "group": pl.UInt32}
)
EVENTS = {name: QUERIES.schema[name] for name in ("time", "query", "rank", "url")}


def _names(seed=1):
    return a_run(seed=seed).pseudonyms(pl.Series(list("abcd")), pl.Series(list("abcde"))).to_list()


def _counts(rows):
    return rows.group_by("group").agg(pl.len().alias("rows"), pl.col("user").n_unique().alias("users"))


def test_who_became_whom():
    subjects, _ = share_profiles(LOG, GROUPS, a_run(), _counts)
    a, b, c, d = _names()
    assert subjects.collect_schema() == {"original": pl.String, "released": pl.String, "group": pl.UInt32}
    assert subjects.collect().rows() == [("a", a, 7), ("b", b, 7), ("c", c, 0), ("d", d, 0), ("e", None, None)]


def test_no_new_name_is_an_old_one():
    drawn = a_run().pseudonyms(pl.Series(["a"]), pl.Series([], dtype=pl.String))[0]
    log = log_of(("user", "query"), ("a", "tea"), (drawn, "tea"))
    subjects, _ = share_profiles(log, GROUPS.filter(pl.col("subject") == "a"), a_run(), _counts)
    assert subjects.collect().filter(pl.col("released") == drawn).height == 0


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_groups_arrive_whole_whatever_the_blocks(blocks):
    run = a_run(blocks=blocks)  # blocks are in files that go with the run
    _, common = share_profiles(LOG, GROUPS, run, _counts)
    assert rows_of(common) == [(0, 2, 2), (7, 5, 2)]


def test_rows_arrive_sorted():
    seen = []

    def remember(rows):
        seen.append(rows)
        return _counts(rows)

    share_profiles(LOG, GROUPS, a_run(), remember)
    empty, full = seen
    assert (empty.height, empty.schema) == (0, full.schema)
    assert full.select("group", "user", "query", "time", "rank", "url").rows() == [
        (0, "c", "gin", NOON, 3, "z"),
        (0, "d", "tea", NOON, 1, "x"),
        (7, "a", "beer", None, None, None),
        (7, "a", "beer", NOON, None, None),
        (7, "a", "rum", None, None, None),
        (7, "b", "tea", NOON, 1, "y"),
        (7, "b", "tea", NOON, 2, "y"),
    ]
    seen.clear()
    share_profiles(LOG, GROUPS, a_run(), remember, ("query",))
    assert seen[1].columns == ["user", "query", "group"]
    assert [row[1] for row in seen[1].rows()] == ["gin", "tea", "beer", "beer", "rum", "tea", "tea"]


def test_profiles_are_made_once_and_progress_is_told():
    engine, calls, told = Listener(), [], []

    def remember(rows):
        calls.append(rows.height)
        return _counts(rows)

    _, common = share_profiles(LOG, GROUPS, Run(engine=engine, seed=1, tell=told.append), remember)
    common.collect()
    common.collect()
    assert calls == [0, 7]
    assert (engine.keys, engine.collected) == ([["group"]], 1)
    assert told == [7 / 8]  # of the rows of users, in a group or not


def test_whole_groups_are_cut_together(monkeypatch):
    def heights(*groups):
        rows = pl.DataFrame({"group": [number for number, size in enumerate(groups) for _ in range(size)]})
        slices = list(profiles.whole_groups(rows, 3))
        assert not slices or pl.concat(slices).equals(rows)
        return [part.height for part in slices]

    assert heights(2, 1, 1, 5, 1, 1) == [3, 6, 2]
    assert heights(3, 3) == [3, 3]
    assert heights(1, 1) == [2]
    assert heights(4) == [4]
    assert heights() == []
    monkeypatch.setattr(profiles, "_ROWS_AT_ONCE", 1)
    _, common = share_profiles(LOG, GROUPS, a_run(), _counts)
    assert common.collect().sort("group").rows() == [(0, 2, 2), (7, 5, 2)]


def test_about_20000_rows_are_worked_on_together():
    rows = pl.DataFrame({"group": np.arange(50_000) // 2_500})
    parts = profiles.whole_groups(rows, profiles._ROWS_AT_ONCE)
    assert [part.height for part in parts] == [20_000, 20_000, 10_000]


@pytest.fixture
def made_up(monkeypatch):
    """Profiles of one event of each group, and what they were asked for."""
    asked = {"centroids": []}

    def centroids(rows, *arguments):
        asked["centroids"].append((rows, *arguments))
        event = {"rank": 1, "url": "x", "time": NOON, "time_level": "day"}
        groups = rows["group"].unique(maintain_order=True)
        events = [{"group": group, "query": f"q{group}", **event, "alone": group == 7} for group in groups]
        schema = {"group": pl.UInt32, **EVENTS, "time_level": pl.String, "alone": pl.Boolean}
        return pl.DataFrame(events, schema=schema)

    monkeypatch.setattr(model, "centroids", centroids)
    return asked


def test_each_member_gets_the_profile_of_the_group(made_up):
    run = a_run()
    draft = release_profiles(LOG, Plan(table=GROUPS), run, Microaggregate(times="day"))
    a, b, c, d = _names()
    assert draft.frame.collect_schema().names() == ["user", "time", "time_level", "query", "rank", "url"]
    assert rows_of(draft.frame) == sorted(
        [(name, NOON, "day", query, 1, "x") for name, query in ((a, "q7"), (b, "q7"), (c, "q0"), (d, "q0"))]
    )
    assert rows_of(draft.subjects)[0] == ("a", a, 7)
    assert draft.warnings == (
        "1 of 2 chosen queries, or their page, rank or time, come from one user of the group alone: such a page or "
        "rank is left out, and a time is cut to its month. The words are as some user typed them.",
    )
    rule = model.QueryRule(shares=mdav.choose, herding=False, max_share=1.0, language="english")
    rows, scales, keys, *rest = made_up["centroids"][-1]
    assert rows.columns == ["user", "query", "time", "rank", "url", "group"]
    assert scales == Scales.of_rows(user_rows(LOG), a_run())
    assert keys("x", pl.Series(["a"])).tolist() == run.keys("x", pl.Series(["a"])).tolist()
    assert rest == ["text", "nearest", rule, "day"]


def test_what_a_method_asks_for_is_passed_on(made_up):
    def choose(*_):
        raise AssertionError

    method = Microaggregate(attrs="drop", max_share=0.3, language="german")
    draft = release_profiles(LOG, Plan(table=GROUPS), a_run(), method, eq1="printed", shares=choose)
    rule = model.QueryRule(shares=choose, herding=False, max_share=0.3, language="german")
    rows, _, _, *rest = made_up["centroids"][-1]
    assert rest == ["printed", "drop", rule, "month"]
    assert rows.columns == ["user", "query", "group"]
    assert draft.warnings == (typed_alone(1, 2),)
    release_profiles(LOG, Plan(table=GROUPS), a_run(), Microaggregate(attrs="drop", choice="herding"))
    rows, *_, rule, _ = made_up["centroids"][-1]
    assert rows.columns == ["user", "query", "time", "rank", "url", "group"]  # queries are herded by hosts, too
    assert rule == model.QueryRule(herding=True)
    release_profiles(LOG, Plan(table=GROUPS), a_run(), Microaggregate(attrs="same_string"))
    assert made_up["centroids"][-1][0].columns == ["user", "query", "time", "rank", "url", "group"]


def test_nothing_alone_is_nothing_to_warn_of():
    assert profiles._warnings(0, 5, "drop", "month") == ()
    assert profiles._warnings(0, 5, "nearest", "month") == ()
    (warning,) = profiles._warnings(1_000, 5_000, "nearest", "month")
    assert warning.startswith("1,000 of 5,000 chosen queries, or their page")
    assert "cut to its month" not in warning  # all times are


def test_words_about_queries_of_one_user():
    assert typed_alone(1_234, 5_678) == (
        "1,234 of 5,678 chosen queries were typed, word for word as released, by one user of the group alone."
    )


@pytest.mark.parametrize("shape", [QUERIES, VISITS])
def test_texts_stand_alone_under_new_names(shape):
    subjects = pl.LazyFrame(
        {"original": ["a", "b", "c"], "released": ["u_1", "u_2", None], "group": [3, 4, None]},
        schema_overrides={"group": pl.UInt32},
    )
    texts = pl.LazyFrame(
        {"group": [3, 3, 4, 5], "text": ["tea", "tea", "rum", "gin"]}, schema_overrides={"group": pl.UInt32}
    )
    rows = release_texts(subjects, texts, shape, a_run())
    assert rows.collect_schema() == {name: shape.schema[name] for name in shape.released}
    assert rows_of(rows, shape.subject, shape.item) == [("u_1", "tea"), ("u_1", "tea"), ("u_2", "rum")]
    others = [name for name in shape.released if name not in (shape.subject, shape.item)]
    assert rows.collect().select(others).null_count().row(0) == (3,) * len(others)


@pytest.mark.parametrize("share", [-0.1, 1.1, "all"])
def test_the_largest_share_of_a_member_is_a_share(share):
    with pytest.raises(
        ParameterError, match="'max_share' parameter of microaggregate must be a number between 0 and 1"
    ):
        Microaggregate(max_share=share)
