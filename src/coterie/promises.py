"""Promises: what a release says about itself, as small values, and the checks made of it.

A promise is data. It names what must hold and with which numbers; `coterie.verify` knows how to
check each kind with code of its own. The sentence is what a person signs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal

from coterie.errors import InputError, ParameterError, UnknownNameError
from coterie.params import Choice, Flag, Range, check_params

_ATTRS = {
    "common": " The same holds for what accompanies it (clicked page, request details); times are cut to the day.",
    "keep": " Nothing is promised about times, ranks and clicked pages, which were kept.",
    "drop": " Times, ranks and clicked pages were removed.",
}
_USERS = {
    "drop": " No row says who it came from.",
    "session": " Rows of one session are linked by a random name, so what one person asked "
    "within a session can be read together.",
    "pseudonym": " Rows of one person are linked by a random name, so everything one person "
    "asked can be read together: this is how people were found in the AOL log.",
}
_LINKED = "Queries linked by a random name can point to a person together, even where each of them is common."
_KEPT = "Exact times and clicked pages were kept: somebody who knows when a person searched can find the row."
_OWN_WORDS = "Words on a list of function words that was given are released without having been compared."
_LIST_OF_WORDS = "english|none|sha256:[0-9a-f]{64}"
_LABELS = " It is made of labels of a taxonomy, which stand in place of what was typed."
_LABEL_OF_ONE = "A label may stand for what one user of a group alone searched for, and may name a person or a disease."
_QUERY_OF_ONE = "A query that names a person by itself is released as it is where it is part of a shared profile."
_TELLING = "A concept can be telling by itself: diseases, places and well-known persons are concepts, too."
_ALONE = "The promise is about this release alone, not about it together with other releases of the same log."


@dataclass(frozen=True, kw_only=True)
class QueryKAnonymity:
    """Every released item was issued by at least k users of the original log."""

    k: Annotated[int, Range(2)]
    users: Annotated[str, Choice("drop", "session", "pseudonym")] = "drop"
    attrs: Annotated[str, Choice("common", "keep", "drop")] = "common"

    name = "query_k_anonymity"

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        crowd = f"Every released query was issued by at least {self.k} different users."
        return crowd + _ATTRS[self.attrs] + _USERS[self.users]

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""
        return (
            *_costs(self.users, self.attrs),
            f"A query typed by {self.k} users can still name a person (a celebrity, a neighbour in "
            "the news) or be sensitive in itself.",
            f"Somebody who can make {self.k} accounts type the same words can have them released.",
            _ALONE,
        )


@dataclass(frozen=True, kw_only=True)
class KThetaAffinity:
    """Every released item, and released items affine to it, were issued by at least k users of the original log."""

    k: Annotated[int, Range(2)]
    theta: Annotated[float, Range(0.1, 1)] = 0.9
    min_users: Annotated[int, Range(0)] = 0
    min_term_users: Annotated[int, Range(1)] = 2
    strict: Annotated[bool, Flag()] = False
    function_words: str = "english"
    """The name of the list of function words, or the digest of one that has none."""
    users: Annotated[str, Choice("drop", "session", "pseudonym")] = "drop"
    attrs: Annotated[str, Choice("common", "keep", "drop")] = "common"

    name = "k_theta_affinity"

    def __post_init__(self) -> None:
        check_params(self, self.name)
        if not (isinstance(self.function_words, str) and re.fullmatch(_LIST_OF_WORDS, self.function_words)):
            raise ParameterError(f"The 'function_words' parameter of {self.name} must be a list's name or its digest.")

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        cover = (
            f"Behind every released query, taken together with the released queries whose words and phrases are nearly "
            f"the same (affinity of at least {self.theta:g}), are at least {self.k} different users; the query itself "
            f"may come from one user alone."
        )
        words = f" No released query has a word of fewer than {self.min_term_users} users." if self.strict else ""
        attrs = _ATTRS[self.attrs]
        if self.attrs == "common":
            attrs = (
                f" What accompanies a query (the clicked page) stays only where {self.k} users share query and page; "
                "times are cut to the day."
            )
        return cover + words + attrs + _USERS[self.users]

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""
        return (
            *_costs(self.users, self.attrs),
            "A released query can have been typed by one person alone, word for word: affinity says that others typed "
            "nearly the same, not that they typed the rest of it.",
            f"A rare word beside a common phrase is released with it where {self.min_term_users} users or more have "
            "that word anywhere in the log.",
            *((_OWN_WORDS,) if self.function_words not in ("english", "none") else ()),
            "Somebody who saw a person type a released query recognizes it.",
            f"Somebody who can make {self.min_term_users} accounts type a private word beside a common phrase can have "
            "it released.",
            _ALONE,
        )


@dataclass(frozen=True, kw_only=True)
class ConceptKAnonymity:
    """Every released item is a concept that stands for items of at least k users of the original log."""

    k: Annotated[int, Range(2)]
    size: Annotated[str, Choice("users", "queries")] = "users"
    taxonomy: str = "wordnet"
    """The name of the taxonomy, or the digest of one that has none."""
    paper_compat: Annotated[bool, Flag()] = False
    users: Annotated[str, Choice("drop", "session", "pseudonym")] = "drop"
    attrs: Annotated[str, Choice("common", "keep", "drop")] = "common"

    name = "concept_k_anonymity"

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        crowd = {
            "users": f"Every released concept stands for queries of at least {self.k} different users.",
            "queries": f"Every released concept stands for at least {self.k} different queries, which may all come "
            "from one user.",
        }
        attrs = _ATTRS[self.attrs]
        if self.attrs == "common":
            attrs = (
                f" What accompanies a concept (the clicked page) stays only where {self.k} users share concept and "
                "page; times are cut to the day."
            )
        return crowd[self.size] + attrs + _USERS[self.users]

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""
        return (
            *_costs(self.users, self.attrs),
            *((f"One person who typed {self.k} different queries can be alone behind a concept.",)
            if self.size == "queries" else ()),
            _TELLING,
            "Who knows what a person typed can tell which concept it was released as, and so what kind of queries the "
            "others behind that concept typed.",
            f"Somebody who can make {self.k} accounts type words of one concept can have that concept released.",
            _ALONE,
        )  # fmt: skip


def _costs(users: str, attrs: str) -> tuple[str, ...]:
    """What linking rows and keeping details give away."""
    return (*((_LINKED,) if users != "drop" else ()), *((_KEPT,) if attrs == "keep" else ()))


@dataclass(frozen=True, kw_only=True)
class UserKAnonymity:
    """Every released profile (the multiset of a subject's rows) is shared by at least k subjects."""

    k: Annotated[int, Range(2)]
    labels: str = ""
    """Where labels of a taxonomy are released in place of queries: its name, or the digest of its labels."""
    topics: str = ""
    """Where the users behind a profile must not all have one sensitive topic: the digest of the topics."""
    topic_share: Annotated[float, Range(0, 1)] = 0.5
    """Topics that this share of all users have, or more, may be shared."""

    name = "user_k_anonymity"

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        shared = (
            f"Every released profile, that is everything published under one name, is shared by at "
            f"least {self.k} users."
        )
        diverse = (
            f" The users behind a profile never all have one and the same topic of a list of sensitive ones; topics "
            f"that {100 * self.topic_share:g} % of all users have, or more, do not count."
        )
        return shared + (_LABELS if self.labels else "") + (diverse if self.topics else "")

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""
        return (
            _LABEL_OF_ONE if self.labels else _QUERY_OF_ONE,
            "Users of one group may all share a sensitive interest"
            + (" that is not on the list, that many have, or that they typed other words for." if self.topics else "."),
            "Who knows that a person typed a rare query learns which group she is in.",
            "Whoever can add users to the log can surround a person with profiles they know.",
            _ALONE,
        )


QueryPromise = QueryKAnonymity | KThetaAffinity | ConceptKAnonymity
"""Promises about single queries, with `users` and `attrs`."""
Promise = QueryPromise | UserKAnonymity
PROMISES: dict[str, type[Promise]] = {
    cls.name: cls for cls in (QueryKAnonymity, KThetaAffinity, ConceptKAnonymity, UserKAnonymity)
}


def releases_concepts(promise: Promise) -> bool:
    """Whether released items are names of concepts, which cannot be compared with the strings of the original."""
    return isinstance(promise, ConceptKAnonymity) or (isinstance(promise, UserKAnonymity) and bool(promise.labels))


Status = Literal["passed", "failed", "not checked"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing the verifier looked at."""

    name: str
    status: Status
    detail: str
    """What was found, in counts; never a value of the log."""
    carries_promise: bool = False
    """Whether the promise itself, and not only good order, rests on this check."""
    needs_original: bool = False
    broken: int = 0
    """How many subjects, items or rows break it."""
    largest_k: int | None = None
    """The largest k for which this check passes, where it depends on k."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for the sidecar and for JSON."""
        return asdict(self)


def to_dict(promise: Promise) -> dict[str, Any]:
    """A promise as plain data: its name and numbers."""
    return {"name": promise.name, **asdict(promise), "sentence": promise.sentence}


def from_dict(data: Mapping[str, Any]) -> Promise:
    """The promise that `to_dict` wrote."""
    name = data.get("name")
    if name not in PROMISES:
        raise UnknownNameError(f"No promise is called {name!r}. Known promises: {', '.join(PROMISES)}.")
    cls = PROMISES[name]
    known = {field.name for field in fields(cls)}
    try:
        return cls(**{key: value for key, value in data.items() if key in known})
    except TypeError as error:
        raise InputError(f"The promise {name!r} lacks a number: {error}.") from None
