import math

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.errors import InputError, ParameterError
from coterie.methods.private_counts import PrivateCounts

COMMON = ["maps", "weather"]
DELTA = 1e-6


def log_of(rows):
    return coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))


def crowd(users=600, queries=COMMON):
    return [(f"u{n}", query) for n in range(users) for query in queries]


@pytest.mark.parametrize("params", [{}, {"epsilon": 1.0}, {"population": "unknown"}])
def test_delta_or_the_population_has_to_be_stated(params):
    with pytest.raises(ParameterError, match="needs delta, or the population"):
        PrivateCounts(**params)


@pytest.mark.parametrize("params", [
    {"epsilon": 0}, {"epsilon": -1.0}, {"epsilon": math.inf}, {"epsilon": math.nan}, {"delta": 0}, {"delta": 1},
    {"delta": 2.0}, {"delta": -1e-9}, {"delta": math.nan}, {"k": 0}, {"counts": 1.0}, {"counts": -0.1},
    {"population": 0}, {"days": "2006-05-31..2006-03-01"}, {"days": "March"}, {"queries_per_user": 0},
])  # fmt: skip
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ParameterError, match="parameter of private_counts must be"):
        PrivateCounts(**{"delta": DELTA, **params})


def test_delta_follows_from_the_stated_population():
    assert PrivateCounts(population=1000).stated_delta == pytest.approx(1e-4)
    with pytest.raises(ParameterError, match="above 1 / population"):
        PrivateCounts(population=1000, delta=0.01)


@pytest.mark.parametrize("params", [
    {"mechanism": "wgm"}, {"mechanism": "korolova", "counts": 0.0, "items": "phrases"},
    {"queries_per_user": 1, "counts": 0.0, "days": "2006-01-01..2006-01-02"},
])  # fmt: skip
def test_other_mechanisms_choose_items_only(params):
    with pytest.raises(ParameterError, match=r"counts = 0"):
        PrivateCounts(delta=DELTA, **params)


@pytest.mark.parametrize("params", [
    {}, {"mechanism": "wgm", "counts": 0.0}, {"mechanism": "sips", "counts": 0.0},
    {"mechanism": "korolova", "counts": 0.0, "queries_per_user": 2}, {"queries_per_user": 1, "counts": 0.0},
    {"prior": "none"}, {"queries_per_user": 500}, {"items": "words"}, {"k": 1},
])  # fmt: skip
def test_what_many_typed_is_released_and_what_one_typed_is_not(params):
    queries = COMMON if params.get("queries_per_user") != 1 else COMMON[:1]
    rows = [*crowd(queries=queries), *[("u1", f"my own secret {n}") for n in range(50)]]
    release = api.anonymize_prepared(log_of(rows), PrivateCounts(epsilon=4.0, delta=DELTA, **params))
    assert sorted(release.to_polars()["item"]) == queries
    assert release.verdict.exit_code == 0


def test_fewer_than_k_users_are_never_enough():
    log = log_of([*crowd(8, ["few"]), *crowd()])
    method = PrivateCounts(epsilon=20.0, delta=1e-3, k=9, counts=0.0)
    for _ in range(5):
        assert "few" not in api.anonymize_prepared(log, method).to_polars()["item"].to_list()


def test_counts_are_near_the_number_of_users_and_inside_their_interval():
    release = api.anonymize_prepared(log_of(crowd()), PrivateCounts(epsilon=4.0, delta=DELTA)).to_polars()
    assert release.height == 2
    for row in release.to_dicts():
        assert row["low"] <= row["count"] <= row["high"]
        assert abs(row["count"] - 600) < 200


def test_a_user_counts_for_few_items_only():
    rows = [(f"u{n}", f"common {i}") for n in range(400) for i in range(20)]
    release = api.anonymize_prepared(log_of(rows), PrivateCounts(epsilon=8.0, delta=1e-4, count_items=2)).to_polars()
    assert release.height > 10
    assert release["count"].mean() < 200


def test_there_is_no_seed_and_two_releases_differ():
    log, method = log_of(crowd()), PrivateCounts(epsilon=4.0, delta=DELTA)
    with pytest.raises(ParameterError, match=r"^private_counts takes no seed"):
        api.anonymize_prepared(log, method, seed=1)
    counts = {tuple(api.anonymize_prepared(log, method).to_polars()["count"]) for _ in range(4)}
    assert len(counts) > 1


