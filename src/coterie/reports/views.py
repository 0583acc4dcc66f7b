"""Views: a log and a release as a report needs them, in counts, promises, checks and scores; never a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Check, Promise, k_of
from coterie.core.scores import score_table
from coterie.core.wording import in_words_of
from coterie.measures.comparison import Comparison, Samples, Store, not_applicable, scores_of
from coterie.measures.privacy.uniqueness import uniqueness
from coterie.measures.rates import ratio
from coterie.reading.searches import search_params
from coterie.steps import public_text

_FILES = 4  # names that there is room for
ScoreRow = tuple[str, str, float | None, str]
"""name, key, value, unit"""


@dataclass(frozen=True, kw_only=True)
class LogView:
    """The original log in counts, before any step; never a value."""

    rows: int
    users: int
    queries: int
    days: int | None
    bad_lines: int
    steps: tuple[str, ...]
    """What was done to it before it was counted; nothing, unless it was given prepared."""
    shape: str
    """The name of its shape, whose nouns the page uses."""
    synthetic: bool
    exposure: pl.DataFrame
    """name, key, value, unit of `uniqueness` before any protection."""
    files: tuple[str, ...] = ()
    """The names of the files that it was read from."""
    digest: str = ""
    """Ties the page to the log."""
    period: tuple[str, str] = field(default=("", ""), repr=False)
    """Its first and last day; empty where it has no times."""
    size_told: str | None = None
    """What is said of its size in place of exact counts, to others than those who keep it."""


@dataclass(frozen=True, kw_only=True)
class ReleaseView:
    """A release as the report needs it: what it promises, what was checked, what it scores."""

    label: str
    method: str
    params: Mapping[str, Any]
    promises: tuple[Promise, ...]
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    scores: pl.DataFrame = field(repr=False)
    """name, key, value, unit and, where values may be shown, label."""
    largest_k: int | None
    regime: str = ""
    """The regime whose settings were used, and in `changed` those that are not the regime's."""
    changed: tuple[str, ...] = ()
    rows: int | None = None
    """How many rows it has; None where nobody counted."""
    steps: tuple[str, ...] = ()
    """How the log was prepared for it."""
    prepared_rows: int | None = None
    """How many rows the log had after these steps; None where nobody counted."""
    file: str = ""
    """The name of its file; empty for a release that was not written."""
    sha256: str = ""
    """Ties the page to a file; empty for a release that was not written."""
    baseline: ReleaseView | None = field(default=None, repr=False)
    """The same method with random groups, for methods that group users."""
    withheld: bool = False
    """Whether what was measured is not told, because the page goes to others (reports/figures.py)."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Measures that have no meaning for this release, and why."""
    samples: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict, repr=False)
    """What some scores, by measure and key, are in samples of users drawn anew: the same draws for random groups."""

    @property
    def sentence(self) -> str:
        """What is promised, in plain words."""
        return " ".join(promise.sentence for promise in self.promises)

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promises do not say, each limit once."""
        return tuple(dict.fromkeys(limit for promise in self.promises for limit in promise.limits))

    @property
    def k(self) -> int | None:
        """Where it stands on an axis of k, by what was promised and judged; None where no promise has a k."""
        return k_of(self.promises)


def log_view(log: Log) -> LogView:
    """A log in counts, for a report."""
    numbers = {key: value for _, key, value, _ in overview(log)}
    files = tuple(path.name for path in log.sources)
    return LogView(
        rows=int(numbers["rows"] or 0),
        users=int(numbers["users"] or 0),
        queries=int(numbers["queries"] or 0),
        days=None if numbers["days"] is None else int(numbers["days"]),
        bad_lines=sum(step.counts.get("bad", 0) for step in log.history if step.name == "read"),
        steps=tuple(map(public_text, log.steps)),
        shape=log.shape.name,
        synthetic=log.synthetic,
        exposure=score_table(singled_out(log, "before.")),
        files=files if len(files) <= _FILES else (*files[:_FILES], f"and {len(files) - _FILES:,} more"),
        digest=log.digest,
        period=_period(log),
    )


def _period(log: Log) -> tuple[str, str]:
    """The first and the last day."""
    if not log.shape.time:
        return "", ""
    time = pl.col(log.shape.time)
    first, last = log.frame.select(first=time.min(), last=time.max()).collect(engine="streaming").row(0)
    return ("", "") if first is None or last is None else (first.date().isoformat(), last.date().isoformat())


def release_view(
    comparison: Comparison,
    label: str = "",
    *,
    names: Sequence[str] | None = None,
    store: Store | None = None,
    tell: Callable[[float], None] = lambda _share: None,
) -> ReleaseView:
    """A release in promises, checks and numbers, for a report.

    Of the measures in `names` those that have no meaning for it are left out: they may have one for what stands beside
    it. `refuse_idle` raises where they have none anywhere. `store` and `tell`: as in `scores_of`.
    """
    release = comparison.release
    left_out: dict[str, str] = {}
    samples: Samples = {}
    return ReleaseView(
        label=label or f"{release.method} {release.headline.replace(' = ', '=')}",
        method=release.method,
        params=release.params,
        promises=release.promises,
        checks=release.checks,
        warnings=release.warnings,
        scores=scores_of(comparison, names, left_out.__setitem__, samples, strict=False, store=store, tell=tell),
        largest_k=release.verdict.largest_k,
        regime=release.regime,
        changed=release.changed,
        rows=release.rows,
        steps=comparison.log.steps,
        prepared_rows=comparison.rows_before,
        file="" if release.path is None else release.path.name,
        sha256=release.sha256,
        left_out=left_out,
        samples=samples,
    )


def refuse_idle(views: Sequence[ReleaseView], names: Sequence[str] | None) -> None:
    """Raise NotApplicableError where a measure that was asked for has a meaning for none of the releases."""
    for name in names or ():
        if views and all(name in view.left_out for view in views):
            raise not_applicable(name, views[0].left_out[name])


def mean_of(views: Sequence[ReleaseView], seeds: Sequence[int]) -> ReleaseView:
    """One release for several that differ only in their seeds: each score is the mean of theirs.

    So are the ends of intervals, which are about users and not about seeds.
    """
    first = views[0]
    if len(views) == 1:
        return first
    baselines = [view.baseline for view in views if view.baseline is not None]
    what = [column for column in first.scores.columns if column != "value"]
    scores = pl.concat([view.scores for view in views]).group_by(what, maintain_order=True).agg(pl.col("value").mean())
    largest = [view.largest_k for view in views if view.largest_k is not None]
    return replace(
        first,
        scores=scores.select(first.scores.columns),
        warnings=(*first.warnings, f"All numbers are means over {len(seeds)} seeds: {', '.join(map(str, seeds))}."),
        largest_k=min(largest, default=None),
        baseline=mean_of(baselines, seeds) if baselines else None,
        samples={},
    )


def with_baseline(view: ReleaseView, baseline: ReleaseView) -> ReleaseView:
    """A release with random groups beside it, and how many times as much it keeps as they do (`ratio`)."""
    rows: list[tuple[str, str, float | None, str, None]] = []
    for (name, key), samples in view.samples.items():
        numbers = [scored(each.scores, name, key)[0] for each in (view, baseline)]
        if (name, key) not in baseline.samples or None in numbers:
            continue
        one, other = (float(number or 0) for number in numbers)
        with_interval = ratio(one, samples, other, baseline.samples[name, key])
        ends = zip(("", ".low", ".high"), with_interval, strict=True)
        rows += [(name, f"{key}.ratio{end}", number, "× random", None) for end, number in ends]
    table = score_table(rows, labelled=True).select(view.scores.columns)
    return replace(view, scores=view.scores.vstack(table), baseline=baseline)


def scored(scores: pl.DataFrame, name: str, key: str) -> tuple[float | None, str]:
    """A score and its unit; None where it was not measured."""
    rows = scores.filter((pl.col("name") == name) & (pl.col("key") == key)).select("value", "unit")
    score, unit = rows.row(0) if rows.height else (None, "")
    return score, unit or ""


def overview(log: Log) -> list[ScoreRow]:
    """The size of a log in a few numbers, as score rows."""
    shape = log.shape
    numbers = _size(log)
    left_out = log.rows_read - (numbers["rows"] or 0)
    if left_out > 0:  # a release is compared with what was read
        numbers = {"rows_read": log.rows_read, "rows_left_out": left_out, **numbers}
    units = dict.fromkeys(("rows_read", "rows_left_out", "rows_without_user"), "rows")
    return [("log", key, value, in_words_of(shape, units.get(key, key))) for key, value in numbers.items()]


def _size(log: Log) -> dict[str, int | None]:
    shape = log.shape
    user, item = pl.col(shape.subject), pl.col(shape.item)
    time = pl.col(shape.time) if shape.time else pl.lit(None, dtype=pl.Datetime("us"))
    counts = log.frame.select(
        pl.len().alias("rows"),
        user.drop_nulls().n_unique().alias("users"),
        item.n_unique().alias("queries"),
        ((time.max() - time.min()).dt.total_days() + 1).alias("days"),
        user.is_null().sum().alias("rows_without_user"),
    )
    return counts.collect(engine="streaming").row(0, named=True)


def singled_out(log: Log, prefix: str = "") -> list[ScoreRow]:
    """How many subjects single items or profiles single out in a log, as score rows."""
    shape = log.shape
    columns = {"subject": pl.col(shape.subject), "item": pl.col(shape.item)}
    found = list(uniqueness(log.frame.select(**columns)))
    people = found[0][1]  # without any, nobody can tell whether they are singled out
    return [
        ("uniqueness", prefix + key, value if people or not place else None, in_words_of(shape, unit))
        for place, (key, value, unit) in enumerate(found)
    ]


def site_searches(log: Log) -> list[ScoreRow]:
    """How many rows of an access log have searches in which parameter, as score rows."""
    return [("search_params", name, count, "rows") for name, count in search_params(log).items()]


def personal_data(log: Log) -> list[ScoreRow]:
    """How many rows hold which kind of personal data, as score rows."""
    from coterie.steps.scrub import find  # which loads the rules of all countries

    items = log.frame.group_by(pl.col(log.shape.item).alias("item")).len("n").collect(engine="streaming")
    kinds = items.with_columns(find(items["item"]).alias("kind")).drop_nulls("kind")
    counts = kinds.group_by("kind").agg(pl.col("n").sum()).sort("n", "kind", descending=[True, False])
    return [("personal_data", kind, count, "rows") for kind, count in counts.iter_rows()]
