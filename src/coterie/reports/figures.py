"""Figures of a page: which numbers are shown where, what is missing and why. All of it follows from the measures.

Editions: what a page says to those who keep the log, and what to those who get the release. The external edition is a
whitelist. `public` makes its views from nothing, so what is not named here is not told, and a field that somebody adds
later stays inside until it is named here too.

    of the log       its shape, the months it covers, its size in two digits
    of a release     what its sidecar says as well, and scores that the page shows: rates, and counts of the released
                     rows themselves; no count of the original

Whatever was measured on a log beside a release with differential privacy would spend more than the release says. Such
a page has no figure that was measured on the log, of no release on it. Nor has one about a log of under 100 people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from coterie import measures
from coterie.core.promise import Check, to_dict
from coterie.core.scores import ENDS, Figure, Finding, Picture, Risk, Section, score_table
from coterie.core.shapes import QUERIES, SHAPES, Shape
from coterie.core.wording import in_words_of
from coterie.reports.views import LogView, ReleaseView, scored

NONE = "–"
EMPTY = "Nothing of this was measured."
_KEYS = re.compile(r"{([a-z0-9_.]+)}")
_POINTS = "% points"


@dataclass(frozen=True)
class Figures:
    """The figures of all measures, in order, and what they find out about attackers."""

    every: tuple[Figure, ...]
    findings: tuple[Finding, ...] = ()
    shape: Shape = QUERIES
    with_hints: bool = True
    """Whether it says how to measure what is missing, which only those can do who have the log."""

    @classmethod
    def collect(cls, shape: Shape = QUERIES, *, with_hints: bool = True) -> Figures:
        """Those of all measures that are there, in the words of a shape."""
        return cls(tuple(_spoken(each, shape) for each in measures.figures()), findings_of(shape), shape, with_hints)

    def tabled(self, section: Section, releases: Sequence[ReleaseView]) -> list[Figure]:
        """The figures of a section: the expected ones that have a meaning here, and others where they were measured."""
        measured = {name for release in releases for name in release.scores["name"]}
        without_meaning = set.intersection(*(set(release.left_out) for release in releases)) if releases else set()
        wanted = [f for f in self.every if f.section == section]
        return [f for f in wanted if f.measure in measured or (f.expected and f.measure not in without_meaning)]

    def others(self, releases: Sequence[ReleaseView]) -> list[Figure]:
        """Scores of measures that stand in no table."""
        keys = [row for release in releases for row in release.scores.select("name", "key").iter_rows()]
        tabled = {figure.measure for figure in self.every if figure.section in ("privacy", "attacks", "utility")}
        tabled |= {each.measure for each in measures.weighed()}
        return [
            Figure(measure=name, key=key, section="utility", title=f"{name} {key}")
            for name, key in dict.fromkeys(keys)
            if name not in tabled
        ]

    def if_zero(self, section: Section, release: ReleaseView) -> list[str]:
        """The sentences of figures that are 0."""
        return [f.if_zero for f in self.every if f.section == section and f.if_zero and number(release, f) == 0]

    def missing(self, release: ReleaseView) -> Iterator[str]:
        """What the figures lack, and why."""
        if release.withheld:
            yield "What was measured is left out: beside a release with differential privacy it would tell more."
            return
        expected = [figure for figure in self.every if figure.expected]
        measured = set(release.scores["name"])
        absent = {figure.measure for figure in expected} - measured
        private = {figure.measure for figure in expected if "record" in figure.needs}
        # Without a record all of these are missing; where one is there, the others were not asked for.
        without_record = bool(private) and private <= absent - set(release.left_out)
        by_reason: dict[str, list[str]] = {}
        for name in sorted(absent - private if without_record else absent):
            by_reason.setdefault(release.left_out.get(name, ""), []).append(name.replace("_", " "))
        for reason, names in sorted(by_reason.items()):
            yield f"Not measured: {', '.join(names)}. {reason}".strip()
        yield from self._without_rows(release, private if without_record else set())
        yield from self.if_zero("notes", release)

    def _without_rows(self, release: ReleaseView, private: Set[str]) -> Iterator[str]:
        """What the figures lack that need the private record, those `private` for want of it, or original rows."""
        measured = set(release.scores["name"])
        of_rows = [
            figure.title.lower()
            for figure in self.every
            if figure.expected and "rows" in figure.needs and figure.measure in measured
            if not _look(release.scores, figure.measure, figure.key)[1]
        ]
        if private:
            missing = _opening([*(name.replace("_", " ") for name in sorted(private)), *of_rows])
            hint = " Give the private run record with --record DIR." if self.with_hints else ""
            yield f"{missing} are missing: they must know who became whom.{hint}"
        elif of_rows:
            yield f"{_opening(of_rows)} exist only for methods that keep original rows."

    def headlines(self, release: ReleaseView) -> list[str]:
        """What must be said beside the promise."""
        return list(headlines(release.scores, self.findings))

    def attacker(self, release: ReleaseView) -> dict[Risk, list[str]]:
        """What an attacker can do and cannot do, risk by risk; also what was not measured, and how to."""
        if release.withheld:
            return {risk: ["Not told in this edition."] for risk in RISKS}
        said: dict[Risk, list[str]] = {risk: [] for risk in RISKS}
        measured = set(release.scores["name"])
        for finding in self.findings:
            if (text := said_of(release.scores, finding)) is not None:
                said[finding.risk].append(text)
        for (risk, name), finding in {(each.risk, each.measure): each for each in self.findings}.items():
            if name in release.left_out:
                said[risk].append(f"Not measured: {name}. {release.left_out[name]}")
            elif name not in measured:
                command = " ".join(f"coterie measure OUT --original LOG {finding.options} {name}".split())
                hint = f" To measure it: {command}" if self.with_hints else ""
                said[risk].append(f"Not measured: {name}.{hint}")
        return said

    def at_a_glance(self) -> list[Figure]:
        """What is drawn at the top of the page: safety first."""
        return [figure for figure in self.every if figure.glance is not None]

    def over_k(self) -> list[Figure]:
        """What is drawn over k."""
        return sorted((f for f in self.every if f.over_k is not None), key=lambda f: f.over_k or 0)

    def pictures(self, kind: str) -> dict[Picture, list[Figure]]:
        """The pictures of a kind that measures ask for, each with its figures."""
        pictures: dict[Picture, list[Figure]] = {}
        for figure in self.every:
            if figure.picture is not None and figure.picture.kind == kind:
                pictures.setdefault(figure.picture, []).append(figure)
        return pictures


RISKS: dict[Risk, str] = {
    "singling out": "Can a person be picked out?",
    "linkability": "Can what belongs to one person be put together?",
    "inference": "What can be told about a person?",
}
ATTACKER_SAYS = (
    "Under the three questions that data protection authorities ask of anonymous data. Not measured does not mean "
    "impossible, and a stronger attacker finds more."
)


def findings_of(shape: Shape) -> tuple[Finding, ...]:
    """What all measures find out about attackers, in the words of a shape."""
    return tuple(replace(each, text=in_words_of(shape, each.text)) for each in measures.findings())


def _spoken(figure: Figure, shape: Shape) -> Figure:
    """A figure in the words of a shape."""

    def said(text: str) -> str:
        return in_words_of(shape, text)

    glance, picture = figure.glance, figure.picture
    return replace(
        figure,
        title=said(figure.title),
        reading=said(figure.reading),
        if_zero=said(figure.if_zero),
        picture_title=said(figure.picture_title),
        glance=glance and replace(glance, axis=said(glance.axis), reading=said(glance.reading)),
        picture=picture and replace(picture, title=said(picture.title), reading=said(picture.reading)),
    )


def headlines(scores: pl.DataFrame, findings: Sequence[Finding]) -> Iterator[str]:
    """The findings that are said beside the promise, as far as they were measured."""
    return (text for each in findings if each.headline and (text := said_of(scores, each)) is not None)


def keys_in(finding: Finding) -> list[str]:
    """The keys of the scores in a sentence."""
    return _KEYS.findall(finding.text)


def said_of(scores: pl.DataFrame, finding: Finding) -> str | None:
    """The sentence with its numbers; None where one of them is not there."""
    if any(_look(scores, finding.measure, key)[0] is None for key in keys_in(finding)):
        return None
    return _KEYS.sub(lambda key: _text(scores, finding.measure, key[1]), finding.text)


def listed(words: Sequence[str]) -> str:
    """Words in a row: "a", "a and b", "a, b and c"."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _opening(words: Sequence[str]) -> str:
    """Words as the beginning of a sentence."""
    text = listed(words)
    return text[0].upper() + text[1:]


