"""What a release links, and the original cut in the same way."""

from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.subjects import cut, kind_of, people_behind, units_of
from coterie.methods.count_visits import CountVisits
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing._logs import visits_log

_START = datetime(2020, 3, 1, 8)
# Minutes after the start: two sessions on the first day, one on the next.
_MINUTES = (0, 1, 2, 3, 29, 31, 300, 301, 1500)


@pytest.fixture(scope="module")
def log():
    rows = [
        (person, _START + timedelta(minutes=minute), f"query {place}")
        for person in ("ann", "bob", "cyd")
        for place, minute in enumerate(_MINUTES)
    ]
    schema = {"user": pl.String, "time": pl.Datetime("us"), "query": pl.String}
    return coterie.log(pl.DataFrame(rows, schema=schema, orient="row"))


def _sizes(table):
    return table.filter(pl.col("person") == "bob").group_by("unit").len().sort("unit")["len"].to_list()


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("row", [1] * 9),
        ("mini", [3, 3, 2, 1]),  # three queries, or thirty minutes, whichever ends first
        ("session", [6, 2, 1]),
        ("day", [8, 1]),
        ("person", [9]),
    ],
)
def test_how_the_original_is_cut(log, kind, sizes):
    table = cut(log, kind)
    assert _sizes(table) == sizes
    assert table.group_by("unit").agg(pl.col("person").n_unique())["person"].max() == 1
    assert table["unit"].n_unique() == table["unit"].max() + 1


def test_rows_without_a_time_stand_alone(log):
    timeless = log.then(log.frame.with_columns(pl.lit(None, pl.Datetime("us")).alias("time")), log.history[-1])
    for kind, sizes in (("mini", [1] * 9), ("day", [1] * 9), ("session", [9])):
        assert _sizes(cut(timeless, kind)) == sizes


def test_the_order_of_rows_does_not_matter(log):
    shuffled = log.then(log.frame.collect().sample(fraction=1, shuffle=True, seed=2).lazy(), log.history[-1])
    for kind in ("mini", "session", "day", "person"):
        assert cut(shuffled, kind).equals(cut(log, kind))


def _comparison(log, method):
    return Comparison.of(log, coterie.anonymize(log, method, seed=1), 1, False)


@pytest.mark.parametrize(
    ("users", "kind", "sizes"),
    [
        ("drop", "row", [1] * 9),
        ("mini", "mini", [3, 3, 2, 1]),
        ("session", "session", [6, 2, 1]),
        ("day", "day", [8, 1]),
        ("pseudonym", "person", [9]),
    ],
)
def test_units_of_releases(log, users, kind, sizes):
    units = units_of(_comparison(log, SuppressRare(k=2, users=users)))
    assert units.kind == kind
    assert sorted(_sizes(units.after), reverse=True) == sizes
    rows = ("person", "item")
    assert units.after.select(rows).sort(rows).equals(units.before.select(rows).sort(rows))


def test_profiles_are_linked_by_person(log):
    comparison = _comparison(log, Microaggregate(k=3))
    assert kind_of(comparison) == "person"
    assert people_behind(comparison)["person"].n_unique() == 3


def test_counts_link_nothing():
    comparison = _comparison(visits_log(), CountVisits(k=2))
    for ask in (units_of, people_behind):
        with pytest.raises(NotApplicableError, match="counts"):
            ask(comparison)
