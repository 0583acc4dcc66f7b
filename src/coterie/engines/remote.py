"""What engines share whose rows are elsewhere: tables that are known by their frames, and pieces of work that travel.

A table of such an engine is a polars frame like any other, so that a log, a plan and a case hold frames whatever the
engine. The engine's verbs know it by itself, and send work to its rows. Whatever polars makes of it by other means
reads its rows here, one part after the other, up to a limit: that is right for a plan that needs a few columns of
all users, and refused for a log that is larger than one machine.

A judge looks at rows that are elsewhere: part by part, or in blocks of what belongs together, and checks are added
up.

Numbers of checks add up because each thing that is looked at is in one block. How many people the broken ones concern
does not, and is not told then: such a release is not written anyway.
"""

from __future__ import annotations

import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import orjson
import polars as pl
from polars.io.plugins import register_io_source

from coterie import __version__, errors
from coterie.core import threads
from coterie.core.digests import BLOCK, block_digest, digest_of_blocks, digest_of_rows
from coterie.core.log import Log, Step
from coterie.core.promise import Case, Check
from coterie.core.run import SMALL, Engine, How, Judge, Work, sums
from coterie.errors import BrokenPromiseError, CoterieError, InputError, InternalError, ParameterError

Schema = dict[str, pl.DataType]
_TABLE, _PLACE = "_coterie_table", "released_row"
_MARK = "coterie says: "  # what a sentence begins with that a worker sends back


