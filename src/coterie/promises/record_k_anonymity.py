"""Record k-anonymity: every released record of an access log appears k times, for k visitors where that is promised.

Records made once more from the original, with code of its own: what is behind each one, and whose it is.

Which rows are grouped is taken from the run record, and nothing else: a table that puts rows together that were not
gives other records than those that were released. Hosts and agents are read as judges read them (`_visit_recount`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Annotated, Any, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Flag, Range
from coterie.core.promise import Case, Check, Kind
from coterie.core.shapes import VISITS
from coterie.promises._checks import Question
from coterie.promises._names import BOTH, random_names
from coterie.promises._visit_recount import UNKNOWN, browser_and_system, host
from coterie.promises._words import Worded

_ONE_VISITOR = "the k may come from one visitor"


@dataclass(frozen=True, kw_only=True)
class RecordKAnonymity(Worded):
    """Every released record appears at least k times, for records of k visitors unless `visitors` is false."""

    k: Annotated[int, Range(2), "smallest number of times that a released record appears"]
    visitors: Annotated[bool, Flag(), "the records behind a released one come from k different visitors"] = True

    name: ClassVar[str] = "record_k_anonymity"
    covers: ClassVar[tuple[str, ...]] = tuple(name for name in VISITS.identifying if name not in VISITS.never_given)
    releases: ClassVar[Kind] = "concepts"
    """Released paths are beginnings of paths."""
    evidence: ClassVar[tuple[str, ...]] = ("clusters",)
    """Which rows of the original are behind which record."""

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> RecordKAnonymity:  # noqa: ARG003 (the protocol's)
        """The promise to check of rows without a sidecar: who is behind them is not known."""
        return cls(**{**values, "visitors": False})

    def check(self, case: Case) -> Iterator[Check]:
        """Count equal records, then make those of the run once more from the original and count their visitors.

        It stops k copies that all come from one visitor, and records that no group of the run gives.
        """
        if not case.foreign:
            yield from random_names(case, "drop")
        yield self._copies(case)
        if not case.foreign:
            yield from self._recounted(case)

    def _copies(self, case: Case) -> Check:
        """Each record at least k times: whoever finds one that they know of cannot tell which of the k it is."""
        columns = [name for name in case.shape.released if name != case.shape.subject]
        rows = case.rows if case.published is None else case.published
        equal = Question("copies", f"each released record appears at least {self.k} times", "do not", carries=True)
        return equal.of_equals(rows.select(columns), self.k, "ones")

    def _recounted(self, case: Case) -> Iterator[Check]:
        """The released records are those that the run's groups give, and k visitors are behind each."""
        carries = self.visitors
        follow = "released records are those that follow from the groups of the run"
        made = Question("records", follow, "differ, are too many or are missing", original=True, carries=carries)
        detail = f"at least {self.k} different visitors behind each released record" if self.visitors else _ONE_VISITOR
        behind = Question("visitors", detail, "have fewer", original=True, carries=carries)
        groups = case.table("clusters", {"row": pl.UInt64, "group": pl.UInt32})
        if case.original is None or groups is None or case.original.shape is not VISITS:
            yield made.open(BOTH)
            yield behind.open(BOTH)
            return
        recount = recounted(case, case.original, groups, several=self.visitors)
        yield made.answered(recount.unlike, recount.released)
        of_one = pl.col(COPIES).filter(pl.col(VISITORS) == 1).sum()
        numbers = recount.kinds.select(
            (pl.col(VISITORS) < self.k).sum().alias("few"), pl.col(VISITORS).min().alias("smallest"), pl.len(),
            (100 * of_one / pl.col(COPIES).sum()).fill_nan(0).alias("alone"),
        ).row(0, named=True)  # fmt: skip
        if self.visitors:
            yield behind.answered(numbers["few"], numbers["len"], largest_k=numbers["smallest"])
        else:
            how = f"{numbers['alone']:.1f} % of the records stand for one visitor"
            yield behind.answered(0, numbers["len"], how=how)


# --- recounted from the original --------------------------------------------------------------------


VISITORS, COPIES = "visitors", "copies"
_GROUP, _OWNER, _KIND = "group", "_owner", "_kind"
_PATH, _TIME = VISITS.item, VISITS.time
_METHOD, _STATUS, _SIZE = VISITS.details
_REFERRER, _AGENT = (name for name in VISITS.identifying if name not in VISITS.never_given)
_AGENT_PARTS = ("_browser", "_browser_version", "_system", "_system_version")
_MOST_LABELS = 32  # of a host; what stands before is one
_COLUMNS = [name for name in VISITS.released if name != VISITS.subject]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RecordRecount:
    """What the groups of a run give, and what of it was released."""

    kinds: pl.DataFrame
    """visitors, copies: who is behind each different record, and how often it stands in the release."""
    unlike: int
    """How often records were released that the groups do not give, or the other way round; rows of no group or two."""
    released: int
    """Released records."""


