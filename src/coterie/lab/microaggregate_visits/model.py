"""Records of an access log as arrays for the kernel `visit_records` (paper 004).

A record is a visit. Distinct paths, referrers, agents and addresses are numbered once for the whole log. `clusters`
cuts the records, sorted by path, path of the referrer and time, into blocks, and numbers what is in a block anew, so
that its tables are small. Records are sorted by all that is in them, so that the order of rows never changes an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.algorithms.kernels._arrays import Lists, taken
from coterie.core.arrays import Ints, Short, offsets
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.core.threads import DoneSoFar, in_threads
from coterie.lab.microaggregate_visits import kernels as kernel
from coterie.lab.microaggregate_visits.kernels import Addresses, RecordTables
from coterie.steps.sessions import Sessions
from coterie.text.agents import VISITOR_PARTS, parse_agents
from coterie.text.hosts import IPV4, bits_of, first_address, host_and_path, host_labels, segments, without_query

ROW, GROUP, SESSION = "row", "group", "session"
ADDRESS, REFERRER, AGENT = VISITS.identifying
METHOD, STATUS, SIZE = VISITS.details
_PAGE, _LED_FROM, _RECORD = "_page", "_led_from", "_record"
_PARTS_OF_UNIT = 4  # weights are counted in quarters: people give halves, and referrers have two halves


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Records:
    """All records of a log, sorted, and what the numbers in them stand for."""

    columns: Short
    tables: RecordTables
    rows: pl.DataFrame
    """_record, row: the rows of the log that each record stands for."""
    nobodys: int
    """Rows of the log without a visitor, which are in no record."""

    def __len__(self) -> int:
        return len(self.columns)


def encode(log: Log, *, sessionid: bool) -> Records:
    """The records of a log. With `sessionid` each has the number of its session."""
    subject = log.shape.subject
    log = with_sessions(log) if sessionid else log
    cut = without_query(pl.col(log.shape.item)).alias(_PAGE), without_query(pl.col(REFERRER)).alias(_LED_FROM)
    given = [name for name in VISITS.released if name not in (VISITS.item, REFERRER)]
    session_of = pl.col(SESSION) if sessionid else pl.lit(0).alias(SESSION)
    kept = log.frame.drop_nulls(subject).select(ROW, *given, session_of, *cut).collect(engine="streaming")
    kept = kept.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias(_RECORD))
    nobodys = log.frame.select(pl.col(subject).null_count()).collect(engine="streaming").item()
    rows = kept.select(_RECORD, ROW)
    distinct = {name: _Distinct.of(kept[name]) for name in (_PAGE, _LED_FROM, AGENT, ADDRESS, METHOD, STATUS, subject)}
    paths = _Listed.of([segments(path) for path in distinct[_PAGE].values])
    led_from = [("", "") if text is None else host_and_path(text) for text in distinct[_LED_FROM].values]
    led_paths = _Listed.of([segments(path) for _, path in led_from])
    names = {text: host_labels(first_address(text)) for text in distinct[ADDRESS].values if text and not bits_of(text)}
    hosts = _Listed.of([*(host_labels(host) if host else [] for host, _ in led_from), *names.values()])
    referrer = np.stack([hosts.number[: len(led_from)], led_paths.number], axis=1)
    referrer[distinct[_LED_FROM].values.is_null().to_numpy()] = -1
    host_of_name = dict(zip(names, hosts.number[len(led_from) :].tolist(), strict=True))
    addresses, address = _addresses(distinct[ADDRESS].values, host_of_name)
    parts = parse_agents(distinct[AGENT].values)
    agents, agent = _distinct_rows(np.stack([_Distinct.of(parts[name]).number for name in VISITOR_PARTS], axis=1))
    answers, answer = _distinct_rows(np.stack([distinct[METHOD].number, distinct[STATUS].number], axis=1))
    columns = np.zeros((kept.height, kernel.VISITOR + 1), dtype=np.int32)
    columns[:, kernel.PATH] = paths.number[distinct[_PAGE].number]
    columns[:, kernel.REFERRER] = distinct[_LED_FROM].number
    columns[:, kernel.AGENT] = agent[distinct[AGENT].number]
    columns[:, kernel.ADDRESS] = address[distinct[ADDRESS].number]
    columns[:, kernel.ANSWER] = answer
    columns[:, kernel.TIME] = scaled(kept[VISITS.time].dt.epoch("s"))
    columns[:, kernel.SIZE] = scaled(log_scale(kept[SIZE]))
    columns[:, kernel.VISITOR] = distinct[subject].number
    session = _distinct_rows(np.stack([distinct[subject].number, _Distinct.of(kept[SESSION]).number], axis=1))[1]
    columns[:, kernel.SESSION] = session if sessionid else 0
    order = np.lexsort((
        session, *columns[:, [kernel.ADDRESS, kernel.AGENT, kernel.ANSWER, kernel.REFERRER]].T, _as_ints(kept[SIZE]),
        _as_ints(kept[VISITS.time]), led_paths.number[distinct[_LED_FROM].number], columns[:, kernel.PATH],
    ))  # fmt: skip
    place = np.empty(kept.height, dtype=np.uint32)
    place[order] = np.arange(kept.height, dtype=np.uint32)
    return Records(
        columns=columns[order],
        tables=RecordTables(paths.table, hosts.table, led_paths.table, referrer, agents, answers, addresses),
        rows=rows.with_columns(pl.Series(_RECORD, place[rows[_RECORD].to_numpy()])),
        nobodys=nobodys,
    )


def with_sessions(log: Log) -> Log:
    """The log with numbers of sessions: its own, or new ones."""
    return log if SESSION in log.frame.collect_schema() else Sessions()(log)


# --- numbers in place of values -------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class _Distinct:
    """The distinct values of a column, sorted (null first), and the number of each row's value among them."""

    values: pl.Series
    number: Ints

    @classmethod
    def of(cls, column: pl.Series) -> _Distinct:
        place = column.rank("dense").cast(pl.Int64).fill_null(0) - (column.null_count() == 0)
        return cls(column.unique().sort(), place.to_numpy())


