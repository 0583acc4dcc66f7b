"""Object stores: s3://, gs:// and az://, through obstore; and web addresses: https:// only, read only.

Where they are and who we are is told by the environment, as their own tools have it (AWS_ACCESS_KEY_ID, AWS_REGION,
AWS_ENDPOINT_URL; GOOGLE_APPLICATION_CREDENTIALS; AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY), or by the
machine that this runs on. Nothing is ever replaced: objects are made, and only where there are none.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Container, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from coterie.core.files import Place, disk_is_full
from coterie.errors import InputError, MissingError, ParameterError
from coterie.reading.places import needs_extra

_CLASSES = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore"}
_CHUNK = 1 << 23
_PATIENCE = {"connect_timeout": "10s", "timeout": "300s"}
_RETRIES: dict[str, Any] = {"max_retries": 2}
_PATTERN = "*?["
_SILENCE = 60  # seconds without a byte
_PIECE = 1 << 22
_ANSWERS: tuple[tuple[Container[int], type[InputError | MissingError], str], ...] = (
    ((404, 410), MissingError, "there is nothing at this address ({})."),
    ((401, 403, 407), InputError, "access is denied ({})."),
    (
        range(300, 400),
        InputError,
        "the server leads on in circles, or to what is no https:// address ({}). Give the address where the file is.",
    ),
)
"""What servers answer in place of a file, by the number of the answer."""
_OTHER_ANSWER = InputError, "the server answered with an error ({}). Try later."


def fetch(place: Place, folder: Path) -> list[Path]:
    """Copies of the object of that name, or of all that a pattern (`logs/*.gz`) stands for, in byte order."""
    with _said(place):
        store, key = _store_of(place), _key_of(place)
        keys = [key] if not set(_PATTERN) & set(key) else _matching(store, key)
        if not keys:
            raise MissingError(f"{place.label}: there is no such object.")
        names = [PurePosixPath(each).name for each in keys]
        if len(set(names)) < len(names):
            raise ParameterError(f"{place.label} stands for objects of the same name. Read them one by one.")
        return [_download(store, each, folder / name) for each, name in zip(keys, names, strict=True)]


def fetch_below(place: Place, folder: Path) -> None:
    """Copies of all objects whose names begin with that of a folder; none of them lies deeper."""
    with _said(place):
        store, prefix = _store_of(place), _key_of(place).rstrip("/") + "/"
        for key in sorted(_keys(store, prefix)):
            name = key.removeprefix(prefix)
            # A part lies in the folder itself: what lies deeper is told of as a file that is no part.
            _download(store, key, folder / (name if "/" not in name else name.replace("/", "_")))


def exists(place: Place) -> bool:
    """Whether there is an object of that name, or any below it as in a folder."""
    with _said(place):
        import obstore

        store, key = _store_of(place), _key_of(place)
        try:
            obstore.head(store, key)
        except (FileNotFoundError, obstore.exceptions.NotFoundError):
            return next(_keys(store, key + "/"), None) is not None
        return True


@contextmanager
def uploading(place: Place) -> Iterator[Upload]:
    """Objects below or beside a place, which are removed again where the block ends with an error."""
    upload = Upload(place)
    try:
        yield upload
    except BaseException:
        upload.undo()
        raise


class Upload:
    """Objects that are made one after the other."""

    def __init__(self, place: Place) -> None:
        self._place = place
        with _said(place):
            self._store = _store_of(place)
        self._made: list[str] = []
        self._doubtful: dict[str, bytes] = {}
        """Objects that may have been made though the store did not say so, with the digests they then have."""

    def put(self, file: Path, place: Place) -> None:
        """Make an object of a file, where there is none, and read it back."""
        import obstore

        key = _key_of(place)
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").digest()
        with _said(place):
            with file.open("rb") as stream:
                self._doubtful[key] = digest
                try:
                    obstore.put(self._store, key, stream, mode="create")
                except obstore.exceptions.AlreadyExistsError:
                    del self._doubtful[key]
                    raise ParameterError(f"{place.label} exists. Choose another name: nothing is replaced.") from None
                del self._doubtful[key]
                self._made.append(key)
            there = self._digest(key)
        if there != digest:
            raise InputError(f"{place.label} is not what was written there, so it was removed again.")

    def _digest(self, key: str) -> bytes:
        import obstore

        there = hashlib.sha256()
        for chunk in obstore.get(self._store, key).stream(_CHUNK):
            there.update(chunk)
        return there.digest()

    def undo(self) -> None:
        """Remove what was made, the last first; what may be somebody else's only where it is what was sent."""
        import obstore

        for key, digest in self._doubtful.items():
            try:
                if self._digest(key) == digest:
                    self._made.append(key)
            except (FileNotFoundError, obstore.exceptions.BaseError):  # it is not there, or cannot be seen
                continue
        self._doubtful.clear()
        while self._made:
            key = self._made.pop()
            try:
                obstore.delete(self._store, key)
            except obstore.exceptions.BaseError:  # it is not there, or the store is gone: nothing more can be done
                continue


