"""Spending: what a job does besides where its methods have differential privacy: list the cost first, and tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from coterie.core import registry
from coterie.core.log import Log, Release, digest_of, sha256_of
from coterie.core.plan import Method, is_seeded, refuse_seed, spends
from coterie.errors import ParameterError
from coterie.formats import Options
from coterie.writing.history import History
from coterie.writing.ledger import Allowance, Spent


def spend(
    log: Log, methods: Sequence[Method], history: History | None, budget: Allowance | None, seed: int | None = None
) -> None:
    """List what methods with differential privacy are about to spend; nothing is drawn where that cannot be done."""
    for method in methods:
        refuse_seed(method, seed)
        if callable(refuse := getattr(method, "refuse", None)):
            refuse(log)
    costs = [(registry.name_of(method), cost) for method in methods if (cost := spends(method)) is not None]
    if not costs:
        if budget is not None:
            raise ParameterError("--budget is for methods with differential privacy, such as private_counts.")
        return
    if history is None:
        if log.synthetic:  # nobody is in a log that is made up
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
    )


def for_the_operator(release: Release) -> Iterator[str]:
    """What only whoever runs the job may see of a release with differential privacy; no file says it."""
    if release.record is None or is_seeded(registry.method(release.method)):
        return
    stated = release.params.get("population")
    if isinstance(stated, int) and stated < release.record.run["subjects"]:
        yield "The log has more users than the population that you stated, from which delta follows."
    yield "The rest of this screen (rows read, shares, times) depends on the log and is not covered: keep it secret."


def spent_of(
    files: Sequence[Path], history: str | None = None, log_name: str | None = None, options: Options | None = None
) -> list[Spent]:
    """What has been spent of the people in a log, run by run; it is known by its name or, read alike, by its bytes."""
    book = History.of(files, history, log_name)
    if book is None:
        return []
    listed = book.read()
    if all(entry.log == book.log_name for entry in listed.spent):
        return list(listed.spent)  # a large file is not read for nothing
    read = [path for path in files if path.is_file() and path.stat().st_size] or [p for p in files if p.is_file()]
    return book.spent_before(listed, digest_of(sha256_of(read), (options or Options()).said({})))
