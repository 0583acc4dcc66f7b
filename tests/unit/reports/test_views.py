"""A log and a release as a report needs them: counts, never a value."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.core.log import Step
from coterie.measures.comparison import Comparison
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.reports.views import log_view, overview, personal_data, release_view, singled_out, with_baseline
from coterie.testing import queries_log, visits_log


@pytest.fixture(scope="module")
def release():
    return coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)


def test_a_log_in_counts():
    log = queries_log()
    numbers = {key: (value, unit) for _, key, value, unit in overview(log)}
    assert numbers == {
        "rows": (24, "rows"),
        "users": (6, "users"),
        "queries": (7, "queries"),
        "days": (2, "days"),
        "rows_without_user": (2, "rows"),
    }
    read = Step(name="read", counts={"bad": 2})
    view = log_view(replace(log, history=(read, Step(name="normalize", counts={"bad": 9}))))
    assert (view.rows, view.users, view.queries, view.days, view.bad_lines) == (24, 6, 7, 2, 2)
    assert (view.shape, view.steps, view.synthetic) == ("QUERIES", ("normalize",), False)


def test_a_log_without_times_has_no_days():
    log = queries_log()
    timeless = replace(log, frame=log.frame.with_columns(time=None).cast({"time": log.shape.schema["time"]}))
    assert log_view(timeless).days is None


def test_paths_of_an_access_log_are_counted_like_queries():
    assert log_view(visits_log()).queries == 7


def test_who_is_singled_out_before_any_protection():
    keys = [key for _, key, _, _ in singled_out(queries_log(), "before.")]
    assert keys
    assert all(key.startswith("before.") for key in keys)


def test_personal_data_is_counted_in_rows():
    log = queries_log()
    rows = log.frame.collect()
    assert personal_data(log) == []
    mails = rows.with_columns(query=rows["query"].replace("weather", "write to ann@example.org"))
    weather = int((rows["query"] == "weather").sum())
    assert ("personal_data", "email", weather, "rows") in personal_data(replace(log, frame=mails.lazy()))


def test_a_release_in_promises_checks_and_scores(release):
    view = release_view(Comparison.of(queries_log(), release, 1), names=["release_share"])
    assert view.label == "suppress_rare k=3"
    assert view.k == 3
    assert view.largest_k == release.verdict.largest_k
    assert set(view.scores["name"]) == {"release_share"}
    assert view.sentence == release.promises[0].sentence
    assert release_view(Comparison.of(queries_log(), release, 1), "mine", names=["release_share"]).label == "mine"


def test_measures_without_meaning_are_left_out_with_the_reason(release):
    assert release_view(Comparison.of(queries_log(), release, 1)).left_out["homogeneity"]


def test_limits_of_several_promises_stand_once(release):
    view = release_view(Comparison.of(queries_log(), release, 1), names=["release_share"])
    twice = replace(view, promises=(QueryKAnonymity(k=3), QueryKAnonymity(k=4)))
    assert len(twice.limits) == len(set(twice.limits))
    assert set(QueryKAnonymity(k=3).limits) <= set(twice.limits)


@pytest.mark.parametrize("k", [None, True, "5", 500])
def test_the_place_on_an_axis_of_k_is_what_was_judged(release, k):
    """Parameters are what a sidecar says; nobody judged them."""
    view = release_view(Comparison.of(queries_log(), release, 1), names=["release_share"])
    assert replace(view, params={"k": k}).k == view.k == 3
    assert replace(view, promises=()).k is None


def test_random_groups_beside_a_release_give_a_ratio(release):
    view = release_view(Comparison.of(queries_log(), release, 1), names=["release_share"])
    shares = view.scores.filter(pl.col("key") == "rows")["value"].item()
    sampled = replace(view, samples={("release_share", "rows"): (shares, shares), ("release_share", "no"): (1.0, 1.0)})
    half = view.scores.with_columns(pl.col("value") / 2)
    baseline = replace(view, scores=half, samples={("release_share", "rows"): (shares / 2, shares / 4)})
    both = with_baseline(sampled, baseline)
    assert both.baseline is baseline
    assert both.scores.head(view.scores.height).equals(view.scores)
    ratios = both.scores.slice(view.scores.height)
    assert ratios.select("name", "key", "value", "unit").rows() == [
        ("release_share", "rows.ratio", 2.0, "× random"),
        ("release_share", "rows.ratio.low", 2.0, "× random"),
        ("release_share", "rows.ratio.high", 4.0, "× random"),
    ]
    assert with_baseline(view, baseline).scores.equals(view.scores)


def test_scores_bring_their_samples():
    release = coterie.anonymize(queries_log(), Microaggregate(k=3), seed=1)
    later = replace(queries_log(), frame=pl.concat([queries_log().frame] * 4))
    view = release_view(Comparison.of(queries_log(), release, 1, inputs={"later": later}), names=["later_queries"])
    assert len(view.samples["later_queries", "retained"]) == 1_000
    assert ("later_queries", "retained.low") not in view.samples
