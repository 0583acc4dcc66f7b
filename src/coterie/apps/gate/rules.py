"""The rules of a gate, declared once: how it counts, and where it keeps what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie.errors import ParameterError

if TYPE_CHECKING:
    from coterie.methods.windowed_counts import WindowedCounts

_OF_STATE = ("k", "window", "flush", "rest", "clicks", "shadow")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a gate counts, and where it keeps what: the keywords of `Gate`."""

    state: str | Path
    """Folder of the state; private."""
    output: str | Path
    """Folder of the parts."""
    key: str | Path | None = None
    """The key file; else STATE.key beside the state."""
    k: int = 5
    """Smallest number of users behind a query."""
    window: str = "30d"
    """How long people are counted together."""
    flush: str = "1h"
    """How often parts close, at fixed times."""
    rest: Literal["window", "part"] = "window"
    """When rows come out that fewer than k people add to a query that is out already: with the end of the window, or
    with the next part."""
    clicks: bool = True
    """Whether (query, page) pairs of k users are counted, too."""
    kind: str = "tsv"
    """What parts are: tsv, csv, parquet or jsonl."""
    arrival: bool = False
    """Whether rows get the time at which they come."""
    shadow: int = 64
    """One query in so many is counted twice; 0 for none, in tests alone."""
    audit: str | Path | None = None
    """A folder for the rows themselves, to verify parts in tests; nothing is protected there."""

    def __post_init__(self) -> None:
        from coterie.apps.gate.table import MOST_K

        _ = self.method  # refuses a wrong k or window
        if self.k > MOST_K:
            raise ParameterError(f"A gate counts up to k = {MOST_K:,}.")
        if self.rest not in ("window", "part"):
            raise ParameterError("rest must be 'window' or 'part'.")

    @property
    def method(self) -> WindowedCounts:
        """The method that would give the same in one run."""
        from coterie.methods.windowed_counts import WindowedCounts

        return WindowedCounts(k=self.k, window=self.window, clicks=self.clicks)

    @property
    def of_state(self) -> dict[str, Any]:
        """The rules that a state keeps to: what it holds was counted by them."""
        return {name: getattr(self, name) for name in _OF_STATE}
