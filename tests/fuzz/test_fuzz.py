"""Forty mutated files for each parser, more of them with COTERIE_FUZZ=2000; `make fuzz` tries 100,000.

Where lines are parsed one by one, 200 of them are files of their own and the others stand twenty to a file.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.mutations import mutated
from tests.fuzz.parsers import CANARIES, PARSERS

ROOT = Path(__file__).parents[2]
COUNT = int(os.environ.get("COTERIE_FUZZ", "40"))
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (thousands of folders are made and removed)
IN_MEMORY = {"TMPDIR": str(SHARED_MEMORY)} if os.access(SHARED_MEMORY, os.W_OK) else {}


@pytest.mark.parametrize("name", PARSERS)
def test_samples_are_valid(name, tmp_path):
    """Otherwise their mutations would be refused for the wrong reason."""
    parser = PARSERS[name]()
    parser.beside(tmp_path)
    for sample in parser.samples:
        (tmp_path / parser.file).write_bytes(sample)
        parser.parse(tmp_path / parser.file)


def test_mutations_are_many_and_repeatable():
    samples = [b"a\tb\n" * 10, b"c,d\n" * 10]
    made = [mutated(samples, random.Random(str(n))) for n in range(500)]
    assert made == [mutated(samples, random.Random(str(n))) for n in range(500)]
    assert len(set(made)) > 400


@pytest.mark.parametrize("name", PARSERS)
def test_no_crash_no_hang_no_value_in_a_message(name):
    command = [sys.executable, "-m", "tests.fuzz.runner", name, str(COUNT), "--together", "20"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | IN_MEMORY, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not [canary for canary in CANARIES if canary in done.stderr]  # panics of native code write there
