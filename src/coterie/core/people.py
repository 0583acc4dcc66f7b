"""People: what a column that says who it was tells apart, by its name.

k counts people. A column may name them, or their browsers, or single visits, or addresses: the further down this list,
the more often one person has several names, and the fewer people stand behind k of them. Readers take the first kind
that a log has, and whatever is said about a log that has sessions or addresses only says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any

from coterie.core.data import table_at

ADDRESS_AND_AGENT = "address+agent"
"""What visitors of access logs are told apart by where no name was logged."""
_PEOPLE = ("people", "contacts")
_NOT_ALONE = ("email", "mail", "login", "account", "person", "member", "address", "actor")
"""Inside of other fields these may be somebody else's: the author of a page, the owner of a shop."""
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


@cache
def named(*kinds: str) -> tuple[str, ...]:
    """Names of columns that name `people`, or their `contacts`, `browsers`, `sessions` or `addresses`; see `plain`."""
    table = table_at("core", "data/people.toml")
    return tuple(name for kind in kinds for line in table[kind] for name in line.split())


def plain(name: str) -> str:
    """A name without capitals, signs and accents: `userID`, `user_id` and `User-Id` are one."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", name.lower()))


def leaves(name: str) -> tuple[str, ...]:
    """What a field inside of others may be called: `context.user.id` is a `userid`, `event.visitor` a `visitor`."""
    parts = name.split(".")
    if len(parts) == 1:
        return ()
    last = plain(parts[-1])
    return (plain("".join(parts[-2:])), *(() if last in _NOT_ALONE else (last,)))


def may_name_people(name: str) -> bool:
    """Whether a column that is not known by its name may name people all the same."""
    last = plain(name.split(".")[-1])
    known = any(each in named("browsers", "sessions", "addresses") for each in (plain(name), *leaves(name)))
    if plain(name) in named(*_PEOPLE) or any(each in named(*_PEOPLE) for each in leaves(name)):
        return True
    return not known and bool(_MAY_BE.search(plain(name))) and not _IS_OTHER.search(last)


def noun_of(counted: object) -> str:
    """`session` or `address` where columns of these names, separated by commas, are all of that kind; else nothing."""
    names = str(counted or "").split(",")
    for noun, kind in (("session", "sessions"), ("address", "addresses")):
        if all(any(each in named(kind) for each in (plain(name), *leaves(name))) for name in names):
            return noun
    return ""


def together(*counted: str) -> str:
    """The fields by which pieces of a log were counted, separated by commas; those that name people best come first."""
    fields = dict.fromkeys(field for each in counted for field in each.split(",") if field)
    return ",".join(sorted(fields, key=_rank))


def _rank(field: str) -> int:
    kinds = (named(*_PEOPLE), named("browsers"), named("sessions"), named("addresses"))
    names = (plain(field), *leaves(field))
    return next((rank for rank, known in enumerate(kinds) if any(name in known for name in names)), 0)


def person_in(settings: Mapping[Any, Any]) -> str:
    """The columns, with commas between them, by which people are told apart in a log that was read so; else nothing."""
    said = settings.get("counted") or settings.get("user_field")
    columns = settings.get("columns")
    said = said or (columns.get("user") if isinstance(columns, Mapping) else "")
    return str(said or settings.get("told_apart_by") or "")


def noun_in(settings: Mapping[Any, Any]) -> str:
    """The noun of those who are counted in a log that was read so, where they are no people; else nothing."""
    return noun_of(person_in(settings))


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


def several(noun: str) -> str:
    """The plural."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def in_place_of_people(text: str, noun: str) -> str:
    """A sentence about users or visitors as one about sessions or addresses; as it is where there is no noun."""
    if not noun:
        return text
    forms = {"user": noun, "users": several(noun), "visitor": noun, "visitors": several(noun)}

    def said(found: re.Match[str]) -> str:
        word = forms[found[0].lower()]
        return word.capitalize() if found[0][0].isupper() else word

    text = re.sub(r"(?<![\w.{=-])(?:users?|visitors?)(?![\w=}-]|\.\w)", said, text, flags=re.IGNORECASE)
    return re.sub(r"\b([Aa]) (address)\b", r"\1n \2", text)