# --- numbers ---------------------------------------------------------------------------------------


def value(release: ReleaseView, name: str, key: str) -> float | None:
    """One score; None where it was not measured or has no value."""
    return _look(release.scores, name, key)[0]


def number(release: ReleaseView, figure: Figure) -> float | None:
    """The number of a figure; None where it was not measured or has no value."""
    return value(release, figure.measure, figure.key)


@dataclass(frozen=True)
class Cell:
    """A figure as a page shows it: the number, its interval, and what it is compared with."""

    text: str
    interval: str = ""
    beside: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        around = f" ({self.interval})" if self.interval else ""
        return "; ".join([self.text + around, *(f"{word} {rate}" for word, rate in self.beside)])


_PER_RELEASE = Cell("per release")


def cell(release: ReleaseView, figure: Figure) -> Cell:
    """A figure of a release with its unit."""
    plain = _cell(release.scores, figure.measure, figure.key)
    scores = ((word, _look(release.scores, figure.measure, key)) for word, key in figure.beside)
    rates = tuple((word, shown(score, unit)) for word, (score, unit) in scores if score is not None)
    return plain if plain.text == NONE else replace(plain, beside=rates)


def line(log: LogView, columns: Sequence[ReleaseView], figure: Figure) -> list[Cell]:
    """A figure of the original and of each column. Where that of the original is not the same for all of them, because
    the log was prepared or attacked in several ways, it stands with each."""
    firsts, cells = [before(log, each, figure) for each in columns], [cell(each, figure) for each in columns]
    several = list(dict.fromkeys(first for first in firsts if first.text != NONE))
    if len(several) > 1:
        pairs = zip(cells, firsts, strict=True)
        return [_PER_RELEASE, *(replace(c, beside=(("original", first.text), *c.beside)) for c, first in pairs)]
    return [*(several or [Cell(NONE)]), *cells]


