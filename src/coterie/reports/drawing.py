"""Drawings that a study asks for: scores of its releases as lines in an SVG file.

    [[figure]]
    file = "exposure.svg"
    title = "Exposure of users"
    measure = "exposure"
    keys = ["exposed.mean", "channel.mean"]     one line for each, over k
    baseline = false                            without random groups (they are drawn, grey and dashed, otherwise)

A score whose key ends in `.original` stands at k = 1. A key with a star is drawn over the number in its place, one line
for each release, on an axis that `over` names; `difference = [3, 50]` draws how far k = 3 lies above k = 50 instead.
`against = "linkage after.one_query"` draws one key against another score, a line through the k of each method; the
first line says which k is where.

A network of queries is drawn too: points placed so that linked ones are near each other, coloured by group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.reports import RANDOM, series
from coterie.reports.figures import value
from coterie.reports.views import ReleaseView

Point = tuple[str, float, float]
"""Line, place on the x axis, value."""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One figure of a study, as its file asks for it."""

    file: str
    title: str
    measure: str
    keys: tuple[str, ...]
    over: str = "k"
    difference: tuple[int, ...] = ()
    baseline: bool = True
    against: str = ""


def check_drawing(drawing: Drawing) -> None:
    """Raise InputError where the settings of a figure do not go together."""
    if PurePath(drawing.file).name != drawing.file or not drawing.file.endswith(".svg"):
        raise InputError("The file of a [[figure]] is a name that ends in .svg; it is put into the folder of results.")
    starred = {key.count("*") for key in drawing.keys}
    if starred not in ({0}, {1}) or (drawing.difference and (starred != {1} or len(drawing.difference) != 2)):
        raise InputError(
            f"{drawing.file}: keys have one star each, or none; difference has two k and goes with keys that have one."
        )
    if drawing.against and (len(drawing.keys) != 1 or starred != {0} or len(drawing.against.split()) != 2):
        raise InputError(f"{drawing.file}: against is a measure and a key, and goes with one key that has no star.")


def draw(drawing: Drawing, releases: Sequence[ReleaseView]) -> str:
    """The figure as SVG."""
    from coterie.reports._charts import against, lines

    baselines = [release.baseline for release in releases if release.baseline is not None] if drawing.baseline else []
    points = list(dict.fromkeys(_points(drawing, releases)))
    random = [(_random(line, points), x, y) for line, x, y in dict.fromkeys(_points(drawing, baselines))]
    measured = any(drawing.measure in release.scores["name"] for release in releases)
    units = {unit for wanted in drawing.keys for unit in _units(drawing.measure, wanted, releases)}
    if measured and not units:
        raise InputError(f"{drawing.file}: no score of {drawing.measure} is called {' or '.join(drawing.keys)}.")
    quiet = [line for line, _, _ in random]
    if drawing.against:
        axes = (_words(drawing.against), f"{drawing.measure} {_words(drawing.keys[0])}")
        first = _which_k(drawing, releases, points)
        texts = [(*each, first.get(each, "")) for each in (*points, *random)]
        return against(drawing.title, axes, texts, quiet, percent=_in_percent(drawing.against, releases))
    percent = bool(units) and all(unit.startswith("%") for unit in units)
    return lines(drawing.title, drawing.over, [*points, *random], quiet, percent)


def _which_k(drawing: Drawing, releases: Sequence[ReleaseView], points: Sequence[Point]) -> dict[Point, str]:
    """Which k the points of the first line are of, where they are of several."""
    placed = [(point, k) for point, k in _against(drawing, releases) if k and point[0] == points[0][0]]
    return {point: f"k={k}" for point, k in placed} if len({k for _, k in placed}) > 1 else {}


def _units(measure: str, wanted: str, releases: Sequence[ReleaseView]) -> Iterator[str]:
    """The units of a score, or of those that a key with a star stands for."""
    for release in releases:
        for name, key, unit in release.scores.select("name", "key", "unit").iter_rows():
            if name == measure and _pattern(wanted).fullmatch(key):
                yield unit


