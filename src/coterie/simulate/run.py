"""Run a simulation: replay a log under a protocol, and measure what others see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from coterie.core import randomness, registry
from coterie.core.log import Log
from coterie.core.params import public_params
from coterie.core.scores import score_table
from coterie.errors import NotApplicableError
from coterie.simulate.case import Case
from coterie.simulate.protection import Protects
from coterie.simulate.seen import Seen
from coterie.simulate.world import World

Progress = Callable[..., None]
PROTOCOLS, MEASURES = "protocols", "simulation_measures"


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation:
    """What would have been seen, in numbers. It is no release and has no promise."""

    protocol: str
    params: Mapping[str, Any]
    scores: pl.DataFrame = field(repr=False)
    """name, key, value, unit"""
    left_out: Mapping[str, str]
    """Measures that have no meaning for the protocol, and why."""
    notes: tuple[str, ...]
    seed: int
    seen: Seen = field(repr=False)


def simulate(
    log: Log | World,
    by: Protects,
    *,
    measures: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Progress = lambda _name, _share=None: None,
) -> Simulation:
    """Replay a log, protected by a protocol, and measure what the engine and friends see.

    `measures` are names of files in simulate/measures; all that apply unless given; `exposure` never comes without
    `simattack`. The same seed gives the same simulation. A World, made of a log once, serves several simulations.
    """
    seed = randomness.new_seed() if seed is None else seed
    chosen = registry.names(MEASURES) if measures is None else list(dict.fromkeys(measures))
    if "exposure" in chosen and "simattack" not in chosen:
        chosen.append("simattack")  # exposure alone misleads: little under one's name, and most authors named
    modules = {name: registry.module(MEASURES, name) for name in chosen}
    progress("replay")
    world = log if isinstance(log, World) else World.of(log)
    case = Case(world=world, protocol=by, seen=by.protect(world, seed), seed=seed)
    rows: list[tuple[Any, ...]] = [
        ("log", "users", float(world.n_users), "users"),
        ("log", "events", float(world.n_events), "queries"),
    ]
    left_out: dict[str, str] = {}
    for name, module in modules.items():
        progress(name)
        try:
            rows += [(name, score.key, score.value, score.unit) for score in module.measure(case)]
        except NotApplicableError as error:
            left_out[name] = str(error)
    notes = list(case.seen.notes)
    if world.without_user:
        notes.append(f"Rows without a user or a query, left out: {world.without_user:,}.")
    return Simulation(
        protocol=registry.name_of(by),
        params=public_params(by),
        scores=score_table(rows),
        left_out=left_out,
        notes=tuple(notes),
        seed=seed,
        seen=case.seen,
    )


def protocol(name: str, **params: Any) -> Protects:
    """The protocol of that name."""
    made: Protects = registry.member(PROTOCOLS, name)(**params)
    return made
