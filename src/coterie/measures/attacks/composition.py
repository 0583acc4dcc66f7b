"""Composition: what two releases of the same log give away together, that neither gives away alone.

Give the other release and its run record: `--second OUT2 --second-record DIR2`. Both must have groups of users who
share a profile, and must have been made from the same log. A person is in one group of each, and whoever finds both
looks at what these have in common:

    after.single   users whose two groups have nobody in common but themselves; released are those who are in both.
                   There is no control, and nothing to compare with in the original (measures/rates.py)

An adversary who knows five distinct queries of a person (half of them, where they have fewer than ten) finds both
profiles as in `attribution`, and takes the strings that stand in both and are rare in both (in 2 % of the profiles at
most, or in one). Those that are known, stand in a known query or hold one do not count.

    both.strings     such strings, mean over users
    both.theirs      those that are of the person: they typed it, or a longer query in which it stands word for word
    both.read        what these are of the person's queries that were not known
    one.theirs       the same as both.theirs with one release alone, the worse of the two: its rare strings
    excess           both.theirs - one.theirs
    control.theirs   both.theirs, if in place of the second profile a random other one of that release is taken
    before           in the original, under other names, each person is alone in a group: all of it is of the person

Shares are of all such strings of all users; intervals are of 95 % over users. Up to 1,000 users who are in both and
have two distinct queries or more, drawn by the seed, are attacked. More than two releases give away more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.log import Release
from coterie.core.scores import Score
from coterie.errors import InputError
from coterie.measures.attacks._profiles import (
    FIVE,
    POINTS,
    Known,
    Profiles,
    draw_known,
    find_groups,
    having,
    parts_of,
    profiles_of,
)
from coterie.measures.comparison import Comparison
from coterie.measures.rates import Rate, Shares, Z, figures_in, sentences, titled

needs = frozenset({"record", "text", "second"})
ATTACKED = 1_000
RARE = 0.02
SINGLE = Rate(
    "single",
    unit="% of users",
    risk="linkability",
    attacker="somebody who has the second release as well finds one person alone in both groups",
)
SHOWN = {
    "released.single": titled(
        "Two releases: groups that meet in one person",
        "Users whose group in this release and whose group in the second one have nobody else in common.",
    ),
    "both.theirs": titled(
        "Two releases: strings in both that are the person's",
        "Of the rare strings that stand in both profiles which somebody who knows five queries finds, those that the "
        "person typed.",
        before="before.theirs",
        beside=(("control", "one.theirs"),),
    ),
    "excess": titled(
        "Two releases: more than one alone gives away",
        "How much higher that share is than with one release alone.",
    ),
}
figures = figures_in("attacks", 60, SHOWN)
weighed = (SINGLE.weighed,)
findings = sentences(
    "linkability",
    "Together with the second release, {released.single} of users are the only person whom their two groups have in "
    "common, and of the rare strings that both profiles have {both.theirs} are that person's; with one release alone "
    "{one.theirs}.",
    options="--record DIR --second OUT --second-record DIR",
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """What both releases give away together, and one of them alone."""
    second = comparison.given("second")
    if second.record is None:
        second = replace(second, record=comparison.given("second_record"))
    _refuse_other_log(comparison.release, second)
    other = Comparison(
        log=comparison.log, as_read=comparison.as_read, release=second, seed=comparison.seed, show_values=False
    )
    other.require(needs - {"second"})
    profiles = profiles_of(comparison, besides=other.released["item"])
    others = profiles_of(other, besides=comparison.released["item"])  # which numbers the same strings
    meeting = profiles.members.join(others.members, on="user", suffix="_second")
    if meeting.is_empty():
        raise InputError("The two releases have no user in common: they were made from different logs.")
    yield Score("users.both", meeting.height, "users in both")
    alone = meeting.select(person="user", success=(pl.len() == 1).over("group", "group_second"))
    everybody = profiles.typed.select(person="user").unique().join(alone, on="person", how="left")
    there = pl.col("success").is_not_null()
    targets = everybody.with_columns(n=pl.lit(1), released=there, control=pl.lit(0.0))
    yield from SINGLE.scores("after", Shares.of(targets))
    yield Score("before.theirs", 100.0, "% of strings")
    both = replace(profiles, members=profiles.members.join(meeting, on="user", how="semi"))
    known = draw_known(both, comparison.seed, ATTACKED)
    yield Score("users", known.n, "users attacked")
    attack = _Attack.of(profiles, others, known)
    together, one, control = attack.together(), attack.one(), attack.control(comparison.seed)
    yield Score("both.strings", float(together.strings.mean()) if known.n else None, "strings per user")
    yield from _ratio("both.theirs", together.theirs, together.strings)
    unknown = (known.users["distinct"] - known.users[FIVE]).to_numpy().astype(np.float64)
    yield from _ratio("both.read", together.theirs, unknown, "% of queries")
    yield from _ratio("one.theirs", one.theirs, one.strings)
    yield from _ratio("control.theirs", control.theirs, control.strings)
    yield from _difference("excess", together, one)


def _refuse_other_log(first: Release, second: Release) -> None:
    if first.record is None or second.record is None:
        return
    if second.sha256 and second.record.run.get("released_sha256", second.sha256) != second.sha256:
        raise InputError("The record given with --second-record belongs to another release than the one of --second.")
    made_from = [release.record.run.get("input_sha256") for release in (first, second) if release.record]
    if made_from[0] != made_from[1]:
        raise InputError("The second release was made from other input files. Give two releases of the same log.")


@dataclass(frozen=True, eq=False, repr=False)
class _Found:
    """What the adversary holds for the person's, by attacked user: strings, and how many of them are."""

    strings: NDArray[np.float64]
    theirs: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class _Attack:
    """The two profiles that were found for each attacked user."""

    releases: tuple[Profiles, Profiles]
    known: Known
    found: tuple[NDArray[np.int64], NDArray[np.int64]]
    theirs: pl.DataFrame
    """user, item: what stands in their queries."""
    hints: pl.DataFrame
    """id, item: known queries, what stands in them, and what holds them."""

    @classmethod
    def of(cls, first: Profiles, second: Profiles, known: Known) -> _Attack:
        """Find both profiles of each user. Both number strings alike."""
        in_second = known.users.drop("group").join(second.members, on="user", maintain_order="left")
        known_second = replace(known, users=in_second)
        found = [find_groups(each, who, [FIVE])[FIVE] for each, who in ((first, known), (second, known_second))]
        strings = first.strings(pl.concat([first.rows.select("item"), second.rows.select("item")]))
        typed = first.typed.join(known.users, on="user", how="semi")
        stands = parts_of(strings, first.strings(typed))
        queries = known.by(FIVE)
        related = first.related(queries, stands, strings)
        hints = queries.join(related, on="item").select("id", item="other").unique()
        return cls((first, second), known, (found[0], found[1]), having(typed, stands).select("user", "item"), hints)

    def together(self) -> _Found:
        """Strings of both profiles."""
        return self._judged(self._held(0).join(self._held(1), on=["id", "item"], how="semi"))

    def one(self) -> _Found:
        """Strings of one profile alone: of the release that gives away more."""
        alone = [self._judged(self._held(release)) for release in (0, 1)]
        shares = [each.theirs.sum() / max(1.0, each.strings.sum()) for each in alone]
        return alone[1] if shares[1] > shares[0] else alone[0]

    def control(self, seed: int) -> _Found:
        """Strings of the first profile and of a random one of the second release, but for the one that was found."""
        drawn = randomness.keys(seed, "another group", self.known.users["user"])
        groups = self.releases[1].groups
        steps = 1 + (drawn % np.uint64(max(1, groups - 1))).astype(np.int64)
        others = (self.found[1] + steps) % groups
        return self._judged(self._held(0).join(self._held(1, others), on=["id", "item"], how="semi"))

    def _held(self, release: int, groups: NDArray[np.int64] | None = None) -> pl.DataFrame:
        """id, item: the rare strings of the profiles that were found, or of those of `groups`, but for hints."""
        profiles = self.releases[release]
        in_profiles = profiles.rows.group_by("item").len("profiles")
        rare = in_profiles.filter(pl.col("profiles") <= max(1.0, RARE * profiles.groups)).select("item")
        place = pl.Series("group", self.found[release] if groups is None else groups, pl.UInt32)
        held = self.known.users.select("id").with_columns(place).join(profiles.rows, on="group").join(rare, on="item")
        return held.select("id", "item").join(self.hints, on=["id", "item"], how="anti")

    def _judged(self, held: pl.DataFrame) -> _Found:
        users = self.known.users.select("id", "user")
        right = held.join(users, on="id").join(self.theirs, on=["user", "item"], how="semi")
        for name, some in (("strings", held), ("theirs", right)):
            users = users.join(some.group_by("id").len(name), on="id", how="left", maintain_order="left")
        counts = users.select(pl.col("strings", "theirs").fill_null(0).cast(pl.Float64))
        return _Found(counts["strings"].to_numpy(), counts["theirs"].to_numpy())


