"""The steps of a method one by one, for benchmarks that leave out reading, verifying and writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def a_run(seed: int, blocks: int = 1) -> Any:
    """A run on this machine."""
    from coterie.core.run import Run
    from coterie.engines.local import Local

    return Run(seed=seed, engine=Local(blocks))


def planned(method: Any, log: Any, run: Any) -> Any:
    """Learn and plan."""
    return method.plan(method.learn(log, run), log, run)


def drafted(method: Any, log: Any, run: Any) -> Any:
    """Learn, plan and release."""
    return method.release(log, planned(method, log, run), run)


def drafted_for_each(methods: Sequence[Any], log: Any, run: Any) -> Iterator[Any]:
    """Learn once, then plan and release for methods that differ in k alone."""
    learnt = methods[0].learn(log, run)
    for method in methods:
        yield method.release(log, method.plan(learnt, log, run), run)
