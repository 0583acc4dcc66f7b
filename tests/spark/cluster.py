"""A real cluster on loopback: a master and two workers, as processes of their own, from the installed package."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark

from tests.helpers.ports import held_ports

HOME = Path(pyspark.__file__).parent
EXECUTOR = "CoarseGrainedExecutorBackend"


class Cluster:
    """Starts with `with`; everything that it started ends with it."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder, self.workers, self.processes = folder, workers, []
        (self.port,) = held_ports(1)
        self.address = f"spark://127.0.0.1:{self.port}"

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self._start("master", "org.apache.spark.deploy.master.Master", "--port", str(self.port), "--webui-port", "0")
        self._wait("master", "I have been elected leader")
        for number in range(self.workers):
            work = str(self.folder / f"work{number}")
            self._start(
                f"worker{number}", "org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g",
                "--webui-port", "0", "-d", work, self.address,
            )  # fmt: skip
        for number in range(self.workers):
            self._wait(f"worker{number}", "Successfully registered")
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def executors(self) -> list[int]:
        """Processes of executors: children of the workers that this cluster started."""
        workers = [process.pid for process in self.processes[1:]]
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                line = (folder / "cmdline").read_bytes()
                parent = int(re.search(r"PPid:\s*(\d+)", (folder / "status").read_text())[1])
            except (OSError, TypeError):
                continue
            if EXECUTOR.encode() in line and parent in workers:
                found.append(int(folder.name))
        return sorted(found)

    def kill_an_executor(self) -> None:
        """The oldest one, without a warning."""
        os.kill(self.executors()[0], signal.SIGKILL)

    def _start(self, name: str, *command: str) -> None:
        here = {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
        }
        with (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [HOME / "bin" / "spark-class", command[0], "--host", "127.0.0.1", *command[1:]],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **here, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable},
            )
        self.processes.append(process)

    def _wait(self, name: str, sentence: str, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while sentence not in (self.folder / f"{name}.log").read_text(errors="replace"):
            assert time.monotonic() < end, f"{name} did not start; see {self.folder}"
            time.sleep(0.2)
