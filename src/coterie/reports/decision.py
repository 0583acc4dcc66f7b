"""Decision: what the first page says. The three risks against their thresholds, what is recommended, and why.

A risk is weighed by the rates of success that measures declare (`Weighed` in core/scores.py): of those that were
measured the one that is worst beside its threshold. No measure is known by name. What was not measured, or is not shown
to be within its threshold, is never recommended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from coterie import __version__, measures, regimes
from coterie.core.nouns import in_words_of
from coterie.core.scores import Risk, Weighed
from coterie.core.shapes import SHAPES
from coterie.measures.inputs import has_default
from coterie.regimes import Source
from coterie.reports import LogView, ReleaseView, state
from coterie.reports.about import About, Thresholds
from coterie.reports.editions import NOT_TOLD, Edition
from coterie.reports.figures import NONE, RISKS, Figures, listed, number, number_before, shown, value

Outcome = Literal[
    "above",
    "not shown to be within",
    "no threshold",
    "measured in part",
    "not measured",
    "not told",
    "within",
    "does not apply",
]
OUTCOMES: dict[Outcome, str] = {
    "above": "above the threshold",
    "not shown to be within": "its interval reaches beyond the threshold: too few people to tell",
    "no threshold": "no k, and no threshold was given",
    "measured in part": "not above, but not all attacks were tried",
    "not measured": "not measured",
    "not told": NOT_TOLD,
    "within": "not above the threshold",
    "does not apply": "no attack on this risk applies",
}
"""The worst first. Only the last two let a release be recommended."""
_HARMLESS: tuple[Outcome, ...] = ("within", "does not apply")
_NO_NAMES = "No row carries a name."
_MORE_PEOPLE = (
    "Where a rate is not shown to be within its threshold, too few people were attacked to tell: a log of more people, "
    "or of a longer time, tells."
)
_GIVE_THRESHOLDS = "Give thresholds: [thresholds] in the file of --about."
_KEPT_WHOLE = "not above, but no attack knows what is kept beside queries (attrs = keep)"
_TOLD = 3
_OWN_THRESHOLDS = (
    "Each release is weighed against its own 1 in k, so a larger k has to pass more; [thresholds] in the file of "
    "--about weighs all by the same."
)
COLUMNS_SAY = (
    "Before: the same attack on the log under other names, prepared as for the release. Control: the same attack with "
    "what is known of somebody else, or a guess that knows nothing. Beside the rate after: its 95% interval."
)
FILL_IN = "________________________________"


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything that a report says; it is laid out as HTML, Markdown or JSON."""

    log: LogView
    releases: Sequence[ReleaseView]
    figures: Figures
    sheet: Sheet
    date: str
    """The day of the report, or empty; no part of `digest`."""
    digest: str
    """Of what the page says, whatever the day."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One risk of one release, before and after, against its threshold. Numbers are percentages."""

    risk: Risk
    outcome: Outcome
    attacker: str = ""
    measure: str = ""
    before: float | None = None
    after: float | None = None
    low: float | None = None
    high: float | None = None
    control: float | None = None
    success: float | None = None
    """How often the attack succeeds at all, where `after` is the part of it that a person's own rows add."""
    threshold: float | None = None
    reason: str = ""
    """Why no attack applies, or why more would have to be tried."""

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        return self.reason or OUTCOMES[self.outcome]


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
    """Whether it has no rows, so that all attacks fail."""

    @property
    def which(self) -> str:
        """Which file it is, by name and digest: what a signature is about."""
        named = [each for each in (self.file, f"SHA-256 {self.sha256}" if self.sha256 else "") if each]
        return ", ".join(named) or "not written to a file"

    @property
    def passes(self) -> bool:
        """Whether its promise holds, every risk is shown to be harmless and nothing looks like personal data."""
        harmless = all(line.outcome in _HARMLESS for line in self.lines)
        return self.state == "kept" and self.clean is True and harmless and not self.empty

    @property
    def fails(self) -> bool:
        """Whether something speaks against it; where nothing does, and it does not pass, more has to be measured."""
        return self.state == "broken" or self.clean is False or self.empty or bool(self.having("above"))

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
            "not shown to be within": ("is not shown to be within its threshold",
                                       "are not shown to be within their thresholds"),
            "no threshold": ("has no threshold", "have no thresholds"),
            "measured in part": ("was not attacked in every way", "were not attacked in every way"),
            "not measured": ("was not measured", "were not measured"),
            "not told": ("is not told in this edition", "are not told in this edition"),
        }  # fmt: skip
        reasons = [f"its promise {'is broken' if self.state == 'broken' else 'was not checked'}"]
        reasons = [] if self.state == "kept" else reasons
        if self.empty:
            reasons.append("it has no rows")
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
    if len({release.k for release in releases}) > 1 and about.thresholds == Thresholds():
        advice += f" {_OWN_THRESHOLDS}"
    if raised := _raised(releases, about.thresholds):
        advice += f" {raised}"
    shown_one = releases[recommended or 0] if releases else None
    return Sheet(
        about=about,
        edition=edition,
        weighings=weighings,
        recommended=recommended,
        advice=advice,
        can_and_cannot="" if shown_one is None else _can_and_cannot(shown_one, weighings[recommended or 0]),
        facts=tuple(_facts(log, releases, about, edition)),
        rules=tuple(_rule(release) for release in releases if release.regime in regimes.names()),
    )


