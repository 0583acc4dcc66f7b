"""The same method, parameters and seed give the same bytes as ever: in any number of threads and of engine blocks."""

import json
import os
import subprocess
import sys

import pytest

from tests.helpers import golden_releases


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_bytes_of_releases(threads):
    """A process of its own for each number: polars and numba make their threads once."""
    number = str(threads)
    done = subprocess.run(
        [sys.executable, "-m", golden_releases.__name__],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "POLARS_MAX_THREADS": number, "NUMBA_NUM_THREADS": number},
    )
    found, expected = json.loads(done.stdout), json.loads(golden_releases.DIGESTS.read_text())
    changed = [case for case, digest in found.items() if digest != expected.get(case)]
    assert not changed, "renew them with a changelog line if this was meant"
    assert found.keys() == expected.keys()
