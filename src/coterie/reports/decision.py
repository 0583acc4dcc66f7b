"""Decision: what the first page says. The three risks against their thresholds, what is recommended, and why.

Risks are the rates that measures declare (`Weighed` in core/scores.py): what of a rate among released targets is left
once its control is taken away (measures/rates.py). For each question one attack decides: that with the worst outcome,
and among these the largest risk, which is above its threshold, shown to be within it by the whole of its interval, or
not proven. No measure is known by name. What was not measured, or is not shown to be within its threshold, is never
recommended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from coterie import __version__, measures, regimes
from coterie.core.promise import promise_nothing
from coterie.core.scores import Risk, Weighed
from coterie.core.shapes import SHAPES
from coterie.core.wording import in_words_of
from coterie.measures.inputs import has_default
from coterie.measures.rates import least_people
from coterie.regimes import Source
from coterie.reports import LogView, ReleaseView, state
from coterie.reports.about import About
from coterie.reports.figures import NONE, NOT_TOLD, RISKS, Edition, Figures, listed, number, number_before, shown, value

Outcome = Literal[
    "above", "not proven", "measured in part", "not measured", "no rows", "not told", "within", "does not apply"
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
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


LEAST_K = 3
"""Whatever attacks find: among two people, each knows the other."""
_MORE_PEOPLE = "Not proven: the sample is too small. Use a log of more people, or of a longer time."
_TOLD = 3
COLUMNS_SAY = (
    "Before: the attack on the original log, under other names. After: the same people in the release. "
    "Of what was released: on that part alone. Control: someone who knows nothing of the person. Risk: "
    "(rate - control) / (1 - control), with its 95% interval; the threshold is about it."
)
FILL_IN = "________________________________"


@dataclass(frozen=True, kw_only=True)
class Weighing:
    """A release as the decision sees it."""

    label: str
    file: str
    sha256: str
    """Of the file; both are empty for a release that was not written."""
    state: str
    lines: tuple[Line, ...]
    personal: tuple[tuple[str, str, str], ...]
    """What looks like personal data: title, before, after."""
    clean: bool | None
    """Whether nothing looks like personal data; None where it was not counted."""
    meaning: tuple[tuple[str, float], ...]
    """What is kept: name of the axis, percent."""
    empty: bool = False
    """Whether it has no rows, so that there is nothing to judge."""
    k: int | None = None
    promises_nothing: bool = False

    @property
    def which(self) -> str:
        """Which file it is, by name and digest: what a signature is about."""
        named = [each for each in (self.file, f"SHA-256 {self.sha256}" if self.sha256 else "") if each]
        return ", ".join(named) or "not written to a file"

    @property
    def passes(self) -> bool:
        """Whether its promise holds, every risk is shown to be harmless and nothing looks like personal data."""
        return not self.why_not

    @property
    def fails(self) -> bool:
        """Whether something speaks against it; where nothing does, and it does not pass, more has to be measured."""
        unfit = self.promises_nothing or self._small
        return self.state == "broken" or self.clean is False or unfit or bool(self.having("above"))

    @property
    def _small(self) -> bool:
        return self.k is not None and self.k < LEAST_K

    def meaning_on(self, axis: str) -> float | None:
        """How much is kept, on one axis."""
        return dict(self.meaning).get(axis)

    def having(self, outcome: Outcome) -> list[str]:
        """The risks with an outcome."""
        return [line.risk for line in self.lines if line.outcome == outcome]

    @property
    def why_not(self) -> list[str]:
        """Why it is not recommended; empty where it passes."""
        said: dict[Outcome, tuple[str, str]] = {
            "above": ("is above its threshold", "are above their thresholds"),
            "not proven": ("is not proven to be within its threshold", "are not proven to be within their thresholds"),
            "measured in part": ("was not attacked in every way", "were not attacked in every way"),
            "not measured": ("was not measured", "were not measured"),
            "not told": ("is not told in this edition", "are not told in this edition"),
        }
        if self.empty:
            return ["it has no rows, so there is nothing to judge"]
        reasons = [f"its promise {'is broken' if self.state == 'broken' else 'was not checked'}"]
        reasons = [] if self.state == "kept" else reasons
        if self.promises_nothing:
            reasons.append("it promises nothing")
        if self._small:
            reasons.append(f"k is below {LEAST_K}")
        for outcome, (of_one, of_several) in said.items():
            if risks := self.having(outcome):
                reasons.append(f"{listed(risks)} {of_one if len(risks) == 1 else of_several}")
        if self.clean is False:
            reasons.append(f"rows that look like personal data: {self.personal[0][2]}")
        if self.clean is None and not self.having("not told"):
            reasons.append("rows that look like personal data were not counted")
        return reasons


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The regime that a release follows, by its file: what of it is known, from where, and what is not."""

    label: str
    regime: str
    title: str
    said: tuple[tuple[str, str], ...]
    """What, and what is said of it."""
    sources: tuple[Source, ...]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """All that the first page says besides what people wrote (`about`)."""

    about: About
    edition: Edition
    weighings: tuple[Weighing, ...]
    recommended: int | None
    """The place of the release that is recommended."""
    advice: str
    can_and_cannot: str
    facts: tuple[tuple[str, str], ...]
    """The log: what, and what it is."""
    policy_says: str = ""
    """Where the thresholds come from."""
    rules: tuple[Rule, ...] = ()
    """The regimes whose settings releases have."""

    @property
    def chosen(self) -> Weighing | None:
        """The release that is recommended."""
        return None if self.recommended is None else self.weighings[self.recommended]

    @property
    def heading(self) -> str:
        """What is said of them all, in a word or two; where nothing speaks against one, there is no advice."""
        if self.recommended is not None:
            return "Recommended"
        return "Not recommended" if all(each.fails for each in self.weighings) else "No recommendation"

    @property
    def shown(self) -> int:
        """The place of the release whose three lines are shown in full."""
        return 0 if self.recommended is None else self.recommended


