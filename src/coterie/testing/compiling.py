"""Compile what methods and measures are made of: all of them work once on made-up logs.

So does what applications and simulations name in the entry point group `coterie.compiling`, a function that takes logs
of searches, a small and a larger one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import coterie
from coterie.core import registry
from coterie.core.log import Log
from coterie.core.shapes import QUERIES, TERMS, VISITS
from coterie.errors import CoterieError
from coterie.synth import synthesize
from coterie.testing._logs import larger_log
from coterie.testing._variations import variations

_PEOPLE = {"topics": 300, "visits": 100}
"""Made-up people by kind of log: enough for the paths that small logs do not take."""
_GIVEN = {"k": 2, "delta": 1e-6}


def compile_everything(progress: Callable[[str], None]) -> None:
    """Compile it; `progress` gets the name of what works now. What does not fit a log is left out."""
    small = [coterie.prepare(larger_log(shape)) for shape in (QUERIES, VISITS, TERMS)]
    large = [coterie.prepare(coterie.log(synthesize(people, kind=kind))) for kind, people in _PEOPLE.items()]
    for name in registry.names("methods"):
        progress(name)
        method = registry.method(name)
        given = {key: value for key, value in _GIVEN.items() if key in method.__dataclass_fields__}
        for log in small:
            _release(log, name, given, measured=True)
            for _, params in variations(method, given):
                _release(log, name, params)
        for log in large:
            _release(log, name, given)
    for name, point in sorted(registry.added("compiling").items()):
        progress(name)
        point.load()([small[0], large[0]])


def _release(log: Log, name: str, params: dict[str, Any], *, measured: bool = False) -> None:
    if log.shape not in registry.method(name).accepts:
        return
    with suppress(CoterieError):  # a log that a method refuses, or an extra that is not installed
        release = coterie.anonymize(log, name, seed=None if "delta" in params else 1, **params)
        if measured:
            coterie.measure(release, original=log, seed=1)
