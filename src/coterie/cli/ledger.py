"""`coterie ledger`: what releases with differential privacy have spent of the people in a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from coterie.cli import options as opt
from coterie.cli.console import Number, console, print_numbers

if TYPE_CHECKING:
    from coterie.writing.history import Allowance, Spent


@click.group(context_settings=opt.CONTEXT)
def ledger() -> None:
    """What private releases have spent of the people in a log."""


@ledger.command(cls=opt.Command)
@click.argument("log", type=opt.PLACE)
@opt.all_of(*opt.history, opt.reading, opt.as_json)
def show(log: str, history: str | None, log_name: str | None, as_json: bool, **options: Any) -> None:
    """What each run has spent of the people in LOG, and the sums; failed runs count as well.

    LOG is known by its name, or by its bytes where it is read with the same options.
    """
    from coterie.core.files import expand
    from coterie.writing.history import budget_of, spent_of, total

    files = expand([log], folders=True)
    entries, budget = spent_of(files, history, log_name, opt.reading_of(options)), budget_of(files, history, log_name)
    epsilon, delta = total(entries)
    if as_json:
        numbers: list[Number] = [("runs", len(entries), "runs"), *_pair("", epsilon, delta)]
        for run, entry in enumerate(entries, start=1):
            numbers += _pair(f"run.{run}.", entry.epsilon, entry.delta)
            parts = zip(entry.what.split(" and "), entry.orders, strict=False)
            numbers += [(f"run.{run}.order.{part}", order, "order") for part, order in parts]
        if budget is not None:
            numbers += [*_pair("budget.", budget.epsilon, budget.delta), *_pair("left.", *budget.left(entries))]
        print_numbers("ledger", numbers, as_json=True)
        return
    out = console(stderr=False)
    for entry in entries:
        cost = f"epsilon = {entry.epsilon:.4g}  delta = {entry.delta:.3g}"
        orders = "".join(f"  order = {order:.4g}" for order in entry.orders)
        out.print(f"{entry.date}  {cost}{orders}  {entry.method}: {entry.what}", markup=False)
    runs_listed = "1 run" if len(entries) == 1 else f"{len(entries)} runs"
    out.print(f"{runs_listed}: epsilon = {epsilon:.4g}, delta = {delta:.3g} in all.", markup=False)
    if budget is not None:
        out.print(_sentence(budget, entries), markup=False)


def _pair(prefix: str, epsilon: float, delta: float) -> list[Number]:
    return [(f"{prefix}epsilon", epsilon, ""), (f"{prefix}delta", delta, "probability")]


def _sentence(budget: Allowance, entries: Sequence[Spent]) -> str:
    epsilon, delta = budget.left(entries)
    return (
        f"Budget: epsilon = {budget.epsilon:.4g}, delta = {budget.delta:.3g}; left: epsilon = {epsilon:.4g}, "
        f"delta = {delta:.3g}."
    )


@ledger.command(cls=opt.Command)
@click.argument("budget", metavar="EPS,DELTA")
@click.argument("log", type=opt.PLACE)
@opt.all_of(*opt.history)
def budget(budget: str, log: str, history: str | None, log_name: str | None) -> None:
    """Keep the most that may be spent of the people in LOG; no run may spend more, from whatever door.

    It replaces the budget that the log had. What was spent before counts.
    """
    from coterie.core.files import expand
    from coterie.writing.history import Allowance, keep_budget, spent_of

    files, allowance = expand([log], folders=True), Allowance.read(budget)
    keep_budget(files, allowance, history, log_name)
    console(stderr=False).print(_sentence(allowance, spent_of(files, history, log_name)), markup=False)
