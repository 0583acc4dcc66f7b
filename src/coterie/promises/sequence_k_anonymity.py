"""Sequence k-anonymity: everything under one name is a sequence of pages that at least k visitors walked.

Recount: which sequences of pages visits of the original are made of, given the sequences that were released.

Visits, what paths become, and how visits are cut are found out here again, with whole numbers and exact comparisons.
From the left, the longest released sequence is cut off, then from where it ends. A method that left out kinds of
sequences because too few visitors had them gets the same parts: a kind that no visit was cut into cuts none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.log import Log
from coterie.core.params import Choice, Flag, Range
from coterie.core.promise import ORIGINAL, Case, Check, Kind
from coterie.core.shapes import Shape
from coterie.promises._checks import Question, as_made
from coterie.promises._names import RECORD, SESSION, is_known, names_of, numbered_as_promised, random_names
from coterie.promises._single_queries import SessionMinutes
from coterie.promises._words import Worded

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


# --- the promise ------------------------------------------------------------------------------------


LINES, TIMES = "lines", "times"
_DAY = 86_400_000_000  # microseconds
_BETWEEN = "\0"  # stands in no path


@dataclass(frozen=True, kw_only=True)
class SequenceKAnonymity(Worded):
    """Everything under one name is a sequence of pages that at least k visitors walked within one visit."""

    k: Annotated[int, Range(2), "smallest number of visitors behind a released sequence of pages"]
    paths: Annotated[
        str,
        Choice(PREFIX, "exact"),
        "what became of a path of fewer than k visitors: its longest beginning that k share, or nothing",
    ] = PREFIX
    days: Annotated[bool, Flag(), "whether days are released that k visitors share with a sequence"] = True
    session_minutes: SessionMinutes = 30
    order: Annotated[
        str,
        Choice(LINES, TIMES),
        "what pages of one second are ordered by: their lines, or nothing (each is a visit of its own)",
    ] = LINES

    name: ClassVar[str] = "sequence_k_anonymity"
    not_of_foreign: ClassVar[str] = "can be checked only for releases with a sidecar: it says how visits were cut."
    """A log does not say which of its rows are one walk."""

    @property
    def anywhere(self) -> bool:
        """Its judge reads a cluster's rows as a stream, a few columns of them; lines have no order there."""
        return self.order == TIMES

    @property
    def releases(self) -> Kind:
        """Released items are paths, or the beginnings of paths where these are cut."""
        return "phrases" if self.paths == PREFIX else "text"

    def check(self, case: Case) -> Iterator[Check]:
        """Look at each name alone, then cut the visits of the original again and count who is behind each sequence.

        It stops walks that tell one visitor from all others, and days on which one visitor alone walked so.
        """
        shape = case.shape
        if not shape.position or not shape.time:
            detail = "rows say at which place of a walk a page stands"
            yield Question("walks", detail, "does not", carries=True).answered(1)
            return
        yield from random_names(case, "pseudonym")
        yield from _seeded(case)
        walks = _walks(case)
        yield walks
        yield _times(case, self.days)
        detail = f"at least {self.k} visitors behind each released sequence of pages"
        crowd = Question("crowd.sequence", detail, "have fewer", original=True, carries=True)
        detail = "sequences stand there as often as visits of the original are cut into them"
        same = Question("rows.sequence", detail, "do not", original=True, carries=True)
        detail = f"at least {self.k} visitors behind each sequence with a day, and behind those left without one"
        on_days = Question("crowd.sequence.time", detail, "have fewer", original=True, carries=True)
        if case.original is None or walks.broken:
            needs = ORIGINAL if case.original is None else "names that stand for one walk each"
            yield from (question.open(needs) for question in (crowd, same, on_days))
            return
        made_with = as_made(case, self)
        kinds = released_kinds(case.rows, shape)
        parts = parts_of(
            case.original,
            kinds,
            paths=made_with.paths,
            k=made_with.k,
            minutes=made_with.session_minutes,
            by_lines=made_with.order == LINES,
        )
        yield from self._compared(kinds, parts, (crowd, same, on_days))

    def _compared(
        self, kinds: Kinds, parts: pl.DataFrame, questions: tuple[Question, Question, Question]
    ) -> Iterator[Check]:
        """Who is behind each released sequence, and behind each with its day."""
        behind_each, same, on_days = questions
        released = pl.DataFrame({"kind": kinds.of_name, "day": kinds.day})
        shown = released.drop_nulls().unique().with_columns(shown=pl.col("day"))
        said = parts.join(shown, on=["kind", "day"], how="left").select("kind", "visitor", day="shown")
        yield behind_each.of_people(parts, "visitor", released.select("kind").unique(), self.k)
        on = ["kind", "day"]
        before = said.group_by(on).len("before")
        both = before.join(released.group_by(on).len("after"), on=on, how="full", nulls_equal=True, coalesce=True)
        both = both.with_columns(pl.col("before", "after").fill_null(0))
        yield same.answered(both.filter(pl.col("before") != pl.col("after")).height, both.height)
        yield on_days.of_people(said, "visitor", both.select(on), self.k)


