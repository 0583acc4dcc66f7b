"""The message about compiling: where something is compiled, once, and not where it is loaded."""

import os
import subprocess
import sys

_MODULE = """
import logging
from coterie.algorithms.kernels._jit import jit

@jit
def twice(x):
    return 2 * x

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    print(twice(2), twice(2.0))
"""


def test_compiling_is_told_once_and_loading_never(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(_MODULE)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    for told in (1, 0):
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True, env=env)
        assert done.stdout == "4 4.0\n"
        assert done.stderr.count("first use only") == told
