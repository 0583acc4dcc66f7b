"""Small helpers of judges: counting rows and the subjects behind them, and making a Check of a count.

Multisets of rows, which stand for whole profiles and can be compared.

What a promise may say publicly about a list or a taxonomy: the name of one that has a name, or a digest.

Times that are no finer than said, and that say how exact they are, as rows show without the original.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Choice, Span
from coterie.core.promise import ORIGINAL, Case, Check
from coterie.core.shapes import TIME, Shape

P = TypeVar("P")


@dataclass(frozen=True)
class Question:
    """What a judge asks of a release, in words. A count answers it; without one it says what it would need."""

    name: str
    detail: str
    """What must hold."""
    fault: str = ""
    """What the broken ones have or lack, as the end of a sentence."""
    original: bool = False
    """Whether only the original can tell."""
    carries: bool = False
    """Whether the promise itself rests on the answer."""

    def answered(
        self,
        broken: int,
        looked_at: int | None = None,
        *,
        concerns: int | None = None,
        how: str = "",
        largest_k: int | None = None,
    ) -> Check:
        """The check: it failed if anything is broken."""
        return Check(
            name=self.name,
            status="failed" if broken else "passed",
            detail=self.detail,
            looked_at=looked_at,
            broken=int(broken),
            fault=self.fault if broken else "",
            concerns=concerns if broken else None,
            how=how,
            needs_original=self.original,
            carries_promise=self.carries,
            largest_k=largest_k,
        )

    def of_rows(self, rows: pl.LazyFrame, broken: pl.Expr) -> Check:
        """The check of rows one by one: a condition is true of those that break it."""
        return self.answered(*rows_broken(rows, broken))

    def of_crowds(self, sizes: pl.Series, k: int, *, concerns: int | None = None, how: str = "") -> Check:
        """The check of crowds, which are to have k members each."""
        smallest = None if sizes.is_empty() else int(sizes.min())  # type: ignore[arg-type]
        few = int((sizes < k).sum())
        return self.answered(few, sizes.len(), concerns=concerns, how=how, largest_k=smallest)

    def of_people(self, people: pl.DataFrame, who: str, asked: pl.DataFrame, k: int) -> Check:
        """The check of lines that are to have k people each, behind what these lines have in common with `people`."""
        crowds = people.group_by(asked.columns).agg(pl.col(who).n_unique().alias("_crowd"))
        sizes = asked.join(crowds, on=asked.columns, how="left", nulls_equal=True).with_columns(
            pl.col("_crowd").fill_null(0)
        )
        few = sizes.filter(pl.col("_crowd") < k)
        exposed = people.join(few, on=asked.columns, how="semi", nulls_equal=True)[who].n_unique()
        return self.of_crowds(sizes["_crowd"], k, concerns=exposed)

    def of_equals(self, subjects: pl.LazyFrame, k: int, what: str) -> Check:
        """The check of subjects that are to be equal to k - 1 others; `what` they are the kinds of."""
        crowd = pl.col("crowd")
        kinds = subjects.group_by(pl.all()).len("crowd")
        smallest, few, total, different = numbers(
            kinds.select(
                crowd.min().alias("smallest"),
                crowd.filter(crowd < k).sum().alias("few"),
                crowd.sum().alias("total"),
                pl.len().alias("different"),
            )
        ).row(0)
        return self.answered(few, total, how=f"{different:,} different {what}", largest_k=smallest)

    def open(self, needs: str = ORIGINAL) -> Check:
        """A check that could not be made with what was given."""
        return Check(
            name=self.name,
            status="not checked",
            detail=self.detail,
            needs=needs,
            needs_original=True,
            carries_promise=self.carries,
        )


LINES = Question("tables", "rows are lines of tables with a number each", "has other columns", carries=True)
"""What a shape must have for its numbers to be judged."""


def as_made(case: Case, promise: P) -> P:
    """The promise that the release was made with, where another k is checked."""
    return next((each for each in case.promised if isinstance(each, type(promise))), promise)


def rows_broken(rows: pl.LazyFrame, broken: pl.Expr) -> tuple[int, int]:
    """How many rows a condition is true of, and how many rows there are."""
    numbers = rows.select(broken.sum().alias("broken"), pl.len().alias("rows")).collect(engine="streaming").row(0)
    return int(numbers[0] or 0), int(numbers[1])


def given(case: Case) -> tuple[int, dict[str, int]]:
    """How many rows there are, and how many have a value in each released column; counted once."""
    if "given" not in case.shared:
        numbers = (pl.len().cast(pl.Int64).alias("_rows"), pl.col(case.shape.released).count().cast(pl.Int64))
        counts = case.engine.total(case.rows, lambda rows: rows.select(numbers))
        case.shared["given"] = counts.row(0, named=True)
    counted = dict(case.shared["given"])
    return counted.pop("_rows"), counted


def any_given(names: tuple[str, ...]) -> pl.Expr:
    """Whether a row has a value in one of these columns."""
    return pl.any_horizontal(pl.col(name).is_not_null() for name in names) if names else pl.lit(False)


def count(one_number: pl.LazyFrame) -> int:
    """The only number of a table."""
    return int(numbers(one_number).item())


def numbers(one_row: pl.LazyFrame) -> pl.DataFrame:
    """A row of numbers, counted."""
    return one_row.collect(engine="streaming")


def strange_items(rows: pl.LazyFrame, shape: Shape, allowed: pl.LazyFrame) -> tuple[int, int]:
    """How many of the distinct released items are not in `allowed`, a table of one column, and how many there are."""
    items = rows.select(pl.col(shape.item).alias("item")).unique()
    allowed = allowed.select(pl.all().name.map(lambda _: "item")).unique().with_columns(pl.lit(True).alias("allowed"))
    numbers = items.join(allowed, on="item", how="left").select(pl.col("allowed").null_count(), pl.len())
    strange, total = numbers.collect(engine="streaming").row(0)
    return int(strange), int(total)


def only_concepts(case: Case, names: pl.Series | None, needs: str = "", *, carries: bool = False) -> Check:
    """Nothing but concepts is released in place of items, so that nothing stands there word for word."""
    detail = f"every released {case.shape.item} is the name of a concept of the promised taxonomy"
    named = Question("items", detail, "are not", carries=carries)
    if names is None:
        return named.open(needs)
    return named.answered(*strange_items(case.rows, case.shape, names.to_frame().lazy()))


def time_columns(shape: Shape) -> tuple[str, ...]:
    """The released columns that are times."""
    return tuple(name for name in shape.released if shape.schema[name] == TIME)


def other_columns(shape: Shape) -> tuple[str, ...]:
    """The released columns that are neither subject nor item."""
    return tuple(name for name in shape.released if name not in (shape.subject, shape.item))


_DIGEST = "sha256:[0-9a-f]{64}"


class NameOrDigest(Choice):
    """One of a few names, or the digest of something that has no name."""

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is one of the names or a digest."""
        return super().accepts(value, kind) or (isinstance(value, str) and bool(re.fullmatch(_DIGEST, value)))

    def describe(self, kind: type) -> str:
        """The allowed values in words."""
        return f"{super().describe(kind)} or a digest (sha256:...)"