class Table(ABC):
    """Rows that are elsewhere."""

    schema: Schema
    streamed: bool = False
    """Whether rows may come here without a limit, one part after the other: those of a release, to be written."""

    @abstractmethod
    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows, some at a time, in order."""


class Remote(Engine, ABC):
    """The verbs of an engine whose rows are elsewhere, in terms of the few things that it can do."""

    here = False
    in_lines = False  # rows come in any order: their numbers say nothing, and nobody could look them up

    def __init__(self, limit: int = SMALL) -> None:
        self.limit = limit
        self.came = 0
        """Rows that polars read here by itself, not through a verb."""

    def require_local(self, sentence: str) -> None:
        """They are not."""
        raise ParameterError(sentence)

    def hold(self, table: pl.LazyFrame, what: object) -> pl.LazyFrame:
        """A table is known by its frame, which stays as it is, and holds its engine."""
        return table

    def again(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Each piece of work would compute them anew."""
        return self.keep(table)

    # --- what an engine can do ---------------------------------------------------------------------

    @abstractmethod
    def put(self, rows: pl.DataFrame) -> Table:
        """A table of rows that are here."""

    @abstractmethod
    def run_each(self, table: Table, piece: Piece) -> Table:
        """A piece of work on any rows, in order."""

    @abstractmethod
    def run_blocks(self, tables: Sequence[Table], by: Sequence[str], piece: Piece) -> Table:
        """A piece of work on blocks of all tables."""

    @abstractmethod
    def run_crowds(self, table: Table, by: Sequence[str], subject: str, name: str) -> Table:
        """Distinct subjects of each key."""

    @abstractmethod
    def run_join(self, table: Table, other: Table, on: Sequence[str], how: How) -> Table:
        """Rows that are equal in `on`."""

    @abstractmethod
    def run_sort(self, table: Table, by: Sequence[str]) -> Table:
        """The rows in order."""

    @abstractmethod
    def run_numbered(self, table: Table, name: str) -> Table:
        """A sorted table with places in front."""

    @abstractmethod
    def run_keep(self, table: Table) -> Table:
        """The rows, computed once."""

    # --- verbs -------------------------------------------------------------------------------------

    def each(self, table: pl.LazyFrame, work: Work) -> pl.LazyFrame:
        """`work` row by row, where the rows are."""
        given = self.table(table)
        done = self.run_each(given, Piece(work, (given.schema,)))
        done.streamed = given.streamed
        return self.frame(done)

    def blocks(
        self, table: pl.LazyFrame, work: Callable[..., pl.LazyFrame], by: Sequence[str], *beside: pl.LazyFrame
    ) -> pl.LazyFrame:
        """`work(table, *beside)` over blocks; rows that are equal in `by` arrive together, those of all tables."""
        tables = [self.table(each) for each in (table, *beside)]
        return self.frame(self.run_blocks(tables, list(by), Piece(work, tuple(each.schema for each in tables))))

    def crowds(self, table: pl.LazyFrame, by: Sequence[str], subject: str, name: str) -> pl.LazyFrame:
        """The number of distinct subjects of each key."""
        return self.frame(self.run_crowds(self.table(table), list(by), subject, name))

    def join(self, table: pl.LazyFrame, other: pl.LazyFrame, on: Sequence[str], how: How = "inner") -> pl.LazyFrame:
        """Rows of two tables that are equal in `on`; a table that is here goes to where the other's rows are."""
        if table_of(other) is None:
            rows, on = _local(other), list(on)
            return self.each(table, lambda given: given.join(rows.lazy(), on=on, how=how))
        return self.frame(self.run_join(self.table(table), self.table(other), list(on), how))

    def sort(self, table: pl.LazyFrame, by: Sequence[str], done: bool = False) -> pl.LazyFrame:
        """The rows in order; they may be read here one part after the other."""
        ordered = self.run_sort(self.table(table), list(by))
        ordered.streamed = True
        return self.frame(ordered)

    def numbered(self, table: pl.LazyFrame, by: Sequence[str], name: str) -> pl.LazyFrame:
        """The rows in order, with their places in front."""
        done = self.run_numbered(self.run_sort(self.table(table), list(by)), name)
        done.streamed = True
        return self.frame(done)

    def total(self, table: pl.LazyFrame, work: Work, merge: Work | None = None) -> pl.DataFrame:
        """What `merge` makes of what `work` makes of each part."""
        given = self.table(table)
        piece = Piece(work, (given.schema,))
        parts = list(self.run_each(given, piece).parts()) or [piece(empty(given.schema))]
        return (merge or sums)(pl.concat(parts).lazy()).collect()

    def keep(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The rows, computed once and for all."""
        given = self.table(table)
        done = self.run_keep(given)
        done.streamed = given.streamed
        return self.frame(done)

    def small(self, table: pl.LazyFrame, limit: int = SMALL) -> pl.DataFrame:
        """A small table as a whole, here."""
        given = table_of(table)
        if given is None:
            return table.collect(engine="streaming")
        found, rows, limit = [empty(given.schema)], 0, min(limit, self.limit)
        for part in given.parts():
            rows += part.height
            if rows > limit:
                raise too_large(limit)
            found.append(part)
        return pl.concat(found)

    def small_blocks(self, table: pl.LazyFrame, work: Work, by: Sequence[str]) -> pl.DataFrame:
        """What `work` makes of blocks, each where it is."""
        return self.small(self.blocks(table, work, by))

    def fetch(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The rows come here, up to the limit."""
        return self.small(table).lazy()

    def shortened(self, table: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Nobody holds them all."""
        return table

    def parts(self, table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """The rows here, one part after the other, in order."""
        return self.table(table).parts()

    def slices(self, table: pl.LazyFrame, sizes: Sequence[int]) -> Iterator[pl.LazyFrame]:
        """The rows as they arrive, cut anew."""
        return recut(self.parts(table), sizes)

    def bring(self, rows: pl.LazyFrame, files: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
        """Rows of files where those of logs are; the digests of their columns here and there are compared."""
        brought = self.placed(rows, files, _PLACE)
        if self._digest(self.each(brought, lambda some: some.select(_PLACE, *columns))) != digest_of_rows(
            rows.select(columns)
        ):
            raise InputError(
                f"The cluster reads other rows in {files[0].name} than this machine. Its nodes must see the same file: "
                f"give one that they all can read, or leave out --engine."
            )
        return self.each(brought, lambda some: some.drop(_PLACE))

    def _digest(self, rows: pl.LazyFrame) -> str:
        """The digest of rows by their places; each block is hashed where it is."""
        found = {"block": pl.UInt32, "digest": pl.Binary}

        def hashed(whole: pl.DataFrame) -> pl.DataFrame:
            blocks = whole.sort(_PLACE).drop(_PLACE).partition_by("_block", as_dict=True, include_key=False)
            digests = [(at, block_digest(rows)) for (at,), rows in blocks.items()]
            return pl.DataFrame(digests, schema=found, orient="row")

        def of_blocks(some: pl.LazyFrame) -> pl.LazyFrame:
            return some.map_batches(hashed, schema=found)

        cut = self.each(rows, lambda some: some.with_columns((pl.col(_PLACE) // BLOCK).alias("_block")))
        height = int(self.total(rows, lambda some: some.select(pl.len().cast(pl.Int64))).item())
        blocks = self.small(self.blocks(cut, of_blocks, ["_block"])).sort("block")["digest"]
        columns = {name: dtype for name, dtype in rows.collect_schema().items() if name != _PLACE}
        return digest_of_blocks(blocks, height, columns)

    def placed(self, rows: pl.LazyFrame, files: Sequence[Path], name: str) -> pl.LazyFrame:
        """Rows of files with their places (UInt32) in front: sent from here, up to the limit."""
        if rows.select(pl.len()).collect(engine="streaming").item() > self.limit:
            raise InputError(
                f"The release has more than {self.limit:,} rows, and this machine would have to send them to the "
                f"cluster. Write it as Parquet, which its nodes read themselves."
            )
        return self.sort(rows.with_row_index(name), [name])

    def stepped(self, log: Log, step: Callable[[Log], Log], by: Sequence[str]) -> Log:
        """The log after a step, without what it counts."""
        shape, history, settings = log.shape, log.history, log.settings

        def work(rows: pl.LazyFrame) -> pl.LazyFrame:
            return step(Log(frame=rows, shape=shape, history=history, settings=settings)).frame

        nothing = Log(frame=pl.LazyFrame(schema=log.frame.collect_schema()), shape=shape, history=history)
        entry = Step(name=step(nothing).history[-1].name)
        return log.then(self.keep(self.blocks(log.frame, work, by)) if by else self.each(log.frame, work), entry)

    def judged(
        self, case: Case, judge: Judge, by: tuple[str, str] | None = None, apart: Judge | None = None
    ) -> Iterator[Check]:
        """The checks of all blocks, added up."""
        yield from divided(self, case, judge, by)
        yield from () if apart is None else apart(case)

    # --- tables and frames -------------------------------------------------------------------------

    def table(self, frame: pl.LazyFrame) -> Table:
        """The table that a frame stands for; rows that are here are put where the others are."""
        known = table_of(frame)
        return self.put(_local(frame)) if known is None else known

    def frame(self, table: Table) -> pl.LazyFrame:
        """The frame that stands for a table."""

        def rows(
            columns: list[str] | None, predicate: pl.Expr | None, wanted: int | None, _size: int | None
        ) -> Iterator[pl.DataFrame]:
            read = 0
            for part in table.parts(columns):
                read += part.height
                if not table.streamed:
                    self.came += part.height
                    if read > self.limit:
                        raise too_large(self.limit)
                part = part if columns is None else part.select(columns)
                part = part if predicate is None else part.filter(predicate)
                yield part if wanted is None else part.head(wanted)
                wanted = None if wanted is None else wanted - part.height
                if wanted is not None and wanted <= 0:
                    return

        frame = register_io_source(rows, schema=pl.Schema(table.schema))
        setattr(frame, _TABLE, table)
        return frame


def recut(frames: Iterable[pl.DataFrame], sizes: Iterable[int]) -> Iterator[pl.LazyFrame]:
    """The same rows in frames of the given sizes; BrokenPromiseError where there are fewer rows, or more."""
    coming = iter(frames)
    have = next(coming, None)
    if have is None:
        raise BrokenPromiseError("There are no rows to write, not even without any row, so nothing was written.")
    waiting, count = [have], have.height
    for size in sizes:
        while count < size and (more := next(coming, None)) is not None:
            waiting.append(more)
            count += more.height
        if count < size:
            break
        have = pl.concat(waiting, rechunk=True)
        yield have.head(size).rechunk().lazy()
        waiting, count = [have.slice(size)], count - size
    else:
        if not count and not any(more.height for more in coming):
            return
    raise BrokenPromiseError("There are not as many rows to write as were verified, so nothing was written.")


def table_of(frame: pl.LazyFrame) -> Table | None:
    """The table that a frame stands for; None where its rows are here."""
    return cast("Table | None", getattr(frame, _TABLE, None))


def _local(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect(engine="streaming")


def empty(schema: Schema) -> pl.DataFrame:
    """A table without rows."""
    return pl.DataFrame(schema=schema)


def too_large(limit: int) -> InputError:
    """The error for a table that does not fit here."""
    return InputError(
        f"A step needs a table of more than {limit:,} rows on one machine. Use a method that needs less there (see "
        f"docs/spark.md), or a larger limit."
    )


# --- judges -----------------------------------------------------------------------------------------


_FOUND = {"place": pl.Int64, "check": pl.String}
_KEY = "_key"


def divided(engine: Engine, case: Case, judge: Judge, by: tuple[str, str] | None = None) -> Iterator[Check]:
    """The checks of a judge, as `Engine.judged` has them."""
    bare, original = _bare(case), case.original
    if by is None or original is None:

        def rows_alone(rows: pl.LazyFrame) -> pl.LazyFrame:
            return _written(judge(bare(rows, None)))

        yield from _added(engine.total(case.rows, rows_alone, lambda found: found))
        return
    ours, theirs = by
    key, rows, beside = ours, case.rows, original.frame
    if ours != theirs:
        key, rows, beside = _KEY, _with_key(engine, rows, ours), _with_key(engine, beside, theirs)

    def work(some: pl.LazyFrame, of_original: pl.LazyFrame) -> pl.LazyFrame:
        return _written(judge(bare(some.drop(_KEY, strict=False), of_original.drop(_KEY, strict=False))))

    found = engine.blocks(rows, work, [key], beside)
    nothing = _written(judge(bare(_none(case.rows), _none(original.frame)))).collect()
    yield from _added(pl.concat([nothing, engine.small(found)]))


def _with_key(engine: Engine, table: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """A table with the column that blocks are made by under a name of its own."""
    return engine.each(table, lambda rows: rows.with_columns(pl.col(column).alias(_KEY)))


def _none(table: pl.LazyFrame) -> pl.LazyFrame:
    return pl.LazyFrame(schema=table.collect_schema())


def _bare(case: Case) -> Callable[[pl.LazyFrame, pl.LazyFrame | None], Case]:
    """What makes a case of some rows of a case; it holds nothing that cannot travel."""
    shape, run, foreign, promised = case.shape, dict(case.run), case.foreign, case.promised
    of_log = None if case.original is None else (case.original.shape, case.original.history)

    def made(rows: pl.LazyFrame, original: pl.LazyFrame | None) -> Case:
        log = None if original is None or of_log is None else Log(frame=original, shape=of_log[0], history=of_log[1])
        return Case(rows=rows, shape=shape, original=log, run=run, foreign=foreign, promised=promised, part=True)

    return made


def _written(checks: Iterable[Check]) -> pl.LazyFrame:
    """Checks as rows; they hold counts and sentences, and no value."""
    lines = [(place, orjson.dumps(asdict(check)).decode()) for place, check in enumerate(checks)]
    return pl.LazyFrame(lines, schema=_FOUND, orient="row")


def _added(found: pl.DataFrame) -> Iterator[Check]:
    """One check for each place, with the numbers of all parts."""
    for _, rows in sorted(found.group_by("place"), key=lambda group: str(group[0][0]).zfill(9)):
        parts = [Check(**orjson.loads(text)) for text in rows["check"].unique(maintain_order=True)]
        times = dict(rows["check"].value_counts().iter_rows())
        counts = [times[text] for text in rows["check"].unique(maintain_order=True)]
        worst = next((part for part in parts if part.broken), parts[0])
        seen = [part.looked_at * n for part, n in zip(parts, counts, strict=True) if part.looked_at is not None]
        limits = [part.largest_k for part in parts if part.largest_k is not None]
        yield replace(
            worst,
            broken=sum(part.broken * n for part, n in zip(parts, counts, strict=True)),
            looked_at=sum(seen) if seen else None,
            largest_k=min(limits, default=None),
            concerns=None,
        )


# --- work that travels --------------------------------------------------------------------------------


_ENDINGS = (GeneratorExit, KeyboardInterrupt, SystemExit)
"""What ends a task without a fault; a panic of polars is no Exception either, and does not belong to these."""


class Piece:
    """Work on polars frames, with what it needs to run elsewhere: the types of its tables, and versions.

    What goes wrong elsewhere is told without a value: messages of polars hold some, and a cluster writes messages to
    its logs. A sentence of Coterie's own comes back as it is.
    """

    def __init__(self, work: Callable[..., pl.LazyFrame], given: tuple[Schema, ...]) -> None:
        self.work, self.versions = work, versions()
        self.schema: Schema = dict(work(*(empty(schema).lazy() for schema in given)).collect_schema())

    def __call__(self, *tables: pl.DataFrame) -> pl.DataFrame:
        """What the work makes of tables."""
        try:
            rows = self.work(*(table.lazy() for table in tables)).collect(engine="streaming")
            return rows.select(pl.col(name).cast(dtype) for name, dtype in self.schema.items())
        except (CoterieError, *_ENDINGS):
            raise
        except BaseException as error:  # whatever it is, also a panic of polars: its message may hold a value
            raise InternalError(_where(error)) from None

    def elsewhere(self, *tables: pl.DataFrame) -> pl.DataFrame:
        """The same on a worker, which must have the same versions."""
        refuse_versions(self.versions)
        threads.use_threads(1)  # a task has one processor
        return told(self, *tables)


def guarded(run: Callable[[Iterator[Any]], Iterator[Any]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The same for what is done to rows on their way: what goes wrong is told without a value."""
    expected = versions()

    def safe(batches: Iterator[Any]) -> Iterator[Any]:
        refuse_versions(expected)
        try:
            yield from run(batches)
        except _ENDINGS:
            raise
        except BaseException as error:
            if said(str(error)):
                raise
            raise RuntimeError(f"{_MARK}InternalError: {_where(error)}") from None

    return safe


def told(work: Callable[..., pl.DataFrame], *tables: pl.DataFrame) -> pl.DataFrame:
    """What `work` gives; errors as one line that `said` finds again in whatever an engine makes of it."""
    try:
        return work(*tables)
    except CoterieError as error:
        raise RuntimeError(f"{_MARK}{type(error).__name__}: {' '.join(str(error).split())}") from None


def said(message: str) -> CoterieError | None:
    """The error that a worker told of; None where the message does not come from one."""
    _, mark, rest = message.partition(_MARK)
    if not mark:
        return None
    name, _, sentence = rest.splitlines()[0].partition(": ")
    return cast(CoterieError, getattr(errors, name, CoterieError)(sentence))


def _where(error: BaseException) -> str:
    """Kind and place of an error: what can be told of it."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "coterie" in each.filename]
    place = f" in {frames[-1].name} ({frames[-1].filename.rpartition('coterie/')[2]}:{frames[-1].lineno})"
    return f"Work on some rows failed{place if frames else ''} with {type(error).__name__}; the rows are not shown."


@cache
def versions() -> dict[str, str]:
    """What must be the same wherever work runs: rules of hashing and rounding come with these.

    A hash says where rows go, and may depend on the processor, so it is compared itself.
    """
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    names = {name: version(name) for name in ("polars", "numba", "numpy")}
    sample = pl.DataFrame({"text": ["", "a", "longer than sixteen bytes", None], "number": [0, 1, -1, None]})
    hashes = [sample["text"].hash(), sample["number"].hash(), sample.to_struct().hash()]
    return {"python": python, "coterie": __version__, **names, "hash": f"{pl.concat(hashes).hash().sum():x}"[-8:]}


def refuse_versions(expected: dict[str, str]) -> None:
    """An error that `said` finds again, where a worker has other versions than the machine that sent the work."""
    other = [f"{name} {mine}, not {expected[name]}" for name, mine in versions().items() if mine != expected[name]]
    if other:
        raise RuntimeError(
            f"{_MARK}InputError: Workers have other versions than this machine: {'; '.join(other)}. Install the same "
            f"ones on all nodes (see docs/spark.md, packaging)."
        )
