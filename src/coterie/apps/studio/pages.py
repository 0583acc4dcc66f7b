"""Pages: plain HTML from templates, which escape everything. No script and no style stands in a page itself."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from coterie.reports import shown

STEPS = (
    ("open", "Open"),
    ("risk", "Risk now"),
    ("choose", "Choose"),
    ("compare", "Compare"),
    ("decide", "Decide"),
    ("verify", "Verify"),
)
STATIC = {"studio.css": "text/css; charset=utf-8", "studio.js": "text/javascript; charset=utf-8"}
_HERE = Path(__file__).parent


@cache
def static(name: str) -> bytes:
    """A file that pages load."""
    return (_HERE / "static" / name).read_bytes()


def page(name: str, **parts: Any) -> str:
    """A page."""
    return _environment().get_template(f"{name}.html.j2").render(steps=STEPS, **parts)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("coterie.apps.studio", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=duration, share=share)
    environment.filters.update(count=lambda number: shown(number, ""), percent=lambda number: shown(number, "%"))
    return environment


def share(part: int, whole: int) -> str:
    """A part in percent."""
    if not whole:
        return "–"
    percent = 100 * part / whole
    return "<0.1%" if 0 < percent < 0.1 else f"{percent:.1f}%"


def duration(seconds: float | None) -> str:
    """A length of time in words."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
