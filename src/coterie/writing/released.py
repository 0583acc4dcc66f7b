"""Releases that there are already: read back, what can be checked of their files, whether an original is theirs, rows
that Coterie did not make, and groups of users that are used once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from coterie.core import registry
from coterie.core.digests import changed_parts, digest_of_rows, refuse_other_files, refuse_other_parts
from coterie.core.log import EarlierGroups, Log, Record, earlier_groups
from coterie.core.params import with_values
from coterie.core.plan import Method, Plan
from coterie.core.promise import Case, Check, Status, Verdict, promise_class
from coterie.core.run import Run
from coterie.core.shapes import VISITS, Shape
from coterie.errors import InputError, MissingError, ParameterError
from coterie.promises import judge
from coterie.reading.logs import read_release, released_kind
from coterie.steps import DEFAULT, StepLike, prepare
from coterie.writing.canonical import canonical
from coterie.writing.files import sha256, unnamed
from coterie.writing.record import read_record
from coterie.writing.sidecar import Sidecar, consistent


def released_rows(path: Path, sidecar: Sidecar) -> tuple[pl.LazyFrame, Shape, list[str], tuple[object, ...]]:
    """The rows of a released file, or of a folder that has exactly the files that the sidecar names."""
    if sidecar.parts or path.is_dir():
        refuse_other_files(path, sidecar.parts)
    return read_release(path, sidecar.released_shape, csv_safe=sidecar.csv_safe, parts=sidecar.parts)


def as_described(path: Path, sidecar: Sidecar) -> tuple[pl.LazyFrame, Shape, list[str], tuple[object, ...]]:
    """The same, of parts and tables that are what the sidecar describes, to the byte or to the row."""
    if sidecar.parts:
        refuse_other_parts(path, sidecar.parts)
    frame, shape, names, resources = released_rows(path, sidecar)
    if sidecar.table and digest_of_rows(frame.select(shape.released)) != sidecar.rows_sha256:
        raise InputError(f"{path.stem} is not the table that the sidecar describes: its rows are others.")
    return frame, shape, names, resources


def is_one_file(sidecar: Sidecar) -> bool:
    """Whether the digest of a release is that of its file."""
    return not sidecar.parts and not sidecar.table


def file_checks(
    path: Path,
    frame: pl.LazyFrame,
    shape: Shape,
    sidecar: Sidecar,
    original: Log | None = None,
    made: Sequence[Check] = (),
) -> tuple[Check, ...]:
    """Whether the files are whole, those of the sidecar, and as Coterie writes them; `frame` is what was read.

    With the `original` also whether the sidecar tells who is counted in it, and with the checks that were `made`
    whether it tells of them.
    """
    unread = frame.select(pl.col("bad").is_not_null().sum()).collect(engine="streaming").item()
    rows = frame.drop("bad")
    first = path / sidecar.parts[0].name if sidecar.parts else path
    kind = "parquet" if sidecar.table else released_kind(first)[0]
    left_out = unnamed(Log(frame=rows, shape=shape), kind)
    file = canonical(path, rows, shape, sidecar.csv_safe, sidecar.parts, left_out)
    if sidecar.table:  # the file is a copy, and other columns and types have been refused before
        file = replace(file, detail="the table has the columns and types that Coterie writes, and no others", how="")
    return (
        _check("readable", unread, "every line can be read", "cannot"),
        _digest(path, rows.select(shape.released), sidecar),
        file,
        consistent(sidecar, left_out, original, made),
    )


def _digest(path: Path, rows: pl.LazyFrame, sidecar: Sidecar) -> Check:
    """Whether files and rows have the digests that the sidecar tells."""
    other_rows = sidecar.rows_sha256 != digest_of_rows(rows)
    if sidecar.parts:
        changed = len(changed_parts(path, sidecar.parts)) or other_rows
        return _check("digest", changed, "the parts are those the sidecar describes", "are not")
    if sidecar.table:  # the file is a copy of its rows
        return _check("digest", other_rows, "the table is the one the sidecar describes", "is not")
    changed = sha256(path) != sidecar.sha256 or other_rows
    return _check("digest", changed, "the file is the one the sidecar describes", "is not")


def _check(name: str, broken: int, detail: str, fault: str) -> Check:
    status: Status = "failed" if broken else "passed"
    return Check(name=name, status=status, detail=detail, broken=int(broken), fault=fault if broken else "")


def verify_foreign(
    published: Log, steps: str | Sequence[StepLike] | None, original: Log | None, name: str | None, k: int | None
) -> Verdict:
    """Check rows that Coterie did not make: the promise alone, not the house rules.

    Profiles are compared as they are published: preparing them would hide what tells them apart.
    """
    if name is None or k is None:
        raise MissingError(
            "There is no sidecar that says what is promised. Say what to check, for example "
            "--promise query_k_anonymity --k 5 (promises: " + ", ".join(registry.names("promises")) + ")."
        )
    published, original = published.plain, None if original is None else original.plain
    rows = published if published.steps else prepare(published, DEFAULT if steps is None else steps)
    refuse_other_shape(rows.shape, original)
    if original is not None and not original.steps:
        original = prepare(original, rows.steps)
    promised = with_values(promise_class(name).of_foreign({"k": k}, named=rows.named), shape=rows.shape.name)
    columns = rows.shape.released
    case = Case(
        rows=rows.frame.select(columns),
        shape=rows.shape,
        original=original,
        foreign=True,
        published=published.frame.select(columns),
    )
    of_log = published if original is None else original
    return judge(case, (promised,)).about(of_log.settings, original)


REUSED = "Users are in the same groups as in an earlier release of this log, or in unions of these groups."


def refuse_groups(method: Method) -> None:
    """Refuse groups of an earlier release for a method that makes none."""
    if not method.regroups:
        raise ParameterError(
            f"{registry.name_of(method)} makes no groups of users, so it cannot use those of an earlier release: leave "
            "out --groups-of (in Python: groups_of)."
        )


def groups_to_reuse(log: Log, method: Method, groups_of: Record | str | Path) -> EarlierGroups:
    """The groups of an earlier release of the same log, given by its run record or the folder of it."""
    refuse_groups(method)
    record = groups_of if isinstance(groups_of, Record) else read_record(Path(groups_of))
    if not record.run.get("input_digest"):
        raise InputError("The run record does not say which log it is of, so its groups cannot be used again.")
    refuse_other_digest(log, record)
    return earlier_groups(record)


def plan_on(earlier: EarlierGroups, method: Method, learnt: Any, log: Log, run: Run) -> Plan:
    """The plan on groups of an earlier release, all of whose users must be there."""
    people = log.frame.select(pl.col(log.shape.subject).alias("subject")).drop_nulls().unique()
    everybody = people.collect(engine="streaming")
    there = earlier.table.collect(engine="streaming").join(everybody, on="subject", how="semi")
    if gone := earlier.table.select(pl.len()).collect().item() - there.height:
        raise InputError(
            f"{gone:,} users of the earlier groups have no rows left after these prepare steps: the groups would not "
            "be the same, and both releases together would tell who is missing. Use the steps of the earlier release."
        )
    plan = method.regroup(there.lazy(), learnt, log, run)
    left_out = everybody.height - there.height
    without = (
        (f"{left_out:,} of {everybody.height:,} users are left out: they had no group there.",) if left_out else ()
    )
    return replace(plan, notes=(*plan.notes, REUSED, *without))


def refuse_other_shape(shape: Shape, original: Log | None) -> None:
    """Refuse to compare a release of some shape with a log that it cannot come from."""
    if original is not None and not shape.may_come_from(original.shape):
        if shape.plain is original.shape.plain:
            raise InputError(
                f"The release has the further details {', '.join(shape.further) or 'none'}, the original "
                f"{', '.join(original.shape.further) or 'none'}. Read the original with the same ones: --details "
                f"{','.join(shape.further) or 'left out'} (in Python: details=...)."
            )
        searches = ", or are its searches meant (--query-param NAME)" if original.shape is VISITS else ""
        raise InputError(
            f"The release has the shape {shape.name}, the original {original.shape.name}: is it another log{searches}?"
        )


def refuse_other_input(original: Log, record: Record) -> None:
    """Refuse to compare a release with a log that its run record does not come from: all figures would be wrong.

    An original that is no file, or a record that names none, cannot be compared.
    """
    expected = record.run.get("input_sha256")
    if expected and original.sources and list(expected) != list(original.file_digests):
        raise InputError(
            "The run record was made from other input files than the original that was given. Give the files that were "
            "anonymized, in the same order."
        )


def refuse_other_digest(original: Log, record: Record) -> None:
    """Refuse an original that the record's digest, which names depend on, is not of."""
    expected = record.run.get("input_digest")
    if expected and original.digest != expected:
        raise InputError(
            "The run record was made from another log than the original that was given, or from one that was read "
            "otherwise (--columns, --user-field, --date, --query-param, --terms, --min-length)."
        )
