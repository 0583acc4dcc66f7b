"""Recount: which sequences of pages visits of the original are made of, given the sequences that were released.

Visits, what paths become, and how visits are cut are found out here again, with whole numbers and exact comparisons.
From the left, the longest released sequence is cut off, then from where it ends. A method that left out kinds of
sequences because too few visitors had them gets the same parts: a kind that no visit was cut into cuts none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.log import Log
from coterie.core.shapes import Shape
from coterie.promises._units import SESSION, numbered_as_promised

Ints = NDArray[np.int64]
PREFIX = "prefix"
MOST_PAGES = 1_000
"""Of a sequence; nobody's visit is told by more."""
_DEEPEST = 32  # segments of the longest beginning of a path


@dataclass(frozen=True, eq=False, repr=False)
class Kinds:
    """The kinds of sequences in a release, as a tree of pages: level by level the (kind above, page) of each kind."""

    pages: pl.DataFrame
    """page, number."""
    levels: list[Ints]
    """Sorted: number of the kind above times the number of pages, plus the page."""
    first: list[int]
    """The number of the first kind of each level."""
    of_name: Ints
    """The kind of each name, in the order of names."""
    day: pl.Series
    """The day beside each name."""
    whole: NDArray[np.bool_]
    """By kind: whether a name has it, and not only its beginning."""


def released_kinds(rows: pl.LazyFrame, shape: Shape) -> Kinds:
    """The sequences in a release whose names have positions from 1 on, without gaps."""
    columns = {"name": shape.subject, "place": shape.position, "page": shape.item, "day": shape.time}
    table = rows.select(pl.col(column).alias(name) for name, column in columns.items())
    ordered = table.collect(engine="streaming").sort("name", "place")
    pages = ordered.select("page").unique().sort("page").with_row_index("number")
    page = ordered.join(pages, on="page", maintain_order="left")["number"].to_numpy().astype(np.int64)
    begin = np.flatnonzero(ordered["place"].to_numpy() == 1)
    length = np.diff(np.append(begin, page.size))
    node = np.full(begin.size, -1, dtype=np.int64)
    levels, first, count = [], [], 0
    for place in range(int(length.max(initial=0))):
        going = np.flatnonzero(length > place)
        keys = node[going] * pages.height + page[begin[going] + place]
        distinct, which = np.unique(keys, return_inverse=True)
        node[going] = which + count
        levels.append(distinct)
        first.append(count)
        count += distinct.size
    whole = np.zeros(count, dtype=np.bool_)
    whole[node] = True
    return Kinds(pages, levels, first, node, ordered["day"].gather(begin), whole)


def parts_of(original: Log, kinds: Kinds, *, paths: str, k: int, minutes: int, by_lines: bool) -> pl.DataFrame:
    """kind, day, visitor: what the visits of a log are cut into.

    `by_lines`: pages of one second are in the order of their lines. Otherwise nobody knows which came first, and where
    they differ each is a visit of its own.
    """
    steps = _steps(original, paths, k, minutes, by_lines).join(
        kinds.pages, on="page", how="left", maintain_order="left"
    )
    page = steps["number"].cast(pl.Int64).fill_null(-1).to_numpy()
    visit = steps["visit"].to_numpy()
    longest, kind = _longest(page, visit, kinds)
    jumps, place, begins = np.maximum(longest, 1).tolist(), 0, []
    while place < len(jumps):  # no sequence reaches into the next visit
        begins.append(place)
        place += jumps[place]
    begin = np.array(begins, dtype=np.int64)
    begin = begin[longest[begin] > 0]
    return steps.select("visitor", "day")[begin].with_columns(pl.Series("kind", kind[begin]))


def _longest(page: Ints, visit: Ints, kinds: Kinds) -> tuple[Ints, Ints]:
    """By step: how many pages the longest released sequence has that begins there, and which kind it is."""
    longest, kind = np.zeros(page.size, dtype=np.int64), np.full(page.size, -1, dtype=np.int64)
    step, node = np.arange(page.size), np.full(page.size, -1, dtype=np.int64)
    for place, (keys, first) in enumerate(zip(kinds.levels, kinds.first, strict=True)):
        there = step + place < page.size
        step, node = step[there], node[there]
        there = (visit[step + place] == visit[step]) & (page[step + place] >= 0)
        step, node = step[there], node[there]
        wanted = node * kinds.pages.height + page[step + place]
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        there = keys[at] == wanted
        step, node = step[there], at[there] + first
        ends = kinds.whole[node]
        longest[step[ends]], kind[step[ends]] = place + 1, node[ends]
    return longest, kind


