"""A released time says how exact it is, in every kind of file, and nobody can say something else of it."""

import json
from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core.shapes import QUERIES, VISITS
from coterie.errors import InputError
from coterie.methods.generalize_visits import GeneralizeVisits
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import judge
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.testing import queries_log
from coterie.writing.files import sha256
from coterie.writing.sidecar import sidecar_path
from tests.helpers.hand_made import NAMES, case_of, check_of

START = datetime(2024, 1, 1)  # a Monday and the first of a month; 91 days are 13 weeks and 3 months
DAYS = 91


@pytest.fixture(scope="module")
def flat():
    """A log with seven searches on every day: for k = 2 five of them share a day, one a week, and one a month."""
    rows = []
    for n in range(DAYS):
        at = START + timedelta(days=n, hours=9 + n % 11)
        rows += [(f"a{user}", "news", at) for user in range(5)]
        rows += [(f"b{n}", "weather", at), (f"c{n}", f"recipe {n % 10}", at)]  # ten days lie between the same recipes
    return coterie.prepare(coterie.log(pl.DataFrame(rows, schema=["user", "query", "time"], orient="row")))


@pytest.fixture(scope="module")
def released(flat):
    return coterie.anonymize(flat, SuppressRare(k=2), seed=1)


def test_as_many_searches_on_every_day_stay_as_many_within_each_level(released):
    rows = released.to_polars()
    assert rows.height == 7 * DAYS
    found = {}
    for level, unit in (("day", "1d"), ("week", "1w"), ("month", "1mo")):
        of_level = rows.filter(pl.col("time_level") == level)
        days = pl.col("time").dt.offset_by(unit) - pl.col("time")
        lengths = of_level.group_by("time").agg(pl.len(), days.first().dt.total_days().alias("days"))
        assert lengths["days"].sum() == DAYS, "no day is missing, and none is before the log began"
        (found[level],) = lengths.select(pl.col("len") / pl.col("days")).to_series().unique().to_list()
    assert found == {"day": 5, "week": 1, "month": 1}
    without = rows.filter(pl.col("time") == START).height
    assert without == 5 + 7 + 31, "which is what a first of a month looks like where no level is said"


@pytest.mark.parametrize("name", ["x.tsv", "x.csv.gz", "x.jsonl.zst", "x.parquet", "x.ubi", "parts"])
def test_it_stands_beside_the_time_in_every_kind_of_file(flat, released, tmp_path, name):
    path = tmp_path / name
    coterie.write(released, path, **({"parts": 3, "kind": "tsv"} if name == "parts" else {}))
    read = coterie.load_release(path).to_polars()
    assert read.equals(released.to_polars())
    assert read.columns == ["user", "time", "time_level", "query", "rank", "url"]
    assert coterie.verify(path, flat).exit_code == 0


@pytest.mark.parametrize(("method", "there"), [
    (SuppressRare(k=3), True),
    (SuppressRare(k=3, times="quarter"), True),
    (SuppressRare(k=3, times="drop"), False),
    (SuppressRare(k=3, attrs="keep"), False),
    (SuppressRare(k=3, attrs="drop"), False),
    (Microaggregate(k=3), True),
    (Microaggregate(k=3, times="drop"), False),
    (Microaggregate(k=3, attrs="drop"), False),
])  # fmt: skip
def test_whether_it_is_there_follows_from_parameters_alone(method, there):
    timeless = coterie.log(queries_log().to_polars().with_columns(time=pl.lit(None, pl.Datetime("us"))))
    for log in (queries_log(), timeless):
        rows = coterie.anonymize(log, method, seed=1).to_polars()
        assert ("time_level" in rows.columns) == there
        if there:
            assert rows["time"].is_null().equals(rows["time_level"].is_null())


DAY = datetime(2020, 6, 1)  # a Monday and the first of a month
FORGED = [
    ({"time": DAY, "time_level": None}, 1),
    ({"time": None, "time_level": "day"}, 1),
    ({"time": None, "time_level": None}, 0),
    ({"time": DAY, "time_level": "day"}, 0),
    ({"time": DAY, "time_level": "week"}, 0),
    ({"time": DAY, "time_level": "month"}, 0),
    ({"time": DAY, "time_level": "hour"}, 1),  # finer than is promised
    ({"time": DAY, "time_level": "quarter"}, 1),  # which no time of such a release becomes
    ({"time": DAY, "time_level": "ann"}, 1),
    ({"time": DAY + timedelta(hours=1), "time_level": "day"}, 1),
    ({"time": DAY + timedelta(days=1), "time_level": "week"}, 1),
    ({"time": DAY + timedelta(days=7), "time_level": "month"}, 1),
]


@pytest.mark.parametrize(("forged", "broken"), FORGED)
def test_a_time_is_the_beginning_of_what_it_says(forged, broken):
    rows = [{"query": "tea", **forged}]
    case = case_of(rows, shape=QUERIES.with_levels())
    assert check_of(judge(case, (QueryKAnonymity(k=2),)), "times").broken == broken
    rows = [{"user": name, **rows[0]} for name in NAMES[:2]]
    case = case_of(rows, shape=QUERIES.with_levels())
    # Profiles have days, or months where something is one member's alone.
    own = int(bool(broken) or forged["time_level"] == "week")
    assert check_of(judge(case, (UserKAnonymity(k=2, times="day"),)), "times").broken == 2 * own


