"""Report: numbers in, one page out, for the person who signs and for the one who compares.

`render` is pure: the same views give the same bytes. It sees counts and scores only; a string of
the log can reach a page through the column `label` of the scores and in no other way. What a page
says is worked out here; `_html`, `_charts` and `_markdown` lay it out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from coterie.core.promise import Check, Promise

Kind = Literal["html", "md", "json"]
State = Literal["kept", "not checked", "broken"]
THIN = "\u202f"  # narrow no-break space between thousands
NONE = "–"
ORIGINAL = "Original"
RANDOM = "Random groups"
RANDOM_READING = (
    "Random groups of the same k: the same method, except that users were put together at random. What they reach as "
    "well is no merit of how the users were grouped."
)
_NUMBER = re.compile(r"\d+(?:,\d{3})*")


@dataclass(frozen=True, kw_only=True)
class LogView:
    """The original log in counts; never a value."""

    rows: int
    users: int
    queries: int
    days: int | None
    bad_lines: int
    steps: tuple[str, ...]
    shape: str
    synthetic: bool
    exposure: pl.DataFrame
    """name, key, value, unit of `uniqueness` before any protection."""


@dataclass(frozen=True, kw_only=True)
class ReleaseView:
    """A release as the report needs it: what it promises, what was found, what it scores."""

    label: str
    method: str
    params: Mapping[str, Any]
    promises: tuple[Promise, ...]
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    scores: pl.DataFrame = field(repr=False)
    """name, key, value, unit and, where values may be shown, label."""
    largest_k: int | None
    sha256: str = ""
    """Ties the page to a file; empty for a release that was not written."""
    baseline: ReleaseView | None = field(default=None, repr=False)
    """The same method with random groups, for methods that group users."""

    @property
    def sentence(self) -> str:
        """What is promised, in plain words."""
        return " ".join(promise.sentence for promise in self.promises)

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promises do not say, each limit once."""
        return tuple(dict.fromkeys(limit for promise in self.promises for limit in promise.limits))


def render(log: LogView, releases: Sequence[ReleaseView], kind: Kind) -> str:
    """The report as one self-contained text."""
    if kind == "html":
        from coterie.reports._html import html

        return html(log, releases)
    from coterie.reports import _markdown

    return _markdown.markdown(log, releases) if kind == "md" else _markdown.as_json(log, releases)


# --- the verdict ---------------------------------------------------------------------------------


def state(release: ReleaseView) -> State:
    """Broken when a check failed; kept only when all that the promise rests on was checked."""
    if any(check.status == "failed" for check in release.checks):
        return "broken"
    resting = [check.status for check in release.checks if check.carries_promise]
    return "kept" if resting and "not checked" not in resting else "not checked"


def verdict(release: ReleaseView) -> str:
    """The verdict in a sentence or two."""
    total = len(release.checks)
    failed = sum(check.status == "failed" for check in release.checks)
    skipped = sum(check.status == "not checked" for check in release.checks)
    if failed:
        return f"{failed} of {total} checks failed. This release must not be shared."
    if state(release) == "not checked":
        needed = f"{skipped} of {total} checks need the original log"
        reason = needed if skipped else "no check was made of what it rests on"
        return f"Whether the promise holds was not checked: {reason}."
    done = f"{total - skipped} of {total} checks were made and passed" if skipped else (
        f"All {total} checks passed"
    )  # fmt: skip
    if value(release, "release_share", "rows.count") == 0:
        return f"{done}. Nothing was released, so there is nothing to find in it and nothing to use."
    holds = f"; the promise holds up to k = {release.largest_k}" if release.largest_k else ""
    return f"{done}{holds}."


# --- figures and how to read them ----------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One number of a release: where it stands in the scores, its title and how to read it."""

    name: str
    key: str
    title: str
    reading: str
    before: str = ""


