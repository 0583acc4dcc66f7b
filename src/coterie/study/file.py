"""The study file: what its TOML may hold, and the grid of cells that it asks for.

Each table of the file is a declared class here; [[anonymize]] holds, beside its own two keys, the parameters of its
method, and [[simulate]] those of its protocol. A study is about one of the two. All of it is checked before any work is
done.

Studies that come with Coterie: found by name, and the one that a new study begins with.

They stand in `studies/` of a clone, and in the folder `studies` of an installed package.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

import coterie
from coterie import regimes, taxonomies
from coterie.core import registry
from coterie.core.declared import Declared, DeclaredFile, as_declared, keys_of, known_keys, refuse_format, toml_table
from coterie.core.params import params_of, values_of, with_files_in
from coterie.core.plan import Method
from coterie.errors import InputError, MissingError, ParameterError, did_you_mean
from coterie.measures.inputs import INPUTS, files_of, from_study, read_inputs
from coterie.reading.reading import Option, Reading, columns_of, details_of, options
from coterie.reports import RANDOM, report_kind
from coterie.reports.drawing import Drawing, check_drawing
from coterie.steps import DEFAULT, spelled, steps_of
from coterie.writing.targets import placed

FORMAT = 1


def _kind_of(option: Option) -> Any:
    """What a value of [read] may be."""
    if not option.metavar:
        return bool
    if option.read in (columns_of, details_of):
        return str | dict[str, str]
    return int | None if option.read is int else str | None


_OPTIONS = {name: option for name, option in options().items() if name != "sql"}  # a study reads files
ReadTable = msgspec.defstruct(
    "ReadTable",
    [
        ("source", Annotated[tuple[str, ...], Meta(min_length=1)] | str),
        *((name, _kind_of(option), getattr(Reading(), name)) for name, option in _OPTIONS.items()),
    ],
    bases=(Declared,),
    frozen=True,
    kw_only=True,
)
"""[read]: the log, as the options of the command line say it."""


class PrepareTable(Declared, frozen=True, kw_only=True):
    """[prepare]: steps, and whether releases are judged by what came later."""

    steps: tuple[str | dict[str, Any], ...] = DEFAULT
    """Each as a text, `"sessions(minutes=10)"`, or as a table, `{name = "sessions", minutes = 10}`."""
    split: Literal["chronological", "halves"] | None = None
    split_rows: Annotated[int, Meta(ge=0)] = 0
    outsiders: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    """The share of users who are kept out of all releases: the control of attacks, and who releases are useful to."""


_KIND_OF_INPUT = {"numbers": tuple[int, ...] | None, "file": str | None}
MeasureTable = msgspec.defstruct(
    "MeasureTable",
    [
        ("names", tuple[str, ...] | None, None),
        *((each.name, _KIND_OF_INPUT[each.kind], None) for each in INPUTS.values() if each.in_study),
    ],
    bases=(Declared,),
    frozen=True,
    kw_only=True,
)
"""[measure]: which measures, and the inputs that some of them need, as `measures/inputs.py` declares them."""


class ReportTable(Declared, frozen=True, kw_only=True):
    """[report]: where the page goes."""

    to: str | None = None


class AnonymizeTable(Declared, frozen=True, kw_only=True):
    """[[anonymize]], but for the parameters of the method."""

    method: str = ""
    regime: str = ""
    """A regime in place of a method: its method, its parameters and its further steps."""
    steps: tuple[str, ...] = ()
    """Prepare steps of these cells alone, after those of [prepare]."""
    seed: Annotated[tuple[int, ...], Meta(min_length=1)] | int = 7
    """A study is there to be repeated. Of several seeds the mean is told."""

    @property
    def name(self) -> str:
        """What makes its cells."""
        return self.method


class SimulateTable(Declared, frozen=True, kw_only=True):
    """[[simulate]], but for the parameters of the protocol."""

    protocol: str
    seed: Annotated[tuple[int, ...], Meta(min_length=1)] | int = 7
    measures: tuple[str, ...] | None = None
    """In place of those of [measure]: some tests of a paper look at one thing only."""

    @property
    def name(self) -> str:
        """What makes its cells."""
        return self.protocol


Kind = Literal["anonymize", "simulate"]
_TABLES: dict[Kind, tuple[type[AnonymizeTable] | type[SimulateTable], str, str]] = {
    "anonymize": (AnonymizeTable, "methods", "measures"),
    "simulate": (SimulateTable, "protocols", "simulation_measures"),
}
"""What a table of each kind holds, what makes its cells, and what measures them."""
MAKERS = {kind: makers for kind, (_, makers, _) in _TABLES.items()}


class StudyFile(Declared, frozen=True, kw_only=True):
    """All tables of a study file."""

    format: int = FORMAT
    read: dict[str, Any]
    """A ReadTable, whose keys are the options of a Reading."""
    prepare: PrepareTable = PrepareTable()
    anonymize: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)] | None = None
    simulate: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)] | None = None
    measure: dict[str, Any] = msgspec.field(default_factory=dict)
    """A MeasureTable, whose keys are those of the inputs there are."""
    report: ReportTable = ReportTable()
    figure: tuple[Drawing, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of the grid."""

    method: str
    params: Mapping[str, Any]
    seed: int
    label: str
    baseline: Cell | None = None
    """The same with random groups, for methods that group users."""
    measures: tuple[str, ...] | None = None
    """In place of those of the study."""
    steps: tuple[str, ...] = ()
    """Prepare steps after those of the study."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study file that was checked."""

    path: Path
    sources: tuple[str, ...]
    """Paths of files, wherever the study is, or `synth:...`."""
    read: Reading
    prepare: PrepareTable
    cells: tuple[Cell, ...]
    measures: tuple[str, ...] | None
    """None: all that apply."""
    inputs: Mapping[str, Any]
    """What some measures need, as `measure` takes it."""
    report: Path | None
    figures: tuple[Drawing, ...]
    folder: Path
    """Where the results of the cells, the scores and the figures are kept."""
    kind: Kind = "anonymize"

    @property
    def n_cells(self) -> int:
        """How many cells there are, with those of random groups."""
        return sum(1 if cell.baseline is None else 2 for cell in self.cells)


