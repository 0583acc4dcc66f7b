"""What analysts of a website still read from a release: pages, referrers, hours, browsers, lengths of sessions, paths.

The error of a table is half the sum of the differences between the shares that values have in it before and after
(0 %: the same table; 100 %: nothing in common).

    pages.error        of pages; a page that was cut to `/a/*` counts as another one
    pages.top          how many of the 20 most frequent pages are still among the 20 most frequent
    referrers.error    of hosts that led to a page, among requests for which one is known
    hours.error        of hours of the day, likewise; a time that is a day has no hour
    browsers.error     of families of browsers, likewise
    landing.error      of first pages of sessions
    lengths.error      of sessions by the number of their requests
    paths.kept         pairs of pages that follow each other within a session: how many of all are still there
    referrers.known    share of released rows for which it is known; likewise hours, browsers

What cannot be read from a release is left out: what is about sessions where rows are not linked, all but pages and
paths where sequences of pages are released. Where tables of counts are released, they are compared as they are; the
hours of all days are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from coterie.core.log import Log
from coterie.core.scores import Score
from coterie.core.shapes import VISITS
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison, columns_of
from coterie.measures.rates import figures_in, titled
from coterie.steps.sessions import session_minutes
from coterie.text.agents import OTHER, parse_browsers
from coterie.text.hosts import host_of

needs: frozenset[str] = frozenset()
ABOUT = "It is about visits to a website"
TOP = 20
_DETAILS = ("referrers", "hours", "browsers")
_TITLES = {
    "pages": ("Error of the pages", "How far shares of pages are off. 0% is the same table; lower is better."),
    "referrers": ("Error of the referrers", "The same for hosts that led to a page, where one is known."),
    "hours": ("Error of the hours", "The same for hours of the day."),
    "browsers": ("Error of the browsers", "The same for families of browsers."),
    "landing": ("Error of the landing pages", "The same for first pages of sessions."),
    "lengths": ("Error of the lengths of sessions", "The same for sessions by the number of their requests."),
}
SHOWN = {f"{name}.error": titled(*words, before="0.0%") for name, words in _TITLES.items()} | {
    "paths.kept": titled(
        "Two-page paths kept",
        "Pairs of pages that follow each other within a session: how many of all are still there.",
        before="100.0%",
    ),
    "pages.top": titled(
        "Top pages that stayed on top",
        "How many of the most frequent pages are still among the most frequent.",
        before="all",
    ),
}
figures = figures_in("utility", 35, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """The errors of all tables that the release has."""
    comparison.require_shape(VISITS, ABOUT)
    before, after, shares_known = tables_of(comparison)
    if not after:
        raise NotApplicableError("The release has counts in place of rows, and no table of pages, hours or browsers.")
    yield from (Score(f"{name}.error", error(before[name], after[name]), "%") for name in _TITLES if name in after)
    if "paths" in after:
        yield Score("paths.kept", kept(before["paths"], after["paths"]), "%")
    if "pages" in after:
        tops = [table.sort(N, VALUE, descending=[True, False]).head(TOP) for table in (before["pages"], after["pages"])]
        yield Score("pages.top", tops[0].join(tops[1], on=VALUE, how="semi").height, f"of {tops[0].height}")
    yield from (Score(f"{name}.known", share, "% of rows") for name, share in shares_known.items())


def tables_of(comparison: Comparison) -> tuple[Tables, Tables, dict[str, float | None]]:
    """Tables of the original and of the release, and for how many of its rows details are known."""
    minutes = session_minutes(comparison.log)
    rows = clicks(comparison.log)
    labels = rows["browser"].drop_nulls().unique().to_list()
    sessions = session_tables(with_visits(rows, minutes))
    before = {**simple_tables(rows), **sessions}
    if comparison.release.log.shape.count:
        return before, counted_tables(comparison.release.log), {}
    released = clicks(comparison.release.log, labels)
    after = simple_tables(released)
    if comparison.release.log.shape.position:
        walks = released.sort("name", "position").with_columns(visit="name")
        return before, {"pages": after["pages"], "paths": pairs(walks)}, {}
    if released["name"].null_count() < released.height:
        linked = session_tables(with_visits(released, minutes))
        # Whether there are times that were not cut.
        exact_times = released.filter(pl.col("level").is_null())["time"].drop_nulls().len() > 0
        after |= linked if exact_times else {"lengths": linked["lengths"]}
    rows_known = {name: float(after[name][N].sum()) for name in _DETAILS}
    shares_known = {
        name: 100 * number / released.height if released.height else None for name, number in rows_known.items()
    }
    return before, after, shares_known


# --- the tables ------------------------------------------------------------------------------------


Tables = dict[str, pl.DataFrame]
"""Tables that analysts of a website look at, of visits before and after a release:

    pages        how often each page was asked for
    referrers    hosts that led to a page, among requests that name one
    hours        hours of the day, among requests whose hour is known
    browsers     families of browsers, among requests that name one
    landing      first pages of sessions
    lengths      sessions by the number of their requests
    paths        pairs of pages that follow each other within a session, a page that follows itself once

