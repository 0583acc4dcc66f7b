"""Run a simulation: replay a log under a protocol, and measure what others see.

A simulation of log files, for the command line: read, replay, measure, and put the numbers into a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import polars as pl

from coterie import __version__, jobs
from coterie.core import randomness, registry
from coterie.core.declared import json_bytes
from coterie.core.log import Log
from coterie.core.params import files_of, public_params
from coterie.core.scores import score_table
from coterie.errors import CoterieError, NotApplicableError, ParameterError
from coterie.jobs import PLAIN, Job
from coterie.lab.simulate.case import Case
from coterie.lab.simulate.protection import Protection, Seen
from coterie.lab.simulate.world import World
from coterie.reading.reading import Reading
from coterie.steps import StepLike
from coterie.writing.target import Target
from coterie.writing.targets import placed, refuse_closed, refuse_output

Progress = Callable[..., None]
PROTOCOLS, MEASURES = "protocols", "simulation_measures"
_WORLDS: WeakKeyDictionary[Log, World] = WeakKeyDictionary()


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


def _world_of(log: Log) -> World:
    if log not in _WORLDS:
        _WORLDS[log] = World.of(log)
    return _WORLDS[log]


def simulate(
    log: Log | World,
    by: Protection,
    *,
    measures: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Progress = lambda _name, _share=None: None,
) -> Simulation:
    """Replay a log, protected by a protocol, and measure what the engine and friends see.

    `measures` are names of files in lab/simulate/measures; all that apply unless given; `exposure` never comes without
    `simattack`. The same seed gives the same simulation. The World of a log is made once.
    """
    seed = randomness.new_seed() if seed is None else seed
    chosen = registry.names(MEASURES) if measures is None else list(dict.fromkeys(measures))
    if "exposure" in chosen and "simattack" not in chosen:
        chosen.append("simattack")  # exposure alone misleads: little under one's name, and most authors named
    modules = {name: registry.module(MEASURES, name) for name in chosen}
    progress("replay")
    world = log if isinstance(log, World) else _world_of(log)
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


def protocol(name: str, **params: Any) -> Protection:
    """The protocol of that name."""
    made: Protection = registry.member(PROTOCOLS, name)(**params)
    return made


# --- files ------------------------------------------------------------------------------------------


SCORES, ABOUT = "scores.csv", "simulation.json"


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What is replayed, and what is measured of it."""

    by: Protection
    measures: Sequence[str] = ()
    """All that apply, unless given."""
    users: int | None = None
    """So many users, drawn by the seed; None for all."""
    language: str = "english"
    """That of the queries, for their keywords."""


def simulate_files(
    paths: Sequence[str],
    replay: Replay,
    *,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    to: Target | None = None,
    job: Job = PLAIN,
) -> Simulation:
    """Read and prepare log files and replay them; the folder `to` gets the scores and what they are of."""
    inputs = [*files_of(replay.by).values()]
    if to is not None:
        _refuse(to, inputs)
    job.progress("read")
    log = jobs.read_logs(paths, reading, steps=steps, job=Job(note=job.note))
    seed = randomness.new_seed() if job.seed is None else job.seed
    world = World.of(log, language_name=replay.language, users=replay.users, seed=seed)
    done = simulate(world, replay.by, measures=replay.measures or None, seed=seed, progress=job.progress)
    for text in done.notes:
        job.note(text)
    for name, why in done.left_out.items():
        if name in replay.measures:
            raise NotApplicableError(f"{name} has no meaning for {done.protocol}: {why}.")
    if to is not None:
        about = {"prepare": list(log.steps), "users": replay.users, "language": replay.language}
        _write(done, about, to, [*log.sources, *inputs])
    return done


def _refuse(to: Target, inputs: Sequence[Path]) -> None:
    if to.file.exists() and not to.file.is_dir():
        raise ParameterError(f"{to.file} is not a folder. Choose another one with -o.")
    refuse_closed(to.file, new=True)
    if to.file.is_dir():
        for name in (SCORES, ABOUT):
            refuse_output(to.file / name, to.force, inputs)


def _write(done: Simulation, asked: Mapping[str, Any], to: Target, inputs: Sequence[Path]) -> None:
    to.file.mkdir(exist_ok=True, parents=True)
    about = {
        "simulation": "What others would have seen; no release, and nothing is promised.",
        "protocol": done.protocol,
        "parameters": dict(done.params),
        **asked,
        "seed": str(done.seed),
        "version": __version__,
        "notes": list(done.notes),
        "left_out": dict(done.left_out),
    }
    with placed(to.file / SCORES, force=to.force, inputs=inputs) as part:
        done.scores.write_csv(part)
    with placed(to.file / ABOUT, force=to.force, inputs=inputs) as part:
        part.write_bytes(json_bytes(about))


def work_once(logs: Sequence[Log]) -> None:
    """Compile what simulations are made of: each protocol replays a small log, in all its variations."""
    from coterie.testing._variations import variations

    for name in registry.names(PROTOCOLS):
        for params in ({}, *(params for _, params in variations(registry.member(PROTOCOLS, name), {}))):
            with suppress(CoterieError):
                simulate(logs[0], protocol(name, **params), seed=1)
