"""History: the private list of a log's releases, kept beside the log. Two releases of one log can be compared.

The file has one line for each release that was written: of which log, by its name and its digest, how it was made, and
what was written. It holds no value of the log. Releasing the same rows again is not a second release.

The ledger in it lists what releases with differential privacy have spent of the people in the log. Entries are there
before any noise is drawn: a run that fails, is killed or is repeated has spent all the same. One run at a time adds to
the file, so that two cannot spend the last of a budget.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum
from pathlib import Path

from msgspec import structs

from coterie.core import registry
from coterie.core.declared import Declared, DeclaredFile, Scalar, json_bytes, json_file
from coterie.core.digests import sha256_of
from coterie.core.files import HISTORY_ENDING, home_of
from coterie.core.log import GROUPS_DIGEST, GROUPS_OF, Listing, Log, Release, digest_of
from coterie.core.plan import Method, refuse_log, refuse_seed
from coterie.core.wording import in_words_of
from coterie.errors import InputError, InternalError, MissingError, ParameterError
from coterie.reading.reading import Reading
from coterie.writing.targets import is_same_file, refuse_existing, temporary

try:
    import fcntl
except ImportError:  # a system without these locks
    fcntl = None  # type: ignore[assignment]

_NEARLY = 1 + 1e-9  # budgets are written as decimal numbers


class Spent(Declared, frozen=True, kw_only=True):
    """What one run has spent."""

    log: str
    """The name that its owner gave the log."""
    input_digest: str
    date: str
    method: str
    what: str
    """What was published: queries, words, ..."""
    epsilon: float
    delta: float
    orders: tuple[float, ...]
    """The orders of the Rényi divergences that it was accounted in, one for each part of `what`."""


class Allowance(Declared, frozen=True, kw_only=True):
    """How much may be spent of the people in a log, over all releases."""

    epsilon: float
    delta: float
    log: str = ""
    """The name of the log, where the file keeps it."""
    files: str = ""
    """The digest of its files, so that another name is no other log."""

    @classmethod
    def read(cls, text: str) -> Allowance:
        """Of two numbers with a comma between them."""
        try:
            epsilon, delta = (float(part) for part in text.split(","))
        except ValueError:
            raise ParameterError(f"A budget must be EPSILON,DELTA such as 4,1e-6. Got {text!r} instead.") from None
        if not (0 < epsilon < float("inf") and 0 < delta < 1):
            raise ParameterError("A budget must be a finite epsilon above 0, and a delta above 0 and below 1.")
        return cls(epsilon=epsilon, delta=delta)

    def refuse(self, before: Sequence[Spent], new: Sequence[Spent]) -> None:
        """ParameterError where new entries would cost more than is left."""
        numbers = zip(("epsilon", "delta"), (self.epsilon, self.delta), total(before), total(new), strict=True)
        for (name, allowed, spent, asked), left in zip(numbers, self.left(before), strict=True):
            if spent + asked > allowed * _NEARLY:
                raise ParameterError(
                    f"The budget of this log does not allow it: {name} of {allowed:.4g} in all, {spent:.4g} spent in "
                    f"{len(before)} runs, {left:.4g} left, {asked:.4g} asked for. Nothing was spent. Ask for less."
                )

    def left(self, before: Sequence[Spent]) -> tuple[float, float]:
        """The epsilon and delta that may still be spent."""
        epsilon, delta = total(before)
        return max(0.0, self.epsilon - epsilon), max(0.0, self.delta - delta)


def total(entries: Iterable[Spent]) -> tuple[float, float]:
    """The epsilon and delta of several runs together: they add up."""
    listed = list(entries)
    return fsum(entry.epsilon for entry in listed), fsum(entry.delta for entry in listed)


def cost_of_all(methods: Iterable[str], spent: Sequence[Spent]) -> str:
    """What several releases of one log cost where some of them have differential privacy; empty where none has."""
    private = [method in {entry.method for entry in spent} for method in methods]
    if not any(private):
        return ""
    epsilon, delta = total(spent)
    adds_up = (
        f"Differential privacy adds up: all runs on this log together have epsilon = {epsilon:.4g} and delta = "
        f"{delta:.3g}, as the ledger lists, runs that failed among them."
    )
    if all(private):
        return f"{adds_up} Publish as few as you can."
    return (
        f"{adds_up} The releases by other methods have no epsilon and are not in this sum: whoever has them too is "
        "not bound by it, and can lay them side by side with this one. Publish one of them only."
    )


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other run writes to files of this folder; the lock ends with the process, however it ends."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def onto_the_disk(path: Path) -> None:
    """Return when the bytes of a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