A table has the columns `value` and `n`. A release has those tables that can be read from it: lengths only where names
link the rows of a session; landing and paths only where these also have times; paths also where the release has
sequences of pages.
"""
VALUE, N = "value", "n"
TABLES = ("pages", "landing", "referrers", "hours", "browsers", "lengths", "paths")
_COUNTED_AS = {"pairs": "paths", "days": "hours"}  # tables of counts that have another name there
_REFERRER, _AGENT = "referrer", "agent"
_NEXT = " \u2192 "  # between two pages
_SYSTEM = r" ?\([^(]*\)$"  # what follows a browser in a label
_VERSION = r"/[^/]*$"


def clicks(log: Log, browsers: Sequence[str] = ()) -> pl.DataFrame:
    """name, page, time, level, position, row, host, browser of all rows; what the log does not have is null.

    `browsers` are labels that may stand in place of agents.
    """
    shape = log.shape
    columns = columns_of(shape, "subject", "item", "time", "level", "position")
    for name in (_REFERRER, _AGENT):
        columns[name] = pl.col(name) if name in shape.released else pl.lit(None, pl.String)
    in_lines = log.in_lines and "row" in log.frame.collect_schema()
    columns["row"] = pl.col("row") if in_lines else pl.lit(None, VISITS.schema["row"])
    rows = log.frame.select(**columns).collect(engine="streaming").rename({"subject": "name", "item": "page"})
    hosts = rows.select(_REFERRER).drop_nulls().unique()
    names = pl.Series("host", [host_of(text) or None for text in hosts[_REFERRER]], dtype=pl.String)
    agents = rows.select(_AGENT).drop_nulls().unique()
    rows = rows.join(hosts.with_columns(names), on=_REFERRER, how="left", maintain_order="left")
    families = agents.with_columns(_browsers(agents[_AGENT], browsers))
    return rows.join(families, on=_AGENT, how="left", maintain_order="left").drop(_REFERRER, _AGENT)


def _browsers(agents: pl.Series, labels: Sequence[str]) -> pl.Series:
    """The family of browsers that each agent names, or is: `firefox`, `firefox/120 (windows 10)`.

    A family may have a slash of its own, so the longest spelling that is a label counts.
    """
    parsed = parse_browsers(agents)
    if not labels:
        return parsed
    text = pl.col(_AGENT)
    browser = text.str.replace(_SYSTEM, "")
    families = [*labels, OTHER]
    spellings = (text, browser, browser.str.replace(_VERSION, ""))
    label = pl.coalesce(*(pl.when(each.is_in(families)).then(each) for each in spellings), pl.lit(parsed))
    return agents.to_frame(_AGENT).select(browser=pl.when(browser != "").then(label)).to_series()


def simple_tables(rows: pl.DataFrame) -> Tables:
    """Pages, referrers, hours and browsers of rows; a time that is a day, or less exact, is of an unknown hour."""
    level = pl.col("level")
    hour = pl.when(level.is_null() | (level == "hour")).then(pl.col("time").dt.hour().cast(pl.String))
    values = {"pages": pl.col("page"), "referrers": pl.col("host"), "hours": hour, "browsers": pl.col("browser")}
    return {name: counted(rows.select(value.alias(VALUE)).drop_nulls()) for name, value in values.items()}


def session_tables(sessions: pl.DataFrame) -> Tables:
    """Lengths, landing and paths of rows (visit, page), in the order of visits and of pages in them."""
    each = sessions.group_by("visit", maintain_order=True).agg(pl.len().cast(pl.String), pl.col("page").first())
    lengths, landing = (counted(each.select(pl.col(name).alias(VALUE))) for name in ("len", "page"))
    return {"lengths": lengths, "landing": landing, "paths": pairs(sessions)}


def pairs(sessions: pl.DataFrame) -> pl.DataFrame:
    """Pairs of pages that follow each other in rows (visit, page), in order."""
    page, before = pl.col("page"), pl.col("page").shift(1)
    on = (pl.col("visit") == pl.col("visit").shift(1)) & (page != before)
    return counted(
        sessions.select(pl.when(on).then(pl.concat_str(before, page, separator=_NEXT)).alias(VALUE)).drop_nulls()
    )


def counted_tables(counts: Log) -> Tables:
    """The tables of a release of counts that are among ours; days with their hours become hours of the day."""
    shape = counts.shape
    table = pl.col(shape.lead) if shape.lead else pl.lit(None, pl.String)
    detail = pl.col("detail") if "detail" in shape.released else pl.lit(None, pl.String)
    rows = counts.frame.select(table=table, item=pl.col(shape.item), detail=detail, n=pl.col(shape.count))
    cells = rows.drop_nulls(["table", "n"]).collect(engine="streaming")
    tables = {}
    for (name,), lines in cells.group_by("table"):
        ours = _COUNTED_AS.get(str(name), str(name))
        value = pl.concat_str("item", "detail", separator=_NEXT, ignore_nulls=True)
        if ours == "hours":
            value = pl.coalesce("detail", "item").cast(pl.Int64, strict=False).cast(pl.String)
        if ours in TABLES:
            tables[ours] = lines.select(value.alias(VALUE), N).drop_nulls().group_by(VALUE).agg(pl.col(N).sum())
    return tables


def with_visits(rows: pl.DataFrame, minutes: int) -> pl.DataFrame:
    """Rows that have a name, numbered by visit, in order: a new one begins after a pause.

    Pages of one second are in the order of their lines; in a release, which has none, in that of the alphabet.
    """
    ordered = rows.drop_nulls("name").sort("name", "time", "row", "page")
    pause = (pl.col("time") - pl.col("time").shift(1)).dt.total_microseconds() > minutes * 60_000_000
    begins = (pl.col("name") != pl.col("name").shift(1)).fill_null(True) | pause.fill_null(False)
    return ordered.with_columns(begins.cum_sum().alias("visit"))


def counted(values: pl.DataFrame) -> pl.DataFrame:
    """value, n of one column of values."""
    return values.group_by(VALUE).agg(pl.len().cast(pl.Int64).alias(N))


def error(before: pl.DataFrame, after: pl.DataFrame) -> float | None:
    """Half the sum of the differences of shares, in percent; None where one table is empty."""
    totals = [float(table[N].sum()) for table in (before, after)]
    if not all(totals):
        return None
    both = before.join(after, on=VALUE, how="full", coalesce=True, suffix="_after").fill_null(0).sort(VALUE)
    gaps = (both[N] / totals[0] - both[f"{N}_after"] / totals[1]).abs()
    return 50 * float(gaps.sum())


def kept(before: pl.DataFrame, after: pl.DataFrame) -> float | None:
    """How much of a table is in another one, in percent."""
    whole = before[N].sum()
    both = before.join(after, on=VALUE, suffix="_after")
    part = both.select(pl.min_horizontal(N, f"{N}_after").sum()).item()
    return 100 * part / whole if whole else None
