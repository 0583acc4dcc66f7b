"""Sources: what was typed as the name of a log, and whether its files are still those that were opened."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from coterie.core.files import place_of
from coterie.errors import InputError, ParameterError
from coterie.studio.plain import Source, Stamp

MADE_UP = "synth:"
_CHANGED = (
    "The log has changed since it was opened, so that figures of before and after would be about different rows. Open "
    "it again; of a log that is still being written, open a copy."
)


def whole_path(text: str) -> str:
    """Where a file is, from the root, so that commands work in any folder.

    What is elsewhere (`s3://`, a table of a database) or made up stays as it was typed. ParameterError where it is no
    place that Coterie knows.
    """
    if text.startswith(MADE_UP) or place_of(text) is not None:
        return text
    try:
        return str(Path(text).expanduser().absolute())
    except RuntimeError:
        raise ParameterError("There is no user of the name behind ~. Type the whole path.") from None


def stamp_of(paths: Sequence[str]) -> Stamp:
    """The files that are there, with their sizes and when they were last changed."""
    found = []
    for path in paths:
        if path.startswith(MADE_UP) or place_of(path) is not None:
            continue
        for file in sorted(glob.glob(path)) or [path]:  # noqa: PTH207 (a pattern may begin at the root)
            try:
                about = os.stat(file)  # noqa: PTH116 (a name may hold what no path may)
            except (OSError, ValueError):
                continue
            found.append((file, about.st_size, about.st_mtime_ns))
    return tuple(found)


def refuse_changed(source: Source) -> None:
    """Raise InputError where the files of a log are not those that were opened, or no files at all."""
    now = stamp_of(source.paths)
    for file, _, _ in now:
        if stat.S_ISCHR(Path(file).stat().st_mode):
            raise InputError(f"{file} is a device and never ends. Name a file.")
    if source.stamp and now != source.stamp:
        raise InputError(_CHANGED)
