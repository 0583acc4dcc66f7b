"""One record in place of several visits (paper 004): what all of them have in common, the commonest values, and means.

    path, referrer        the first segments that all have in common (`/a/b/*`), and the last labels of hosts
    method, status        the commonest value, the smallest of several
    agent                 browser, version, system and version, each the commonest: `firefox/120 (windows 10)`
    time, size            the mean, cut to a whole number
    address               nothing, ever

Paths in the order of their segments stand together where they begin alike, so the first and the last of a group have in
common what all of it has. Where a promise is about visitors, a value that one visitor alone has is not released.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from coterie.core.log import Log
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.lab.microaggregate_visits.model import AGENT, GROUP, METHOD, REFERRER, ROW, SIZE, STATUS
from coterie.releasing.names import nobody_named
from coterie.text.agents import OTHER, VISITOR_PARTS, parse_agents
from coterie.text.hosts import common_path, common_referrer, host_and_path, host_labels, without_query

_ENDS = ("_first", "_last")
_VISITOR = "_visitor"
_IN_ORDER = (("\0", "\0\1"), ("/", "\0\0"))  # a slash is less than anything where texts are compared


def release_records(log: Log, plan: Plan, run: Run, *, several: bool) -> Draft:
    """The record of its group in place of each visit that is in one. `several`: values of one visitor alone go."""
    grouped = log.frame.select(ROW, *VISITS.released).join(plan.table, on=ROW).collect(engine="streaming")
    records = average_records(grouped, GROUP, several=several)
    rows = grouped.lazy().select(ROW, GROUP).join(records.lazy(), on=GROUP)
    unnamed = rows.with_columns(pl.lit(None, pl.String).alias(log.shape.subject)).select(ROW, *VISITS.released)
    return Draft(frame=unnamed, subjects=nobody_named(log, run))


def average_records(visits: pl.DataFrame, key: str, *, several: bool) -> pl.DataFrame:
    """One record for each key: the columns of a release but for the subject."""
    subject, item, time = VISITS.subject, VISITS.item, VISITS.time
    parts = parse_agents(visits[AGENT]).select(VISITOR_PARTS)
    values = visits.select(
        key,
        pl.col(subject).cast(pl.Categorical).to_physical().alias(_VISITOR),  # a number for each
        without_query(pl.col(item)).alias(item),
        without_query(pl.col(REFERRER)).alias(REFERRER),
        pl.col(time).dt.epoch("s").alias(time),
        METHOD, STATUS, SIZE,
    ).hstack(parts)  # fmt: skip
    records = values.group_by(key).agg(_mean(time), _mean(SIZE)).sort(key)
    for column in (METHOD, STATUS, *VISITOR_PARTS):
        records = records.join(_commonest(values, key, column, several), on=key, maintain_order="left")
    records = records.join(_paths(values.select(key, item), key, item), on=key, maintain_order="left")
    records = records.join(_referrers(values.select(key, REFERRER), key), on=key, how="left", maintain_order="left")
    as_time = pl.from_epoch(time, "s").cast(VISITS.schema[time])
    empty = [pl.lit(None, VISITS.schema[name]).alias(name) for name in VISITS.never_given]
    agent = _agent_text().alias(AGENT)
    released = [name for name in VISITS.released if name != subject]
    return records.with_columns(as_time, agent, *empty).select(key, *released)


def _mean(column: str) -> pl.Expr:
    """The mean of those that are there, cut to a whole number."""
    number = pl.col(column).cast(pl.Int64)
    return (number.min() + (number - number.min()).sum() // number.count().cast(pl.Int64)).alias(column)


def _commonest(visits: pl.DataFrame, key: str, column: str, several: bool) -> pl.DataFrame:
    """key, column: the commonest value, null where that is no value; the smallest of several, and null is smallest."""
    counts = visits.group_by(key, column).agg(
        pl.len().alias("n"), (pl.col(_VISITOR).min() != pl.col(_VISITOR).max()).alias("_several")
    )
    most = counts.filter(pl.col("n") == pl.col("n").max().over(key)).sort(key, column, nulls_last=False)
    chosen = most.unique(key, keep="first", maintain_order=True)
    return chosen.select(key, pl.when("_several").then(column).alias(column) if several else column)


def _ends(visits: pl.DataFrame, key: Sequence[str], text: pl.Expr) -> pl.DataFrame:
    """key, _first, _last: the first and last texts, in the order of what stands between their slashes."""
    for old, new in _IN_ORDER:
        text = text.str.replace_all(old, new, literal=True)
    texts = visits.select(*key, text.alias("_text"))
    ends = texts.group_by(key).agg(pl.col("_text").min().alias(_ENDS[0]), pl.col("_text").max().alias(_ENDS[1]))
    spelled = pl.col(_ENDS)
    for old, new in reversed(_IN_ORDER):
        spelled = spelled.str.replace_all(new, old, literal=True)
    return ends.with_columns(spelled)


def _paths(visits: pl.DataFrame, key: str, item: str) -> pl.DataFrame:
    ends = _ends(visits, [key], pl.col(item))
    pairs = ends.select(_ENDS).unique()
    common = pl.Series(item, [common_path(*pair) for pair in pairs.iter_rows()], dtype=pl.String)
    return ends.join(pairs.with_columns(common), on=_ENDS).select(key, item)


def _referrers(visits: pl.DataFrame, key: str) -> pl.DataFrame:
    """key, referrer: what all referrers have in common, nothing where a visit has none."""
    texts = visits[REFERRER].drop_nulls().unique()
    parts = [(text, *host_and_path(text)) for text in texts]
    rows = [(text, host, "/".join(host_labels(host)) if host else "", path) for text, host, path in parts]
    table = pl.DataFrame(rows, schema=dict.fromkeys((REFERRER, "_host", "_labels", "_path"), pl.String), orient="row")
    without = visits.filter(pl.col(REFERRER).is_null()).select(key).unique()
    led = visits.join(without, on=key, how="anti").join(table, on=REFERRER)
    labels, paths = _ends(led, [key], pl.col("_labels")), _ends(led, [key], pl.col("_path"))
    ends = labels.join(paths, on=key, suffix="_path")
    columns = [*_ENDS, *(f"{end}_path" for end in _ENDS)]
    pairs = ends.select(columns).unique()
    host_of_labels = dict(table.select("_labels", "_host").iter_rows())
    common = [
        common_referrer((host_of_labels[a], host_of_labels[b]), (first, last))
        for a, b, first, last in pairs.iter_rows()
    ]
    named = pairs.with_columns(pl.Series(REFERRER, common, dtype=pl.String))
    return ends.join(named, on=columns).select(key, REFERRER)


def _agent_text() -> pl.Expr:
    """`firefox/120 (windows 10)`; a version only beside what it is of, and null where nothing is known."""
    browser, version, system, system_version = map(pl.col, VISITOR_PARTS)
    known = [pl.when(each != OTHER).then(each) for each in (version, system_version)]
    product = pl.when(browser.is_not_null()).then(pl.concat_str(browser, known[0], separator="/", ignore_nulls=True))
    platform = pl.concat_str(system, known[1], separator=" ", ignore_nulls=True)
    platform = pl.when(system.is_not_null()).then(pl.format("({})", platform))
    text = pl.concat_str(product, platform, separator=" ", ignore_nulls=True)
    return pl.when(text != "").then(text)
