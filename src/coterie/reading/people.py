"""Who is counted: of several fields that may say who it was, the one that names a person best; and whether it does.

k counts people. A column may name them, or their browsers, or single visits, or addresses: the further down this list,
the more often one person has several names, and the fewer people stand behind k of them. Readers take the first kind
that a log has, and whatever is said about a log that has sessions or addresses only says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from coterie.core.shapes import QUERIES, Shape
from coterie.core.wording import PEOPLE, leaves, named, noun_in, plain, several
from coterie.errors import InputError
from coterie.reading.formats._json import first_text
from coterie.reading.reading import Reading
from coterie.reading.source import Loaded, Sections, settings_of

ADDRESS_AND_AGENT = "address+agent"
"""What visitors of access logs are told apart by where no name was logged."""
_MAY_BE = re.compile(
    r"user|mail|person|member|customer|login|patron|employee|student|account|subscriber|borrower|patient|teacher|staff|"
    r"reader|shopper|buyer|guest|player|nickname|fullname|firstname|lastname|surname|phone|benutzer|kunde|usuario|"
    r"utilisateur|utente|nutzer|gebruiker|client[ei]|klant|kund|mitglied|mitarbeiter|patienten|schueler|schuler|leser|"
    r"ausweis|kennung|medewerker|^lid(?:nummer|nr)?$|socio|empleado|estudiante|alumno|paciente|matricula|matricola|"
    r"tessera|codicefiscale|dipendente|paziente|studente|abonne|adherent|employe|etudiant|lecteur|carteid|idcarte|"
    r"assinante|funcionario|(?:^|id)(?:dni|nif|nie|cpf|bsn)$"
)
_IS_OTHER = re.compile(
    r"(?:agent|query|queries|search|searches|term|terms|text|string|keyword|keywords|input|type|kind|role|roles|group|"
    r"segment|plan|tier|level|lang|language|locale|country|city|region|zone|timezone|age|gender|sex|ip|status|state|"
    r"count|number|time|timestamp|at|date|day|created|updated|os|platform|device|browser|rank|score|flag|interface|"
    r"loggedin|active|verified|premium|smartphone|domain|provider|client|version)$|^is|^has|^num"
)
_INVISIBLE = r"\p{Cf}+"  # zero-width and other format characters
_NOT_ASCII = r"[^\x00-\x7f]"
_WHOLE_NUMBER = r"^0*([0-9]+)(?:\.0+)?$"
_FEW = 20  # rows that say nothing about how often a value comes again
_HALF = 0.5  # the same of all values


def may_name_people(name: str) -> bool:
    """Whether a column that is not known by its name may name people all the same."""
    last, names = plain(name.split(".")[-1]), (plain(name), *leaves(name))
    if any(each in named(*PEOPLE) for each in names):
        return True
    known = any(each in named("browsers", "sessions", "addresses") for each in names)
    return not known and bool(_MAY_BE.search(plain(name))) and not _IS_OTHER.search(last)


def together(*counted: str) -> str:
    """The fields by which pieces of a log were counted, separated by commas; those that name people best come first."""
    fields = dict.fromkeys(field for each in counted for field in each.split(",") if field)
    return ",".join(sorted(fields, key=_rank))


def _rank(field: str) -> int:
    kinds = (named(*PEOPLE), named("browsers"), named("sessions"), named("addresses"))
    names = (plain(field), *leaves(field))
    return next((rank for rank, known in enumerate(kinds) if any(name in known for name in names)), 0)


class Who:
    """Takes the first of some fields that a search has, and counts which one it was."""

    def __init__(self, fields: Sequence[str], said: str | None, get: Callable[..., str | None] = first_text) -> None:
        self._fields = (said,) if said else tuple(fields)
        self._said, self._get = said, get
        self._used: Counter[str] = Counter()

    def of(self, *places: Mapping[str, Any]) -> str | None:
        """The name of whoever searched, from the first field that one of these objects has."""
        for field in self._fields:
            for place in places:
                if value := self._get(place, field):
                    self._used[field] += 1
                    return value
        return None

    def used(self, field: str, times: int) -> None:
        """Count a field that was used elsewhere."""
        self._used[field] += times

    def loaded(self, frame: pl.LazyFrame, sections: Sections, *notes: str) -> Loaded:
        """Searches of a format, with what is to be said about whom k counts before its own `notes`."""
        may_count = () if self._said else self._fields  # where nobody said which
        counted = [field for field in may_count if self._used[field]]
        who = (
            f"Users are told apart by {' or else '.join(counted)}. If another field names people, say "
            f"--user-field NAME (in Python: user_field=...).",
        )
        return Loaded(
            frame=frame,
            shape=QUERIES,
            sections=sections,
            notes=(*(who if counted else ()), *notes),
            counted=",".join(counted),
            may_count=",".join(may_count),
        )


def counted_by(frame: pl.LazyFrame, fields: Sequence[str], said: str | None) -> Who:
    """Who is counted in a table whose `user` is the first field, and `visitor` the second."""
    who, unnamed, used = Who(fields, said), pl.lit(True), dict[str, pl.Expr]()
    for field, name in zip(fields, ("user", "visitor"), strict=False):
        named = (pl.col(name) != "").fill_null(False)
        used[field], unnamed = (unnamed & named).sum(), unnamed & ~named
    for field, count in frame.select(**used).collect(engine="streaming").row(0, named=True).items() if used else ():
        who.used(field, count)
    return who


def cautions(settings: Mapping[Any, Any]) -> tuple[str, ...]:
    """Warnings where sessions or addresses are counted in place of people, or whoever stands in two fields twice."""
    found = []
    if noun := noun_in(settings):
        found.append(
            f"k counts {several(noun)}, not people: nothing else that was read says who it was. One person may have "
            f"several, so fewer than k people may stand behind k of them"
        )
    best, *others = str(settings.get("counted") or "").split(",")
    if others:
        found.append(
            f"some searches have no {best}, and were counted by {' or '.join(others)}. "
            f"One person may have several of those, so fewer than k people may stand behind k users"
        )
    first, *further = str(settings.get("told_apart_by") or "").split(",")
    if further:
        found.append(
            f"users are told apart by {first}, or else by {' or '.join(further)}, whichever a search has. One person "
            f"may have several of these, and is then several users"
        )
    return tuple(found)


class People(NamedTuple):
    """What is to be said about those whom k counts."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def people_in(frame: pl.LazyFrame, loaded: Loaded, options: Reading, label: str) -> People:
    """Notes and warnings about whom k counts; raises where a column was guessed that names rows rather than people.

    Things that have owners are no people, and their names are not read.
    """
    shape = loaded.shape
    column = shape.owner or shape.subject
    if column not in frame.collect_schema():
        return People()
    counts = frame.select(column).drop_nulls().group_by(column).len().collect(engine="streaming")
    if shape.owner:
        return People(look_alikes(counts[column], column))
    alike = look_alikes(counts[column], shape.subject_noun)
    return who_is_counted(int(counts["len"].sum()), counts.height, alike, loaded, options, label)


