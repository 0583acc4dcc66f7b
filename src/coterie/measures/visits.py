"""Visits before and after a release, as the tables that analysts of a website look at.

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

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import VISITS, Shape
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.text.agents import OTHER, parse_browsers
from coterie.text.hosts import host_of

Tables = dict[str, pl.DataFrame]
VALUE, N = "value", "n"
TABLES = ("pages", "landing", "referrers", "hours", "browsers", "lengths", "paths")
_COUNTED_AS = {"pairs": "paths", "days": "hours"}  # tables of counts that have another name there
_REFERRER, _AGENT = "referrer", "agent"
_NEXT = " \u2192 "  # between two pages
_HOUR = 3_600_000_000  # microseconds
_SYSTEM = r" ?\([^(]*\)$"  # what follows a browser in a label
_VERSION = r"/[^/]*$"


def require_visits(comparison: Comparison) -> None:
    """Raise NotApplicableError for what is not an access log."""
    if comparison.log.shape is not VISITS:
        raise NotApplicableError(f"It is about visits to a website, and this log is {comparison.log.shape.name}.")


def clicks(log: Log, browsers: Sequence[str] = ()) -> pl.DataFrame:
    """name, page, time, position, row, host, browser of all rows; what the log does not have is null.

    `browsers` are labels that may stand in place of agents.
    """
    shape = log.shape
    wanted = {"name": shape.subject, "page": shape.item, "time": shape.time, "position": shape.position}
    wanted |= {name: name if name in shape.released else "" for name in (_REFERRER, _AGENT)}
    wanted["row"] = "row" if log.in_lines and "row" in log.frame.collect_schema() else ""
    columns = {new: pl.col(old) if old else pl.lit(None, _type(shape, new)) for new, old in wanted.items()}
    rows = log.frame.select(**columns).collect(engine="streaming")
    hosts = rows.select(_REFERRER).drop_nulls().unique()
    names = pl.Series("host", [host_of(text) or None for text in hosts[_REFERRER]], dtype=pl.String)
    agents = rows.select(_AGENT).drop_nulls().unique()
    rows = rows.join(hosts.with_columns(names), on=_REFERRER, how="left", maintain_order="left")
    families = agents.with_columns(_browsers(agents[_AGENT], browsers))
    return rows.join(families, on=_AGENT, how="left", maintain_order="left").drop(_REFERRER, _AGENT)


def _type(shape: Shape, name: str) -> pl.DataType | type[pl.DataType]:
    return shape.schema.get(name, pl.Int32 if name == "position" else VISITS.schema.get(name, pl.String))


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


def is_coarse(rows: pl.DataFrame) -> bool:
    """Whether all times are whole hours, so that one at midnight may stand for a day."""
    times = rows["time"].drop_nulls().cast(pl.Int64)
    return bool((times % _HOUR == 0).all())


def simple_tables(rows: pl.DataFrame, *, without_midnight: bool) -> Tables:
    """Pages, referrers, hours and browsers of rows; `without_midnight`: times at midnight are of an unknown hour."""
    time = pl.col("time")
    hour = time.dt.hour().cast(pl.String)
    if without_midnight:
        hour = pl.when(time.dt.hour() > 0).then(hour)
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
