"""Names: what of a person's rows may carry one, and which names a run gives; found again for the judge alone.

A label is the user, or the user and the number of a unit: of a session, of a day since 1970-01-01, or of a few queries.
Which name a label gets is computed again from the seed of the run. Of the record only the seed and what the names are
keyed by are taken; a wrong seed gives names that nobody has. Plain loops and no code of what gave the names.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Case, Check
from coterie.core.shapes import Shape
from coterie.promises._checks import Question, equals, given
from coterie.promises._words import ItemPromise

RECORD = "the run record (--record DIR)"
BOTH = "the original log and the run record (--original LOG --record DIR)"
_RANDOM_NAME = r"^u_[a-z2-7]{16}$"
_BASE32 = b"abcdefghijklmnopqrstuvwxyz234567".ljust(256, b"?")
_NOT_STEPS = ("read", "synth")  # entries of a history that are no prepare steps
OWNER, SESSION, UNIT = "_owner", "session", "_number"
"""Columns: whose a row is, the private one of sessions, and the number of another unit."""
_STEP = "sessions"  # the prepare step that numbers sessions, with its default
_STEP_MINUTES = 30
_MINUTE, _DAY = 60_000_000, 86_400_000_000  # microseconds
_AT_ONCE = 1_000_000  # rows


# --- units --------------------------------------------------------------------------------------------


def with_owner(
    original: Log, shape: Shape, promise: ItemPromise, released: pl.LazyFrame | None
) -> tuple[list[str], pl.LazyFrame]:
    """The columns that say whose unit a row belongs to, and with them the original's rows of `released` items, or all.

    Sessions and days are those of all rows; a few queries in a row are counted among the released ones.
    """
    subject, item = shape.subject, shape.item

    def kept(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows if released is None else rows.join(released.select(item).unique(), on=item, how="semi")

    rows = original.frame
    if promise.users == "drop":
        return [], kept(rows)
    rows = rows.with_columns(pl.col(subject).alias(OWNER))
    if promise.users == "pseudonym":
        return [OWNER], kept(rows)
    if promise.users == "session":
        numbered = SESSION in rows.collect_schema() and numbered_as_promised(original, promise.session_minutes)
        return [OWNER, SESSION], kept(rows if numbered else _with_sessions(rows, shape, promise.session_minutes))
    moment = pl.col(shape.time).dt.epoch("us") if shape.time else pl.lit(None, pl.Int64)
    rows = kept(rows).with_columns(moment.alias("_moment"))
    if promise.users == "day":
        return [OWNER, UNIT], rows.with_columns(pl.col("_moment").floordiv(_DAY).alias(UNIT)).drop("_moment")
    return [OWNER, UNIT], _with_few_queries(rows, item, promise.link_queries, promise.link_minutes).drop("_moment")


def labels_of(owner: list[str], rows: pl.LazyFrame) -> pl.Series:
    """What names are made from: each owner once."""
    units = rows.select(owner).drop_nulls().unique().collect(engine="streaming").sort(owner)
    return units.select(pl.concat_str(owner, separator="\0").alias("label"))["label"]


def _with_sessions(rows: pl.LazyFrame, shape: Shape, minutes: int) -> pl.LazyFrame:
    """The rows of each subject in the order of time, with the number of their session."""
    times = [shape.time] if shape.time else []
    begins = pl.lit(False)
    for time in times:
        begins = pl.col(time) - pl.col(time).shift(1) > timedelta(minutes=minutes)
    same = pl.col(shape.subject) == pl.col(shape.subject).shift(1)
    number = (same & begins).fill_null(False).cum_sum().over(shape.subject).alias(SESSION)
    return rows.sort(shape.subject, *times).with_columns(number)


def _with_few_queries(rows: pl.LazyFrame, item: str, most: int, minutes: int) -> pl.LazyFrame:
    """The rows with the number of their unit: at most so many queries in a row within so many minutes."""
    table = rows.sort(OWNER, "_moment", item).collect(engine="streaming")
    timed = table.filter(pl.col(OWNER).is_not_null() & pl.col("_moment").is_not_null())
    other_owner = pl.col(OWNER).ne_missing(pl.col(OWNER).shift(1))
    other_item = pl.col(item).ne_missing(pl.col(item).shift(1))
    walk = timed.select(other_owner.alias("owner"), other_item.alias("item"), "_moment")
    units, span = array("q"), minutes * _MINUTE
    unit = begin = count = 0
    for part in walk.iter_slices(_AT_ONCE):
        for starts, differs, moment in zip(*(part[name].to_list() for name in part.columns), strict=True):
            if starts:
                unit, begin, count = 0, moment, 1
            elif moment - begin > span or (differs and count == most):
                unit, begin, count = unit + 1, moment, 1
            elif differs:
                count += 1
            units.append(unit)
    numbered = timed.with_columns(pl.Series(UNIT, units, dtype=pl.Int64))
    others = table.filter(pl.col(OWNER).is_null() | pl.col("_moment").is_null())
    return pl.concat([numbered, others.with_columns(pl.lit(None, pl.Int64).alias(UNIT))]).lazy()


def numbered_as_promised(original: Log, session_minutes: int) -> bool:
    """Whether sessions were numbered by a step, and by none with another pause.

    Numbers are looked at because rows that were left out after the step may have bridged a pause.
    """
    promised = _STEP if session_minutes == _STEP_MINUTES else f"{_STEP}(minutes={session_minutes})"
    numbering = [step for step in original.steps if step.partition("(")[0] == _STEP]
    return bool(numbering) and all(step == promised for step in numbering)


# --- names --------------------------------------------------------------------------------------------


def random_names(case: Case, users: str) -> Iterator[Check]:
    """Who rows are said to come from: nobody (`users = drop`), or random names."""
    if not case.shape.subject:
        return
    if users == "drop":
        rows, values = given(case)
        yield Question("names", "no row says whose it is", "do").answered(values[case.shape.subject], rows)
    else:
        yield from case.engine.judged(case, _named_at_random)


def _named_at_random(case: Case) -> Iterator[Check]:
    other = ~pl.col(case.shape.subject).str.contains(_RANDOM_NAME)
    yield Question("names", "subjects have random names", "rows have others").of_rows(case.rows, other)


def names_of(run: Mapping[str, Any], labels: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The names that a run gives labels (people, or people and sessions): a keyed hash of each, none in `taken`."""
    used = set(taken)
    key = hashlib.blake2b(f"{run['seed']}\0{_naming(run)}".encode(), digest_size=32, person=b"coterie").digest()
    begun = hashlib.blake2b(key=key, digest_size=10)

    def hashed(label: str, attempt: int) -> bytes:
        hashing = begun.copy()
        hashing.update(f"pseudonym {attempt}\0{label}".encode())
        return hashing.digest()

    labels = list(labels)
    names = _spelled(b"".join(hashed(label, 0) for label in labels))
    for place, label in enumerate(labels):
        attempt = 0
        while names[place] in used:
            attempt += 1
            names[place] = _spelled(hashed(label, attempt))[0]
        used.add(names[place])
    return names


