"""Spending: what a job does besides where its methods have differential privacy: list the cost first, and tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from coterie.core import registry
from coterie.core.files import home_of
from coterie.core.log import Listing, Log, Release, digest_of, sha256_of
from coterie.core.plan import Method, is_seeded, refuse_log, refuse_seed, spends
from coterie.errors import ParameterError
from coterie.reading.reading import Reading
from coterie.writing.history import NONE, USUAL, History
from coterie.writing.ledger import Allowance, Spent

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
    private = spends(method) is not None
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
        if callable(refuse := getattr(method, "refuse", None)):
            refuse(log)
    costs = [(registry.name_of(method), cost) for method in methods if (cost := spends(method)) is not None]
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
    history.spend(
        [
            Spent(
                log=history.log_name,
                input_digest=log.digest,
                date=now,
                method=name,
                what=cost.what,
                epsilon=cost.epsilon,
                delta=cost.delta,
                orders=cost.orders,
            )
            for name, cost in costs
        ],
        budget,
        digest_of(log.file_digests) if log.sources else "",
    )


def spend_in(log: Log, method: Method, history: History | None, seed: int | None) -> tuple[str, ...]:
    """The same for one method in Python, where it may be said that there is no history: what its release then says."""
    unlisted = history is None and spends(method) is not None and not log.synthetic
    if history is not None and spends(method) is not None:
        history.refuse(log.sources)
    spend(log, [method], history, seed=seed, unlisted=unlisted)
    return (NOT_ACCOUNTED,) if unlisted else ()


def for_the_operator(release: Release) -> Iterator[str]:
    """What only whoever runs the job may see of a release with differential privacy; no file says it."""
    if release.record is None or is_seeded(registry.method(release.method)):
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