@contextmanager
def _said(place: Place) -> Iterator[None]:
    """Errors of the store as sentences; their own words may hold keys."""
    try:
        import obstore.exceptions as failures
    except ImportError:
        raise needs_extra("cloud", "obstore", place.label) from None
    try:
        yield
    except (FileNotFoundError, failures.NotFoundError):
        raise MissingError(f"{place.label}: there is no such object, or no such bucket.") from None
    except (failures.PermissionDeniedError, failures.UnauthenticatedError):
        raise InputError(
            f"{place.label}: access is denied. Check the keys in the environment (docs/places.md) and what they may do."
        ) from None
    except failures.BaseError as error:
        if "NoSuchBucket" in str(error) or "ContainerNotFound" in str(error):
            raise MissingError(f"{place.label}: there is no such bucket.") from None
        raise InputError(
            f"{place.label} cannot be reached, or did not answer as expected. Check the name, the network, and the "
            f"region, address and keys in the environment (docs/places.md)."
        ) from None


def _store_of(place: Place) -> Any:
    from obstore import store

    options: dict[str, Any] = dict(_PATIENCE)
    own = {  # servers of one's own, which may have no certificate
        "s3": os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"),
        "az": os.environ.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in ("1", "true"),
    }
    if own.get(place.scheme):
        options["allow_http"] = True
    bucket = urlsplit(place.address).netloc
    return getattr(store, _CLASSES[place.scheme])(bucket, client_options=options, retry_config=_RETRIES)


def _key_of(place: Place) -> str:
    """The name of the object: everything behind the bucket, also a question mark."""
    return place.address.partition("://")[2].partition("/")[2]


def _matching(store: Any, pattern: str) -> list[str]:
    fixed = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    return sorted(key for key in _keys(store, fixed.rpartition("/")[0]) if fnmatchcase(key, pattern))


def _keys(store: Any, prefix: str) -> Iterator[str]:
    """The names that begin so, as the store lists them."""
    import obstore

    return (each["path"] for some in obstore.list(store, prefix or None) for each in some)


def _download(store: Any, key: str, target: Path) -> Path:
    import obstore

    with target.open("wb") as out:
        for chunk in obstore.get(store, key).stream(_CHUNK):
            out.write(chunk)
    return target


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows nobody who leads away from https."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not newurl.lower().startswith("https://"):
            fp.close()
            raise urllib.error.URLError("it leads away from https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch_page(place: Place, folder: Path) -> Path:
    """A copy of what a web address (https:// only) leads to, also behind a redirect."""
    target = folder / place.name
    opener = urllib.request.build_opener(_OnlyHttps)
    try:
        request: Any = urllib.request.Request(place.address, headers={"Accept-Encoding": "identity"})  # noqa: S310 (https)
        with opener.open(request, timeout=_SILENCE) as answer, target.open("wb") as out:
            shutil.copyfileobj(answer, out, _PIECE)
            expected = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        error.close()
        meant = ((kind, sentence) for codes, kind, sentence in _ANSWERS if error.code in codes)
        kind, sentence = next(meant, _OTHER_ANSWER)
        raise kind(f"{place.label}: {sentence.format(error.code)}") from None
    except (urllib.error.URLError, http.client.HTTPException, ValueError, OSError) as error:
        if disk_is_full(error):
            raise
        raise InputError(
            f"{place.label} cannot be reached. Check the address, the network, and whether its certificate is known."
        ) from None
    # Servers also say it twice (`5, 5`), or badly: then nothing is known.
    if expected is not None and expected.strip().isdecimal() and target.stat().st_size != int(expected):
        raise InputError(f"{place.label}: the answer was cut off. Try again.")
    return target