PRIVACY = (
    Figure("exposure", "exposed.mean", "Exposure, mean over users",
           "How much of a user's searches can be read in the release, from 0% (nothing) to 100% "
           "(all). It is counted as if the reader knew whose rows are whose. Lower is safer.",
           "100.0%"),
    Figure("exposure", "exposed.median", "Exposure, median user",
           "Half of the users are exposed less than this, half more.", "100.0%"),
    Figure("exposure", "exposed.above_40", "Users exposed above 40%",
           "In the research on query logs a user counts as protected up to 40%; this is the share "
           "beyond.", "100.0%"),
    Figure("exposure", "channel.mean", "Exposure, counting what is absent",
           "The mean for a reader who also learns from what is missing. It is never the lower of "
           "the two.", "100.0%"),
    Figure("uniqueness", "after.one_query", "Singled out by one query",
           "Users (in a release: names) with a query that nobody else has. A release whose rows "
           "carry no names links nothing and shows 0%.", "before.one_query"),
    Figure("uniqueness", "after.two_queries", "Singled out by two queries",
           "The same for somebody who knows two of the queries.", "before.two_queries"),
    Figure("uniqueness", "after.profile", "Singled out by all queries",
           "Users (names) whose set of queries nobody else has.", "before.profile"),
)  # fmt: skip
DISCLOSURE = (
    Figure("interest_disclosure", "right", "Main interest guessed from the profile",
           "Users whose main interest somebody guesses who knows which profile is theirs, mean over levels of the "
           "taxonomy. It rises with what profiles are good for: the price of groups of like users. Lower is safer.",
           NONE),
    Figure("interest_disclosure", "majority", "Main interest guessed without it",
           "The same by somebody who knows only which main interest is the most frequent.", NONE),
)  # fmt: skip
"""Figures of privacy that only releases with profiles have; shown where they were measured."""
ATTACKS = (
    Figure("linkage", "after.one_query", "Found by one query",
           "Users whose name somebody finds in the release who knows one of their queries, drawn at "
           "random. In brackets the 95% interval. Lower is safer.", "before.one_query"),
    Figure("linkage", "after.two_queries", "Found by two queries",
           "The same for somebody who knows two of their queries.", "before.two_queries"),
    Figure("linkage", "after.five_queries", "Found by five queries",
           "The same for five.", "before.five_queries"),
    Figure("linkage", "after.half", "Found by half of their queries",
           "The same for a random half of all their queries.", "before.half"),
    Figure("linkage", "bound", "Promised: found at most",
           "One in k, where the release promises that k users share each profile: even somebody who "
           "knows everything about a person can only guess among the k."),
    Figure("simattack", "after.profiles.precision", "SimAttack on profiles: guesses that are right",
           "Somebody who knows the earlier searches of the most active users guesses to whom the later "
           "ones under one name belong. For releases with names.", "before.profiles.precision"),
    Figure("simattack", "after.profiles.recall", "SimAttack on profiles: linked",
           "The same as a share of all profiles, also those without a guess.", "before.profiles.recall"),
    Figure("simattack", "after.queries.precision", "SimAttack on queries: guesses that are right",
           "The same adversary guesses for each later query who typed it. For releases without names.",
           "before.queries.precision"),
    Figure("simattack", "after.queries.recall", "SimAttack on queries: linked",
           "The same as a share of all queries, also those without a guess.", "before.queries.recall"),
    Figure("witness", "after.unique", "A rare query under one name only",
           "Users whom somebody finds for certain who saw them type their rarest released query. Where no row has "
           "a name, nobody is found.", "before.unique"),
    Figure("witness", "after.share", "What a witness of that query reads besides",
           "Share of a user's other queries that stand under the name which has the query, mean over users.",
           "before.share"),
)  # fmt: skip
UTILITY = (
    Figure("release_share", "rows.count", "Number of rows", "Lines of the log.", "rows"),
    Figure("release_share", "rows", "Rows kept", "Share of the original's lines.", "100.0%"),
    Figure("release_share", "events", "Searches kept",
           "Share of distinct searches: one user, one query, one time.", "100.0%"),
    Figure("release_share", "queries.count", "Number of distinct queries",
           "Different texts.", "queries"),
    Figure("release_share", "queries", "Distinct queries kept",
           "Usually small: most queries are typed by one person only.", "100.0%"),
    Figure("release_share", "users", "Users with something kept",
           "Share of users of whom at least one row is left.", "100.0%"),
    Figure("information_loss", "whole_log", "Information loss, whole log",
           "How far the variety of queries (their entropy) moved; 0% is unchanged. Lower is more "
           "useful.", "0.0%"),
    Figure("information_loss", "per_user_capped.mean", "Information loss, mean over users",
           "The same for each user's own queries, each user counted up to 100%.", "0.0%"),
    Figure("frequency", "query.overlap", "Top queries that stayed on top",
           "How many of the original's most frequent queries are still among the most frequent.",
           "all"),
    Figure("frequency", "word.overlap", "Top words that stayed on top",
           "The same for words.", "all"),
)  # fmt: skip
PROFILES = (
    Figure("homogeneity", "mean_distance", "Distance of users to their profile",
           "How far users are from the common profile they got, from 0 (the same) to 1; mean over users.", "0"),
    Figure("homogeneity", "sse.ratio", "Spread within groups",
           "Squared distances of users to their common profile, compared with random groups of the same sizes. Below 1 "
           "the groups are of similar users; near 1 grouping at random would have done as well.", NONE),
    Figure("partition_agreement", "adjusted_rand_10", "Same 10 clusters, adjusted Rand",
           "Users are sorted into 10 clusters by what they search for, in the original and in the release: 1 is the "
           "same clusters, 0 no better than chance.", "1 of 1"),
    Figure("partition_agreement", "rand_10", "Same 10 clusters, Rand",
           "Share of pairs of users that are together in both or apart in both. It is high for many clusters "
           "whatever the release is like.", "1 of 1"),
    Figure("partition_agreement", "jaccard_10", "Same 10 clusters, Jaccard",
           "Of the pairs of users together in either, the share together in both. Users of one group always are "
           "together in the release, so large groups lower it.", "1 of 1"),
    Figure("semantic_remain", "categories_1.level_5.relative", "Interests kept",
           "How far the shares of the categories that a user searched for (WordNet's fifth level, or that of the "
           "taxonomy used) are those of what was released for her; mean over users. Compare with random groups.",
           "100%"),
    Figure("semantic_remain", "categories_1.level_5", "Semantic remain percentage",
           "The share of what she searched for, by category, that is still there. It is high for small users with "
           "large profiles, and for random groups too.", "100%"),
    Figure("later_queries", "retained", "Later searches foretold",
           "How well her profile tells what a user searched for afterwards, which no method saw: 0% is the profile of "
           "a stranger, 100% her own unprotected one. In brackets the 95% interval over users. Compare with random "
           "groups.", "100%"),
)  # fmt: skip
"""Figures of releases that give users profiles; shown where they were measured."""
LEFT_OUT = (
    Figure("certainty_penalty", "ncp", "Certainty penalty (NCP)",
           "How much of the words of the log the release leaves out or makes less specific, from 0 (nothing) to 1 "
           "(all). Lower is more useful.", "0 of 1"),
    Figure("f_beta", "f_1", "Agreement with labels, F1",
           "Whether queries that people labelled harmless are released and sensitive ones left out; 1 is best.", NONE),
    Figure("f_beta", "f_0_1", "Agreement with labels, F0.1",
           "The same where a sensitive query that is released weighs far more than a harmless one left out.", NONE),
)  # fmt: skip
"""Figures of releases that leave queries out, or that have labels; shown where they were measured."""
_KNOWN = {figure.name for figure in (*PRIVACY, *ATTACKS, *UTILITY)}
_RECORD = ("exposure", "information_loss", "linkage", "simattack", "witness")
LIMITS = (
    "A release cannot be called back: whoever has a copy keeps it, whatever is learned later.",
    "Knowledge from elsewhere (other data sets, social media, inside knowledge) is not modelled "
    "beyond what the promise says.",
    "What many people do stays visible on purpose, and may be held against each of them.",
    "The original log and the private run record are not protected by a release and need care of their own.",
)


