"""The indicators of paper 004 (section 3.1): clicks and sessions by browser, before and after a release.

    clicks.error        error of the shares of clicks by family of browsers: half the sum of their differences
    sessions.count      sessions in the release, and in the original (`sessions.count.original`)
    sessions            the same in percent of the original
    share.error         error of the shares of sessions by family of browsers
    share.1             share of sessions of the browser that has most in the original, and `share.1.original`;
                        likewise share.2 and share.3
    sessions.by_id      where records have the number of their session (`sessionid`): sessions in the release, told by
                        the commonest number of each group, and `share.by_id.error`

A session is what one address and one browser of one version on one system asked for without a pause of more than half
an hour (as the step `sessions` says, where it was applied). In a release it is what one name asked for. A release of
records in place of k similar ones has neither names nor addresses; with its run record, sessions are counted as if it
had, in place of each address, what the addresses of its group begin with, as the paper's release did. Counts by browser
have clicks and no sessions.

Studies tell how far these shares vary with k (`share.1.sigma`, in points) and how they change with it (`share.1.slope`,
points for each further k): the standard deviation, and the slope of the line with least squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address

import polars as pl

from coterie.core.scores import Score
from coterie.core.shapes import VISITS
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.utility import visit_tables as visits
from coterie.measures.utility.visit_tables import VALUE, N
from coterie.steps.sessions import session_minutes
from coterie.steps.visitors import Visitors

needs: frozenset[str] = frozenset()
series = ("share.1", "share.2", "share.3")
"""Scores of which studies tell the standard deviation and the slope over k."""
_TOP = 3
_GROUPS = "clusters"  # the table of the run record that says which rows became one record
_BITS = 32
SHOWN = {
    "clicks.error": titled(
        "Error of clicks by browser",
        "How far shares of clicks by family of browsers are off. 0% is the same table; lower is better.",
        before="0.0%",
    ),
    "sessions": titled(
        "Sessions that are counted",
        "Sessions in the release, in percent of those in the log. 100% is right.",
        before="100.0%",
    ),
    "share.error": titled(
        "Error of sessions by browser",
        "How far shares of sessions by family of browsers are off.",
        before="0.0%",
    ),
}
figures = figures_in("utility", 36, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Clicks and sessions by browser, before and after."""
    comparison.require_shape(VISITS, visits.ABOUT)
    rows = visits.clicks(Visitors()(comparison.log))
    if comparison.release.log.shape.count:
        table = visits.counted_tables(comparison.release.log).get("browsers")
        if table is None:
            raise NotApplicableError("The release has counts in place of rows, and no table of browsers.")
        yield Score("clicks.error", visits.error(_by_browser(rows), table), "%")
        return
    labels = rows["browser"].drop_nulls().unique().to_list()
    released = visits.clicks(comparison.release.log, labels)
    if released["browser"].null_count() == released.height and released.height:
        raise NotApplicableError("No row of this release says which browser it came from.")
    clicks = [_by_browser(each) for each in (rows, released)]
    yield Score("clicks.error", visits.error(*clicks), "%")
    minutes = session_minutes(comparison.log)
    before = _sessions(rows, minutes)
    named = released if released["name"].null_count() < released.height else _as_if_named(comparison, released)
    if named is None:
        return
    after = _sessions(named, minutes)
    yield Score("sessions.count", after.height, "sessions")
    yield Score("sessions.count.original", before.height, "sessions")
    yield Score("sessions", 100 * after.height / before.height if before.height else None, "%")
    shares = [_by_browser(each) for each in (before, after)]
    yield Score("share.error", visits.error(*shares), "%")
    top = shares[0].sort(N, VALUE, descending=[True, False]).head(_TOP)
    totals = [float(each[N].sum()) for each in shares]
    after_of = dict(shares[1].iter_rows())
    for place, (browser, number) in enumerate(top.select(VALUE, N).iter_rows(), start=1):
        label = browser if comparison.show_values else None
        share = 100 * after_of.get(browser, 0) / totals[1] if totals[1] else None
        yield Score(f"share.{place}", share, "% of sessions", label)
        yield Score(f"share.{place}.original", 100 * number / totals[0], "% of sessions", label)
    if comparison.release.params.get("sessionid") and released["name"].null_count():
        by_id = _by_id(comparison, released, minutes)
        yield Score("sessions.by_id", by_id.height, "sessions")
        yield Score("share.by_id.error", visits.error(shares[0], _by_browser(by_id)), "%")


