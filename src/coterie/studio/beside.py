"""Beside: releases side by side, as points of a map and as tables."""

from __future__ import annotations

from coterie.studio import plain
from coterie.studio.desk import Attempt
from coterie.studio.picture import Point


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
            found.setdefault(each.risk.capitalize(), (each.weighed, each.says))
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