def _walks(case: Case) -> Check:
    """Under each name stands one walk: places 1, 2, 3 ... once each, all on one day."""
    shape = case.shape
    place = pl.col(shape.position)
    by_name = case.rows.group_by(shape.subject).agg(
        pl.len().alias("rows"),
        place.min().alias("first"),
        place.max().alias("last"),
        place.n_unique().alias("places"),
        pl.col(shape.time).n_unique().alias("days"),
    )
    last, rows = pl.col("last"), pl.col("rows")
    sound = (pl.col("first") == 1) & (last == rows) & (pl.col("places") == rows) & (pl.col("days") == 1)
    detail = "under each name stands one walk, its pages in places from 1 on and on one day"
    one_walk = Question("walks", detail, "have something else", carries=True)
    return one_walk.of_rows(by_name, ~(sound & (last <= MOST_PAGES)).fill_null(False))


def _times(case: Case, days: bool) -> Check:
    time = pl.col(case.shape.time)
    wrong = time.cast(pl.Int64) % _DAY != 0 if days else time.is_not_null()
    detail = "times are whole days" if days else "no row has a time"
    return Question("times", detail, "rows have others", carries=True).of_rows(case.rows, wrong)


def _seeded(case: Case) -> Iterator[Check]:
    """Names are those that the run gave to its walks, in the order of their pages and days.

    None was made from what identifies somebody, and which walk has which name tells nothing.
    """
    detail = "names are those that the run's seed gives walks in the order of their pages and days"
    shape = case.shape
    rows = case.rows.select(shape.subject, shape.position, shape.item, shape.time).collect(engine="streaming")
    rows = rows.sort(shape.subject, shape.position)
    walks = rows.group_by(pl.col(shape.subject).alias("name"), maintain_order=True).agg(
        pl.col(shape.item).str.join(_BETWEEN).alias("pages"), pl.col(shape.time).first().alias("day")
    )
    walks = walks.sort("pages", "day").with_row_index("place")
    if case.original is None or not is_known(case):
        yield Question("seeded", detail).open(RECORD)
        return
    subject = case.original.shape.subject
    taken = case.original.frame.select(subject).drop_nulls().unique().collect(engine="streaming")[subject]
    names = names_of(case.run, map(str, range(walks.height)), taken)
    given = pl.DataFrame({"name": names, "number": range(walks.height)}, schema={"name": pl.String, "number": pl.Int64})
    number, place, alike = pl.col("number"), pl.col("place"), ["pages", "day"]  # copies of one walk are alike
    fits = number.is_between(place.min().over(alike), place.max().over(alike))
    told = walks.join(given, on="name", how="left").select(fits.fill_null(False).alias("fits"))
    seeds = Question("seeded", detail, "are others", original=True, carries=True)
    yield seeds.answered(int((~told["fits"]).sum()), walks.height)
