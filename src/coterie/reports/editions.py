"""Editions: what a page says to those who keep the log, and what to those who get the release.

The external edition is a whitelist. `public` makes its views from nothing, so what is not named here is not told, and a
field that somebody adds later stays inside until it is named here too.

    of the log       its shape, the months it covers, its size in two digits
    of a release     what its sidecar says as well, and scores that the page shows: rates, and counts of the released
                     rows themselves; no count of the original

Whatever was measured on a log beside a release with differential privacy would spend more than the release says. Such
a page has no figure that was measured on the log, of no release on it. Nor has one about a log of under 100 people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from coterie import measures
from coterie.core.promise import Check, to_dict
from coterie.core.scores import ENDS, score_table
from coterie.core.shapes import SHAPES
from coterie.reports.figures import keys_in
from coterie.reports.views import LogView, ReleaseView

Edition = Literal["internal", "external"]
EDITIONS: dict[Edition, str] = {
    "internal": "Internal edition: it names the input and has all figures. It stays with those who have the log.",
    "external": "External edition: it goes with the release. Names and digests of the input and exact counts of the "
    "log are left out; beside a release with differential privacy, so is every figure that was measured on the log.",
}
NOT_TOLD = "not told beside differential privacy"
_SMALL = 100
"""Below it a count of the log is not told, for two digits would be the whole of it."""


def public(log: LogView, releases: Sequence[ReleaseView]) -> tuple[LogView, list[ReleaseView]]:
    """What may leave the house."""
    spends = any("epsilon" in to_dict(promise) for release in releases for promise in release.promises)
    withheld = spends or log.users < _SMALL  # of few people, every rate and every control tells how many
    told = LogView(
        rows=0,
        users=0,
        queries=0,
        days=None,
        bad_lines=0,
        steps=log.steps,
        shape=log.shape,
        synthetic=log.synthetic,
        exposure=score_table([]),
        period=("", "") if spends else (log.period[0][:7], log.period[1][:7]),
        size_told=NOT_TOLD if spends else _size(log),
    )
    return told, [_public(release, withheld) for release in releases]


def _size(log: LogView) -> str:
    shape = SHAPES[log.shape]
    counts = ((log.rows, "rows"), (log.users, shape.subject_nouns), (log.queries, f"distinct {shape.item_nouns}"))
    return ", ".join(f"{in_two_digits(count)} {noun}" for count, noun in counts)


def in_two_digits(count: int) -> str:
    """About how many; a small count is not told."""
    return f"under {_SMALL}" if count < _SMALL else f"about {round(count, 2 - len(str(count))):,}"


def _public(release: ReleaseView, withheld: bool) -> ReleaseView:
    return ReleaseView(
        label=release.label,
        method=release.method,
        params=release.params,
        promises=release.promises,
        checks=tuple(_checked(check, withheld) for check in release.checks),
        warnings=release.warnings,
        scores=release.scores.clear() if withheld else _told(release.scores),
        largest_k=None if withheld else release.largest_k,
        rows=release.rows,
        regime=release.regime,
        changed=release.changed,
        steps=release.steps,
        file=release.file,
        sha256=release.sha256,
        baseline=None if withheld or release.baseline is None else _public(release.baseline, withheld),
        left_out={} if withheld else release.left_out,
        withheld=withheld,
    )


def _checked(check: Check, withheld: bool) -> Check:
    """Without how many people of the log a fault concerns and, beside a budget, how much was computed again."""
    return replace(check, concerns=None, how="" if withheld else check.how)


def _told(scores: pl.DataFrame) -> pl.DataFrame:
    """Rates that the page shows, and counts of what is released."""
    names = [f"{measure} {key}{end}" for measure, key in set(_on_page()) for end in ENDS]
    rate = pl.col("unit").str.starts_with("%") | pl.col("unit").str.starts_with("×")
    of_release = pl.col("key").str.starts_with("after.") | pl.col("key").str.ends_with(".count")
    people = pl.col("key").str.ends_with(".people")  # the width of an interval tells it as well
    told = scores.filter(pl.concat_str("name", pl.lit(" "), "key").is_in(names) & (rate | of_release | people))
    return told.with_columns(pl.when(people).then(pl.col("value").round_sig_figs(2)).otherwise("value").alias("value"))


def _on_page() -> Iterator[tuple[str, str]]:
    """Measure and key of every score that a figure, a sentence or the decision uses."""
    for figure in measures.figures():
        yield from ((figure.measure, key) for key in (figure.key, figure.before, *(key for _, key in figure.beside)))
    for finding in measures.findings():
        yield from ((finding.measure, key) for key in keys_in(finding))
    for each in measures.weighed():
        yield from ((each.measure, key) for key in each.keys)
