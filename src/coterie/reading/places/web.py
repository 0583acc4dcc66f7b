"""Web addresses: https:// only, read only; also behind a redirect."""

from __future__ import annotations

import http.client
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any

from coterie.core.files import Place
from coterie.core.scratch import disk_is_full
from coterie.errors import InputError, MissingError

_PATIENCE = 60  # seconds without a byte
_CHUNK = 1 << 22
_GONE = (404, 410)
_MOVED = range(300, 400)
_DENIED = (401, 403, 407)


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


def fetch(place: Place, folder: Path) -> Path:
    """A copy of what the address leads to."""
    target = folder / place.name
    opener = urllib.request.build_opener(_OnlyHttps)
    try:
        request: Any = urllib.request.Request(place.address, headers={"Accept-Encoding": "identity"})  # noqa: S310 (https)
        with opener.open(request, timeout=_PATIENCE) as answer, target.open("wb") as out:
            shutil.copyfileobj(answer, out, _CHUNK)
            expected = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _GONE:
            raise MissingError(f"{place.label}: there is nothing at this address ({error.code}).") from None
        if error.code in _DENIED:
            raise InputError(f"{place.label}: access is denied ({error.code}).") from None
        if error.code in _MOVED:
            raise InputError(
                f"{place.label}: the server leads on in circles, or to what is no https:// address ({error.code}). "
                f"Give the address where the file is."
            ) from None
        raise InputError(f"{place.label}: the server answered with an error ({error.code}). Try later.") from None
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
