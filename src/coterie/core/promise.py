"""Promise, Case, Check, Verdict: what a release says about itself, and what its judge found.

A promise is a small value in a file of its own in `promises/`, found by its name. It brings its judge: `check` looks at
a Case and yields Checks. A Verdict is what follows from all checks of one verification.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import polars as pl

from coterie.core import registry
from coterie.core.params import check_params, with_values
from coterie.core.run import HERE, Engine
from coterie.core.shapes import Shape
from coterie.core.wording import html_table, in_place_of_people, noun_in, person_in, several
from coterie.errors import InputError, ParameterError

if TYPE_CHECKING:
    from coterie.core.log import Log

Status = Literal["passed", "failed", "not checked"]
Kind = Literal["text", "phrases", "concepts", "counts"]
"""What released items are: strings of the log, parts of them, names of concepts in their place, or numbers."""
ORIGINAL = "the original log (--original LOG)"
NOTHING = "none"
"""The promise of a release that promises nothing."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing a judge looked at. Counts are numbers here; `text` makes a sentence of them, without any value."""

    name: str
    status: Status
    detail: str
    """What must hold."""
    looked_at: int | None = None
    """How many items, profiles or rows were looked at."""
    broken: int = 0
    """How many of them break it."""
    fault: str = ""
    """What the broken ones have or lack, as the end of a sentence: "have fewer"."""
    concerns: int | None = None
    """How many subjects of the original the broken ones concern."""
    subjects: str = ""
    """What people call these subjects; nothing said means users."""
    how: str = ""
    """How it was looked at, where there are several ways."""
    needs: str = ""
    """What a check that was not made would need."""
    needs_original: bool = False
    carries_promise: bool = False
    """Whether the promise itself, and not only good order, rests on this check."""
    largest_k: int | None = None
    """The largest k for which this check passes, where it depends on k."""
    promise: str = ""
    """The name of the promise whose judge made it; empty for the rules that every release keeps."""

    @property
    def text(self) -> str:
        """The check in words."""
        words = self.detail + (f" ({self.how})" if self.how else "")
        if self.status == "not checked":
            return f"{words}: needs {self.needs}" if self.needs else words
        if not self.broken:
            return words if self.looked_at is None else f"{words}; {self.looked_at:,} looked at"
        share = f"{self.broken:,}" if self.looked_at is None else f"{self.broken:,} of {self.looked_at:,}"
        people = "" if self.concerns is None else f", which concerns {self.concerns:,} {self.subjects or 'users'}"
        return f"{words}: {share} {self.fault}{people}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Case:
    """What a judge gets to see."""

    rows: pl.LazyFrame
    """The released rows."""
    shape: Shape
    original: Log | None = None
    """The log the release was made from, prepared in the same way; None where it was not given."""
    evidence: Mapping[str, pl.LazyFrame] = field(default_factory=dict)
    """Tables of the private run record, by name. They say where to look; nothing in them is believed."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """What the record says about the run (its seed, method, parameters); empty where it was not given."""
    foreign: bool = False
    """Whether Coterie did not make these rows, so that the rules of its releases do not apply."""
    published: pl.LazyFrame | None = None
    """Foreign rows as they were published, before they were prepared like the original."""
    engine: Engine = HERE
    """Where the rows live."""
    part: bool = False
    """Whether these are some rows of a case, all that a judge needs for the items in them, but not for their names."""
    promised: tuple[Promise, ...] = ()
    """What the release itself promises, where another k is checked."""
    warnings: tuple[str, ...] | None = None
    """What the release says beside its promises, which a judge may count again; None where nothing is compared."""
    shared: dict[str, Any] = field(default_factory=dict)
    """What one judge found out and another one needs, too; never anything that was made by what is judged."""

    @property
    def log_shape(self) -> Shape:
        """The shape of the log that the rows were made from, as far as that is known: its nouns are for people."""
        return self.shape if self.original is None else self.original.shape

    def table(
        self, name: str, columns: Mapping[str, pl.DataType | type[pl.DataType]], nullable: tuple[str, ...] = ()
    ) -> pl.DataFrame | None:
        """These columns, of these types, of a table of the evidence; None where it was not given.

        A table that cannot be read, lacks a column, or holds what cannot be of its type (also nulls, in columns that
        are not `nullable`) is as good as none: whoever damages evidence gets a check that could not be made.
        """
        given = self.evidence.get(name)
        if given is None:
            return None
        try:
            typed = given.select(pl.col(column).cast(dtype, strict=False) for column, dtype in columns.items())
            table = typed.collect(engine="streaming")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            return None
        incomplete = any(table[column].null_count() for column in columns if column not in nullable)
        return None if incomplete else table


class Promise(ABC):
    """What a release promises, as a frozen dataclass whose fields are its numbers. File name = public name.

    What a promise does not say for itself is refused: it bounds nothing, gets no tables of the record, answers for no
    column, and cannot be judged on a cluster or of rows without a sidecar.
    """

    name: ClassVar[str]
    about: ClassVar[Literal["items", "subjects"]] = "items"
    """Whether it is about single items, or about all that is released of a subject."""
    covers: ClassVar[tuple[str, ...]] = ()
    """The identifying columns that its judge answers for. Never a number of the promise: a sidecar could say it."""
    not_of_foreign: ClassVar[str] = "can be checked only for releases with a sidecar."
    """Why it cannot be checked of rows without a sidecar."""

    def __post_init__(self) -> None:
        check_params(self, self.name)

    @property
    @abstractmethod
    def headline(self) -> str:
        """The number people ask for: "k = 5"."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The promise in plain words: what a person signs."""

    @property
    @abstractmethod
    def limits(self) -> tuple[str, ...]:
        """What the promise does not say."""

    @property
    @abstractmethod
    def releases(self) -> Kind:
        """What released items are."""

    @abstractmethod
    def check(self, case: Case) -> Iterator[Check]:
        """Judge a case with code that shares nothing with methods."""

    @property
    def foreign_sentence(self) -> str:
        """What is examined in rows that Coterie did not make."""
        return self.sentence

    @property
    def linkage_bound(self) -> float | None:
        """The largest share of subjects, in percent, that anyone who links names is right about; None: no bound."""
        return None

    @property
    def evidence(self) -> tuple[str, ...]:
        """The tables of the run record that the judge looks into; none: the original is enough."""
        return ()

    @property
    def levels(self) -> tuple[str, ...]:
        """How exact a released time may be, the finest first; none where times are exact, or there are none."""
        return ()

    @property
    def anywhere(self) -> bool:
        """Whether its judge asks the engine of a case, so that rows may be on a cluster."""
        return False

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> Self:  # noqa: ARG003 (others ask)
        """The promise to check of rows without a sidecar; `named`: whether rows say whose they are."""
        raise ParameterError(f"{cls.name} {cls.not_of_foreign}")


