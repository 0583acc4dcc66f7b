"""Where compiled kernels are kept: numba's cache on disk, in a folder that nobody else may write to.

Its index is a pickle, and to read a pickle is to run it. So a folder is used only if it is ours, is no link, and others
may not write to it. The first of these that is such a folder is used:

1. `NUMBA_CACHE_DIR`.
2. `coterie-kernels` in the folder for caches of the user.
3. The package's own `__pycache__`.
4. `coterie-kernels-UID` in the temporary folder, made by us for us alone.

Where there is none, kernels are compiled at each start.

Inside it each kernel file has a folder whose name ends in a digest of what is compiled into it: its own text, that of
the kernel files it imports, of those these import, and so on, and numba's version. So a kernel is compiled anew where a
function that was inlined into it has changed, and only there. Times and places of files mean nothing: all clones and
environments with the same kernels share one folder. Clones with different kernels have folders of their own, so they
do not take turns at making each other's stale, and none can find under its index what another one compiled. Of the
folders of one file the latest used stay, `_KEPT` of them at most. Signature, processor and version of Python are in
numba's own index.
"""

from __future__ import annotations

import ast
import hashlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator

ADVICE = "Let NUMBA_CACHE_DIR name a folder of yours that is no link and that nobody else may write to."
_HERE = Path(__file__).parent
_PACKAGE = __name__.partition(".")[0]
_ROOT = Path(__file__).parents[__name__.count(".") - 1]
_KEPT = 8
"""So many branches of one kernel can be worked on in turn; all kernels take about 25 MB."""


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
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)  # type: ignore[no-untyped-call]
        if not self._cache_path:
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


class _Files(IndexDataCacheFile):
    """Numba numbers its files as they come: of two processes that compile at once, one may get the other's code.

    Here a signature has a file of its own, which is there before the index names it.
    """

    def save(self, key: Any, data: Any) -> None:
        base = self._index_name.removesuffix(".nbi")
        name = f"{base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        self._save_index({**self._load_index(), key: name})  # type: ignore[no-untyped-call]


class _Locator(UserProvidedCacheLocator):
    """Numba asks it for the folder of a function's file, and for what makes stale what was kept there."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        self._digest = _digest(Path(file))
        place = _place(f"{function.__module__}-{self._digest[:16]}")
        self._cache_path = str(place) if place else ""

    @classmethod
    def from_function(cls, py_func: Any, py_file: Any) -> _Locator:
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        """It is there, or the cache is off."""

    def get_source_stamp(self) -> Any:
        """Numba looks only at the file of a function, and at its time."""
        return self._digest


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
def _place(name: str) -> Path | None:
    """The folder of that name, MODULE-DIGEST; where it is new, those of the module that were long not used go."""
    found = folder()
    if found is None:
        return None
    place, module = found / name, name.rpartition("-")[0]
    with suppress(OSError):  # it may only be read, or somebody else tidies up
        if not place.exists():
            for old in sorted(found.glob(f"{module}-*"), key=lambda path: path.stat().st_mtime)[: 1 - _KEPT]:
                shutil.rmtree(old)
        os.utime(place)
    return place if _is_private(place) else None


@cache
def _digest(path: Path) -> str:
    """Of all that is compiled into the functions of a file."""
    texts: dict[Path, str] = {}
    ahead = [path]
    while ahead:
        if (path := ahead.pop()) not in texts:
            texts[path], imported = _content(path)
            ahead += imported
    return hashlib.sha256(repr((numba.__version__, sorted((p.name, texts[p]) for p in texts))).encode()).hexdigest()


@cache
def _content(path: Path) -> tuple[str, tuple[Path, ...]]:
    """The digest of a file, and the kernel files that it imports."""
    text = path.read_bytes()
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:  # none is relative
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    kernels = (_ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names if name.startswith(_PACKAGE))
    return hashlib.sha256(text).hexdigest(), tuple(path for path in kernels if path.is_file())


@cache  # once is enough
def _say_that_it_takes_time() -> None:
    place = folder()
    keeps = place is not None and os.access(place, os.W_OK)
    when = "on first use only" if keeps else "at each start, because no folder can keep it"
    named = os.environ.get("NUMBA_CACHE_DIR")
    advice = f" {ADVICE}" if not keeps or (named and place != Path(named)) else ""
    logging.getLogger("coterie").info(f"Compiling, {when}: up to half a minute for some methods.{advice}")
