"""Columns of a table by their names and their content, where nobody said which is which.

A name tells what a column may hold, the values whether it does. What people are counted by is never chosen between two
columns that fit equally well, nor is the query: then whoever reads the log has to say it. Once `--columns` names the
query (or the path of an access log), nothing is guessed any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from coterie.core.shapes import QUERIES, VISITS, Shape
from coterie.errors import InputError
from coterie.formats._values import as_integer, as_text, as_time, missing

_PERSON = ("userid", "username", "uid", "usertoken", "userhash", "userkey", "login", "account", "accountid", "member",
           "memberid", "customer", "customerid", "person", "personid", "anonid", "anonymousid", "searcher",
           "searcherid", "authenticatedusertoken")  # fmt: skip
_BROWSER = ("visitor", "visitorid", "idvisitor", "fullvisitorid", "cookie", "cookieid", "client", "clientid", "device",
            "deviceid", "browserid", "useruuid", "uuid", "guid")  # fmt: skip
_SESSION = ("session", "sessionid", "sid", "visit", "visitid", "idvisit")
_ADDRESS = ("ip", "ipaddress", "clientip", "remoteip", "remoteaddr", "remoteaddress", "userip", "address")
_SEARCH = ("q", "search", "searchquery", "searchterm", "searchterms", "searchphrase", "searchstring", "searchtext",
           "searchkeyword", "searchkeywords", "searchword", "sitesearchkeyword", "term", "keyword", "keywords", "kw",
           "userquery", "querytext", "querystring", "queryterm", "rawquery", "phrase", "searchedfor")  # fmt: skip
_MOMENT = ("timestamp", "ts", "datetime", "querytime", "searchtime", "searchedat", "eventtime", "eventtimestamp",
           "servertime", "requesttime", "unixtime", "epoch", "epochms", "timestampms", "timems", "when")  # fmt: skip
_WRITTEN = ("createdat", "created", "createdon", "loggedat", "receivedat", "occurredat", "insertedat", "date", "day")
# For each column of a search log, and of an access log, names in groups: those of the first group fit best.
_NAMES: dict[Shape, dict[str, tuple[tuple[str, ...], ...]]] = {
    QUERIES: {
        "query": (("query",), _SEARCH),
        "user": (("user",), (*_PERSON, *_BROWSER), _SESSION, _ADDRESS),
        "time": (("time",), _MOMENT, _WRITTEN),
        "rank": (
            ("rank",),
            ("clickrank", "itemrank", "resultrank", "clickposition", "resultposition"),
            ("position", "pos", "ordinal"),
        ),
        "url": (
            ("url",),
            ("clickurl", "clickedurl", "resulturl", "targeturl"),
            ("clicked", "result", "href", "link"),
            ("doc", "docid", "document", "documentid", "objectid", "itemid", "productid"),
        ),
    },
    VISITS: {
        "path": (("path",), ("uri", "requesturi", "requestpath", "uripath", "urlpath", "pagepath")),
        "user": (("user",), (*_PERSON, *_BROWSER), _SESSION, _ADDRESS),
        "time": (("time",), _MOMENT, _WRITTEN),
        "method": (("method",), ("requestmethod", "httpmethod", "verb")),
        "status": (("status",), ("statuscode", "httpstatus", "responsestatus", "code")),
        "bytes": (("bytes",), ("bytessent", "bodybytessent", "size", "responsesize")),
        "referrer": (("referrer",), ("referer", "httpreferer", "httpreferrer")),
        "agent": (("agent",), ("useragent", "httpuseragent", "browser")),
    },
}
_KNOWN = {name for columns in _NAMES.values() for groups in columns.values() for group in groups for name in group}
_ORDINARY = {"who", "what", "when", "id", "name", "number", "count", "type", "lang", "language", "country", "city",
             "page", "site", "event", "action", "device", "browser", "os", "source", "results", "hits", "clicks",
             "score", "version", "status", "title", "category", "index", "locale", "platform"}  # fmt: skip
"""Other names that columns of tables have; a first line with none of these, nor of those above, may hold values."""
_FIT = 0.9  # share of the values that are looked at which must be what the name says
_MANY = 100  # values that are all different, and so are no names of people but numbers of rows
LOOKED_AT = 1000
"""Rows that are looked at."""
_MOST_LISTED = 30
_NAME = re.compile(r"(?!\w+:/)[^\W\d][\w.@$:()/ -]{0,60}|[@$]\w{1,60}")


class Guess(NamedTuple):
    """What was found out about columns that nobody named."""

    columns: Mapping[str, str]
    """Ours -> the file's, where the names are not the same."""
    notes: tuple[str, ...] = ()
    by_values: bool = False
    """Whether rows were looked at, so that what somebody asked for may have decided."""


