"""Pages: how much of its path, and of what accompanies it, a request shares with enough visitors.

`shared_prefixes` cuts paths. The levels of `/a/b?c=1` are `/a/b?c=1`, `/a/b`, `/a/*` and `/*`, each a prefix by whole
segments. From the finest level on, whatever at least k visitors have in common stays, and all else goes one level up,
where it is counted together with whatever else did not stay below. So what is left over in `/a/*`, beside the pages of
`/a/` that stay, comes from k visitors, too.

`kept_details` looks at rows that are alike so far, detail by detail: a value stays where k of their visitors share it,
and where the rows left without it come from k visitors, or are none. Otherwise the smallest value that would stay is
given up: with it, they do.

Rows without a visitor are not counted and go where the others of their kind go. Visitors and values are told apart by
their bytes, never by a hash alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.shapes import REPLACE, VISITS
from coterie.text.agents import parse_browsers
from coterie.text.hosts import host_of

VISITOR, ITEM, INTO = "visitor", "item", "into"
REFERRER, AGENT = (name for name in VISITS.identifying if name not in VISITS.never_given)
"""The columns of a log that are read: hosts and browsers are released in their place."""
HOST, BROWSER = "host", "browser"
_DEEPEST = 32  # segments of the longest prefix; what is deeper begins there
_PAGE, _STEM, _CLASS, _VALUE, _CROWD = "_page", "_stem", "_class", "_value", "_crowd"
_BEFORE_THE_LAST_SLASH = r"(?s)^(.*)/"
_TOO_DEEP = rf"(?s)^((?:[^/]*/){{{_DEEPEST - 1}}}[^/]*)/.*$"


def with_short_names(log: Log, run: Run) -> Log:
    """The log with a number in place of each visitor's long name, which is slow to compare; nobody stays nobody."""
    return replace(log, frame=run.engine.shortened(log.frame, log.shape.subject))


def hosts(log: Log, run: Run) -> pl.LazyFrame:
    """referrer, host: the host of each referrer that names one."""
    referrers = _distinct(log, REFERRER, run)
    named = referrers.with_columns(pl.Series(HOST, [host_of(text) for text in referrers[REFERRER]], dtype=pl.String))
    return named.filter(pl.col(HOST) != "").lazy()


def browsers(log: Log, run: Run) -> pl.LazyFrame:
    """agent, browser: the family of browsers that each agent names."""
    agents = _distinct(log, AGENT, run)
    return agents.with_columns(parse_browsers(agents[AGENT]).alias(BROWSER)).lazy()


def _distinct(log: Log, column: str, run: Run) -> pl.DataFrame:
    return run.small_blocks(log.frame, lambda rows: rows.select(column).drop_nulls().unique(), [column])


def stays(detail: str) -> str:
    """The column that says whether a row keeps a detail."""
    return f"{detail}_stays"


