"""Report: numbers in, one page out, for the person who signs and for the one who compares.

`render` is pure: the same views give the same bytes. It sees counts and scores only; a string of the log can reach a
page through the column `label` of the scores and in no other way. `views` makes the views, `figures` collects what
measures show and works out what is missing, `decision` weighs risks for the first page, on which also stands what
people wrote in a file (`about`). The rest of what a page says is worked out here, and `_html`, `_charts` and
`_markdown` lay it out. No measure is known by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie.core.promise import Check, promise_nothing
from coterie.core.shapes import SHAPES
from coterie.core.wording import in_words_of
from coterie.errors import ParameterError
from coterie.reports.figures import NONE, RISKS, Figures, public, shown, value
from coterie.reports.views import LogView, ReleaseView

if TYPE_CHECKING:
    from coterie.reports.about import About

__all__ = ["LogView", "ReleaseView", "render", "report_kind", "shown", "value"]
Kind = Literal["html", "md", "json"]
State = Literal["kept", "not checked", "broken"]
ORIGINAL = "Original"
RANDOM = "Random groups"
RANDOM_READING = (
    "Random groups of the same k: the same method, except that users were put together at random. Where they do as "
    "well, the way in which users were grouped gained nothing."
)
LIMITS = (
    "A release cannot be called back: whoever has a copy keeps it, whatever is learned later.",
    "Knowledge from elsewhere (other data sets, social media, inside knowledge) is not modelled "
    "beyond what the promise says.",
    "What many people do stays visible on purpose, and may be held against each of them.",
    "The original log and the private run record are not protected by a release and need care of their own.",
)
SIDE_BY_SIDE = 4
"""Columns of one table, besides that of the original: more do not fit on a page."""
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def render(
    log: LogView,
    releases: Sequence[ReleaseView],
    kind: Kind,
    *,
    about: About | None = None,
    edition: Literal["internal", "external"] = "internal",
    date: str = "",
) -> str:
    """The report as one self-contained text: for those who keep the log, or for those who get the release.

    `about` is what only people can say; `date` the day of the report, a line to fill in where it is empty.
    """
    from coterie.reports import _markdown, decision

    releases = with_own_labels(releases)
    figures = Figures.collect(SHAPES[log.shape], with_hints=edition == "internal")
    if edition == "external":
        log, releases = public(log, releases)
    sheet = decision.decide(log, releases, figures, about, edition)
    data = _markdown.report_data(log, releases, figures, sheet)
    page = _markdown.Page(
        log=log,
        releases=releases,
        figures=figures,
        sheet=sheet,
        date=sheet.about.date or date,
        digest=decision.content_digest(data),
    )
    if kind == "json":
        return _markdown.as_json(page, data)
    if kind == "md":
        return _markdown.markdown(page)
    from coterie.reports._html import html

    return html(page)


def report_kind(path: Path) -> Kind:
    """What kind of report a file name asks for."""
    kinds: dict[str, Kind] = {".html": "html", ".md": "md", ".json": "json"}
    if path.suffix not in kinds:
        raise ParameterError(f"A report is written as .html, .md or .json, not {path.suffix!r}.")
    return kinds[path.suffix]


# --- the verdict ---------------------------------------------------------------------------------


def state(release: ReleaseView) -> State:
    """Broken when a check failed; kept only when all that the promise rests on was checked."""
    if any(check.status == "failed" for check in release.checks):
        return "broken"
    resting = [check.status for check in release.checks if check.carries_promise]
    return "kept" if resting and "not checked" not in resting else "not checked"


def verdict(release: ReleaseView, figures: Figures) -> str:
    """The verdict in a sentence or two."""
    total = len(release.checks)
    if state(release) == "broken":
        return checks_made(release.checks)
    if promise_nothing(release.promises):
        return "Nothing is promised about the people in this release: it is a yardstick, and no protection."
    if state(release) == "not checked":
        skipped = sum(check.status == "not checked" for check in release.checks)
        needed = f"{skipped} of {total} checks need the original log, or the run record (--record)"
        reason = needed if skipped else "no check was made of what it rests on"
        return f"Whether the promise holds was not checked: {reason}."
    return checks_made(release.checks, release.largest_k, figures.if_zero("verdict", release))


def checks_made(checks: Sequence[Check], largest_k: int | None = None, notes: Sequence[str] = ()) -> str:
    """How many checks were made and what came of them, where the promise is broken or kept."""
    total, failed = len(checks), sum(check.status == "failed" for check in checks)
    skipped = sum(check.status == "not checked" for check in checks)
    if failed:
        return f"{failed} of {total} checks failed. This release must not be shared."
    done = f"{total - skipped} of {total} checks were made and passed" if skipped else f"All {total} checks passed"
    if notes:
        return f"{done}. {' '.join(notes)}"
    return f"{done}; the promise holds up to k = {largest_k}." if largest_k else f"{done}."


# --- releases side by side ---------------------------------------------------------------------


def merge(
    releases: Sequence[ReleaseView],
    texts: Callable[[ReleaseView], Iterable[str]],
    names: Sequence[str] | None = None,
    *,
    for_any_k: bool = False,
) -> list[tuple[str, tuple[str, ...]]]:
    """Distinct texts, each with the releases it is about (none named where it is about all).

    With `for_any_k`, texts that differ in nothing but the k of their releases become one, which says k. Other numbers
    are never put into one sentence.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for release, name in zip(releases, names or labels(releases), strict=True):
        for text in texts(release):
            in_k = _in_k(text, str(release.k))
            groups.setdefault(in_k if for_any_k else text, []).append((name, text))
    return [
        (alike[0][1] if len({text for _, text in alike}) == 1 else in_k, _named([name for name, _ in alike], releases))
        for in_k, alike in groups.items()
    ]