def _raised(releases: Sequence[ReleaseView], thresholds: Thresholds) -> str:
    """A sentence about thresholds that were given above 1 in k; nothing where there are none."""
    largest = max((release.k for release in releases if release.k), default=0)
    above = [f"{risk} {shown(given, '%')}" for risk in RISKS
             if (given := thresholds.of(risk)) is not None and largest and given > 100 / largest]  # fmt: skip
    if not above:
        return ""
    return f"Thresholds above 1 in k ({shown(100 / largest, '%')}) were given by hand (--about): {listed(above)}."


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
        lines=tuple(_line(release, risk, about, log.shape) for risk in RISKS),
        personal=tuple(
            (f.title, shown(number_before(log, [release], f), ""), shown(each, ""))
            for f, each in zip(on_sheet, found, strict=True)
            if each is not None
        ),
        clean=None if not counted else not any(counted),
        meaning=tuple((f.glance.axis, each) for f in kept if f.glance and (each := number(release, f)) is not None),
        empty=release.rows == 0,
    )


def _line(release: ReleaseView, risk: Risk, about: About, shape: str) -> Line:
    given = about.thresholds.of(risk)
    threshold = given if given is not None else 100 / release.k if release.k else None
    weighed = [each for each in measures.weighed() if each.risk == risk]
    measured = [
        each for each in weighed
        if value(release, each.measure, each.key) is not None and not _nameless(release, each)
    ]  # fmt: skip
    if release.withheld:
        return Line(risk=risk, outcome="not told", threshold=threshold)
    if not measured:
        return _without_attack(release, risk, threshold, weighed)
    lines = [_weighed(release, each, threshold, shape) for each in measured]
    # By outcome first: a rate with a wide interval must not hide a smaller one that is shown to be too large.
    worst = min(lines, key=lambda line: (list(OUTCOMES).index(line.outcome), -(line.after or 0.0)))
    # Whoever chooses the measures must not choose the verdict.
    if worst.outcome == "within" and release.params.get("attrs") == "keep" and risk != "inference":
        return replace(worst, outcome="measured in part", reason=_KEPT_WHOLE)
    skipped = any(each not in measured and _is_open(release, each) for each in _always(weighed))
    return replace(worst, outcome="measured in part") if skipped and worst.outcome == "within" else worst


def _always(weighed: Sequence[Weighed]) -> list[Weighed]:
    """Those attacks for which a release, its log and its record are enough."""
    return [each for each in weighed if all(has_default(need) for need in measures.load(each.measure).needs)]


def _is_open(release: ReleaseView, each: Weighed) -> bool:
    """Whether an attack that could have been tried was neither tried nor found to have no meaning.

    On a cluster a measure may be taken without some of its attacks, which need one machine.
    """
    taken = not release.elsewhere and each.measure in set(release.scores["name"])
    return not taken and each.measure not in release.left_out and not _nameless(release, each)


