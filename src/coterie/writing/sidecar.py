"""Sidecar: what everybody may know about a release, in a JSON file beside it; never the seed or a value of the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from coterie import regimes
from coterie.core import registry
from coterie.core.declared import Declared, DeclaredFile, Scalar, as_declared, json_bytes, json_file, keys_of
from coterie.core.digests import Part, Sha256, list_digest
from coterie.core.digests import sidecar_path as sidecar_path
from coterie.core.log import Log, Record, Release
from coterie.core.params import File, Param, params_of
from coterie.core.plan import Facts
from coterie.core.promise import NOTHING, Check, Promise, promise_class, promise_nothing, released_shape, to_dict
from coterie.core.shapes import RELEASED_SHAPES, SHAPES, Shape
from coterie.core.wording import in_place_of_people, noun_in, person_in
from coterie.errors import CoterieError, InputError, NotCheckableError, ParameterError, UnknownNameError
from coterie.promises._words import EDITION, Worded, Words, fits, has_edition, words_in
from coterie.reading.people import ADDRESS_AND_AGENT
from coterie.reading.reading import FOUND, Reading, kinds_told
from coterie.steps import PrepareStep, digested_text, lacks_file, public_text, step_of, with_file_in

FORMAT = 1
"""From Coterie 1.0 on, raise it where judges make a check more: a sidecar of this format without it does not pass."""
REPRODUCIBLE = "reproducible: whoever guesses the seed can undo the pseudonyms"
_OF_A_GATE = "windowed_counts"  # its parts come out before all of the log was read
_MANY = 1 << 62  # users and rows: enough for any k
NameOfDetail = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,39}\Z")]
ParamNames = Annotated[str, Meta(pattern=r"^[^\s,=&;?#\"]{1,100}(?:,[^\s,=&;?#\"]{1,100}){0,9}\Z")]
_KINDS = kinds_told()
if TYPE_CHECKING:
    _Told: TypeAlias = str
else:
    _Told = Literal[tuple(_KINDS)]


class Sidecar(Declared, frozen=True, kw_only=True):
    """The public sidecar of a release."""

    coterie: Annotated[str, Meta(pattern=r"^[0-9][0-9A-Za-z.+]{0,30}\Z")]
    """The version that wrote it; no check depends on it."""
    format: int
    method: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,60}\Z")]
    parameters: dict[str, Scalar | tuple[Scalar, ...]]
    promises: Annotated[tuple[dict[str, Scalar], ...], Meta(min_length=1)]
    """Of each its name and numbers, and for people its headline and sentence."""
    limits: tuple[str, ...]
    words_edition: Annotated[int, Meta(ge=1, le=999)]
    """The edition of headlines, sentences and limits (`promises/_words.py`)."""
    warnings: tuple[str, ...]
    checks: tuple[Check, ...]
    shape: str
    details: tuple[NameOfDetail, ...]
    """Further details: the columns of the release that its shape does not have by itself."""
    prepare: tuple[str, ...]
    """The steps that the log was prepared with."""
    reading: dict[_Told, int | ParamNames | dict[str, str] | tuple[str, ...]]
    """How the log was read, where that was said or guessed: columns of a table, further details (`device`, or
    `device=COLUMN`), the field of the user, the day, the numbers that documents were made vectors by, the parameter
    that searches were read from; else empty. `counted` names the fields by which people were told apart where nobody
    said which; sentences speak of sessions or addresses where it, or the column of users, is one. Beside a budget,
    where nothing may depend on one row, `told_apart_by` names in its place all fields by which the format may tell
    people apart."""
    sha256: Sha256
    """Of the released file; of a release of parts that of their list, as `sha256sum part-* | sha256sum` prints it."""
    rows_sha256: Sha256
    """Of the rows, whatever they lie in (`core/digests.py`)."""
    parts: tuple[Part, ...]
    """The files of a release of parts, in order."""
    table: bool
    """Whether it is a table of a database: `sha256` then is that of the rows, too."""
    csv_safe: bool
    """Whether an apostrophe stands before text that a spreadsheet would take for a formula."""
    regime: Annotated[str, Meta(pattern=r"^([a-z][a-z0-9_]{0,60})?\Z")]
    """The regime whose settings these are (`coterie regimes`); empty where none was named."""
    changed: tuple[Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,60}\Z")], ...]
    """The settings among these that are not those of the regime."""
    left_out: tuple[str, ...]
    """Columns of the shape that the file does not have, because nobody is named in it."""

    @property
    def released_shape(self) -> Shape:
        """The shape of the released rows."""
        return released_shape(SHAPES[self.shape].with_details(self.details), self.promised)

    @property
    def promised(self) -> tuple[Promise, ...]:
        """The promises as values that bring their judges."""
        return _promised(self.promises, DeclaredFile(name="A sidecar"))


class _Words(Declared, frozen=True, kw_only=True):
    """What each promise in a sidecar has; its numbers are the fields of its class."""

    name: str
    sentence: str
    headline: str


def sidecar_of(
    release: Release,
    digest: str,
    csv_safe: bool = False,
    parts: Sequence[Part] = (),
    table: bool = False,
    left_out: tuple[str, ...] = (),
) -> Sidecar:
    """The sidecar of a release whose file, list of `parts` or `table` has that digest."""
    from coterie import __version__

    named = bool(release.log.shape.subject) and release.log.named  # by pseudonyms that somebody could undo
    chosen = release.record is not None and release.record.run.get("seed_chosen") and named
    return Sidecar(
        coterie=__version__,
        format=FORMAT,
        method=release.method,
        parameters=dict(release.params),
        promises=tuple(_said_of(promise, promise, noun_in(release.log.settings)) for promise in release.promises),
        limits=tuple(dict.fromkeys(limit for promise in release.promises for limit in promise.limits)),
        words_edition=EDITION,
        warnings=(*release.warnings, *([REPRODUCIBLE] if chosen else [])),
        checks=release.checks,
        shape=release.log.shape.name,
        details=release.log.shape.further,
        prepare=tuple(map(public_text, release.log.steps)),
        reading=dict(release.log.settings),  # type: ignore[arg-type]
        sha256=digest,
        rows_sha256=release.verified,
        parts=tuple(parts),
        table=table,
        csv_safe=csv_safe,
        regime=release.regime,
        changed=release.changed,
        left_out=left_out,
    )


def _said_of(promise: Promise, words: Promise | Words, noun: str) -> dict[str, Any]:
    """A promise with its words; `noun`: what is counted in place of people."""
    sentence = in_place_of_people(words.sentence, noun)
    return {**to_dict(promise), "headline": words.headline, "sentence": sentence}


def write_sidecar(sidecar: Sidecar, path: Path) -> None:
    """The sidecar as a file; the same sidecar gives the same bytes."""
    path.write_bytes(json_bytes(sidecar))


def read_sidecar(path: Path) -> Sidecar | None:
    """The sidecar beside a released file, or None."""
    file = _file(path)
    try:
        sidecar = json_file(sidecar_path(path).read_bytes(), Sidecar, FORMAT, file)
    except FileNotFoundError:
        return None
    except OSError:
        raise file.error("it cannot be read") from None
    if sidecar.shape not in RELEASED_SHAPES:
        raise file.error(f"'shape' must be one of {', '.join(RELEASED_SHAPES)}, the shapes of releases")
    try:
        SHAPES[sidecar.shape].with_details(sidecar.details)
    except InputError:  # it repeats the names
        raise file.error("'details' are not names of further columns of that shape") from None
    if any(not isinstance(value, _KINDS[name]) for name, value in sidecar.reading.items()):
        raise file.error("'reading' has a text in place of a number, or a number in place of a text")
    if sidecar.table and (sidecar.parts or sidecar.csv_safe or sidecar.sha256 != sidecar.rows_sha256):
        raise file.error("'table' says that it is about a table, and the rest that it is not")
    if sidecar.parts and sidecar.sha256 != list_digest(sidecar.parts):
        raise file.error("'sha256' is not the digest of the list of its parts")
    _promised(sidecar.promises, file)
    return sidecar


def reading_like(path: str | Path, given: Reading | None = None) -> Reading:
    """How to read the original: as the sidecar says, but for what is given; of columns and details each by itself.

    Only the audit of a gate has another format than the log, and is read without the options of that format.
    """
    sidecar, given = read_sidecar(Path(path)), given or Reading()
    if sidecar is None:
        return given
    again = Reading.again(sidecar.reading)
    return given.over(again if sidecar.method == _OF_A_GATE else replace(again, borrowed=frozenset()))


def consistent(
    sidecar: Sidecar, left_out: tuple[str, ...] | None = None, original: Log | None = None, made: Sequence[Check] = ()
) -> Check:
    """Whether what a sidecar tells people is what follows from its promises, its method, the file and the original.

    `made` are the checks of its promises as they were made now.
    """
    detail = "the sidecar says what follows from its promises: parameters, sentences, limits, checks"
    if sidecar.method not in registry.names("methods"):
        needs = "the method that it names, which is not installed here"
        return Check(name="sidecar", status="not checked", detail=detail, needs=needs, carries_promise=True)
    promises = sidecar.promised
    faults = [
        *_wrong_parameters(sidecar, promises),
        *(["changed"] if sidecar.changed and not sidecar.regime else []),  # settings of no regime
        *_wrong_people(sidecar, original),
        *(check.name for check in sidecar.checks if check.status != "passed" and not _is_said(check, promises)),
        *(["left_out"] if left_out is not None and sidecar.left_out != left_out else []),
    ]
    if not faults and (needs := "; ".join(_not_known_here(sidecar, promises, made))):
        return Check(name="sidecar", status="not checked", detail=detail, needs=needs, carries_promise=True)
    return Check(
        name="sidecar",
        status="failed" if faults else "passed",
        detail=detail,
        broken=len(faults),
        fault="things in it say something else" if faults else "",
    )


def _not_known_here(sidecar: Sidecar, promises: Sequence[Promise], made: Sequence[Check]) -> Iterator[str]:
    """What it would need to know that all in a sidecar is true, where this version cannot tell.

    Another version may have had other words, methods with other parameters, and other files of regimes. None of that
    breaks a promise; but people sign what they read, so nothing that was not compared passes.
    """
    edition, method = sidecar.words_edition, registry.method(sidecar.method)
    if not has_edition(edition):
        yield f"edition {edition} of the words, which this version of Coterie does not have"
    elif other := ", ".join(dict.fromkeys(_other_words(sidecar, promises))):
        yield f"the words of edition {edition}, which it names, in place of its own ({other})"
    if unknown := set(sidecar.parameters) - {param.name for param in params_of(method)}:
        yield f"a version of Coterie that knows all its parameters ({len(unknown)} are unknown)"
    if any(ours != theirs for ours, theirs in zip(promises, _following(sidecar, promises) or promises, strict=False)):
        yield "all numbers of its promises; some are left out"
    if _left_out_checks(sidecar, made):
        yield "all checks; some that are made now are not in it"
    if unlike := _unlike_regime(sidecar):
        yield (
            f"the file of its regime as it was; settings here are not those of the regime it names, as this version "
            f"has it ({unlike})"
        )


def _other_words(sidecar: Sidecar, promises: Sequence[Promise]) -> Iterator[str]:
    """What is told to people in other words than those of the edition that it names."""
    limits: list[str] = []
    for entry, promise in zip(sidecar.promises, promises, strict=True):
        words = words_in(sidecar.words_edition, promise) if isinstance(promise, Worded) else promise
        if words is None or (isinstance(promise, Worded) and not fits(sidecar.words_edition, promise)):
            yield f"none for this {promise.name}"
            return
        follow = _said_of(promise, words, noun_in(sidecar.reading))
        yield from (name for name in ("headline", "sentence") if entry[name] != follow[name])
        limits += words.limits
    if sidecar.limits != tuple(dict.fromkeys(limits)):
        yield "limits"


def _left_out_checks(sidecar: Sidecar, made: Sequence[Check]) -> bool:
    """Whether checks pass now that were not made when it was written; a gate writes parts without the log.

    Only where everything could be checked: a judge that lacks something may look at something else instead.
    """
    if any(check.status == "not checked" for check in made):
        return False
    told = {check.name for check in sidecar.checks}
    could = (check for check in made if not (sidecar.method == _OF_A_GATE and check.needs_original))
    return any(check.status == "passed" and check.name not in told for check in could)


def _is_said(check: Check, promises: Sequence[Promise]) -> bool:
    """Whether a check was not made because nothing is promised, which the release says itself."""
    return check.status == "not checked" and check.promise == NOTHING and promise_nothing(promises)


def _wrong_parameters(sidecar: Sidecar, promises: Sequence[Promise]) -> Iterator[str]:
    """The parameters that the method does not have, lacks or cannot have, and those that promise something else.

    What a file says (a list, a taxonomy) is not public; then
    only numbers that method and promise share are compared.
    """
    method = registry.method(sidecar.method)
    given = sidecar.parameters
    declared = [param for param in params_of(method) if param.name in given]
    wrong = [p.name for p in declared if not _is_file(p, given) and not p.rule.accepts(given[p.name], p.kind)]
    yield from wrong
    try:
        follow = None if wrong else _following(sidecar, promises)
    except (CoterieError, TypeError):
        yield "promises"
        return
    if follow is None:
        shared = {name for promise in promises for name, value in to_dict(promise).items() if given.get(name) != value}
        yield from (name for name in ("k", "users", "attrs") if name in shared and name in given)
    elif _say_something_else(sidecar, follow):
        yield "promises"


def _is_file(param: Param, given: Mapping[str, Any]) -> bool:
    return isinstance(param.rule, File) and given[param.name] not in param.rule.names


def _following(sidecar: Sidecar, promises: Sequence[Promise]) -> Sequence[Promise] | None:
    """What the method promises with these parameters; None where one of them is a file, or is not known here."""
    method = registry.method(sidecar.method)
    given = sidecar.parameters
    known = [param for param in params_of(method) if param.name in given and not _is_file(param, given)]
    if len(known) < len(given):
        return None
    said = [to_dict(promise) for promise in promises]
    facts = Facts(
        subjects=_MANY,
        rows=_MANY,
        owners=_MANY if any(each.get("owners") for each in said) else None,
        session_minutes=next((int(n) for each in said if (n := each.get("session_minutes"))), 30),
        in_lines=all(each.get("order") != "times" for each in said),
        shape=_shape_of_log(sidecar, promises, method.accepts),
    )
    follow: Sequence[Promise] = method(**given).promises(facts)
    return follow


def _say_something_else(sidecar: Sidecar, follow: Sequence[Promise]) -> bool:
    """Whether other promises follow: others than these in a number that a promise in it or its method has."""
    if len(follow) != len(sidecar.promises):
        return True
    for ours, theirs, entry in zip(follow, sidecar.promised, sidecar.promises, strict=True):
        mine, said = to_dict(ours), to_dict(theirs)
        numbers = (mine.keys() | said.keys()) - {"sentence"}
        known = [name for name in numbers if name in entry or name in sidecar.parameters]
        if any(mine.get(name) != said.get(name) for name in known):
            return True
    return False


def _wrong_people(sidecar: Sidecar, original: Log | None) -> Iterator[str]:
    """`reading` where it says twice who is counted, or names others than the original, or people where there are none.

    An original that does not know, such as a table with a column `user`, is compared only with what readers find out.
    """
    said = sidecar.reading
    columns = said.get("columns")
    ways = [name for name in (*FOUND, "user_field") if name in said]
    if said.get("counted") == ADDRESS_AND_AGENT:  # access logs have no fields of users, and nobody is told so
        ways = ["counted"]
    ways += ["columns"] * (isinstance(columns, Mapping) and "user" in columns)
    if len(ways) > 1:
        yield "reading"
    if original is None:
        return
    own = original.told(private=not registry.method(sidecar.method).seeded)
    named, found = (set(filter(None, person_in(each).split(","))) for each in (said, own))
    if sidecar.method == _OF_A_GATE and named and (named <= found or found <= named):
        return
    other = named != found and (found or ways[0] in FOUND) if named else noun_in(own)
    if other:
        yield "reading"


def _unlike_regime(sidecar: Sidecar) -> str:
    """Which settings are not those of the regime that is named, though nobody says that they were changed.

    Another version may have had another file of the regime, or a method without one of these settings.
    """
    if not sidecar.regime:
        return ""
    if sidecar.regime not in regimes.names():
        return "regime"
    regime = regimes.load(sidecar.regime)
    if regime.method != sidecar.method:
        return "method"
    known = {name: value for name, value in sidecar.parameters.items() if name in regime.settings}
    unlike = set(regime.changed(known, sidecar.prepare, sidecar.details)) ^ set(sidecar.changed)
    unlike |= regime.settings.keys() - known.keys()
    own = {*regime.settings, "prepare", "details"}
    return ", ".join(sorted({name if name in own else "changed" for name in unlike}))  # never what a sidecar says


def _shape_of_log(sidecar: Sidecar, promises: Sequence[Promise], accepted: Sequence[Shape]) -> Shape:
    """The shape of the log that a release was made from; of numbers of no one person, what a promise says it was."""
    if sidecar.released_shape.subject:
        return sidecar.released_shape.of_log
    named = {to_dict(promise).get("shape") for promise in promises}
    return next((shape for shape in accepted if shape.name in named), accepted[0])


def prepare_steps(sidecar: Sidecar, path: Path, record: Record | None = None) -> tuple[PrepareStep, ...]:
    """The steps that the log of a released file was prepared with; InputError where one of them is not known here.

    Of a file that a step reads the private record has name and digest, and a sidecar nothing. It is looked for where
    the record says, then beside the release, then here.
    """
    private = () if record is None else record.steps
    digested = () if record is None else record.run.get("prepare") or tuple(map(digested_text, private))
    return tuple(_steps(sidecar, path, {public_text(each): each for each in digested}, private))


def _is_public(text: str) -> bool:
    """Whether a text is that of a step as a sidecar has it, which tells nothing of the files that it reads."""
    try:
        return public_text(text) == text
    except CoterieError:
        return False


def _steps(sidecar: Sidecar, path: Path, digested: Mapping[str, str], private: Sequence[str]) -> Iterator[PrepareStep]:
    known = ", ".join(registry.names("steps"))
    for number, public in enumerate(sidecar.prepare, 1):
        text = digested.get(public, public)
        found = _first_step(text, path, private[number - 1 : number]) if _is_public(public) else None
        if found is None and _is_public(text) and lacks_file(text):
            raise NotCheckableError(
                f"{path.name}: 'prepare' (item {number}) in its sidecar is a step with a list of one's own, of which a "
                f"sidecar tells nothing. Give the run record (--record), which knows the file, or the steps with its "
                f"name: verify --prepare STEPS (in Python: with steps=STEPS)."
            )
        if found is None:
            fault = f"'prepare' (item {number}) is not a step that is known here ({known}), or its parameters are wrong"
            if "(" in text:
                fault += "; a file that it reads must lie beside the release as it was, or be named (verify --prepare)"
            raise _file(path).error(fault)
        yield found


def _first_step(text: str, path: Path, private: Sequence[str]) -> PrepareStep | None:
    """The step of a text, with its file as the record has it, beside the release, or here."""
    with suppress(CoterieError):  # it repeats the text
        spelled_so = [each for each in private if digested_text(each) == text]
        beside = (with_file_in(text, folder) for folder in (path.absolute().parent, Path.cwd()))
        for candidate in (*spelled_so, *beside):
            with suppress(CoterieError):
                if not lacks_file(candidate):
                    return step_of(candidate)
    return None


def _file(path: Path) -> DeclaredFile:
    return DeclaredFile(
        name=sidecar_path(path).name,
        verdict="is not a sidecar of Coterie",
        end="Use the sidecar as it was written with the release.",
        other="Release again, or verify with that version.",
    )


def _promised(entries: tuple[dict[str, Scalar], ...], file: DeclaredFile) -> tuple[Promise, ...]:
    """Promises from their names and numbers; what a sidecar says in words is not looked at."""
    promises = []
    for number, entry in enumerate(entries):
        inside = ("promises", number)
        words = as_declared({key: entry[key] for key in keys_of(_Words) if key in entry}, _Words, file, inside)
        numbers = {key: value for key, value in entry.items() if key not in keys_of(_Words)}
        try:
            cls = promise_class(words.name)
            promises.append(as_declared(numbers, cls, file, inside))
        except UnknownNameError:
            known = ", ".join(registry.names("promises"))
            raise file.error(f"'name' in promises[{number}] is not a promise that is known here ({known})") from None
        except ParameterError:
            raise file.error(_wrong_numbers(cls, numbers, number)) from None
    return tuple(promises)


def _wrong_numbers(cls: type[Promise], numbers: Mapping[str, Scalar], number: int) -> str:
    """Which number of a promise is wrong, and what it must be; not what it is."""
    for param in params_of(cls):
        if param.name in numbers and not param.rule.accepts(numbers[param.name], param.kind):
            return f"{param.name!r} in promises[{number}] must be {param.rule.describe(param.kind)}"
    return f"the numbers of promises[{number}] do not go together"
