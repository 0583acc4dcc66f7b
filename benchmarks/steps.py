"""The steps of a method one by one, for benchmarks that leave out reading, verifying and writing."""

from __future__ import annotations

from typing import Any


def a_run(seed: int, blocks: int = 1) -> Any:
    """A run on this machine."""
    from coterie.core.run import Run
    from coterie.engines.local import Local

    return Run(seed=seed, engine=Local(blocks))


def planned(method: Any, log: Any, run: Any) -> Any:
    """Learn and plan."""
    from coterie.core.plan import learn

    return method.plan(learn(method, log, run), log, run)


def drafted(method: Any, log: Any, run: Any) -> Any:
    """Learn, plan and release."""
    return method.release(log, planned(method, log, run), run)