def _without_attack(release: ReleaseView, risk: Risk, threshold: float | None, weighed: Sequence[Weighed]) -> Line:
    """A risk without a rate: every attack was tried and has no meaning, or else nothing is known."""
    tried = [_NO_NAMES if _nameless(release, each) else release.left_out.get(each.measure) for each in _always(weighed)]
    reasons = [reason for reason in tried if reason is not None]
    if reasons and len(reasons) == len(tried):
        return Line(risk=risk, outcome="does not apply", threshold=threshold, reason=reasons[0])
    return Line(risk=risk, outcome="not measured", threshold=threshold)


def _nameless(release: ReleaseView, each: Weighed) -> bool:
    """Whether an attack looks for names in a release without any; what a row says can still point to somebody."""
    return bool(each.names) and value(release, each.measure, each.names) == 0


def _weighed(release: ReleaseView, each: Weighed, threshold: float | None, shape: str) -> Line:
    def score(key: str) -> float | None:
        return value(release, each.measure, key) if key else None

    after, high = score(each.key), score(f"{each.key}.high")
    outcome: Outcome = "no threshold"
    if threshold is not None and after is not None:
        shown_within = high is None or high <= threshold
        outcome = "above" if after > threshold else "within" if shown_within else "not shown to be within"
    return Line(
        risk=each.risk,
        outcome=outcome,
        attacker=in_words_of(SHAPES[shape], each.attacker),
        measure=each.measure,
        before=score(each.before),
        after=after,
        low=score(f"{each.key}.low"),
        high=high,
        control=score(each.control),
        success=score(each.success),
        threshold=threshold,
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
    hints = [_MORE_PEOPLE] if any(each.having("not shown to be within") for each in weighings) else []
    hints += [_GIVE_THRESHOLDS] if any(each.having("no threshold") for each in weighings) else []
    return [*([several] if len(weighings) > _TOLD else said), *hints]


def _can_and_cannot(release: ReleaseView, weighing: Weighing) -> str:
    """What an attacker can and cannot do, in one paragraph."""
    can, risen = [], []
    for line in weighing.lines:
        if line.after is None:
            continue
        beside = {"right in all": line.success, "control": line.control, "in the original": line.before}
        compared = "; ".join(f"{word} {shown(rate, '%')}" for word, rate in beside.items() if rate is not None)
        can.append(f"{line.attacker} in {shown(max(line.after, 0.0), '%')} of cases ({compared})")
        if line.before is not None and line.after > line.before:
            risen.append(f"{line.risk} ({shown(line.before, '%')} before, {shown(line.after, '%')} after)")
    text = f"What an attacker can do: {'. '.join(each[0].upper() + each[1:] for each in can)}. " if can else ""
    if risen:
        text += f"Higher after than before: {listed(risen)}. "
    if partly := weighing.having("measured in part"):
        text += f"Not attacked in every way: {listed(partly)}. "
    if unmeasured := weighing.having("not measured"):
        text += f"Not measured, which does not mean impossible: {listed(unmeasured)}. {_missing(release)} "
    if weighing.having("not told"):
        text += "What attacks found is not told in this edition. "
    if not text:
        text = "No attack was measured. "
    checked = weighing.state == "kept"
    holds = (
        "What an attacker cannot do, because this was checked" if checked else "Promised, but not kept or not checked"
    )
    first = [promise.sentence.partition(". ")[0].rstrip(".") for promise in release.promises]
    return f"{text}{holds}: {'. '.join(first)}."


def _missing(release: ReleaseView) -> str:
    """What it would have taken to measure more."""
    if release.elsewhere:
        return "The log was on a cluster, where some attacks cannot be tried."
    return "Some attacks need --record, given when the release is made."


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
        "context": {
            "name": about.name,
            "purpose": about.purpose,
            "recipient": about.recipient,
            "conditions": about.conditions,
        },
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
    data = {**vars(line), "verdict": line.verdict}
    rates = ("before", "after", "low", "high", "control", "success") if edition == "external" else ()
    return data | {name: None if data[name] is None else round(data[name], 1) for name in rates}


def content_digest(data: dict[str, Any]) -> str:
    """A digest of what a page says, whatever the day on which it says so."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