def promise_class(name: str) -> type[Promise]:
    """The class of a promise, by its name."""
    cls: type[Promise] = registry.member("promises", name)
    return cls


def released_shape(shape: Shape, promises: Iterable[Promise]) -> Shape:
    """The shape of a release: where a promise says how fine its times are, each time says how exact it is.

    So it follows from parameters alone, and never from the rows, whether a release has that column.
    """
    return shape.with_levels() if any(promise.levels for promise in promises) else shape


def to_dict(promise: Promise) -> dict[str, Any]:
    """A promise as plain data: its name, numbers and sentence."""
    return {"name": promise.name, **asdict(promise), "sentence": promise.sentence}  # type: ignore[call-overload]


def from_dict(data: Mapping[str, Any]) -> Promise:
    """The promise that `to_dict` wrote."""
    name = data.get("name") if isinstance(data, Mapping) else None
    if not isinstance(name, str):
        raise InputError("A promise has no name.")
    numbers = {key: value for key, value in data.items() if key not in ("name", "sentence")}
    try:
        return promise_class(name)(**numbers)
    except TypeError:
        raise InputError(f"The promise {name!r} has a number too many, or lacks one.") from None


def refuse_judging_on(engine: Engine, promises: Iterable[Promise]) -> None:
    """ParameterError where rows are on a cluster and the judge of a promise looks at them on one machine only."""
    for promise in promises:
        if not promise.anywhere:
            engine.require_local(f"This {promise.name} is judged on one machine; leave out --engine.")


