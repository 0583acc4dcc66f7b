"""Parts: a release as a folder of files, which its sidecar names one by one.

    safe.parquet/part-00000.parquet
    safe.parquet/part-00001.parquet
    safe.parquet.json                   the sidecar, written last: without it there is no release

The rows are cut evenly, so that rows and the number of parts say what stands where. In text the header stands in the
first part alone: `cat safe.tsv/part-*` is what one file would be. Nothing else may lie in the folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from coterie.core.declared import Declared, DeclaredFile, as_declared, json_object
from coterie.core.log import sha256_of
from coterie.errors import InputError

MOST_PARTS = 100_000
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_AS_A_WHOLE = "A release of parts is read as a whole: use its folder as it was written."


class Part(Declared, frozen=True, kw_only=True):
    """One file of a release of parts."""

    name: Annotated[str, Meta(pattern=r"^part-[0-9]{5}\.[a-z]{3,7}(?:\.(?:gz|zst))?\Z")]
    rows: Annotated[int, Meta(ge=0)]
    sha256: Sha256


class _Listed(Declared, frozen=True, kw_only=True):
    """What of a sidecar is needed to read the files that it names."""

    parts: tuple[Part, ...] = ()


def part_name(number: int, ending: str) -> str:
    """The name of a part; byte order is the order of parts."""
    return f"part-{number:05}.{ending}"


def even_sizes(rows: int, parts: int) -> list[int]:
    """How many rows each part has: the same number or one more, the larger ones first; none is empty but the only."""
    parts = max(1, min(parts, rows))
    least, more = divmod(rows, parts)
    return [least + 1] * more + [least] * (parts - more)


def list_digest(parts: Sequence[Part]) -> str:
    """The digest of the list of parts: what `sha256sum part-* | sha256sum` prints in their folder."""
    lines = "".join(f"{part.sha256}  {part.name}\n" for part in parts)
    return hashlib.sha256(lines.encode()).hexdigest()


def sidecar_path(path: Path) -> Path:
    """The public sidecar of a released file or folder, also of the current one."""
    path = path if path.name else path.resolve()
    return path.parent / f"{path.name}.json"


def listed_parts(folder: Path) -> tuple[Part, ...]:
    """The parts that a sidecar beside a folder names; none where there is no sidecar, or it names none."""
    if not sidecar_path(folder).is_file():  # to read a pipe would last for ever
        return ()
    unknown = DeclaredFile(name=sidecar_path(folder).name)
    file = DeclaredFile(name=sidecar_path(folder).name, verdict="is not a sidecar of Coterie", end=_AS_A_WHOLE)
    try:
        data = json_object(sidecar_path(folder).read_bytes(), unknown)
    except (OSError, InputError):  # it may be anybody's
        return ()
    if "coterie" not in data:
        return ()
    return as_declared({key: data[key] for key in ("parts",) if key in data}, _Listed, file).parts


def refuse_other_files(folder: Path, parts: Sequence[Part]) -> None:
    """Raise InputError where a folder does not hold the files that its sidecar names, and nothing else."""
    begin = f"{folder.name} is not the release that {sidecar_path(folder).name} describes:"
    if not folder.is_dir():
        raise InputError(f"{begin} it is one file, and the sidecar names parts. {_AS_A_WHOLE}")
    if not parts:
        raise InputError(f"{begin} it is a folder, and the sidecar names no parts. {_AS_A_WHOLE}")
    ending = parts[0].name.partition(".")[2]
    if [part.name for part in parts] != [part_name(number, ending) for number in range(len(parts))]:
        raise InputError(f"{begin} its parts are not named part-00000 and so on, in this order. {_AS_A_WHOLE}")
    named = {part.name for part in parts}
    with os.scandir(folder) as entries:
        there = {entry.name: stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode) for entry in entries}
    if missing := sorted(named - set(there)):
        raise InputError(f"{begin} {_counted(len(missing), 'part')} missing ({missing[0]}). {_AS_A_WHOLE}")
    if extra := sorted(set(there) - named):
        raise InputError(
            f"{begin} {_counted(len(extra), 'file')} in the folder and not in the sidecar ({extra[0]!a}). {_AS_A_WHOLE}"
        )
    if other := sum(not is_file for is_file in there.values()):
        raise InputError(f"{begin} {_counted(other, 'part')} no regular file. {_AS_A_WHOLE}")


def changed_parts(folder: Path, parts: Sequence[Part]) -> list[str]:
    """The names of the parts whose bytes are not those that the sidecar describes."""
    digests = sha256_of(folder / part.name for part in parts)
    return [part.name for part, digest in zip(parts, digests, strict=True) if digest != part.sha256]


def refuse_other_parts(folder: Path, parts: Sequence[Part]) -> None:
    """Raise InputError where a folder is not, to the byte, what its sidecar describes."""
    refuse_other_files(folder, parts)
    if changed := changed_parts(folder, parts):
        raise InputError(
            f"{folder.name} is not the release that {sidecar_path(folder).name} describes: "
            f"{_counted(len(changed), 'part')} not as written ({changed[0]}). {_AS_A_WHOLE}"
        )


def is_release_of_parts(folder: Path) -> bool:
    """Whether a folder is clearly a release of parts: a sidecar beside it names what lies in it, and nothing else does.

    What somebody changed inside a part makes no difference.
    """
    try:
        if folder.is_symlink() or not folder.is_dir() or not (parts := listed_parts(folder)):
            return False
        refuse_other_files(folder, parts)
    except (InputError, OSError):
        return False
    return True


def _counted(number: int, noun: str) -> str:
    return f"1 {noun} is" if number == 1 else f"{number:,} {noun}s are"