def names_of_labels(run: Mapping[str, Any], labels: pl.Series) -> pl.Series:
    """The name of each label, wherever it is asked for; labels may come several times."""
    distinct = labels.unique().drop_nulls()
    names = pl.Series(names_of(run, distinct.to_list(), ()), dtype=pl.String)
    return labels.replace_strict(distinct, names, default=None, return_dtype=pl.String)


def _spelled(hashes: bytes) -> list[str]:
    """Hashes of ten bytes as names: sixteen letters of base32, of five bits each."""
    bits = np.unpackbits(np.frombuffer(hashes, dtype=np.uint8)).reshape(-1, 5)
    letters = (bits @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)).tobytes().translate(_BASE32).decode()
    return ["u_" + letters[at : at + 16] for at in range(0, len(letters), 16)]


def _naming(run: Mapping[str, Any]) -> str:
    """What names are keyed by besides the seed, so that two releases of one log never share them."""
    steps = [step["name"] for step in run["history"] if step["name"] not in _NOT_STEPS]
    what = {"method": run["method"], "parameters": run["parameters"], "prepare": steps, "input": run["input_digest"]}
    if run.get("groups_of"):
        what["groups_of"] = list(run["groups_of"])
    return hashlib.sha256(json.dumps(what, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def is_known(case: Case) -> bool:
    """Whether names can be computed again."""
    return case.original is not None and "seed" in case.run


def subjects_of(case: Case, original: Log) -> pl.Series:
    """The subjects of the original, sorted."""
    subject = original.shape.subject

    def distinct(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.select(subject).drop_nulls().unique()

    return case.engine.small_blocks(original.frame, distinct, [subject])[subject].sort()


def behind_names(case: Case, original: Log, alike: pl.LazyFrame, who: str) -> tuple[pl.DataFrame, pl.LazyFrame]:
    """group, name and `who` has that name (null: nobody), of names that stand for the same; and one name of each group.

    `alike` has the subject of the release, and what stands for its rows.
    """
    ids = subjects_of(case, original)
    given = pl.LazyFrame({who: ids, "name": names_of(case.run, ids, ids)}, schema_overrides={"name": pl.String})
    known = equals(alike, case.shape.subject).join(given, on="name", how="left").collect(engine="streaming")
    return known, known.lazy().group_by("group").agg(pl.col("name").min())


def needed_to_know(case: Case) -> str:
    """What it would need to know whose names these are: anyone can invent names."""
    if case.foreign:
        return "to know whose names these are, which such a file does not tell"
    return BOTH if case.original is None else RECORD


def unlike_record(case: Case, known: pl.DataFrame, who: str) -> int:
    """How many names (`who`, name) the record gives to somebody else, or to another document, or misses."""
    subjects = case.table("subjects", {"original": pl.String, "released": pl.String}, nullable=("released",))
    if subjects is None:
        return 0
    said = subjects.drop_nulls("released").rename({"original": who, "released": "name"})
    real = known.select(who, "name").drop_nulls()
    return sum(a.join(b, on=[who, "name"], how="anti").height for a, b in ((real, said), (said, real)))


def seeded(case: Case, promise: ItemPromise) -> Iterator[Check]:
    """Names that link rows are those that the run gave: none was made from what identifies somebody."""
    if promise.users == "drop" or not case.shape.subject:
        return
    detail = f"names are those that the run's seed gives {case.log_shape.subject_nouns} of the original"
    seeds = Question("seeded", detail, "are others", original=True, carries=True)
    if case.original is None or not is_known(case):
        yield seeds.open(BOTH if case.original is None else RECORD)
    else:
        yield seeds.answered(*_not_given(case, case.original, promise))


def _strangers(released: pl.LazyFrame, given: pl.LazyFrame) -> pl.LazyFrame:
    """How many released names are not among those that were given, and how many there are."""
    known = given.with_columns(pl.lit(True).alias("given"))
    strange = released.drop_nulls().unique().join(known, on="name", how="left")
    return strange.select(pl.col("given").null_count().alias("broken"), pl.len().alias("names"))


def _not_given(case: Case, original: Log, promise: ItemPromise) -> tuple[int, int]:
    """How many released names a run did not give, and how many there are: names are a function of their people."""
    run, shape, history = dict(case.run), original.shape, original.history
    subject, users = case.shape.subject, promise.users
    engine, units = case.engine, None
    if users in ("day", "mini"):  # of released rows, which no block of people has
        units = labels_of(*with_owner(original, case.shape, promise, case.rows))

    def given(rows: pl.LazyFrame) -> pl.LazyFrame:
        """name: those that a run gives the people, or sessions, of some rows, or all units."""
        ids = rows.select(shape.subject).drop_nulls().unique().collect(engine="streaming")[shape.subject].sort()
        labels = units
        if labels is None:
            labels = ids if users == "pseudonym" else _sessions(Log(frame=rows, shape=shape, history=history))
        return pl.LazyFrame({"name": names_of(run, labels.to_list(), ids)}, schema={"name": pl.String})

    names = engine.blocks(original.frame, given, [shape.subject])
    released = engine.each(case.rows, lambda rows: rows.select(pl.col(subject).alias("name")))
    found = engine.small(engine.blocks(released, _strangers, ["name"], names))
    broken, looked_at = found.sum().row(0)
    return int(broken), int(looked_at)


def _sessions(original: Log) -> pl.Series:
    """The sessions of all users, as names are made from them."""
    shape, rows = original.shape, original.frame.drop_nulls(original.shape.subject)
    if not any(step.partition("(")[0] == _STEP for step in original.steps):  # nobody else numbers them
        rows = _with_sessions(rows.select(filter(None, (shape.subject, shape.time))), shape, _STEP_MINUTES)
    return labels_of([shape.subject, SESSION], rows)
