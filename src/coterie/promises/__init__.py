"""Promises: one file each, with its words, its limits and its judge; `judge` asks all judges of a release.

To write one, copy the smallest file here, `query_k_anonymity.py`. File name = public name, and the class is the
CamelCase of it. A promise is a `Promise` (`core/promise.py`), a frozen keyword-only dataclass whose fields are its
numbers, and has

    name              the file's name
    about             "items" unless it says "subjects": that it is about all that is released of a subject
    headline          the number people ask for: "k = 5"
    sentence          what a person signs
    limits            what it does not say; for promises here, all three are texts of an edition (`_words.py`)
    releases          what released items are: "text" of the log, "concepts" in place of it, or "counts"
    check(case)       its judge: yields Checks

What it does not say is refused: no bound, no tables, no rows without a sidecar, no cluster. It may say

    linkage_bound     the largest share of subjects, in percent, that anyone who links names is right about
    evidence          the tables of the private run record that its judge looks into
    of_foreign(...)   what to check of rows without a sidecar; `not_of_foreign` is why that makes no sense
    foreign_sentence  the sentence for such rows, where `sentence` would say too much
    levels            how exact released times may be; each time then says how exact it is
    anywhere          whether its judge asks the engine of a case, which may be a cluster
    covers            class attribute: the identifying columns that its judge answers for, so that they need not be
                      empty. Never a number of the promise: a sidecar could say it

Promises here inherit their words from `Worded` (`_words.py`), and those about single queries what they share from
`ItemPromise` (`_single_queries.py`). Judges ask a `Question` (`_checks.py`): words, with what rests on them. Counts
answer it; where there is no answer, it is not checked.

A judge trusts nobody. It reads the released rows, and the original where the promise cannot be seen in the release
alone; evidence and the run say where to look and are never believed. It shares no code with what decided or applied the
decision: nothing here imports methods, apply, models or kernels. What it finds are numbers (`looked_at`, `broken`,
`concerns`) and words apart from them, never a value of the log. The rules that every release keeps (its columns, their
order, no original id) are judged by `judge` before any promise.

Third parties ship a promise by an entry point of the group `coterie.promises`:

    [project.entry-points."coterie.promises"]
    my_promise = "my_package.my_promise"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from coterie.core.promise import Case, Check, Promise, Verdict
from coterie.core.shapes import QUERIES
from coterie.core.threads import Counted
from coterie.promises import _rules

__all__ = ["judge"]

_NO_PROMISE = "a release promises something"


def _unheard(_: Counted) -> None: ...


def judge(
    case: Case, promises: Sequence[Promise], tell: Callable[[Counted], None] = _unheard, of: int | None = None
) -> Verdict:
    """Check a case against the rules of every release, then against each promise.

    `tell` hears after each check how many are made, `of` how many where that is known.

    Rows that Coterie did not make (`case.foreign`) need not keep its rules. Where the columns are wrong, no judge can
    look into them, and that check is the only one.
    """
    checks: list[Check] = []
    case = case if case.promised else replace(case, promised=tuple(promises))
    if not case.foreign:
        columns = _rules.columns(case)
        if columns.status == "failed":
            return Verdict(promises=tuple(promises), checks=(columns,), subjects=case.log_shape.subject_nouns)
        checks = [columns, *_rules.others(case, promises)]
    if not promises:
        checks.append(Check(name="promises", status="failed", detail=_NO_PROMISE, broken=1, fault="is missing"))
    seen = set(checks)
    tell(Counted(len(checks), of, "checks"))
    for check in _judged(case, promises):
        anonymous = replace(check, promise="")
        if anonymous not in seen:  # two promises may look at the same thing
            seen.add(anonymous)
            checks.append(check)
            tell(Counted(len(checks), of, "checks"))
    return Verdict(
        promises=tuple(promises), checks=tuple(checks), foreign=case.foreign, subjects=case.log_shape.subject_nouns
    )


def _judged(case: Case, promises: Sequence[Promise]) -> Iterator[Check]:
    for promise in promises:
        carried = False
        for check in promise.check(case):
            carried = carried or check.carries_promise
            yield replace(check, promise=promise.name, subjects=_whom(check, case))
        if not carried:  # a judge that looked at nothing has not judged
            yield Check(
                name=f"judged.{promise.name}",
                status="not checked",
                detail=f"what the promise {promise.name} rests on was looked at",
                needs="a judge that looks at it",
                carries_promise=True,
                promise=promise.name,
            )


def _whom(check: Check, case: Case) -> str:
    """What people call those whom a broken check concerns; nothing where these are users, or nobody."""
    nouns = case.log_shape.subject_nouns
    return nouns if check.concerns is not None and nouns != QUERIES.subject_nouns else check.subjects