def value(release: ReleaseView, name: str, key: str) -> float | None:
    """One score; None where it was not measured or has no value."""
    return _look(release.scores, name, key)[0]


def cell(release: ReleaseView, figure: Figure) -> str:
    """A figure of a release as text with its unit."""
    return _text(release.scores, figure.name, figure.key)


def before(log: LogView, releases: Sequence[ReleaseView], figure: Figure) -> str:
    """What the original log has for a figure, as text."""
    if figure.before in ("rows", "queries"):
        return shown(getattr(log, figure.before), "")
    if figure.before.startswith("before."):
        return next((_text(table, figure.name, figure.before) for table in _measured(log, releases, figure)), NONE)
    return figure.before or NONE


def value_before(log: LogView, releases: Sequence[ReleaseView], figure: Figure) -> float | None:
    """What the original log has for a figure that was measured on it."""
    return next((_look(table, figure.name, figure.before)[0] for table in _measured(log, releases, figure)), None)


def _measured(log: LogView, releases: Sequence[ReleaseView], figure: Figure) -> Iterator[pl.DataFrame]:
    tables = (log.exposure, *(release.scores for release in releases))
    return (table for table in tables if _look(table, figure.name, figure.before)[0] is not None)


def privacy(releases: Sequence[ReleaseView]) -> list[Figure]:
    """The figures of privacy, with those that only some releases have where they were measured."""
    return [*PRIVACY, *_where_measured(releases, DISCLOSURE)]