# --- times ------------------------------------------------------------------------------------------


UNITS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q"}
"""The levels that a time may have, the finest first; weeks begin on Monday."""
LEVELS = {
    "hour": ("hour", "day", "week", "month"),
    "day": ("day", "week", "month"),
    "week": ("week", "month"),
    "month": ("month",),
    "quarter": ("quarter",),
    "drop": (),
}
"""By the finest time that may accompany an item: that, and what takes its place where too few share it."""


def nothing_beside(case: Case, others: tuple[str, ...]) -> Check:
    """Columns that nobody counted are empty."""
    only = f"nothing accompanies a {case.shape.item_noun} but what was counted; {', '.join(others)} must be empty"
    return Question("details", only, "rows have a value there", carries=True).of_rows(case.rows, any_given(others))


def level_of(shape: Shape) -> pl.Expr:
    """How exact the time of a row is; nothing where rows do not say it."""
    return pl.col(shape.level) if shape.level else pl.lit(None, pl.String)


def no_finer(levels: Sequence[str], case: Case, *, carries: bool = False) -> Iterator[Check]:
    """Each released time is the beginning of its hour, day, week, month or quarter, one of `levels`, or missing."""
    shape = case.shape
    if not shape.time:
        return
    time, said = pl.col(shape.time), level_of(shape)
    fits = [(time == time.dt.truncate(UNITS[level])) & (said == level) for level in levels]
    whole = pl.any_horizontal(pl.lit(False), *fits).fill_null(False)
    detail, fault = "no row has a time", "rows do"
    if levels:
        detail = f"each time is the beginning of its {_one_of(levels)}, as its row says"
        fault = "rows have another time, or say something else"
    broken = pl.when(time.is_null()).then(said.is_not_null()).otherwise(~whole)
    yield Question("times", detail, fault, carries=carries).of_rows(case.rows, broken)


def _one_of(levels: Sequence[str]) -> str:
    """`hour, day or month`."""
    *first, last = levels
    return f"{', '.join(first)} or {last}" if first else last


# --- crowds -----------------------------------------------------------------------------------------


