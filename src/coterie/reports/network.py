"""A network as a picture: points placed so that linked ones are near each other, coloured by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def draw(network: Network, texts: Sequence[str], title: str, kind: str) -> bytes:
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
        width=SIDE,
        height=SIDE,
        title=alt.TitleParams(title, subtitle=[said, *more], anchor="start", color=INK),
    )
    return drawn.configure(font=FONT, background="white", view=alt.ViewConfig(stroke=None))


def _scale(alt: Any) -> Any:
    return alt.Scale(domain=[-0.08, 1.08], nice=False)