@pytest.mark.parametrize(("change", "found"), [
    (lambda text: text.replace("\tweek\t", "\tmonth\t", 1), {"tuples.query", "crowd.query.url.rank.time"}),
    (lambda text: text.replace("2024-01-08 00:00:00\tweek", "2024-01-15 00:00:00\tweek", 1), {"tuples.query"}),
    (lambda text: text.replace("\tday\t", "\thour\t", 1), {"times", "tuples.query"}),
    (lambda text: text.replace("\tday\t", "\t\t", 1), {"times", "tuples.query"}),
])  # fmt: skip
def test_a_forged_level_fails(flat, released, tmp_path, change, found):
    path = tmp_path / "x.tsv"
    coterie.write(released, path)
    text = path.read_text()
    path.write_text(change(text))
    assert path.read_text() != text
    broken = {check.name for check in coterie.verify(path, flat).broken}
    assert found | {"digest"} <= broken


def test_no_release_lacks_it(flat, released, tmp_path):
    path = tmp_path / "x.tsv"
    coterie.write(released, path)
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    at = lines[0].index("time_level")
    path.write_text("".join("\t".join([*line[:at], *line[at + 1 :]]) + "\n" for line in lines))
    data = json.loads(sidecar_path(path).read_text()) | {"sha256": sha256(path)}
    sidecar_path(path).write_text(json.dumps(data))
    broken = {check.name for check in coterie.verify(path, flat).broken}
    assert {"times", "tuples.query", "canonical"} <= broken


def test_a_profile_is_shared_with_its_levels():
    """The same day, once as a day and once as its month: two profiles, of one user each."""
    rows = [
        {"user": name, "query": "tea", "time": DAY, "time_level": level}
        for name, level in zip(NAMES[:4], ["day", "day", "day", "month"], strict=True)
    ]
    check = check_of(judge(case_of(rows), (UserKAnonymity(k=2, times="day"),)), "profiles")
    assert (check.status, check.broken) == ("failed", 1)


def _visits():
    """Three people at midnight, and three later on the same day, each at an hour of their own."""
    rows = [(f"{user}", "/tea", DAY) for user in "abc"]
    rows += [(f"{user}", "/tea", DAY + timedelta(hours=3 + n)) for n, user in enumerate("def")]
    return coterie.log(pl.DataFrame(rows, schema=["user", "path", "time"], orient="row"))


def test_the_hour_after_midnight_is_an_hour():
    release = coterie.anonymize(_visits(), GeneralizeVisits(k=3, details="hour,day"), seed=1)
    assert release.to_polars().select("time", "time_level").rows() == [(DAY, "day")] * 3 + [(DAY, "hour")] * 3
    assert release.log.shape is VISITS.with_levels()
    assert coterie.verify(release, _visits()).exit_code == 0
    scores = dict(
        coterie.measure(release, ["visit_tables"], original=_visits(), seed=1).select("key", "value").iter_rows()
    )
    assert scores["hours.known"] == 50


def test_a_witness_reads_how_exact_a_time_is():
    """A search on a Monday: a row of that day is found, and one of its week beside it is another row."""
    rows = [
        ("a", "tea", DAY),
        ("b", "tea", DAY),
        ("c", "tea", DAY + timedelta(days=2)),
        ("d", "tea", DAY + timedelta(3)),
    ]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query", "time"], orient="row"))
    release = coterie.anonymize(log, SuppressRare(k=2), seed=1)
    assert sorted(release.to_polars()["time_level"]) == ["day", "day", "week", "week"]
    scores = dict(coterie.measure(release, ["witness"], original=log, seed=1).select("key", "value").iter_rows())
    # Each of two people fits all four rows of that Monday, by its day or by its week; the others fit the week alone.
    assert scores["after.query_and_day"] == 100 * (2 / 4 + 2 / 2) / 4


def test_a_further_detail_cannot_have_its_name():
    with pytest.raises(coterie.errors.InputError, match="time_level"):
        QUERIES.with_details(["time_level"])


def test_a_shape_with_levels_is_one_object():
    wide = QUERIES.with_details(["device"])
    assert wide.with_levels() is QUERIES.with_levels().with_details(["device"])
    assert wide.with_levels().plain is QUERIES
    assert wide.with_levels().of_log is wide
    assert wide.with_levels().may_come_from(wide)
    assert not wide.with_levels().may_come_from(QUERIES)


@pytest.mark.parametrize("name", ["x.tsv", "x.jsonl", "x.parquet", "x.ubi"])
def test_a_release_is_read_as_no_log(flat, released, tmp_path, name):
    """Its weeks and months would be days, and released again they would be said to be days."""
    coterie.write(released, tmp_path / name, history=None)
    with pytest.raises(InputError, match="'time_level', as releases have: its times are days, weeks or months"):
        coterie.read(tmp_path / name)
    with pytest.raises(InputError, match="rows of a release"):
        coterie.anonymize(released.log, "suppress_rare", k=2)
    with pytest.raises(InputError, match="'time_level', as releases have"):
        coterie.log(released.to_polars())
    sidecar_path(tmp_path / name).unlink()
    assert coterie.verify(tmp_path / name, flat, promise="query_k_anonymity", k=2).exit_code == 0


def test_a_log_with_a_column_of_that_name_is_read_where_its_time_is_named():
    table = pl.DataFrame({"user": ["a"], "query": ["tea"], "time": ["2024-01-08"], "time_level": ["high"]})
    assert coterie.log(table, columns={"time": "time"}).to_polars()["time"].to_list() == [datetime(2024, 1, 8)]
    assert coterie.log(table.drop("time")).to_polars()["time"].to_list() == [None]
