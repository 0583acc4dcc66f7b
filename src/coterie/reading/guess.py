"""Columns of a table by their names and their content, where nobody said which is which.

A name tells what a column may hold, the values whether it does. What people are counted by is never chosen between two
columns that fit equally well, nor is the query: then whoever reads the log has to say it. Once `--columns` names the
query (or the path of an access log), nothing is guessed any more; what was named is checked, and the rest is told of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from coterie.core.registry import table_at
from coterie.core.shapes import QUERIES, TERMS, VISITS, Shape
from coterie.core.wording import leaves, named, plain
from coterie.errors import InputError
from coterie.reading.people import may_name_people
from coterie.reading.values import as_integer, as_text, as_time, missing

_KINDS = ("people", "contacts", "browsers", "sessions", "addresses")  # who is counted, best first
_FIT = 0.9  # share of the values that are looked at which must be what the name says
_FEW = 20  # rows that say nothing about how often a value comes again
_NEARLY_ALL = 0.9  # share of the first values that are different, and so are no names of people but numbers of rows
LOOKED_AT = 1000
"""Rows that are looked at."""
_MOST_LISTED = 30
_ENOUGH = 3  # rows that show what a column holds
_IN_PYTHON = "(in Python: columns={...})"
_NAME = re.compile(r"(?!\w+:/)[^\W\d][\w.@$:()/ -]{0,60}|[@$]\w{1,60}")
_NO_SEARCH = r"(?i)^(?:[0-9.,]+|true|false|yes|no|y|n|ja|j|nein|nee|si|sí|oui|non|sim|nao|não|[a-z]{2,6}/\d+)$"
"""What is no search: numbers, answers to a question, codes such as CONS/17."""


@cache
def _names() -> dict[Shape, dict[str, tuple[tuple[str, ...], ...]]]:
    """For each column of a search log, and of an access log, names in groups: those of the first group fit best."""
    columns = table_at("reading", "columns.toml")["columns"]
    groups = {name: tuple(tuple(" ".join(lines).split()) for lines in each) for name, each in columns.items()}
    groups["user"] = (("user",), *map(named, _KINDS))
    order = {shape: (shape.item, *shape.readable) for shape in (QUERIES, VISITS)}
    return {shape: {name: groups[name] for name in names if name in groups} for shape, names in order.items()}


@cache
def _known() -> frozenset[str]:
    return frozenset(
        name for columns in _names().values() for groups in columns.values() for group in groups for name in group
    )


class Guess(NamedTuple):
    """What was found out about columns that nobody named."""

    columns: Mapping[str, str]
    """Ours -> the file's, where the names are not the same."""
    notes: tuple[str, ...] = ()
    by_values: bool = False
    """Whether rows were looked at, so that what somebody asked for may have decided."""
    subject: str = ""
    """The file's column for whom k counts, where it was guessed."""


def guess(names: Sequence[str], sample: pl.DataFrame, given: Mapping[str, str], label: str) -> Guess:
    """Which columns hold what, besides those that were `given`; raises where that cannot be told.

    `sample` has the first rows, under the names of the file.
    """
    taken = {name: name for name in names if name not in given.values()} | dict(given)
    shape = next((s for s in (QUERIES, VISITS) if s.item in taken), None)
    if shape is None:
        shape = next((s for s in (QUERIES, VISITS) if _fitting(s, s.item, names, sample, given)), None)
    if shape is None:
        raise cannot_tell(names, sample, label)
    found: dict[str, str] = {}
    left: list[str] = []
    for column in _names()[shape]:
        used = [*given.values(), *found.values()]
        # What nobody named, and is called `time`, may be a duration.
        if column in taken and (column != shape.time or column in given or _fits(column, column, shape, sample)):
            continue
        fitting = _fitting(shape, column, names, sample, used)
        if len(fitting) == 1:
            found[column] = fitting[0]
        elif fitting and column in (shape.item, shape.subject):
            raise _equally_well(column, fitting, shape, found, label)
        elif fitting:
            left.append(f"{column} ({_either(fitting)} fit equally well)")
        elif named := [name for group in _named(shape, column, names, used) for name in group]:
            left.append(f"{column} ({_either(named)} {'hold' if len(named) > 1 else 'holds'} other values)")
    subject = found.get(shape.subject, "")
    if subject:
        _ask_for_people(subject, names, sample, [*given.values(), *found.values()], label)
    notes = []
    if found:
        pairs = ", ".join(f"{ours} = {theirs}" for ours, theirs in found.items())
        say = _option(dict.fromkeys({**given, **found}, "NAME"))
        notes.append(f"Columns were guessed: {pairs}. If one is wrong, name them all: --columns {say} {_IN_PYTHON}.")
    if left:
        say = f"--columns {shape.item}=NAME,{left[0].split()[0]}=NAME"
        notes.append(f"Left out: {'; '.join(left)}. Where one is needed, name the column: {say} {_IN_PYTHON}.")
    if shape.subject not in {**taken, **found}:
        notes.append(
            f"No column is known to name {shape.subject_nouns}. {listed(names, sample)} If one of them does, say "
            f"--columns {shape.subject}=NAME {_IN_PYTHON}."
        )
    return Guess(found, tuple(notes), bool(found or left), subject)


