"""Figures of the studio: what reports say about a log and a release, as plain numbers and sentences.

Which figures there are, what they are called and which rates are weighed is asked of the measures; nothing is known
here by name.
"""

from __future__ import annotations

import polars as pl

from coterie import measures
from coterie.apps.studio.plain import RiskNumber, Shown
from coterie.core.log import Log
from coterie.core.shapes import Shape
from coterie.core.wording import in_words_of
from coterie.reports import figures as report
from coterie.reports.decision import Line, Sheet, decide
from coterie.reports.views import LogView, ReleaseView, scored

_SECTIONS = ("privacy", "attacks", "utility")


def shown_of(log: LogView, view: ReleaseView, random: ReleaseView | None, shape: Shape) -> tuple[Shown, ...]:
    """The figures of a release that were measured, with those of random groups where there are some."""
    every = report.Figures.collect(shape)
    found = []
    for section in _SECTIONS:
        for figure in every.tabled(section, [view]):  # type: ignore[arg-type]  # one of the three
            number = report.number(view, figure)
            if number is None:
                continue
            found.append(
                Shown(
                    measure=figure.measure,
                    key=figure.key,
                    section=section,
                    title=figure.title,
                    reading=figure.reading,
                    before=str(report.before(log, view, figure)),
                    after=str(report.cell(view, figure)),
                    number=number,
                    axis=figure.glance.axis if figure.glance is not None else "",
                    random="" if random is None else str(report.cell(random, figure)),
                    random_number=None if random is None else report.number(random, figure),
                )
            )
    return tuple(found)


def numbers_now(log: Log, scores: pl.DataFrame, view: LogView) -> tuple[RiskNumber, ...]:
    """The three questions, each with the largest rate on the log as it is, and the others beside it.

    They are the numbers under Before on a decision sheet, where the attack that decides depends on the release.
    """
    numbers = []
    for risk, question in report.RISKS.items():
        found = []
        for each in measures.weighed():
            value, unit = scored(scores, each.measure, f"before.{each.rate}")
            if each.risk == risk and value is not None:
                control, _ = scored(scores, each.measure, f"before.{each.rate}.control")
                says = in_words_of(log.shape, each.attacker)
                found.append((value, report.shown(value, unit), says, report.shown(control, "%")))  # as on the sheet
        found.sort(key=lambda each: -each[0])
        first = found[0] if found else (None, report.NONE, "", report.NONE)
        others = [(says[0].upper() + says[1:], text) for _, text, says, _ in found[1:]]
        if risk == "singling out":
            others += _alone(view, log.shape)
        numbers.append(
            RiskNumber(
                risk=risk,
                question=in_words_of(log.shape, question),
                number=first[0],
                text=first[1],
                says=first[2],
                control="" if first[3] == report.NONE else first[3],
                others=tuple(others),
            )
        )
    return tuple(numbers)


def _alone(view: LogView, shape: Shape) -> list[tuple[str, str]]:
    """How many people single items or profiles single out, as every report says it."""
    every = report.Figures.collect(shape).every
    lines = [figure for figure in every if figure.before.startswith("before.")]
    found = [(figure, *scored(view.exposure, figure.measure, figure.before)) for figure in lines]
    return [(figure.title, report.shown(value, unit)) for figure, value, unit in found if value is not None]


def weighed_in(log: LogView, view: ReleaseView, shape: Shape) -> tuple[tuple[Line, ...], str]:
    """The three lines of the first page of a report about this release alone, and what it would recommend."""
    sheet = decide(log, [view], report.Figures.collect(shape), None, "internal")
    return lines_of(sheet), sheet.advice


def lines_of(sheet: Sheet) -> tuple[Line, ...]:
    """The three lines of the first page of a report about one release."""
    return tuple(line for weighing in sheet.weighings for line in weighing.lines)


def findings_in(view: ReleaseView, shape: Shape) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each risk's question, and what attacks say under it; what was not measured is left to the table."""
    every = report.Figures.collect(shape)
    said = []
    for risk, question in report.RISKS.items():
        texts = (report.said_of(view.scores, finding) for finding in every.findings if finding.risk == risk)
        said.append((in_words_of(shape, question), tuple(text for text in texts if text is not None)))
    return tuple(said)
