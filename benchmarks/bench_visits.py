"""Access logs: writing a synthetic one, reading it, its prepare steps, and methods.

    python benchmarks/bench_visits.py [--users 80000] [--work DIR]

80,000 visitors have a million lines. Each job runs in a process of its own, so that its peak memory is its own, and is
judged by processor time of all threads. Reading is compared with a regular expression in bare polars and in plain
Python, and so is reading as a search log; steps (and all rows after them) with reading. A job is a function below and a
line in JOBS.

`generalize_visits`, `count_visits` and `common_visits` decide and release from rows in memory, beside the least that
bare polars has to do for that, to count the visitors of each whole row; judging is a line of its own. Their plain
versions (tests/helpers) run on the first rows, must release the same, and are compared row by row.

`microaggregate_visits` is learnt and planned, and then made and judged as a release. Its plain version groups the first
records, and must group them alike; its time for as many as the kernel groups is extrapolated by the square of their
numbers.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SEED = 7
K = 5
PLAIN_RECORDS = 420  # of the plain version of microaggregate_visits
PLAIN_ROWS = 20_000  # of the plain versions of methods that count
STEPS = ("strip_query", "drop_bots", "drop_assets", "visitors", "sessions",
         "default,drop_bots,drop_assets,visitors,sessions")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=80_000, help="visitors of the log")
    parser.add_argument("--work", type=Path, help="folder for large files (default: a temporary one)")
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        name, _, setting = given.job.partition(" ")
        found = JOBS[name](given, setting) if setting else JOBS[name](given)
        print(json.dumps({**found, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
        return
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        given.log = Path(folder) / "access.log"
        print("| job | rows | processor time | rows a second | ratio | peak memory |\n|---|---:|---:|---:|---:|---:|")
        show("synth --kind visits", run("synth", given))
        bare = show("bare polars: one regular expression", run("bare", given))
        plain = show("plain Python: one regular expression", run("plain", given), bare)
        reading = show("coterie.read", run("read", given), bare)
        pace, times = reading["rows"] / reading["wall"], plain["cpu"] / reading["cpu"]
        print(f"(by the clock {pace:,.0f} rows a second; plain Python takes {times:.1f} times as much processor time)")
        show("coterie.read, query_param = q,referrer", run("read q,referrer", given), bare)
        for steps in STEPS:
            show(f"prepare: {steps}", run(f"prepare {steps}", given), reading)
        crowds = show("bare polars: visitors of each row", run("crowds", given))
        for name in ("generalize_visits", "count_visits", "common_visits"):
            found = run(f"counting {name}", given)
            show(f"{name}, k = {K}", found, crowds)
            show(f"its judge: {name}", {**found, "cpu": found["judge"]}, crowds)
            plain = show(f"plain Python: {name}", run(f"plainly {name}", given))
            times = plain["cpu"] / plain["rows"] / (found["cpu"] / found["rows"])
            print(f"(plain Python takes {times:.0f} times as much for a row)")
        show_records(given)


def run(name: str, given: argparse.Namespace) -> dict:
    arguments = [sys.executable, __file__, "--job", name, "--users", str(given.users), "--log", str(given.log)]
    return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)


def show(name: str, found: dict, base: dict | None = None) -> dict:
    """Print a line of the table."""
    ratio = f"{found['cpu'] / base['cpu']:.2f}" if base else ""
    pace = found["rows"] / found["cpu"]
    print(
        f"| {name} | {found['rows']:,} | {found['cpu']:.2f} s | {pace:,.0f} | {ratio} | {found['peak']:.0f} MiB |",
        flush=True,
    )
    return found


def show_records(given: argparse.Namespace) -> None:
    """Groups of 15,000 records beside the plain version, then of all records in blocks, and a whole release."""
    plain = show("plain Python: microaggregate_visits, k = 3", run("plain_records", given))
    whole = show("microaggregate_visits, one block, k = 3", run("records 15000 0 3", given))
    seconds = plain["cpu"] * (whole["rows"] / plain["rows"]) ** 2
    print(f"(plain Python, extrapolated: {seconds:,.0f} s, {seconds / whole['cpu']:,.0f} times as much)")
    blocks = show(f"microaggregate_visits, blocks of 5,000, k = {K}", run(f"records 0 5000 {K}", given))
    show("the same as a checked release", run("release_records", given), blocks)


def in_memory(given: argparse.Namespace, rows: int | None = None):
    """The log, or its first rows, prepared."""
    from dataclasses import replace

    import coterie

    log = coterie.prepare(coterie.read(given.log))
    frame = log.frame.sort("row").collect(engine="streaming")
    return replace(log, frame=frame.head(rows or frame.height).lazy())


def crowds(given: argparse.Namespace) -> dict:
    """How many visitors each whole row has, with the time cut to the hour and nothing read from texts."""
    import polars as pl

    log = in_memory(given)
    start = time.process_time()
    key = ["path", "referrer", "agent", pl.col("time").dt.truncate("1h")]
    log.frame.group_by(key).agg(pl.col("user").n_unique()).collect(engine="streaming")
    rows = log.frame.select(pl.len()).collect().item()
    return {"rows": rows, "cpu": time.process_time() - start}


def counting(given: argparse.Namespace, name: str) -> dict:
    """Deciding and releasing, and then judging."""
    import coterie
    from coterie.core import registry

    log, method = in_memory(given), registry.method(name)(k=K)
    coterie.anonymize(in_memory(given, 500), method, seed=SEED, prepare=())  # loads what is loaded once
    since = {}

    def tell(step: str, share: float | None = None) -> None:  # noqa: ARG001
        since.setdefault(step, time.process_time())

    start = time.process_time()
    coterie.anonymize(log, method, seed=SEED, prepare=(), record=False, progress=tell)
    rows = next(step.counts["lines"] for step in log.history if step.name == "read")
    return {"rows": rows, "cpu": since["verify"] - start, "judge": time.process_time() - since["verify"]}


def plainly(given: argparse.Namespace, name: str) -> dict:
    """The plain version on the first rows, which must release the same."""
    import polars as pl

    import coterie
    from coterie.algorithms.pages import browsers, hosts
    from coterie.core import registry

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.helpers import sequence_reference, visit_counts_reference, visits_reference

    log = in_memory(given, PLAIN_ROWS)
    method = registry.method(name)(k=K)
    released = coterie.anonymize(log, method, seed=SEED, prepare=()).to_polars()
    read = log.frame.join(hosts(log), on="referrer", how="left").join(browsers(log), on="agent", how="left")
    rows = read.sort("row").select("user", "time", "path", "host", "browser").collect().rows()
    start = time.process_time()
    if name == "count_visits":
        told = visit_counts_reference.released(rows, K, method.tables.split(","))
        same = told == released.select("table", "item", "detail", "count").rows()
    elif name == "common_visits":
        told = sequence_reference.common_visits([row[:3] for row in rows], K)
        walks = released.sort("sequence", "position").group_by("sequence").agg("path", pl.col("time").first())
        same = Counter((kind, day) for _, kind, day in told.elements()) == Counter(
            (tuple(path), None if day is None else day.date()) for path, day in walks["path", "time"].rows()
        )
    else:
        told = visits_reference.generalize([_with_times(row) for row in rows], K, {5: 4})
        expected = sorted(tuple(map(str, (*row[:3], row[3] or row[4]))) for row in told if row is not None)
        same = expected == sorted(
            tuple(map(str, row)) for row in released.select("path", "referrer", "agent", "time").rows()
        )
    cpu = time.process_time() - start
    if not same:
        sys.exit(f"The plain version of {name} releases something else.")
    return {"rows": len(rows), "cpu": cpu}


def _with_times(row: tuple) -> tuple:
    """visitor, path, host, browser, hour, day; the hour after midnight is told by its day."""
    visitor, when, path, host, browser = row
    hour = when.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return visitor, path, host, browser, None if hour == day else hour, day


def synth(given: argparse.Namespace) -> dict:
    from coterie import synth

    start = time.process_time()
    rows = synth.write(given.log, given.users, SEED, "visits")
    return {"rows": rows, "cpu": time.process_time() - start}


def bare(given: argparse.Namespace) -> dict:
    """The fields of lines as text: no checks, no line numbers, no types but the time's."""
    import polars as pl

    pattern = r'^(\S+) \S+ (.*?) \[([^\]]+)\] "(\S+) ?(.*?)(?: HTTP/[0-9.]+)?" ([0-9]{3}) (\S+) "(.*?)" "(.*?)"$'
    start = time.process_time()
    lines = pl.scan_csv(given.log, has_header=False, separator="\x01", quote_char=None, new_columns=["line"])
    fields = lines.select(pl.col("line").str.extract_groups(pattern)).unnest("line")
    time_of = pl.col("3").str.to_datetime("%d/%b/%Y:%H:%M:%S %z", time_unit="us")
    rows = fields.with_columns(time_of).collect(engine="streaming").height
    return {"rows": rows, "cpu": time.process_time() - start}


