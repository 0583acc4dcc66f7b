"""Weighing: one question about one release, with the attack that decides it and the others under it.

A risk is what of a rate among released targets is left once its control is taken away (measures/rates.py). It is above
the threshold, shown to be within it by the whole of its interval, or not proven. For each question the attack with the
worst outcome decides, and among these the one with the largest risk. No measure is known by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coterie import measures
from coterie.core.scores import Risk, Weighed
from coterie.core.shapes import SHAPES
from coterie.core.wording import in_words_of
from coterie.measures.inputs import has_default
from coterie.measures.rates import least_people
from coterie.reports.about import About
from coterie.reports.figures import shown, value
from coterie.reports.views import ReleaseView

Outcome = Literal[
    "above", "not proven", "measured in part", "not measured", "no rows", "not told", "within", "does not apply"
]
OUTCOMES: tuple[Outcome, ...] = (
    "above", "not proven", "measured in part", "not measured", "no rows", "not told", "within", "does not apply"
)  # fmt: skip
"""The worst first. Only the last two let a release be recommended."""
_HARMLESS: tuple[Outcome, ...] = ("within", "does not apply")
_SPACED = str.maketrans("._", "  ")
_NO_NAMES = "No row carries a name."
_NO_GROUPS = "Rows carry names, and no attack knows how to guess what else belongs to one."
_NO_READER = "Concepts stand in place of queries, and no attack on this question reads concepts."
_CONTROL_ALWAYS_RIGHT = "Its control always succeeds, so nothing is left to find."
_KEPT_WHOLE = "No attack knows what is kept beside queries (attrs = keep)"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One question about one release: the attack that decides it, against its threshold. Numbers are percentages."""

    risk: Risk
    outcome: Outcome
    threshold: float
    attacker: str = ""
    measure: str = ""
    attack: str = ""
    """Its short name: the measure and the rate, as in "witness, one query"."""
    before: float | None = None
    before_control: float | None = None
    after: float | None = None
    released: float | None = None
    """The rate among what was released."""
    control: float | None = None
    control_is: str = ""
    """What the control is; empty where none was measured."""
    above_control: float | None = None
    """What the threshold is about: (released - control) / (1 - control)."""
    low: float | None = None
    high: float | None = None
    people: int | None = None
    """How many people have something that was released."""
    bound: float | None = None
    """What a promise bounds the rate by. It decides nothing."""
    reason: str = ""
    """Why no attack applies, or why more would have to be tried."""
    others: tuple[Line, ...] = ()
    """The other attacks on this question, the worst first."""

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.outcome == "not proven":
            return f"not proven: {'1 person' if self.people == 1 else shown(self.people, '') + ' people'}"
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome

    @property
    def shown_risk(self) -> float | None:
        """The risk as it is shown: a control that does better than the attack is no risk below 0."""
        return None if self.above_control is None else max(0.0, self.above_control)

    @property
    def compared(self) -> str:
        """What the rate is compared with, in words."""
        return f"control: {self.control_is}" if self.control_is else "no control was measured: 0 in its place"


def line_of(release: ReleaseView, risk: Risk, about: About, shape: str) -> Line:
    """What is said of one question about a release."""
    threshold = about.threshold(risk)
    if release.rows == 0:
        return Line(risk=risk, outcome="no rows", threshold=threshold)
    if release.withheld:
        return Line(risk=risk, outcome="not told", threshold=threshold)
    weighed = [each for each in measures.weighed() if each.risk == risk and each.shape in ("", shape)]
    measured = [each for each in weighed if _was_measured(release, each)]
    if not measured:
        return _without_attack(release, risk, threshold, weighed)
    line = _decisive([_weighed(release, each, threshold, shape) for each in measured], least_people(threshold / 100))
    # Whoever chooses the measures must not choose the verdict.
    if line.outcome == "within" and release.params.get("attrs") == "keep" and risk != "inference":
        return replace(line, outcome="measured in part", reason=_KEPT_WHOLE)
    skipped = any(each not in measured and _is_open(release, each) for each in _always(weighed))
    return replace(line, outcome="measured in part") if skipped and line.outcome in _HARMLESS else line