FORMAT = 1
NONE = "none"
USUAL = "usual"
"""What is said in Python where nothing is said: what the command line does by default."""
_WHICH_LOG = "If this is the same log, packed or named otherwise, say so: --log-name NAME."
_ELSEWHERE = "Give another file: --history FILE (in Python: history=PATH)"
_OR_NONE = "or say --history none (in Python: history=None)"
COST = "Whoever has both can lay them side by side, and k then holds for neither. Publish one of them only."
COST_OF_PROFILES = (
    "For 1,000 real users of AOL's log, released by microaggregate and by interest_microaggregate (k = 5), and an "
    "attacker who knew five queries of a person, 94% of the queries that both profiles had in common were that "
    "person's own, and in 97% of cases the two groups had nobody else in common."
)
GROUPS_AGAIN = (
    "For profiles there is a way that adds hardly anything: a release on the same groups of users, or on unions of "
    "them for a larger k, with --groups-of DIR, the run record of the earlier release."
)
SAME_GROUPS = "users are in the same groups as before"
UNIONS = "the groups of one are unions of those of the other"
_CONCEPTS = 10**9  # stand for more than any number of users have in common
NOTHING_MORE = (
    "Whoever has all of them learns hardly anything that the one with the smallest groups does not tell alone."
)
FINER = (
    "But it publishes what fewer users have in common than before, so it tells more about the same people. Publish one "
    "of them only."
)


class Released(Declared, frozen=True, kw_only=True):
    """One release of a log."""

    log: str
    """The name that its owner gave the log."""
    input_digest: str
    method: str
    parameters: dict[str, Scalar | tuple[Scalar, ...]]
    prepare: tuple[str, ...]
    headline: str
    released_sha256: str
    rows: str
    """Digest of the released rows: the same rows in another kind of file are not a second release."""
    groups: str
    """Digest of who is in which group, where users are in groups."""
    groups_of: tuple[str, ...]
    """Digests of the earlier groups that these are unions of, the nearest first."""
    date: str

    @property
    def unions_of(self) -> set[str]:
        """The groups that its groups are unions of, themselves among them; none where it has no groups."""
        return {self.groups, *self.groups_of} - {""}

    @property
    def behind_each_text(self) -> int:
        """How many users must have what is published: one where queries are, more where phrases or concepts are."""
        publish = self.parameters.get("publish")
        if publish is None or self.parameters.get("synthetic") == "label":
            return _CONCEPTS
        numbers = [self.parameters.get(name) for name in ("phrase_users", "k")]
        return next((n for n in numbers if isinstance(n, int)), 1) if publish == "phrases" else 1


class HistoryFile(Declared, frozen=True, kw_only=True):
    """What the file holds."""

    format: int
    releases: tuple[Released, ...]
    spent: tuple[Spent, ...]
    """What runs with differential privacy have spent."""
    budgets: tuple[Allowance, ...]
    """How much may be spent of the people in a log, one for each log that has a budget."""


