"""Walks: the visits of a website's visitors, page after page, and the sequences of pages that many of them walked.

A visit ends after a pause, as the prepare step `sessions` numbers them, or after half an hour. Within a visit pages
stand in the order of their times, and of their lines within one second; a page that follows itself counts once. On a
cluster, where rows are in no order, each of several pages of one second is a visit of its own: nobody knows which of
them came first. So is a row without a time. Rows without a visitor are left out.

What is held: numbers of each row, the distinct visitors and the distinct paths.

Visit counts: how often things stand in an access log, visitor by visitor, and which of these numbers stay.

A cell is a line of one of these tables:

    pages       a path that was requested
    landing     the first page of a visit
    pairs       a page, and the one that followed it in the same visit (detail); no page follows itself
    referrers   the host of the page that led here
    days        a day, and one of its hours (detail)
    hours       an hour of the day, whatever the day
    browsers    a family of browsers
    lengths     how many requests a visit has

Visits are those of `walks`. Rows without a visitor count nowhere, and rows without a time are in no visit. Rows without
a referrer, an agent or a time are a cell (null) of the tables about these, and of `lengths`, which has the number of
all requests with a time; this cell never stays: other tables have these rows, and would tell how many there are.

A cell stays where k visitors are counted in it, and where the cells that are left out of its table are those of k
visitors together, or none. Otherwise the smallest cell that would stay is given up: with it, they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.algorithms.kernels.sequences import Parts, Steps, Tree, common_kinds, cut, cut_until_common, tree_of
from coterie.algorithms.pages import (
    AGENT,
    BROWSER,
    HOST,
    INTO,
    ITEM,
    REFERRER,
    VISITOR,
    browsers,
    hosts,
    shared_prefixes,
    with_short_names,
)  # fmt: skip
from coterie.core.arrays import Flags, Ints, Short
from coterie.core.log import Log
from coterie.core.run import HERE, Run
from coterie.core.shapes import COUNTS
from coterie.steps.sessions import session_minutes

KIND, PLACE, PAGE, DAY = "kind", "place", "page", "day"
NO_DAY = np.iinfo(np.int32).min
_MICROSECONDS_A_DAY = 86_400_000_000
_NO_TIME = np.iinfo(np.int64).min
_ROW, _SESSION, _WHEN = "row", "session", "when"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Visits:
    """All rows that have a visitor, in the order of visitors, visits and steps."""

    visitors: pl.Series
    """Sorted."""
    paths: pl.Series
    """Sorted."""
    row: NDArray[np.uint64]
    visitor: Short
    path: Short
    day: Short
    """Days since 1970, or NO_DAY."""
    begins: Flags
    """Whether a visit begins with it."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Walks:
    """Visits of pages as they may be released, a page that follows itself once."""

    visits: Visits
    pages: pl.Series
    """Sorted."""
    steps: Steps
    row: Ints
    """By step: the place of its first row among those of the visits."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sequences:
    """What visits are cut into: sequences of pages, each with its visitor and the day on which it began."""

    walks: Walks
    tree: Tree
    parts: Parts

    @property
    def visitor(self) -> Short:
        """The visitor of each."""
        return self.walks.steps.visitor[self.parts.visit]

    @property
    def day(self) -> Short:
        """The day of each, or NO_DAY."""
        return self.walks.visits.day[self.walks.row[self.parts.begin]]


def visits(log: Log) -> Visits:
    """The visits of a log."""
    shape = log.shape
    numbered = _SESSION in log.frame.collect_schema()
    columns = {_ROW: _ROW, VISITOR: shape.subject, ITEM: shape.item, _WHEN: shape.time}
    needed = [*(pl.col(column).alias(name) for name, column in columns.items()), *([_SESSION] if numbered else [])]

    def named(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.select(needed).filter(pl.col(VISITOR).is_not_null())

    rows = log.engine.fetch(log.engine.each(log.frame, named))
    visitors, paths = (rows.select(name).unique().collect(engine="streaming")[name].sort() for name in (VISITOR, ITEM))
    for name, values in ((VISITOR, visitors), (ITEM, paths)):
        numbers = values.to_frame().with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias(f"_{name}"))
        rows = rows.join(numbers.lazy(), on=name).drop(name).rename({f"_{name}": name})
    order = [VISITOR, *([_SESSION] if numbered else []), _WHEN, *([] if log.in_lines else [ITEM]), _ROW]
    table = rows.collect(engine="streaming").sort(order)
    time = table[_WHEN].cast(pl.Int64).fill_null(_NO_TIME).to_numpy()
    visitor, path = table[VISITOR].to_numpy(), table[ITEM].to_numpy()
    unknown = time == _NO_TIME
    if numbered:
        paused = np.diff(table[_SESSION].fill_null(0).to_numpy().astype(np.int64)) != 0
    else:
        paused = np.diff(time) > session_minutes(log) * 60_000_000
    begins = np.append(np.ones(min(1, time.size), np.bool_), (np.diff(visitor) != 0) | paused)
    begins[1:] |= unknown[1:] | unknown[:-1]
    if not log.in_lines:
        begins |= _next_to_a_crowded_second(visitor, time, path)
    return Visits(
        visitors=visitors,
        paths=paths,
        row=table[_ROW].to_numpy(),
        visitor=visitor,
        path=path,
        day=np.where(unknown, NO_DAY, time // _MICROSECONDS_A_DAY).astype(np.int32),
        begins=begins,
    )


def _next_to_a_crowded_second(visitor: Short, time: Ints, path: Short) -> Flags:
    """Where another page begins that was, or whose predecessor was, one of several pages of one second."""
    later = (np.diff(visitor) != 0) | (np.diff(time) != 0)
    other = np.diff(path) != 0
    second = np.append(np.zeros(min(1, time.size), np.int64), np.cumsum(later))
    crowded = np.zeros(time.size, np.bool_)
    crowded[second[1:][other & ~later]] = True
    crowded = crowded[second]
    return np.append(np.zeros(min(1, time.size), np.bool_), (later | other) & (crowded[1:] | crowded[:-1]))


def pages_of(visited: Visits, k: int) -> pl.DataFrame:
    """item, into: what each path becomes that shares its beginning with k visitors."""
    pairs = pl.LazyFrame({VISITOR: visited.visitor, ITEM: visited.path}).unique()
    paths = visited.paths.to_frame().lazy().with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("_path"))
    named = pairs.join(paths.rename({ITEM: "_text"}), left_on=ITEM, right_on="_path").select(
        VISITOR, pl.col("_text").alias(ITEM)
    )
    return shared_prefixes(named, k, Run(engine=HERE)).collect(engine="streaming")


def as_they_are(visited: Visits) -> pl.DataFrame:
    """item, into: each path becomes itself."""
    return visited.paths.to_frame(ITEM).with_columns(pl.col(ITEM).alias(INTO))


def walks(visited: Visits, into: pl.DataFrame) -> Walks:
    """The visits, where each path becomes what `into` (item, into) says; others are never released."""
    pages = into[INTO].unique().sort()
    numbers = pages.to_frame().with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias(PAGE))
    becomes = visited.paths.to_frame().join(into.join(numbers, on=INTO), on=ITEM, how="left", maintain_order="left")
    page = becomes[PAGE].fill_null(-1).to_numpy()[visited.path].astype(np.int32)
    again = np.append(np.zeros(min(1, page.size), np.bool_), np.diff(page) == 0) & ~visited.begins
    row = np.flatnonzero(~again)
    begins = np.flatnonzero(visited.begins[row])
    steps = Steps(
        start=np.append(begins, row.size).astype(np.int64), visitor=visited.visitor[row[begins]], page=page[row]
    )
    return Walks(visits=visited, pages=pages, steps=steps, row=row)


def common_sequences(walked: Walks, k: int, longest: int) -> Sequences:
    """Visits cut into sequences each of which at least k visitors have."""
    tree = common_kinds(walked.steps, walked.pages.len(), k, longest)
    return Sequences(walks=walked, tree=tree, parts=cut_until_common(walked.steps, tree, k))


def plan_tables(sequences: Sequences, k: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """kind, place, page of each kind that visits were cut into; and kind, day: the days that may stand beside it."""
    kinds = np.unique(sequences.parts.kind)
    node, lines = kinds, list[pl.DataFrame]()
    while node.size:  # from the last page to the first
        lines.append(
            pl.DataFrame({KIND: kinds, PLACE: np.full(kinds.size, -len(lines)), PAGE: sequences.tree.page[node]})
        )
        above = sequences.tree.parent[node]
        kinds, node = kinds[above >= 0], above[above >= 0]
    nothing = pl.DataFrame(schema={KIND: pl.Int32, PLACE: pl.Int64, PAGE: pl.Int32})
    table = pl.concat([nothing, *lines])
    first = pl.col(PLACE) - pl.col(PLACE).min().over(KIND) + 1
    spelled = table.select(
        KIND, first.cast(pl.Int32).alias(PLACE), sequences.walks.pages.gather(table[PAGE]).alias(PAGE)
    )
    return spelled.sort(KIND, PLACE), shared_days(sequences, k)


def used_pages(into: pl.DataFrame, kinds: pl.DataFrame) -> pl.DataFrame:
    """item, into: those paths that become a page of one of the kinds (kind, place, page)."""
    return into.join(kinds, left_on=INTO, right_on=PAGE, how="semi").sort(ITEM)


def shared_days(sequences: Sequences, k: int) -> pl.DataFrame:
    """kind, day: where k visitors share both, and k visitors or none are left without a day.

    Where fewer are left, the day with the fewest visitors is given up, of several the first: it has k visitors itself.
    """
    parts = pl.LazyFrame({KIND: sequences.parts.kind, DAY: sequences.day, VISITOR: sequences.visitor})
    crowd = pl.col(VISITOR).n_unique().alias("crowd")
    days = parts.filter(pl.col(DAY) != NO_DAY).group_by(KIND, DAY).agg(crowd).filter(pl.col("crowd") >= k)
    left = parts.join(days, on=[KIND, DAY], how="anti").group_by(KIND).agg(crowd).filter(pl.col("crowd") < k)
    fewest = days.sort("crowd", DAY).unique(KIND, keep="first", maintain_order=True).join(left, on=KIND, how="semi")
    kept = days.join(fewest, on=[KIND, DAY], how="anti").select(KIND, DAY)
    return kept.collect(engine="streaming").sort(KIND, DAY)


def planned_sequences(walked: Walks, sequences: pl.DataFrame) -> tuple[Sequences, Short]:
    """Visits cut into these kinds (kind, place, page), and which of them each part is."""
    pages = walked.pages.to_frame(PAGE).with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("_page"))
    spelled = sequences.join(pages, on=PAGE).sort(KIND, PLACE)
    nodes: dict[tuple[int, int], int] = {}
    last: dict[int, int] = {}
    for kind, page in spelled.select(KIND, "_page").iter_rows():
        last[kind] = nodes.setdefault((last.get(kind, -1), page), len(nodes))
    tree = tree_of(*(np.array([node[i] for node in nodes], dtype=np.int32) for i in range(2)))
    kinds = np.full(len(nodes), -1, dtype=np.int32)
    kinds[list(last.values())] = list(last)
    parts = cut(walked.steps, tree, kinds >= 0)
    return Sequences(walks=walked, tree=tree, parts=parts), kinds[parts.kind]


# --- visit counts ---------------------------------------------------------------------------------


_TABLE, _ITEM, _DETAIL, _COUNT = COUNTS.lead, COUNTS.item, "detail", COUNTS.count
_CELL = [_TABLE, _ITEM, _DETAIL]
_COUNTED, _CROWD = "_visitor", "_crowd"
_OF_VISITS = ("landing", "pairs", "lengths")


def counted(log: Log, tables: Sequence[str], run: Run) -> pl.DataFrame:
    """table, item, detail, _visitor, count: how often each visitor is counted in each cell."""
    rows = with_short_names(replace(log, frame=log.frame.drop_nulls(log.shape.subject)), run)
    parts = [_of_rows(rows, table, run) for table in tables if table not in _OF_VISITS]
    if set(tables) & set(_OF_VISITS):
        parts += [part for table, part in _of_visits(rows).items() if table in tables]
    if "lengths" in tables:
        parts.append(_without_time(rows))
    schema = {_COUNTED: pl.String, **{name: COUNTS.schema[name] for name in (*_CELL, _COUNT)}}
    return pl.concat([pl.DataFrame(schema=schema), *(part.select(*schema) for part in parts)])


def enough(cells: pl.DataFrame, k: int) -> pl.DataFrame:
    """The cells that stay: table, item, detail, count."""
    crowds = cells.group_by(_CELL).agg(pl.len().alias(_CROWD), pl.col(_COUNT).sum())
    stay = crowds.filter(pl.col(_ITEM).is_not_null() & (pl.col(_CROWD) >= k))
    left = cells.join(stay, on=_CELL, how="anti", nulls_equal=True)
    too_few = left.group_by(_TABLE).agg(pl.col(_COUNTED).n_unique().alias(_CROWD)).filter(pl.col(_CROWD) < k)
    smallest = stay.join(too_few, on=_TABLE, how="semi").sort(_CROWD, *_CELL).unique(_TABLE, keep="first")
    return stay.join(smallest, on=_CELL, how="anti", nulls_equal=True).drop(_CROWD)


def _of_rows(log: Log, table: str, run: Run) -> pl.DataFrame:
    """The cells of a table of which each row of the log counts in one."""
    frame, time, detail = log.frame, pl.col(log.shape.time), pl.lit(None, pl.String)
    match table:
        case "pages":
            item = pl.col(log.shape.item)
        case "referrers":
            frame, item = frame.join(hosts(log, run), on=REFERRER, how="left"), pl.col(HOST)
        case "browsers":
            frame, item = frame.join(browsers(log, run), on=AGENT, how="left"), pl.col(BROWSER)
        case "hours":
            item = time.dt.strftime("%H")
        case _:
            item, detail = time.dt.strftime("%Y-%m-%d"), time.dt.strftime("%H")
    visitor = pl.col(log.shape.subject).alias(_COUNTED)
    things = frame.select(visitor, item.alias(_ITEM), detail.alias(_DETAIL))
    cells = things.group_by(_COUNTED, _ITEM, _DETAIL).agg(pl.len().cast(pl.Int64).alias(_COUNT))
    return cells.with_columns(pl.lit(table).alias(_TABLE)).collect(engine="streaming")


def _without_time(log: Log) -> pl.DataFrame:
    """The requests that are in no visit, as a cell of `lengths`."""
    nothing = pl.lit(None, pl.String)
    rows = log.frame.filter(pl.col(log.shape.time).is_null()).group_by(pl.col(log.shape.subject).alias(_COUNTED))
    cells = rows.agg(pl.lit("lengths").alias(_TABLE), nothing.alias(_ITEM), nothing.alias(_DETAIL),
                     pl.len().cast(pl.Int64).alias(_COUNT))  # fmt: skip
    return cells.collect(engine="streaming")


def _of_visits(log: Log) -> dict[str, pl.DataFrame]:
    """The cells of tables about whole visits."""
    visited = visits(replace(log, frame=log.frame.drop_nulls(log.shape.time)))
    begin = np.flatnonzero(visited.begins)
    length = np.diff(np.append(begin, visited.begins.size))
    follows = np.flatnonzero(~visited.begins[1:] & (visited.path[1:] != visited.path[:-1]))

    def cells(table: str, at: Ints, item: pl.Series, detail: pl.Series | None = None) -> pl.DataFrame:
        columns = {_COUNTED: visited.visitors.gather(visited.visitor[at]), _ITEM: item, _DETAIL: detail}
        things = pl.DataFrame(columns, schema_overrides={_DETAIL: pl.String})
        counts = things.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(_COUNT))
        return counts.with_columns(pl.lit(table).alias(_TABLE))

    pages = visited.paths.gather(visited.path)
    return {
        "landing": cells("landing", begin, pages.gather(begin)),
        "pairs": cells("pairs", follows, pages.gather(follows), pages.gather(follows + 1)),
        "lengths": cells("lengths", begin, pl.Series(length).cast(pl.String)),
    }
