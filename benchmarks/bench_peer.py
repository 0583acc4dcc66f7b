"""What a peer costs: processor time of a query over all peers it passes, and memory beside the filter alone.

Each peer is a process of its own; a search engine on the loopback address, which is not counted, answers at once. Run
with `make bench`, or:

    python benchmarks/bench_peer.py --queries 1000
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.helpers.peers import Engine, a_home, befriend, free_ports, processes, search, status

TICKS = os.sysconf("SC_CLK_TCK")
ONLY_THE_FILTER = "import coterie.steps.scrub, sys; print('ready', flush=True); sys.stdin.read()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000, help="in each run")
    queries = parser.parse_args().queries
    filter_alone = _filter_alone()
    print("| run | answered | from one's own address | processor time a query, all peers | memory above the filter |")
    print("|---|---:|---:|---:|---:|")
    runs = (("alone", 1, 0, 1), ("10 peers, 4 friends each, one query at a time", 10, 4, 1),
            ("20 peers, 10 friends each, 20 queries at once", 20, 10, 20))  # fmt: skip
    for name, peers, degree, at_once in runs:
        good, own, seconds, memory = _run(peers, degree, at_once, queries)
        print(
            f"| {name} | {good:,} of {queries:,} | {100 * own / queries:.1f} % | {1000 * seconds / queries:.1f} ms "
            f"| {memory - filter_alone:.0f} MB |",
            flush=True,
        )
    print(f"\nA process that has only imported the filter: {filter_alone:.0f} MB")


def _run(peers: int, degree: int, at_once: int, queries: int) -> tuple[int, int, float, float]:
    """Queries answered, those that one's own address asked, processor seconds of all peers, and the largest memory."""
    with tempfile.TemporaryDirectory() as folder, Engine() as engine:
        ports = free_ports(peers)
        homes = {f"p{n}": a_home(Path(folder) / f"p{n}", engine.url(f"p{n}"), port) for n, port in enumerate(ports)}
        befriend(
            homes, [(f"p{n}", f"p{(n + step) % peers}") for n in range(peers) for step in range(1, degree // 2 + 1)]
        )
        more = ("--rate", "100000", "--credit", "100000")
        with processes({name: (home, more) for name, home in homes.items()}) as started:
            for _, address in started.values():
                while len(status(address)["friends"]) < degree:
                    time.sleep(0.1)
            numbers = [process.pid for process, _ in started.values()]
            before = sum(map(_seconds, numbers))

            def ask(number: int) -> bool:
                name = f"p{number % peers}"
                return search(started[name][1], f"red tea by {name} {number}").status == 200

            with ThreadPoolExecutor(at_once) as pool:
                good = sum(pool.map(ask, range(queries)))
            seconds = sum(map(_seconds, numbers)) - before
            memory = max(map(_megabytes, numbers))
    own = sum(query.split()[3] == who for who, query in engine.log)
    return good, own, seconds, memory


def _filter_alone() -> float:
    command = [sys.executable, "-c", ONLY_THE_FILTER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = _megabytes(process.pid)
        process.terminate()
    return found


def _seconds(number: int) -> float:
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _megabytes(number: int) -> float:
    found = re.search(r"VmRSS:\s+([0-9]+)", Path(f"/proc/{number}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    main()