def load_study(path: Path, *, folder: Path | None = None, read: tuple[Sequence[str], Reading] | None = None) -> Study:
    """Parse and check a study file before any work is done.

    `folder` takes all that is written, in place of `<study>.results`; `read` says which log to read, and how, in place
    of [read].
    """
    file = DeclaredFile(name=path.name, toml=True)
    data = _table(path, file)
    if read is not None:  # paths of a study are relative to it, those of a caller are not
        data["read"] = {**read[1].said, "source": [_located(source, Path.cwd()) for source in read[0]]}
    refuse_format(data, FORMAT, file)
    study = as_declared(data, StudyFile, file)
    said = msgspec.structs.asdict(as_declared(study.read, ReadTable, file, ("read",)))
    sources = said.pop("source")
    sources = [sources] if isinstance(sources, str) else sources
    kind = _kind(study, file)
    prepare = _prepared(study.prepare, file)
    names, inputs = _measuring(study, path.parent, file, _TABLES[kind][2])
    _check_figures(study.figure, names, file, _TABLES[kind][2])
    to = study.report.to
    if to is not None:
        report_kind(Path(to))
    entries = enumerate(getattr(study, kind))
    return Study(
        path=path,
        sources=tuple(_located(source, path.parent) for source in sources),
        read=Reading().with_options(said),
        prepare=prepare,
        cells=tuple(
            cell
            for number, entry in entries
            for cell in _cells(kind, entry, number, path.parent, tuple(map(str, prepare.steps)), file)
        ),
        measures=names,
        inputs=inputs,
        report=None if to is None else (folder or path.with_suffix(".results")) / to,
        figures=study.figure,
        folder=folder or path.with_suffix(".results"),
        kind=kind,
    )