def decide(
    log: LogView, releases: Sequence[ReleaseView], figures: Figures, about: About | None, edition: Edition
) -> Sheet:
    """The first page of a report about these releases."""
    about = about or About()
    weighings = tuple(_weigh(log, release, figures, about) for release in releases)
    recommended, advice = _recommend(weighings)
    shown_one = releases[recommended or 0] if releases else None
    return Sheet(
        about=about,
        edition=edition,
        weighings=weighings,
        recommended=recommended,
        advice=advice,
        can_and_cannot="" if shown_one is None else _can_and_cannot(shown_one, weighings[recommended or 0], edition),
        facts=tuple(_facts(log, releases, about, edition)),
        policy_says=about.policy_says,
        rules=tuple(_rule(release) for release in releases if release.regime in regimes.names()),
    )


def _rule(release: ReleaseView) -> Rule:
    """The regime of a release."""
    regime = regimes.load(release.regime)
    said = (
        ("What it is", f"{regime.about} Status: {regime.status}."),
        ("Changed here", ", ".join(release.changed) or "nothing"),
        ("Chosen by us, because it is not public", " ".join(regime.ours) or "nothing"),
        ("Unknown, or not in these settings", " ".join(regime.unknown) or "nothing"),
    )
    return Rule(label=release.label, regime=release.regime, title=regime.title, said=said, sources=regime.sources)


# --- the three lines -------------------------------------------------------------------------------


def _weigh(log: LogView, release: ReleaseView, figures: Figures, about: About) -> Weighing:
    on_sheet = [figure for figure in figures.every if figure.section == "sheet"]
    found = [number(release, figure) for figure in on_sheet]
    counted = [each for each in found if each is not None]
    kept = [f for f in figures.at_a_glance() if f.section == "utility" and f.glance is not None]
    return Weighing(
        label=release.label,
        file=release.file,
        sha256=release.sha256,
        state=state(release),
        lines=tuple(line_of(release, risk, about, log.shape) for risk in RISKS),
        personal=tuple(
            (f.title, shown(number_before(log, [release], f), ""), shown(each, ""))
            for f, each in zip(on_sheet, found, strict=True)
            if each is not None
        ),
        clean=None if not counted else not any(counted),
        meaning=tuple((f.glance.axis, each) for f in kept if f.glance and (each := number(release, f)) is not None),
        empty=release.rows == 0,
        k=release.k,
        promises_nothing=promise_nothing(release.promises),
    )


