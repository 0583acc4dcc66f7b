"""Drawings: numbers -> small static SVG pictures, each with a text that says the same.

Colours are those of Okabe and Ito, which people with any colour vision tell apart; marks differ in
shape too, and bars carry their numbers. Nothing in a picture needs a script, a font or a network.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coterie.errors import MissingError
from coterie.reports import ORIGINAL
from coterie.reports.figures import shown

try:
    import altair as alt
    import vl_convert
except ImportError:
    raise MissingError(
        "Pictures need packages that are not installed: install coterie[charts]. Reports as .md and .json need none."
    ) from None

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK, QUIET, LINE, GREY = "#1c2733", "#51606f", "#e3e7ec", "#98a3ae"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5548a", "#56b4e9", "#e69f00")
SHADES = ("#86bfe3", "#3f97cc", "#0072b2", "#00578a", "#003d61", "#00253b")
MARKS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
SMALL, WIDE = 300, 440
_NAME = 18  # letters that there is room for beside a bar
_BREAK = "\u2028"  # between the lines of a name: the line separator, which the renderer takes
_LETTER = 6.6  # points that a letter takes, about
_WIDEST = 7.3  # points that it takes in the widest of the fonts that a page may get
# What XML cannot hold, and controls that no reader could see: on some of them the renderer aborts the whole process.
_NOT_DRAWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]|" + "|".join(
    f"[{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}]" for plane in range(1, 17)))  # fmt: skip


@dataclass(frozen=True)
class Sign:
    """How a line is drawn: for the legend, which stands in the page and not in the picture, so that names can wrap."""

    name: str
    colour: str
    mark: str
    dashed: bool = False
    joined: bool = False


@dataclass(frozen=True)
class Panel:
    """One drawing and what it says."""

    title: str
    svg: str
    alt: str
    signs: tuple[Sign, ...] = ()


def bars(title: str, points: Sequence[tuple[str, float | None, str]], lines: Sequence[str]) -> Panel:
    """A share per log as bars with their numbers: (label, share, line); the original is grey."""
    names = {n: _wrapped(n) for n, _, _ in points}
    deepest = max((name.count(_BREAK) for name in names.values()), default=0)
    data = [{"label": names[n], "value": max(0.0, v or 0), "text": shown(v, "%"), "line": s} for n, v, s in points]
    most = max([100.0, *(v or 0 for _, v, _ in points)])
    base = _chart(data).encode(
        y=alt.Y("label:N", sort=None, title=None, axis=_names_axis(names.values())),
        x=alt.X("value:Q", title=None, scale=alt.Scale(domain=[0, 1.5 * most]), axis=_percent_axis()),
    )
    colours = alt.Scale(domain=[ORIGINAL, *lines], range=[GREY, *_cycle(COLOURS, lines)])
    drawn = base.mark_bar(height=13).encode(color=alt.Color("line:N", legend=None, scale=colours))
    text = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(text="text:N")
    says = "; ".join(f"{name} {shown(v, '%')}" for name, v, _ in points)
    return Panel(title, _svg(drawn + text, SMALL, 30 + (23 + 13 * deepest) * len(points)), f"{title}: {says}.")


def curves(title: str, points: Sequence[tuple[str, int, float | None]], quiet: Sequence[str] = ()) -> Panel:
    """A share over k, one line per method: (line, k, share); those in `quiet` are grey and dashed."""
    measured = [(line, k, v) for line, k, v in points if v is not None]
    ks = sorted({k for _, k, _ in points})
    x = _log_axis("k:Q", "k", ks, 1.18)
    y = alt.Y("value:Q", title=None, scale=_full_scale([v for _, _, v in measured]), axis=_percent_axis())
    lines = list(dict.fromkeys(s for s, _, _ in points))
    data = [{"line": s, "k": k, "value": v, "text": f"{v:.1f}"} for s, k, v in measured]
    base = _chart(data).encode(x=x, y=y)
    drawn: Any = _strokes(base, lines, quiet, legend=False) + _marks(base, lines, quiet, legend=False)
    if len(lines) == 1:
        drawn += base.mark_text(dy=-11, fontSize=12, color=INK).encode(text="text:N")
    says = "; ".join(f"{s} k={k} {shown(v, '%')}" for s, k, v in measured)
    signs = _signs(lines, quiet, joined=True)
    return Panel(title, _svg(drawn, SMALL, _HEIGHT), f"{title} over k: {says}.", signs)


def lines(
    title: str, over: str, points: Sequence[tuple[str, float, float]], quiet: Sequence[str], percent: bool
) -> str:
    """A picture of its own, for a file: (line, x, value); those in `quiet` are grey and dashed."""
    names = list(dict.fromkeys(line for line, _, _ in points))
    xs = sorted({x for _, x, _ in points}) or [1.0]
    x = _log_axis("x:Q", over, xs, 1.1)
    axis = _axis_of_shares() if percent else alt.Axis(tickCount=5, domain=False)
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=True), axis=axis)
    base = _chart([{"line": s, "x": x, "value": v} for s, x, v in points]).encode(x=x, y=y)
    drawn = _strokes(base, names, quiet) + _marks(base, names, quiet)
    return _alone(drawn, title, _width(title, names), _height(names) + 60)


def against(
    title: str,
    axes: tuple[str, str],
    points: Sequence[tuple[str, float, float, str]],
    quiet: Sequence[str],
    *,
    joined: bool = True,
    percent: bool = True,
) -> str:
    """A picture of its own, for a file: two scores of each release against each other, (line, x, y, text beside it).

    Points of a line are `joined`, or stand alone in a larger picture. `percent`: the x axis has shares, else numbers.
    """
    across = _axis_of_shares(zero="") if percent else alt.Axis(tickCount=5, domain=False)
    names = list(dict.fromkeys(line for line, _, _, _ in points))
    data = [{"line": s, "x": x, "value": y, "text": text, "at": i} for i, (s, x, y, text) in enumerate(points)]
    base = _chart(data).encode(
        x=alt.X("x:Q", title=axes[0], scale=alt.Scale(zero=True), axis=across),
        y=alt.Y("value:Q", title=axes[1], scale=alt.Scale(zero=True), axis=_axis_of_shares()),
        order="at:Q",
    )
    texts = base.mark_text(align="left", dx=7, dy=7, fontSize=12, color=INK).encode(text="text:N")
    marked = _marks(base, names, quiet) + texts
    drawn = _strokes(base, names, quiet) + marked if joined else marked
    if joined:
        return _alone(drawn, title, _width(title, names), _height(names) + 110)
    return _alone(drawn, title, max(2 * WIDE - 100, _width(title, names)), _height(names) + 260)


def trade_off(
    axes: tuple[str, str],
    points: Sequence[tuple[str, str, float, float]],
    quiet: Sequence[str] = (),
    every: Sequence[str] = (),
) -> Panel:
    """Two shares of each release against each other: (line, label, x, y); those in `quiet` are grey.

    `every` line has the same colour and mark in all pictures, also in those that lack some of them.
    """
    across, upwards = axes
    title = f"{upwards} against {across}".capitalize()
    names = list(dict.fromkeys([*every, *(s for s, _, _, _ in points)]))
    there = {s for s, _, _, _ in points}
    lines = [s for s in names if s in there]
    data = [{"line": s, "label": n, "x": x, "y": y} for s, n, x, y in points]
    most = max(1.0, *(x for _, _, x, _ in points), *(y for _, _, _, y in points))
    top = max(1.08 * most, min(108.0, 1.2 * most))
    scale = alt.Scale(domain=[0, top], nice=False)
    base = _chart(data).encode(
        x=alt.X("x:Q", title=across, scale=scale, axis=_axis_of_shares(zero="")),
        y=alt.Y("y:Q", title=upwards, scale=scale, axis=_axis_of_shares()),
    )
    drawn: Any = _marks(base, lines, quiet, names, legend=False)
    if len(lines) == 1:
        drawn += base.mark_text(align="right", dx=-8, fontSize=12, color=INK).encode(text="label:N")
    says = "; ".join(f"{n} {across} {shown(x, '%')}, {upwards} {shown(y, '%')}" for _, n, x, y in points)
    return Panel(title, _svg(drawn, SMALL, _HEIGHT), f"{title}: {says}.", _signs(lines, quiet, names))


def dots(title: str, labels: Sequence[str], columns: Mapping[str, Sequence[float | None]]) -> Panel:
    """Shares of some texts in several logs, as dots on one line per text."""
    wrapped = {label: _wrapped(label) for label in labels}
    deepest = max((text.count(_BREAK) for text in wrapped.values()), default=0)
    data = [
        {"label": wrapped[label], "log": name, "value": share}
        for name, shares in columns.items()
        for label, share in zip(labels, shares, strict=True)
        if share is not None
    ]
    names = list(columns)
    rest = names[1:]
    shades = [SHADES[2]] if len(rest) == 1 else [*_cycle(SHADES, rest)]
    colours = alt.Scale(domain=names, range=[GREY, *shades])
    marks = alt.Scale(domain=names, range=["circle", *_cycle(MARKS[1:], rest)])
    base = _chart(data).encode(
        y=alt.Y("label:N", sort=None, title=None, axis=_names_axis(wrapped.values())),
        x=alt.X("value:Q", title=None, scale=alt.Scale(zero=True), axis=_axis_of_shares()),
    )
    span = base.mark_line(color=LINE, strokeWidth=3).encode(detail="label:N")
    drawn = base.mark_point(filled=True, size=62, opacity=1).encode(
        color=alt.Color("log:N", legend=None, scale=colours), shape=alt.Shape("log:N", legend=None, scale=marks)
    )
    says = "; ".join(
        f"{label} " + ", ".join(f"{name} {shown(shares[i], '%', 2)}" for name, shares in columns.items())
        for i, label in enumerate(labels)
    )
    signs = [
        Sign(n, c, m) for n, c, m in zip(names, [GREY, *shades], ["circle", *_cycle(MARKS[1:], rest)], strict=True)
    ]
    return Panel(
        title, _svg(span + drawn, WIDE, 40 + (22 + 10 * deepest) * len(labels)), f"{title}: {says}.", tuple(signs)
    )


# --- parts ---------------------------------------------------------------------------------------


def _chart(data: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart({"values": data})


def _cycle(values: Sequence[str], lines: Sequence[str]) -> list[str]:
    return [values[i % len(values)] for i in range(len(lines))]


_HEIGHT = 200


def _height(lines: Sequence[str]) -> int:
    return _HEIGHT + (18 * len(lines) if len(lines) > 1 else 0)


def _width(title: str, lines: Sequence[str]) -> int:
    """As wide as the title and the names in the legend need, so that none is cut."""
    return max(WIDE, *(round(60 + _LETTER * len(name)) for name in lines), round(1.25 * _LETTER * len(title)))


def _legend(lines: Sequence[str]) -> alt.Legend | None:
    if len(lines) == 1:
        return None
    return alt.Legend(orient="bottom", title=None, columns=1, labelLimit=0)


def _wrapped(name: str) -> str:
    """A name in lines of some twenty letters, broken after a space, a `_` or a `,` where there is one."""
    lines = [""]
    for part in re.findall(r"[^ _,]*[ _,]?", name):
        if lines[-1] and len(lines[-1] + part.rstrip()) > _NAME:
            lines.append("")
        lines[-1] += part
    cut = [line[at : at + _NAME] for line in lines for at in range(0, max(1, len(line.rstrip())), _NAME)]
    return _BREAK.join(line.strip() for line in cut)


def _signs(
    lines: Sequence[str], quiet: Sequence[str], every: Sequence[str] = (), *, joined: bool = False
) -> tuple[Sign, ...]:  # fmt: skip
    """The legend; none for a single line."""
    if len(lines) < 2:
        return ()
    colours, marks = _colours(lines, quiet, every), _marks_of(lines, every)
    return tuple(Sign(name, colours[name], marks[name], name in quiet, joined) for name in lines)


def sign_svg(sign: Sign) -> str:
    """A mark, and the line through it, as a small picture."""
    shapes = {
        "circle": '<circle cx="12" cy="6" r="4"/>',
        "square": '<path d="M8 2h8v8h-8z"/>',
        "triangle-up": '<path d="M12 1l5 9h-10z"/>',
        "diamond": '<path d="M12 1l4 5l-4 5l-4-5z"/>',
        "cross": '<path d="M10.500 1.500h3v3h3v3h-3v3h-3v-3h-3v-3h3z"/>',
        "triangle-down": '<path d="M12 11l5-9h-10z"/>',
    }
    dashes = ' stroke-dasharray="4 3"' if sign.dashed else ""
    line = f'<path d="M0 6h24" stroke="{sign.colour}" stroke-width="2"{dashes}/>' if sign.joined else ""
    return f'<svg viewBox="0 0 24 12" aria-hidden="true" fill="{sign.colour}">{line}{shapes[sign.mark]}</svg>'


def _colours(lines: Sequence[str], quiet: Sequence[str], every: Sequence[str] = ()) -> dict[str, str]:
    loud = [line for line in every or lines if line not in quiet]
    colours = dict(zip(loud, _cycle(COLOURS, loud), strict=True))
    return {line: colours.get(line, GREY) for line in lines}


def _marks_of(lines: Sequence[str], every: Sequence[str] = ()) -> dict[str, str]:
    places = {line: i for i, line in enumerate(every or lines)}
    # A colour again: another mark.
    return {line: MARKS[(places[line] + places[line] // len(COLOURS)) % len(MARKS)] for line in lines}


def _colour(
    lines: Sequence[str], quiet: Sequence[str] = (), every: Sequence[str] = (), *, legend: bool = True
) -> alt.Color:  # fmt: skip
    scale = alt.Scale(domain=list(lines), range=list(_colours(lines, quiet, every).values()))
    return alt.Color("line:N", scale=scale, legend=_legend(lines) if legend else None)


def _strokes(base: alt.Chart, lines: Sequence[str], quiet: Sequence[str], *, legend: bool = True) -> alt.Chart:
    dashes = alt.Scale(domain=list(lines), range=[[4, 3] if line in quiet else [1, 0] for line in lines])
    stroked: alt.Chart = base.mark_line(strokeWidth=2)
    dash = alt.StrokeDash("line:N", scale=dashes, legend=_legend(lines) if legend else None)
    return stroked.encode(color=_colour(lines, quiet, legend=legend), strokeDash=dash)


def _marks(
    base: alt.Chart, lines: Sequence[str], quiet: Sequence[str] = (), every: Sequence[str] = (), *, legend: bool = True
) -> alt.Chart:  # fmt: skip
    marks = alt.Scale(domain=list(lines), range=list(_marks_of(lines, every).values()))
    shape = alt.Shape("line:N", scale=marks, legend=_legend(lines) if legend else None)
    marked: alt.Chart = base.mark_point(filled=True, size=46, opacity=1)
    return marked.encode(color=_colour(lines, quiet, every, legend=legend), shape=shape)


def _log_axis(field: str, title: str, values: Sequence[float], room: float) -> alt.X:
    """A logarithmic axis with a mark at each value, and some room at both ends."""
    scale = alt.Scale(type="log", domain=[values[0] / room, values[-1] * room], nice=False)
    axis = alt.Axis(values=values, grid=False, format="d", labelOverlap="greedy", domain=True)
    return alt.X(field, title=title, scale=scale, axis=axis)


def _full_scale(values: Sequence[float]) -> alt.Scale:
    """To 100 %, and beyond where shares are: a profile may have more rows than a user had."""
    return alt.Scale(domain=[0, 1.08 * max([100.0, *values])], nice=False)


def _percent_axis() -> alt.Axis:
    return alt.Axis(values=[0, 25, 50, 75, 100], labelExpr="datum.value + '%'", domain=False)


def _axis_of_shares(zero: str = "0%") -> alt.Axis:
    label = f"datum.value ? format(datum.value, '~g') + '%' : '{zero}'"
    return alt.Axis(tickCount=5, labelExpr=label, domain=False)


def _names_axis(names: Iterable[str]) -> alt.Axis:
    """Names to the left, in lines; as much room as the widest usual font takes, because the page brings none."""
    longest = max((len(line) for name in names for line in name.split(_BREAK)), default=0)
    return alt.Axis(
        labelLimit=0,
        labelColor=INK,
        domain=False,
        grid=False,
        labelPadding=6,
        minExtent=_WIDEST * longest + 8,
        labelExpr=r"split(datum.label, '\u2028')",
    )


def _svg(chart: Any, width: int, height: int) -> str:
    """The drawing as SVG that stands inside a page and takes its font from there."""
    return slim(_drawn(chart, width, height, background="transparent"))


def _alone(chart: Any, title: str, width: int, height: int) -> str:
    """The drawing as SVG of a file of its own, with its title."""
    titled = chart.properties(title=alt.TitleParams(title, anchor="start", fontSize=14, color=INK))
    return _drawn(titled, width, height, background="white")


def _drawn(chart: Any, width: int, height: int, background: str) -> str:
    fitted = chart.properties(width=width, height=height, autosize=alt.AutoSizeParams(type="fit", contains="padding"))
    spec = fitted.configure(
        font=FONT,
        background=background,
        padding={"left": 8, "top": 2, "right": 2, "bottom": 2},
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=QUIET, labelFontSize=12, labelFlush=False,
            titleColor=QUIET, titleFontSize=12, titleFontWeight="normal",
            gridColor=LINE, ticks=False, domainColor=GREY,
        ),
        legend=alt.LegendConfig(labelColor=INK, labelFontSize=12),
    )  # fmt: skip
    svg: str = vl_convert.vegalite_to_svg(spec_of(spec))
    return svg


def spec_of(chart: Any) -> dict[str, Any]:
    """A chart as the renderer takes it. Everything that is drawn goes through here."""
    spec: dict[str, Any] = _drawable(chart.to_dict())
    return spec


def _drawable(value: Any) -> Any:
    """The same with each character that cannot be drawn spelled out: an escape character becomes `[U+001B]`."""
    match value:
        case str():
            return _NOT_DRAWN.sub(lambda found: f"[U+{ord(found[0]):04X}]", value)
        case dict():
            return {key: _drawable(each) for key, each in value.items()}
        case list():
            return [_drawable(each) for each in value]
    return value


def slim(svg: str) -> str:
    """Without what a page does not need; identifiers made unique so that drawings can share a page.

    Texts of a log stand between tags or escaped in attributes; only tags are touched.
    """
    svg = re.sub(r'<path class="(?:background|foreground)"[^>]*/>', "", svg)
    svg = re.sub(r"<[^>]*>", lambda tag: _slim_tag(tag[0]), svg)
    prefix = f"s{hashlib.sha256(svg.encode()).hexdigest()[:8]}-"
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r'(\bid="|url\(#)', rf"\1{prefix}", tag[0]), svg)


def _slim_tag(tag: str) -> str:
    dull = r"xmlns(?::\w+)?|version|class|role|aria-[\w]+|pointer-events|font-family|stroke-miterlimit"
    tag = re.sub(rf' (?:{dull})="[^"]*"', "", tag)
    return re.sub(r"(\.\d\d)\d+", r"\1", tag.replace(' opacity="1"', ""))