def _ask_for_people(subject: str, names: Sequence[str], sample: pl.DataFrame, used: Sequence[str], label: str) -> None:
    """Raise InputError where only browsers, sessions or addresses were found, and another column may name people."""
    kinds = {kind for kind in _KINDS[2:] for each in (plain(subject), *leaves(subject)) if each in named(kind)}
    if not kinds:
        return
    known = {name for group in _named(QUERIES, QUERIES.subject, names, ()) for name in group}
    others = [name for name in names if name not in used and may_name_people(name) and _NAME.fullmatch(name)]
    # Numbers of rows under the name of a person are no better than cookies; beside a session they are a question.
    others = [name for name in others if _may_tell_apart(name, sample, name in known and "browsers" not in kinds)]
    if others:
        what = next(kind for kind in _KINDS if kind in kinds)
        raise InputError(
            f"{label} has a column of {what}, {subject!r}, and {_either(others)} may name people, whom k has to count. "
            f"Say which one to count: --columns user={others[0]}, or user={subject} {_IN_PYTHON}. "
            f"{listed(names, sample)}"
        )


def _may_tell_apart(name: str, sample: pl.DataFrame, also_rows: bool) -> bool:
    """Whether a column has several values that are single ones, and not one for each row unless `also_rows`."""
    if name not in sample.columns or sample.schema[name].is_nested() or sample.schema[name] in (pl.Object, pl.Boolean):
        return False
    value = sample.get_column(name)
    given = value.filter(sample.select(~missing(pl.col(name), sample.schema[name])).to_series())
    different = given.n_unique()
    return different > 1 and (also_rows or not (len(given) > _FEW and different > _NEARLY_ALL * len(given)))


def may_be_log(names: Collection[str]) -> bool:
    """Whether one of these names is that of a query or a path."""
    return any(any(_named(shape, shape.item, names, ())) for shape in (QUERIES, VISITS))


def is_known(name: str) -> bool:
    """Whether a name is one of those that columns of logs usually have."""
    return plain(name) in _known() or plain(name.split(".")[-1]) in _known()


def cannot_tell(names: Sequence[str], sample: pl.DataFrame, label: str) -> InputError:
    """What to say of a table none of whose columns is known to hold queries or paths."""
    return InputError(
        f"{label} has {len(names)} columns, none of them called 'query' (or 'path' for an access log, 'doc' and 'term' "
        f"for documents) or the like. {listed(names, sample)} Say which one it is: --columns "
        f"query=NAME,user=NAME,time=NAME (in Python: columns={{...}})"
    )


def _equally_well(
    column: str, fitting: Sequence[str], shape: Shape, found: Mapping[str, str], label: str
) -> InputError:
    who = f"say who {'searched' if shape is QUERIES else 'came'}" if column == shape.subject else f"be the {column}"
    said = {column: fitting[0]} if column == shape.subject else {**found, column: fitting[0], shape.subject: "NAME"}
    return InputError(
        f"{label} has {len(fitting)} columns that may {who}: {_either(fitting)}. Say which one it is, for example "
        f"--columns {_option(said)} (in Python: columns={{...}})"
    )


def _named(shape: Shape, column: str, names: Collection[str], used: Any) -> list[list[str]]:
    """The columns whose names say that they are this one, in groups: those of the first one say it best."""
    groups = []
    free = [name for name in names if name not in used]
    for known in _names()[shape][column]:
        exact = [name for name in free if plain(name) in known]
        # `search.query` of nested objects: the last part, or the last two, count where no whole name does.
        inner = [name for name in free if any(leaf in known for leaf in leaves(name))]
        groups.append(list(dict.fromkeys(exact or inner)))
    return [group for group in groups if group]


def _fitting(shape: Shape, column: str, names: Sequence[str], sample: pl.DataFrame, used: Any) -> list[str]:
    groups = _named(shape, column, names, used)
    fitting = ([name for name in group if _fits(column, name, shape, sample)] for group in groups)
    return next(filter(None, fitting), [])


