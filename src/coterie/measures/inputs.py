"""Inputs: what a measure may need besides a log and its release. Each is declared once, here.

The declaration makes the keyword of `coterie.measure` and `coterie.report`, the option of `coterie measure` and
`coterie report`, and the key of [measure] in a study. A measure names its inputs in `needs` and asks for their values
with `comparison.given(name)`.

Labelled queries: a table that says of some queries whether they are sensitive. A csv or tsv file (also .gz, .zst) with
a header; tsv has no quoting. The column `query` holds the query, and one of `sensitive`, `label` and `is_pii` the
label: yes, true, 1 or sensitive; no, false, 0 or harmless. Queries in doubt (`maybe`) count as sensitive, and so does a
query that has both labels. Other columns are left alone.

Topics of documents: a table that says which topic some have, or the folder or file that they are in. A csv, tsv or
jsonl file (also .gz, .zst) with `topic` and `doc` or `id`; or the word `names`: a document called `sport/17.txt` is
about `sport`, one called `cacm.all#7` about `cacm.all`. Documents without a topic are left out.

Importing this module is cheap; what reads a file is loaded where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie.errors import InputError, MissingError, ParameterError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from coterie.core.log import Log, Release

FACTS = {
    "record": "who became whom (the private run record)",
    "rows": "which original row became which released row (a run record of a method that keeps rows)",
    "text": "released items that are strings of the original, not concepts in their place",
}
"""What the release itself must bring."""


COLUMNS = ("sensitive", "label", "is_pii")
_YES = ("yes", "true", "1", "sensitive", "maybe")
_NO = ("no", "false", "0", "harmless")
NAMES = "names"
_WITHIN = r"^(.*)[/#][^/#]*$"


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


def read_labels(source: str | Path | pl.DataFrame) -> pl.DataFrame:
    """item, sensitive: labelled queries from a file or a table, as they are spelled there."""
    import polars as pl

    if not isinstance(source, (str, Path, pl.DataFrame)):
        raise ParameterError(f"labels is a file or a table, not {type(source).__name__}.")
    table = source if isinstance(source, pl.DataFrame) else _table(Path(source), "labelled queries", (".tsv", ".csv"))
    given = [name for name in COLUMNS if name in table.columns]
    if "query" not in table.columns or len(given) != 1:
        raise InputError(f"Labelled queries have a column 'query' and one of: {', '.join(COLUMNS)}.")
    word = pl.col(given[0]).cast(pl.String).str.strip_chars().str.to_lowercase()
    labelled = table.select(
        pl.col("query").cast(pl.String).alias("item"),
        pl.when(word.is_in(_YES)).then(True).when(word.is_in(_NO)).then(False).alias("sensitive"),
    )
    unknown = labelled["sensitive"].null_count()
    if unknown:
        raise InputError(
            f"{unknown:,} of {labelled.height:,} labelled queries have a label that is none of: "
            f"{', '.join((*_YES, *_NO))}."
        )
    return labelled.drop_nulls()


def spelled(labels: pl.DataFrame, original: Log) -> pl.DataFrame:
    """item, sensitive: each labelled query once, spelled as in the original."""
    import polars as pl

    from coterie.text.words import spell

    item = spell(pl.col("item")) if "normalize" in original.steps else pl.col("item")
    return labels.group_by(item.alias("item")).agg(pl.col("sensitive").any()).sort("item")


def _prepared(given: Log, original: Log, name: str) -> pl.LazyFrame:
    """The rows of another log, prepared as the original was; InputError where it has another shape."""
    from coterie.steps import prepare

    given = given.plain
    if given.shape is not original.shape:
        raise InputError(f"The {name} has the shape {given.shape.name}, the original {original.shape.name}.")
    return (given if given.steps else prepare(given, original.steps)).frame


def _fit_later(later: Log, original: Log) -> Any:
    """subject, item, page: what was searched for afterwards."""
    from coterie.measures.comparison import columns_of

    columns = columns_of(original.shape, "subject", "item", "page")
    return _prepared(later, original, "later log").select(**columns).collect(engine="streaming")


def _fit_outsiders(outsiders: Log, original: Log) -> Any:
    """row, subject, item, time: rows of people who are not in the original, prepared as it was."""
    from coterie.measures.comparison import columns_of

    columns = columns_of(original.shape, "subject", "item", "time")
    rows = _prepared(outsiders, original, "log of outsiders").select("row", **columns)
    insiders = original.frame.select(subject=columns["subject"]).drop_nulls().unique()
    return rows.drop_nulls("subject").join(insiders, on="subject", how="anti").collect(engine="streaming")


def read_topics(source: object) -> pl.DataFrame | str:
    """doc, topic from a file or a table, each document once; or `names`."""
    import polars as pl

    if isinstance(source, (str, Path)):
        if str(source) == NAMES:
            return NAMES
        table = _table(Path(source), "topics", (".csv", ".tsv", ".jsonl"))
    elif isinstance(source, pl.DataFrame):
        table = source
    else:
        raise ParameterError(f"topics is a file, a table or 'names', not {type(source).__name__}.")
    name = next((column for column in ("doc", "id") if column in table.columns), None)
    if name is None or "topic" not in table.columns:
        raise InputError("Topics of documents have a column 'topic' and a column 'doc' or 'id'.")
    topics = table.select(pl.col(name).cast(pl.String).str.strip_chars().alias("doc"), pl.col("topic").cast(pl.String))
    topics = topics.drop_nulls().unique()
    if several := int(topics["doc"].is_duplicated().sum()):
        raise InputError(f"{several:,} lines of topics say different things about a document. Give each one topic.")
    return topics


def topics_of(documents: pl.Series, topics: pl.DataFrame | str) -> pl.DataFrame:
    """doc, topic of those of some documents that have one, in the order of documents."""
    import polars as pl

    asked = documents.alias("doc").to_frame().sort("doc")
    if isinstance(topics, str):
        return asked.with_columns(pl.col("doc").str.extract(_WITHIN).alias("topic")).drop_nulls()
    return asked.join(topics, on="doc", maintain_order="left")


def _table(path: Path, what: str, endings: tuple[str, ...]) -> pl.DataFrame:
    """A table of labels or topics from a file with one of these endings, or such a file compressed."""
    import polars as pl

    from coterie.reading.source import Source

    ending = (path.with_suffix("") if path.suffix in (".gz", ".zst") else path).suffix
    if ending not in endings:
        named = ", ".join(endings) if len(endings) > 2 else " or ".join(endings)
        raise InputError(f"{what.capitalize()} are read from {named}, also .gz or .zst, not from {path.name}.")
    if not path.is_file():
        raise MissingError(f"{path}: no such file of {what}.")
    try:
        source = Source([path])
        (plain,) = source.paths
        if ending == ".jsonl":
            return pl.read_ndjson(plain, infer_schema_length=None)
        separator, quote = ("\t", None) if ending == ".tsv" else (",", '"')
        return pl.read_csv(plain, separator=separator, quote_char=quote, infer_schema=False)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):  # whose messages show values
        raise InputError(f"{path.name} cannot be read as a table of {what}.") from None


def _fit_public(public: Log, original: Log) -> Any:
    """doc, term, weight: public documents, prepared as the original was."""
    shape = original.shape
    if public.shape is not shape or not shape.weight:
        raise InputError(
            f"Public documents have the shape TERMS; these have {public.shape.name}, the log {shape.name}."
        )
    rows = _prepared(public, original, "log of public documents").select(shape.released)
    return rows.collect(engine="streaming").sort(shape.order)


def _read_log(name: str, value: Any) -> Log:
    from coterie.core.log import Log

    if not isinstance(value, Log):
        raise ParameterError(f"{name} is a log, as read and log give it, not {type(value).__name__}.")
    return value


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

_METAVARS = {"file": "FILE", "log": "LOG", "release": "OUT", "record": "DIR"}


def _input(name: str, kind: Literal["numbers", "file", "log", "release", "record"], **more: Any) -> Input:
    """An input whose option is called as it is; a study has those that are numbers or files."""
    parts = {"option": f"--{name.replace('_', '-')}", "metavar": _METAVARS.get(kind), **more}
    return Input(name=name, kind=kind, in_study=kind in ("numbers", "file"), **parts)


_DECLARED = (
    _input(
        "kappas",
        "numbers",
        option="--kappa",
        help="Numbers of clusters for partition_agreement.",
        default=(),
        read=_read_kappas,
    ),
    _input(
        "labels",
        "file",
        help="Which queries are sensitive, for f_beta: columns query, sensitive.",
        if_missing="It compares with labelled queries, and none were given. Give them: --labels FILE.",
        read=read_labels,
        fit=spelled,
    ),
    _input(
        "later",
        "log",
        help="What was searched for later, for later_queries, train_on_release, completion and clicks.",
        if_missing="It needs later queries of the same users: --later LOG, or split = 'chronological' in a study.",
        read=partial(_read_log, "later"),
        fit=_fit_later,
    ),
    _input(
        "outsiders",
        "log",
        help="Searches of people who are not in the log: how often witness and two_words take them for somebody in it.",
        if_missing="It needs searches of people who are not in the log: --outsiders LOG, or 'outsiders' in a study.",
        read=partial(_read_log, "outsiders"),
        fit=_fit_outsiders,
    ),
    _input(
        "topics",
        "file",
        metavar="FILE|names",
        help="Which topic documents have, for topic_accuracy: columns doc, topic; names: their folder or file.",
        if_missing="It must know what documents are about: --topics FILE, or --topics names where folders tell it.",
        names=("names",),
        read=read_topics,
    ),
    _input(
        "public",
        "log",
        help="Public documents that a classifier learns from, for topic_accuracy.",
        if_missing="It needs public documents: --public LOG, or split = 'halves' in a study.",
        read=partial(_read_log, "public"),
        fit=_fit_public,
    ),
    _input(
        "second",
        "release",
        help="Another release of the same log, for composition.",
        if_missing="It looks at two releases of one log. Give the other one: --second OUT --second-record DIR.",
        read=_read_second,
    ),
    _input(
        "second_record",
        "record",
        help="The private run record of that other release.",
        if_missing="It must know who became whom in the second release as well. Give its record: --second-record DIR.",
        read=_read_second_record,
    ),
    _input(
        "taxonomy",
        "file",
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
    return {
        name: Path(value)
        for name, value in given.items()
        if INPUTS[name].kind == "file" and isinstance(value, (str, Path)) and value not in INPUTS[name].names
    }


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and not value)


def _refuse_unknown(given: Mapping[str, Any], allowed: list[str] | None = None) -> None:
    names = list(INPUTS) if allowed is None else allowed
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names)
            raise ParameterError(f"No measure has an input {name!r}.{hint} Inputs: {', '.join(names)}.")