def before(log: LogView, release: ReleaseView, figure: Figure) -> Cell:
    """What the original log has for a figure of a release."""
    if figure.before in ("rows", "queries"):
        if log.size_told is not None:
            return Cell(NONE)
        return Cell(shown(getattr(log, figure.before), ""))
    if figure.before.startswith("before."):
        return next(
            (_cell(table, figure.measure, figure.before) for table in _measured(log, [release], figure)), Cell(NONE)
        )
    return Cell(figure.before or NONE)


def with_numbers(releases: Sequence[ReleaseView], figures: Sequence[Figure]) -> list[Figure]:
    """Those of which some release has a number: a line of dashes says nothing."""
    columns = [each for release in releases for each in (release, release.baseline) if each is not None]
    return [figure for figure in figures if any(number(each, figure) is not None for each in columns)]


def number_before(log: LogView, releases: Sequence[ReleaseView], figure: Figure) -> float | None:
    """What the original log has for a figure that was measured on it; None also where it was prepared in several ways,
    and there are several numbers."""
    numbers = {_look(table, figure.measure, figure.before)[0] for table in _measured(log, releases, figure)}
    return numbers.pop() if len(numbers) == 1 else None


def any_number(log: LogView, releases: Sequence[ReleaseView], figures: Sequence[Figure]) -> bool:
    """Whether a table of these figures would have a number that was measured."""
    measured = (number(release, figure) for figure in figures for release in releases)
    on_original = (number_before(log, releases, figure) for figure in figures)
    return any(each is not None for numbers in (measured, on_original) for each in numbers)


def _measured(log: LogView, releases: Sequence[ReleaseView], figure: Figure) -> Iterator[pl.DataFrame]:
    """Where it was measured: on the log as it was read or else, with each release, on the log as it was prepared."""
    of_log = _look(log.exposure, figure.measure, figure.before)[0] is not None
    tables = [log.exposure] if of_log else [release.scores for release in releases]
    return (table for table in tables if _look(table, figure.measure, figure.before)[0] is not None)


def _look(scores: pl.DataFrame, name: str, key: str) -> tuple[float | None, str]:
    """A score with a value, and its unit."""
    score, unit = scored(scores, name, key)
    return (None if score is None or not math.isfinite(score) else score), unit


# --- numbers as text -------------------------------------------------------------------------------


def shown(number: float | None, unit: str, digits: int = 1) -> str:
    """A number with its unit; shares that are nearly, but not quite, 0% or 100% say so."""
    if number is None or not math.isfinite(number):
        return NONE
    if unit == _POINTS:
        return f"{number:+.{digits}f} points"
    if unit.startswith("%"):
        step = 10**-digits
        if 0 < number < step / 2:
            return f"<{step:.{digits}f}%"
        if 100 - step / 2 <= number < 100:
            return f">{100 - step:.{digits}f}%"
        return f"{number:.{digits}f}%"
    whole = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.3f}"
    return f"{whole} {unit}".strip()


