"""Shapes: the only schema. A shape names the columns of a table, who is protected and what is revealed.

Readers produce a shape, methods declare which ones they accept, and the documentation page is
generated from this file. `Shape.check` is the border: types are enforced there, not hoped for.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from coterie.errors import InputError

TIME = pl.Datetime("us")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its type, whether it may be null, and what it means."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    nullable: bool = False
    doc: str = ""


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
    time: str = ""
    """The column that says when; empty where rows have no time."""
    rank: str = ""
    """The column that says at which place in a list of results the clicked page was."""
    page: str = ""
    """The column that says which page was clicked."""
    count: str = ""
    """The column that says how many rows of the log a row stands for; empty where each stands for itself."""
    private: tuple[str, ...] = ()
    """Columns that exist only inside Coterie and are never released."""
    identifying: tuple[str, ...] = ()
    """Columns that point at a person by themselves; query-level methods null them."""
    details: tuple[str, ...] = ()
    """What accompanies an item, besides the time. Where too few subjects share them all, the last one goes first."""

    def __repr__(self) -> str:
        return f"Shape({self.name})"

    @property
    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """Column name to polars type."""
        return {column.name: column.dtype for column in self.columns}

    @property
    def released(self) -> tuple[str, ...]:
        """The columns a release has."""
        return tuple(c.name for c in self.columns if c.name not in self.private)

    @property
    def order(self) -> tuple[str, ...]:
        """What released rows are sorted by: subject, item, then the other released columns."""
        first = [name for name in (self.subject, self.item) if name]
        return (*first, *(name for name in self.released if name not in first))

    def may_come_from(self, log: Shape) -> bool:
        """Whether a release of this shape can be made of such a log: rows alike, or numbers of no one person."""
        return self is log or not self.subject

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
        Column(name="user", dtype=pl.String, nullable=True, doc="who searched"),
        Column(name="time", dtype=TIME, nullable=True, doc="when, without a zone"),
        Column(name="query", dtype=pl.String, doc="what was searched"),
        Column(name="rank", dtype=pl.Int32, nullable=True, doc="position of the clicked result"),
        Column(name="url", dtype=pl.String, nullable=True, doc="clicked result"),
        _SESSION,
        _NORMAL,
    ),
    subject="user",
    item="query",
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
        Column(
            name="user",
            dtype=pl.String,
            nullable=True,
            doc="visitor: logged name, or address and agent",
        ),
        Column(name="address", dtype=pl.String, nullable=True, doc="network address or host name"),
        Column(name="time", dtype=TIME, nullable=True, doc="when, in UTC if a zone was given"),
        Column(name="method", dtype=pl.String, nullable=True, doc="request method"),
        Column(name="path", dtype=pl.String, doc="what was requested"),
        Column(name="status", dtype=pl.Int16, nullable=True, doc="status of the answer"),
        Column(name="bytes", dtype=pl.Int64, nullable=True, doc="size of the answer"),
        Column(name="referrer", dtype=pl.String, nullable=True, doc="page that led here"),
        Column(name="agent", dtype=pl.String, nullable=True, doc="browser as it names itself"),
        _SESSION,
    ),
    subject="user",
    item="path",
    time="time",
    private=("row", "session"),
    identifying=("address", "referrer", "agent"),
    details=("method", "status", "bytes"),
)

TERMS = Shape(
    name="TERMS",
    doc="a document as a vector of weighted terms",
    columns=(
        Column(name="doc", dtype=pl.String, doc="document"),
        Column(name="term", dtype=pl.String, doc="term of the document"),
        Column(name="weight", dtype=pl.Float64, doc="weight of the term in the document"),
    ),
    subject="doc",
    item="term",
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
    doc="a plan: items with the counts to publish",
    columns=(
        Column(name="item", dtype=pl.String, doc="item"),
        Column(name="count", dtype=pl.Int64, doc="count to publish"),
    ),
    item="item",
    count="count",
)

SHAPES = {s.name: s for s in (QUERIES, VISITS, TERMS, GROUPS, KEEP, REPLACE, COUNTS)}
RELEASED_SHAPES = {s.name: s for s in (QUERIES, VISITS, TERMS, COUNTS)}
"""Those a release can have; the others are plans."""
