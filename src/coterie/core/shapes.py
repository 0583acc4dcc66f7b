"""Shapes: the only schema. A shape names the columns of a table, who is protected and what is revealed.

Readers produce a shape, methods declare which ones they accept, and the documentation page is
generated from this file. `Shape.check` is the border: types are enforced there, not hoped for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import polars as pl

from coterie.errors import InputError

TIME = pl.Datetime("us")
LEVEL = "time_level"
"""The column of a release that says how exact a time is; `time` then is the beginning of that hour, day or month."""


def plural(noun: str) -> str:
    """`queries` of `query`: what a shape calls its subjects and items has no other plurals."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def sum_in_order(column: str) -> pl.Expr:
    """The sum of the floats of a group, smallest first: the same bytes for any order of rows and any number of threads.

    Not `sort().sum()`: polars leaves out the sort, and adds what threads have as they come.
    """
    return pl.col(column).sort().cum_sum().last()


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its type, whether it may be null, and what it means."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    nullable: bool = False
    doc: str = ""


_optional = partial(Column, nullable=True)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The columns of a table and the part each plays."""

    name: str
    columns: tuple[Column, ...]
    doc: str
    subject: str = ""
    """The column that says who is protected."""
    item: str = ""
    """The column that says what a subject reveals."""
    subject_noun: str = "subject"
    """What people call a subject: "user", "visitor"."""
    item_noun: str = "item"
    """What people call an item: "query", "page"."""
    time: str = ""
    """The column that says when; empty where rows have no time."""
    level: str = ""
    """The column that says how exact that time is; empty where times are as they were logged."""
    rank: str = ""
    """The column that says at which place in a list of results the clicked page was."""
    page: str = ""
    """The column that says which page was clicked."""
    weight: str = ""
    """The column that says how much of an item a subject has; a subject then has each item in one row."""
    owner: str = ""
    """The private column that says whom a subject belongs to, where one person may have several; a file may lack it."""
    position: str = ""
    """The column that says at which place an item stands among those of its subject; empty where they have no order."""
    made_of: str = ""
    """The shape of the logs that releases of this shape are made of, where it is another one with subjects."""
    count: str = ""
    """The column that says how many rows of the log a row stands for; empty where each stands for itself."""
    lead: str = ""
    """The column that says which of several tables a row belongs to; empty where there is one."""
    private: tuple[str, ...] = ()
    """Columns that exist only inside Coterie and are never released."""
    identifying: tuple[str, ...] = ()
    """Columns that point at a person by themselves: empty in a release, unless a promise `covers` them."""
    never_given: tuple[str, ...] = ()
    """Those of them that are empty whatever is promised."""
    details: tuple[str, ...] = ()
    """What accompanies an item, besides the time. Where too few subjects share them all, the last one goes first."""
    further: tuple[str, ...] = ()
    """Those of them that are columns of the user's own, such as the device; all are text."""
    base: Shape | None = field(default=None, repr=False)
    """The shape that this one has further details of, or levels of times; None where it has neither."""

    def __repr__(self) -> str:
        return f"Shape({self.name})"

    def __reduce__(self) -> Any:
        """A shape that has a name here is the same object wherever work runs."""
        known = SHAPES.get(self.name) is self.plain
        return (_named, (self.name, self.further, bool(self.level))) if known else super().__reduce__()

    @property
    def plain(self) -> Shape:
        """The shape without further details and levels of times."""
        return self.base or self

    @property
    def of_log(self) -> Shape:
        """The shape of a log with the same columns: levels of times are in releases alone."""
        return _variant(self.plain, self.further, False)

    def with_details(self, names: Iterable[str]) -> Shape:
        """The shape with further details, which come behind its own; the same object for the same names.

        InputError where a name cannot be one.
        """
        return _variant(self.plain, tuple(names), bool(self.level))

    def with_levels(self) -> Shape:
        """The shape of a release whose times are cut: each says how exact it is. A shape without times stays."""
        return _variant(self.plain, self.further, bool(self.time))

    @property
    def subject_nouns(self) -> str:
        """What people call several subjects."""
        return plural(self.subject_noun)

    @property
    def item_nouns(self) -> str:
        """What people call several items."""
        return plural(self.item_noun)

    @property
    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """Column name to polars type."""
        return {column.name: column.dtype for column in self.columns}

    @property
    def released(self) -> tuple[str, ...]:
        """The columns a release has."""
        return tuple(c.name for c in self.columns if c.name not in self.private)

    @property
    def readable(self) -> tuple[str, ...]:
        """The columns that a file may have: the released ones, and whom subjects belong to."""
        return (*self.released, self.owner) if self.owner else self.released

    @property
    def order(self) -> tuple[str, ...]:
        """What released rows are sorted by: table, subject, position, item, then the other released columns."""
        first = [name for name in (self.lead, self.subject, self.position, self.item) if name]
        return (*first, *(name for name in self.released if name not in first))

    def once(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """One row for each subject and item, weights added, where rows have weights; else all rows as they are."""
        if not self.weight:
            return frame
        columns = frame.collect_schema().names()
        key = [name for name in columns if name != self.weight]
        return frame.group_by(key, maintain_order=True).agg(sum_in_order(self.weight)).select(columns)

    def may_come_from(self, log: Shape) -> bool:
        """Whether a release of this shape can be made of such a log: rows alike or cut, or numbers of no one person."""
        return self.of_log is log or not self.subject or self.made_of == log.name

    def completed(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The released columns of `frame`; those that may be empty, and that it does not have, are."""
        given = frame.collect_schema()
        lacking = [c for c in self.columns if c.nullable and c.name in self.released and c.name not in given]
        return frame.with_columns(pl.lit(None, c.dtype).alias(c.name) for c in lacking).select(self.released)

    def check(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return `frame` if its columns are this shape's, and raise InputError otherwise."""
        columns = frame.collect_schema()
        for column in self.columns:
            if column.name not in columns:
                if column.name in self.private:
                    continue
                raise InputError(
                    f"A {self.name} table needs the column {column.name!r} ({column.doc}). "
                    f"It has: {', '.join(columns)}. Name it with columns={{'{column.name}': ...}} "
                    f"or --columns {column.name}=..."
                )
            if columns[column.name] != column.dtype:
                raise InputError(
                    f"Column {column.name!r} of a {self.name} table must be {column.dtype}, not {columns[column.name]}."
                )
        extra = [name for name in columns if name not in self.schema]
        if extra:
            raise InputError(
                f"A {self.name} table has no column {', '.join(map(repr, extra))}. "
                f"Its columns are: {', '.join(self.schema)}."
            )
        return frame


_ROW = Column(name="row", dtype=pl.UInt64, doc="running number over all input lines")
NORMAL = "normal"
"""A private column of large logs: whether the item needs no normalizing, found out once instead of in every pass."""
_NORMAL = Column(name=NORMAL, dtype=pl.Boolean, doc="whether the query needs no normalizing")
_SESSION = Column(name="session", dtype=pl.UInt32, doc="number of the session within its user")

QUERIES = Shape(
    name="QUERIES",
    doc="one line of a search log: somebody searched, and perhaps clicked",
    columns=(
        _ROW,
        _optional(name="user", dtype=pl.String, doc="who searched"),
        _optional(name="time", dtype=TIME, doc="when, without a zone"),
        Column(name="query", dtype=pl.String, doc="what was searched"),
        _optional(name="rank", dtype=pl.Int32, doc="position of the clicked result"),
        _optional(name="url", dtype=pl.String, doc="clicked result"),
        _SESSION,
        _NORMAL,
    ),
    subject="user",
    item="query",
    subject_noun="user",
    item_noun="query",
    time="time",
    rank="rank",
    page="url",
    private=("row", "session", NORMAL),
    details=("url", "rank"),
)

VISITS = Shape(
    name="VISITS",
    doc="one line of a web server's access log",
    columns=(
        _ROW,
        _optional(name="user", dtype=pl.String, doc="visitor: logged name, or address and agent"),
        _optional(name="address", dtype=pl.String, doc="network address or host name"),
        _optional(name="time", dtype=TIME, doc="when, in UTC if a zone was given"),
        _optional(name="method", dtype=pl.String, doc="request method"),
        Column(name="path", dtype=pl.String, doc="what was requested"),
        _optional(name="status", dtype=pl.Int16, doc="status of the answer"),
        _optional(name="bytes", dtype=pl.Int64, doc="size of the answer"),
        _optional(name="referrer", dtype=pl.String, doc="page that led here"),
        _optional(name="agent", dtype=pl.String, doc="browser as it names itself"),
        _SESSION,
    ),
    subject="user",
    item="path",
    subject_noun="visitor",
    item_noun="page",
    time="time",
    private=("row", "session"),
    identifying=("address", "referrer", "agent"),
    never_given=("address",),
    details=("method", "status", "bytes"),
)

SEQUENCES = Shape(
    name="SEQUENCES",
    doc="one page of a sequence of pages that several visitors of a website walked",
    columns=(
        Column(name="sequence", dtype=pl.String, doc="random name of one walk; nothing else stands under it"),
        Column(name="position", dtype=pl.Int32, doc="1 for the first page of the walk, 2 for the next"),
        Column(name="path", dtype=pl.String, doc="page, or the beginning of paths (`/a/*`)"),
        _optional(name="time", dtype=TIME, doc="day of the walk"),
    ),
    subject="sequence",
    item="path",
    subject_noun="walk",
    item_noun="page",
    time="time",
    position="position",
    made_of=VISITS.name,
)

TERMS = Shape(
    name="TERMS",
    doc="a document as a vector of weighted terms",
    columns=(
        Column(name="doc", dtype=pl.String, doc="document"),
        Column(name="term", dtype=pl.String, doc="term of the document"),
        Column(name="weight", dtype=pl.Float64, doc="weight of the term in the document, above 0"),
        _optional(name="owner", dtype=pl.String, doc="whom the document belongs to"),
    ),
    subject="doc",
    item="term",
    subject_noun="document",
    item_noun="term",
    weight="weight",
    owner="owner",
    private=("owner",),
)

GROUPS = Shape(
    name="GROUPS",
    doc="a plan: who is grouped with whom",
    columns=(
        Column(name="subject", dtype=pl.String, doc="member"),
        Column(name="group", dtype=pl.UInt32, doc="number of the group"),
    ),
    subject="subject",
)

KEEP = Shape(
    name="KEEP",
    doc="a plan: the items that may stay",
    columns=(
        Column(name="item", dtype=pl.String, doc="item that stays"),
        Column(name="degree", dtype=pl.UInt32, doc="number of distinct subjects behind it"),
    ),
    item="item",
)

REPLACE = Shape(
    name="REPLACE",
    doc="a plan: what becomes what",
    columns=(
        Column(name="item", dtype=pl.String, doc="item of the original"),
        Column(name="into", dtype=pl.String, doc="what is released instead"),
    ),
    item="item",
)

COUNTS = Shape(
    name="COUNTS",
    doc="items with the counts to publish, in one table or several",
    columns=(
        _optional(name="table", dtype=pl.String, doc="which table the line belongs to, where there are several"),
        Column(name="item", dtype=pl.String, doc="item"),
        _optional(name="detail", dtype=pl.String, doc="what is counted with the item: a second page, a day"),
        _optional(name="count", dtype=pl.Int64, doc="count to publish; empty where items are published without"),
        _optional(name="low", dtype=pl.Int64, doc="lower end of its interval, where there is noise"),
        _optional(name="high", dtype=pl.Int64, doc="upper end of its interval, where there is noise"),
    ),
    lead="table",
    item="item",
    count="count",
)

SHAPES = {s.name: s for s in (QUERIES, VISITS, SEQUENCES, TERMS, GROUPS, KEEP, REPLACE, COUNTS)}
RELEASED_SHAPES = {s.name: s for s in (QUERIES, VISITS, SEQUENCES, TERMS, COUNTS)}
"""Those a release can have; the others are plans."""

MOST_FURTHER = 10
_NAME_OF_DETAIL = r"[a-z][a-z0-9_]{0,39}"
_TAKEN = {"bad", "remark", "line", "original", "released", "number", "rows", "name", "legacy", "text", LEVEL}
"""Names that columns have on the way, besides those of the shapes."""


_LEVEL = _optional(name=LEVEL, dtype=pl.String, doc="how exact the time is: hour, day, week, month, quarter")


@cache
def _variant(shape: Shape, names: tuple[str, ...], levels: bool) -> Shape:
    """A plain shape with further details, levels of times, or both."""
    varied = _detailed(shape, names) if names else shape
    if levels:
        at = 1 + [column.name for column in varied.columns].index(varied.time)
        columns = (*varied.columns[:at], _LEVEL, *varied.columns[at:])
        varied = replace(varied, columns=columns, level=LEVEL)
    return varied if varied is shape else replace(varied, base=shape)


def _detailed(shape: Shape, names: tuple[str, ...]) -> Shape:
    if shape is not QUERIES:
        raise InputError(f"Further details (--details) are for logs of queries, and this table is {shape.name}.")
    taken = _TAKEN.union(*(known.schema for known in SHAPES.values()))
    for name in names:
        if not re.fullmatch(_NAME_OF_DETAIL, name) or name in taken:
            raise InputError(
                f"A further detail cannot be called {name!r}: use small letters, digits and _, and no name that a "
                f"column of Coterie has. Give it another name: --details OTHER={name}."
            )
    if len(set(names)) < len(names) or len(names) > MOST_FURTHER:
        raise InputError(f"--details names up to {MOST_FURTHER} columns, each under a name of its own.")
    own = [_optional(name=name, dtype=pl.String, doc="a further detail") for name in names]
    at = 1 + [column.name for column in shape.columns].index(shape.released[-1])
    columns = (*shape.columns[:at], *own, *shape.columns[at:])
    return replace(shape, columns=columns, details=(*shape.details, *names), further=names)


def _named(name: str, further: tuple[str, ...] = (), levels: bool = False) -> Shape:
    return _variant(SHAPES[name], further, levels)