# --- what is recommended -----------------------------------------------------------------------------


def _recommend(weighings: Sequence[Weighing]) -> tuple[int | None, str]:
    """The place of the release to share, and why; None where none can be recommended."""
    passing = [place for place, each in enumerate(weighings) if each.passes]
    failing = [each for each in weighings if not each.passes]
    if not passing:
        return None, " ".join(_why_not(failing))
    axis = common_axis([weighings[place] for place in passing])
    best = max(passing, key=lambda place: dict(weighings[place].meaning).get(axis, 0.0))
    chosen = weighings[best]
    text = (
        f"{chosen.label}: its promise holds, each risk is shown to be within its threshold or no attack on it applies, "
        f"and nothing in it looks like personal data."
    )
    if axis:
        kept = f"{axis} {shown(dict(chosen.meaning)[axis], '%')}"
        others = sorted((dict(weighings[place].meaning)[axis], place) for place in passing if place != best)
        most = f"Of {len(passing)} such releases it keeps the most meaning" if others else "What it keeps"
        text += f" {most}: {kept}"
        text += f" (next: {weighings[others[-1][1]].label}, {shown(others[-1][0], '%')})." if others else "."
    return best, " ".join([text, *_why_not(failing)])


def common_axis(weighings: Sequence[Weighing]) -> str:
    """What all of them can be compared by: the last axis of use that all have, which is the one nearest to meaning."""
    if not weighings:
        return ""
    axes = [axis for axis, _ in weighings[0].meaning]
    common = [axis for axis in axes if all(axis in dict(each.meaning) for each in weighings)]
    return common[-1] if common else ""


def _why_not(weighings: Sequence[Weighing]) -> list[str]:
    """Why some are not recommended, each on its own where they are few, and what would tell more."""
    several = f"{len(weighings)} releases do not pass; the table of all releases shows where."
    said = [f"{each.label} is not recommended: {'; '.join(each.why_not)}." for each in weighings]
    small = any(line.outcome == "not proven" and line.people for each in weighings for line in each.lines)
    hints = [_MORE_PEOPLE] if small else []
    return [*([several] if len(weighings) > _TOLD else said), *hints]


def _can_and_cannot(release: ReleaseView, weighing: Weighing, edition: Edition) -> str:
    """What an attacker can and cannot do, in one paragraph."""
    if weighing.empty:
        return "The release has no rows, so nobody can be found in it, and there is nothing to judge."
    risen = [
        f"{line.risk} ({shown(line.before, '%')} before, {shown(line.after, '%')} after)"
        for line in weighing.lines
        if line.after is not None and line.before is not None and line.after > line.before
    ]
    text = f"Higher after than before: {listed(risen)}. " if risen else ""
    if partly := weighing.having("measured in part"):
        text += f"Not attacked in every way: {listed(partly)}. "
    if unmeasured := weighing.having("not measured"):
        text += f"Not measured, which does not mean impossible: {listed(unmeasured)}. "
        text += "Some attacks need --record, given when the release is made. " if edition == "internal" else ""
    if weighing.having("not told"):
        text += "What attacks found is not told in this edition. "
    if not any(line.after is not None for line in weighing.lines) and not text:
        text = "No attack was measured. "
    checked = weighing.state == "kept"
    holds = (
        "What an attacker cannot do, because this was checked" if checked else "Promised, but not kept or not checked"
    )
    first = [promise.sentence.partition(". ")[0].rstrip(".") for promise in release.promises]
    return f"{text}{holds}: {'. '.join(first)}."


# --- the log ---------------------------------------------------------------------------------------


