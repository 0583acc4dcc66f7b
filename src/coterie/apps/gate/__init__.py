"""The gate: a query that fewer than k people have asked within a window is never written down.

It counts by its `rules` and holds tags under a key in place of texts (`table`, `keys`). What it holds is kept in one
snapshot together with its place in the input (`state`). It closes parts at fixed times (`parts`, `windows`), is watched
by a second gate with code of its own (`shadow`), and reads growing files (`follow`). `run` is the command, `append` the
same for whole nights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie.apps.gate.rules import Rules

if TYPE_CHECKING:
    from coterie.apps.gate.gate import Gate

__all__ = ["Gate", "Rules"]


def __getattr__(name: str) -> Any:
    if name == "Gate":
        from coterie.apps.gate.gate import Gate

        return Gate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