def _steps(original: Log, paths: str, k: int, minutes: int, by_lines: bool) -> pl.DataFrame:
    """visitor, visit, page, day in order: the visits of a log, a page that follows itself once."""
    shape = original.shape
    columns = {"visitor": shape.subject, "time": shape.time, "path": shape.item}
    numbered = [SESSION] if numbered_as_promised(original, minutes) else []
    rows = original.frame.select(*(pl.col(old).alias(new) for new, old in columns.items()), *numbered, "row")
    rows = rows.drop_nulls("visitor")
    places = {}
    for name in ("visitor", "path"):  # numbers in place of texts, in the order of texts
        places[name] = rows.select(name).unique().collect(engine="streaming").sort(name).with_row_index("place")
        rows = rows.join(places[name].lazy(), on=name).drop(name).rename({"place": name})
    visits = rows.collect(engine="streaming").sort("visitor", *numbered, "time", "row" if by_lines else "path")
    same = [pl.col(name) == pl.col(name).shift(1) for name in ("visitor", *numbered)]
    pause = pl.col("time") - pl.col("time").shift(1)  # null where a time is missing
    goes_on = pl.all_horizontal(*same, pause.is_not_null() if numbered else pause <= timedelta(minutes=minutes))
    if not by_lines:
        several = pl.col("path").n_unique().over("visitor", "time") > 1
        other = pl.any_horizontal(pl.col(name) != pl.col(name).shift(1) for name in ("time", "path"))
        goes_on &= ~(other & (several | several.shift(1)))
    visits = visits.with_columns((~goes_on.fill_null(False)).cast(pl.Int64).cum_sum().alias("visit"))
    texts = places["path"].select("path", path_number="place")
    becomes = (
        _prefixes(visits.select("visitor", "path").unique(), texts, k)
        if paths == PREFIX
        else texts.select("path_number", page="path")
    )
    visits = visits.join(becomes, left_on="path", right_on="path_number", how="left", maintain_order="left")
    again = pl.col("page").eq_missing(pl.col("page").shift(1)) & (pl.col("visit") == pl.col("visit").shift(1))
    day = pl.col("time").dt.truncate("1d").alias("day")
    return visits.filter(~again.fill_null(False)).select("visitor", "visit", "page", day)


def _prefixes(asked: pl.DataFrame, paths: pl.DataFrame, k: int) -> pl.DataFrame:
    """path_number, page: the finest of a path's beginnings that k visitors have who could not stay finer.

    `/a/b?c=1` begins with itself, `/a/b`, `/a/*` and `/*`. `asked`: visitor, path (its number), each pair once.
    """
    bare = pl.col("path").str.split_exact("?", 1).struct.field("field_0").fill_null("")
    left = paths.with_columns(bare.str.split("/").alias("segments"))
    depth = (pl.col("segments").list.len().cast(pl.Int64) - 1).clip(upper_bound=_DEEPEST)
    left = left.with_columns(depth.alias("depth"))
    whole = pl.col("segments").list.join("/")
    levels = [(pl.col("path"), pl.col("path") != whole), (whole, pl.lit(True))]
    for length in range(int(left["depth"].max() or 0), 0, -1):  # type: ignore[arg-type]
        levels.append((pl.col("segments").list.head(length).list.join("/") + "/*", pl.col("depth") >= length))
    staying = [pl.DataFrame(schema={"path_number": pl.UInt32, "page": pl.String})]
    for page, reached in levels:
        here = (
            left.filter(reached)
            .select("path_number", page.alias("page"))
            .with_columns(number=pl.col("page").rank("dense"))
        )
        who = asked.join(here, left_on="path", right_on="path_number").select("number", "visitor").unique()
        enough = who.group_by("number").len("visitors").filter(pl.col("visitors") >= k)
        stay = here.join(enough, on="number", how="semi").select("path_number", "page")
        staying.append(stay)
        left = left.join(stay, on="path_number", how="anti")
        asked = asked.join(stay, left_on="path", right_on="path_number", how="anti")
    return pl.concat(staying)
