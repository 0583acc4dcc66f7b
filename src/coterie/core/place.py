"""Places: what somebody may write where a file is expected, for bytes and tables that are elsewhere.

    s3://BUCKET/PATH   gs://BUCKET/PATH   az://CONTAINER/PATH   https://HOST/PATH
    sqlite:FILE#TABLE   duckdb:FILE#TABLE   postgresql://USER@HOST/DATABASE#TABLE

Here they are only taken apart; `places/` goes there. What a place is called in messages, reports and files is its
`label`, which has no user, no password and nothing that follows a question mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from coterie.errors import ParameterError

OBJECTS = ("s3", "gs", "az")
"""Schemes of object stores."""
WEB = ("https",)
DATABASES = ("sqlite", "duckdb", "postgresql")
_ALSO = {"postgres": "postgresql"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?")
_FILES = ("sqlite", "duckdb")
_TABLE = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}")
_KNOWN = "files, s3://, gs://, az://, https://, sqlite:FILE, duckdb:FILE and postgresql://"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place that is no file of this machine, or a table in one."""

    scheme: str
    address: str = field(repr=False)
    """The whole address, without the table: it may hold a password, so it is shown to nobody."""
    label: str
    """What people may read."""
    table: str | None = None
    """The table of a database."""

    @property
    def is_database(self) -> bool:
        """Whether it holds tables."""
        return self.scheme in DATABASES

    @property
    def name(self) -> str:
        """The last part of its path, or its table: what a file with the same content would be called."""
        return self.table or PurePosixPath(urlsplit(self.address).path).name or self.scheme

    def beside(self, ending: str) -> Place:
        """The place of the same name with something behind it; what follows a question mark stays where it is."""
        address, mark, rest = self.address.partition("?") if self.scheme in WEB else (self.address, "", "")
        return Place(scheme=self.scheme, address=f"{address}{ending}{mark}{rest}", label=self.label + ending)


def place_of(text: object) -> Place | None:
    """The place that a text means; None for files, standard input and logs that are made up."""
    written = str(text)
    match = _SCHEME.match(written)
    if match is None:
        return None
    scheme = match[1].lower()
    scheme = _ALSO.get(scheme, scheme)
    if match[2] is None and scheme not in _FILES:  # `synth:users=9`, or a file with a colon in its name
        if scheme == "postgresql" or (scheme in (*WEB, *OBJECTS) and "@" in written):  # it may hold a password
            raise ParameterError(f"{scheme}: needs two slashes behind it: {scheme}://...")
        return None
    _refuse_unclear(scheme, written)
    if scheme == "http":
        raise ParameterError(f"{_label(written)}: what is sent by http:// can be read on its way. Give https://.")
    if scheme not in (*OBJECTS, *WEB, *DATABASES):
        raise ParameterError(f"{scheme}:// is no place that Coterie knows. It knows {_KNOWN}.")
    if scheme not in DATABASES:
        return _with_path(Place(scheme=scheme, address=written, label=_label(written)))
    address, mark, table = written.partition("#")
    shown = address if scheme in _FILES else _label(address)
    if mark and not _TABLE.fullmatch(table):
        raise ParameterError(
            f"{shown}: the name of a table stands behind #, in letters, digits and _ (or SCHEMA.TABLE)."
        )
    label = shown + (f"#{table}" if table else "")
    if scheme in _FILES and not address.partition(":")[2].removeprefix("//"):
        raise ParameterError(f"{scheme}: needs a file, for example {scheme}:log.db#queries.")
    return Place(scheme=scheme, address=address, label=label, table=table or None)


def label_of(text: object) -> str:
    """What people may read of a path or a place."""
    place = place_of(text)
    return str(text) if place is None else place.label


def refuse_place(text: object) -> None:
    """Raise ParameterError for a place where only files will do."""
    place = place_of(text)
    if place is not None:
        raise ParameterError(f"{place.label} is not a file, and only files of this machine can be used here.")


def _with_path(place: Place) -> Place:
    parts = urlsplit(place.address)
    if place.scheme in OBJECTS and {".", ".."} & set(parts.path.split("/")):
        raise ParameterError(f"{place.label}: names of objects have no . and .. as parts.")
    if not parts.hostname or not parts.path.strip("/"):
        raise ParameterError(f"{place.label} names no file: {place.scheme}://{_first(place.scheme)}/PATH is expected.")
    return place


def _refuse_unclear(scheme: str, address: str) -> None:
    """Raise ParameterError where a password has signs that end it, so that its rest would be shown as a path."""
    rest = address.partition("://")[2]
    port = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    if scheme not in _FILES and port and not port.isdigit():
        raise ParameterError(
            f"{scheme}://...: the address cannot be taken apart. Signs such as / ? # @ and : in a user's name or a "
            f"password are written %2F %3F %23 %40 %3A there."
        )


def _first(scheme: str) -> str:
    return "HOST" if scheme in WEB else "CONTAINER" if scheme == "az" else "BUCKET"


def _label(address: str) -> str:
    """An address without who logs in, and without what follows a question mark: both may hold secrets."""
    scheme, _, rest = address.partition("://")
    if scheme.lower() not in OBJECTS:  # a password may have a / in it, and then looks like a host with a path
        rest = rest.rpartition("@")[2]
    host, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme.lower()}://{host.rpartition('@')[2]}{slash}{path}"