def plain(given: argparse.Namespace) -> dict:
    """The same fields in a loop over lines, as a script would read them; rows are lists of texts and a time."""
    import re
    from datetime import datetime

    fits = re.compile(
        r'(\S+) \S+ (.*?) \[([^\]]+)\] "(\S+) ?(.*?)(?: HTTP/[0-9.]+)?" ([0-9]{3}) (\S+) "(.*?)" "(.*?)"$'
    ).match
    start = time.process_time()
    rows = []
    with given.log.open(encoding="utf-8") as lines:
        for line in lines:
            if found := fits(line):
                when = datetime.strptime(found[3], "%d/%b/%Y:%H:%M:%S %z")
                rows.append([*found.groups(), when])
    return {"rows": len(rows), "cpu": time.process_time() - start}


def read(given: argparse.Namespace, query_param: str | None = None) -> dict:
    import coterie

    read_log = coterie.read  # which loads the library
    start, clock = time.process_time(), time.perf_counter()
    log = read_log(given.log, query_param=query_param)
    rows = log.history[0].counts["lines"]
    return {"rows": rows, "cpu": time.process_time() - start, "wall": time.perf_counter() - clock}


def prepare(given: argparse.Namespace, steps: str) -> dict:
    import polars as pl

    import coterie
    from coterie.text.agents import parse_agents

    log = coterie.read(given.log)
    parse_agents(pl.Series(["curl/8.5.0"]))  # loads the rules
    start = time.process_time()
    coterie.prepare(log, steps).frame.collect(engine="streaming")
    rows = log.frame.select(pl.len()).collect(engine="streaming").item()
    return {"rows": rows, "cpu": time.process_time() - start}


