"""The real logs, compared with the counts that their README states. No row is printed."""

import pytest

import coterie

FILES = [
    # file, format, lines, users
    ("aol_128users.tsv.gz", "aol", 20_000, 128),
    ("excite_small.log.gz", "excite", 4_501, 891),
    ("sogouq_sample.gb18030.gz", "sogou", 10_000, 4_787),
    ("access_semicomplete_2015.log.gz", "clf", 10_000, 1_753),
    ("access_site_2010.log.gz", "clf", 9_345, 636),
]


@pytest.fixture
def frame(real_data):
    def frame(name, **options):
        path = real_data / name
        if not path.exists():
            pytest.skip(f"no {name} among the real logs")
        log = coterie.read(path, **options)
        return log, log.frame.collect()

    return frame


@pytest.mark.parametrize(("name", "format", "lines", "users"), FILES)
def test_counts(frame, name, format, lines, users):
    log, rows = frame(name)
    assert log.history[0].counts == {"lines": lines, "bad": 0}
    assert rows.height == lines
    assert rows["row"].n_unique() == lines
    who = "address" if format == "clf" else "user"
    assert rows[who].n_unique() == users
    named, again = frame(name, format=format)
    assert named.shape is log.shape
    assert again.equals(rows)


def test_aol(frame):
    _, rows = frame("aol_128users.tsv.gz")
    assert rows["time"].null_count() == 0
    assert rows.select("user", "query", "time").n_unique() == 15_578
    assert rows["query"].n_unique() == 8_465
    assert rows.height - rows.drop("row").n_unique() == 1_003


def test_excite(frame):
    _, rows = frame("excite_small.log.gz")
    assert (rows["query"] == "").sum() == 533
    assert rows["time"].dt.year().unique().to_list() == [1997]


def test_sogou(frame):
    _, rows = frame("sogouq_sample.gb18030.gz", date="2008-06-01")
    assert rows["time"].null_count() == 0
    assert (rows["time"].max() - rows["time"].min()).total_seconds() <= 600


def test_ubi(frame):
    log, rows = frame("ubi_sample.ndjson.gz")
    clicks = rows["url"].count()
    assert rows["time"].null_count() == 0
    assert rows["user"].n_unique() <= 230
    # Every query is a row, and all clicks but the first of a query add one.
    per_query = rows.filter(rows["url"].is_null()).height
    assert per_query + clicks == rows.height == log.history[0].counts["lines"]
    assert per_query + rows.filter(rows["url"].is_not_null()).n_unique(["user", "time", "query"]) <= 473
