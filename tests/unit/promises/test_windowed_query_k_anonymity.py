"""The judge of windows: what lines may say, and who stands behind them.

Covers: methods/windowed_counts.py
"""

import polars as pl
import pytest

import coterie
from coterie.core.promise import Case
from coterie.core.shapes import COUNTS
from coterie.errors import BrokenPromiseError, InputError, ParameterError
from coterie.methods.windowed_counts import WindowedCounts
from coterie.promises import judge
from coterie.promises.windowed_query_k_anonymity import WindowedQueryKAnonymity
from tests.helpers.gates import rows_of

PAGE = "http://p.example"
LOG = rows_of(("a", "tea", 1, PAGE), ("b", "tea", 2, PAGE), ("b", "tea", 30), ("c", "maps", 3), ("c", "maps", 50),
              ("d", "maps", 7 * 24 + 1), ("a", "maps", 7 * 24 + 2))  # fmt: skip
QUERIES, CLICKS, REST = "queries from 2024-03-07", "clicks from 2024-03-07", "rest of queries from 2024-03-07"


def _judged(*lines, original=LOG, window="7d"):
    frame = pl.DataFrame(lines, schema=["table", "item", "detail", "count"], orient="row",
                         schema_overrides={"table": pl.String, "detail": pl.String, "count": pl.Int64})  # fmt: skip
    rows = COUNTS.completed(frame.lazy()).sort(COUNTS.order)
    log = None if original is None else coterie.log(original)
    return judge(Case(rows=rows, shape=COUNTS, original=log), (WindowedQueryKAnonymity(k=2, window=window),))


def _broken(*lines, **given):
    return {check.name for check in _judged(*lines, **given).broken}


def test_what_holds():
    lines = [(QUERIES, "tea", None, 1), (QUERIES, "tea", "2024-03-07", 2), (CLICKS, "tea", PAGE, 2)]
    verdict = _judged(*lines)
    assert verdict.exit_code == 0
    assert verdict.largest_k == 2
    assert _judged(*lines, original=None).exit_code == 3
    assert _judged((REST, "tea", None, 1)).exit_code == 0, "a rest of a query that two people asked"


@pytest.mark.parametrize(("line", "check"), [
    ((QUERIES, "maps", None, 2), "crowd.window"),  # one person in this window, two in the next
    ((QUERIES, "nobody", None, 2), "crowd.window"),
    ((QUERIES, "tea", "2024-03-08", 2), "crowd.detail"),  # one person on that day
    ((QUERIES, "tea", None, 4), "rows.window"),
    ((QUERIES, "tea", "2024-03-07", 3), "rows.window"),
    ((QUERIES, "tea", None, 1), "rows"),
    ((CLICKS, "tea", "http://other.example", 2), "crowd.detail"),
    ((CLICKS, "maps", PAGE, 2), "crowd.window"),
    (("rest of clicks from 2024-03-07", "maps", PAGE, 1), "crowd.window"),
    ((QUERIES, "tea", "2024-03-20", 2), "lines"),  # not a day of the window
    ((QUERIES, "tea", "a note", 2), "lines"),
    ((QUERIES, "tea", None, 0), "lines"),
    ((CLICKS, "tea", None, 2), "lines"),
    ((REST, "tea", "2024-03-07", 1), "lines"),
    (("queries from 2024-03-08", "tea", None, 2), "lines"),  # no window begins there
    (("queries from 2024-03-07 00:00:00", "tea", None, 2), "lines"),
    (("pages from 2024-03-07", "tea", None, 2), "lines"),
    (("asked by ann", "tea", None, 2), "lines"),
    ((None, "tea", None, 2), "lines"),
])  # fmt: skip
def test_what_does_not(line, check):
    assert check in _broken(line)


class CountsRows(WindowedCounts):
    """Broken: k rows are enough."""

    def _common(self, rows, key, also_others=False):
        return super()._common(rows.with_columns(pl.int_range(pl.len()).alias("subject")), key, also_others)


class TellsEveryDay(WindowedCounts):
    """Broken: the day stands beside every number."""

    def _common(self, rows, key, also_others=False):
        return rows if key[-1] == "day" else super()._common(rows, key, also_others)


class TellsEveryPage(WindowedCounts):
    """Broken: so does every page."""

    def _common(self, rows, key, also_others=False):
        return rows if key[-1] == "page" else super()._common(rows, key, also_others)


class OneWindow(WindowedCounts):
    """Broken: people of the whole log stand behind the numbers of each window."""

    def _common(self, rows, key, also_others=False):
        return super()._common(rows, [name for name in key if name != "start"], also_others)


@pytest.mark.parametrize(("method", "check"), [
    (CountsRows, "crowd.window"),
    (TellsEveryDay, "crowd.detail"),
    (TellsEveryPage, "crowd.detail"),
    (OneWindow, "crowd.window"),
])  # fmt: skip
def test_broken_methods_are_caught(method, check):
    extra = rows_of(("e", "tea", 5, "http://rare.example"), ("f", "own", 6), ("f", "own", 7))
    with pytest.raises(BrokenPromiseError, match=check):
        coterie.anonymize(coterie.log(pl.concat([LOG, extra])), method(k=2, window="7d"), seed=1)


def test_noise_and_other_shapes_are_refused():
    frame = pl.LazyFrame({"table": [QUERIES], "item": ["tea"], "count": [2], "low": [1]})
    case = Case(rows=COUNTS.completed(frame), shape=COUNTS)
    assert {check.name for check in judge(case, (WindowedQueryKAnonymity(k=2, window="7d"),)).broken} == {"lines"}
    log = coterie.log(LOG)
    rows = log.frame.select(log.shape.released).sort(log.shape.order)
    case = Case(rows=rows, shape=log.shape, original=log)
    assert "tables" in {check.name for check in judge(case, (WindowedQueryKAnonymity(k=2),)).broken}
    with pytest.raises(ParameterError, match="releases with a sidecar"):
        WindowedQueryKAnonymity.of_foreign({"k": 2}, named=True)


def test_its_words():
    promise = WindowedQueryKAnonymity(k=5, window="30d", shape="VISITS")
    assert promise.headline == "k = 5 within 30d"
    assert (
        "Every released page was requested by at least 5 different visitors within one window of 30d."
        in promise.sentence
    )
    assert any("test guesses" in limit for limit in promise.limits)


def test_the_batch_method_windowed_counts():
    log = coterie.log(LOG)
    rows = coterie.anonymize(log, WindowedCounts(k=2, window="7d"), seed=1).to_polars()
    assert rows.select("table", "item", "detail", "count").rows() == [
        (CLICKS, "tea", PAGE, 2),
        (QUERIES, "tea", None, 1),
        (QUERIES, "tea", "2024-03-07", 2),
        ("queries from 2024-03-14", "maps", "2024-03-14", 2),
    ]
    timeless = coterie.log(LOG.drop("time"))
    with pytest.raises(InputError, match="No row has a time"):
        coterie.anonymize(timeless, WindowedCounts(k=2))
