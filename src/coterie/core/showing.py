"""How a notebook shows what Coterie gives: counts, names and sentences, and never a value of a log."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def html_table(title: str, rows: Iterable[tuple[str, str]], end: str = "") -> str:
    """A small table with a title above it and a line below it; everything is escaped."""
    lines = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    below = f"<p>{escape(end)}</p>" if end else ""
    return f"<div><p><strong>{escape(title)}</strong></p><table>{lines}</table>{below}</div>"
