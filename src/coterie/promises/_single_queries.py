"""What promises about single queries share: who rows are linked to (`users`), and what accompanies them (`attrs`).

Recount: the rows of released items as the original has them, with as much beside them as is promised.

For the judge alone; it shares no code with what applies plans. Rows become numbers: hashes of what a released row says,
under a key that nobody who made the rows could know. So whole tuples can be compared and counted as cheaply as numbers.

`attrs = common` determines what a row says: each level, from (details, finest time) to nothing at all, takes those of
the rows left by finer levels whose tuple at least k users of them share, together with the item.

Further columns that tell who a row came from: the user again, or values that stand for one user each.

Where everything that was logged is kept, nobody counts what accompanies a query. A column that is the user, or a hash
of the user, would then name everybody under a promise that says no row does. One odd row must not hide that: what
counts is how many rows and users have a value that one user alone has.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Self

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Attrs, Choice, KDetails, Range, Times, with_values
from coterie.core.promise import ORIGINAL, Case, Check
from coterie.core.run import Engine
from coterie.core.shapes import QUERIES, VISITS, Shape
from coterie.promises._checks import (
    ALL_OF_IT,
    LEVELS,
    UNITS,
    Question,
    Window,
    any_given,
    as_made,
    level_of,
    multisets,
    no_finer,
    nothing_beside,
    other_columns,
    secret_seeds,
    time_columns,
)
from coterie.promises._names import is_known, names_of, names_of_labels, random_names, seeded, with_owner
from coterie.promises._words import ItemPromise

Users = Annotated[
    str,
    Choice("drop", "mini", "session", "day", "pseudonym"),
    "what links released rows: nothing, or a random name for a few queries, each session, each day, or each person",
]
LinkQueries = Annotated[int, Range(1, 1000), "most queries in a row under one name, where names are for a few queries"]
LinkMinutes = Annotated[int, Range(1, 1440), "minutes from the first to the last of them"]


class Names:
    """Names of columns with commas between them; or nothing."""

    def accepts(self, value: Any, kind: type) -> bool:  # noqa: ARG002 (same signature as other rules)
        """Whether `value` consists of such names."""
        return isinstance(value, str) and bool(re.fullmatch(r"(?:[a-z][a-z0-9_]*(?:,[a-z][a-z0-9_]*)*)?", value))

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as other rules)
        """The allowed values in words."""
        return "names of columns with commas between them, or ''"


Details = Annotated[str, Names(), "further columns that accompany a query; the last of them goes first"]
ShapeName = Annotated[
    str,
    Choice(QUERIES.name, VISITS.name),
    "shape of the log, which says what people call its subjects and items",
]
SessionMinutes = Annotated[int, Range(1, 1440), "a session ends after more minutes than this without activity"]
_BESIDE = {
    "common": "with only the details that {k} {subjects} share",
    "keep": "with all that is beside them",
    "drop": "with nothing beside them",
}
_NAME = "_name"
_LINKS = {
    "mini": "each name stands for at most {queries} {items} in a row of one {subject} of the original within {minutes}",
    "session": "each name stands for one session of the original",
    "day": "each name stands for one day of one {subject} of the original",
    "pseudonym": "each name stands for one {subject} of the original",
}


@dataclass(frozen=True, kw_only=True)
class Accompanied(ItemPromise):
    """The numbers that say what links and accompanies items, and within which time their users are counted."""

    users: Users = "drop"
    attrs: Attrs = "common"
    session_minutes: SessionMinutes = 30
    link_queries: LinkQueries = 3
    link_minutes: LinkMinutes = 30
    times: Times = "day"
    k_details: KDetails = "k"
    details: Details = ""
    window: Window = ALL_OF_IT


class OfRowsAlone:
    """A promise that can be checked of rows without a sidecar, which keep whatever they have beside items."""

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> Self:
        """The promise to check of such rows."""
        return cls(**{**values, "users": "pseudonym" if named else "drop", "attrs": "keep"})


def judged_anywhere(promise: ItemPromise) -> bool:
    """Whether rows may be on a cluster: windows, days and units of a few queries need one machine."""
    return promise.users in ("drop", "session", "pseudonym") and promise.window == ALL_OF_IT


def whose(case: Case, promise: ItemPromise) -> Iterator[Check]:
    """Names are those that the run gave; of rows that Coterie did not make, only the items are looked at."""
    if not case.foreign:
        yield from random_names(case, promise.users)
        yield from seeded(case, promise)
        return
    shape = case.shape
    unseen = ", ".join(other_columns(shape))
    detail = f"the promise is about the {shape.item_noun} alone; nothing was looked for in {unseen} or other columns"
    yield Check(name="details", status="not checked", detail=detail)


def accompaniment(
    case: Case, promise: ItemPromise, *, needs: str = ORIGINAL, name: str = "tuples", detail: str = "", cut: str = ""
) -> Iterator[Check]:
    """Rows of released items are those of the original, with what `attrs` lets accompany them and `users` link them.

    `name` and `detail` are those of the check that compares rows; `cut` is the level of times that are kept.
    """
    users = "drop" if case.part else promise.users
    if promise.attrs == "keep" and not case.part:
        yield from telling(case)
    shape, attrs, nouns = case.shape, promise.attrs, case.log_shape
    yield from _in_themselves(case, promise)
    enough, known = promise.crowd_of_details, case.original is not None
    whole = (shape.item, *shape.details, *time_columns(shape)[:1])
    beside = f"whatever accompanies a {shape.item_noun} ({', '.join(whole[1:])})"
    told = f"at least {enough} {nouns.subject_nouns} share {beside}"
    shared = Question(".".join(("crowd", *whole)), told, "have fewer", original=known, carries=True)
    accompanied = _BESIDE[attrs].format(subjects=nouns.subject_nouns, k=promise.k_details)
    detail = detail or f"the rows of each released {shape.item_noun} are those of the original, {accompanied}"
    named = promise.users == "pseudonym"
    same = Question(f"{name}.{shape.item}", detail, "are not", original=True, carries=known or not named)
    linked = _question_of_links(case, promise, users)
    counts = attrs == "common" and len(whole) > 1
    if not shape.subject:  # numbers of no one person: there are no rows to compare
        return
    if case.original is None:
        if counts:
            yield _counted_names(case, shared, enough) if named else shared.open(needs)
        yield same.open(needs)
        yield from [replace(linked, carries=False).open()] if users != "drop" else []
        return
    owner, rows = with_owner(case.original, shape, with_values(promise, users=users), case.rows)
    rows_say = Saying.of(case, promise, cut)
    before = rows_say.should_say(rows, *owner).collect(engine="streaming").lazy()
    after = rows_say.said(case.rows, *([shape.subject] if owner else []))
    tuples = _compared(before, after)
    yield same.answered(tuples.filter(pl.col("before") != pl.col("after")).height, tuples.height)
    if counts:
        behind = shared.of_crowds(tuples[CROWD].drop_nulls(), enough)
        own = not isinstance(promise.k_details, str)  # k itself says nothing about it
        yield replace(behind, largest_k=None) if own else behind
    if owner:
        yield _links(case, before, after, owner, linked)


def links(case: Case, promise: ItemPromise) -> Iterator[Check]:
    """What names link, which parts of a case could not tell."""
    if case.foreign or case.original is None or not case.shape.subject:
        return
    if promise.attrs == "keep":
        yield from telling(case)
    if promise.users != "drop":
        yield _links_in_blocks(case, case.engine, case.original, promise)


def _question_of_links(case: Case, promise: ItemPromise, users: str) -> Question:
    """What names link, in words."""
    minutes = {1: "a minute", 30: "half an hour", 60: "an hour"}.get(promise.link_minutes)
    detail = _LINKS.get(users, "").format(
        subject=case.log_shape.subject_noun,
        items=case.shape.item_nouns,
        queries=promise.link_queries,
        minutes=minutes or f"{promise.link_minutes} minutes",
    )
    return Question("links", detail, "names do not", original=True, carries=True)


def _in_themselves(case: Case, promise: ItemPromise) -> Iterator[Check]:
    """What rows show without the original: no column that nobody counted, no time too fine, no name of too much."""
    shape, others, attrs = case.shape, other_columns(case.shape), promise.attrs
    if promise.details or shape.further:
        other = promise.details != ",".join(shape.further)  # their order says which of them goes first
        said = f"the further details are those that the promise names ({', '.join(shape.further) or 'none'})"
        yield Question("further", said, "list is another one", carries=True).answered(other)
    times = time_columns(shape)
    counted = {"drop": (), "common": (*shape.details, *times, shape.level), "keep": others}[attrs]
    if others := tuple(name for name in others if name not in counted and name not in shape.identifying):
        yield nothing_beside(case, others)
    if attrs == "common":
        yield from no_finer(LEVELS[promise.times], case)
    if promise.users == "mini" and shape.subject:
        named = case.rows.drop_nulls(shape.subject).group_by(shape.subject).agg(pl.col(shape.item).n_unique())
        most = f"no name links more than {promise.link_queries} different {shape.item_nouns}"
        size = Question("size", most, "names do", carries=True)
        yield size.of_rows(named, pl.col(shape.item) > promise.link_queries)


def _counted_names(case: Case, shared: Question, k: int) -> Check:
    """At least k names behind whatever accompanies an item."""
    shape = case.shape
    details = (*shape.details, *filter(None, (shape.time, shape.level)))
    names = (
        case.rows.filter(any_given(details))
        .group_by(shape.item, *details)
        .agg(pl.col(shape.subject).drop_nulls().n_unique())
    )
    sizes = names.select(shape.subject).collect(engine="streaming").to_series()
    return shared.of_crowds(sizes, k, how="counted by the names in the release")


def _compared(before: pl.LazyFrame, after: pl.LazyFrame) -> pl.DataFrame:
    """before, after and how many users share it, for each tuple of either."""
    counted = before.group_by(SAID).agg(pl.len().alias("before"), pl.col(CROWD).min())
    both = counted.join(after.group_by(SAID).len("after"), on=SAID, how="full", nulls_equal=True, coalesce=True)
    both = both.with_columns(pl.col("before", "after").fill_null(0))
    nobody = pl.when(pl.col("before") > 0).then(CROWD).otherwise(0).alias(CROWD)
    return both.with_columns(nobody).collect(engine="streaming")


def _links(case: Case, before: pl.LazyFrame, after: pl.LazyFrame, owner: list[str], linked: Question) -> Check:
    """What one name links in the release is what one session (or user) of the original had of the released items.

    With the run record it is the one that the name was given to, else any. So nobody's rows can be put under the name
    of somebody else, nor those of several people under one name.
    """
    seeds, subject = secret_seeds(), case.shape.subject
    known = is_known(case)
    owned = multisets(before.drop_nulls(WHO), owner, SAID, seeds)
    named = multisets(after.drop_nulls(subject), [subject], SAID, seeds).rename({subject: _NAME})
    if case.original is not None and known:
        owned = _under_names(case, case.original, owned, owner)
    else:
        owned, named = owned.drop(owner), named.drop(_NAME)
    return _linked(linked, _excess(_sides(owned, named)).collect(engine="streaming"), known)


def _sides(before: pl.LazyFrame, after: pl.LazyFrame) -> pl.LazyFrame:
    """What names link, in the original (side 0) and in the release (side 1)."""
    return pl.concat([each.with_columns(side=at) for at, each in enumerate((before, after))], how="diagonal")


def _excess(sides: pl.LazyFrame) -> pl.LazyFrame:
    """How many names link what nobody had, or what fewer had than there are names; and how many names there are."""
    before, after = ((pl.col("side") == side).sum().cast(pl.Int64) for side in (0, 1))
    alike = sides.group_by(pl.exclude("side")).agg(before=before, after=after)
    excess = (pl.col("after") - pl.col("before")).clip(lower_bound=0)
    return alike.select(excess.sum().alias("excess"), pl.col("after").sum().alias("names"))


def _linked(linked: Question, found: pl.DataFrame, known: bool) -> Check:
    broken, names = found.sum().row(0)
    return linked.answered(broken, names, how="the one that the run's seed gives it to" if known else "")


def _links_in_blocks(case: Case, engine: Engine, original: Log, promise: ItemPromise) -> Check:
    """The same in blocks: sums over items are added up by name, then names with equal sums counted.

    With the run record names are functions of owners; without it owners keep their labels.
    """
    shape, of_log, history, run = case.shape, original.shape, original.history, dict(case.run)
    rows_say, seeds, subject, known = Saying.of(case, promise), secret_seeds(), case.shape.subject, is_known(case)

    def named(rows: pl.LazyFrame) -> pl.LazyFrame:
        log = Log(frame=rows, shape=of_log, history=history)
        owner, owned = with_owner(log, shape, promise, None)
        label = pl.concat_str(owner, separator="\0")
        name = label.map_batches(partial(names_of_labels, run), pl.String) if known else label
        return owned.with_columns(name.alias(_NAME)).drop(owner)

    def sums(rows: pl.LazyFrame, released: pl.LazyFrame) -> pl.LazyFrame:
        rows = rows.join(released.select(shape.item).unique(), on=shape.item, how="semi")
        before = rows_say.should_say(rows, _NAME).drop_nulls(WHO).drop_nulls(_NAME)
        after = rows_say.said(released, subject).drop_nulls(subject).rename({subject: _NAME})
        return _sides(*(multisets(side, [_NAME], SAID, seeds) for side in (before, after)))

    def added_up(parts: pl.LazyFrame) -> pl.LazyFrame:
        whole = parts.group_by(_NAME, "side").sum()
        return whole if known else whole.drop(_NAME)

    owned = engine.blocks(original.frame, named, [of_log.subject])
    parts = engine.blocks(owned, sums, [shape.item], case.rows)
    whole = engine.blocks(parts, added_up, [_NAME])
    alike = [name for name in whole.collect_schema() if name != "side"]
    found = engine.small(engine.blocks(whole, _excess, alike))
    return _linked(_question_of_links(case, promise, promise.users), found, known)


def _under_names(case: Case, original: Log, owned: pl.LazyFrame, owner: list[str]) -> pl.LazyFrame:
    """What owners had, under the names that the run gave them."""
    table = owned.collect(engine="streaming").sort(owner)
    labels = table.select(pl.concat_str(owner, separator="\0").alias("label"))["label"]
    ids = original.frame.select(original.shape.subject).drop_nulls().unique().collect(engine="streaming").to_series()
    names = pl.Series(_NAME, names_of(case.run, labels, ids), dtype=pl.String)
    return table.drop(owner).with_columns(names).lazy()


TUPLE, WHEN, LEVEL, WHO, CROWD = "_tuple", "_when", "_level", "_who", "_crowd"
SAID = [TUPLE, WHEN, LEVEL]
"""What a row says: item and details in one number, the time, and how exact that is."""
_NO_TIME, _NO_LEVEL = pl.lit(None, pl.Datetime("us")), pl.lit(None, pl.String)


@dataclass(frozen=True, kw_only=True)
class Saying:
    """What rows say in a release, as numbers."""

    shape: Shape
    attrs: str
    crowd: int
    """How many users share whatever accompanies an item."""
    times: str
    cut: str = ""
    """The level of times that are kept whoever shares them, or `drop`; none where they are as they were logged."""
    key: int = field(default_factory=partial(secrets.randbits, 63))

    @classmethod
    def of(cls, case: Case, promise: ItemPromise, cut: str = "") -> Self:
        """As the release was made."""
        made = as_made(case, promise)
        return cls(shape=case.shape, attrs=promise.attrs, crowd=made.crowd_of_details, times=made.times, cut=cut)

    def said(self, rows: pl.LazyFrame, *columns: str) -> pl.LazyFrame:
        """What each row says (SAID), with further `columns`."""
        when, level = (_time(self.shape), level_of(self.shape)) if self.attrs == "common" else (_NO_TIME, _NO_LEVEL)
        number = self._number(self._accompanying)
        return rows.select(*columns, number.alias(TUPLE), when.alias(WHEN), level.alias(LEVEL))

    def should_say(self, rows: pl.LazyFrame, *columns: str) -> pl.LazyFrame:
        """What each row of the original should say; and where a detail or time stays, how many share it."""
        shape, subject = self.shape, pl.col(self.shape.subject)
        who = pl.when(subject.is_not_null()).then(subject.hash(self.key)).alias(WHO)
        if self.attrs != "common":
            unit = UNITS.get(self.cut, "1s")  # a file can hold whole seconds
            kept = [_NO_TIME.alias(shape.time)] if self.cut == "drop" else [pl.col(pl.Datetime).dt.truncate(unit)]
            kept += [_level(_time(shape), self.cut).alias(shape.level)] if shape.level else []
            exact = rows.with_columns(kept).with_columns(who)
            return self.said(exact, *columns, WHO).with_columns(pl.lit(None).alias(CROWD))
        details = self._accompanying
        numbers = [self._number(details[:count]).alias(f"_{count}") for count in range(len(details) + 1)]
        table = rows.select(*columns, who, _time(shape).alias(WHEN), *numbers).collect(engine="streaming")
        told = _by_level(table, len(details), self.crowd, LEVELS[self.times])
        return pl.concat(part.select(*columns, *SAID, WHO, CROWD) for part in told).lazy()

    @property
    def _accompanying(self) -> tuple[str, ...]:
        kept = tuple(name for name in other_columns(self.shape) if name not in self.shape.identifying)
        return {"drop": (), "common": self.shape.details, "keep": kept}[self.attrs]

    def _number(self, stays: Sequence[str]) -> pl.Expr:
        """Item and details as one number, with those that do not stay empty."""
        columns = [pl.col(self.shape.item)]
        for name in dict.fromkeys((*self.shape.details, *stays)):
            columns.append(pl.col(name) if name in stays else pl.lit(None, self.shape.schema[name]).alias(name))
        return pl.struct(columns).hash(self.key)


def _by_level(rows: pl.DataFrame, details: int, k: int, levels: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows that each level takes, with what they say there and how many users do; the last takes the rest."""
    whole = f"_{details}"
    enough = pl.col(WHO).drop_nulls().n_unique().over(whole) >= k  # what fewer share at any time, fewer share on a day
    left, waiting = rows.filter(~enough), rows.filter(enough)
    for level in levels:
        when = pl.col(WHEN).dt.truncate(UNITS[level])
        taken, waiting = _split(waiting, whole, when, k)
        yield taken.with_columns(_level(pl.col(WHEN), level).alias(LEVEL))
    taken, waiting = _split(waiting, whole, _NO_TIME, k)
    yield taken.with_columns(_NO_LEVEL.alias(LEVEL))
    left = pl.concat([left, waiting.select(left.columns)])
    for count in range(details - 1, 0, -1):
        taken, left = _split(left, f"_{count}", _NO_TIME, k)
        yield taken.with_columns(_NO_LEVEL.alias(LEVEL))
    nobody = pl.lit(None, pl.UInt32).alias(CROWD)
    yield left.with_columns(pl.col("_0").alias(TUPLE), _NO_TIME.alias(WHEN), _NO_LEVEL.alias(LEVEL), nobody)