def _in_k(text: str, k: str) -> str:
    return _NUMBER.sub(lambda number: "k" if number[0] == k else number[0], text)


def _named(about: Sequence[str], releases: Sequence[ReleaseView]) -> tuple[str, ...]:
    """Releases by their labels, and all of a method by its name; nobody where it is all there are."""
    if len(about) == len(releases):
        return ()
    every, lines = labels(releases), series(releases)
    whole = [
        line
        for line in dict.fromkeys(lines)
        if lines.count(line) > 1 and all(label in about for label, of in zip(every, lines, strict=True) if of == line)
    ]
    line_of = dict(zip(every, lines, strict=True))
    return tuple(dict.fromkeys(line_of[name] if line_of.get(name) in whole else name for name in about))


def attacker(
    releases: Sequence[ReleaseView], figures: Figures
) -> Iterator[tuple[str, str, list[tuple[str, tuple[str, ...]]]]]:
    """Each risk, its question, and what there is to say, each text once with the releases it is about."""
    names = labels(releases)
    said = [figures.attacker(release) for release in releases]
    for risk, question in RISKS.items():
        texts: dict[str, list[str]] = {}
        for name, each in zip(names, said, strict=True):
            for text in each[risk]:
                texts.setdefault(text, []).append(name)
        question = in_words_of(figures.shape, question)
        yield risk, question, [(t, _named(about, releases)) for t, about in texts.items()]


def with_own_labels(releases: Sequence[ReleaseView]) -> list[ReleaseView]:
    """The same releases with labels of which no two are alike: by settings, or else by the names of their files."""
    names = [release.label or NONE for release in releases]
    alike = {n: [r.params for r, other in zip(releases, names, strict=True) if other == n] for n in names}
    names = [" ".join([n, *_differing(r.params, alike[n])]) for r, n in zip(releases, names, strict=True)]
    named = [f"{n} ({r.file})" if names.count(n) > 1 and r.file else n for r, n in zip(releases, names, strict=True)]
    own = [f"{n} ({named[:i].count(n) + 1})" if n in named[:i] else n for i, n in enumerate(named)]
    return [replace(release, label=name) for release, name in zip(releases, own, strict=True)]


def labels(releases: Sequence[ReleaseView]) -> list[str]:
    """What releases are called on the page, wherever they stand; the only one is "Release" in the head of a table."""
    return ["Release"] if len(releases) == 1 else [release.label for release in releases]


def series(releases: Sequence[ReleaseView]) -> list[str]:
    """The line a release belongs to: its method, and the settings in which those differ."""
    names = []
    for release in releases:
        settings = _differing(release.params, [other.params for other in releases if other.method == release.method])
        names.append(f"{release.method} ({', '.join(settings)})" if settings else release.method)
    return names


def _differing(params: Mapping[str, Any], among: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings of a release, but for k, in which some differ."""
    keys = dict.fromkeys(key for each in among for key in each if key != "k")
    return [f"{key}={params.get(key)}" for key in keys if len({str(each.get(key)) for each in among}) > 1]


def side_by_side(releases: Sequence[ReleaseView], *, with_random: bool = True) -> list[list[tuple[str, ReleaseView]]]:
    """The columns of tables, few enough for paper: each release and, beside it, its random groups."""
    tables: list[list[tuple[str, ReleaseView]]] = []
    for release, name in zip(releases, labels(releases), strict=True):
        columns = [(name, release)]
        if with_random and release.baseline is not None:
            columns.append((f"{RANDOM} of the same k", release.baseline))
        if not tables or len(tables[-1]) + len(columns) > SIDE_BY_SIDE:
            tables.append([])
        tables[-1] += columns
    return tables
