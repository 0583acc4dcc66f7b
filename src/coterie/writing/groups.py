"""Groups of an earlier release, from its run record: whether they can be used again, and the plan on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from coterie.core import registry
from coterie.core.groups import EarlierGroups, earlier_groups
from coterie.core.log import Log, Record
from coterie.core.plan import Method, Plan, can_regroup, regroup
from coterie.core.run import Run
from coterie.errors import InputError, ParameterError
from coterie.writing.files import refuse_other_digest
from coterie.writing.record import read_record

REUSED = "Users are in the same groups as in an earlier release of this log, or in unions of these groups."


def refuse_groups(method: Method) -> None:
    """Refuse groups of an earlier release for a method that makes none."""
    if not can_regroup(method):
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
    plan = regroup(method, there.lazy(), learnt, log, run)
    left_out = everybody.height - there.height
    without = (
        (f"{left_out:,} of {everybody.height:,} users are left out: they had no group there.",) if left_out else ()
    )
    return replace(plan, notes=(*plan.notes, REUSED, *without))