def promise_nothing(promises: Iterable[Promise]) -> bool:
    """Whether nothing is promised, in so many words."""
    names = {promise.name for promise in promises}
    return names == {NOTHING}


def k_of(promises: tuple[Promise, ...]) -> int | None:
    """The number called k of the first promise that has one."""
    numbers = (to_dict(promise).get("k") for promise in promises)
    return next((k for k in numbers if isinstance(k, int)), None)


def with_k(promises: tuple[Promise, ...], k: int) -> tuple[Promise, ...]:
    """The same promises with another k, in place of that of each promise that has one."""
    changed = tuple(with_values(promise, k=k) for promise in promises)
    if changed == promises and all("k" not in to_dict(promise) for promise in promises):
        names = ", ".join(promise.name for promise in promises)
        raise ParameterError(f"{names} has no k that could be checked instead: leave out k.")
    return changed


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The checks of one verification and what follows from them."""

    promises: tuple[Promise, ...]
    checks: tuple[Check, ...]
    foreign: bool = False
    subjects: str = "users"
    """What people call the subjects of the log."""
    counted: str = ""
    """What k counts in place of people, `session` or `address`; else empty."""
    person: str = ""
    """The column whose values are counted, as the log was read; empty where its format alone says that."""

    @property
    def sentence(self) -> str:
        """What was checked, in plain words; a promise may have a `foreign_sentence` for rows Coterie did not make."""
        words = (promise.foreign_sentence if self.foreign else promise.sentence for promise in self.promises)
        return in_place_of_people(" ".join(words), self.counted)

    def about(self, said: Mapping[Any, Any], original: Log | None) -> Verdict:
        """This verdict with who is counted, as the original was read; `said` is how its release says that it was.

        A release is believed where there is no original. Where that does not know, as a table with a column `user`, it
        is believed only if it says that no people are counted.
        """
        known = said if original is None else original.settings
        noun = noun_in(known) or ("" if person_in(known) else noun_in(said))
        return replace(self, counted=noun, person=person_in(known), subjects=several(noun) if noun else self.subjects)

    def __repr__(self) -> str:
        said = {0: "holds", 1: "BROKEN", 3: "not checked"}[self.exit_code]
        passed = sum(check.status == "passed" for check in self.checks)
        names = ", ".join(f"{promise.name}: {promise.headline}" for promise in self.promises)
        return f"Verdict({said}; {names}; {passed} of {len(self.checks)} checks passed)"

    def _repr_html_(self) -> str:
        """What a notebook shows: each check, and what follows."""
        said = {0: "The promise holds.", 1: "The promise is BROKEN.", 3: "The promise could not be checked."}
        rows = [(f"{check.status}: {check.name}", check.text) for check in self.checks]
        return html_table(self.sentence, rows, said[self.exit_code])

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.status == "failed")

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """The checks that could not be made with what was given."""
        return tuple(check for check in self.checks if check.status == "not checked")

    @property
    def promise_checked(self) -> bool:
        """Whether everything the promises rest on was checked."""
        return not any(check.carries_promise for check in self.unchecked)

    @property
    def largest_k(self) -> int | None:
        """The largest k that holds; None where it could not be found, nothing was released, or there is no k."""
        limits = [check.largest_k for check in self.checks if check.largest_k is not None]
        return min(limits) if limits and self.promise_checked else None

    @property
    def exit_code(self) -> int:
        """0 the promises hold, 1 one is broken, 3 one could not be checked, or there is none."""
        if self.broken:
            return 1
        return 0 if self.promise_checked else 3
