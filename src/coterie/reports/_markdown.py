"""The page, and the report as text: Markdown that reads well in a terminal, and JSON for programs.

What the HTML page shows as well is worked out once: the sections of a `Page`, the tables of checks and of frequent
texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import polars as pl

from coterie import __version__
from coterie.core.promise import Check, to_dict
from coterie.core.scores import Figure, Section
from coterie.core.shapes import SHAPES
from coterie.core.wording import in_words_of
from coterie.reports import (
    LIMITS,
    ORIGINAL,
    RANDOM_READING,
    LogView,
    ReleaseView,
    attacker,
    labels,
    merge,
    side_by_side,
    state,
    verdict,
)
from coterie.reports.decision import COLUMNS_SAY, FILL_IN, Line, Sheet, Weighing, sheet_data
from coterie.reports.figures import (
    ATTACKER_SAYS,
    EDITIONS,
    EMPTY,
    NONE,
    Cell,
    Figures,
    any_number,
    line,
    shown,
    value,
    with_numbers,
)

ATTACKS_SAY = (
    "Adversaries tried to find people in the original under other names, and in the release. What they did not find, "
    "another attack or more knowledge may find."
)
COUNTS_SAY = "The number is how many were looked at."
_OF_QUESTIONS = (
    "Question", "Before", "After", "Of what was released", "Control", "People", "Risk", "Threshold", "Verdict"
)  # fmt: skip
MARKS = {"kept": "✓", "passed": "✓", "broken": "✗", "failed": "✗"}


Said = list[tuple[str, tuple[str, ...]]]
"""Texts, each with the releases it is about."""


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

    @cached_property
    def checks(self) -> list[tuple[Sequence[str], Sequence[ReleaseView], list[CheckRow]]]:
        """The releases of each table of checks, by name and as they are, and its lines."""
        batches = [zip(*columns, strict=True) for columns in side_by_side(self.releases, with_random=False)]
        return [(names, some, check_rows(some, names)) for names, some in batches]

    @cached_property
    def sections(self) -> dict[str, list[Figure]]:
        """The figures of each section, and those of measures that stand in no table."""
        sections: tuple[Section, ...] = ("privacy", "attacks", "utility")
        tabled: dict[str, list[Figure]] = {name: self.figures.tabled(name, self.releases) for name in sections}
        return {**tabled, "others": self.figures.others(self.releases)}

    @cached_property
    def tables(self) -> dict[str, list[tuple[list[str], list[tuple[Figure, list[Cell]]]]]]:
        """Of each section with numbers: what stands above the columns, and a line for each figure that is in one."""
        having = {name: some for name, some in self.sections.items() if any_number(self.log, self.releases, some)}
        return {name: list(self._tables_of(some)) for name, some in having.items()}

    def _tables_of(self, figures: Sequence[Figure]) -> Iterator[tuple[list[str], list[tuple[Figure, list[Cell]]]]]:
        for columns in side_by_side(self.releases):
            views = [view for _, view in columns]
            if rows := [(figure, line(self.log, views, figure)) for figure in with_numbers(views, figures)]:
                yield [ORIGINAL, *(name for name, _ in columns)], rows

    @cached_property
    def missing(self) -> Said:
        """What was not measured, and why."""
        return merge(self.releases, self.figures.missing)

    @cached_property
    def limits(self) -> Said:
        """What the promises do not say."""
        return merge(self.releases, lambda release: release.limits, for_any_k=True)

    @cached_property
    def attacker(self) -> list[tuple[str, str, Said]]:
        """What an attacker can and cannot do, by risk."""
        return list(attacker(self.releases, self.figures))

    @property
    def attacks_say(self) -> str:
        """What stands above the attacks."""
        return in_words_of(SHAPES[self.log.shape], ATTACKS_SAY)

    @property
    def random(self) -> str:
        """What random groups are; empty where there are none."""
        there = any(release.baseline for release in self.releases)
        return in_words_of(SHAPES[self.log.shape], RANDOM_READING) if there else ""


def markdown(page: Page) -> str:
    """The page as Markdown."""
    sections = (_sheet, _verdicts, _checks, _privacy, _attacker, _utility, _limits, _again)
    lines = [f"# Release report, {page.sheet.edition} edition", ""]
    for section in sections:
        lines += [*section(page), ""]
    lines += [EDITIONS[page.sheet.edition], ""]
    lines.append(f"Made with Coterie {__version__}. SHA-256 of what it says, without its date: {page.digest}")
    return "\n".join(lines) + "\n"


def report_data(
    log: LogView, releases: Sequence[ReleaseView], figures: Figures, sheet: Sheet
) -> dict[str, Any]:  # fmt: skip
    """Everything in one object, without any text of the log and without the date."""
    digits = None if sheet.edition == "internal" else 1
    if log.size_told is None:
        facts = {key: entry for key, entry in vars(log).items() if key not in ("exposure", "size_told")}
        facts["exposure"] = _scores(log.exposure, None)
    else:
        facts = {"shape": log.shape, "synthetic": log.synthetic, "period": log.period, "size": log.size_told}
    return {
        "decision": sheet_data(sheet),
        "log": facts,
        "releases": [_release_data(release, figures, digits) for release in releases],
    }


def as_json(page: Page, data: dict[str, Any]) -> str:
    """The same as JSON, with the date and the digest of all the rest."""
    whole = {**data, "date": page.date or None, "sha256_without_date": page.digest}
    return json.dumps(whole, sort_keys=True, indent=2, ensure_ascii=False, default=str) + "\n"


def _release_data(release: ReleaseView, figures: Figures, digits: int | None) -> dict[str, Any]:
    def numbers(of: ReleaseView) -> dict[str, Any]:
        return {"parameters": dict(of.params), "scores": _scores(of.scores, digits)}

    return {
        **numbers(release),
        "label": release.label,
        "method": release.method,
        "regime": {"name": release.regime, "changed": list(release.changed)} if release.regime else None,
        "promises": [{**to_dict(each), "limits": list(each.limits)} for each in release.promises],
        "verdict": state(release),
        "summary": verdict(release, figures),
        "largest_k": release.largest_k,
        "file": release.file or None,
        "sha256": release.sha256 or None,
        "checks": [asdict(check) for check in release.checks],
        "warnings": list(release.warnings),
        "missing": list(figures.missing(release)),
        "attacker": figures.attacker(release),
        "random_groups": release.baseline and {"meaning": RANDOM_READING, **numbers(release.baseline)},
    }


def _scores(scores: pl.DataFrame, digits: int | None) -> list[dict[str, Any]]:
    value = pl.col("value") if digits is None else pl.col("value").round(digits)
    finite = pl.when(value.is_finite()).then(value).alias("value")
    return scores.select("name", "key", finite, "unit").to_dicts()


# --- tables that both pages show -----------------------------------------------------------------


@dataclass(frozen=True)
class CheckRow:
    """One check over several releases."""

    name: str
    carries_promise: bool
    needs_original: bool
    found: tuple[tuple[str, tuple[str, ...]], ...]
    results: tuple[tuple[str, str], ...]
    """Of each release its status, and how many rows, items or people were looked at."""


def check_rows(releases: Sequence[ReleaseView], names: Sequence[str]) -> list[CheckRow]:
    """The checks of some releases side by side, in the order in which they were made."""
    tables: list[dict[tuple[str, int], Check]] = []
    for release in releases:
        seen = [check.name for check in release.checks]
        keys = [(name, seen[:i].count(name)) for i, name in enumerate(seen)]
        tables.append(dict(zip(keys, release.checks, strict=True)))
    return [_check_row(key, releases, tables, names) for key in dict.fromkeys(chain(*tables))]


def _check_row(
    key: tuple[str, int],
    releases: Sequence[ReleaseView],
    tables: Sequence[Mapping[tuple[str, int], Check]],
    names: Sequence[str],
) -> CheckRow:
    made = [table.get(key) for table in tables]
    texts = {id(r): [_without_count(check).text] for r, check in zip(releases, made, strict=True) if check is not None}
    return CheckRow(
        name=key[0],
        carries_promise=any(check.carries_promise for check in made if check is not None),
        needs_original=any(check.needs_original for check in made if check is not None),
        found=tuple(merge(releases, lambda release: texts.get(id(release), []), names, for_any_k=True)),
        results=tuple((NONE, "") if check is None else (check.status, _count(check)) for check in made),
    )


def _count(check: Check) -> str:
    """How many were looked at, where its sentence does not need that number."""
    return f"{check.looked_at:,}" if check.status == "passed" and check.looked_at is not None else ""


def _without_count(check: Check) -> Check:
    return replace(check, looked_at=None) if _count(check) else check


def ranked(figure: Figure, log: LogView) -> str:
    """What a figure with a ranking ranks, in words: `query` of the scores query.1, query.1.original ..."""
    return in_words_of(SHAPES[log.shape], figure.key.partition(".")[0])


def ranking(
    log: LogView, releases: Sequence[ReleaseView], figure: Figure, most: int | None = None
) -> tuple[list[str], dict[str, list[float | None]]]:
    """The most frequent texts of a kind, and their shares in the original and in each release.

    A text is named only where the scores name it; otherwise its rank stands for it.
    """
    name, kind = figure.measure, figure.key.partition(".")[0]
    pairs = list(zip(labels(releases), releases, strict=True))
    if len(releases) == 1:
        pairs = side_by_side(releases)[0]
    having = [(r, n) for n, r in pairs if value(r, name, f"{kind}.1") is not None][:most]
    if not having:
        return [], {}
    first = having[0][0]
    ranks = [i for i in range(1, 11) if value(first, name, f"{kind}.{i}.original") is not None]
    shares = {ORIGINAL: [value(first, name, f"{kind}.{i}.original") for i in ranks]}
    shares |= {n: [value(r, name, f"{kind}.{i}") for i in ranks] for r, n in having}
    names: dict[str, str | None] = {}
    if "label" in first.scores.columns:
        rows = first.scores.filter(pl.col("name") == name).select("key", "label")
        names = dict(rows.iter_rows())
    return [names.get(f"{kind}.{i}") or f"{ranked(figure, log)} {i}" for i in ranks], shares


# --- sections ------------------------------------------------------------------------------------


def _sheet(page: Page) -> Iterator[str]:
    """The decision sheet."""
    sheet, about = page.sheet, page.sheet.about
    yield from ("## Decision sheet", "", "### Context", "")
    yield from _known((("Purpose", about.purpose), ("Recipient", about.recipient), ("Conditions", about.conditions)))
    yield from ("", "### Data", "")
    yield from _known(sheet.facts)
    if page.log.synthetic:
        yield "- The log is synthetic: its rows were made up and are about nobody."
    yield from ("", "### Identifiability", "")
    for weighing in sheet.weighings:
        yield from _weighing(weighing)
    yield from (f"{COLUMNS_SAY} {sheet.policy_says}", "", _plain(sheet.can_and_cannot), "")
    for rule in sheet.rules:
        yield from (f"### Regime: {_plain(rule.title)}", "")
        yield from (f"{_plain(rule.label)} has the settings of the file `{rule.regime}`.", "")
        yield from _known(rule.said)
        yield from (f"- Source: {_plain(f'{s.title} ({s.date}), {s.url}: {s.says}')}" for s in rule.sources)
        yield ""
    yield from _signed(page)


def _weighing(weighing: Weighing) -> Iterator[str]:
    """The risks of a release, and what looks like personal data in it."""
    yield from (f"{_plain(weighing.label)}:", "")
    rows = []
    for asked in weighing.lines:
        who = f"{asked.risk}: {asked.attacker} ({asked.compared})" if asked.attacker else asked.risk
        rows.append((who, *_rates(asked), asked.verdict))
        rows += [(f"also: {each.attacker} ({each.compared})", *_rates(each), each.verdict) for each in asked.others]
    yield from (*_table(_OF_QUESTIONS, rows), "")
    for what, first, after in weighing.personal:
        yield f"- {what}: {_plain(after)}" + ("" if first == NONE else f" (original: {_plain(first)})")
    if not weighing.personal:
        yield "- Rows that look like personal data: not counted"
    yield ""


def _signed(page: Page) -> Iterator[str]:
    """What is recommended, and what is signed."""
    sheet, about = page.sheet, page.sheet.about
    yield from ("### Mitigation", "")
    if sheet.weighings:
        yield from (f"**{sheet.heading}.** {_plain(sheet.advice)}", "")
    if sheet.chosen is not None:
        yield from (f"Recommended is the file {_plain(sheet.chosen.which)}", "")
    yield from _known((("Why this k", about.reason), *((each.label, each.which) for each in sheet.weighings)))
    yield from ("", "### Governance", "")
    yield from _known((
        ("Reviewer", about.reviewer), ("Date", page.date), ("Next review", about.next_review),
        ("Software", f"Coterie {__version__}"),
    ))  # fmt: skip
    only = sheet.weighings[0] if len(sheet.weighings) == 1 else sheet.chosen
    which = "________________" if only is None else f"{_plain(only.label)}, {_plain(only.which)}"
    yield from ("", f"☐ May be shared   ☐ Must not be shared   Which: {which}", "")
    yield "Name and role: ________________   Date: __________   Signature: ________________"


def _rates(line: Line) -> tuple[str, ...]:
    """The numbers of an attack, in the order of the table."""
    around = "" if line.low is None else f" ({shown(line.low, '%')} to {shown(line.high, '%')})"
    promised = "" if line.bound is None else f"; 1 in k: {shown(line.bound, '%')}"
    rates = (line.before, line.after, line.released, line.control)
    risk = shown(line.shown_risk, "%") + around + promised
    return (*(shown(rate, "%") for rate in rates), shown(line.people, ""), risk, shown(line.threshold, "%"))


def _known(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"- {_plain(what)}: {_plain(fact) or FILL_IN}" for what, fact in facts)


def _listed(said: Said) -> Iterator[str]:
    return (f"- {_about(names)}{_plain(text)}" for text, names in said)


def _verdicts(page: Page) -> Iterator[str]:
    yield "## What was promised, and does it hold?"
    if not page.releases:
        yield from ("", "No release was given, so there is nothing to report.")
    for release in page.releases:
        yield from ("", f"### {_mark(state(release))}: {_plain(release.label)}")
        yield from ("", _plain(release.sentence), "", _plain(verdict(release, page.figures)))
        for cost in page.figures.headlines(release):
            yield from ("", f"**Cost.** {_plain(cost)}")
        for warning in release.warnings:
            yield from ("", f"**Note.** {_plain(warning)}")


def _checks(page: Page) -> Iterator[str]:
    yield from ("## What was checked", "")
    yield (
        "The checks read the released rows again and, where a promise cannot be seen in them "
        f"alone, the original log. Those marked * carry the promise; the others are housekeeping. {COUNTS_SAY}"
    )
    yield ""
    for names, some, checks in page.checks:
        rows = [
            (
                row.name + (" *" if row.carries_promise else ""),
                *(f"{_mark(status)} {count}".strip() for status, count in row.results),
                "yes" if row.needs_original else "no",
            )
            for row in checks
        ]
        if any(release.largest_k is not None for release in some):
            rows.append(("largest k that holds", *(shown(r.largest_k, "") for r in some), ""))
        yield from (*_table(("Check", *names, "Original needed"), rows, numbers=False), "")
    yield from ("What was found:", "")
    for row in check_rows(page.releases, labels(page.releases)):
        yield from (f"- {row.name}: {_about(names)}{_plain(text)}" for text, names in row.found)


def _privacy(page: Page) -> Iterator[str]:
    yield from ("## How private is it?", "")
    for text, names in page.missing:
        yield from (f"**Missing.** {_about(names)}{_plain(text)}", "")
    if page.random:
        yield from (page.random, "")
    yield from _table_of_figures(page, "privacy")
    yield from ("", "### Attacks", "", page.attacks_say, "")
    yield from _table_of_figures(page, "attacks")


def _attacker(page: Page) -> Iterator[str]:
    yield from ("## What an attacker can and cannot do", "", ATTACKER_SAYS)
    for risk, question, said in page.attacker:
        yield from ("", f"### {risk.capitalize()}: {question}", "", *_listed(said))


def _utility(page: Page) -> Iterator[str]:
    yield from ("## How useful is it?", "")
    yield from _table_of_figures(page, "utility")
    for figure in (each for drawn in page.figures.pictures("ranking").values() for each in drawn):
        labels, columns = ranking(page.log, page.releases, figure)
        if labels:
            yield from ("", f"### {figure.picture_title or figure.title}, share before and after", "")
            shares = [[shown(share, "%", 2) for share in column] for column in columns.values()]
            rows = list(zip(labels, *shares, strict=True))
            yield from _table((ranked(figure, page.log).capitalize(), *columns), rows)
    if page.sections["others"]:
        yield from ("", "### Other measures", "")
        yield from _table_of_figures(page, "others")


def _table_of_figures(page: Page, section: str) -> Iterator[str]:
    if section not in page.tables:
        yield EMPTY
        return
    for names, rows in page.tables[section]:
        yield from (*_table(("Figure", *names), [(figure.title, *map(str, cells)) for figure, cells in rows]), "")
    figures = with_numbers(page.releases, page.sections[section])
    yield from (f"- {figure.title}: {figure.reading}" for figure in figures if figure.reading)


def _limits(page: Page) -> Iterator[str]:
    yield from ("## What this does not protect", "", *_listed(page.limits), *(f"- {text}" for text in LIMITS))


def _again(page: Page) -> Iterator[str]:
    internal = page.sheet.edition == "internal"
    yield from ("## Parameters, and how to check again", "")
    set_to = [", ".join(f"{key} = {entry}" for key, entry in each.params.items()) for each in page.releases]
    rows = [(each.label, each.method, said) for each, said in zip(page.releases, set_to, strict=True)]
    yield from _table(("Release", "Method", "Parameters"), rows, numbers=False)
    yield from ("", "    coterie verify FILE" + (" --original LOG --record DIR" if internal else ""), "")
    alone = "without the original log that is as far as it gets, and it says whether the file is the one of this page"
    yield (
        "It exits with 0 when the promise holds, with 1 when it is broken and with 3 when it could not be checked with "
        f"what was given{'' if internal else f': {alone}'}."
    )


# --- text ----------------------------------------------------------------------------------------


def _mark(word: str) -> str:
    return f"{MARKS.get(word, '?')} {word}" if word != NONE else word


def _about(names: Sequence[str]) -> str:
    return "".join(f"({_plain(name)}) " for name in names)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no table cells, no links or pictures."""
    return re.sub(r"([\\`*|\[\]<>&])", r"\\\1", re.sub(r"\s+", " ", text))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = True) -> Iterator[str]:
    """A table whose columns line up in a terminal too."""
    cells = [[_plain(str(text)) for text in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(head))]
    right = [numbers and i > 0 for i in range(len(head))]
    rules = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]
    for row in (cells[0], rules, *cells[1:]):
        shapes = zip(row, widths, right, strict=True)
        padded = [text.rjust(w) if r else text.ljust(w) for text, w, r in shapes]
        yield f"| {' | '.join(padded)} |"
