"""Looking after a gate that is not running: its numbers, the end of a window, forgetting."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from coterie.core.shapes import SHAPES
from coterie.errors import InputError
from coterie.gate import state as states
from coterie.gate.gate import Gate
from coterie.gate.keys import KeyFile


def status_of(state: Path) -> dict[str, Any]:
    """The numbers of the last snapshot."""
    header = states.required(state)
    return {**header["counts"], "held": header["held"], "open": header["open"], "parts": len(header["parts"])}


def opened(state: Path, key: Path | None, output: Path) -> Gate:
    """The gate of a state, as it was last run."""
    header = states.required(state)
    about = {**header["about"], "shape": SHAPES[header["about"]["shape"]]}
    kind = next((part["name"].partition(".")[2] for part in header["parts"]), "tsv")
    return Gate(state=state, key=key, output=output, kind=kind, **about)


def rotate(state: Path, key: Path | None, output: Path) -> None:
    """End the window now; see `Gate.rotate`."""
    gate = opened(state, key, output)
    with gate.abandoned():
        gate.rotate()


def forget(state: Path, key: Path | None) -> None:
    """Destroy the key, then remove the state, also a damaged one; refused while a gate works with it."""
    with suppress(InputError):  # it is damaged
        states.required(state)
    held = states.State(state)
    try:
        keys = KeyFile(key if key is not None else Path(f"{state}.key"), held.name)
        keys.read()  # refused where it is no key file, or that of another gate
        keys.destroy()
        held.remove()
    finally:
        held.release()
