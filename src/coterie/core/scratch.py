"""Scratch: a private folder for rows that are too many for memory, and knowing when the disk is full."""

from __future__ import annotations

import errno
import secrets
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

_ATTEMPTS = 100  # signals that may come while a folder is removed


class Scratch:
    """A folder that only its owner may read, removed with this object or at the end of the process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.gettempdir()).absolute() / f"coterie-{secrets.token_hex(8)}"
        # Before the folder is there, so that a signal in between cannot leave it behind.
        cleaning = weakref.finalize(self, _remove, self.path)
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            cleaning.detach()  # somebody else's
            raise


def _remove(folder: Path) -> None:
    """Remove a folder, to the end: somebody who presses Ctrl-C twice must not leave rows behind.

    What is raised here is lost in any case, because nobody called; it could only keep other folders from going.
    """
    for _attempt in range(_ATTEMPTS):
        with suppress(BaseException):
            shutil.rmtree(folder, ignore_errors=True)
            return


def disk_is_full(error: BaseException) -> bool:
    """Whether an error of the system or of polars says that there is no space left."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "os error 28" in str(error)
