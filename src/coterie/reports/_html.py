"""The report as one HTML page: nothing is loaded from elsewhere, and no script runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import jinja2
from markupsafe import Markup, escape

from coterie import __version__
from coterie.reports import (
    ATTACKS,
    LIMITS,
    NONE,
    ORIGINAL,
    PRIVACY,
    RANDOM,
    RANDOM_READING,
    THIN,
    Figure,
    LogView,
    ReleaseView,
    before,
    cell,
    merge,
    missing,
    others,
    privacy,
    series,
    short_labels,
    shown,
    side_by_side,
    state,
    utility,
    value,
    value_before,
    verdict,
)
from coterie.reports._charts import FONT, Panel, bars, curves, dots, trade_off
from coterie.reports._markdown import ATTACKS_SAY, check_rows, top

COLUMNS = 6  # releases side by side in one table or drawing; more do not fit on paper
EXPOSURE = PRIVACY[0]
KEPT = Figure("release_share", "rows", "Rows kept", "")
OVER_K = (
    KEPT,
    Figure("release_share", "queries", "Distinct queries kept", ""),
    Figure("information_loss", "whole_log", "Information loss, whole log", ""),
    EXPOSURE,
    Figure("exposure", "channel.mean", "Exposure, counting what is absent", ""),
    Figure("information_loss", "per_user_capped.mean", "Information loss, mean over users", ""),
)


@dataclass(frozen=True)
class Group:
    """Drawings that answer one question, and their numbers as a table."""

    title: str
    reading: str
    panels: tuple[Panel, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def html(log: LogView, releases: Sequence[ReleaseView]) -> str:
    """The page."""
    names = short_labels(releases)
    states = [state(release) for release in releases]
    most = COLUMNS // 2 if any(release.baseline for release in releases) else COLUMNS
    size = math.ceil(len(releases) / max(1, math.ceil(len(releases) / most)))
    starts = range(0, len(releases), max(1, size))
    batches = [(names[i : i + size], releases[i : i + size]) for i in starts]
    columns = [side_by_side(batch, some) for some, batch in batches]
    tables = {
        title: [([name for name, _ in some], _table(log, releases, some, figures)) for some in columns]
        for title, figures in _figures(releases)
    }
    page = _template().render(
        log=log,
        releases=list(zip(releases, names, states, strict=True)),
        counts=[(s, states.count(s)) for s in ("kept", "not checked", "broken") if s in states],
        verdict=verdict,
        checks=[(some, check_rows(batch, some), [release.largest_k for release in batch]) for some, batch in batches],
        tables=tables,
        attacks_say=ATTACKS_SAY,
        dashes=any(NONE in r for t in tables.values() for _, rows in t for _, _, r in rows),
        compare=[group for group in (_overview(releases), _over_k(releases)) if group],
        singled=_singled_out(log, releases),
        frequency=_frequency(releases),
        missing=merge(releases, missing),
        random=RANDOM_READING if any(release.baseline for release in releases) else "",
        limits=merge(releases, lambda release: release.limits),
        general=LIMITS,
        version=__version__,
        font=FONT,
    )
    return re.sub(r"\n\s*\n+", "\n", page)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("coterie", "reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thin"] = lambda text: re.sub(r"(?<=\d),(?=\d{3}\b)", THIN, str(text))
    environment.filters["breakable"] = lambda text: escape(text).replace("_", Markup("_<wbr>"))
    environment.filters["drawn"] = _drawn
    environment.filters["count"] = lambda number: shown(number, "")
    return environment.get_template("template.html.j2")


def _drawn(panel: Panel) -> Markup:
    """The drawing as one picture with a text in its place for those who do not see it."""
    said = escape(panel.alt)
    return Markup(panel.svg.replace("<svg", f'<svg role="img" aria-label="{said}"', 1))  # noqa: S704


def _figures(releases: Sequence[ReleaseView]) -> Iterator[tuple[str, Sequence[Figure]]]:
    yield "privacy", privacy(releases)
    yield "attacks", ATTACKS
    yield "utility", utility(releases)
    yield "others", others(releases)


def _table(
    log: LogView,
    releases: Sequence[ReleaseView],
    columns: Sequence[tuple[str, ReleaseView]],
    figures: Sequence[Figure],
) -> list[tuple[Figure, str, list[str]]]:
    return [(f, before(log, releases, f), [cell(r, f) for _, r in columns]) for f in figures]


# --- groups of drawings --------------------------------------------------------------------------


def _value(release: ReleaseView, figure: Figure) -> float | None:
    return value(release, figure.name, figure.key)


def _known(releases: Sequence[ReleaseView], figures: Sequence[Figure]) -> list[Figure]:
    return [f for f in figures if any(_value(r, f) is not None for r in releases)]


def _overview(releases: Sequence[ReleaseView]) -> Group | None:
    figures = _known(releases, (EXPOSURE, KEPT))
    if not figures:
        return None
    lines, names = series(releases), short_labels(releases)
    every = list(dict.fromkeys(lines))
    panels = [
        bars(f.title, list(zip(names, [_value(r, f) for r in releases], lines, strict=True)), every) for f in figures
    ]
    reading = {EXPOSURE: "Less exposure is safer.", KEPT: "More rows are more useful."}
    both = [
        (line, name, x, y)
        for line, name, r in zip(lines, names, releases, strict=True)
        if (x := _value(r, EXPOSURE)) is not None and (y := _value(r, KEPT)) is not None
    ]
    said = [reading[figure] for figure in figures]
    if len(both) > 2:
        panels.append(trade_off("Rows kept against exposure", both))
        said.append("Where both are drawn against each other, the best corner is at the top left.")
    rows = tuple(
        (name, line, *(cell(r, f) for f in figures)) for name, line, r in zip(names, lines, releases, strict=True)
    )
    head = ("Release", "Method", *(figure.title for figure in figures))
    return Group("Exposure and share kept", " ".join(said), tuple(panels), head, rows)


def _over_k(releases: Sequence[ReleaseView]) -> Group | None:
    """Curves for the methods that were run with several k."""
    found = [(s, r.params.get("k"), r) for s, r in zip(series(releases), releases, strict=True)]
    several = [(s, k, r) for s, k, r in found if k is not None and len({j for t, j, _ in found if t == s}) > 1]
    lines = list(dict.fromkeys(s for s, _, _ in several))
    several.sort(key=lambda item: (lines.index(item[0]), item[1]))
    figures = _known([r for _, _, r in several], OVER_K)
    if not figures:
        return None
    grouped = list(dict.fromkeys(s for s, _, r in several if r.baseline))
    random = {s: RANDOM if len(grouped) == 1 else f"{RANDOM}, {s}" for s in grouped}
    several += [(random[s], k, r.baseline) for s, k, r in several if r.baseline]
    quiet = list(random.values())
    return Group(
        "What a larger k changes",
        "A larger k hides each searcher among more people and keeps less of the log. Exposure "
        "should fall faster than what is kept.",
        tuple(curves(f.title, [(s, k, _value(r, f)) for s, k, r in several], quiet) for f in figures),
        ("Method", "k", *(f.title for f in figures)),
        tuple((s, str(k), *(cell(r, f) for f in figures)) for s, k, r in several),
    )


def _singled_out(log: LogView, releases: Sequence[ReleaseView]) -> Group | None:
    figures = [f for f in PRIVACY if f.name == "uniqueness"]
    figures = [f for f in figures if _known(releases, [f]) or value_before(log, (), f) is not None]
    if not figures:
        return None
    names, lines = [ORIGINAL, *short_labels(releases)], [ORIGINAL, *series(releases)]
    every = list(dict.fromkeys(lines[1:]))
    panels, columns = [], []
    for figure in figures:
        values = [value_before(log, releases, figure), *(_value(r, figure) for r in releases)]
        panels.append(bars(figure.title, list(zip(names, values, lines, strict=True)), every))
        columns.append([shown(number, "%") for number in values])
    return Group(
        "People singled out, before and after",
        "Share of users in the original, and of names in a release, whom somebody would recognize "
        "who knows this much about them.",
        tuple(panels),
        ("Log", *(figure.title for figure in figures)),
        tuple(zip(names, *columns, strict=True)),
    )


def _frequency(releases: Sequence[ReleaseView]) -> Group | None:
    """The most frequent queries and words; the first few releases only."""
    panels: list[Panel] = []
    rows: list[tuple[str, ...]] = []
    head: tuple[str, ...] = ()
    for kind, title in (("query", "Most frequent queries"), ("word", "Most frequent words")):
        labels, columns = top(releases, kind, COLUMNS)
        if not labels:
            continue
        head = ("Kind", "Text", *columns)
        panels.append(dots(title, labels, columns))
        shares = [[shown(share, "%", 2) for share in column] for column in columns.values()]
        rows += [(kind, *row) for row in zip(labels, *shares, strict=True)]
    if not panels:
        return None
    cut = f" The first {COLUMNS} releases are drawn." if len(releases) > COLUMNS else ""
    return Group(
        "The most frequent queries and words, before and after",
        "Share of each in all rows (words: in all words). Where rare queries are left out the "
        f"shares of the others grow; what matters is that their order stays.{cut}",
        tuple(panels),
        head,
        tuple(rows),
    )