def shared_prefixes(visits: pl.LazyFrame, k: int, run: Run) -> pl.LazyFrame:
    """item, into: what each path becomes, from the finest level on; nothing where all prefixes have too few visitors.

    `visits` has a line (visitor, item) for each request.
    """

    def distinct(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.select(VISITOR, ITEM).unique()

    pairs = run.keep(run.blocks(visits, distinct, by=[ITEM]))
    paths = run.small(run.blocks(pairs, lambda rows: rows.select(ITEM).unique(), by=[ITEM]))[ITEM]

    page = pl.col(ITEM).str.split_exact("?", 1).struct.field("field_0")
    table = paths.to_frame(ITEM).with_columns(page.alias(_PAGE))
    settled = [table.clear().select(ITEM, pl.col(ITEM).alias(INTO))]

    def settle(waiting: pl.DataFrame) -> pl.DataFrame:
        """Keep the paths that have k visitors as what they are now (into); the others are returned."""
        if waiting.is_empty():
            return waiting.drop(INTO)
        asked = run.join(pairs, waiting.select(ITEM, INTO).lazy(), [ITEM])
        crowds = run.crowds(asked, [INTO], VISITOR, _CROWD)
        enough = run.small(run.each(crowds, lambda rows: rows.filter(pl.col(_CROWD) >= k)))
        settled.append(waiting.join(enough, on=INTO, how="semi").select(ITEM, INTO))
        return waiting.join(enough, on=INTO, how="anti").drop(INTO)

    with_query = pl.col(_PAGE) != pl.col(ITEM)
    left = settle(table.filter(with_query).with_columns(pl.col(ITEM).alias(INTO)))
    left = settle(pl.concat([left, table.filter(~with_query)]).with_columns(pl.col(_PAGE).alias(INTO)))
    stem = pl.col(_PAGE).str.extract(_BEFORE_THE_LAST_SLASH).str.replace(_TOO_DEEP, "${1}")
    left = left.with_columns(stem.alias(_STEM))
    for depth in range(_DEEPEST - 1, -1, -1):
        here = pl.col(_STEM).str.count_matches("/", literal=True) == depth
        at_depth = left.filter(here)
        if at_depth.height:
            risen = settle(at_depth.with_columns((pl.col(_STEM) + "/*").alias(INTO)))
            parent = pl.col(_STEM).str.extract(_BEFORE_THE_LAST_SLASH)
            left = pl.concat([left.filter(~here), risen.with_columns(parent.alias(_STEM))])
    return REPLACE.check(pl.concat(settled).lazy())


def kept_details(
    visits: pl.LazyFrame, details: Sequence[str], k: int, run: Run, instead: Mapping[str, str] | None = None
) -> pl.LazyFrame:
    """Which details of requests stay: into, a column for each detail, and one for each that says whether it stays.

    `visits` has a line (visitor, into, *details) for each request, the most important detail first. `instead`: a
    detail, and the finer one in whose place it stands, where that one does not stay.
    """

    def work(frame: pl.LazyFrame) -> pl.LazyFrame:
        return _kept(frame.collect(engine="streaming"), details, k, instead or {}).lazy()

    needed = run.each(visits, lambda rows: rows.select(VISITOR, INTO, *details))
    return run.keep(run.blocks(needed, work, by=[INTO]))


def _kept(visits: pl.DataFrame, details: Sequence[str], k: int, instead: Mapping[str, str]) -> pl.DataFrame:
    known = {name: visits[name].drop_nulls().unique().sort() for name in (INTO, *details)}
    numbered = {name: _numbers(visits[name], values) for name, values in known.items()}
    rows = pl.DataFrame({VISITOR: _numbers(visits[VISITOR]), **numbered}).unique()
    rows = rows.with_columns(pl.col(INTO).alias(_CLASS))
    classes = known[INTO].len()
    for detail in details:
        value = pl.col(detail)
        if detail in instead:
            value = pl.when(~pl.col(stays(instead[detail]))).then(value)
        rows = rows.with_columns(value.alias(_VALUE))
        chosen = _values_that_stay(rows.select(VISITOR, _CLASS, _VALUE).unique(), k).with_row_index("_new", classes)
        classes += chosen.height
        # Rows that keep the detail are a class of their own from now on; those that do not stay together.
        rows = rows.join(chosen, on=[_CLASS, _VALUE], how="left").with_columns(
            pl.col("_new").is_not_null().alias(stays(detail)), pl.coalesce("_new", _CLASS).alias(_CLASS)
        )
        rows = rows.drop("_new", _VALUE)
    kinds = rows.select(*known, *map(stays, details)).unique()
    return kinds.with_columns(values.gather(kinds[name]).alias(name) for name, values in known.items())


def _values_that_stay(rows: pl.DataFrame, k: int) -> pl.DataFrame:
    """_class, _value: the values that stay of each class; rows (visitor, _class, _value) are distinct."""
    enough = _crowds(rows.drop_nulls(_VALUE), [_CLASS, _VALUE]).filter(pl.col(_CROWD) >= k)
    left = rows.join(enough, on=[_CLASS, _VALUE], how="anti").select(VISITOR, _CLASS).unique()
    too_few = _crowds(left, [_CLASS]).filter(pl.col(_CROWD) < k)
    smallest = enough.join(too_few, on=_CLASS, how="semi").sort(_CROWD, _VALUE).unique(_CLASS, keep="first")
    return enough.join(smallest, on=[_CLASS, _VALUE], how="anti").select(_CLASS, _VALUE)


def _crowds(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """How many visitors each key has, of distinct rows; nobody, a null, is not counted."""
    return rows.group_by(key).agg(pl.col(VISITOR).count().alias(_CROWD))


def _numbers(values: pl.Series, known: pl.Series | None = None) -> pl.Series:
    """The place of each value among the known ones, or among all distinct ones; null stays null."""
    known = values.drop_nulls().unique() if known is None else known
    places = pl.int_range(known.len(), dtype=pl.UInt32, eager=True)
    return values.replace_strict(known, places, default=None, return_dtype=pl.UInt32)
