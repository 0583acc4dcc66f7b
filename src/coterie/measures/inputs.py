"""Inputs: what a measure may need besides a log and its release. Each is declared once, here.

The declaration makes the keyword of `coterie.measure` and `coterie.report`, the option of `coterie measure` and
`coterie report`, and the key of [measure] in a study. A measure names its inputs in `needs` and asks for their values
with `comparison.given(name)`.

Importing this module is cheap; what reads a file is loaded where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie.errors import InputError, MissingError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from coterie.core.log import Log, Release

FACTS = {
    "record": "who became whom (the private run record)",
    "rows": "which original row became which released row (a run record of a method that keeps rows)",
    "text": "released items that are strings of the original, not concepts in their place",
}
"""What the release itself must bring."""


def _as_given(value: Any) -> Any:
    return value


def _same_for_all(value: Any, _original: Log) -> Any:
    return value


@dataclass(frozen=True, kw_only=True)
class Input:
    """One input: how it is given, checked and read."""

    name: str
    """The keyword in Python and the key in a study."""
    option: str
    kind: Literal["numbers", "file", "log", "release", "record"]
    """What is given: whole numbers, the path of a file, or a log, a release or a run record (on the command line: the
    files or the folder it is read from)."""
    metavar: str | None = None
    help: str
    default: Any = None
    """Its value where it is not given; None: measures that need it do not apply."""
    if_missing: str = ""
    """Why such a measure does not apply, and what to do."""
    names: tuple[str, ...] = ()
    """Words that stand for something without a file."""
    in_study: bool = True
    """Whether [measure] of a study has it."""
    read: Callable[[Any], Any] = _as_given
    """What was given in Python -> what is handed on, checked."""
    fit: Callable[[Any, Log], Any] = _same_for_all
    """That -> what measures get, given the original as it was prepared."""


# --- how they are read -----------------------------------------------------------------------------


def _read_kappas(value: Any) -> tuple[int, ...]:
    kappas = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(kappa, bool) or not isinstance(kappa, int) or kappa < 2 for kappa in kappas):
        raise ParameterError(f"kappas are whole numbers of at least 2, as in kappas=[2, 5]. Got {value!r} instead.")
    return kappas


def _read_labels(value: Any) -> Any:
    from coterie.measures.labels import read_labels

    return read_labels(value)


def _fit_labels(labels: Any, original: Log) -> Any:
    """item, sensitive: each labelled query once, spelled as in the original."""
    from coterie.measures.labels import spelled

    return spelled(labels, "normalize" in original.steps)


def _fit_later(later: Log, original: Log) -> Any:
    """subject, item, page: what was searched for afterwards."""
    import polars as pl

    from coterie.steps import prepare

    shape, later = original.shape, later.plain
    if later.shape is not shape:
        raise InputError(f"The later log has the shape {later.shape.name}, the original {shape.name}.")
    rows = later if later.steps else prepare(later, original.steps)
    page = pl.col(shape.page) if shape.page else pl.lit(None, pl.String)
    columns = {"subject": pl.col(shape.subject), "item": pl.col(shape.item), "page": page}
    return rows.frame.select(**columns).collect(engine="streaming")


def _fit_outsiders(outsiders: Log, original: Log) -> Any:
    """subject, item, time: rows of people who are not in the original, prepared as it was."""
    import polars as pl

    from coterie.core.shapes import TIME
    from coterie.steps import prepare

    shape, outsiders = original.shape, outsiders.plain
    if outsiders.shape is not shape:
        raise InputError(f"The log of outsiders has the shape {outsiders.shape.name}, the original {shape.name}.")
    rows = outsiders if outsiders.steps else prepare(outsiders, original.steps)
    time = pl.col(shape.time) if shape.time else pl.lit(None, TIME)
    columns = rows.frame.select("row", subject=pl.col(shape.subject), item=pl.col(shape.item), time=time)
    insiders = original.frame.select(subject=pl.col(shape.subject)).drop_nulls().unique()
    return columns.drop_nulls("subject").join(insiders, on="subject", how="anti").collect(engine="streaming")


def _read_topics(value: Any) -> Any:
    from coterie.measures.labels import read_topics

    return read_topics(value)


def _fit_public(public: Log, original: Log) -> Any:
    """doc, term, weight: public documents, prepared as the original was."""
    from coterie.steps import prepare

    shape = original.shape
    if public.shape is not shape or not shape.weight:
        raise InputError(
            f"Public documents have the shape TERMS; these have {public.shape.name}, the log {shape.name}."
        )
    rows = public if public.steps else prepare(public, original.steps)
    return rows.frame.select(shape.released).collect(engine="streaming").sort(shape.order)


def _read_second(value: Any) -> Release:
    from coterie.core.log import Release

    if not isinstance(value, Release):
        raise ParameterError(
            f"second is a release, as anonymize and load_release give them, not {type(value).__name__}."
        )
    return value


def _read_second_record(value: Any) -> Any:
    from coterie.writing.record import read_record

    return read_record(Path(value)) if isinstance(value, (str, Path)) else value


def _read_taxonomy(value: Any) -> str:
    if not isinstance(value, (str, Path)):
        raise ParameterError(f"taxonomy is 'wordnet' or the path of a packed file, not {type(value).__name__}.")
    return str(value)


# --- all of them -------------------------------------------------------------------------------------

_DECLARED = (
    Input(
        name="kappas",
        option="--kappa",
        kind="numbers",
        help="Numbers of clusters for partition_agreement.",
        default=(),
        read=_read_kappas,
    ),
    Input(
        name="labels",
        option="--labels",
        kind="file",
        metavar="FILE",
        help="Which queries are sensitive, for f_beta: columns query, sensitive.",
        if_missing="It compares with labelled queries, and none were given. Give them: --labels FILE.",
        read=_read_labels,
        fit=_fit_labels,
    ),
    Input(
        name="later",
        option="--later",
        kind="log",
        metavar="LOG",
        help="What was searched for later, for later_queries, train_on_release, completion and clicks.",
        if_missing="It needs later queries of the same users: --later LOG, or split = 'chronological' in a study.",
        in_study=False,
        fit=_fit_later,
    ),
    Input(
        name="outsiders",
        option="--outsiders",
        kind="log",
        metavar="LOG",
        help="Searches of people who are not in the log: the control of witness and two_words.",
        if_missing="It needs searches of people who are not in the log: --outsiders LOG, or 'outsiders' in a study.",
        in_study=False,
        fit=_fit_outsiders,
    ),
    Input(
        name="topics",
        option="--topics",
        kind="file",
        metavar="FILE|names",
        help="Which topic documents have, for topic_accuracy: columns doc, topic; names: their folder or file.",
        if_missing="It must know what documents are about: --topics FILE, or --topics names where folders tell it.",
        names=("names",),
        read=_read_topics,
    ),
    Input(
        name="public",
        option="--public",
        kind="log",
        metavar="LOG",
        help="Public documents that a classifier learns from, for topic_accuracy.",
        if_missing="It needs public documents: --public LOG, or split = 'halves' in a study.",
        in_study=False,
        fit=_fit_public,
    ),
    Input(
        name="second",
        option="--second",
        kind="release",
        metavar="OUT",
        help="Another release of the same log, for composition.",
        if_missing="It looks at two releases of one log. Give the other one: --second OUT --second-record DIR.",
        in_study=False,
        read=_read_second,
    ),
    Input(
        name="second_record",
        option="--second-record",
        kind="record",
        metavar="DIR",
        help="The private run record of that other release.",
        if_missing="It must know who became whom in the second release as well. Give its record: --second-record DIR.",
        in_study=False,
        read=_read_second_record,
    ),
    Input(
        name="taxonomy",
        option="--taxonomy",
        kind="file",
        metavar="FILE",
        help="Where measures of meaning look up queries, in place of WordNet.",
        default="wordnet",
        names=("wordnet",),
        read=_read_taxonomy,
    ),
)
INPUTS: Mapping[str, Input] = {each.name: each for each in _DECLARED}


def has_default(name: str) -> bool:
    """Whether measures that need it can be taken where nobody gives it; so it is with the facts of a comparison."""
    return name not in INPUTS or INPUTS[name].default is not None


def read_inputs(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given in Python, checked and read; None, () and [] count as not given."""
    _refuse_unknown(given)
    return {name: INPUTS[name].read(value) for name, value in given.items() if not _is_nothing(value)}


def from_study(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The inputs in the table [measure] of a study: what `read_inputs` takes. Files are looked for in `folder`."""
    _refuse_unknown(table, [name for name, each in INPUTS.items() if each.in_study])
    values = dict(table)
    for name, path in files_of(table).items():
        values[name] = folder / path
        if not values[name].is_file():
            raise MissingError(f"There is no file {path} for {name}. Paths are relative to the study.")
    return values


def files_of(given: Mapping[str, Any]) -> dict[str, Path]:
    """The inputs that were given as files."""
    paths = {
        name: value
        for name, value in given.items()
        if INPUTS[name].kind == "file" and isinstance(value, (str, Path)) and value not in INPUTS[name].names
    }
    return {name: Path(path) for name, path in paths.items()}


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and not value)


def _refuse_unknown(given: Mapping[str, Any], allowed: list[str] | None = None) -> None:
    names = list(INPUTS) if allowed is None else allowed
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names)
            raise ParameterError(f"No measure has an input {name!r}.{hint} Inputs: {', '.join(names)}.")