ALL_OF_IT = "all"
Window = Annotated[
    str, Span(ALL_OF_IT), "in how long a time before the end of the log users are counted; 'all': in all of it"
]
_HALVES: tuple[Callable[[pl.Expr], pl.Expr], ...] = (lambda hashed: hashed // 2**32, lambda hashed: hashed % 2**32)


def crowds(case: Case, k: int, *, named: bool, needs: str = ORIGINAL) -> Iterator[Check]:
    """At least k distinct subjects of the original behind each released item, and no more rows than there.

    It stops whoever releases what too few asked for, and whoever invents rows of what enough asked for. `named`: each
    name in the release stands for one person, so that without the original names can be counted.
    """
    item, what = case.shape.item, case.shape.item_noun
    behind = f"at least {k} {case.log_shape.subject_nouns} behind each released {what}"
    crowd = Question(f"crowd.{item}", behind, "have fewer", original=case.original is not None, carries=True)
    no_more = no_more_rows(item, what)
    if case.original is not None:
        owned, how = owned_items(case.original), ""
    elif named and _has_names(case):
        owned = case.rows.select(pl.col(item).alias("item"), pl.col(case.shape.subject).alias("_owner")).drop_nulls()
        how = "counted by the names in the release"
    else:
        yield crowd.open(needs)
        yield no_more.open(needs)
        return
    table = _sizes(case, owned)
    few, excess = pl.col("crowd") < k, pl.col("released") > pl.col("rows")
    smallest, broken, invented, total = numbers(
        table.select(
            pl.col("crowd").min().alias("smallest"), few.sum().alias("few"), excess.sum().alias("excess"), pl.len()
        )
    ).row(0)
    exposed = concerned(owned, table.filter(few)) if broken else None
    yield crowd.answered(broken, total, concerns=exposed, how=how, largest_k=smallest)
    yield no_more.open(needs) if case.original is None else no_more.answered(invented, total)


def no_more_rows(item: str, what: str) -> Question:
    """Whether rows were invented."""
    return Question(
        f"rows.{item}", f"no {what} has more rows than in the original", "have invented rows", original=True
    )


def _has_names(case: Case) -> bool:
    """Whether a row with an item has a name, too; a release without any item has nobody to name."""
    if not case.shape.subject:
        return False
    items = case.rows.drop_nulls(case.shape.item)
    total, names = numbers(items.select(pl.len().alias("items"), pl.col(case.shape.subject).count())).row(0)
    return bool(names or not total)


def recent(original: Log, window: str) -> Log:
    """The original in which only rows of its last time, as long as the window, have a subject that can be counted."""
    if window == ALL_OF_IT:
        return original
    shape = original.shape
    when = pl.col(shape.time).to_physical()
    newest = original.frame.select(when.max()).collect(engine="streaming").item() if shape.time else None
    old = pl.lit(True) if newest is None else (when <= newest - Span.seconds(window) * 1_000_000).fill_null(True)
    nobody = pl.when(~old).then(pl.col(shape.subject)).alias(shape.subject)
    return replace(original, frame=original.frame.with_columns(nobody))


def owned_items(original: Log) -> pl.LazyFrame:
    """item, _owner: what the rows of the original are about, and whose they are."""
    shape = original.shape
    return original.frame.select(pl.col(shape.item).alias("item"), pl.col(shape.subject).alias("_owner"))


def concerned(owned: pl.LazyFrame, items: pl.LazyFrame) -> int:
    """How many subjects have one of some items."""
    exposed = owned.join(items.select("item"), on="item", how="semi")
    return count(exposed.select(pl.col("_owner").drop_nulls().n_unique()))


def _sizes(case: Case, owned: pl.LazyFrame) -> pl.LazyFrame:
    """item, released, crowd, rows: each released item, its rows, and the users and rows that it has in `owned`."""
    items = case.rows.select(pl.col(case.shape.item).alias("item"))
    released = items.drop_nulls().group_by("item").len("released")
    behind = owned.join(released, on="item", how="semi").group_by("item")
    sizes = behind.agg(pl.col("_owner").drop_nulls().n_unique().alias("crowd"), pl.len().alias("rows"))
    return released.join(sizes, on="item", how="left").with_columns(pl.col("crowd", "rows").fill_null(0))


def released_items(case: Case, original: Log) -> pl.DataFrame:
    """item, released, crowd, rows: each released item, its rows, and its users and rows in the original."""
    return _sizes(case, owned_items(original)).collect(engine="streaming")


def invented(items: pl.DataFrame) -> int:
    """How many of some released items have more rows than in the original."""
    return items.filter(pl.col("released") > pl.col("rows")).height


def equals(subjects: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """group, name: which subjects, whose names stand in that column, are equal in all others."""
    alike = subjects.rename({name: "name"}).group_by(pl.exclude("name")).agg("name")
    return alike.with_row_index("group").select("group", "name").explode("name")


def secret_seeds() -> tuple[int, int]:
    """Keys of two hashes that nobody who made the rows could know: collisions cannot be prepared."""
    return secrets.randbits(63), secrets.randbits(63)


def multisets(
    rows: pl.LazyFrame, owner: Sequence[str], columns: Sequence[str], seeds: tuple[int, int]
) -> pl.LazyFrame:  # fmt: skip
    """One row for each owner: sums of two hashes under secret keys, which stand for the multiset of its rows."""
    hashes = [pl.struct(columns).hash(seed=seed).alias(f"h{i}") for i, seed in enumerate(seeds)]
    # Sums of halves cannot overflow, so no bit of a hash is lost.
    parts = [half(pl.col(name)).sum().alias(f"{name}{i}") for name in ("h0", "h1") for i, half in enumerate(_HALVES)]
    return rows.select(*owner, *hashes).group_by(owner).agg(pl.len().alias("n"), *parts)