def recounted(case: Case, original: Log, groups: pl.DataFrame, *, several: bool) -> RecordRecount:
    """Make the records of groups (row, group) from the original, and compare them with what was released.

    `several`: a commonest value that one visitor alone has is not released.
    """
    owner = pl.col(original.shape.subject).cast(pl.Categorical).to_physical().alias(_OWNER)  # a number for each
    owned = original.frame.drop_nulls(original.shape.subject).select("row", *_COLUMNS, owner)
    visits = owned.join(groups.unique("row").lazy(), on="row").collect(engine="streaming")
    strange = groups.height - visits.height  # rows that are in two groups, not in the original, or nobody's
    expected = _averages(visits, several).select(_GROUP, *_COLUMNS)
    released = case.rows.select(_COLUMNS)
    key = [name for name in expected.columns if name != _GROUP]
    kinds = expected.group_by(key).agg(_GROUP).with_row_index(_KIND)
    of_group = kinds.select(_KIND, _GROUP).explode(_GROUP)
    behind = visits.select(_GROUP, _OWNER).join(of_group, on=_GROUP).group_by(_KIND)
    counted = behind.agg(pl.col(_OWNER).n_unique().alias(VISITORS), pl.len().alias(COPIES))
    should = kinds.drop(_GROUP).join(counted, on=_KIND)
    does = released.group_by(key).len("released").collect(engine="streaming")
    both = should.join(does, on=key, how="full", nulls_equal=True)
    off = pl.col(COPIES).fill_null(0).cast(pl.Int64) - pl.col("released").fill_null(0).cast(pl.Int64)
    return RecordRecount(
        kinds=should.select(VISITORS, COPIES),
        unlike=strange + int(both.select(off.abs().sum()).item()),
        released=int(does["released"].sum()),
    )


# --- averages -------------------------------------------------------------------------------------


def _averages(visits: pl.DataFrame, several: bool) -> pl.DataFrame:
    """The record of each group, with the columns of a release."""
    cut = [pl.col(name).str.replace(r"(?s)[?#].*$", "") for name in (_PATH, _REFERRER)]
    visits = _with_agents(visits.with_columns(*cut, pl.col(_TIME).dt.epoch("s")))
    texts = visits.group_by(_GROUP).agg(
        pl.col(_PATH, _REFERRER).unique(),
        pl.col(_TIME).sum() // pl.col(_TIME).count(),
        pl.col(_SIZE).sum() // pl.col(_SIZE).count(),
    )
    result = texts.with_columns(
        pl.Series(_PATH, map(_common_path, texts[_PATH].to_list()), dtype=pl.String),
        pl.Series(_REFERRER, map(_common_referrer, texts[_REFERRER].to_list()), dtype=pl.String),
        pl.from_epoch(_TIME, "s").cast(VISITS.schema[_TIME]),
        *(pl.lit(None, VISITS.schema[name]).alias(name) for name in VISITS.never_given),
    )
    for column in (_METHOD, _STATUS, *_AGENT_PARTS):
        told = visits.select(_GROUP, column, _OWNER)
        had = told.group_by(_GROUP, column).agg(pl.len().alias("n"), pl.col(_OWNER).n_unique().alias("of"))
        ranked = had.sort(_GROUP, -pl.col("n").cast(pl.Int64), column, nulls_last=False)
        first = ranked.group_by(_GROUP, maintain_order=True).first()
        enough = pl.col("of") >= (2 if several else 1)
        result = result.join(first.select(_GROUP, pl.when(enough).then(column).alias(column)), on=_GROUP)
    agents = [_agent(parts) for parts in result.select(_AGENT_PARTS).iter_rows()]
    return result.with_columns(pl.Series(_AGENT, agents, dtype=pl.String)).drop(_AGENT_PARTS)


def _with_agents(visits: pl.DataFrame) -> pl.DataFrame:
    """Visits with the parts of their agents, each agent read once; nothing where there is none."""
    agents = visits.select(_AGENT).drop_nulls().unique()
    parts = [browser_and_system(agent) for agent in agents[_AGENT]]
    table = agents.hstack(pl.DataFrame(parts, schema=dict.fromkeys(_AGENT_PARTS, pl.String), orient="row"))
    return visits.join(table, on=_AGENT, how="left", maintain_order="left")


def _labels(name: str) -> list[str]:
    """The labels of a host from the right; an address is one label, and no host has none."""
    if all(letter in "0123456789." for letter in name):
        return [name] if name else []
    return list(reversed(name.rsplit(".", _MOST_LABELS - 1)))


def _shared(lists: Iterable[Sequence[str]]) -> list[str]:
    """The first parts that all lists have."""
    return [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*lists, strict=False))]


def _common_path(paths: Sequence[str]) -> str:
    if len(paths) == 1:
        return paths[0]
    return "/".join([*_shared(path.split("/") for path in paths), "*"])


def _common_referrer(referrers: Sequence[str | None]) -> str | None:
    """Host and path that all have in common; nothing where one has none, or where that would be anything."""
    given = [referrer for referrer in referrers if referrer is not None]
    if len(given) < len(referrers):
        return None
    parts = [_host_and_path(referrer) for referrer in given]
    hosts, paths = {name for name, _ in parts}, {path for _, path in parts}
    path = _common_path(list(paths))
    if len(hosts) == 1:
        return hosts.pop() + path
    labels = _shared(map(_labels, hosts))
    if not labels and path in ("", "/", "/*", "*"):
        return None
    return ".".join(["*", *labels[::-1]]) + path


@lru_cache(maxsize=100_000)
def _host_and_path(referrer: str) -> tuple[str, str]:
    rest = referrer.split("//", 1)[-1]
    return host(referrer) or "", rest[rest.index("/") :] if "/" in rest else ""


def _agent(parts: Sequence[str | None]) -> str | None:
    browser, version, system, system_version = parts
    words = []
    if browser is not None:
        words.append(browser if version in (None, UNKNOWN) else f"{browser}/{version}")
    if system is not None:
        words.append(f"({system})" if system_version in (None, UNKNOWN) else f"({system} {system_version})")
    return " ".join(words) or None
