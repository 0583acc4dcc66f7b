"""Scratch: a private folder for rows that are too many for memory; it disappears with its owner."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class Scratch:
    """A folder that only its owner may read, removed with this object or at the end of the process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="coterie-"))  # mode 0700
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
