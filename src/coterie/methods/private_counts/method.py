"""Publish queries, and how many users have them, with differential privacy.

Paper: A. Korolova, K. Kenthapadi, N. Mishra and A. Ntoulas, "Releasing search queries and clicks privately" (2009), is
    what Carpineto and Romano (2015) compare their release with. The mechanism here is our own; the idea of an optimal
    selection under Rényi divergence is also in C. Harrison and P. Manurangsi, "Optimal partition selection with Rényi
    differential privacy" (2026). Proof: docs/proofs/private_counts.md.

Symbols: ε, δ = the promise; k = no item of fewer users is released; w = whole weight of an item; F = release table;
    C, d = prices of a weight in divergence and in δ; z = private sketch; m = for how many items a user counts.

Promise: whether any one user was in the log changes the probability of any release by at most a factor e^ε, up to δ;
    and every released item was typed by at least k users.

Differs:
    - Korolova et al. let each user support d queries and add Laplace noise to counts (`mechanism = korolova`). Here a
      user spreads weight over all their queries, as prices allow; a table says with which probability an item of a
      weight is released; a first, private pass keeps weight from going where it is lost or not needed.
    - The pre-threshold leaves out the k - 1 largest contributions to an item. Dropping items of fewer than k users
      would not be private.
    - There is no seed. Noise comes from the operating system, is drawn once, and stands in the plan.

Cost: one pass for the distinct (user, item) pairs, which are held in memory (12 bytes each), then linear in pairs.

Example:
    >>> import coterie, polars, tempfile
    >>> typed = [(f"user {n}", "maps") for n in range(400)] + [("user 1", "a rare illness")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> ledger = f"{tempfile.mkdtemp()}/shop.history.json"
    >>> release = coterie.anonymize(log, PrivateCounts(epsilon=3.0, delta=1e-6), history=ledger)
    >>> release.to_polars()["item"].to_list()
    ['maps']
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from coterie.core.arrays import Flags, Ints
from coterie.core.log import Log
from coterie.core.params import Above, Choice, Days, Late, NumberOr, Range, ShareOr
from coterie.core.plan import Cost, Draft, Facts, Method, Plan
from coterie.core.randomness import gaussian_draws
from coterie.core.run import Run
from coterie.core.shapes import COUNTS, QUERIES, VISITS, Shape
from coterie.errors import InputError, ParameterError
from coterie.methods.private_counts import model as selection
from coterie.methods.private_counts.model import Pairs, counted, length_prior, no_prior, pairs_of, picked, select
from coterie.methods.private_counts.tables import Budget, Cells, Stage, Tables, cells_of, evidence_of, tables_of
from coterie.promises.differential_privacy import DifferentialPrivacy
from coterie.releasing.names import nobody_named
from coterie.steps import looks_at, name_in, step_of

POPULATION, UNKNOWN = "population", "unknown"
_TENTH = 10  # delta is 1 / (10 × population) unless given
_SKETCH = 0.3  # share of what counts leave
_WIDE, _NARROW = 12, 4  # the largest step of the table, in 32nds: for users with some items, and with hundreds
_HUNDREDS = 100  # items of a user
_NORMAL_95 = 1.96
_MOST_EPSILON = 100
_FURTHER = {"phrases": ("words", "phrases"), "clicks": ("queries", "clicks")}
_BASELINES = ("wgm", "sips", "korolova")


@dataclass(frozen=True, kw_only=True)
class PrivateCounts(Method):
    """Publish queries and their numbers of users with (epsilon, delta)-differential privacy."""

    epsilon: Annotated[
        float, Above(0), "one user changes the probability of any release by a factor e^epsilon at most"
    ] = 1.0
    delta: Annotated[
        float | str, ShareOr(POPULATION), "what that does not hold for; 'population': a tenth of 1 / population"
    ] = POPULATION
    population: Annotated[
        int | str, NumberOr(1, UNKNOWN), "how many people may be in the log, as you state it; never read from the log"
    ] = UNKNOWN
    k: Annotated[int, Range(1), Late(), "smallest number of users behind a released item"] = 5
    items: Annotated[
        str,
        Choice("queries", "words", "phrases", "clicks"),
        "what is counted: queries (pages of an access log), words, words and phrases of them, or queries and the pages "
        "clicked after them",
    ] = "queries"
    counts: Annotated[
        float, Range(0, 0.9), "share of the budget for the numbers of users; 0: items without numbers"
    ] = 0.2
    count_items: Annotated[int, Range(1, 1000), "for how many released items a user counts at most"] = 10
    days: Annotated[str, Days(), "first..last: numbers by day for these days, as a part of its own of the budget"] = ""
    prior: Annotated[
        str, Choice("length", "none"), "what is expected before looking: that short items are common, or nothing"
    ] = "length"
    queries_per_user: Annotated[
        int, Range(1), "about how many different items a user has; 1 and korolova take no more than that of each user"
    ] = 16
    mechanism: Annotated[
        str, Choice("table", *_BASELINES), "how items are chosen; the others are there to compare with"
    ] = "table"

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES, VISITS)
    gives: ClassVar[Shape] = COUNTS
    status: ClassVar[str] = "experimental"
    anywhere: ClassVar[bool] = True
    seeded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == POPULATION and self.population == UNKNOWN:
            raise ParameterError(
                "private_counts needs delta, or the population that it follows from: population = N says how many "
                "people may be in the log (delta is then 1 / (10 N)), delta = D gives it. Neither is read from the log."
            )
        if self.population != UNKNOWN and self.stated_delta > 1 / int(self.population):
            raise ParameterError(
                "delta is above 1 / population, so somebody could be published in full. Use a smaller one."
            )
        if self.epsilon > _MOST_EPSILON:
            raise ParameterError(f"epsilon is above {_MOST_EPSILON}, which promises nothing. Use a smaller one.")
        simple = self.items in ("queries", "words") and not self.days and not self.counts
        if self._is_simpler and not simple:
            raise ParameterError(
                "mechanism = wgm, sips or korolova and queries_per_user = 1 choose queries or words only. Say "
                "counts = 0, and leave out days."
            )

    @property
    def stated_delta(self) -> float:
        """The delta of the promise."""
        return 1 / (_TENTH * int(self.population)) if self.delta == POPULATION else float(self.delta)

    @property
    def spends(self) -> Cost:
        """What is published, and what it costs."""
        what = " and ".join(stage.name for stage in self.stages)
        orders = () if self._is_simpler else tuple(self._accounted(stage).alpha for stage in self.stages)
        return Cost(what, self.epsilon, self.stated_delta, orders)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The parts of the release, each with an equal part of epsilon and delta."""
        names = [*_FURTHER.get(self.items, (self.items,)), *(["days"] if self.days else [])]
        return tuple(
            Stage(name=name, epsilon=self.epsilon / len(names), delta=self.stated_delta / len(names)) for name in names
        )

    def promises(self, facts: Facts) -> tuple[DifferentialPrivacy, ...]:  # noqa: ARG002 (it must not depend on the log)
        """(epsilon, delta), and k users behind each item."""
        return (
            DifferentialPrivacy(
                epsilon=self.epsilon,
                delta=self.stated_delta,
                k=self.k,
                items=self.items,
                counts=self.counts,
                count_items=self.count_items,
                days=self.days,
                mechanism=self.mechanism,
                queries_per_user=self.queries_per_user,
            ),
        )

    def refuse(self, log: Log) -> None:
        """Refuse, before anything is spent, what the parameters or the columns of the log do not allow."""
        for step in filter(_looks_across, log.steps):
            raise ParameterError(
                f"The prepare step {name_in(step)} lets one user decide about the rows of others, so that what is "
                f"promised of one user would not hold. Leave it out."
            )
        if log.settings.get("query_param") == "auto":
            raise ParameterError(
                "--query-param auto looks at the whole log to find the parameter, which no epsilon covers. Name it: "
                "--query-param q."
            )
        if log.guessed:
            named = log.settings.get("columns", {})
            said = {log.shape.item: log.shape.item, **(named if isinstance(named, Mapping) else {})}
            raise ParameterError(
                f"The columns of the table were guessed by looking at rows, which no epsilon covers. Name them: "
                f"--columns {','.join(f'{ours}={theirs}' for ours, theirs in said.items())}."
            )
        if self.items == "clicks" and not log.shape.page:
            raise InputError("items = clicks needs a log that says which page was clicked. Use items = queries.")
        if not self._is_simpler:
            for stage in self.stages:
                self._accounted(stage)

    def learn(self, log: Log, run: Run) -> Pairs:
        """[1] The distinct pairs of users and queries, or words."""
        items = selection.words if self.items in ("words", "phrases") else selection.queries
        return pairs_of(_items(log, run, items), run)

    def plan(self, learnt: Pairs, log: Log, run: Run) -> Plan:
        """[2] to [6] for each stage, with the noise: what is planned is what is published."""
        self.refuse(log)
        first, *further = self.stages
        if self._is_simpler:
            flags, evidence = self._simpler(learnt, run)
            rows = pl.LazyFrame({COUNTS.item: learnt.items.filter(pl.Series(flags))})
            return Plan(table=run.keep(COUNTS.completed(rows)), evidence=evidence)
        tables = {stage.name: tables_of(self.budget(stage)) for stage in self.stages if stage.name != "days"}
        named = learnt.only(select(learnt, self._prior(learnt.items), tables[first.name], self.k, run))
        parts = [self._counted(named, tables[first.name], first.name if further else None, run)]
        for stage in further:
            if stage.name == "days":
                parts.append(self._by_day(log, named.items, cells_of(stage, self.count_items), run))
                continue
            items = selection.phrases if stage.name == "phrases" else selection.clicks
            pairs = pairs_of(_items(log, run, partial(items, known=named.items)), run)
            chosen = pairs.only(select(pairs, self._prior(pairs.items), tables[stage.name], self.k, run))
            parts.append(self._counted(chosen, tables[stage.name], stage.name, run))
        published = pl.concat(COUNTS.completed(part) for part in parts)
        return Plan(table=run.keep(published), evidence=evidence_of(self.stages, tables, counted=self.count_items))

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """[7] Publish what was planned."""
        return Draft(frame=plan.table, subjects=nobody_named(log, run))

    @property
    def _is_simpler(self) -> bool:
        """Whether items are chosen in another way than by the table."""
        return self.mechanism != "table" or self.queries_per_user == 1

    def _accounted(self, stage: Stage) -> Tables | Cells:
        """The tables or the noise of a stage; an error where its epsilon and delta allow none."""
        return cells_of(stage, self.count_items) if stage.name == "days" else tables_of(self.budget(stage))

    def budget(self, stage: Stage) -> Budget:
        """How a stage splits what it may spend."""
        return Budget(
            epsilon=stage.epsilon,
            delta=stage.delta,
            sketch=_SKETCH * (1 - self.counts),
            counts=self.counts,
            counted=self.count_items,
            reach=_NARROW if self.queries_per_user >= _HUNDREDS else _WIDE,
        )

    def _prior(self, items: pl.Series) -> Ints:
        return length_prior(items) if self.prior == "length" else no_prior(items)

    def _counted(self, pairs: Pairs, tables: Tables, table: str | None, run: Run) -> pl.LazyFrame:
        """The items with their numbers of users, where these are wanted."""
        text = pairs.items.str.split_exact(selection.SEPARATOR, 1).struct
        rows = pl.DataFrame({COUNTS.item: text.field("field_0"), "detail": text.field("field_1")})
        rows = rows.with_columns(pl.lit(table, pl.String).alias("table"))
        if not self.counts:
            return rows.lazy()
        numbers = counted(pairs, self.count_items, tables.count_variance, run)
        return _with_interval(rows, numbers, tables.count_variance, self.k)

    def _by_day(self, log: Log, known: pl.Series, cells: Cells, run: Run) -> pl.LazyFrame:
        """The numbers of users of each item on each of the given days, also where there is nobody."""
        first, last = (date.fromisoformat(day) for day in self.days.split(".."))
        every = pl.Series(
            "detail", [str(first + timedelta(n)) for n in range((last - first).days + 1)], dtype=pl.String
        )
        grid = pl.DataFrame({COUNTS.item: known}).join(every.to_frame(), how="cross")
        of_words = self.items in ("words", "phrases")
        days = partial(selection.days, known=known, first=str(first), last=str(last), of_words=of_words)
        pairs = pairs_of(_items(log, run, days), run)
        text = pairs.items.str.split_exact(selection.SEPARATOR, 1).struct
        held = pl.DataFrame({COUNTS.item: text.field("field_0"), "detail": text.field("field_1")})
        held = held.with_columns(pl.Series("picked", picked(pairs, self.count_items, run)))
        rows = grid.join(held, on=[COUNTS.item, "detail"], how="left").sort(COUNTS.item, "detail")
        numbers = rows["picked"].fill_null(0).to_numpy() + gaussian_draws(cells.variance, run.words(rows.height))
        named = rows.drop("picked").with_columns(pl.lit("days").alias("table"))
        return _with_interval(named, numbers, cells.variance, 0)

    def _simpler(self, pairs: Pairs, run: Run) -> tuple[Flags, dict[str, pl.LazyFrame]]:
        """What the other mechanisms choose, and the numbers that they rest on."""
        stage, delta = self.stages[0], self.stated_delta
        if self.mechanism == "korolova":
            noise = selection.laplace(self.epsilon, delta, self.queries_per_user)
            flags = selection.korolova(pairs, self.k, noise, self.queries_per_user, run)
            return flags, evidence_of((stage,), {}, scales=[noise.scale], thresholds=[noise.threshold])
        if self.mechanism == "table":
            table = selection.optimal_table(self.epsilon, delta)
            return selection.one_item_each(pairs, self._prior(pairs.items), self.k, table, run), evidence_of(
                (stage,), {}, optimal=table
            )
        single = self.mechanism == "wgm"
        rounds = [selection.gaussian(self.epsilon, delta)] if single else selection.rounds(self.epsilon, delta)
        flags = selection.in_rounds(pairs, self.k, rounds, run)
        scales, thresholds = [each.sigma for each in rounds], [each.threshold for each in rounds]
        return flags, evidence_of((stage,), {}, scales=scales, thresholds=thresholds)


def _items(log: Log, run: Run, of_rows: Callable[[Log], pl.LazyFrame]) -> pl.LazyFrame:
    """What users have, row by row, wherever the rows are."""
    shape = log.shape
    return run.each(log.frame, lambda rows: of_rows(Log(frame=rows, shape=shape)))


def _looks_across(step: str) -> bool:
    """Whether what a prepare step leaves of one user depends on others; the proof is about one user's own rows."""
    return looks_at(step_of(step)) == "log"


def _with_interval(rows: pl.DataFrame, numbers: Ints, variance: int, least: int) -> pl.LazyFrame:
    """The rows with their noisy numbers, and the interval that holds the number without noise in 95 of 100 cases."""
    wide = math.ceil(_NORMAL_95 * math.sqrt(variance))
    columns = {COUNTS.count: numbers, "low": numbers - wide, "high": numbers + wide}
    # What is certain anyway is not contradicted: k users have the item. This looks at nothing but what is published.
    return rows.with_columns(pl.Series(name, np.maximum(values, least)) for name, values in columns.items()).lazy()