def utility(releases: Sequence[ReleaseView]) -> list[Figure]:
    """The same for figures of utility."""
    return [*UTILITY, *_where_measured(releases, (*LEFT_OUT, *PROFILES))]


def _where_measured(releases: Sequence[ReleaseView], figures: Sequence[Figure]) -> list[Figure]:
    measured = {name for release in releases for name in release.scores["name"]}
    return [figure for figure in figures if figure.name in measured]


def others(releases: Sequence[ReleaseView]) -> list[Figure]:
    """Scores of measures that this module has no sentence for."""
    keys = [row for r in releases for row in r.scores.select("name", "key").iter_rows()]
    known = _KNOWN | {figure.name for figure in (*DISCLOSURE, *LEFT_OUT, *PROFILES)}
    return [Figure(n, k, f"{n} {k}", "") for n, k in dict.fromkeys(keys) if n not in known]


def missing(release: ReleaseView) -> Iterator[str]:
    """What the figures lack, and why."""
    absent = _KNOWN - set(release.scores["name"])
    without_record = absent.issuperset(_RECORD)
    asked = sorted(absent.difference(_RECORD) if without_record else absent)
    if asked:
        yield f"Not measured: {', '.join(asked).replace('_', ' ')}."
    if without_record:
        yield (
            "Exposure, attacks, information loss and the shares of searches and users kept are missing: "
            "they must know who became whom. Give the private run record with --record DIR."
        )
    elif "release_share" not in absent and not _look(release.scores, "release_share", "events")[1]:
        yield "Shares of searches and users kept exist only for methods that keep original rows."
    if value(release, "linkage", "after.names") == 0:
        yield "Nobody can be found by name: no row of the release carries one."