def _in_percent(score: str, releases: Sequence[ReleaseView]) -> bool:
    measure, key = score.split()
    return all(unit.startswith("%") for unit in _units(measure, key, releases))


def _random(line: str, points: Sequence[Point]) -> str:
    return RANDOM if len({name for name, _, _ in points}) == 1 else f"{RANDOM}: {line}"


def _points(drawing: Drawing, releases: Sequence[ReleaseView]) -> Iterator[Point]:
    if drawing.difference:
        yield from _differences(drawing, releases)
    elif drawing.against:
        yield from (point for point, _ in _against(drawing, releases))
    elif "*" in drawing.keys[0]:
        several = len(drawing.keys) > 1
        for release, line in zip(releases, _lines(releases, "k={k}"), strict=True):
            for key in drawing.keys:
                name = f"{line} {_words(key)}" if several else line
                yield from ((name, x, y) for x, y in _along(drawing, key, release))
    else:
        yield from _over_k(drawing, releases)


def _over_k(drawing: Drawing, releases: Sequence[ReleaseView]) -> Iterator[Point]:
    for key in drawing.keys:
        for release, line in zip(releases, _lines(releases, _words(key)), strict=True):
            before = value(release, drawing.measure, f"{key}.original")
            after = value(release, drawing.measure, key)
            if before is not None:
                yield line, 1, before
            if after is not None and release.k is not None:
                yield line, release.k, after


def _against(drawing: Drawing, releases: Sequence[ReleaseView]) -> Iterator[tuple[Point, int | None]]:
    """Each point, and its k."""
    measure, key = drawing.against.split()
    for release, line in zip(releases, _lines(releases, ""), strict=True):
        x, y = value(release, measure, key), value(release, drawing.measure, drawing.keys[0])
        if x is not None and y is not None:
            yield (line.strip() or release.method, x, y), release.k


def _differences(drawing: Drawing, releases: Sequence[ReleaseView]) -> Iterator[Point]:
    small, large = ([r for r in releases if r.k == k] for k in drawing.difference)
    for key in drawing.keys:
        for one, other in zip(small, large, strict=False):
            below = dict(_along(drawing, key, other))
            yield from ((_words(key), x, y - below[x]) for x, y in _along(drawing, key, one) if x in below)


def _along(drawing: Drawing, key: str, release: ReleaseView) -> Iterator[tuple[float, float]]:
    """The numbers that stand for the star of a key, with the scores."""
    scores = release.scores.select("name", "key", "value").iter_rows()
    for name, own_key, number in scores:
        match = _pattern(key).fullmatch(own_key)
        if name == drawing.measure and match and number is not None:
            yield float(match[1]), number


def _pattern(key: str) -> re.Pattern[str]:
    return re.compile(re.escape(key).replace(r"\*", r"(\d+)"))


def _lines(releases: Sequence[ReleaseView], text: str) -> list[str]:
    """The name of each release's line: `text`, after the method where there are several."""
    methods = series(releases)
    several = len(set(methods)) > 1
    sizes = [f"k={r.k}" if r.k is not None else ", ".join(p.headline for p in r.promises) for r in releases]
    texts = [text.replace("k={k}", size) for size in sizes]
    return [f"{method} {text}" if several else text for method, text in zip(methods, texts, strict=True)]


def _words(key: str) -> str:
    return re.sub(r"[._*]+", " ", key).strip()


# --- networks --------------------------------------------------------------------------------------

SIDE = 640
_ROUNDS = 400


@dataclass(frozen=True, repr=False, kw_only=True)
class Network:
    """Points and the lines between them."""

    points: tuple[int, ...]
    """What each point stands for; the first one is marked."""
    groups: tuple[int, ...]
    """The group of each point: the order of its core."""
    lines: tuple[tuple[int, int], ...]
    """Pairs of places in `points`."""
    more: int = 0
    """Points that are not drawn."""

    def __repr__(self) -> str:
        return f"Network({len(self.points)} points, {len(self.lines)} lines)"


