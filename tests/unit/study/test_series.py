"""How scores vary with k."""

from types import SimpleNamespace

import polars as pl
import pytest

from coterie import measures
from coterie.core.scores import SCORES
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.reports.views import ReleaseView
from coterie.study.run import over_k, with_series


def view(k, value, method="suppress_rare", **params):
    scores = pl.DataFrame([("shares", "one", value, "%"), ("other", "two", 1.0, "%")], schema=SCORES, orient="row")
    return ReleaseView(
        label=f"{method} k={k}", method=method, params={"k": k, **params}, promises=(QueryKAnonymity(k=k),),
        checks=(), warnings=(), scores=scores, largest_k=k,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def shares(monkeypatch):
    """A measure whose score varies with k, and one of which nobody asks that."""
    modules = {"shares": SimpleNamespace(series=("one", "missing")), "other": SimpleNamespace(series=())}
    monkeypatch.setattr(measures, "load", modules.get)


def table(views):
    named = [each.scores.with_columns(release=pl.lit(each.label), baseline=pl.lit(False)) for each in views]
    return pl.concat(named)


def test_standard_deviation_and_slope():
    assert over_k([(2, 10.0), (4, 14.0), (6, 18.0)]) == pytest.approx(((32 / 3) ** 0.5, 2))
    assert over_k([(2, 5.0), (30, 5.0)]) == (0, 0)


def test_it_stands_after_the_scores():
    views = [view(4, 14.0), view(2, 10.0), view(3, None), view(6, 18.0), view(5, 1.0, "affinity")]
    scores = with_series(table(views), views)
    more = scores.filter(pl.col("key").str.contains("sigma|slope"))
    assert scores.height == 2 * 5 + 2
    assert more["key"].to_list() == ["one.sigma", "one.slope"]
    assert more["value"].to_list() == pytest.approx([(32 / 3) ** 0.5, 2])
    assert more["unit"].to_list() == ["points", "points for each k"]
    assert set(more["release"]) == {"suppress_rare k=2..6"}


def test_releases_that_differ_in_more_than_k_are_no_series():
    views = [view(2, 10.0), view(3, 11.0, users="session")]
    assert with_series(table(views), views).height == 4
