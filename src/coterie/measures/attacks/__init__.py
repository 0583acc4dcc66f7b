"""Measures of privacy by attack: an adversary tries, and the successes are counted. Here is what attacks share.

As it is: what attacks find in a log before any protection, under other names or under none. The scores have the keys
of a report (`before.half` of linkage, ...), and on the same log, steps and seed they are the numbers that stand there
under Before, on a log of up to 20,000 people. Of more as many are drawn, and attacked among themselves; attacks that
take long are tried among 1,000.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cache

import polars as pl

from coterie import measures
from coterie.core.log import Log, Record, Release
from coterie.core.scores import Score, score_table
from coterie.measures.comparison import Comparison, scores_of


def bound(release: Release, unit: str = "%") -> Iterator[Score]:
    """The success in percent that a release promises nobody exceeds on average, if it promises any."""
    bounds = [promise.linkage_bound for promise in release.promises if promise.linkage_bound is not None]
    if bounds:
        yield Score("bound", min(bounds), unit)


# --- as it is -------------------------------------------------------------------------------------


MANY, SOME = 20_000, 1_000
"""People whose rows are attacked, and those of attacks that are not quick; of a larger log as many are drawn."""
QUICK = 3
"""The effort of attacks for which nobody should have to wait."""


def names(most_effort: int | None = None) -> list[str]:
    """The measures that attack people in ways that a decision weighs, or those that are quick."""
    names = dict.fromkeys(each.measure for each in measures.weighed())
    return [name for name in names if most_effort is None or measures.effort(name) <= most_effort]


def some_people(log: Log, seed: int, most: int) -> tuple[Log, int | None]:
    """A log with the rows of at most so many people, and how many; None: it has no more.

    Among fewer people somebody is found more easily, so the rates overstate the risk rather than understate it.
    """
    subject = log.shape.subject
    everybody = log.frame.select(subject).drop_nulls().unique().collect(engine="streaming")[subject].sort()
    if everybody.len() <= most:
        return log, None
    drawn = everybody.sample(most, seed=seed % 2**63).to_frame().lazy()
    return replace(log, frame=log.frame.join(drawn, on=subject, how="semi")), most


def attacked(
    log: Log, seed: int, names: Collection[str], started: Callable[[str], None] = lambda _name: None
) -> tuple[pl.DataFrame, dict[str, str]]:
    """name, key, value, unit of these attacks, and those that have no meaning here, with the reason."""
    scores, left_out = score_table([]), dict[str, str]()

    @cache
    def compared(most: int) -> tuple[Comparison, Comparison]:
        people, _ = some_people(log, seed, most)
        with_names, without = (Comparison.of(people, _released(people, named=named), seed) for named in (True, False))
        return with_names, without

    for name in names:
        started(name)
        most = MANY if measures.effort(name) <= QUICK else SOME
        for comparison in compared(most):  # some attacks have a meaning only where no row carries a name
            left_out.pop(name, None)
            scores = scores.vstack(scores_of(comparison, [name], left_out.__setitem__, strict=False))
            if name not in left_out:
                break
    return scores, left_out


def rates_before(scores: pl.DataFrame) -> pl.DataFrame:
    """Of such scores the rates on the original."""
    keys = [f"{each.measure} before.{each.rate}" for each in measures.weighed()]
    return scores.filter(pl.concat_str("name", pl.lit(" "), "key").is_in(keys))


def _released(log: Log, *, named: bool) -> Release:
    """The log under other names, or under none, and otherwise as it is: what attacks look at. It is never written."""
    shape, rows = log.shape, log.frame
    name = pl.lit("as it is ") + pl.col(shape.subject)
    subjects = rows.select(original=pl.col(shape.subject)).drop_nulls().unique()
    released = pl.lit("as it is ") + pl.col("original") if named else pl.lit(None, pl.String)
    subjects = subjects.with_columns(released=released, group=pl.lit(0, dtype=pl.UInt32))
    became = None
    if "row" in rows.collect_schema():
        became = rows.select("row").with_row_index("released_row")
    record = Record(run={"seed": 0, "parameters": {}}, subjects=subjects, rows=became)
    shown = name if named else pl.lit(None, pl.String)
    frame = rows.with_columns(shown.alias(shape.subject))
    return Release(log=replace(log, frame=frame), promises=(), method="as it is", params={}, record=record)