def test_phrases_are_made_of_released_words():
    rows = [(f"u{n}", "cheap flights to rome") for n in range(900)]
    method = PrivateCounts(epsilon=8.0, delta=1e-4, items="phrases", counts=0.0)
    release = api.anonymize_prepared(log_of(rows), method).to_polars()
    words = set(release.filter(pl.col("table") == "words")["item"])
    phrases = release.filter(pl.col("table") == "phrases")["item"].to_list()
    assert words == {"cheap", "flights", "to", "rome"}
    assert "cheap flights" in phrases
    assert all(set(phrase.split()) <= words for phrase in phrases)
    assert not any(phrase not in "cheap flights to rome" for phrase in phrases)


def test_clicks_and_days():
    frame = pl.DataFrame(
        {"user": [f"u{n}" for n in range(900)], "query": ["maps"] * 900, "url": ["maps.example"] * 900}
    ).with_columns(pl.lit("2006-03-02 10:00:00").str.to_datetime().alias("time"))
    method = PrivateCounts(epsilon=12.0, delta=1e-4, items="clicks", days="2006-03-01..2006-03-03")
    release = api.anonymize_prepared(coterie.log(frame), method).to_polars()
    assert release.filter(pl.col("table") == "clicks").select("item", "detail").rows() == [("maps", "maps.example")]
    by_day = release.filter(pl.col("table") == "days")
    assert by_day["detail"].to_list() == ["2006-03-01", "2006-03-02", "2006-03-03"]
    assert by_day["count"].arg_max() == 1


def test_words_by_day_are_counted_inside_queries():
    frame = pl.DataFrame({"user": [f"u{n}" for n in range(900)], "query": ["red car"] * 900}).with_columns(
        pl.lit("2006-03-02 10:00:00").str.to_datetime().alias("time")
    )
    method = PrivateCounts(epsilon=12.0, delta=1e-4, items="words", days="2006-03-02..2006-03-02")
    release = api.anonymize_prepared(coterie.log(frame), method).to_polars()
    by_day = release.filter(pl.col("table") == "days")
    assert by_day["item"].to_list() == ["car", "red"]
    assert by_day["count"].min() > 800


def test_words_are_cut_by_any_white_space():
    rows = [(f"u{n}", "red\u00a0car") for n in range(900)]
    release = api.anonymize_prepared(log_of(rows), PrivateCounts(epsilon=6.0, delta=DELTA, items="words"))
    assert release.to_polars()["item"].to_list() == ["car", "red"]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (3.0, 0.09), (5.0, 1 / 730), (20.0, 0.01)])
def test_the_accounts_of_a_large_delta_are_in_order(epsilon, delta):
    release = api.anonymize_prepared(log_of(crowd(50)), PrivateCounts(epsilon=epsilon, delta=delta))
    assert release.verdict.exit_code == 0


def test_an_epsilon_that_promises_nothing_is_refused():
    with pytest.raises(ParameterError, match="promises nothing"):
        PrivateCounts(epsilon=800.0, delta=DELTA)


def test_a_step_that_lets_one_user_push_out_another_is_refused():
    sampled = coterie.prepare(log_of(crowd()), ["normalize", "sample(subjects=5)"])
    with pytest.raises(ParameterError, match="prepare step sample"):
        api.anonymize_prepared(sampled, PrivateCounts(delta=DELTA))
    api.anonymize_prepared(
        coterie.prepare(log_of(crowd()), ["events", "scrub", "drop_short"]), PrivateCounts(delta=DELTA)
    )


def test_clicks_of_an_access_log_are_refused():
    visits = coterie.log(pl.DataFrame({"user": ["a", "b"], "path": ["/x", "/x"]}))
    with pytest.raises(InputError, match="which page was clicked"):
        api.anonymize_prepared(visits, PrivateCounts(delta=DELTA, items="clicks"))


def test_a_log_of_one_user_gives_an_empty_release():
    release = api.anonymize_prepared(log_of([("a", "maps")]), PrivateCounts(delta=DELTA))
    assert release.to_polars().height == 0
    assert release.verdict.exit_code == 0


def test_rows_without_a_user_do_not_count():
    rows = [*crowd(), *[(None, "nobody's") for _ in range(900)]]
    release = api.anonymize_prepared(log_of(rows), PrivateCounts(epsilon=4.0, delta=DELTA))
    assert sorted(release.to_polars()["item"]) == COMMON