def _split(rows: pl.DataFrame, number: str, when: pl.Expr, k: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows whose tuple (a column of numbers, and when) k users share, and the others as they are."""
    counted = rows.with_columns(pl.col(number).alias(TUPLE), when.alias("_unit"))
    counted = counted.with_columns(pl.col(WHO).drop_nulls().n_unique().over(TUPLE, "_unit").alias(CROWD))
    enough = pl.col(CROWD) >= k
    return counted.filter(enough).with_columns(pl.col("_unit").alias(WHEN)), counted.filter(~enough).select(
        rows.columns
    )


def _level(time: pl.Expr, level: str) -> pl.Expr:
    """How exact a time is; nothing where there is none."""
    return pl.when(time.is_not_null()).then(pl.lit(level))


def _time(shape: Shape) -> pl.Expr:
    return pl.col(shape.time) if shape.time else pl.lit(None, pl.Datetime("us"))


_FEW = 5  # users with values of their own: so many may be chance in a small log, or somebody's odd device
_MOST_ALONE = 0.25  # of rows, and of users: usual details are far below it, whatever stands for users is far above
_SHORTEST_NAME = 3  # characters of a name that is looked for as a word inside of a value
_LONG_NAME = 6  # characters of a name that is looked for anywhere in it
_MOST_BY_CHANCE = 0.01  # of rows: a name of digits alone may also be a version, a size or a place
_NO_WORD = r"[^\p{L}\p{N}]+"


def telling(case: Case) -> Iterator[Check]:
    """No further detail names the user of its row, or stands for one; what was read from the log is looked at."""
    further = case.shape.further
    if not further or not case.shape.subject:
        return
    detail = (
        f"no further detail ({', '.join(further)}) is the user of its row or has that name in it, and values that one "
        f"user alone has are those of at most {_MOST_ALONE:.0%} of rows and users, or of fewer than {_FEW} users"
    ).replace("%", " %")
    fault = "of them tell who a row came from; leave them out of --details, or use --attrs common"
    tells = Question("telling", detail, fault, original=True)
    if case.original is None:
        yield tells.open()
        return
    found = [_found(case, case.original, name) for name in further]
    how = f"one user alone has the value of {max(_alone(each) for each in found):.0%} of rows".replace("%", " %")
    yield tells.answered(sum(_tells(each) for each in found), len(further), how=how)


def _tells(found: dict[str, int]) -> bool:
    several = found["own_users"] >= _FEW
    alone = _alone(found) > _MOST_ALONE or found["own_users"] > _MOST_ALONE * found["users"]
    numbered = found["numbered"] > _MOST_BY_CHANCE * found["rows"]
    return found["same"] > 0 or found["named"] > 0 or numbered or (several and alone)


def _alone(found: dict[str, int]) -> float:
    return found["alone"] / found["rows"] if found["rows"] else 0.0


def _found(case: Case, original: Log, name: str) -> dict[str, int]:
    """Of the rows with a value: how many are of what kind, how many users have them, and values of their own."""
    subject = original.shape.subject

    def by_value(rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of each user, counted; all rows of a value are here."""
        known = rows.select(pl.col(subject).alias("user"), pl.col(name).alias("value")).drop_nulls()
        pairs = known.group_by("user", "value").len("n").with_columns(pl.col("n").cast(pl.Int64))
        # By chance a value has the name of somebody in it who has it, too ("chrome"); its rows are mostly of others.
        mostly = 2 * pl.col("n").filter(_named()).sum().over("value") > pl.col("n").sum().over("value")
        kinds = {
            "rows": pl.lit(True), "same": _plain("user") == _plain("value"), "alone": pl.len().over("value") == 1,
            "named": _named() & mostly & ~_of_digits(), "numbered": _named() & mostly & _of_digits(),
        }  # fmt: skip
        kind_of = pairs.with_columns(**kinds)
        return kind_of.group_by("user").agg(pl.col("n").filter(pl.col(kind)).sum().alias(kind) for kind in kinds)

    def by_user(rows: pl.LazyFrame) -> pl.LazyFrame:
        each = rows.group_by("user").agg(pl.all().sum())
        own = (pl.col("alone") > _MOST_ALONE * pl.col("rows")).cast(pl.Int64).sum().alias("own_users")
        return each.select(own, pl.len().cast(pl.Int64).alias("users"), pl.exclude("user").sum())

    of_users = case.engine.blocks(original.frame, by_value, [name])
    return case.engine.small(case.engine.blocks(of_users, by_user, ["user"])).sum().row(0, named=True)


def _named() -> pl.Expr:
    """Whether the name of the user stands in the value: as a word, or anywhere if it is long."""
    user, value = _words("user"), _words("value")
    length = user.str.len_chars()
    as_word = (" " + value + " ").str.contains(" " + user + " ", literal=True) & (length >= _SHORTEST_NAME)
    return as_word | (value.str.contains(user, literal=True) & (length >= _LONG_NAME))


def _of_digits() -> pl.Expr:
    return ~_words("user").str.contains(r"\p{L}")


def _plain(column: str) -> pl.Expr:
    return pl.col(column).str.strip_chars().str.to_lowercase()


def _words(column: str) -> pl.Expr:
    return pl.col(column).str.to_lowercase().str.replace_all(_NO_WORD, " ").str.strip_chars()
