"""The map: each release at what an attacker learns and what meaning is kept, as places in a picture of fixed size.

A template draws it; colours and letters come from the style of the page, so that it follows light and dark.

Beside: releases side by side, as points of a map and as tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coterie.apps.studio import plain
from coterie.apps.studio.desk import Attempt
from coterie.reports import shown

WIDTH, HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 20, 48
_STEPS = (1, 2, 5, 10, 20, 25, 50, 100)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release, or random groups in its place."""

    label: str
    place: int
    """Which of the releases it is, from 1."""
    x: float
    y: float
    random: bool = False
    across: float = 0.0
    down: float = 0.0
    """Where it is drawn."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """All that is drawn."""

    points: tuple[Point, ...]
    ticks_x: tuple[tuple[float, str], ...]
    ticks_y: tuple[tuple[float, str], ...]
    most: float | None
    """Where the line of the most that an attacker may learn is drawn."""
    least: float | None
    """Where the line of the least that must be kept is drawn."""
    says: str
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


def draw(
    points: Sequence[Point], axes: tuple[str, str], most: float | None = None, least: float | None = None
) -> Map | None:
    """A map of shares in percent; None where there is nothing to draw."""
    if not points:
        return None
    top_x = _end([*(p.x for p in points), *([most] if most is not None else [])])
    top_y = _end([*(p.y for p in points), *([least] if least is not None else [])])

    def across(value: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * min(max(value, 0.0), top_x) / top_x, 1)

    def down(value: float) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * min(max(value, 0.0), top_y) / top_y, 1)

    placed = tuple(replace(p, across=across(p.x), down=down(p.y)) for p in points)
    said = "; ".join(f"{p.label}: {axes[0]} {p.x:.1f}%, {axes[1]} {p.y:.1f}%" for p in points)
    return Map(
        points=placed,
        ticks_x=tuple((across(t), f"{t:g}%") for t in _ticks(top_x)),
        ticks_y=tuple((down(t), f"{t:g}%") for t in _ticks(top_y)),
        most=None if most is None else across(most),
        least=None if least is None else down(least),
        says=f"{axes[1]} against {axes[0]}. {said}.",
    )


def _end(values: Sequence[float]) -> float:
    """Where an axis ends: a round number above all values."""
    largest = max([1.0, *values])
    step = _step(largest)
    return step * (int(largest / step) + 1)


def _step(largest: float) -> float:
    return next((float(step) for step in _STEPS if largest / step <= 5), 100.0 * max(1.0, largest // 500))


def _ticks(end: float) -> list[float]:
    step = _step(end)
    return [step * i for i in range(int(end / step) + 1)]


# --- releases side by side --------------------------------------------------------------------------


def axes(side: list[Attempt], sections: tuple[str, ...]) -> list[plain.Shown]:
    """The figures that can be an axis: those of the first release that all of them have, attacks first."""
    if not side:
        return []
    common = set.intersection(*({each.id for each in attempt.figures} for attempt in side))
    fitting = [each for each in side[0].figures if each.axis and each.section in sections and each.id in common]
    return sorted(fitting, key=lambda each: sections.index(each.section))


def picked_axis(axes: list[plain.Shown], name: str | None) -> plain.Shown | None:
    """The axis of that name, or the first one."""
    return next((each for each in axes if each.id == name), axes[0] if axes else None)


def points(side: list[Attempt], x: str, y: str) -> list[Point]:
    """Each release, and random groups in its place, where two figures say."""
    found = []
    for place, attempt in enumerate(side, 1):
        figures = {each.id: each for each in attempt.figures}
        label = attempt.tried.label if attempt.tried is not None else attempt.method
        a, b = figures[x], figures[y]
        if a.number is not None and b.number is not None:
            found.append(Point(label=label, place=place, x=a.number, y=b.number))
        if a.random_number is not None and b.random_number is not None:
            found.append(Point(label=f"Random groups in place of {label}", place=place, x=a.random_number,
                                y=b.random_number, random=True))  # fmt: skip
    return found


def in_short(side: list[Attempt]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What each release leaves of the three risks, and what can be an axis: a title, and a text with its reading."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for place, attempt in enumerate(side):
        found: dict[str, tuple[str, str]] = {}
        for each in () if attempt.attacked is None else attempt.attacked.weighed:
            found.setdefault(each.risk.capitalize(), (shown(each.shown_risk, "%"), each.attacker))
        found |= {each.title: (each.after, "") for each in attempt.figures if each.axis}
        for title, text in found.items():
            rows.setdefault(title, [("–", "")] * len(side))[place] = text
    return list(rows.items())


def tables(side: list[Attempt]) -> list[tuple[str, list[tuple[plain.Shown, list[plain.Shown | None]]]]]:
    """Each section with its figures, and what each release has for them."""
    sections = {"privacy": "Privacy", "attacks": "Attacks", "utility": "Use"}
    every = []
    for section, title in sections.items():
        rows: dict[str, plain.Shown] = {}
        for attempt in side:
            rows |= {each.id: each for each in attempt.figures if each.section == section and each.id not in rows}
        by = [{each.id: each for each in attempt.figures} for attempt in side]
        every.append((title, [(figure, [own.get(name) for own in by]) for name, figure in rows.items()]))
    return [(title, rows) for title, rows in every if rows]
