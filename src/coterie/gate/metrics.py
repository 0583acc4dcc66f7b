"""Numbers of a gate as Prometheus reads them: counts only, in a file for the textfile collector of node_exporter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coterie.writing.targets import temporary

_NAMES = {
    "events": ("counter", "events_total", "Rows that were counted."),
    "released": ("counter", "released_events_total", "Rows that came out, as numbers beside their query."),
    "late": ("counter", "late_rows_total", "Rows left out because their window had ended."),
    "ahead": ("counter", "ahead_rows_total", "Rows left out because their time is more than a day ahead."),
    "timeless": ("counter", "timeless_rows_total", "Rows left out because they have no time."),
    "bad": ("counter", "bad_lines_total", "Lines that could not be read."),
    "dropped": ("counter", "dropped_rows_total", "Rows that a full queue left out."),
    "parts": ("counter", "parts_total", "Parts that were written."),
    "held": ("gauge", "held_queries", "Distinct queries that were held as tags when the last part closed."),
    "open": ("gauge", "open_queries", "Distinct queries that k people had asked within the window by then."),
    "bytes": ("gauge", "memory_bytes", "Memory of the tables."),
}


def metrics_text(status: Mapping[str, Any]) -> str:
    """The numbers of `Gate.status` in Prometheus' text format."""
    lines = []
    for key, (kind, name, about) in _NAMES.items():
        full = f"coterie_gate_{name}"
        lines += [f"# HELP {full} {about}", f"# TYPE {full} {kind}", f"{full} {int(status.get(key, 0))}"]
    return "\n".join(lines) + "\n"


def write_metrics(status: Mapping[str, Any], path: Path) -> None:
    """The same as a file, which is replaced as a whole."""
    with temporary(path.parent, path.name) as part:
        part.write_text(metrics_text(status), encoding="utf-8")
        part.replace(path)
