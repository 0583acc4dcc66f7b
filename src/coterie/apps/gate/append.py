"""`coterie append`: one night after the other, on the state of a gate.

A night is a log of its own: it is read as a whole, with every format and prepare step, sorted by time, and its end
closes a part. What k people have asked within the window so far comes out, so that several nights together give what
one run over all of them would. A night that was appended before, under whatever name, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coterie import api
from coterie.apps.gate import state as states
from coterie.apps.gate.gate import Gate
from coterie.apps.gate.manage import status_of
from coterie.apps.gate.rules import Rules
from coterie.apps.gate.run import Note, as_before, without_core_dumps
from coterie.apps.gate.windows import DAY
from coterie.core.params import Span
from coterie.errors import NoRowsError, ParameterError
from coterie.reading.reading import Reading
from coterie.steps import PrepareStep

METHODS = ("suppress_rare", "windowed_counts")
"""The methods whose rule a gate applies: k people behind each query."""
_NIGHTS = "nights"
_AT_ONCE = 1_000_000


def append_night(
    method: str,
    paths: Sequence[str],
    rules: Rules,
    *,
    reading: Reading | None = None,
    steps: Sequence[PrepareStep] = (),
    end_window: bool = False,
    note: Note = api.silent,
) -> dict[str, Any]:
    """Append a night; returns the numbers of the gate, with the names of the parts that it gave (`new`).

    Parts close with nights, whatever the `flush` of the rules.
    """
    if method not in METHODS:
        raise ParameterError(f"Nights can be appended for {' and '.join(METHODS)}, not for {method}.")
    without_core_dumps()
    state = Path(rules.state)
    snapshot = states.read(state, header_only=True)
    if snapshot is not None:  # columns are guessed in the first night, for all
        reading = as_before(reading or Reading(), snapshot[0]["settings"])
    try:
        as_read = api.read(list(paths), reading)
    except NoRowsError:
        note("There are no rows in this night.")
        return {**(status_of(state) if snapshot else {}), "new": [], "known": False}
    digest, log = as_read.digest, api.prepare(as_read, steps)
    for text in (*log.notes, *log.warnings):
        note(text)
    # Within a night that is longer than it should be, parts close with days, or with windows where these are shorter.
    flush = "1d" if Span.seconds(rules.window) % DAY == 0 else rules.window
    gate = Gate(rules, flush=flush, shape=log.shape, steps=log.steps, settings=log.settings)
    with gate.abandoned():
        nights = list(gate.position.get(_NIGHTS, ()))
        published = len(gate.published)
        if digest in nights:
            note("This night was appended before. Nothing was changed.")
            return {**gate.status(), "new": [], "known": True}
        rows = log.frame.sort(log.shape.time).collect(engine="streaming")
        before = replace(gate.counts)
        for piece in rows.iter_slices(_AT_ONCE):
            gate.offer_many(piece)
        if end_window:
            gate.end_window()
        else:
            gate.end_part()
        gate.position = {_NIGHTS: [*nights, digest]}
        gate.commit()
        for text in gate.counts.left_out_since(before, {}):
            note(text)
        return {**gate.status(), "new": [part.name for part in gate.published[published:]], "known": False}
