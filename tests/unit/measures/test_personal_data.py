"""Personal data that is still in a release, in rows and in different queries."""

from dataclasses import replace

import coterie
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log


def test_rows_queries_and_kinds():
    log = queries_log()
    rows = log.frame.collect()
    often = int((rows["query"] == "weather").sum())
    mails = replace(log, frame=rows.with_columns(query=rows["query"].replace("weather", "ann@example.org")).lazy())
    release = coterie.anonymize(mails, SuppressRare(k=2), seed=1)
    found = dict(coterie.measure(release, ["personal_data"], original=mails).select("key", "value").iter_rows())
    left = int((release.to_polars()["query"] == "ann@example.org").sum())
    assert left > 0
    assert found == {
        "before.rows": often, "before.queries": 1, "after.rows": left, "after.queries": 1, "after.kind.email": left
    }  # fmt: skip


def test_nothing_found_is_said_as_0():
    release = coterie.anonymize(queries_log(), SuppressRare(k=2), seed=1)
    found = dict(coterie.measure(release, ["personal_data"], original=queries_log()).select("key", "value").iter_rows())
    assert found == {"before.rows": 0, "before.queries": 0, "after.rows": 0, "after.queries": 0}
