"""What all studies share: the cells by seed, the log, the results of cells, and files in their places."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from coterie import __version__, api
from coterie.core import registry
from coterie.core.declared import DeclaredFile, json_bytes, json_file
from coterie.core.files import every_file
from coterie.core.log import Log, chronological, halves, without_outsiders
from coterie.core.params import files_of
from coterie.measures import inputs as measure_inputs
from coterie.study.file import MAKERS, Cell, Study
from coterie.writing.files import sha256
from coterie.writing.targets import placed


def runs(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that differ in their seeds alone stand together, in the order of the first; each seed once."""
    by_label: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        by_label.setdefault(cell.label, {}).setdefault(cell.seed, cell)
    return [list(by_seed.values()) for by_seed in by_label.values()]


def made(study: Study, cell: Cell) -> Any:
    """The method or protocol of a cell."""
    return registry.member(MAKERS[study.kind], cell.method)(**cell.params)


def read_log(study: Study) -> tuple[Log, dict[str, Log]]:
    """The log and, where it is split, what measures get of the rest: what came later, or public documents."""
    log = api.prepare(api.read(study.sources, study.read), study.prepare.steps)
    given: dict[str, Log] = {}
    if study.prepare.split == "halves":
        log, given["public"] = halves(log)
    elif study.prepare.split == "chronological":
        log, given["later"] = chronological(log, study.prepare.split_rows)
    if study.prepare.outsiders:
        log, given["outsiders"] = without_outsiders(log, study.prepare.outsiders)
    return log, given


def digested(study: Study, version: int) -> str:
    """What all cells depend on: the bytes of the input and of other files, the steps, the measures, our version and
    that of results."""
    inputs = [
        [source] if source.startswith("synth:") else [sha256(path) for path in every_file([source])]
        for source in study.sources
    ]
    judged = {**study.inputs, **{name: sha256(path) for name, path in measure_inputs.files_of(study.inputs).items()}}
    parts = [inputs, study.read.said, msgspec.to_builtins(study.prepare), study.measures, judged, __version__, version]
    return json.dumps(parts, sort_keys=True)


class Results:
    """The files of a study's cells, beside what people want to see. Their names are digests of all they depend on."""

    def __init__(self, study: Study, kind: type[Any], version: int) -> None:
        self._study, self._kind, self._version = study, kind, version
        self.folder = study.folder / "cells"
        self._common = digested(study, version)

    def path(self, cell: Cell) -> Path:
        """Where the result of a cell is kept."""
        method = made(self._study, cell)
        params = asdict(method)  # a default counts the same whether it is said or not
        params |= {name: sha256(path) for name, path in files_of(method).items()}
        asked = [cell.method, params, cell.seed, *cell.steps, *([cell.measures] if cell.measures else [])]
        text = self._common + json.dumps(asked, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def keep(self, cell: Cell, **result: Any) -> None:
        """Write the result of a cell."""
        with placed(self.path(cell), force=True) as part:
            part.write_bytes(json_bytes(self._kind(format=self._version, **result)))

    def read(self, cell: Cell) -> Any:
        """The result of a cell; InputError where its file holds something else."""
        path = self.path(cell)
        file = DeclaredFile(
            name=f"{path.parent.parent.name}/{path.parent.name}/{path.name}",
            verdict="is not a result of this study",
            end="Delete it, and it is computed again.",
        )
        return json_file(path.read_bytes(), self._kind, self._version, file)


def put(path: Path, text: str, inputs: Sequence[Path]) -> None:
    """Write a file of the study, in place of what an earlier run wrote; never over something that a study reads."""
    with placed(path, force=True, inputs=inputs) as part:
        part.write_text(text, encoding="utf-8")


def files_read(study: Study) -> list[Path]:
    """The study file, the log, and the files that measures and methods need."""
    sources = [source for source in study.sources if not source.startswith("synth:")]
    given = measure_inputs.files_of(study.inputs).values()
    params = [path for cell in study.cells for path in files_of(made(study, cell)).values()]
    return [study.path, *(every_file(sources) if sources else ()), *given, *dict.fromkeys(params)]
