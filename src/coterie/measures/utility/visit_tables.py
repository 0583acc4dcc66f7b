"""What analysts of a website still read from a release: pages, referrers, hours, browsers, lengths of sessions, paths.

The error of a table is half the sum of the differences between the shares that values have in it before and after
(0 %: the same table; 100 %: nothing in common).

    pages.error        of pages; a page that was cut to `/a/*` counts as another one
    pages.top          how many of the 20 most frequent pages are still among the 20 most frequent
    referrers.error    of hosts that led to a page, among requests for which one is known
    hours.error        of hours of the day, likewise; a time that is a day has no hour
    browsers.error     of families of browsers, likewise
    landing.error      of first pages of sessions
    lengths.error      of sessions by the number of their requests
    paths.kept         pairs of pages that follow each other within a session: how many of all are still there
    referrers.known    share of released rows for which it is known; likewise hours, browsers

What cannot be read from a release is left out: what is about sessions where rows are not linked, all but pages and
paths where sequences of pages are released. Where tables of counts are released, they are compared as they are; the
hours of all days are added up.
"""

from __future__ import annotations

from collections.abc import Iterator

from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.measures import visits
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in
from coterie.measures.visits import VALUE, N, Tables
from coterie.steps.sessions import session_minutes

needs: frozenset[str] = frozenset()
TOP = 20
_DETAILS = ("referrers", "hours", "browsers")
_TITLES = {
    "pages": ("Error of the pages", "How far shares of pages are off. 0% is the same table; lower is better."),
    "referrers": ("Error of the referrers", "The same for hosts that led to a page, where one is known."),
    "hours": ("Error of the hours", "The same for hours of the day."),
    "browsers": ("Error of the browsers", "The same for families of browsers."),
    "landing": ("Error of the landing pages", "The same for first pages of sessions."),
    "lengths": ("Error of the lengths of sessions", "The same for sessions by the number of their requests."),
}
_figure = figures_in("utility", 35)
figures = (
    *(_figure(f"{name}.error", title, reading, before="0.0%") for name, (title, reading) in _TITLES.items()),
    _figure(
        "paths.kept",
        "Two-page paths kept",
        "Pairs of pages that follow each other within a session: how many of all are still there.",
        before="100.0%",
    ),
    _figure(
        "pages.top",
        "Top pages that stayed on top",
        "How many of the most frequent pages are still among the most frequent.",
        before="all",
    ),
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """The errors of all tables that the release has."""
    visits.require_visits(comparison)
    before, after, shares_known = tables_of(comparison)
    if not after:
        raise NotApplicableError("The release has counts in place of rows, and no table of pages, hours or browsers.")
    yield from (
        Score(f"{name}.error", visits.error(before[name], after[name]), "%") for name in _TITLES if name in after
    )
    if "paths" in after:
        yield Score("paths.kept", visits.kept(before["paths"], after["paths"]), "%")
    if "pages" in after:
        tops = [table.sort(N, VALUE, descending=[True, False]).head(TOP) for table in (before["pages"], after["pages"])]
        yield Score("pages.top", tops[0].join(tops[1], on=VALUE, how="semi").height, f"of {tops[0].height}")
    yield from (Score(f"{name}.known", share, "% of rows") for name, share in shares_known.items())


def tables_of(comparison: Comparison) -> tuple[Tables, Tables, dict[str, float | None]]:
    """Tables of the original and of the release, and for how many of its rows details are known."""
    minutes = session_minutes(comparison.log)
    rows = visits.clicks(comparison.log)
    labels = rows["browser"].drop_nulls().unique().to_list()
    sessions = visits.session_tables(visits.with_visits(rows, minutes))
    before = {**visits.simple_tables(rows), **sessions}
    if comparison.release.log.shape.count:
        return before, visits.counted_tables(comparison.release.log), {}
    released = visits.clicks(comparison.release.log, labels)
    after = visits.simple_tables(released)
    if comparison.release.log.shape.position:
        walks = released.sort("name", "position").with_columns(visit="name")
        return before, {"pages": after["pages"], "paths": visits.pairs(walks)}, {}
    if released["name"].null_count() < released.height:
        linked = visits.session_tables(visits.with_visits(released, minutes))
        after |= linked if visits.has_exact_times(released) else {"lengths": linked["lengths"]}
    rows_known = {name: float(after[name][N].sum()) for name in _DETAILS}
    shares_known = {
        name: 100 * number / released.height if released.height else None for name, number in rows_known.items()
    }
    return before, after, shares_known