def guess(names: Sequence[str], sample: pl.DataFrame, given: Mapping[str, str], label: str) -> Guess:
    """Which columns hold what, besides those that were `given`; raises where that cannot be told.

    `sample` has the first rows, under the names of the file.
    """
    taken = {name: name for name in names if name not in given.values()} | dict(given)
    shape = next((s for s in (QUERIES, VISITS) if s.item in taken), None)
    if shape is None:
        shape = next((s for s in (QUERIES, VISITS) if _fitting(s, s.item, names, sample, given)), None)
    if shape is None:
        raise cannot_tell(names, sample, label)
    found: dict[str, str] = {}
    left: list[str] = []
    for column in _NAMES[shape]:
        if column in taken:
            continue
        fitting = _fitting(shape, column, names, sample, [*given.values(), *found.values()])
        if len(fitting) == 1:
            found[column] = fitting[0]
        elif fitting and column in (shape.item, shape.subject):
            raise _equally_well(column, fitting, shape, found, label)
        elif fitting:
            left.append(f"{column} ({_either(fitting)} fit equally well)")
        elif named := _named(shape, column, names, [*given.values(), *found.values()]):
            left.append(f"{column} ({_either(named)} holds other values than its name says)")
    notes = []
    if found:
        pairs = ", ".join(f"{ours} = {theirs}" for ours, theirs in found.items())
        notes.append(f"Columns were guessed: {pairs}. If one is wrong, say --columns {_option({**given, **found})}.")
    subject = found.get(shape.subject, "")
    if _plain(subject) in (*_SESSION, *_ADDRESS):
        what = "session" if _plain(subject) in _SESSION else "address"
        notes.append(
            f"Each {what} counts as a {shape.subject_noun}, because no other column says who it was. One person may "
            f"have several: then fewer than k people may stand behind k of them."
        )
    if left:
        notes.append(f"Left out: {'; '.join(left)}. Say --columns {shape.item}=NAME,... where it is needed.")
    if shape.subject not in {**taken, **found}:
        notes.append(
            f"No column says who it was. {listed(names, sample)} If one of them does, say --columns "
            f"{shape.subject}=NAME."
        )
    return Guess(found, tuple(notes), bool(found or left))


def may_be_log(names: Sequence[str]) -> bool:
    """Whether one of these names is that of a query or a path."""
    return any(_named(shape, shape.item, names, ()) for shape in (QUERIES, VISITS))


def is_known(name: str) -> bool:
    """Whether a name is one of those that columns of logs usually have."""
    return _plain(name) in _KNOWN or _plain(name.split(".")[-1]) in _KNOWN


def cannot_tell(names: Sequence[str], sample: pl.DataFrame, label: str) -> InputError:
    """What to say of a table none of whose columns is known to hold queries or paths."""
    return InputError(
        f"{label} has {len(names)} columns, none of them called 'query' (or 'path' for an access log, 'doc' and 'term' "
        f"for documents) or the like. {listed(names, sample)} Say which one it is: --columns "
        f"query=NAME,user=NAME,time=NAME (in Python: columns={{...}})"
    )


def _equally_well(
    column: str, fitting: Sequence[str], shape: Shape, found: Mapping[str, str], label: str
) -> InputError:
    who = f"say who {'searched' if shape is QUERIES else 'came'}" if column == shape.subject else f"be the {column}"
    said = {column: fitting[0]} if column == shape.subject else {**found, column: fitting[0], shape.subject: "NAME"}
    return InputError(
        f"{label} has {len(fitting)} columns that may {who}: {_either(fitting)}. Say which one it is, for example "
        f"--columns {_option(said)} (in Python: columns={{...}})"
    )


def _named(shape: Shape, column: str, names: Sequence[str], used: Any) -> list[str]:
    """The columns whose names say best that they are this one."""
    for group in _NAMES[shape][column]:
        exact = [name for name in names if name not in used and _plain(name) in group]
        # `search.query` of nested objects: the last part counts where no whole name does.
        leaves = [name for name in names if name not in used and "." in name and _plain(name.split(".")[-1]) in group]
        if exact or leaves:
            return list(dict.fromkeys(exact or leaves))
    return []


def _fitting(shape: Shape, column: str, names: Sequence[str], sample: pl.DataFrame, used: Any) -> list[str]:
    return [name for name in _named(shape, column, names, used) if _fits(column, name, shape, sample)]


def _fits(column: str, name: str, shape: Shape, sample: pl.DataFrame) -> bool:
    """Whether the values of a column can be what its name says; those of none cannot speak against it."""
    if name not in sample.columns:
        return True
    dtype, value = sample.schema[name], pl.col(name)
    if dtype.is_nested() or dtype in (pl.Object, pl.Boolean, pl.Binary):
        return False
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        value, dtype = value.cast(pl.String), pl.String()
    given = sample.filter(~missing(value, dtype))
    if given.is_empty():
        return True
    if column == shape.time:
        good = as_time(value, dtype).is_not_null()
    elif column in ("rank", "status", "bytes"):
        good = as_integer(value, dtype, pl.Int64) >= 0
    elif column == shape.item:  # a number of hits, or whether somebody searched, is no search
        good = ~as_text(value, dtype).str.contains(r"^(?:[0-9.,]+|true|false)$")
    elif column == shape.subject:
        different = given.select(value.n_unique()).item()
        return not (given.height >= _MANY and different == given.height)
    else:
        return True
    return bool(given.select(good.fill_null(False).mean()).item() >= _FIT)


def listed(names: Sequence[str], sample: pl.DataFrame) -> str:
    """A sentence with the names of the columns; a first line that may hold values instead of names is not shown."""
    if not are_names(names):
        return "Its first line does not look like names of columns, which a table needs."
    # A header may be a line of another kind in part, and what stands below it is a value.
    values = {value for column in sample.select(pl.col(pl.String)).iter_columns() for value in column.to_list()}
    shown = [name for name in names if _NAME.fullmatch(name) and name not in values]
    more = len(names) - len(shown[:_MOST_LISTED])
    return f"Its columns are: {', '.join(shown[:_MOST_LISTED])}{f', and {more} more' if more else ''}."


def are_names(names: Sequence[str]) -> bool:
    """Whether a first line holds names of columns: each could be one, and one of them is known to be."""
    filled = [name for name in names if name]  # the column of row numbers that pandas writes has none
    if not filled or any(not _NAME.fullmatch(name) for name in filled):
        return False
    return any(is_known(name) or _plain(name) in _ORDINARY for name in filled)


def _plain(name: str) -> str:
    """A name without capitals and signs: `userID`, `user_id` and `User-Id` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _either(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last


def _option(columns: Mapping[str, str]) -> str:
    return ",".join(f"{ours}={theirs}" for ours, theirs in columns.items())
