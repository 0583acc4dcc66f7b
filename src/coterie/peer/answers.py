"""What others send: read no further than a limit of bytes, only as it is, not unpacked, and never logged."""

from __future__ import annotations

import logging
from typing import Any, Final

import aiohttp
import orjson

from coterie.errors import CoterieError

PLAIN = {"Accept": "application/json", "Accept-Encoding": "identity"}
"""What is asked for: nothing packed, because little that is packed can be much."""
_PIECE = 1 << 14
_SILENT = logging.Logger("silent")  # outside the tree of loggers, so that nobody's settings make it speak
_SILENT.disabled = True
CAREFUL: Final[dict[str, Any]] = {"access_log": None, "logger": _SILENT, "auto_decompress": False}
"""How servers run: they log nothing (else requests that cannot be read, with their addresses), and unpack nothing."""


class AnswerError(CoterieError):
    """Somebody did not answer, or not as they should; the message says why, without a word of the query."""


async def read_json(response: aiohttp.ClientResponse, most: int) -> Any:
    """The JSON of a response of at most so many bytes."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise AnswerError("It answered something packed, which was not asked for.")
    if (response.content_length or 0) > most:
        raise AnswerError(f"It answered more than {most >> 10} kB.")
    data = bytearray()
    async for piece in response.content.iter_chunked(_PIECE):
        data += piece
        if len(data) > most:
            raise AnswerError(f"It answered more than {most >> 10} kB.")
    try:
        return orjson.loads(bytes(data))
    except orjson.JSONDecodeError:
        kind = "a web page" if data.lstrip()[:1] == b"<" else "something"
        raise AnswerError(f"It answered {kind} that is no JSON.") from None