@dataclass(frozen=True, eq=False, repr=False)
class _Listed:
    """Distinct lists of texts as numbers, sorted, and the place of each given list among them."""

    table: Lists
    number: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]]) -> _Listed:
        keys = [tuple(each) for each in lists]
        distinct = sorted(set(keys))
        part = {text: number for number, text in enumerate(sorted(set(chain.from_iterable(distinct))))}
        place = {key: number for number, key in enumerate(distinct)}
        parts = np.array([part[text] for key in distinct for text in key], dtype=np.int64)
        start = offsets(np.array([len(key) for key in distinct], dtype=np.int64))
        return cls(Lists(start, parts), np.array([place[key] for key in keys], dtype=np.int64))


def _distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of numbers, sorted, and the place of each row among them."""
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        key = np.unique(key * (column.max() + 1) + column, return_inverse=True)[1].reshape(-1)
    first = np.unique(key, return_index=True)[1]
    return rows[first], key


def _addresses(values: pl.Series, host_of_name: Mapping[str, int]) -> tuple[Addresses, Ints]:
    """Addresses sorted by kind, then by bits or labels; and the place of each value among them."""
    keys = [_kind_and_bits(text, host_of_name) for text in values]
    distinct = sorted(set(keys))
    place = {key: number for number, key in enumerate(distinct)}
    low = (1 << 64) - 1
    table = Addresses(
        kind=np.array([kind for kind, _, _ in distinct], dtype=np.int64),
        high=np.array([bits >> 64 for _, bits, _ in distinct], dtype=np.uint64),
        low=np.array([bits & low for _, bits, _ in distinct], dtype=np.uint64),
        host=np.array([host for _, _, host in distinct], dtype=np.int64),
    )
    return table, np.array([place[key] for key in keys], dtype=np.int64)


def _kind_and_bits(text: str | None, host_of_name: Mapping[str, int]) -> tuple[int, int, int]:
    """Kind, 128 bits and host of an address."""
    if not text:
        return kernel.NOTHING, 0, 0
    kind_and_bits = bits_of(text)
    if kind_and_bits is None:
        return kernel.NAME, 0, host_of_name[text]
    length, bits = kind_and_bits
    return (kernel.IPV4 if length == IPV4 else kernel.IPV6), bits << (128 - length), 0


def _as_ints(column: pl.Series) -> Ints:
    return column.to_physical().cast(pl.Int64).fill_null(-(2**62)).to_numpy()


def log_scale(sizes: pl.Series) -> pl.Series:
    """log2(1 + size) in parts of UNIT, straight between powers of two, so that it is a whole number everywhere."""
    one_more = pl.col("size").cast(pl.Int64).clip(0, 2**62) + 1
    power = 63 - one_more.bitwise_leading_zeros().cast(pl.Int64)
    two, bits = pl.lit(2, pl.Int64), kernel.UNIT.bit_length() - 1
    # one_more / 2^power, from 1 to below 2, in parts of UNIT
    shifted = one_more * two.pow((bits - power).clip(0)) // two.pow((power - bits).clip(0))
    return sizes.alias("size").to_frame().select((power - 1) * kernel.UNIT + shifted).to_series()


def scaled(numbers: pl.Series) -> Ints:
    """Numbers as parts of UNIT between the smallest and the largest."""
    low, high = numbers.min(), numbers.max()
    width = 1 if low is None or low == high else high - low  # type: ignore[operator]
    return ((numbers - (low or 0)) * kernel.UNIT // width).fill_null(kernel.MISSING).cast(pl.Int64).to_numpy()


# --- groups ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Clusters:
    """Which rows are grouped, and what became of records that found no partners."""

    table: pl.LazyFrame
    """row, group; rows that are in no group are not there."""
    joined: int
    """Records that joined a group of others."""
    left_out: int
    """Records that are in no group."""


def clusters(
    records: Records, k: int, weights: Sequence[float], run: Run, *, block: int, visitors: bool, join: bool
) -> Clusters:
    """Groups of similar records, made within blocks of up to `block` records, and at least 2k; 0: no blocks.

    `weights` are those of request, referrer, agent, address, time, the rest and sessions, in halves. `visitors`: a
    group has k of them; `join`: what finds none joins the nearest group.
    """
    n = len(records)
    parts = -(-n // max(block, 2 * k)) if block else 1
    bounds = [n * i // parts for i in range(parts + 1)]
    quarters = np.array([round(_PARTS_OF_UNIT * weight) for weight in weights], dtype=np.int64)
    done = DoneSoFar(max(n, 1), run.tell)

    def grouped(part: tuple[int, int]) -> Ints:
        columns, sizes, tables = _local(records.columns[part[0] : part[1]], records.tables)
        group: Ints = kernel.partition(k, visitors, join, columns, sizes, quarters, tables)
        done.add(len(columns))
        return group

    groups = in_threads(grouped, list(pairwise(bounds)))
    start = offsets(np.array([group.max(initial=-1) + 1 for group in groups]))
    numbers = np.concatenate(
        [np.where(group < 0, -1, group + first) for group, first in zip(groups, start, strict=False)]
    )
    left_out = int((numbers < 0).sum())
    table = records.rows.with_columns(pl.Series(GROUP, numbers[records.rows[_RECORD].to_numpy()]))
    table = table.filter(pl.col(GROUP) >= 0).select(ROW, pl.col(GROUP).cast(pl.UInt32)).sort(ROW)
    joined = n - left_out - k * int(start[-1]) if visitors else 0
    return Clusters(table=table.lazy(), joined=joined, left_out=left_out)


def _local(columns: Short, tables: RecordTables) -> tuple[Short, Ints, RecordTables]:
    """Records of a block with numbers of their own, the sizes of what is counted, and tables of what they have."""
    columns = columns.copy()

    def renumber(column: int) -> Ints:
        distinct, columns[:, column] = _unique(columns[:, column])
        return distinct

    paths, led_from, agents = renumber(kernel.PATH), renumber(kernel.REFERRER), renumber(kernel.AGENT)
    address, answers = renumber(kernel.ADDRESS), renumber(kernel.ANSWER)
    sessions, people = renumber(kernel.SESSION), renumber(kernel.VISITOR)
    referrer = tables.referrer[led_from].copy()
    given = referrer[:, 0] >= 0
    own = tables.addresses
    addresses = Addresses(own.kind[address], own.high[address], own.low[address], own.host[address])
    named = addresses.kind == kernel.NAME
    hosts, host = _unique(np.concatenate([referrer[given, 0], addresses.host[named]]))
    led_paths, led_path = _unique(referrer[given, 1])
    referrer[given, 0], referrer[given, 1] = host[: given.sum()], led_path
    addresses.host[named] = host[given.sum() :]
    agent = np.stack([_unique(column)[1] for column in tables.agent[agents].T], axis=1)
    answer = np.stack([_unique(column)[1] for column in tables.answer[answers].T], axis=1)
    local = RecordTables(
        paths=_taken(tables.paths, paths),
        hosts=_taken(tables.hosts, hosts),
        referrer_paths=_taken(tables.referrer_paths, led_paths),
        referrer=referrer,
        agent=np.ascontiguousarray(agent),
        answer=np.ascontiguousarray(answer),
        addresses=addresses,
    )
    sizes = [agent.max(initial=0) + 1, answer.max(initial=0) + 1, len(sessions), len(people)]
    return columns, np.array(sizes, dtype=np.int64), local


def _unique(values: NDArray[np.integer]) -> tuple[Ints, Ints]:
    distinct, number = np.unique(values, return_inverse=True)
    return distinct.astype(np.int64), number.reshape(-1).astype(np.int64)


def _taken(table: Lists, places: Ints) -> Lists:
    """Some of the lists of a table."""
    start, at = taken(table.start, places)
    return Lists(start, table.items[at])
