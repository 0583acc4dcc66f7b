"""Looking after a gate that is not running: its numbers, the end of a window, forgetting."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from coterie.apps.gate import state as states
from coterie.apps.gate.gate import Gate
from coterie.apps.gate.keys import KeyFile
from coterie.core.shapes import SHAPES
from coterie.errors import InputError


def status_of(state: Path) -> dict[str, Any]:
    """The numbers of the last snapshot."""
    header = states.required(state)
    return {**header["counts"], "held": header["held"], "open": header["open"], "parts": len(header["parts"])}


def rotate(state: Path, key: Path | None, output: Path) -> None:
    """End the window now; see `Gate.rotate`."""
    header = states.required(state)
    kind = next((part["name"].partition(".")[2] for part in header["parts"]), "tsv")
    about = {**header["about"], "shape": SHAPES[header["about"]["shape"]]}
    gate = Gate(state=state, key=key, output=output, kind=kind, **about)
    with gate.abandoned():
        gate.rotate()


def forget(state: Path, key: Path | None) -> None:
    """Destroy the key, then remove the state, also a damaged one; refused while a gate works with it."""
    with suppress(InputError):  # it is damaged
        states.required(state)
    held = states.State(state)
    try:
        keys = KeyFile.of(held, key)
        keys.read()  # refused where it is no key file, or that of another gate
        keys.destroy()
        held.remove()
    finally:
        held.release()