# --- numbers ----------------------------------------------------------------------------------------


def _residuals(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Sum of parts / sum of wholes, and how each user moves it."""
    ratio = float(parts.sum() / wholes.sum())
    return ratio, (parts - ratio * wholes) / wholes.mean()


def _limits(value: float, residuals: NDArray[np.float64]) -> Iterator[tuple[str, float]]:
    half = Z * float(residuals.std()) / math.sqrt(residuals.size)
    yield from (("", value), (".low", value - half), (".high", value + half))


def _ratio(
    key: str, parts: NDArray[np.float64], wholes: NDArray[np.float64], unit: str = "% of strings"
) -> Iterator[Score]:
    if wholes.sum() == 0:
        yield Score(key, None, unit)
        return
    for end, limit in _limits(*_residuals(parts, wholes)):
        yield Score(f"{key}{end}", 100 * min(1.0, max(0.0, limit)), unit)


def _difference(key: str, more: _Found, less: _Found) -> Iterator[Score]:
    if more.strings.sum() == 0 or less.strings.sum() == 0:
        yield Score(key, None, POINTS)
        return
    (high, of_more), (low, of_less) = (_residuals(each.theirs, each.strings) for each in (more, less))
    for end, limit in _limits(high - low, of_more - of_less):
        yield Score(f"{key}{end}", 100 * limit, POINTS)
