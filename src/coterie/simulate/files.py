"""A simulation of log files, for the command line: read, replay, measure, and put the numbers into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coterie import __version__, jobs
from coterie.core import randomness
from coterie.core.declared import json_bytes
from coterie.core.params import files_of
from coterie.errors import NotApplicableError, ParameterError
from coterie.jobs import Note
from coterie.reading.reading import Reading
from coterie.simulate.protection import Protects
from coterie.simulate.run import Progress, Simulation, simulate
from coterie.simulate.world import World
from coterie.steps import StepLike
from coterie.writing.targets import placed, refuse_closed, refuse_output

SCORES, ABOUT = "scores.csv", "simulation.json"


def simulate_files(
    paths: Sequence[str],
    by: Protects,
    *,
    reading: Reading | None = None,
    steps: Sequence[StepLike] = (),
    measures: Sequence[str] = (),
    users: int | None = None,
    language: str = "english",
    seed: int | None = None,
    folder: Path | None = None,
    force: bool = False,
    progress: Progress = lambda _name, _share=None: None,
    note: Note = lambda _text: None,
) -> Simulation:
    """Read and prepare log files and replay them; `folder` gets the scores and what they are of."""
    inputs = [*files_of(by).values()]
    if folder is not None:
        _refuse(folder, force, inputs)
    progress("read")
    log = jobs.read_logs(paths, reading, steps=steps, note=note)
    seed = randomness.new_seed() if seed is None else seed
    world = World.of(log, language_name=language, users=users, seed=seed)
    done = simulate(world, by, measures=measures or None, seed=seed, progress=progress)
    for text in done.notes:
        note(text)
    for name, why in done.left_out.items():
        if name in measures:
            raise NotApplicableError(f"{name} has no meaning for {done.protocol}: {why}.")
    if folder is not None:
        about = {"prepare": list(log.steps), "users": users, "language": language}
        _write(done, about, folder, force, [*log.sources, *inputs])
    return done


def _refuse(folder: Path, force: bool, inputs: Sequence[Path]) -> None:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder} is not a folder. Choose another one with -o.")
    refuse_closed(folder, new=True)
    if folder.is_dir():
        for name in (SCORES, ABOUT):
            refuse_output(folder / name, force, inputs)


def _write(done: Simulation, asked: Mapping[str, Any], folder: Path, force: bool, inputs: Sequence[Path]) -> None:
    folder.mkdir(exist_ok=True, parents=True)
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
    with placed(folder / SCORES, force=force, inputs=inputs) as part:
        done.scores.write_csv(part)
    with placed(folder / ABOUT, force=force, inputs=inputs) as part:
        part.write_bytes(json_bytes(about))
