"""CPU seconds and memory of a release on one machine and on a Spark cluster of two workers, on the same file.

Wall-clock times say little on shared machines; ratios of CPU seconds do. The cluster is a real one, on loopback: a
master and two workers of one processor and 1 GB of heap, which this program starts and stops.

A session costs much before it does anything: Java starts, loads and compiles its code, and Python its packages. So the
smallest log comes first (`--cold` users), and a second ratio is that of what a log costs beyond it, on both sides. A
cluster that is used by session after session pays this once for each.

    make bench-spark
    .venv/bin/python benchmarks/bench_spark.py --users 55000 --conf spark.io.encryption.enabled=false
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
Costs = tuple[float, float]
"""CPU seconds here, and of executors."""
KINDS = ("driver JVM", "driver Python", "executors JVM", "executors Python")


def _release(method: str, log: str, target: str, engine: str | None, workers: list[int]) -> dict[str, object]:
    """Anonymize in a process of its own; CPU seconds of that process, and of executors of the `workers`."""
    command = ["anonymize", method, log, "-o", target, "--seed", "5", "--quiet", "--history", "none"]
    command += ["--engine", engine] if engine else []
    code = "import sys; from coterie.cli.main import main; sys.exit(main())"
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, *command], stderr=subprocess.DEVNULL)
    watch = Watch(process.pid, workers)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watch.stop()
    assert process.returncode == 0, f"{method} failed"
    return {"own": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024, **watch.found()}


class Watch:
    """CPU seconds and peak memory of a driver and of the executors of some workers, looked at ten times a second.

    Other clusters may run on the same machine.
    """

    def __init__(self, driver: int, workers: list[int]) -> None:
        self.driver, self.workers, self.cpu, self.memory, self.going = driver, set(workers), {}, {}, True
        self.thread = threading.Thread(target=self._look)
        self.thread.start()

    def stop(self) -> None:
        self.going = False
        self.thread.join()

    def found(self) -> dict[str, tuple[float, float]]:
        """Sum of CPU seconds and largest resident memory in MB, by kind of process."""
        return {
            kind: (
                sum(cpu for (k, _), cpu in self.cpu.items() if k == kind),
                max((mb for (k, _), mb in self.memory.items() if k == kind), default=0.0),
            )
            for kind in KINDS
        }

    def _look(self) -> None:
        while self.going:
            parents, lines, used = {}, {}, {}
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    used[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
                    lines[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace")
                except OSError:
                    continue
                parents[int(folder.name)] = int(used[int(folder.name)][1])
            for pid in parents:
                kind, fields = self._kind(pid, parents, lines), used[pid]
                if kind:
                    key = (kind, pid)
                    self.cpu[key] = (int(fields[11]) + int(fields[12])) / TICKS
                    self.memory[key] = max(self.memory.get(key, 0.0), int(fields[21]) * PAGE / 2**20)
            time.sleep(0.1)

    def _kind(self, pid: int, parents: dict[int, int], lines: dict[int, str]) -> str:
        if pid == self.driver:
            return "driver Python"
        line, above = lines[pid], []
        while pid in parents and len(above) < 20:
            pid = parents[pid]
            above.append(pid)
        if self.workers & set(above):
            if "CoarseGrainedExecutorBackend" in line:
                return "executors JVM"
            if "pyspark" in line and any("CoarseGrainedExecutorBackend" in lines.get(each, "") for each in above):
                return "executors Python"
        return "driver JVM" if "SparkSubmit" in line and self.driver in above else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", default="55000", help="sizes of the synthetic log, with commas between them")
    parser.add_argument("--methods", default="suppress_rare", help="methods, with commas between them")
    parser.add_argument("--cold", type=int, default=100, help="users of the log that shows what a session costs")
    parser.add_argument("--workers", type=int, default=2, help="workers of the cluster, and executors")
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark, NAME=VALUE; may be repeated")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests.spark.cluster import Cluster

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = "--conf spark.driver.host=127.0.0.1 --conf spark.executor.memory=1g --conf spark.ui.enabled=false"
    settings = " ".join([settings, *(f"--conf {shlex.quote(setting)}" for setting in options.conf)])
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory 512m {settings} pyspark-shell"
    columns = (
        "method", "users", "rows", "local CPU s", "executors CPU s (JVM + Python)", "ratio", "ratio beyond a session",
        "driver CPU s (JVM + Python)", "driver MB (JVM + Python)", "a task's Python MB", "equal",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|---|{'---:|' * 9}---|")
    cold: dict[str, Costs] = {}
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder) / "cluster", options.workers) as cluster:
        for users in [str(options.cold), *options.users.split(",")]:
            log = Path(folder) / f"log-{users}.tsv"
            subprocess.run(
                [sys.executable, "-m", "coterie", "synth", "-o", log, "--users", users, "--seed", "7"], check=True
            )
            rows = sum(1 for _ in log.open("rb")) - 1
            for method in options.methods.split(","):
                print(_line(method, int(users), rows, str(log), folder, cluster, cold), flush=True)


def _line(
    method: str, users: int, rows: int, log: str, folder: str, cluster: Any, cold: dict[str, Costs]
) -> str:  # fmt: skip
    """One line of the table; the first of a method is what a session costs."""
    targets = [f"{folder}/{method}-{users}-{where}.tsv" for where in ("here", "there")]
    workers = [process.pid for process in cluster.processes[1:]]
    here, there = (
        _release(method, log, target, engine, workers)
        for target, engine in zip(targets, (None, cluster.address), strict=True)
    )
    digests = {hashlib.sha256(Path(target).read_bytes()).hexdigest() for target in targets}
    (jvm, _), (python, task) = there["executors JVM"], there["executors Python"]
    (driver_jvm, driver_jvm_mb), (driver, driver_mb) = there["driver JVM"], there["driver Python"]
    costs = here["own"], jvm + python
    ratio, beyond = costs[1] / costs[0], ""
    if method in cold:
        beyond = f"{(costs[1] - cold[method][1]) / (costs[0] - cold[method][0]):.1f}"
    cold.setdefault(method, costs)
    print(json.dumps({"method": method, "users": users, "here": here, "there": there}), file=sys.stderr)
    return (
        f"| `{method}` | {users:,} | {rows:,} | {here['own']:.1f} | {jvm:.1f} + {python:.1f} | {ratio:.1f} | "
        f"{beyond} | {driver_jvm:.1f} + {driver:.1f} | {driver_jvm_mb:.0f} + {driver_mb:.0f} | {task:.0f} | "
        f"{'yes' if len(digests) == 1 else 'NO'} |"
    )


if __name__ == "__main__":
    main()
