"""Runs for tests, and the steps of a method one by one."""

from collections.abc import Callable
from typing import Any

from coterie.core.plan import Plan
from coterie.core.run import Run
from coterie.engines.local import Local


def a_run(seed: int = 1, blocks: int = 1, tell: Callable[[float], None] | None = None) -> Run:
    """A run on this machine."""
    return Run(seed=seed, engine=Local(blocks), **({} if tell is None else {"tell": tell}))


def plan_of(method: Any, log: Any, run: Run | None = None) -> Plan:
    """What a method decides about a log."""
    run = run or a_run()
    return method.plan(method.learn(log, run), log, run)