def records(given: argparse.Namespace, setting: str) -> dict:
    """Learn and plan: `rows block k`; 0 rows are all, as they are read, of which columns are held that are needed."""
    from steps import a_run, planned

    import coterie
    from coterie.lab.microaggregate_visits.method import MicroaggregateVisits
    from coterie.testing import visits_log

    rows, block, k = map(int, setting.split())
    log = in_memory(given, rows) if rows else coterie.prepare(coterie.read(given.log))
    method = MicroaggregateVisits(k=k, block=block)
    planned(method, visits_log(), a_run(SEED))  # loads the kernels
    start = time.process_time()
    found = planned(method, log, a_run(SEED)).table.collect()
    return {"rows": found.height, "cpu": time.process_time() - start}


def release_records(given: argparse.Namespace) -> dict:
    import coterie
    from coterie.lab.microaggregate_visits.method import MicroaggregateVisits

    log, method = in_memory(given), MicroaggregateVisits(k=K)
    coterie.anonymize(in_memory(given, 500), method, seed=SEED, prepare=())  # loads the kernels
    start = time.process_time()
    rows = coterie.anonymize(log, method, seed=SEED, prepare=(), record=False).to_polars().height
    return {"rows": rows, "cpu": time.process_time() - start}


def plain_records(given: argparse.Namespace) -> dict:
    """The plain version on the first records, which must group them alike."""
    from steps import a_run

    from coterie.lab.microaggregate_visits.model import clusters, encode

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.helpers import random_visits
    from tests.helpers.visit_records_reference import FIELDS, WEIGHTS, mdav

    log = in_memory(given, PLAIN_RECORDS)
    encoded = encode(log, sessionid=False)
    weights = [WEIGHTS[name] for name in FIELDS]
    found = clusters(encoded, 3, weights, a_run(SEED), block=0, visitors=True, join=True)
    group_of = dict(found.table.collect().iter_rows())
    as_dicts, rows = random_visits.plain_records(log, encoded, sessionid=False)
    start = time.process_time()
    groups = mdav(as_dicts, 3, visitors=True)
    cpu = time.process_time() - start
    if groups != [group_of[row] for row in rows]:
        sys.exit("The plain version groups records otherwise.")
    return {"rows": len(rows), "cpu": cpu}


JOBS = {"synth": synth, "bare": bare, "plain": plain, "read": read, "prepare": prepare, "crowds": crowds,
        "counting": counting, "plainly": plainly, "records": records, "release_records": release_records,
        "plain_records": plain_records}  # fmt: skip

if __name__ == "__main__":
    main()