def _decisive(lines: Sequence[Line], enough: int) -> Line:
    """The attack that decides, with the others under it.

    One on fewer people than could show that a risk is within the threshold decides only if it is above, or if no other
    attack has enough people: a few people must not hide what many show.
    """
    ordered = sorted(lines, key=lambda line: (OUTCOMES.index(line.outcome), -(line.above_control or 0.0)))
    applying = [line for line in ordered if line.outcome != "does not apply"]
    many = [line for line in applying if line.outcome == "above" or (line.people or 0) >= enough]
    first = (many or applying or ordered)[0]
    return replace(first, others=tuple(line for line in ordered if line is not first))


def _was_measured(release: ReleaseView, each: Weighed) -> bool:
    """Whether the attack was tried on this release; its rate has no value where nothing that it looks for is there."""
    return value(release, each.measure, f"after.{each.rate}") is not None and not _nameless(release, each)


def _always(weighed: Sequence[Weighed]) -> list[Weighed]:
    """Those attacks for which a release, its log and its record are enough."""
    return [each for each in weighed if all(has_default(need) for need in measures.load(each.measure).needs)]


def _is_open(release: ReleaseView, each: Weighed) -> bool:
    """Whether an attack that could have been tried was neither tried nor found to have no meaning."""
    taken = each.measure in set(release.scores["name"])
    return not taken and each.measure not in release.left_out and not _nameless(release, each)


def _without_attack(release: ReleaseView, risk: Risk, threshold: float, weighed: Sequence[Weighed]) -> Line:
    """A risk without a rate: every attack was tried and has no meaning, or else nothing is known."""
    tried = [_NO_NAMES if _nameless(release, each) else release.left_out.get(each.measure) for each in _always(weighed)]
    reasons = [reason for reason in tried if reason is not None]
    if not reasons or len(reasons) < len(tried):
        return Line(risk=risk, outcome="not measured", threshold=threshold)
    unknown = ""
    if risk == "inference" and _has_names(release):  # what stands under a name says more of whoever it is
        unknown = _NO_GROUPS
    if any(promise.releases == "concepts" for promise in release.promises):  # an attack that cannot read proves nothing
        unknown = _NO_READER
    if unknown:
        return Line(risk=risk, outcome="not measured", threshold=threshold, reason=unknown)
    return Line(risk=risk, outcome="does not apply", threshold=threshold, reason=reasons[0])


def _has_names(release: ReleaseView) -> bool:
    """Whether some attack found names in the release."""
    return any(bool(each.names) and (value(release, each.measure, each.names) or 0) > 0 for each in measures.weighed())


def _nameless(release: ReleaseView, each: Weighed) -> bool:
    """Whether an attack looks for names in a release without any; what a row says can still point to somebody."""
    return bool(each.names) and value(release, each.measure, each.names) == 0


def _weighed(release: ReleaseView, each: Weighed, threshold: float, shape: str) -> Line:
    def score(key: str) -> float | None:
        return value(release, each.measure, key) if key else None

    before, released = f"before.{each.rate}", f"released.{each.rate}"
    people = int(score(f"{released}.people") or 0)
    risk, low, high = (score(f"{released}.risk{end}") for end in ("", ".low", ".high"))
    outcome: Outcome = "not proven"
    few = people < least_people(threshold / 100)
    if risk is None and not few:
        outcome = "does not apply"
    elif risk is not None and high is not None:
        is_above = (low or 0.0) > threshold if few else risk > threshold
        outcome = "above" if is_above else "within" if high <= threshold else "not proven"
    return Line(
        risk=each.risk,
        outcome=outcome,
        threshold=threshold,
        attacker=in_words_of(SHAPES[shape], each.attacker),
        measure=each.measure,
        attack=in_words_of(SHAPES[shape], f"{each.measure}, {each.rate.removesuffix('.recall')}".translate(_SPACED)),
        before=score(before),
        before_control=score(f"{before}.control"),
        after=score(f"after.{each.rate}"),
        released=score(released),
        control=score(f"{released}.control"),
        control_is=in_words_of(SHAPES[shape], each.control),
        above_control=risk,
        low=low,
        high=high,
        people=people,
        bound=score(each.bound),
        reason=_CONTROL_ALWAYS_RIGHT if outcome == "does not apply" else "",
    )