def _cell(scores: pl.DataFrame, name: str, key: str) -> Cell:
    """A score with its unit and, where it has one, its interval."""
    score, unit = _look(scores, name, key)
    text = shown(score, "" if key.endswith(".count") else unit)
    low, high = (_look(scores, name, f"{key}.{end}")[0] for end in ("low", "high"))
    return Cell(text) if low is None or high is None else Cell(text, f"{shown(low, unit)} to {shown(high, unit)}")


def _text(scores: pl.DataFrame, name: str, key: str) -> str:
    return str(_cell(scores, name, key))


# --- editions --------------------------------------------------------------------------------------

Edition = Literal["internal", "external"]
EDITIONS: dict[Edition, str] = {
    "internal": "Internal edition: it names the input and has all figures. It stays with those who have the log.",
    "external": "External edition: it goes with the release. Names and digests of the input and exact counts of the "
    "log are left out; beside a release with differential privacy, so is every figure that was measured on the log.",
}
NOT_TOLD = "not told beside differential privacy"
_SMALL = 100
"""Below it a count of the log is not told, for two digits would be the whole of it."""


def public(log: LogView, releases: Sequence[ReleaseView]) -> tuple[LogView, list[ReleaseView]]:
    """What may leave the house."""
    spends = any("epsilon" in to_dict(promise) for release in releases for promise in release.promises)
    withheld = spends or log.users < _SMALL  # of few people, every rate and every control tells how many
    told = LogView(
        rows=0,
        users=0,
        queries=0,
        days=None,
        bad_lines=0,
        steps=log.steps,
        shape=log.shape,
        synthetic=log.synthetic,
        exposure=score_table([]),
        period=("", "") if spends else (log.period[0][:7], log.period[1][:7]),
        size_told=NOT_TOLD if spends else _size(log),
    )
    return told, [_public(release, withheld) for release in releases]


def _size(log: LogView) -> str:
    shape = SHAPES[log.shape]
    counts = ((log.rows, "rows"), (log.users, shape.subject_nouns), (log.queries, f"distinct {shape.item_nouns}"))
    return ", ".join(f"{in_two_digits(count)} {noun}" for count, noun in counts)


def in_two_digits(count: int) -> str:
    """About how many; a small count is not told."""
    return f"under {_SMALL}" if count < _SMALL else f"about {round(count, 2 - len(str(count))):,}"


def _public(release: ReleaseView, withheld: bool) -> ReleaseView:
    return ReleaseView(
        label=release.label,
        method=release.method,
        params=release.params,
        promises=release.promises,
        checks=tuple(_checked(check, withheld) for check in release.checks),
        warnings=release.warnings,
        scores=release.scores.clear() if withheld else _told(release.scores),
        largest_k=None if withheld else release.largest_k,
        rows=release.rows,
        regime=release.regime,
        changed=release.changed,
        steps=release.steps,
        file=release.file,
        sha256=release.sha256,
        baseline=None if withheld or release.baseline is None else _public(release.baseline, withheld),
        left_out={} if withheld else release.left_out,
        withheld=withheld,
    )


def _checked(check: Check, withheld: bool) -> Check:
    """Without how many people of the log a fault concerns and, beside a budget, how much was computed again."""
    return replace(check, concerns=None, how="" if withheld else check.how)


def _told(scores: pl.DataFrame) -> pl.DataFrame:
    """Rates that the page shows, and counts of what is released."""
    names = [f"{measure} {key}{end}" for measure, key in set(_on_page()) for end in ENDS]
    rate = pl.col("unit").str.starts_with("%") | pl.col("unit").str.starts_with("×")
    of_release = pl.col("key").str.starts_with("after.") | pl.col("key").str.ends_with(".count")
    people = pl.col("key").str.ends_with(".people")  # the width of an interval tells it as well
    told = scores.filter(pl.concat_str("name", pl.lit(" "), "key").is_in(names) & (rate | of_release | people))
    return told.with_columns(pl.when(people).then(pl.col("value").round_sig_figs(2)).otherwise("value").alias("value"))


def _on_page() -> Iterator[tuple[str, str]]:
    """Measure and key of every score that a figure, a sentence or the decision uses."""
    for figure in measures.figures():
        yield from ((figure.measure, key) for key in (figure.key, figure.before, *(key for _, key in figure.beside)))
    for finding in measures.findings():
        yield from ((finding.measure, key) for key in keys_in(finding))
    for each in measures.weighed():
        yield from ((each.measure, key) for key in each.keys)
