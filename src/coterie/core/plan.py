"""Method, Plan, Draft: what a method is, what it decides, and what it hands over.

A method may learn what does not depend on its late parameters (k), decides (`plan`), and applies the decision
(`release`). A plan is the whole decision: written to disk and read back, it gives the same release, and `release` sees
nothing but the log and the plan.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import polars as pl

from coterie.core import registry
from coterie.core.log import Log
from coterie.core.params import check_params
from coterie.core.promise import Promise, released_shape
from coterie.core.run import Run
from coterie.core.shapes import QUERIES, Shape
from coterie.errors import InputError, InternalError, ParameterError

YARDSTICK = "yardstick"
"""The status of a method that protects nobody and is there to compare with."""
_TABLE, _TABLES, _EVIDENCE, _NOTES = "table", "tables", "evidence", "notes.json"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a method may know before it promises anything."""

    subjects: int
    rows: int
    owners: int | None = None
    """How many people subjects belong to; None where the log does not say. A subject without one counts for itself."""
    session_minutes: int = 30
    """Minutes without activity that a session of the log survives."""
    in_lines: bool = True
    """Whether rows are numbered in the order of their lines."""
    shape: Shape = QUERIES
    """The shape of the log, which says what people call its subjects and items."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Plan:
    """The whole decision of a method."""

    table: pl.LazyFrame
    """Of the shape GROUPS, KEEP, REPLACE or COUNTS."""
    tables: Mapping[str, pl.LazyFrame] = field(default_factory=dict)
    """Further tables that the release is made from."""
    evidence: Mapping[str, pl.LazyFrame] = field(default_factory=dict)
    """Tables that tell a judge where to look; they go into the private run record."""
    notes: tuple[str, ...] = ()
    """What the decision costs, for people; without a value of the log."""

    def write(self, folder: Path) -> None:
        """Store the plan in an empty folder, readable by its owner only: it is as private as the log."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ParameterError(f"{folder} is not empty. Choose another folder for the plan.")
        folder.chmod(0o700)
        files = {Path(f"{_TABLE}.parquet"): self.table}
        for kind, tables in ((_TABLES, self.tables), (_EVIDENCE, self.evidence)):
            (folder / kind).mkdir(mode=0o700)
            files |= {Path(kind) / f"{name}.parquet": table for name, table in tables.items()}
        for path, table in files.items():
            (folder / path).touch(mode=0o600)  # before there is anything to read in it
            table.sink_parquet(folder / path)
        (folder / _NOTES).touch(mode=0o600)
        (folder / _NOTES).write_text(json.dumps(self.notes), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Plan:
        """The plan that `write` stored."""

        def tables(kind: str) -> dict[str, pl.LazyFrame]:
            return {path.stem: pl.scan_parquet(path, glob=False) for path in sorted((folder / kind).glob("*.parquet"))}

        return cls(
            table=pl.scan_parquet(folder / f"{_TABLE}.parquet", glob=False),
            tables=tables(_TABLES),
            evidence=tables(_EVIDENCE),
            notes=tuple(json.loads((folder / _NOTES).read_text(encoding="utf-8"))),
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Draft:
    """What a method hands over: rows that nobody has checked yet, and who became whom.

    `frame` has the released columns and, for methods that keep rows, `row`, the original row each one came from; it
    moves into the private record. `subjects` has original, released and group.
    """

    frame: pl.LazyFrame
    subjects: pl.LazyFrame
    warnings: tuple[str, ...] = ()
    in_order: bool = False
    """Whether the rows are in the order of released rows where work saw them all at once, so that they need not be
    sorted there; judges look at that."""
    unnamed: bool = False
    """Whether nobody is known to have a name, so that `subjects` need not be looked through for one."""
    ungrouped: bool = False
    """The same for groups."""

    @property
    def names_anybody(self) -> bool:
        """Whether rows are released under names, which the judge computes again."""
        if self.unnamed:
            return False
        names = self.subjects.select(pl.col("released").is_not_null().any())
        return bool(names.collect(engine="streaming").item())


class Cost(NamedTuple):
    """What a method publishes with differential privacy, and what that costs."""

    what: str
    epsilon: float
    delta: float
    orders: tuple[float, ...] = ()
    """The orders of the Rényi divergences that it is accounted in, part by part; none where it is not."""


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """An anonymizer: a frozen dataclass whose fields are the parameters of its paper.

    What it does not say of itself, it cannot do.
    """

    accepts: ClassVar[tuple[Shape, ...]]
    status: ClassVar[str]
    gives: ClassVar[Shape | None] = None
    """The shape of its release, where that is not the shape of the log."""
    holds_rows: ClassVar[bool] = False
    """Whether it works on rows in memory rather than through polars: a large log is then cut into engine blocks."""
    anywhere: ClassVar[bool] = False
    """Whether it asks for rows through its run alone, so that they may be on a cluster."""
    further_details: ClassVar[bool] = False
    """Whether it releases further details of queries."""
    regroups: ClassVar[bool] = False
    """Whether its plan is GROUPS, which it can also make on groups of an earlier release."""
    seeded: ClassVar[bool] = True
    """Whether the same seed gives the same release. Else its noise carries its promise, and is drawn in its plan."""
    shown: ClassVar[str] = ""
    """The order in which parameters are shown, where it is not that in which they are declared."""

    def __post_init__(self) -> None:
        check_params(self, registry.name_of(self))

    @property
    def spends(self) -> Cost | None:
        """What it publishes with differential privacy, and what that costs: listed before it runs."""
        return None

    def refuse(self, log: Log) -> None:  # noqa: B027 (most refuse nothing)
        """Raise an error for what cannot be done with a log, before anything is spent."""

    def refuse_elsewhere(self) -> None:  # noqa: B027
        """ParameterError for parameters that need one machine."""

    @abstractmethod
    def promises(self, facts: Facts) -> tuple[Promise, ...]:
        """What a release of a log with these facts promises; an error where it cannot."""

    def learn(self, log: Log, run: Run) -> Any:  # noqa: ARG002 (it learns nothing)
        """What does not depend on late parameters, computed once for several k; None for nothing."""
        return None

    @abstractmethod
    def plan(self, learnt: Any, log: Log, run: Run) -> Plan:
        """Decide. `learnt` is what `learn` gave."""

    @abstractmethod
    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Apply the decision to all rows."""

    def baseline(self) -> Method | None:
        """Itself with random groups of the same size; None where it groups nobody, or at random already."""
        return None

    def regroup(self, groups: pl.LazyFrame, learnt: Any, log: Log, run: Run) -> Plan:  # noqa: ARG002 (it has none)
        """The plan on groups of an earlier release (GROUPS, of users of this log), or on unions of too small ones."""
        raise InternalError(f"{registry.name_of(self)} makes no groups.")

    def shape_given(self, log: Log, promises: Iterable[Promise] = ()) -> Shape:
        """The shape of a release that makes these promises."""
        return released_shape(self.gives or log.shape, promises)


def refuse_seed(method: Method, seed: int | None) -> None:
    """ParameterError where a seed is given to a method that takes none."""
    if seed is not None and not method.seeded:
        raise ParameterError(
            f"{registry.name_of(method)} takes no seed: whoever could repeat its noise could take it off again. Leave "
            f"out the seed."
        )


def refuse_log(method: Method, log: Log) -> None:
    """InputError for a log that a method does not work on."""
    if log.shape.level:
        raise InputError("These are rows of a release, whose times are cut: give the log that it was made from.")
    if log.shape.plain not in method.accepts:
        accepted, others = ", ".join(shape.name for shape in method.accepts), ", ".join(registry.methods_for(log.shape))
        raise InputError(
            f"{registry.name_of(method)} works on {accepted}, and this log is {log.shape.name}. Use one of: {others}."
        )
    if log.shape.further and not method.further_details:
        raise InputError(
            f"{registry.name_of(method)} releases no further details ({', '.join(log.shape.further)}). Leave out "
            f"--details, or use a method that releases single queries: {', '.join(registry.methods_for(log.shape))}."
        )


def refuse_engine(method: Method | type[Method]) -> None:
    """ParameterError where rows are elsewhere and a method runs on one machine only."""
    cls = method if isinstance(method, type) else type(method)
    if not isinstance(method, type):
        method.refuse_elsewhere()
    if not cls.anywhere:
        raise ParameterError(f"{registry.name_of(cls)} runs on one machine; leave out --engine.")


def enough_subjects(owner: str, k: int, facts: Facts) -> None:
    """Raise InputError where there are fewer subjects than k: nobody can be hidden among too few."""
    if facts.subjects < k:
        if not facts.subjects and facts.shape.name == "QUERIES":
            raise InputError(
                f"No row of the log says which {facts.shape.subject_noun} it came from, and k has to count them. Say "
                f"which column does: --columns {facts.shape.subject}=NAME."
            )
        smaller = "a smaller k (at least 2) or " if facts.subjects >= 2 else ""
        raise InputError(
            f"{owner} with k = {k} needs at least {k} {facts.shape.subject_nouns}, and the log has {facts.subjects}. "
            f"Use {smaller}a larger log."
        )