def _facts(log: LogView, releases: Sequence[ReleaseView], about: About, edition: Edition) -> list[tuple[str, str]]:
    shape = SHAPES[log.shape]
    internal = edition == "internal"
    counts = ((log.rows, "rows"), (log.users, shape.subject_nouns), (log.queries, f"distinct {shape.item_nouns}"))
    size = ", ".join(f"{shown(count, '')} {noun}" for count, noun in counts)
    facts = [
        ("Log", about.name or (", ".join(log.files) if internal else "") or FILL_IN),
        ("Period", _period(log, internal)),
        ("Size", (size if log.size_told is None else log.size_told) + (", as prepared" if log.steps else "")),
    ]
    if internal and log.bad_lines:
        facts.append(("Lines not readable", shown(log.bad_lines, "")))
    facts.append(("Prepared by", _prepared(log, releases, internal)))
    if internal:
        facts.append(("SHA-256 of the input", log.digest or NONE))
    return facts


def _prepared(log: LogView, releases: Sequence[ReleaseView], internal: bool) -> str:
    """The steps before the methods, and what they left; for each release where they differ."""
    ways: dict[str, list[str]] = {}
    for release in releases:
        left_out = log.rows - (log.rows if release.prepared_rows is None else release.prepared_rows)
        told = f" (left out: {shown(left_out, '')} of {shown(log.rows, '')} rows)" if internal and left_out > 0 else ""
        ways.setdefault((", ".join(release.steps) or "nothing") + told, []).append(release.label)
    if len(ways) == 1:
        return next(iter(ways))
    return "; ".join(f"{', '.join(names)}: {way}" for way, names in ways.items()) or "nothing"


def _period(log: LogView, internal: bool) -> str:
    first, last = log.period
    if log.size_told == NOT_TOLD:
        return NOT_TOLD
    if not internal:
        return f"{first} to {last}" if first else "no times in the log"
    if log.days is None:
        return "no times in the log"
    days = f"{shown(log.days, '')} {'day' if log.days == 1 else 'days'}"
    return f"{first} to {last} ({days})" if first else days


# --- the same for programs ---------------------------------------------------------------------------


def sheet_data(sheet: Sheet) -> dict[str, Any]:
    """The first page as values, with the five headings of the page."""
    about = sheet.about
    return {
        "context": {name: getattr(about, name) for name in ("name", "purpose", "recipient", "conditions")},
        "data": dict(sheet.facts),
        "identifiability": [
            {
                "release": each.label,
                "lines": [_line_data(line, sheet.edition) for line in each.lines],
                "personal_data": [{"what": what, "before": b, "after": a} for what, b, a in each.personal],
            }
            for each in sheet.weighings
        ],
        "can_and_cannot": sheet.can_and_cannot,
        "mitigation": {
            "reason_for_k": about.reason,
            "recommended": None if sheet.chosen is None else _which_data(sheet.chosen),
            "advice": sheet.advice,
            "thresholds": sheet.policy_says,
            "releases": [_which_data(each) for each in sheet.weighings],
        },
        "governance": {
            "reviewer": about.reviewer,
            "next_review": about.next_review,
            "software": f"Coterie {__version__}",
            "edition": sheet.edition,
        },
    }


def _which_data(weighing: Weighing) -> dict[str, Any]:
    return {"label": weighing.label, "file": weighing.file or None, "sha256": weighing.sha256 or None}


def _line_data(line: Line, edition: Edition) -> dict[str, Any]:
    """Exact for those who keep the log; for others as on the page: a number of people follows from an exact share."""
    data = {**vars(line), "verdict": line.verdict, "others": [_line_data(each, edition) for each in line.others]}
    rates = _RATES if edition == "external" else ()
    return data | {name: None if data[name] is None else round(data[name], 1) for name in rates}


_RATES = ("before", "before_control", "after", "released", "control", "above_control", "low", "high", "bound")


def content_digest(data: dict[str, Any]) -> str:
    """A digest of what a page says, whatever the day on which it says so."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