def _by_browser(rows: pl.DataFrame) -> pl.DataFrame:
    return visits.counted(rows.select(pl.col("browser").alias(VALUE)).drop_nulls())


def _sessions(rows: pl.DataFrame, minutes: int) -> pl.DataFrame:
    """visit, browser: one line for each session."""
    return (
        visits.with_visits(rows, minutes).unique("visit", keep="first", maintain_order=True).select("visit", "browser")
    )


def _as_if_named(comparison: Comparison, released: pl.DataFrame) -> pl.DataFrame | None:
    """Rows under names of what the addresses of a group begin with, and the agent; None where groups are not known."""
    record = comparison.release.record
    if record is None or record.rows is None or _GROUPS not in record.tables:
        return None
    addresses = comparison.log.frame.select("row", "address")
    groups = addresses.join(record.tables[_GROUPS].select("row", "group"), on="row").collect(engine="streaming")
    begin = groups.group_by("group").agg(pl.col("address").drop_nulls().unique().sort())
    prefix = pl.Series("prefix", [common_beginning(each) for each in begin["address"].to_list()], dtype=pl.String)
    of_row = groups.join(begin.select("group").with_columns(prefix), on="group").join(comparison.rows, on="row")
    whose = of_row.select("released_row", "prefix").sort("released_row")
    agents = comparison.release.log.frame.select("agent").collect(engine="streaming")["agent"]
    name = pl.concat_str("prefix", "agent", separator=" ", ignore_nulls=True)
    numbered = released.drop("name").with_columns(agents).with_row_index("released_row")
    return numbered.join(whose, on="released_row").with_columns(name.alias("name"))


def _by_id(comparison: Comparison, released: pl.DataFrame, minutes: int) -> pl.DataFrame:
    """visit, browser: one line for each session that is the commonest of a group, with its commonest browser."""
    shape = comparison.log.shape
    columns = {"name": shape.subject, "page": shape.item, "time": shape.time}
    rows = Visitors()(comparison.log).frame.select("row", **{new: pl.col(old) for new, old in columns.items()})
    numbered = visits.with_visits(rows.collect(engine="streaming"), minutes).select("row", "visit")
    groups = comparison.record.tables[_GROUPS].select("row", "group").collect(engine="streaming")
    of_group = _commonest(groups.join(numbered, on="row"), "group", "visit")
    browsers = released.select("browser").with_row_index("released_row").join(comparison.rows, on="released_row")
    return _commonest(browsers.join(groups, on="row").join(of_group, on="group"), "visit", "browser")


def _commonest(rows: pl.DataFrame, key: str, value: str) -> pl.DataFrame:
    """key, value: the commonest value of each key, the smallest of several."""
    counts = rows.group_by(key, value).len().sort(key, "len", value, descending=[False, True, False])
    return counts.unique(key, keep="first", maintain_order=True).select(key, value)


def common_beginning(addresses: list[str]) -> str:
    """What addresses begin with, in bits: all of it for one address; nothing for others than of version 4."""
    if len(addresses) == 1:
        return addresses[0]
    try:
        numbers = [int(IPv4Address(address)) for address in addresses]
    except AddressValueError:
        return ""
    if not numbers:
        return ""
    other = (min(numbers) ^ max(numbers)).bit_length()
    return f"{IPv4Address(min(numbers) >> other << other)}/{_BITS - other}"