def _fits(column: str, name: str, shape: Shape, sample: pl.DataFrame) -> bool:
    """Whether the values of a column can be what its name says; those of none cannot speak against it."""
    if name not in sample.columns:
        return True
    dtype, value = sample.schema[name], pl.col(name)
    if dtype.is_nested() or dtype in (pl.Object, pl.Boolean, pl.Binary):
        return False
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        value, dtype = value.cast(pl.String), pl.String()
    given = sample.filter(~missing(value, dtype))
    if given.is_empty():
        return True
    if column == shape.time:
        good = as_time(value, dtype).is_not_null()
    elif column in ("rank", "status", "bytes"):
        good = as_integer(value, dtype, pl.Int64) >= 0
    elif column == shape.item:  # a number of hits, or whether somebody searched, is no search
        good = ~as_text(value, dtype).str.contains(_NO_SEARCH)
    elif column == shape.subject:
        different = given.select(value.n_unique()).item()
        return not (given.height > _FEW and different > _NEARLY_ALL * given.height)
    else:
        return True
    return bool(given.select(good.fill_null(False).mean()).item() >= _FIT)


def listed(names: Sequence[str], sample: pl.DataFrame) -> str:
    """A sentence with the names of the columns; a first line that may hold values instead of names is not shown."""
    if not are_names(names, sample):
        return "Its first line does not look like names of columns, which a table needs."
    return f"Its columns are: {_shown(names, sample)}."


def _shown(names: Sequence[str], sample: pl.DataFrame) -> str:
    """Names of columns, without what may be a value: a header may be a line of another kind in part."""
    values = {value for column in sample.select(pl.col(pl.String)).iter_columns() for value in column.to_list()}
    shown = [name for name in names if _NAME.fullmatch(name) and name not in values][:_MOST_LISTED]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")


def not_read(names: Sequence[str], sample: pl.DataFrame, item: str, read: Collection[str]) -> str:
    """A note on the columns that are not `read` because the item was named, so that nothing was guessed."""
    left = [name for name in names if name not in read]
    what = _shown(left, sample) if are_names(names, sample) else f"{len(left)} columns"
    said = f"Not read: {what}. Once --columns names the {item}, nothing else is guessed: name there what you need."
    return said if left else ""


def are_names(names: Sequence[str], sample: pl.DataFrame) -> bool:
    """Whether a first line holds names of columns: each could be one, and one is known to be, or is not like the rest.

    A word above numbers or times is such a name; a word above words may be a value.
    """
    filled = [name for name in names if name]  # the column of row numbers that pandas writes has none
    if not filled or any(not _NAME.fullmatch(name) for name in filled):
        return False
    ordinary = " ".join(table_at("reading", "columns.toml")["others"]["ordinary"]).split()
    if any(is_known(name) or plain(name) in ordinary for name in filled):
        return True
    if any(character.isdigit() for name in filled for character in name) or sample.height < _ENOUGH:
        return False
    texts = sample.select(pl.col(pl.String))
    numbers = texts.select(pl.all().str.contains(r"^[0-9][0-9.,:/ +TZ-]*$").fill_null(False).all())
    return numbers.width > 0 and any(numbers.row(0))


def _either(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last


def _option(columns: Mapping[str, str]) -> str:
    return ",".join(f"{ours}={theirs}" for ours, theirs in columns.items())


def check_columns(names: list[str], columns: Mapping[str, str]) -> None:
    """Raise InputError for a column that no log has, or that the table does not have."""
    for name, column in columns.items():
        if not any(name in shape.readable for shape in (QUERIES, VISITS, TERMS)):
            raise InputError(
                f"--columns {name}=...: a log has no column {name!r}. Search logs have "
                f"{', '.join(QUERIES.readable)}; access logs {', '.join(VISITS.readable)}; documents "
                f"{', '.join(TERMS.readable)}."
            )
        _refuse_missing("columns", name, column, names)


def _refuse_missing(option: str, name: str, column: str, names: Collection[str]) -> None:
    if column not in names and column.split(".")[0] not in names:
        raise InputError(f"--{option} {name}={column}: the table has no column of that name.")


def refuse_absent(picked: Mapping[str, str], found: set[str]) -> None:
    """Raise InputError for a field inside of others that no document has."""
    for name, column in picked.items():
        if "." in column and column not in found:
            option = "columns" if any(name in shape.readable for shape in (QUERIES, VISITS, TERMS)) else "details"
            raise InputError(
                f"--{option} {name}={column}: the table has no column of that name. A path leads into objects, not "
                f"into lists."
            )


def check_details(names: list[str], details: Mapping[str, str], picked: Mapping[str, str]) -> None:
    """Raise InputError for a further detail that the table does not have, or that is another column already."""
    for name, column in details.items():
        _refuse_missing("details", name, column, names)
        if other := next((own for own, there in picked.items() if there == column and own != name), None):
            raise InputError(
                f"--details {name}={column}: that column is the {other} already. A detail needs one of its own."
            )