@dataclass(frozen=True, kw_only=True)
class History:
    """The file that lists the releases of a log, and the log's name in it."""

    path: Path
    log_name: str
    needed: bool = False
    """Whether the job cannot be done without it, so that nobody is told to do so."""
    beside: bool = False
    """Whether it is beside the log because nobody said where."""

    @classmethod
    def of(
        cls, home: Path | None, given: str | Path | None, log_name: str | None = None, *, needed: bool = False
    ) -> History | None:
        """The history of a log, `given` or beside its file or folder (`home`); None where none is wanted.

        The log is named after that file; one that is none, after the history.
        """
        if given == NONE:
            return None
        if given is not None:
            path = Path(given)
        elif home is not None:
            path = home.with_name(home.name + HISTORY_ENDING)
        else:
            raise ParameterError(
                "This log is not a file, so there is no place beside it for the list of its releases. Say where it is: "
                f"--history FILE (in Python: history=PATH){'.' if needed else f', {_OR_NONE}.'}"
            )
        name = home.resolve().name if home is not None else path.name.removesuffix(HISTORY_ENDING)
        return cls(path=path, log_name=log_name or name, needed=needed, beside=given is None)

    def refuse(self, taken: Sequence[Path]) -> None:
        """Refuse before any work a file that could not be written after it, or that is taken for something else."""
        if any(is_same_file(self.path, each) for each in taken):
            raise ParameterError(
                f"{self.path} cannot hold the history: it is an input or another output. {self._elsewhere}"
            )
        refuse_existing(self.path, True, self._elsewhere)
        folder = self.path.parent
        if not folder.is_dir():
            raise MissingError(f"The folder {folder} does not exist. Make it first. {self._elsewhere}")
        if (self.needed or not self.beside) and not self._can_be_written:
            raise InputError(
                f"The list of this log's releases goes to {self.path.name}, and nothing can be written to {folder}. "
                f"{self._elsewhere}"
            )
        self.read()

    @property
    def _can_be_written(self) -> bool:
        return os.access(self.path.parent, os.W_OK | os.X_OK)

    @property
    def unlisted(self) -> str:
        """That releases are not listed, because nobody said where and nothing can be written beside the log."""
        if not self.beside or self._can_be_written:
            return ""
        return (
            f"Nothing can be written to the folder of the log, so this release is not listed in {self.path.name}, "
            f"and a second one brings no warning. Give another file with --history FILE (in Python: history=PATH)."
        )

    @contextmanager
    def told(self, note: Callable[[str], object]) -> Iterator[None]:
        """Tell its owner once, where nobody said where it is: that it came to be meanwhile, or that it could not."""
        is_new = self.beside and not self.path.exists()
        try:
            yield
            if self.unlisted:
                note(self.unlisted)
        finally:
            if is_new and self.path.exists():
                said = f"{self.path.name}, beside the log, is the list of its releases."
                note(f"{said} Keep it private, or say --history none.")

    @property
    def _elsewhere(self) -> str:
        """What to do where this file cannot be the history."""
        return f"{_ELSEWHERE}." if self.needed else f"{_ELSEWHERE}, {_OR_NONE}."

    def listing(self, log: Log) -> Listing:
        """Where releases of a log are listed."""
        return Listing(
            path=self.path.absolute(), log_name=self.log_name, digest=log.digest, beside=self.beside and not self.needed
        )

    def read(self) -> HistoryFile:
        """What is in the file; nothing where there is no file yet."""
        file = DeclaredFile(name=str(self.path), verdict="is not a history of Coterie", end=self._elsewhere)
        try:
            return json_file(self.path.read_bytes(), HistoryFile, FORMAT, file)
        except FileNotFoundError:
            return HistoryFile(format=FORMAT, releases=(), spent=(), budgets=())
        except OSError:
            raise file.error("it cannot be read") from None

    def warning(self, release: Release, digest: str) -> str:
        """What another release of this log costs; empty for the first, and for rows that were released before.

        A log is known by its name or by its bytes. The same log packed otherwise has other bytes, so where the list
        holds other logs alone, it is asked whether this is one of them.
        """
        file = self.read()
        listed, spent = file.releases, self.spent_before(file, digest)
        same_log = [each for each in listed if each.log == self.log_name or each.input_digest == digest]
        if not same_log:
            names = ", ".join(sorted({each.log for each in listed}))
            return f"{self.path.name} lists releases of {names}. {_WHICH_LOG}" if listed else ""
        if any(each.rows == release.verified for each in same_log):
            return ""
        last, number = same_log[-1], len({each.rows for each in same_log})
        times = "once" if number == 1 else f"{number} times"
        before = (
            f"This log was released {times} before, last on {last.date[:10]} by {last.method} ({last.headline}), as "
            f"{self.path.name} lists"
        )
        entry = self._entry(release, digest)
        if cost := cost_of_all([each.method for each in (entry, *same_log)], spent):
            return f"{before}. {cost}"
        return before + _side_by_side(release, entry, same_log)

    def add(self, release: Release, digest: str, released_sha256: str) -> None:
        """List a release that was written. The file is complete, or as it was before."""
        if self.beside and not self.needed and not self._can_be_written:
            return
        entry = self._entry(release, digest, released_sha256)
        with one_at_a_time(self.path.parent):
            listed = self.read()
            if not any((each.log, each.rows) == (entry.log, entry.rows) for each in listed.releases):
                self._write(structs.replace(listed, releases=(*listed.releases, entry)))

    def spend(self, new: Sequence[Spent], allowance: Allowance | None, files: str = "") -> None:
        """List what is about to be spent, before it is; refuse what the allowance, or a budget in it, forbids.

        The file is read and written under one lock, so that no other run spends in between. `files` is the digest of
        the log's files, by which a budget is known under another name.
        """
        with one_at_a_time(self.path.parent):
            listed = self.read()
            self.refuse_beyond(listed, new, allowance, files)
            self._write(structs.replace(listed, spent=(*listed.spent, *new)))

    def refuse_beyond(
        self, listed: HistoryFile, new: Sequence[Spent], allowance: Allowance | None = None, files: str = ""
    ) -> None:
        """ParameterError where the allowance, or a budget in the file, does not allow what is about to be spent."""
        known = [each.log for each in listed.budgets if files and each.files == files]
        before = self.spent_before(listed, new[0].input_digest, known)
        names = {self.log_name, *known, *(entry.log for entry in before)}
        kept = [each for each in listed.budgets if each.log in names]
        for allowed in kept if allowance is None else [*kept, allowance]:
            allowed.refuse(before, new)

    def allow(self, allowance: Allowance) -> None:
        """Keep a budget of this log, in place of the one that it has."""
        with one_at_a_time(self.path.parent):
            listed = self.read()
            others = [each for each in listed.budgets if each.log != self.log_name]
            own = structs.replace(allowance, log=self.log_name)
            self._write(structs.replace(listed, budgets=(*others, own)))

    def budget(self) -> Allowance | None:
        """The budget of this log that is kept; None where there is none."""
        return next((each for each in self.read().budgets if each.log == self.log_name), None)

    def spent_before(self, listed: HistoryFile, digest: str = "", also: Sequence[str] = ()) -> list[Spent]:
        """What was spent of this log, which is known by its name, by its bytes, and by what shares either with it."""
        names, digests, found = {self.log_name, *also}, {digest}, list[Spent]()
        while True:
            more = [entry for entry in listed.spent if entry.log in names or entry.input_digest in digests]
            if len(more) == len(found):
                return found
            found = more
            names |= {entry.log for entry in found}
            digests |= {entry.input_digest for entry in found}

    def _write(self, file: HistoryFile) -> None:
        """Replace the file; afterwards it is on the disk, whatever happens to the machine."""
        try:
            with temporary(self.path.parent, self.path.name, private=True) as part:
                part.write_bytes(json_bytes(file))
                onto_the_disk(part)
                refuse_existing(self.path, True, self._elsewhere)
                part.replace(self.path)
        except OSError as error:
            raise InputError(
                f"{self.path} could not be written, and is as it was: {error.strerror or type(error).__name__}. "
                f"{self._elsewhere}"
            ) from None
        onto_the_disk(self.path.parent)

    def _entry(self, release: Release, digest: str, released_sha256: str = "") -> Released:
        if release.record is None:
            raise InternalError("A release that is written has a record.")
        return Released(
            log=self.log_name,
            input_digest=digest,
            method=release.method,
            parameters=dict(release.record.run["parameters"]),
            prepare=release.log.steps,
            headline=release.headline,
            released_sha256=released_sha256,
            rows=release.verified,
            groups=release.record.run[GROUPS_DIGEST],
            groups_of=tuple(release.record.run[GROUPS_OF]),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _side_by_side(release: Release, entry: Released, former: Sequence[Released]) -> str:
    """What a release tells beside the former ones, as the end of a sentence about these."""
    together = [entry, *former]
    common = set.intersection(*(each.unions_of for each in together))
    if common & {each.groups for each in together}:  # all are unions of the groups of one of them
        same = entry.groups in {each.groups for each in former}
        finer = entry.behind_each_text < max(each.behind_each_text for each in former)
        said = f"{SAME_GROUPS if same else UNIONS}. {FINER if finer else NOTHING_MORE}"
        return f", and {in_words_of(release.log.shape, said)}"
    profiles = any(promise.about == "subjects" for promise in release.promises)
    again = entry.groups and any(each.groups for each in former)
    groups = in_words_of(release.log.shape, GROUPS_AGAIN) if again else ""
    return f". {' '.join(filter(None, (COST, COST_OF_PROFILES if profiles else '', groups)))}"


NOT_ACCOUNTED = (
    "what this release spends was not listed in any ledger: nobody can say what all releases about these people cost "
    "together"
)


def history_for(
    log: Log, method: Method, given: str | Path | None = USUAL, log_name: str | None = None
) -> History | None:
    """The list of a log's releases: beside its file, or `given`; None for none.

    A table has no place beside it, and nobody is in a log that is made up: these have none unless one is needed.
    """
    private = method.spends is not None
    if log.synthetic or (given == USUAL and log.home is None and not private):
        return None
    where = NONE if given is None else None if given == USUAL else given
    return History.of(log.home, where, log_name, needed=private)


def listing_in(release: Release, given: str | Path | None) -> Listing | None:
    """Where a release is listed whose history is another one than `anonymize` was told; None: nowhere."""
    former, made = release.listing, release.record
    book = History.of(release.log.home, NONE if given is None else given, None if former is None else former.log_name)
    if book is None:
        return None
    digest = former.digest if former is not None else made.run["input_digest"] if made is not None else ""
    return Listing(path=book.path, log_name=book.log_name, digest=digest or release.log.digest, beside=book.beside)


def unlisted_in(listing: Listing | None) -> str:
    """That a release will not be listed, where nothing can be written beside its log; empty where it will be."""
    if listing is None:
        return ""
    return History(path=listing.path, log_name=listing.log_name, beside=listing.beside).unlisted


def spend(
    log: Log,
    methods: Sequence[Method],
    history: History | None,
    budget: Allowance | None = None,
    seed: int | None = None,
    *,
    unlisted: bool = False,
) -> None:
    """List what methods with differential privacy are about to spend; nothing is drawn where that cannot be done.

    `unlisted`: it was said in so many words that there is no history.
    """
    for method in methods:
        refuse_seed(method, seed)
        refuse_log(method, log)
        method.refuse(log)
    costs = [(registry.name_of(method), cost) for method in methods if (cost := method.spends) is not None]
    if not costs:
        if budget is not None:
            raise ParameterError("A budget is for methods with differential privacy, such as private_counts.")
        return
    if history is None:
        if log.synthetic or unlisted:  # nobody is in a log that is made up
            return
        raise ParameterError(
            "What a release with differential privacy spends has to be listed before it is made: say where with "
            "--history FILE, or leave out --history none."
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    new = [
        Spent(log=history.log_name, input_digest=log.digest, date=now, method=name, **cost._asdict())
        for name, cost in costs
    ]
    others = _with_budgets_beside(log, history)
    for book in others:  # before anything is listed
        book.refuse_beyond(book.read(), new)
    history.spend(new, budget, digest_of(log.file_digests) if log.sources else "")
    for book in others:
        book.spend([structs.replace(entry, log=book.log_name) for entry in new], None)


def _with_budgets_beside(log: Log, history: History) -> list[History]:
    """The lists beside the other files of a log that keep a budget: a run over several files spends of all of them."""
    if not history.beside:
        return []
    homes = {home.absolute() for source in log.sources if (home := home_of([source])) is not None}
    books = (History.of(home, None, needed=True) for home in sorted(homes))
    others = (book for book in books if book is not None and not is_same_file(book.path, history.path))
    return [book for book in others if book.path.exists() and book.budget() is not None]


def spend_in(log: Log, method: Method, history: History | None, seed: int | None) -> tuple[str, ...]:
    """The same for one method in Python, where it may be said that there is no history: what its release then says."""
    unlisted = history is None and method.spends is not None and not log.synthetic
    if history is not None and method.spends is not None:
        history.refuse(log.sources)
    spend(log, [method], history, seed=seed, unlisted=unlisted)
    return (NOT_ACCOUNTED,) if unlisted else ()


def for_the_operator(release: Release) -> Iterator[str]:
    """What only whoever runs the job may see of a release with differential privacy; no file says it."""
    if release.record is None or registry.method(release.method).seeded:
        return
    stated = release.params.get("population")
    if isinstance(stated, int) and stated < release.record.run["subjects"]:
        yield "The log has more users than the population that you stated, from which delta follows."
    yield "The rest of this screen (rows read, shares, times) depends on the log and is not covered: keep it secret."


def spent_of(
    files: Sequence[Path], history: str | None = None, log_name: str | None = None, options: Reading | None = None
) -> list[Spent]:
    """What has been spent of the people in a log, run by run; it is known by its name or, read alike, by its bytes."""
    book = History.of(home_of(files), history, log_name)
    if book is None:
        return []
    listed = book.read()
    if all(entry.log == book.log_name for entry in listed.spent):
        return list(listed.spent)  # a large file is not read for nothing
    read = [path for path in files if path.is_file() and path.stat().st_size] or [p for p in files if p.is_file()]
    return book.spent_before(listed, digest_of(sha256_of(read), (options or Reading()).digested({})))


def budget_of(files: Sequence[Path], history: str | None = None, log_name: str | None = None) -> Allowance | None:
    """The budget of a log that its history keeps; None where it keeps none."""
    book = History.of(home_of(files), history, log_name)
    return None if book is None else book.budget()


def keep_budget(
    files: Sequence[Path], budget: Allowance, history: str | None = None, log_name: str | None = None
) -> None:
    """Keep the budget of a log in its history, which every later run has to obey."""
    book = History.of(home_of(files), history, log_name, needed=True)
    if book is None:
        raise ParameterError("A budget is kept in the history of the log. Leave out --history none.")
    book.refuse(files)
    read = [path for path in files if path.is_file() and path.stat().st_size]
    book.allow(structs.replace(budget, files=digest_of(sha256_of(read)) if read else ""))
