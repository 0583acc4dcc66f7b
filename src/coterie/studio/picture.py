"""The map: each release at what an attacker learns and what meaning is kept, as places in a picture of fixed size.

A template draws it; colours and letters come from the style of the page, so that it follows light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    placed = tuple(
        Point(label=p.label, place=p.place, x=p.x, y=p.y, random=p.random, across=across(p.x), down=down(p.y))
        for p in points
    )
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