def merge(
    releases: Sequence[ReleaseView],
    texts: Callable[[ReleaseView], Iterable[str]],
    names: Sequence[str] | None = None,
) -> list[tuple[str, tuple[str, ...]]]:
    """Distinct texts, each with the releases it is about (none named where it is about all).

    Texts that differ only in their numbers become one: it says k where each has the k of its
    release, and elsewhere the numbers in the order of the releases, "70 / 36".
    """
    groups: dict[tuple[str, ...], list[tuple[str, str, list[str]]]] = {}
    for release, name in zip(releases, names or short_labels(releases), strict=True):
        for text in texts(release):
            parts = tuple(_NUMBER.split(text))
            k = str(release.params.get("k"))
            groups.setdefault(parts, []).append((name, k, _NUMBER.findall(text)))
    merged = []
    for parts, found in groups.items():
        numbers = []
        for i in range(len(parts) - 1):
            each = [own[i] for _, _, own in found]
            are_k = all(own[i] == k for _, k, own in found)
            one = each[0] if len(set(each)) == 1 else "k" if are_k else " / ".join(each)
            numbers.append(one)
        text = "".join(part + number for part, number in zip(parts, [*numbers, ""], strict=True))
        about = tuple(name for name, _, _ in found)
        merged.append((text, () if len(about) == len(releases) else about))
    return merged


def short_labels(releases: Sequence[ReleaseView]) -> list[str]:
    """Labels without the words that all of them begin with, and different from one another."""
    if len(releases) == 1:
        return ["Release"]
    words = [release.label.split() or [NONE] for release in releases]
    while len(words) > 1 and len({w[0] for w in words}) == 1 and all(len(w) > 1 for w in words):
        words = [w[1:] for w in words]
    names = [" ".join(w) for w in words]
    return [f"{n} ({names[:i].count(n) + 1})" if n in names[:i] else n for i, n in enumerate(names)]


def series(releases: Sequence[ReleaseView]) -> list[str]:
    """The line a release belongs to: its method, and the settings in which those differ."""
    names = []
    for release in releases:
        same = [other.params for other in releases if other.method == release.method]
        keys = dict.fromkeys(key for params in same for key in params if key != "k")
        differing = [key for key in keys if len({str(params.get(key)) for params in same}) > 1]
        settings = ", ".join(f"{key}={release.params.get(key)}" for key in differing)
        names.append(f"{release.method} ({settings})" if settings else release.method)
    return names


def side_by_side(releases: Sequence[ReleaseView], names: Sequence[str]) -> list[tuple[str, ReleaseView]]:
    """The columns of a table of figures: each release and, beside it, its random groups."""
    columns = []
    for release, name in zip(releases, names, strict=True):
        columns.append((name, release))
        if release.baseline is not None:
            columns.append((f"{RANDOM} of the same k", release.baseline))
    return columns


# --- numbers as text -----------------------------------------------------------------------------


def shown(number: float | None, unit: str, digits: int = 1) -> str:
    """A number with its unit; shares that are nearly, but not quite, 0% or 100% say so."""
    if number is None or not math.isfinite(number):
        return NONE
    if unit.startswith("%"):
        step = 10**-digits
        if 0 < number < step / 2:
            return f"<{step:.{digits}f}%"
        if 100 - step / 2 <= number < 100:
            return f">{100 - step:.{digits}f}%"
        return f"{number:.{digits}f}%"
    whole = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.3f}"
    return f"{whole.replace(',', THIN)} {unit}".strip()


def _text(scores: pl.DataFrame, name: str, key: str) -> str:
    """A score with its unit and, where it has one, its interval."""
    number, unit = _look(scores, name, key)
    text = shown(number, "" if key.endswith(".count") else unit)
    low, high = (_look(scores, name, f"{key}.{end}")[0] for end in ("low", "high"))
    return text if low is None or high is None else f"{text} ({shown(low, unit)} to {shown(high, unit)})"


def _look(scores: pl.DataFrame, name: str, key: str) -> tuple[float | None, str]:
    rows = scores.filter((pl.col("name") == name) & (pl.col("key") == key)).select("value", "unit")
    if rows.is_empty():
        return None, ""
    number, unit = rows.row(0)
    return (None if number is None or not math.isfinite(number) else number), unit or ""
