"""About: what only people can say of a release, for the first page of a report. A TOML file, all of it optional:

    name = "Searches of the city library"     # of the log
    purpose = "Research on spelling mistakes"
    recipient = "University of X, chair of Y"
    conditions = "No attempt to recognize people; not passed on; deleted after two years"
    reason = "Branches have 40 readers or more, so 20 is never a whole branch"     # why this k
    reviewer = "A. Example, data protection officer"
    date = "2026-03-01"                       # else the day on which the report is made
    next_review = "2027-03-01"

    [thresholds]                              # in percent; else 100 / k
    singling_out = 5
    linkability = 5
    inference = 5

What is missing stands on the page as a line to fill in.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import msgspec

from coterie.core.declared import Declared, DeclaredFile, as_declared, toml_table
from coterie.core.scores import Risk
from coterie.errors import InputError, MissingError

_MOST = 100.0


class Thresholds(Declared, frozen=True, kw_only=True):
    """The largest rate of success that is accepted, in percent; None: one in k."""

    singling_out: float | None = None
    linkability: float | None = None
    inference: float | None = None

    def of(self, risk: Risk) -> float | None:
        """The one for a risk."""
        limit: float | None = getattr(self, risk.replace(" ", "_"))
        return limit


class About(Declared, frozen=True, kw_only=True):
    """Who shares what with whom, why, and who looked at it. Empty: a line to fill in."""

    name: str = ""
    purpose: str = ""
    recipient: str = ""
    conditions: str = ""
    reason: str = ""
    reviewer: str = ""
    date: str = ""
    next_review: str = ""
    thresholds: Thresholds = Thresholds()

    @property
    def missing(self) -> tuple[str, ...]:
        """The questions that nobody answered."""
        return tuple(name for name in QUESTIONS if not getattr(self, name))


QUESTIONS = {
    "name": "What is the log called?",
    "purpose": "What is the release for?",
    "recipient": "Who gets it?",
    "conditions": "Under which conditions?",
    "reason": "Why this k?",
    "reviewer": "Who reviews it (name and role)?",
    "next_review": "When is it reviewed again?",
}
"""What is asked for in the terminal; the date is known."""


def read_about(path: str | Path) -> About:
    """The file, checked."""
    path = Path(path)
    file = DeclaredFile(name=path.name, toml=True)
    try:
        table = toml_table(path.read_bytes(), file)
    except FileNotFoundError:
        raise MissingError(
            f"{path}: no such file. --about takes a TOML file with purpose, recipient and so on."
        ) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from None
    for key in ("date", "next_review"):  # TOML has dates of its own, without quotes
        if isinstance(table.get(key), datetime.date):
            table[key] = table[key].isoformat()
    about = as_declared(table, About, file)
    for risk in Thresholds.__struct_fields__:
        limit = getattr(about.thresholds, risk)
        if limit is not None and not 0 <= limit <= _MOST:
            raise file.error(f"thresholds.{risk} is a percentage from 0 to 100")
    return about


def ask(about: About, question: Callable[[str], str]) -> About:
    """What is missing, asked for; an empty answer stays a line to fill in."""
    return msgspec.structs.replace(about, **{name: question(QUESTIONS[name]).strip() for name in about.missing})


def today() -> str:
    """The day on which a report is made."""
    return datetime.date.today().isoformat()