def place(n: int, lines: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """x and y of each point in 0..1, by springs (Fruchterman and Reingold 1991); the same for the same network."""
    turn = 2 * np.pi * np.arange(n) / n
    at = np.column_stack([np.cos(turn), np.sin(turn)])
    linked = np.zeros((n, n))
    for a, b in lines:
        linked[a, b] = linked[b, a] = 1
    rest = np.sqrt(4 / n)
    for heat in np.linspace(0.2, 0.002, _ROUNDS):
        apart = at[:, None, :] - at[None, :, :]
        far = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-6)
        push = (rest**2 / far**2 - linked * far / rest)[:, :, None] * apart
        move = push.sum(axis=1) - 0.5 * at  # a little to the middle, so that nothing flies off
        length = np.maximum(np.sqrt((move**2).sum(axis=1, keepdims=True)), 1e-9)
        at = at + move / length * np.minimum(length, heat)
    low, span = at.min(axis=0), np.maximum(np.ptp(at, axis=0), 1e-9)
    placed: NDArray[np.float64] = (at - low) / span if n > 1 else np.full((n, 2), 0.5)
    return placed


def draw_network(network: Network, texts: Sequence[str], title: str, kind: str) -> bytes:
    """The picture as svg, png or html, with a text beside each point."""
    from coterie.reports._charts import spec_of  # which says what to do where pictures are not installed

    import vl_convert  # isort: skip

    spec = spec_of(_chart(network, texts, title))
    if kind == "png":
        png: bytes = vl_convert.vegalite_to_png(spec, scale=2)
        return png
    svg: str = vl_convert.vegalite_to_svg(spec)
    if kind == "html":
        head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        svg = f"{head}\n<body>{svg}</body></html>\n"
    return svg.encode()


def _chart(network: Network, texts: Sequence[str], title: str) -> Any:
    from coterie.reports._charts import FONT, GREY, INK, LINE

    import altair as alt  # isort: skip

    at = np.round(place(len(network.points), network.lines), 4).tolist()
    points = [
        {"x": x, "y": y, "core order": group, "text": text, "asked": i == 0}
        for i, ((x, y), group, text) in enumerate(zip(at, network.groups, texts, strict=True))
    ]
    lines = [{"x": at[a][0], "y": at[a][1], "x2": at[b][0], "y2": at[b][1]} for a, b in network.lines]
    x, y = (alt.X("x:Q", axis=None, scale=_scale(alt)), alt.Y("y:Q", axis=None, scale=_scale(alt)))
    strokes = alt.Chart({"values": lines}).mark_rule(color=GREY, opacity=0.5).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    orders = sorted(set(network.groups))
    asked = "datum.asked"
    marks = alt.Chart({"values": points}).mark_point(filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color("core order:O", scale=alt.Scale(domain=orders, scheme="viridis")),
        size=alt.condition(asked, alt.value(320), alt.value(130)),
        stroke=alt.condition(asked, alt.value(INK), alt.value(LINE)),
        strokeWidth=alt.condition(asked, alt.value(2.5), alt.value(1)),
    )  # fmt: skip
    labels = alt.Chart({"values": points}).mark_text(dy=-15, fontSize=11, color=INK).encode(x=x, y=y, text="text:N")
    said = f"{len(network.points)} queries, {len(network.lines)} affine pairs; the marked one was asked for."
    more = [f"The nearest ones are drawn; {network.more:,} more hang together with them."] if network.more else []
    drawn = (strokes + marks + labels).properties(
        width=SIDE, height=SIDE, title=alt.TitleParams(title, subtitle=[said, *more], anchor="start", color=INK)
    )
    return drawn.configure(font=FONT, background="white", view=alt.ViewConfig(stroke=None))


def _scale(alt: Any) -> Any:
    return alt.Scale(domain=[-0.08, 1.08], nice=False)
