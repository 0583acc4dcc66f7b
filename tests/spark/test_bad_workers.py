"""Workers that cannot do the work are refused with a sentence, and nothing is written."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

OLDER = """
import sys
class Version(tuple):
    major, minor, micro = (property(lambda self, at=at: self[at]) for at in range(3))
sys.version_info = Version((3, 99, 0, "final", 0))
"""


def _without_coterie(folder: Path, customized: str = "") -> Path:
    """A Python with all that this one has, but for what is installed by way of a .pth file, as Coterie is here."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (site / "sitecustomize.py").write_text(customized)
    return folder / "bin" / "python"


@pytest.mark.parametrize(
    ("customized", "sentence"),
    [("", "The workers of the cluster have no coterie."), (OLDER, "another version of Python than this machine.")],
    ids=["without Coterie", "another Python"],
)
def test_workers_are_refused(cluster, environment, tmp_path, customized, sentence):
    log, out = tmp_path / "log.tsv", tmp_path / "out"
    log.write_text("user\tquery\nann\ttea\nbob\ttea\n")
    out.mkdir()
    python = _without_coterie(tmp_path / "env", customized)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "coterie", "anonymize", "suppress_rare", log, "-k", "2",
         "-o", out / "safe.tsv", "--history", "none", "--engine", cluster.address],
        capture_output=True, text=True, check=False, env={**os.environ, **environment, "PYSPARK_PYTHON": str(python)},
    )  # fmt: skip
    assert sentence in " ".join(done.stderr.split()), done.stderr[-3000:]
    assert done.returncode == 2
    assert not any(out.iterdir())
