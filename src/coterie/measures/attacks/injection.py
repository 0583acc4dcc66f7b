"""Injection: somebody who can make searches of their own plants k - 1 accounts before the release is made.

It runs the method of the release again, so it is taken only when it is asked for by name. At most 300 users of the
original, drawn by the seed, are anonymized with the parameters of the release and the planted accounts.

Where users share profiles, k - 1 accounts are planted around each of up to 20 targets. They know five queries of the
target (half of them, where there are fewer than ten), and repeat them as often as users have rows on average:

    isolated            targets whose group is the target and accounts that were planted for them, and nobody else
    control.isolated    the same where the accounts repeat queries of people who are no targets
    read                queries of such a target, besides those that were known, that stand in the profile: they are
                        read with certainty (mean over isolated targets)
    read.share          the same as a part of the target's other queries
    foreign             strings in these profiles that are not the target's (mean): 0 means that nothing there misleads

Where queries are released that enough users typed, k - 1 accounts type up to 20 strings that one user alone typed, and
as many that nobody typed. A string that appears in the release tells that somebody else typed it:

    detected            strings of one user that appear
    false_alarms        strings of nobody that appear: the control
    before.detected     those that appear in the release without planted accounts

`before.isolated` is 100: in the original under other names everybody is alone. All targets are attacked in one run,
each with accounts of its own. Intervals are of 95 % over targets. Accounts that look more like people, or more of them,
achieve more; and where one user may have many accounts, no method that counts users helps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from coterie.core import randomness, registry
from coterie.core.log import Log
from coterie.core.plan import Draft
from coterie.core.run import Run
from coterie.core.scores import Score
from coterie.engines.local import Local
from coterie.errors import CoterieError, NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, mean, sentences, titled
from coterie.measures.subjects import drawn, keyed

needs = frozenset({"text"})
by_name_only = True
USERS = 300
TARGETS = 20
_KNOWN = 5
_AWAY = "\0planted"  # no id of a log holds this character, so no account of a person is taken over
SHOWN = {
    "isolated": titled(
        "Isolated by k - 1 planted accounts",
        "Targets who share a profile with nobody but accounts of an adversary who knows five of their queries.",
        before="before.isolated",
    ),
    "detected": titled(
        "Queries of one person detected by k - 1 planted accounts",
        "Strings that one user alone typed, and that appear once the adversary types them too.",
        before="before.detected",
        beside=(("control", "false_alarms"),),
    ),
    "false_alarms": titled("Strings that nobody typed, and that appear"),
}
figures = figures_in("attacks", 80, SHOWN)
findings = sentences(
    "singling out",
    "Somebody who plants k - 1 accounts around a person of whom they know five queries is alone with that person in "
    "{isolated} of cases, and then reads {read.share} of the person's other queries.",
    "Somebody who plants k - 1 accounts that type a guessed query learns whether one person typed it: {detected} of "
    "such queries appear, and {false_alarms} of those that nobody typed.",
    options="",
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """What k - 1 accounts achieve against the method of the release."""
    trial = _Trial.of(comparison)
    yield Score("users", trial.people.height, "users")
    yield Score("accounts", trial.k - 1, "accounts for each target")
    if trial.shares_profiles:
        yield from _isolation(trial)
    else:
        yield from _oracle(trial)


@dataclass(frozen=True, eq=False, repr=False)
class _Trial:
    """The method of a release, and some users of its log."""

    method: Any
    k: int
    log: Log
    seed: int
    people: pl.DataFrame
    """user, drawn: in the order of the draw."""
    shares_profiles: bool
    released_item: str
    """The column of released strings."""

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """user, item: who typed what, each pair once."""
        columns = {"user": pl.col(self.log.shape.subject), "item": pl.col(self.log.shape.item)}
        return self.log.frame.select(**columns).drop_nulls().unique().collect()

    @classmethod
    def of(cls, comparison: Comparison) -> _Trial:
        """Make the method again from the parameters of the release, and draw users."""
        comparison.refuse_without_rows()
        method = _method(comparison)
        if method.spends is not None and not comparison.log.synthetic:
            raise NotApplicableError("It makes the method again, and that would spend of the people in this log.")
        k = getattr(method, "k", None)
        if k is None:
            raise NotApplicableError("The method has no k, so there is no number of accounts that would be enough.")
        subject = pl.col(comparison.log.shape.subject)
        people = comparison.log.frame.select(user=subject).drop_nulls().unique().collect()
        people = keyed(people, comparison.seed, "injection users").sort("drawn", "user").head(USERS)
        some = comparison.log.frame.filter(subject.is_in(people["user"].implode()))
        log = replace(comparison.log, frame=some.sort("row").collect().lazy(), sources=())
        return cls(
            method, int(k), log, comparison.seed, people, comparison.about_subjects, comparison.release.log.shape.item
        )

    def run(self, planted: pl.DataFrame) -> Draft:
        """What the method makes of these users and planted rows (user, item)."""
        shape, rows = self.log.shape, self.log.frame.collect()
        columns = {shape.subject: planted["user"], shape.item: planted["item"]}
        if shape.time:  # accounts that search when people do
            stream = randomness.stream(self.seed, "injection times")
            columns[shape.time] = rows[shape.time][stream.integers(0, max(1, rows.height), planted.height)]
        number = pl.int_range(pl.len(), dtype=pl.UInt64) + (rows["row"].max() or 0) + 1
        added = pl.DataFrame(columns).with_columns(row=number)
        both = pl.concat([rows, added.cast({"row": pl.UInt64})], how="diagonal")
        log = replace(self.log, frame=both.select(rows.columns).lazy())
        run = Run(engine=Local(1), seed=self.seed)
        try:
            plan = self.method.plan(self.method.learn(log, run), log, run)
            draft: Draft = self.method.release(log, plan, run)
        except CoterieError:
            raise NotApplicableError("The method cannot be run on so few users of this log.") from None
        return replace(draft, frame=draft.frame.collect().lazy(), subjects=draft.subjects.collect().lazy())


def _method(comparison: Comparison) -> Any:
    record = comparison.release.record
    params = comparison.release.params if record is None else record.run.get("parameters", comparison.release.params)
    try:
        return registry.method(comparison.release.method)(**params)
    except (CoterieError, TypeError):  # made by a package or a version that is not here, or with files that are not
        raise NotApplicableError(
            "It runs the method again, which is not there with the parameters of this release."
        ) from None


# --- profiles -------------------------------------------------------------------------------------


def _isolation(trial: _Trial) -> Iterator[Score]:
    targets = _targets(trial)
    yield Score("targets", targets["target"].n_unique(), "targets")
    if targets.is_empty():
        raise NotApplicableError("Nobody in the log has two different queries, so that one could be known.")
    known = targets.filter("known")
    yield Score("before.isolated", 100.0, "% of targets")
    repeated = _accounts(trial, known)
    draft = trial.run(repeated)
    isolated = _isolated(draft, known)
    yield from mean("isolated", isolated["alone"].cast(pl.Float64).to_numpy(), "% of targets")
    others = _targets(trial, skipped=TARGETS).filter("known")
    control = _isolated(trial.run(_accounts(trial, others)), known if others.height else known.clear())
    yield from mean("control.isolated", control["alone"].cast(pl.Float64).to_numpy(), "% of targets")
    yield from _read(trial, draft, isolated.filter("alone"), targets)


def _targets(trial: _Trial, skipped: int = 0) -> pl.DataFrame:
    """target, user, item, known: the distinct queries of up to TARGETS users, and whether they are known."""
    pairs = trial.pairs.filter(pl.len().over("user") > 1).join(trial.people, on="user").sort("user", "item")
    chosen = pairs.select("user", "drawn").unique().sort("drawn", "user")
    chosen = chosen.slice(skipped, TARGETS).with_row_index("target")
    pairs = keyed(pairs, trial.seed, "injection queries", "user", "item")
    theirs = pairs.join(chosen.select("user", "target"), on="user").sort("target", "drawn", "item")
    place = pl.int_range(pl.len()).over("target")
    known = place < pl.min_horizontal(pl.len().over("target") // 2, pl.lit(_KNOWN))
    return theirs.select(pl.col("target").cast(pl.Int64), "user", "item", known=known)


def _accounts(trial: _Trial, known: pl.DataFrame) -> pl.DataFrame:
    """user, item: rows of k - 1 accounts for each target, which repeat what is known (target, item)."""
    rows = trial.log.frame.select(pl.len()).collect().item()
    times = max(1, round(rows / trial.people.height))
    place = pl.int_range(pl.len()).over("target")
    number = known.with_columns(place=place, n=pl.len().over("target"))
    repeats = number.join(pl.DataFrame({"again": range(times)}), how="cross")
    repeats = repeats.filter(pl.col("again") * pl.col("n") + pl.col("place") < pl.max_horizontal("n", pl.lit(times)))
    accounts = repeats.join(pl.DataFrame({"account": range(trial.k - 1)}), how="cross")
    name = pl.concat_str(
        pl.lit(_AWAY), pl.col("target").cast(pl.String), pl.col("account").cast(pl.String), separator=" "
    )
    return accounts.select(name.alias("user"), "item").sort("user", "item")


def _isolated(draft: Draft, known: pl.DataFrame) -> pl.DataFrame:
    """target, user, released, alone: whether nobody but accounts that were planted for the target is in the group."""
    subjects = draft.subjects.drop_nulls(["released", "group"]).collect()
    targets = known.select("target", "user").unique().sort("target")
    groups = targets.join(subjects, left_on="user", right_on="original", how="left", maintain_order="left")
    others = groups.select("target", "user", "group").join(subjects.select("original", "group"), on="group")
    others = others.filter(pl.col("original") != pl.col("user"))
    planted = pl.col("original").str.starts_with(pl.concat_str(pl.lit(f"{_AWAY} "), pl.col("target"), pl.lit(" ")))
    alone = others.group_by("target").agg(alone=planted.all())
    joined = groups.join(alone, on="target", how="left", maintain_order="left")
    return joined.select("target", "user", "released", pl.col("alone").fill_null(False))


def _read(trial: _Trial, draft: Draft, isolated: pl.DataFrame, targets: pl.DataFrame) -> Iterator[Score]:
    shape = trial.log.shape
    released = draft.frame.select(released=pl.col(shape.subject), item=pl.col(shape.item)).unique().collect()
    profile = isolated.join(released, on="released").select("target", "item")
    unknown = profile.join(targets.filter("known"), on=["target", "item"], how="anti")
    read = unknown.join(targets, on=["target", "item"], how="semi").height
    others = targets.filter(~pl.col("known")).join(isolated, on="target", how="semi").height
    n = isolated.height
    yield Score("read", read / n if n else None, "queries per target")
    yield Score("read.share", 100 * read / others if others else None, "% of queries")
    yield Score("foreign", (unknown.height - read) / n if n else None, "strings a target")


# --- single queries ---------------------------------------------------------------------------------


def _oracle(trial: _Trial) -> Iterator[Score]:
    single = trial.pairs.group_by("item").len("users").filter(pl.col("users") == 1)["item"].sort()
    targets = drawn(single, TARGETS, trial.seed, "injection strings")
    if targets.is_empty():
        raise NotApplicableError("There is no query that one user alone typed, so there is nothing to detect.")
    nobody = _unheard(targets, trial.pairs["item"], trial.seed)
    planted = pl.DataFrame({"item": pl.concat([targets, nobody])}).join(
        pl.DataFrame({"user": [f"{_AWAY} {account}" for account in range(trial.k - 1)]}), how="cross"
    )  # fmt: skip
    with_accounts, without = (
        trial.run(rows).frame.select(item=pl.col(trial.released_item)).unique().collect()["item"]
        for rows in (planted.select("user", "item"), planted.select("user", "item").clear())
    )

    def appear(strings: pl.Series, released: pl.Series) -> Any:
        return strings.is_in(released.implode()).cast(pl.Float64).to_numpy()

    yield Score("targets", targets.len(), "strings")
    yield from mean("before.detected", appear(targets, without), "% of strings")
    yield from mean("detected", appear(targets, with_accounts), "% of strings")
    yield from mean("false_alarms", appear(nobody, with_accounts), "% of strings")


def _unheard(targets: pl.Series, items: pl.Series, seed: int) -> pl.Series:
    """As many strings that nobody typed: the words of one target, and a word that is in no query."""
    keys = randomness.keys(seed, "injection strings of nobody", targets)
    made = pl.Series(
        "item", [f"{text} x{key:016x}" for text, key in zip(targets.to_list(), keys.tolist(), strict=True)]
    )
    return made.filter(~made.is_in(items.implode()))
