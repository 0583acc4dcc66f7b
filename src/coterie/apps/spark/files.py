"""Files of this machine as Spark has to be told of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from coterie.errors import InputError

_PATTERN_SIGNS, _ESCAPED = re.compile(r"[\\*?\[\]{}]"), r"\\\g<0>"


def addresses(files: Sequence[Path]) -> list[str]:
    """Files of this machine as paths for Spark, which takes paths for patterns, and leaves out some names."""
    for file in files:
        if file.name.startswith(("_", ".")) or file.name.endswith("._COPYING_"):
            raise InputError(
                f"{file.name}: Spark leaves out files whose names begin with _ or a dot. Rename it, or leave out "
                f"--engine."
            )
        if ":" in file.name:
            raise InputError(f"{file.name}: Spark cannot read a file with a colon in its name. Rename it.")
    return [f"file:{_PATTERN_SIGNS.sub(_ESCAPED, str(file.absolute()))}" for file in files]
