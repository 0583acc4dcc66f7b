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
from coterie.core.shapes import QUERIES, SHAPES, VISITS, Shape
from coterie.core.wording import in_words_of
from coterie.reports import (
    LIMITS,
    ORIGINAL,
    RANDOM,
    RANDOM_READING,
    SIDE_BY_SIDE,
    LogView,
    ReleaseView,
    attacker,
    labels,
    merge,
    series,
    side_by_side,
    state,
    verdict,
)
from coterie.reports._charts import FONT, Panel, Sign, bars, curves, dots, sign_svg, trade_off
from coterie.reports._markdown import ATTACKS_SAY, COUNTS_SAY, check_rows, ranked, ranking
from coterie.reports.decision import COLUMNS_SAY, FILL_IN, Page, common_axis
from coterie.reports.figures import (
    ATTACKER_SAYS,
    EDITIONS,
    EMPTY,
    NONE,
    Cell,
    Figures,
    any_number,
    cell,
    line,
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
    log, releases, figures, sheet = page.log, page.releases, page.figures, page.sheet
    names, shape = labels(releases), SHAPES[log.shape]
    states = [state(release) for release in releases]
    tables = {
        title: [
            (head, rows) for columns in side_by_side(releases) for head, rows in [_table(log, columns, some)] if rows
        ]
        for title, some in _sections(releases, figures)
        if any_number(log, releases, some)
    }
    checked = [tuple(zip(*columns, strict=True)) for columns in side_by_side(releases, with_random=False)]
    text = _template().render(
        log=log,
        sheet=sheet,
        about=sheet.about,
        date=page.date,
        digest=page.digest,
        fill_in=FILL_IN,
        columns_say=COLUMNS_SAY,
        edition_says=EDITIONS[sheet.edition],
        weighing=sheet.weighings[sheet.shown] if sheet.weighings else None,
        axis=common_axis(sheet.weighings),
        few=len(releases) <= ON_SHEET,
        promises=merge(releases, lambda release: [release.sentence], for_any_k=True),
        costs=merge(releases, figures.headlines),
        notes=merge(releases, lambda release: release.warnings),
        releases=list(zip(releases, names, states, strict=True)),
        counts=[(s, states.count(s)) for s in ("kept", "not checked", "broken") if s in states],
        verdict=partial(verdict, figures=figures),
        checks=[(some, check_rows(batch, some), _largest(batch)) for some, batch in checked],
        tables=tables,
        counts_say=COUNTS_SAY,
        attacks_say=in_words_of(shape, ATTACKS_SAY),
        attacker_says=ATTACKER_SAYS,
        attacker=list(attacker(releases, figures)),
        dashes=any(each.text == NONE for t in tables.values() for _, rows in t for _, r in rows for each in r[1:]),
        empty=EMPTY,
        compare=[group for group in (_overview(releases, figures), _over_k(shape, releases, figures)) if group],
        bars=_groups(figures, "bars", partial(_before_and_after, log, releases)),
        rankings=_groups(figures, "ranking", partial(_ranking, log, releases)),
        missing=merge(releases, figures.missing),
        random=in_words_of(shape, RANDOM_READING) if any(release.baseline for release in releases) else "",
        kind="access log" if shape is VISITS else "search log" if shape is QUERIES else "log",
        limits=merge(releases, lambda release: release.limits, for_any_k=True),
        general=LIMITS,
        version=__version__,
        font=FONT,
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


def _sections(releases: Sequence[ReleaseView], figures: Figures) -> Iterator[tuple[str, Sequence[Figure]]]:
    yield "privacy", figures.tabled("privacy", releases)
    yield "attacks", figures.tabled("attacks", releases)
    yield "utility", figures.tabled("utility", releases)
    yield "others", figures.others(releases)


def _largest(releases: Sequence[ReleaseView]) -> list[int | None]:
    """The largest k that holds for each release; nothing where none of them has one."""
    largest = [release.largest_k for release in releases]
    return largest if any(k is not None for k in largest) else []


def _table(
    log: LogView, columns: Sequence[tuple[str, ReleaseView]], figures: Sequence[Figure]
) -> tuple[list[str], list[tuple[Figure, list[Cell]]]]:
    """What stands above the columns, and a line for each figure of which one of them has a number."""
    views = [view for _, view in columns]
    return [ORIGINAL, *(name for name, _ in columns)], [(f, line(log, views, f)) for f in with_numbers(views, figures)]


# --- groups of drawings --------------------------------------------------------------------------


def _groups(figures: Figures, kind: str, draw: Callable[[Picture, Sequence[Figure]], Group | None]) -> list[Group]:
    """The pictures of a kind that measures ask for, and that have something to draw."""
    drawn = (draw(picture, each) for picture, each in figures.pictures(kind).items())
    return [group for group in drawn if group is not None]


def _overview(releases: Sequence[ReleaseView], figures: Figures) -> Group | None:
    """What is drawn at a glance, and the first figure of privacy against the first of utility."""
    chosen = with_numbers(releases, figures.at_a_glance())
    glances = [figure.glance for figure in chosen if figure.glance is not None]
    if not glances:
        return None
    lines, names = series(releases), labels(releases)
    every = list(dict.fromkeys(lines))
    panels = [
        bars(f.title, list(zip(names, [number(r, f) for r in releases], lines, strict=True)), every) for f in chosen
    ]
    readings = [glance.reading for glance in glances]
    maps = list(_maps(releases, chosen))
    if maps:
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


def _over_k(shape: Shape, releases: Sequence[ReleaseView], figures: Figures) -> Group | None:
    """Curves for the methods that were run with several k."""
    with_k = [(s, r.k, r) for s, r in zip(series(releases), releases, strict=True) if r.k is not None]
    several = [(s, k, r) for s, k, r in with_k if len({j for t, j, _ in with_k if t == s}) > 1]
    lines = list(dict.fromkeys(s for s, _, _ in several))
    several.sort(key=lambda item: (lines.index(item[0]), item[1]))
    chosen = with_numbers([r for _, _, r in several], figures.over_k())
    if not chosen:
        return None
    grouped = list(dict.fromkeys(s for s, _, r in several if r.baseline))
    random = {s: RANDOM if len(grouped) == 1 else f"{RANDOM}, {s}" for s in grouped}
    several += [(random[s], k, r.baseline) for s, k, r in several if r.baseline]
    quiet = list(random.values())
    return Group(
        "What a larger k changes",
        in_words_of(shape, "A larger k hides each searcher among more people and keeps less of the log. ")
        + "Exposure should fall faster than what is kept.",
        tuple(curves(f.title, [(s, k, number(r, f)) for s, k, r in several], quiet) for f in chosen),
        ("Method", "k", *(f.title for f in chosen)),
        tuple((s, str(k), *(str(cell(r, f)) for f in chosen)) for s, k, r in several),
    )


def _before_and_after(
    log: LogView, releases: Sequence[ReleaseView], picture: Picture, figures: Sequence[Figure]
) -> Group | None:
    """Bars for the original and for each release."""
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


def _ranking(
    log: LogView, releases: Sequence[ReleaseView], picture: Picture, figures: Sequence[Figure]
) -> Group | None:
    """The most frequent texts; the first few releases only."""
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
