"""The report as one HTML page: nothing is loaded from elsewhere, and no script runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import jinja2
from markupsafe import Markup, escape

from coterie import __version__
from coterie.core.scores import Figure, Picture
from coterie.core.shapes import QUERIES, SHAPES, VISITS
from coterie.core.wording import in_words_of
from coterie.reports import (
    LIMITS,
    ORIGINAL,
    RANDOM,
    SIDE_BY_SIDE,
    ReleaseView,
    labels,
    merge,
    series,
    state,
    verdict,
)
from coterie.reports._charts import FONT, Panel, Sign, bars, curves, dots, sign_svg, trade_off
from coterie.reports._markdown import COUNTS_SAY, Page, ranked, ranking
from coterie.reports.decision import COLUMNS_SAY, FILL_IN, common_axis
from coterie.reports.figures import (
    ATTACKER_SAYS,
    EDITIONS,
    EMPTY,
    NONE,
    cell,
    number,
    number_before,
    shown,
    with_numbers,
)

ON_SHEET = 3  # releases whose digests stand on the first page; those of more stand on the second


@dataclass(frozen=True)
class Group:
    """Drawings that answer one question, and their numbers as a table."""

    title: str
    reading: str
    panels: tuple[Panel, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False

    @property
    def legend(self) -> tuple[tuple[Sign, str], ...]:
        """The signs of all its pictures, each once."""
        return tuple((sign, sign.name) for sign in dict.fromkeys(sign for panel in self.panels for sign in panel.signs))


def html(page: Page) -> str:
    """The page."""
    releases, figures, sheet = page.releases, page.figures, page.sheet
    states = [state(release) for release in releases]
    lines = [row for tables in page.tables.values() for _, rows in tables for _, row in rows]
    text = _template().render(
        page=page,
        sheet=sheet,
        about=sheet.about,
        edition_says=EDITIONS[sheet.edition],
        weighing=sheet.weighings[sheet.shown] if sheet.weighings else None,
        axis=common_axis(sheet.weighings),
        few=len(releases) <= ON_SHEET,
        promises=merge(releases, lambda release: [release.sentence], for_any_k=True),
        costs=merge(releases, figures.headlines),
        notes=merge(releases, lambda release: release.warnings),
        releases=list(zip(releases, labels(releases), states, strict=True)),
        counts=[(s, states.count(s)) for s in ("kept", "not checked", "broken") if s in states],
        verdict=partial(verdict, figures=figures),
        checks=[(names, rows, _largest(some)) for names, some, rows in page.checks],
        dashes=any(cell.text == NONE for cells in lines for cell in cells[1:]),
        compare=[group for group in (_overview(page), _over_k(page)) if group],
        bars=_groups(page, "bars", _before_and_after),
        rankings=_groups(page, "ranking", _ranking),
        kind={VISITS.name: "access log", QUERIES.name: "search log"}.get(page.log.shape, "log"),
    )
    return re.sub(r"\n\s*\n+", "\n", text)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("coterie", "reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        fill_in=FILL_IN, columns_say=COLUMNS_SAY, counts_say=COUNTS_SAY, attacker_says=ATTACKER_SAYS, empty=EMPTY,
        general=LIMITS, version=__version__, font=FONT,
    )  # fmt: skip
    environment.filters["breakable"] = lambda text: escape(text).replace("_", Markup("_<wbr>"))
    environment.filters["drawn"] = _drawn
    environment.filters["count"] = lambda number: shown(number, "")
    environment.filters["percent"] = lambda number: shown(number, "%")
    environment.filters["sign"] = lambda sign: Markup(sign_svg(sign))  # noqa: S704  # colours and marks of ours
    return environment.get_template("template.html.j2")


def _drawn(panel: Panel) -> Markup:
    """The drawing as one picture with a text in its place for those who do not see it."""
    said = escape(panel.alt)
    return Markup(panel.svg.replace("<svg", f'<svg role="img" aria-label="{said}"', 1))  # noqa: S704


def _largest(releases: Sequence[ReleaseView]) -> list[int | None]:
    """The largest k that holds for each release; nothing where none of them has one."""
    largest = [release.largest_k for release in releases]
    return largest if any(k is not None for k in largest) else []


# --- groups of drawings --------------------------------------------------------------------------


def _groups(page: Page, kind: str, draw: Callable[[Page, Picture, Sequence[Figure]], Group | None]) -> list[Group]:
    """The pictures of a kind that measures ask for, and that have something to draw."""
    drawn = (draw(page, picture, each) for picture, each in page.figures.pictures(kind).items())
    return [group for group in drawn if group is not None]


def _overview(page: Page) -> Group | None:
    """What is drawn at a glance, and the first figure of privacy against the first of utility."""
    releases, chosen = page.releases, with_numbers(page.releases, page.figures.at_a_glance())
    glances = [figure.glance for figure in chosen if figure.glance is not None]
    if not glances:
        return None
    lines, names = series(releases), labels(releases)
    every = list(dict.fromkeys(lines))
    panels = [
        bars(f.title, list(zip(names, [number(r, f) for r in releases], lines, strict=True)), every) for f in chosen
    ]
    readings = [glance.reading for glance in glances]
    if maps := list(_maps(releases, chosen)):
        panels += maps
        readings.append("Where use is drawn against risk, the best corner is at the top left.")
    rows = tuple(
        (name, line, *(str(cell(r, f)) for f in chosen)) for name, line, r in zip(names, lines, releases, strict=True)
    )
    head = ("Release", "Method", *(figure.title for figure in chosen))
    title = " and ".join(glance.axis for glance in glances).capitalize()
    return Group(title, " ".join(readings), tuple(panels), head, rows)


def _maps(releases: Sequence[ReleaseView], figures: Sequence[Figure]) -> Iterator[Panel]:
    """Use against risk, where three releases have both; random groups in grey.

    Each kind of use against the first kind of risk, and the last kind of use, which is about meaning, against others.
    """
    uses = [figure for figure in figures if figure.section == "utility"]
    risks = [figure for figure in figures if figure.section != "utility"]
    pairs = [(risk, use) for place, risk in enumerate(risks) for use in (uses[-1:] if place else uses)]
    drawn = [*zip(series(releases), labels(releases), releases, strict=True)]
    drawn += [(RANDOM, f"{RANDOM}, {name}", r.baseline) for _, name, r in drawn if r.baseline is not None]
    for across, upwards in pairs:
        if across.glance is None or upwards.glance is None:
            continue
        points = [
            (line, name, x, y)
            for line, name, r in drawn
            if (x := number(r, across)) is not None and (y := number(r, upwards)) is not None
        ]
        if len(points) > 2:
            axes = across.glance.axis, upwards.glance.axis
            yield trade_off(axes, points, quiet=[RANDOM], every=list(dict.fromkeys(line for line, _, _ in drawn)))


def _over_k(page: Page) -> Group | None:
    """Curves for the methods that were run with several k."""
    with_k = [(s, r.k, r) for s, r in zip(series(page.releases), page.releases, strict=True) if r.k is not None]
    several = [(s, k, r) for s, k, r in with_k if len({j for t, j, _ in with_k if t == s}) > 1]
    lines = list(dict.fromkeys(s for s, _, _ in several))
    several.sort(key=lambda item: (lines.index(item[0]), item[1]))
    chosen = with_numbers([r for _, _, r in several], page.figures.over_k())
    if not chosen:
        return None
    at_random = [(s, k, r.baseline) for s, k, r in several if r.baseline]
    grouped = list(dict.fromkeys(s for s, _, _ in at_random))
    random = {s: RANDOM if len(grouped) == 1 else f"{RANDOM}, {s}" for s in grouped}
    several += [(random[s], k, baseline) for s, k, baseline in at_random]
    hides = "A larger k hides each searcher among more people and keeps less of the log. "
    return Group(
        "What a larger k changes",
        in_words_of(SHAPES[page.log.shape], hides) + "Exposure should fall faster than what is kept.",
        tuple(curves(f.title, [(s, k, number(r, f)) for s, k, r in several], [*random.values()]) for f in chosen),
        ("Method", "k", *(f.title for f in chosen)),
        tuple((s, str(k), *(str(cell(r, f)) for f in chosen)) for s, k, r in several),
    )


def _before_and_after(page: Page, picture: Picture, figures: Sequence[Figure]) -> Group | None:
    """Bars for the original and for each release."""
    log, releases = page.log, page.releases
    chosen = [f for f in figures if with_numbers(releases, [f]) or number_before(log, (), f) is not None]
    if not chosen:
        return None
    names, lines = [ORIGINAL, *labels(releases)], [ORIGINAL, *series(releases)]
    every = list(dict.fromkeys(lines[1:]))
    panels, columns = [], []
    for figure in chosen:
        numbers = [number_before(log, releases, figure), *(number(r, figure) for r in releases)]
        panels.append(bars(figure.title, list(zip(names, numbers, lines, strict=True)), every))
        columns.append([shown(each, "%") for each in numbers])
    head = ("Log", *(figure.title for figure in chosen))
    return Group(picture.title, picture.reading, tuple(panels), head, tuple(zip(names, *columns, strict=True)))


def _ranking(page: Page, picture: Picture, figures: Sequence[Figure]) -> Group | None:
    """The most frequent texts; the first few releases only."""
    log, releases = page.log, page.releases
    panels: list[Panel] = []
    rows: list[tuple[str, ...]] = []
    head: tuple[str, ...] = ()
    for figure in figures:
        labels, columns = ranking(log, releases, figure, SIDE_BY_SIDE)
        if not labels:
            continue
        head = ("Kind", "Text", *columns)
        panels.append(dots(figure.picture_title or figure.title, labels, columns))
        shares = [[shown(share, "%", 2) for share in column] for column in columns.values()]
        rows += [(ranked(figure, log), *row) for row in zip(labels, *shares, strict=True)]
    if not panels:
        return None
    cut = f" The first {SIDE_BY_SIDE} releases are drawn." if len(releases) > SIDE_BY_SIDE else ""
    return Group(picture.title, picture.reading + cut, tuple(panels), head, tuple(rows), wide=len(panels) == 2)