def _kind(study: StudyFile, file: DeclaredFile) -> Kind:
    """What the study is about; raises InputError where it is about both, or about nothing."""
    if study.simulate is None and study.anonymize is None:
        raise file.error("'anonymize' is missing; a study has [[anonymize]] or [[simulate]] tables")
    if study.simulate is None:
        return "anonymize"
    if study.anonymize is not None:
        raise file.error("it has both [[anonymize]] and [[simulate]]; make two studies of it")
    if study.report.to is not None or study.prepare.split is not None or study.prepare.outsiders:
        raise file.error(
            "[report], 'split' and 'outsiders' are about releases, and simulations are none; leave them out"
        )
    if any(not drawing.against for drawing in study.figure):
        raise file.error("a [[figure]] of simulations draws one score against another; give 'against'")
    return "simulate"


def _table(path: Path, file: DeclaredFile) -> dict[str, Any]:
    try:
        return toml_table(path.read_bytes(), file)
    except FileNotFoundError:
        raise MissingError(f"{path}: no such study file.") from None
    except OSError:
        raise InputError(f"{path} cannot be read. Give a study file.") from None


def _prepared(prepare: PrepareTable, file: DeclaredFile) -> PrepareTable:
    """[prepare] with its steps in their one spelling; what is wrong with them is said before any work."""
    if prepare.split_rows and prepare.split is None:
        raise file.error("'split_rows' in [prepare] goes with 'split'; add it")
    if prepare.outsiders and prepare.split == "halves":
        raise file.error("'outsiders' in [prepare] are users who search, and documents are none; leave it out")
    return msgspec.structs.replace(prepare, steps=tuple(map(spelled, steps_of(prepare.steps))))


def _measuring(
    study: StudyFile, folder: Path, file: DeclaredFile, measures: str
) -> tuple[tuple[str, ...] | None, dict[str, Any]]:
    """The names of the measures (None: all that apply), and what some of them need, with files in their places."""
    table = msgspec.structs.asdict(as_declared(study.measure, MeasureTable, file, ("measure",)))
    names = table.pop("names")
    for name in names or ():
        registry.module(measures, name)
    inputs = from_study({name: value for name, value in table.items() if value is not None}, folder)
    try:
        read_inputs(inputs)  # what is wrong with them is said before any work
    except ParameterError as error:
        raise ParameterError(f"{file.name}: {error}") from None
    if "taxonomy" in files_of(inputs):
        taxonomies.load(str(inputs["taxonomy"]))
    return names, inputs


def _check_figures(
    figures: tuple[Drawing, ...], names: tuple[str, ...] | None, file: DeclaredFile, measures: str
) -> None:
    for drawing in figures:
        check_drawing(drawing)
        if names is not None and drawing.measure not in names:
            raise file.error(f"{drawing.file} draws {drawing.measure}, which [measure] does not name; add it there")
        registry.module(measures, drawing.measure)


def _located(source: str, folder: Path) -> str:
    return source if source.startswith("synth:") else str(folder / source)


def _of_regime(
    table: AnonymizeTable, entry: Mapping[str, Any], number: int, common: tuple[str, ...], file: DeclaredFile
) -> tuple[AnonymizeTable, Mapping[str, Any]]:
    """The table of a regime with its method, its parameters and those of its steps that the study does not have."""
    where = f"[[anonymize]] number {number + 1}"
    if not table.regime:
        if not table.method:
            raise file.error(f"'method' is missing in {where}; or give it a 'regime'")
        return msgspec.structs.replace(table, steps=tuple(map(spelled, steps_of(table.steps)))), entry
    if table.method or table.steps:
        raise file.error(f"a regime has its method and its steps; leave out 'method' and 'steps' in {where}")
    regime = regimes.load(table.regime)
    if regime.prepare[: len(common)] != common:
        raise file.error(f"{table.regime} begins with the steps {', '.join(regime.prepare)}; [prepare] has others")
    further = regime.prepare[len(common) :]
    return msgspec.structs.replace(table, method=regime.method, steps=further), {**regime.parameters, **entry}


