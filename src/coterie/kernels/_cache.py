"""Where compiled kernels are kept: numba's cache on disk, in a folder that nobody else may write to.

Its index is a pickle, and to read a pickle is to run it. So a folder is used only if it is ours, is no link, and others
may not write to it. The first of these that is such a folder is used:

1. `NUMBA_CACHE_DIR`.
2. `coterie-kernels` in the folder for caches of the user.
3. The package's own `__pycache__`.
4. `coterie-kernels-UID` in the temporary folder, made by us for us alone.

Where there is none, kernels are compiled at each start.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

ADVICE = "Let NUMBA_CACHE_DIR name a folder of yours that is no link and that nobody else may write to."
_HERE = Path(__file__).parent


@cache
def folder() -> Path | None:
    """The folder for everything that is compiled; None where there is none that can be trusted."""
    return next((each for each in _candidates() if _is_private(each) and _is_of_use(each)), None)


class KernelCache(FunctionCache):
    """Numba's cache, for functions that have others compiled into them.

    It also knows when something is compiled rather than loaded, and says so once. What cannot be loaded or kept is
    compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        if not (self._cache_path and _is_private(Path(self._cache_path))):
            self.disable()  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled earlier, or None."""
        try:
            loaded = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # an earlier version kept types under names that are gone
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            loaded = None
        if loaded is None:
            _say_that_it_takes_time()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it, unless the disk is full or may only be read, as that of a container whose image was prepared."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


class _Locator(UserProvidedCacheLocator):
    """Numba asks it for the folder of a function's file, and for what makes stale what was kept there."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        inside = self.get_suitable_cache_subpath(file)  # type: ignore[no-untyped-call]
        self._cache_path = str(found / inside) if (found := folder()) else ""

    @classmethod
    def from_function(cls, py_func: Any, py_file: Any) -> _Locator:
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        """It is there, or the cache is off."""

    def get_source_stamp(self) -> Any:
        """Numba looks only at the file of a function. Here any change of any kernel makes it stale."""
        return super().get_source_stamp(), _digest_of_kernels()  # type: ignore[no-untyped-call]


class _Kept(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (numba's own declaration)


KernelCache._impl_class = _Kept


def _candidates() -> Iterator[Path]:
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named)
    with suppress(RuntimeError):  # nobody knows where the home of this user is
        yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "coterie-kernels"
    yield _HERE / "__pycache__"
    with suppress(FileNotFoundError):  # there is no temporary folder
        yield Path(tempfile.gettempdir()) / f"coterie-kernels-{os.getuid() if hasattr(os, 'getuid') else ''}"


def _is_private(path: Path) -> bool:
    """Whether it is a folder of ours that others cannot write to; it is made where it is not there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = path.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):  # Windows: folders of users are theirs by other means
        return True
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022


def _is_of_use(path: Path) -> bool:
    """Whether it can be written to, or else was filled earlier and is only to be read now."""
    return os.access(path, os.W_OK) or any(path.glob("*/*.nbi"))


@cache
def _digest_of_kernels() -> str:
    sources = (path.read_bytes() for path in sorted(_HERE.glob("*.py")))
    return hashlib.sha256(b"".join(sources)).hexdigest()


@cache  # once is enough
def _say_that_it_takes_time() -> None:
    place = folder()
    keeps = place is not None and os.access(place, os.W_OK)
    when = "on first use only" if keeps else "at each start, because no folder can keep it"
    named = os.environ.get("NUMBA_CACHE_DIR")
    advice = f" {ADVICE}" if not keeps or (named and place != Path(named)) else ""
    logging.getLogger("coterie").info(f"Compiling, {when}: up to half a minute for some methods.{advice}")
