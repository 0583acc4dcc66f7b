"""The gate beside a dictionary of Python and beside SQLite, on the same rows; access-log lines; memory and restart.

    python benchmarks/bench_gate.py [--rows 2000000] [--lines 500000] [--distinct 1000000]

All on one core: speeds are rows per second of CPU time, of this process and all its threads. The baselines do the
least that is exact: people of each query in a set (keyed BLAKE2 in place of texts), or rows in a table with a unique
index; they see a tenth of the rows, because they are slow. The gate does all its work: windows, days, parts, shadow.
"""

from __future__ import annotations

import os

os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import hashlib
import resource
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SEED, K = 7, 5
START = np.datetime64("2024-03-07", "us").astype(np.int64)
PEOPLE = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the columnar comparison")
    parser.add_argument("--lines", type=int, default=500_000, help="lines of the access log")
    parser.add_argument("--distinct", type=int, default=1_000_000, help="distinct queries of the memory test")
    given = parser.parse_args()
    rows = _rows(given.rows)
    _columnar(rows)
    with tempfile.TemporaryDirectory() as folder:
        _lines(Path(folder), given.lines)
        _parts(Path(folder))
        _memory(Path(folder), given.distinct)


def _rows(number: int) -> pl.DataFrame:
    """Searches of half a day: a few queries of many people, many of one."""
    draw = np.random.default_rng(SEED)
    queries = draw.zipf(1.15, number) % (number * 3 // 4)
    people = draw.integers(0, PEOPLE, number)
    times = START + np.sort(draw.integers(0, 12 * 3600 * 1_000_000, number))
    return pl.DataFrame({"user": people, "query": queries, "time": times}).select(
        pl.format("user{}", "user").alias("user"),
        pl.format("some words and {}", "query").alias("query"),
        pl.col("time").cast(pl.Datetime("us")),
    )


def _timed(work: Any, *given: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = work(*given)
    return time.process_time() - start, result


def _columnar(rows: pl.DataFrame) -> None:
    few = rows.head(rows.height // 10)
    print(f"{rows.height:,} rows, {rows['query'].n_unique():,} distinct queries; k = {K}\n")
    print("| what | rows per CPU second | ratio | rows released |\n|---|---:|---:|---:|")
    seconds, released = _timed(_dictionary, few)
    base = few.height / seconds
    print(f"| Python dictionary, BLAKE2 | {base:,.0f} | 1 x | {released:,} of {few.height:,} |", flush=True)
    seconds, again = _timed(_sqlite, few)
    speed = few.height / seconds
    assert again == released, "the baselines count alike"
    print(f"| SQLite in memory | {speed:,.0f} | {speed / base:.1f} x | {again:,} of {few.height:,} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        _gate(Path(folder) / "few", few)  # compiles
        assert _gate(Path(folder) / "again", few)[1] == released, "the gate counts like the baselines"
        seconds, counted = _gate(Path(folder) / "all", rows)
        speed = rows.height / seconds
        print(f"| **gate** with its shadow | {speed:,.0f} | {speed / base:.1f} x | {counted:,} of {rows.height:,} |")
        seconds, _ = _gate(Path(folder) / "alone", rows, shadow=0)
        speed = rows.height / seconds
        print(f"| gate without its shadow | {speed:,.0f} | {speed / base:.1f} x | |\n", flush=True)


def _dictionary(rows: pl.DataFrame) -> int:
    key = os.urandom(16)
    people: dict[bytes, set[bytes]] = {}
    count: dict[bytes, int] = {}
    for user, query in rows.select("user", "query").iter_rows():
        tag = hashlib.blake2b(query.encode(), key=key, digest_size=16).digest()
        of_query = people.setdefault(tag, set())
        if len(of_query) < K:
            of_query.add(hashlib.blake2b(tag + user.encode(), key=key, digest_size=8).digest())
        count[tag] = count.get(tag, 0) + 1
    return sum(number for tag, number in count.items() if len(people[tag]) >= K)


def _sqlite(rows: pl.DataFrame) -> int:
    key = os.urandom(16)
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("create table held (text blob, person blob, events integer, primary key (text, person)) without rowid")
    db.execute("begin")

    def tagged() -> Any:
        for user, query in rows.select("user", "query").iter_rows():
            tag = hashlib.blake2b(query.encode(), key=key, digest_size=16).digest()
            yield tag, hashlib.blake2b(tag + user.encode(), key=key, digest_size=8).digest()

    add = "insert into held values (?, ?, 1) on conflict (text, person) do update set events = events + 1"
    db.executemany(add, tagged())
    found = "select coalesce(sum(n), 0) from (select sum(events) n from held group by text having count(*) >= ?)"
    return int(db.execute(found, (K,)).fetchone()[0])


def _gate(folder: Path, rows: pl.DataFrame, shadow: int = 64) -> tuple[float, int]:
    from coterie.apps.gate import Gate

    gate = Gate(state=folder / "state", output=folder / "out", k=K, shadow=shadow)
    with gate.abandoned():
        start = time.process_time()
        for piece in rows.iter_slices(250_000):
            gate.offer_many(piece)
        gate.end_window()
        gate.commit()
        return time.process_time() - start, gate.counts.released


def _lines(folder: Path, number: int) -> None:
    """From the lines of an access log to parts."""
    from coterie.apps.gate import Rules
    from coterie.apps.gate.run import run_gate
    from coterie.reading.reading import Reading
    from coterie.steps import parse_steps

    rows = _rows(number)
    line = pl.format(
        '10.{}.0.1 - - [{} +0000] "GET /search?q={}&lang=en HTTP/1.1" 200 512 "-" "Browser/1"',
        pl.col("user"), pl.col("time").dt.strftime("%d/%b/%Y:%H:%M:%S"), pl.col("query").str.replace_all(" ", "+"),
    )  # fmt: skip
    path = folder / "access.log"
    rows.select(line.alias("line")).write_csv(path, include_header=False, quote_style="never")

    def run(name: str, **reading: Any) -> float:
        place = folder / name
        start = time.process_time()
        rules = Rules(state=place / "state", output=place / "out", k=K)
        numbers = run_gate([str(path)], rules, reading=Reading(**reading), steps=parse_steps("default"))
        assert numbers["events"] == number
        return time.process_time() - start

    print(f"{number:,} lines of an access log, {path.stat().st_size / 2**20:.0f} MiB:", flush=True)
    print(f"- pages: {number / run('pages'):,.0f} lines per CPU second")
    print(f"- searches in them (--query-param q): {number / run('searches', query_param='q'):,.0f}\n", flush=True)


def _parts(folder: Path) -> None:
    """What a part costs, however small it is."""
    hours = 48
    times = pl.select(time=(pl.lit(START) + pl.int_range(hours) * 3_600_000_000).cast(pl.Datetime("us")))
    people = pl.DataFrame({"user": [f"user{n}" for n in range(K)]})
    rows = times.join(people, how="cross").with_columns(pl.lit("a query").alias("query"))
    seconds, _ = _gate(folder / "parts", rows)
    print(f"{hours} small parts: {1000 * seconds / hours:.0f} ms of CPU time each\n", flush=True)


def _memory(folder: Path, distinct: int) -> None:
    """As many distinct queries as asked for, nearly all of one person: memory, snapshot, restart."""
    from coterie.apps.gate import Gate

    where = {"state": folder / "m" / "state", "output": folder / "m" / "out"}
    gate = Gate(k=K, **where)
    at = pl.lit(START).cast(pl.Datetime("us"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for first in range(0, distinct, 500_000):
        number = pl.int_range(first, min(first + 500_000, distinct), eager=True)
        queries = pl.select(
            pl.format("user{}", number % PEOPLE).alias("user"),
            pl.format("a query of its own {}", number).alias("query"),
        )
        gate.offer_many(queries.with_columns(at.alias("time")))
        if first == 0:
            gate.offer_many(queries.head(20_000).with_columns(pl.lit("another").alias("user"), at.alias("time")))
    status = gate.status()
    print(f"{status['held']:,} distinct queries: {status['bytes'] / status['held']:.0f} bytes each in the tables,")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak of the process {peak / 2**20:.2f} GiB ({before / 2**20:.2f} GiB before),")
    seconds, _ = _timed(gate.commit)
    size = (where["state"] / "snapshot").stat().st_size
    print(f"snapshot of {size / 2**20:.0f} MiB in {seconds:.1f} CPU s,", flush=True)
    gate.abandon()
    start = time.monotonic()
    seconds, again = _timed(lambda: Gate(k=K, **where))
    print(f"restart in {seconds:.1f} CPU s, {time.monotonic() - start:.1f} s by the clock.")
    assert again.status()["held"] == status["held"]
    again.abandon()


if __name__ == "__main__":
    main()