def _cells(
    kind: Kind, entry: Mapping[str, Any], number: int, folder: Path, common: tuple[str, ...], file: DeclaredFile
) -> Iterator[Cell]:
    """All combinations of the lists of one [[anonymize]] or [[simulate]] table of a study in that folder."""
    declared, makers, _ = _TABLES[kind]
    own = keys_of(declared)
    table = as_declared({key: entry[key] for key in own if key in entry}, declared, file, (kind, number))
    if isinstance(table, AnonymizeTable):
        table, entry = _of_regime(table, entry, number, common, file)
    make = registry.member(makers, table.name)
    known = (*own, *(param.name for param in params_of(make)))
    where = f"[[{kind}]] number {number + 1}"
    for key in entry:
        if key not in known:
            raise file.error(f"unknown key {key!r} in {where}, which is about {table.name}{known_keys(key, known)}")
    grid = _grid({key: value for key, value in entry.items() if key not in own}, where, file)
    if isinstance(table, SimulateTable):
        for name in table.measures or ():
            registry.module(_TABLES[kind][2], name)
    seeds = dict.fromkeys((table.seed,) if isinstance(table.seed, int) else table.seed)
    for point in itertools.product(*grid.values()):
        for seed in seeds:
            yield _with_table(_cell(table.name, make, dict(zip(grid, point, strict=True)), seed, folder), table)


def _grid(params: Mapping[str, Any], where: str, file: DeclaredFile) -> dict[str, list[Any]]:
    """The values of each parameter, one or several."""
    for key, value in params.items():
        if value == []:
            raise file.error(f"{key!r} in {where} is an empty list; give it a value")
    return {key: value if isinstance(value, list) else [value] for key, value in params.items()}


def _with_table(cell: Cell, table: AnonymizeTable | SimulateTable) -> Cell:
    """A cell with what its table says besides parameters and seeds."""
    if isinstance(table, SimulateTable):
        return replace(cell, measures=table.measures)
    regime = f"{table.regime}: " if table.regime else ""
    after = f" after {', '.join(table.steps)}" if table.steps else ""
    at_random = None if cell.baseline is None else replace(cell.baseline, steps=table.steps)
    return replace(cell, steps=table.steps, label=f"{regime}{cell.label}{after}", baseline=at_random)


def _cell(name: str, make: type, written: Mapping[str, Any], seed: int, folder: Path) -> Cell:
    params = with_files_in(make, written, folder)
    try:
        method = make(**params)
    except TypeError:
        raise ParameterError(f"{name} has parameters without a default. Add them to [[anonymize]].") from None
    label = " ".join([name, *(f"{key}={value}" for key, value in written.items())])
    at_random = method.baseline() if isinstance(method, Method) else None
    baseline = None
    if at_random is not None:
        baseline = Cell(method=name, params=values_of(at_random), seed=seed, label=f"{label}, {RANDOM.lower()}")
    return Cell(method=name, params=params, seed=seed, label=label, baseline=baseline)


# --- studies that come along ------------------------------------------------------------------------


FIRST = "quick"
_PACKAGE = Path(coterie.__file__).parent


def shipped() -> dict[str, Path]:
    """The studies that come along, by name."""
    places = (_PACKAGE / "studies", _PACKAGE.parents[1] / "studies")
    folder = next((place for place in places if (place / f"{FIRST}.toml").is_file()), None)
    return {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.toml"))}


def located(file: Path) -> tuple[Path, Path | None]:
    """The study that somebody asked for: a file or, where there is none, one that comes along; and where results go.

    Results of one that comes along go to the folder where the caller is, because a package is no place to write to.
    """
    if file.exists() or file.suffix == ".toml" or len(file.parts) > 1:
        return file, None
    known = shipped()
    if file.name not in known:
        hint = did_you_mean(file.name, list(known))
        raise MissingError(
            f"{file}: no such study file, and no study that comes along.{hint} Those: {', '.join(known)}."
        )
    return known[file.name], Path(f"{file.name}.results")


def write_first(to: Path, force: bool = False) -> None:
    """A study to begin with, to be changed: two methods, three k, a picture and a report, in less than a minute."""
    text = shipped()[FIRST].read_text(encoding="utf-8")
    lines = [line.replace("coterie study quick", f"coterie study {to.name}") if line.startswith("#   ") else line
             for line in text.splitlines(keepends=True)]  # fmt: skip
    with placed(to, force) as part:
        part.write_text("".join(lines), encoding="utf-8")
