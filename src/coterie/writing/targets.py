"""Targets: which files may be written, and how a finished file gets its name.

Regular files only: a device, a pipe, a link or a folder is never replaced. No input is ever replaced, under whatever
name it is met, and no list of a log's releases. What exists stays, unless the caller says `force`. All of this is asked
before any work is done, and once more at the moment of replacing, which may be hours later.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from coterie.core.digests import is_release_of_parts
from coterie.core.files import HISTORY_ENDING, Scratch, disk_is_full, sweep
from coterie.errors import InputError, MissingError, ParameterError

_ANOTHER = "Choose another name."
_KINDS = ((stat.S_ISLNK, "a link"), (stat.S_ISDIR, "a folder"), (stat.S_ISREG, ""))


def refuse_output(path: Path, force: bool, inputs: Sequence[Path] = (), hint: str = _ANOTHER) -> None:
    """Raise an error where a file must not, or cannot, be written; `hint` says what to do about a device or a link."""
    refuse_inputs(path, inputs)
    refuse_existing(path, force, hint)
    if path.name.endswith(HISTORY_ENDING) and path.exists():
        raise ParameterError(f"{path} is the list of a log's releases, and these are never replaced. {_ANOTHER}")
    refuse_closed(path.parent)


def refuse_closed(folder: Path, new: bool = False) -> None:
    """Raise an error where no file can be made in a folder; one that is `new` may still have to be made itself."""
    if new:
        folder = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not folder.is_dir():
        raise MissingError(f"The folder {folder} does not exist. Make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: nothing can be written to this folder.")


def refuse_existing(path: Path, force: bool, hint: str = _ANOTHER) -> None:
    """Raise ParameterError rather than overwrite somebody's file; devices, pipes, links and folders never."""
    if not os.path.lexists(path):
        return
    mode = path.lstat().st_mode
    kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "a device or a pipe")
    if kind:
        raise ParameterError(f"{path} is {kind}, and only regular files are written. {hint}")
    if not force:
        raise ParameterError(f"{path} exists. Choose another name or replace it with --force (in Python: force=True).")


def refuse_folder(path: Path, force: bool, inputs: Sequence[Path] = ()) -> bool:
    """Raise ParameterError where a release of parts must not be replaced; False where there is none.

    No other folder is ever replaced: one that a sidecar does not describe file by file may hold anything.
    """
    if not is_release_of_parts(path):
        return False
    if any(lies_in(each, path) for each in inputs):
        raise ParameterError(f"{path} holds one of the inputs, and these are never replaced. {_ANOTHER}")
    if not force:
        raise ParameterError(f"{path} exists. Choose another name or replace it with --force (in Python: force=True).")
    return True


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder."""
    inner, outer = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    return outer in inner.parents


def refuse_inputs(path: Path, inputs: Sequence[Path]) -> None:
    """Raise ParameterError where a file to write is one that was read, also under another name (link, hard link)."""
    if any(is_same_file(path, each) for each in inputs):
        raise ParameterError(f"{path} is one of the inputs, and these are never replaced. {_ANOTHER}")


def refuse_record(folder: Path, names: Sequence[str], force: bool, inputs: Sequence[Path] = ()) -> None:
    """Raise ParameterError rather than mix a record into a folder that holds something.

    With `force` the files of a record, which have these `names`, may be replaced; others in the folder stay.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise ParameterError(f"{folder} is not a folder. Choose another --record folder.")
    refuse_closed(folder, new=True)
    if not folder.exists():
        return
    sweep(folder)  # what a run that was killed left there is no reason to refuse
    if any(folder.iterdir()) and not force:
        raise ParameterError(f"{folder} is not empty. Choose another --record folder or use --force.")
    for name in names:
        refuse_output(folder / name, force, inputs, "Choose another --record folder.")


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also by links and hard links; or would, if it was there."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return _settled(one) == _settled(other)


def _settled(path: Path) -> Path:
    """The path without links in its folder."""
    return Path(os.path.realpath(path.parent)) / path.name


def put_in_place(part: Path, target: Path, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Give a finished file its name, unless something that must stay has got that name meanwhile."""
    refuse_output(target, force, inputs)
    part.replace(target)


@contextmanager
def placed(target: Path, force: bool, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """A temporary file, which becomes `target` where the block ends without an error and is gone otherwise."""
    refuse_output(target, force, inputs)
    with temporary(target.parent, target.name) as part:
        yield part
        put_in_place(part, target, force, inputs)


@contextmanager
def kept_aside(target: Path) -> Iterator[Path]:
    """A temporary path where a file that may be replaced is kept, for `put_back`; nothing is there if it is new."""
    with temporary(target.parent, target.name) as aside:
        if target.is_file():
            try:
                os.link(target, aside)
            except OSError:  # a disk without hard links
                shutil.copy2(target, aside)
        yield aside


def put_back(aside: Path, target: Path) -> None:
    """Undo a replacement: the file that was kept aside gets its name back, and what is new is removed."""
    if aside.exists():
        aside.replace(target)
    else:
        target.unlink(missing_ok=True)


def moved_back(aside: Path, target: Path) -> None:
    """Undo that a folder was moved aside, unless something else has its name by now."""
    if aside.exists() and not os.path.lexists(target):
        aside.rename(target)


def removed_again(target: Path, was: os.stat_result) -> None:
    """Undo that a new folder got its name: remove it, if it is that folder."""
    with suppress(FileNotFoundError):
        if os.path.samestat(target.lstat(), was):
            shutil.rmtree(target)


@contextmanager
def temporary(folder: Path, name: str, private: bool = False) -> Iterator[Path]:
    """A temporary path beside its final place, removed whatever happens; after SIGKILL by the next run there.

    `private`: it is an empty file for its owner only, before there is anything to read in it.
    """
    refuse_closed(folder)
    try:
        scratch = Scratch(beside=folder)
        try:
            path = scratch.path / name
            if private:
                path.touch(mode=0o600)
                path.chmod(0o600)  # whatever the umask
            yield path
        finally:
            scratch.remove()
    except (OSError, pl.exceptions.ComputeError) as error:
        if how := disk_is_full(error):
            raise InputError(f"The disk of {folder} {how}. Make room and try again.") from None
        raise
