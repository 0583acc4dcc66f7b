"""About: what only people can say of a release, for the first page of a report. A TOML file, all of it optional:

    name = "Searches of the city library"     # of the log
    purpose = "Research on spelling mistakes"
    recipient = "University of X, chair of Y"
    conditions = "No attempt to recognize people; not passed on; deleted after two years"
    reason = "Branches have 40 readers or more, so 20 is never a whole branch"     # why this k
    reviewer = "A. Example, data protection officer"
    date = "2026-03-01"                       # else the day on which the report is made
    next_review = "2027-03-01"

    policy = "default"                        # where the thresholds come from: default (1 in 11) or internal (1 in 3)

    [thresholds]                              # your own, in percent
    singling_out = 5
    linkability = 5
    inference = 5

What is missing stands on the page as a line to fill in.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from coterie.core.declared import Declared, DeclaredFile, as_declared, toml_table
from coterie.core.scores import Risk
from coterie.errors import InputError, MissingError, ParameterError

_MOST = 100.0


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A threshold for all three risks, and where it comes from."""

    threshold: float
    """In percent."""
    source: str


POLICIES: Mapping[str, Policy] = {
    "default": Policy(
        threshold=100 / 11,
        source="Threshold: 1 in 11, that of the European Medicines Agency and of Health Canada for the public release "
        "of clinical data.",
    ),
    "internal": Policy(threshold=100 / 3, source="Threshold: 1 in 3, the loosest cell size in use."),
}
NO_CONFORMITY = (
    "Those who set it limit the rate itself; here it limits what is left of the rate without its control. Staying "
    "within it does not by itself make a release lawful."
)


class Thresholds(Declared, frozen=True, kw_only=True):
    """The largest risk that is accepted, in percent; None: that of the policy."""

    singling_out: float | None = None
    linkability: float | None = None
    inference: float | None = None


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
    policy: str = "default"
    thresholds: Thresholds = Thresholds()

    @property
    def missing(self) -> tuple[str, ...]:
        """The questions that nobody answered."""
        return tuple(name for name in QUESTIONS if not getattr(self, name))

    def threshold(self, risk: Risk) -> float:
        """The largest value of a risk that is accepted, in percent."""
        own: float | None = getattr(self.thresholds, risk.replace(" ", "_"))
        return POLICIES[self.policy].threshold if own is None else own

    @property
    def policy_says(self) -> str:
        """Where the thresholds come from."""
        own = [
            name.replace("_", " ")
            for name in Thresholds.__struct_fields__
            if getattr(self.thresholds, name) is not None
        ]
        given = f"Given by hand (--about): {', '.join(own)}." if own else ""
        source = "" if len(own) == len(Thresholds.__struct_fields__) else POLICIES[self.policy].source
        return " ".join(filter(None, (source, given, NO_CONFORMITY)))


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


def as_about(given: object) -> About | None:
    """What people said: in a file, or in a dictionary with the same keys."""
    if isinstance(given, str | Path):
        return read_about(given)
    if isinstance(given, Mapping):
        return _checked(dict(given), DeclaredFile(name="about"))
    if given is None or isinstance(given, About):
        return given
    raise ParameterError(
        f"about is a TOML file, or a dictionary with the same keys ({', '.join(About.__struct_fields__)}), not "
        f"{type(given).__name__}."
    )


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
    return _checked(table, file)


def _checked(table: dict[str, Any], file: DeclaredFile) -> About:
    for key in ("date", "next_review"):  # TOML has dates of its own, without quotes
        if isinstance(table.get(key), datetime.date):
            table[key] = table[key].isoformat()
    about = as_declared(table, About, file)
    if about.policy not in POLICIES:
        raise file.error(f"policy is one of {', '.join(POLICIES)}")
    for risk in Thresholds.__struct_fields__:
        limit = getattr(about.thresholds, risk)
        if limit is not None and not 0 <= limit <= _MOST:
            raise file.error(f"thresholds.{risk} is a percentage from 0 to 100")
    return about


def with_policy(about: About | None, policy: str | None) -> About:
    """What people said, under another policy where one is given."""
    about = about or About()
    if policy is None:
        return about
    if policy not in POLICIES:
        raise ParameterError(f"policy is one of {', '.join(POLICIES)}, not {policy!r}.")
    return msgspec.structs.replace(about, policy=policy)


def ask(about: About, question: Callable[[str], str]) -> About:
    """What is missing, asked for; an empty answer stays a line to fill in."""
    return msgspec.structs.replace(about, **{name: question(QUESTIONS[name]).strip() for name in about.missing})


def today() -> str:
    """The day on which a report is made."""
    return datetime.date.today().isoformat()
