"""Wording: how promises about single items speak of a log. Nouns come from its shape, whole sentences from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from coterie.core.params import Choice
from coterie.core.shapes import QUERIES, SHAPES, VISITS, plural

ShapeName = Annotated[
    str,
    Choice(QUERIES.name, VISITS.name),
    "shape of the log, which says what people call its subjects and items",
]
VISITOR = (
    "A visitor is a name that was logged, or else an address with an agent: people behind one address can be one "
    "visitor, a person with two browsers is two, and all of k visitors can be programs. Leave out robots first "
    "(drop_bots)."
)
"""A limit of every promise about an access log."""
TELLING = "A concept can be telling by itself: diseases, places and well-known people are concepts, too."
"""A limit of promises whose releases have concepts."""
_PAUSES = {1: "a minute", 30: "half an hour", 60: "an hour"}


@dataclass(frozen=True, kw_only=True)
class Wording:
    """Sentences, with {item}, {items}, {subjects} and numbers to fill in."""

    crowd: str
    """What k subjects did."""
    attrs: Mapping[str, str]
    """What accompanies an item."""
    users: Mapping[str, str]
    """What links rows."""
    linked: str
    kept: str
    """What linking rows, and keeping details, give away."""
    sensitive: str
    planted: str
    """What k subjects behind an item do not prevent."""
    details: tuple[str, ...]
    """What accompanies an item, besides the time."""
    limits: tuple[str, ...] = ()
    """Limits that every promise about such a log has."""


_LEVELS = "is released only where at least {k} {subjects} share all of it together with the {item}; else {coarser}"
_ONE_BY_ONE = "and then the details go one by one."
COARSER = {
    "hour": f"the day, the week or the month takes the place of the hour, or no time does, {_ONE_BY_ONE}",
    "day": f"the week or the month takes the place of the day, or no time does, {_ONE_BY_ONE}",
    "week": f"the month takes the place of the week, or no time does, {_ONE_BY_ONE}",
    "month": f"the month goes first, {_ONE_BY_ONE}",
    "quarter": f"the quarter goes first, {_ONE_BY_ONE}",
    "drop": "the details go one by one. No row has a time.",
}
"""What becomes of the finest time where too few share it."""
HOW_EXACT = (
    "A time is the beginning of the {levels} in which it lies; the column time_level says how exact each time is."
)
"""How to read the times of a release."""
MATCHED = (
    "Names for parts of what a person did do not keep these apart: parts of one person can often be matched with each "
    "other by their words and pages."
)
"""A limit of names that are not for a whole person."""
_NOBODY = " No row says who it came from."
_SEARCHES = Wording(
    crowd="was issued by at least {k} different {subjects}.",
    attrs={
        "common": "What accompanies a {item} ({listed}, or the details of a request) " + _LEVELS,
        "keep": "Nothing is promised about times, ranks and clicked pages, which were kept.",
        "drop": "Times, ranks and clicked pages were removed.",
    },
    users={
        "drop": _NOBODY,
        "session": " Rows of one session are linked by a random name, so all that one person asked without a pause of "
        "more than {pause} can be read together.",
        "mini": " Up to {queries} {items} in a row that one person asked within {minutes} are linked by a random name "
        "and can be read together.",
        "day": " Rows of one person and day are linked by a random name, so everything one person asked on a day can "
        "be read together.",
        "pseudonym": " Rows of one person are linked by a random name, so everything one person "
        "asked can be read together: this is how people were found in the AOL log.",
    },
    linked="{Items} linked by a random name can point to a person together, even where each of them is common.",
    kept="Exact times and clicked pages were kept: somebody who knows when a person searched can find the row.",
    sensitive="A {item} typed by {k} {subjects} can still name a person (a celebrity, a neighbour in the news) or be "
    "sensitive in itself.",
    planted="Whoever controls {accounts} can find out whether anybody typed a {item} that they guess: typed by the "
    "accounts too, it is released exactly if one more person typed it, with the number of that person's searches, and "
    "with their days and clicks where the accounts did the same.",
    details=("clicked page", "rank"),
)
_VISITS = Wording(
    crowd="was requested by at least {k} different {subjects}.",
    attrs={
        "common": "What accompanies a {item} ({listed}) " + _LEVELS,
        "keep": "Nothing is promised about times, methods, statuses and sizes, which were kept.",
        "drop": "Times, methods, statuses and sizes were removed.",
    },
    users={
        "drop": _NOBODY,
        "session": " Rows of one session are linked by a random name, so all that one visitor requested without a "
        "pause of more than {pause} can be read together.",
        "mini": " Up to {queries} {items} in a row that one visitor requested within {minutes} are linked by a random "
        "name and can be read together.",
        "day": " Rows of one visitor and day are linked by a random name, so everything one visitor requested on a day "
        "can be read together.",
        "pseudonym": " Rows of one visitor are linked by a random name, so everything one visitor requested can be "
        "read together: two pages and a day often tell who it was.",
    },
    linked="{Items} linked by a random name can point to a person together, even where each of them is common.",
    kept="Exact times and sizes were kept: somebody who knows when a person visited can find the row.",
    sensitive="A {item} requested by {k} {subjects} can still name a person (in its path, or in what was searched for) "
    "or be sensitive in itself.",
    planted="Whoever can send requests as {accounts} can find out whether anybody requested a {item} that they guess: "
    "requested so too, it is released exactly if one more visitor requested it, with the number of that visitor's "
    "requests, and with their days and details where these are the same.",
    details=("method", "status", "size"),
    limits=(VISITOR,),
)
_WORDINGS = {QUERIES.name: _SEARCHES, VISITS.name: _VISITS}


def wording(shape: str) -> Wording:
    """The sentences for a shape."""
    return _WORDINGS[shape]


def filled(sentence: str, shape: str, **values: object) -> str:
    """A sentence with the nouns of a shape, and other values, filled in; `item` may be another one."""
    named = SHAPES[shape]
    nouns = {"item": named.item_noun, "items": named.item_nouns, "subjects": named.subject_nouns}
    return sentence.format(**{**nouns, "Items": named.item_nouns.capitalize(), **values})


def in_time(window: str) -> str:
    """In which time people are counted, as a sentence; nothing where that is all of the log."""
    return (
        ""
        if window == "all"
        else (
            f" These people are counted in the last {window} of the log; those who share what accompanies it, in all "
            "of it."
        )
    )


def listed(shape: str, times: str, further: Sequence[str] = ()) -> str:
    """What accompanies an item, with the user's own columns and the finest time."""
    return _together((*wording(shape).details, *further, *([] if times == "drop" else [times])))


def kept_too(further: Sequence[str]) -> str:
    """That the user's own columns were kept as well, as a sentence; nothing where there are none."""
    return f" The same goes for {_together(further)}." if further else ""


def one_of(levels: Sequence[str]) -> str:
    """Levels of times as alternatives: `hour, day or month`."""
    return _together(levels, "or") if levels else ""


def _together(words: Sequence[str], by: str = "and") -> str:
    *first, last = words
    return f"{', '.join(first)} {by} {last}" if first else last


def pause(session_minutes: int) -> str:
    """A number of minutes, in words."""
    return _PAUSES.get(session_minutes, f"{session_minutes} minutes")


def accounts(number: int, shape: str = QUERIES.name) -> str:
    """A number of accounts, or visitors, that somebody may control, in words."""
    noun = "account" if shape == QUERIES.name else SHAPES[shape].subject_noun
    return f"one {noun}" if number <= 1 else f"{number} {plural(noun)}"