def who_is_counted(
    rows: int, different: int, alike: tuple[str, ...], loaded: Loaded, options: Reading, label: str
) -> People:
    """What is to be said of so many different names in so many rows; raises where a guessed column names no people."""
    shape = loaded.shape
    warnings = cautions(settings_of(loaded, options))
    if not nearly_unique(rows, different):
        return People(alike, warnings)
    chosen = loaded.guessed_subject or (loaded.counted if loaded.counted != ADDRESS_AND_AGENT else "")
    # Asked once: rows that follow others, as in a gate, are read as those were.
    if chosen and options.guess:  # by us, and not by whoever knows the log
        option = f"--columns {shape.subject}=NAME" if loaded.guessed_subject else "--user-field NAME"
        raise no_people(f"{label}: {chosen!r}", shape, rows, different, option)
    return People(
        alike,
        (
            *warnings,
            # Without the numbers: a warning goes into what is published.
            f"there are more than half as many {shape.subject_nouns} as rows: what names them may be the number of a "
            f"request or a visit. "
            f"Then one person counts several times, and fewer than k people may stand behind k",
        ),
    )


def no_people(what: str, shape: Shape, rows: int, different: int, option: str) -> InputError:
    """The question where a column that nobody named has so many different values that it may not name people."""
    return InputError(
        f"{what} would say who the {shape.subject_nouns} are, but it has {different:,} different values in {rows:,} "
        f"rows, as numbers of requests or visits do, and k has to count people. Say what names them (this one too, "
        f"where it does): {option}."
    )


def look_alikes(names: pl.Series, noun: str) -> tuple[str, ...]:
    """Nothing, or a note that some of these distinct names may be the same people, who would be counted twice."""
    names = names.drop_nulls()
    alike = names.to_frame().select(folded(pl.col(names.name))).to_series().is_duplicated().sum()
    return told_alike(int(alike), len(names), noun)


def folded(name: pl.Expr) -> pl.Expr:
    """A name without what the eye does not see: those that then are equal may be the same people."""
    strange = pl.when(name.str.contains(_NOT_ASCII)).then(name)  # few of many; the others have nothing to unfold
    bare = pl.coalesce(strange.str.replace_all(_INVISIBLE, "").str.normalize("NFKC"), name)
    return bare.str.to_lowercase().str.strip_chars().str.replace(_WHOLE_NUMBER, "${1}")


def told_alike(alike: int, different: int, noun: str) -> tuple[str, ...]:
    """Nothing, or a note that so many of the names look like another one."""
    if not alike:
        return ()
    return (
        f"{alike:,} of {different:,} {noun} names look like another one: they differ only in capitals, characters "
        f"that cannot be seen, the width of characters, leading zeros or a .0 at the end. Each counts as a person. "
        f"Where they are the same people, give each of them one name before you anonymize: otherwise fewer than k "
        f"people may stand behind k names.",
    )


def nearly_unique(rows: int, different: int) -> bool:
    """Whether a column names so many that they are rather rows, requests or visits than people."""
    return rows > _FEW and different > _HALF * rows
