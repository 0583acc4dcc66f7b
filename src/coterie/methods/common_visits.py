"""Release visits of a website as sequences of pages that enough visitors walked.

Paper: none. It replaces the microaggregation of access logs by G. Navarro-Arribas and V. Torra (2009, 2010),
    whose clusters of k records are mostly records of one visitor.

Symbols: k = smallest number of visitors behind a released sequence; a visit = what a visitor asked for without a pause
    of more than half an hour (or as the prepare step `sessions` says).

Promise: everything under one name is a sequence of pages that at least k different visitors walked within one visit,
    and it is released for each of them; nothing links two names. A day stands beside a sequence only where k visitors
    walked it on that day, and k visitors, or none, are left without a day. Rows without a visitor are not counted.

Differs:
    - A path that fewer than k visitors asked for is cut to its longest beginning (`/a/*`) that k visitors share, unless
      `paths = exact`, which leaves it out.
    - A page that follows itself counts once; a row without a time is a visit of its own.
    - Pages of one second are in the order of their lines. On a cluster, where lines have no order, different pages of
      one second are not in one visit: each is a visit of its own.
    - Address, agent, referrer, method, status and size are never released: the release has a shape of its own.

Cost: one sort of the log, and one pass over it for each length of a sequence. Memory: five numbers for each row, and
    the distinct visitors and paths.

Example: three visitors walk from tea to cups; what only one of them asked for is left out.
    >>> import coterie, polars
    >>> walk = ["/tea", "/cups", "/letters/to/{}"]
    >>> asked = [(who, 10**9 + 60 * minute, path.format(who)) for who in "abc" for minute, path in enumerate(walk)]
    >>> log = coterie.log(polars.DataFrame(asked, schema=["user", "time", "path"], orient="row"))
    >>> release = coterie.anonymize(log, CommonVisits(k=3, paths="exact"))
    >>> release.to_polars().group_by("sequence").agg("path")["path"].to_list()
    [['/tea', '/cups'], ['/tea', '/cups'], ['/tea', '/cups']]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from coterie.core.log import Log
from coterie.core.params import Choice, Flag, Late, Range
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import REPLACE, SEQUENCES, VISITS, Shape
from coterie.core.threads import Counted
from coterie.promises.sequence_k_anonymity import LINES, TIMES, SequenceKAnonymity
from coterie.releasing.sequences import DAYS_TABLE, SEQUENCES_TABLE, release_sequences

if TYPE_CHECKING:
    from coterie.algorithms.walks import Sequences, Visits


@dataclass(frozen=True, kw_only=True)
class CommonVisits(Method):
    """Release visits of a website as sequences of pages that at least k different visitors walked."""

    k: Annotated[int, Range(2), Late(), "smallest number of visitors behind a released sequence of pages"] = 5
    max_pages: Annotated[int, Range(1, 100), Late(), "most pages of a sequence"] = 30
    paths: Annotated[
        str,
        Choice("prefix", "exact"),
        Late(),
        "what becomes of a path of fewer than k visitors: its longest beginning that k share, or nothing",
    ] = "prefix"
    days: Annotated[bool, Flag(), Late(), "release the day of a sequence where k visitors share both"] = True

    accepts: ClassVar[tuple[Shape, ...]] = (VISITS,)
    gives: ClassVar[Shape] = SEQUENCES
    holds_rows: ClassVar[bool] = True
    status: ClassVar[str] = "experimental"
    anywhere: ClassVar[bool] = True

    def promises(self, facts: Facts) -> tuple[SequenceKAnonymity, ...]:
        """At least k visitors behind each released sequence of pages."""
        enough_subjects("common_visits", self.k, facts)
        order = LINES if facts.in_lines else TIMES
        minutes = facts.session_minutes
        return (SequenceKAnonymity(k=self.k, paths=self.paths, days=self.days, session_minutes=minutes, order=order),)

    def learn(self, log: Log, run: Run) -> Visits:  # noqa: ARG002 (it draws nothing)
        """Step 1: visits, and the order of what was asked for in each."""
        from coterie.algorithms.walks import visits

        return visits(log)

    def plan(self, learnt: Visits, log: Log, run: Run) -> Plan:  # noqa: ARG002 (what was learnt has all rows)
        """Steps 2-4: what paths become, the sequences that visits are cut into, and the days beside them."""
        from coterie.algorithms import walks as model

        into = model.pages_of(learnt, self.k) if self.paths == "prefix" else model.as_they_are(learnt)
        run.tell(Counted(1, 3))
        sequences = model.common_sequences(model.walks(learnt, into), self.k, self.max_pages)
        run.tell(Counted(2, 3))
        kinds, days = model.plan_tables(sequences, self.k)
        return Plan(
            table=REPLACE.check(model.used_pages(into, kinds).lazy()),
            tables={SEQUENCES_TABLE: kinds.lazy(), DAYS_TABLE: (days if self.days else days.clear()).lazy()},
            notes=_notes(sequences),
        )

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 5: visits cut into the planned sequences, each under a name of its own."""
        return release_sequences(log, plan, SEQUENCES, run)


def _notes(sequences: Sequences) -> tuple[str, ...]:
    """How much of all visits is released."""
    length, steps = sequences.parts.length, sequences.walks.steps.page.size
    if not length.size:
        return ("No page was asked for by enough visitors: nothing is released.",)
    kinds = np.unique(sequences.parts.kind).size
    return (
        f"{100 * length.sum() / steps:.0f} % of the pages of all visits are released, in {length.size:,} sequences of "
        f"{kinds:,} kinds; {100 * length[length > 1].sum() / steps:.0f} % in sequences of several pages, of which the "
        f"longest has {length.max():,}.",
    )
