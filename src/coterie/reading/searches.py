"""An access log as a search log: what visitors searched for, from the addresses of requests. VISITS -> QUERIES.

`--query-param` names the parameters of addresses that hold searches, separated by commas; of several that a request
has, the first named one counts. Two words stand for something else:

    auto        the parameter that most requests have with words in it, of those of a usual name (q, query, s, ...)
    referrer    what search engines that led to the site tell in the referrer, for requests that have no search of
                their own; the page they led to is the clicked one

`+` is a space and %XX a byte of UTF-8; what is not UTF-8 is read as Windows-1252. A request with the number of a page
of results (`page=2`, `start=10`, `/page/2/`) is not a search of its own where the same visitor asked for the same in
the half hour before. Requests without a search are left out, and counted in a note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote, unquote_to_bytes

import polars as pl

from coterie.core.files import Scratch
from coterie.core.log import Log
from coterie.core.shapes import QUERIES, VISITS
from coterie.errors import InputError
from coterie.reading.people import ADDRESS_AND_AGENT
from coterie.reading.reading import names_of
from coterie.reading.source import computed

AUTO, REFERRER = "auto", "referrer"
CLEAR = ("q", "query", "search", "searchterm", "search_term", "search_query", "searchword", "keyword", "keywords", "kw",
         "term", "terms")  # fmt: skip
VAGUE = ("s", "p", "text", "w", "k", "word", "words", "find", "phrase")
"""Names that hold other things on many sites; they count where some values have several words."""
_PAGING = ("page", "paged", "pg", "p", "pn", "pageno", "page_no", "pagenum", "page_num", "pagenumber", "page_number",
           "start", "offset", "from", "first", "skip")  # fmt: skip
_PAUSE = timedelta(minutes=30)
_COUNTRY = r"(?:\.[a-z]{2,3}){1,2}"
_OF_ENGINE = (
    r"(?:(?:www|m|cn|search|images?|news|cade|encrypted|[a-z]{2}(?:-[a-z]{2})?)\.)*"  # and not mail, docs or accounts
)
_ENGINES = (
    (rf"google{_COUNTRY}|ecosia\.org|seznam\.cz", ("q",)),
    (r"(?:bing|duckduckgo|qwant|ask|so|live|msn|mojeek|brave|kagi)\.com", ("q",)),
    (rf"yahoo{_COUNTRY}", ("p",)),
    (rf"yandex{_COUNTRY}", ("text",)),
    (r"baidu\.com", ("wd", "word")),
    (r"(?:naver|sogou|startpage|aol)\.com", ("query", "q")),
)
"""Hosts of search engines, and the parameters of their addresses that hold the query."""
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_SPACES = r"[\x00-\x20\x7f]+"
_SHARE_OF_SEVERAL = 0.05
_VISITOR = (
    "a user is a name that the server logged, or else an address with an agent: a person with two browsers counts "
    "twice, so fewer than k people may stand behind k users"
)
_FEW = 100_000  # requests that are kept in memory


def search_log(log: Log, text: str) -> Log:
    """The searches of an access log as a search log."""
    if log.shape is not VISITS:
        raise InputError(f"--query-param reads searches from access logs. This log is {log.shape.name}: leave it out.")
    names, folder = _guessed(log, names_of(text)), Scratch() if log.rows_read > _FEW else None
    written, kept = (folder.path / f"{name}.parquet" if folder else None for name in ("written", "searches"))
    requests = computed(_requests(log.frame, names), written)
    texts = decoded(requests.select("raw").unique().collect(engine="streaming")["raw"])
    searches = requests.join(texts.lazy(), on="raw").filter(pl.col("query") != "")
    again = _further_results(searches)
    rows = searches.join(again.lazy(), on="row", how="anti").select("row", *QUERIES.released, "legacy")
    rows = computed(rows.sort("row"), kept)
    searches, legacy = rows.select(pl.len(), pl.col("legacy").sum()).collect(engine="streaming").row(0)
    if not searches:
        raise InputError(
            f"No request has a search in {_listed(names)}, so there is no search log to read. Name the parameter that "
            f"holds what people search for: --query-param NAME."
        )
    read, *steps = log.history
    lines = read.counts["lines"] - read.counts.get("bad", 0)
    others = "" if searches == lines else " The others were left out."
    notes = [f"{searches:,} of {lines:,} requests are searches, read from {_listed(names)}.{others}"]
    if again.height:
        notes.append(f"Requests for further results of the same search, which do not count: {again.height:,}.")
    if legacy:
        notes.append(f"Searches that are not UTF-8 and were read as Windows-1252: {legacy:,}.")
    # Promises of access logs say so themselves, and those of search logs do not.
    visitors = (_VISITOR,) if log.settings.get("counted") == ADDRESS_AND_AGENT else ()
    first = replace(read, counts={**read.counts, "searches": searches}, notes=(*read.notes, *notes))
    return replace(
        log, frame=rows.drop("legacy"), shape=QUERIES, history=(first, *steps), resources=(log.resources, folder),
        settings={**log.settings, "query_param": text}, warnings=(*log.warnings, *visitors),
    )  # fmt: skip


def search_params(log: Log) -> dict[str, int]:
    """How many rows of an access log have words in a parameter that may hold searches, by its name; most first.

    Names are those of a list that stands here, so that nothing of the log is shown.
    """
    if log.shape is not VISITS:
        return {}
    usual = (*CLEAR, *VAGUE)
    asked = log.frame.filter(pl.col("path").str.contains("=", literal=True))
    values = asked.select(value_of_param(pl.col("path"), [name]).alias(name) for name in usual)
    counts = {
        name: values.select(
            pl.col(name).count().alias("given"), _has_words(pl.col(name)).sum().alias("words"),
            pl.col(name).str.contains(r"[+ ]|%20").sum().alias("several"),
        )
        for name in usual
    }  # fmt: skip
    tables = pl.collect_all([*counts.values(), log.frame.select(_told_by_engine().count())], engine="streaming")
    params = {}
    for name, table in zip(usual, tables, strict=False):
        given, words, several = table.row(0)
        if words and 2 * words >= given and (name in CLEAR or several > _SHARE_OF_SEVERAL * words):
            params[name] = int(words)
    engines = {REFERRER: int(tables[-1].item())} if tables[-1].item() else {}
    return {**dict(sorted(params.items(), key=lambda each: -each[1])), **engines}


def _guessed(log: Log, asked: Sequence[str]) -> tuple[str, ...]:
    """The names that were asked for, with a parameter in place of `auto`."""
    if AUTO not in asked:
        return tuple(asked)
    best = next((name for name in search_params(log) if name != REFERRER), None)
    others = tuple(name for name in asked if name != AUTO)
    if best is None and not others:
        usual = ", ".join((*CLEAR, *VAGUE))
        raise InputError(
            f"No parameter of a usual name ({usual}) holds words in this access log. Name the one that holds what "
            f"people search for: --query-param NAME."
        )
    return tuple(dict.fromkeys(filter(None, (best, *others))))


def _requests(visits: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Requests with a search: row, user, time, raw (the search as it is written), paged, url and rank.

    `paged`: whether the request is for a numbered page of results. `url` is the page that a search engine led to.
    """
    path, nothing = pl.col("path"), pl.lit(None, pl.String)
    own = [name for name in names if name != REFERRER]
    paging = "|".join(name for name in _PAGING if name not in own)
    rows = visits.select(
        "row", "user", "time", path, "referrer", (value_of_param(path, own) if own else nothing).alias("own")
    )
    engine = _told_by_engine() if REFERRER in names else nothing
    rows = rows.with_columns(pl.when(pl.col("own").is_null()).then(engine).alias("engine"))
    numbered = rf"(?i)[?&;](?:{paging})=0*[1-9]|/page/0*[1-9][0-9]*(?:[/?#]|$)"
    page = path.str.replace(r"(?s)[?#;].*$", "") if REFERRER in names else nothing
    return rows.select(
        "row",
        "user",
        "time",
        pl.coalesce("own", "engine").alias("raw"),
        (path.str.contains(numbered) & pl.col("own").is_not_null()).alias("paged"),
        pl.when(pl.col("engine").is_not_null()).then(page).alias("url"),
        pl.lit(None, pl.Int32).alias("rank"),
    ).drop_nulls("raw")


def value_of_param(address: pl.Expr, names: Sequence[str]) -> pl.Expr:
    """The value of the first of these parameters that an address has with anything in it, as it is written."""
    values = []
    for name in names:
        spelled = "|".join(dict.fromkeys(re.escape(each) for each in (name, quote(name, safe=""))))
        values.append(address.str.extract(rf"[?&;](?:{spelled})=([^&#]*[^&#+\s][^&#]*)"))
    return pl.coalesce(values)


def _told_by_engine() -> pl.Expr:
    """The query that a search engine tells in the referrer; an address that it redirects to is none."""
    referrer, queries = pl.col("referrer"), []
    for hosts, names in _ENGINES:
        led = referrer.str.contains(rf"(?i)^https?://{_OF_ENGINE}(?:{hosts})(?::[0-9]+)?/")
        value = value_of_param(pl.when(led).then(referrer), names)
        queries.append(pl.when(~value.str.contains(r"(?i)^https?(?::|%3a)")).then(value))
    return pl.coalesce(queries)


def _has_words(value: pl.Expr) -> pl.Expr:
    """Whether a value, as it is written, has a letter."""
    return value.str.replace_all(_ESCAPED, "").str.contains(r"\p{L}") | value.str.contains("%[89A-Fa-f]")


def decoded(raw: pl.Series) -> pl.DataFrame:
    """raw, query, and whether its bytes are not UTF-8 (`legacy`)."""
    escaped = raw.str.contains("%", literal=True)
    pairs = [_decode(text) for text in raw.filter(escaped).to_list()]
    schema = {"query": pl.String, "legacy": pl.Boolean}
    hard = pl.DataFrame(pairs, schema=schema, orient="row").with_columns(raw.filter(escaped).alias("raw"))
    spaced = pl.col("raw").str.replace_all("+", " ", literal=True)
    easy = raw.filter(~escaped).to_frame("raw").select(spaced.alias("query"), pl.lit(False).alias("legacy"), "raw")
    table = pl.concat([hard, easy])
    return table.with_columns(pl.col("query").str.replace_all(_SPACES, " ").str.strip_chars())


def _decode(text: str) -> tuple[str, bool]:
    data = unquote_to_bytes(text.replace("+", " "))
    try:
        return data.decode(), False
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace"), True


def _further_results(searches: pl.LazyFrame) -> pl.DataFrame:
    """row: the requests for a numbered page of what the same visitor asked for shortly before."""
    key = ["user", "query"]
    paged = searches.filter("paged").select(key).drop_nulls().unique().collect(engine="streaming")
    if paged.is_empty():  # as most pieces of a log that is read in pieces
        return pl.DataFrame(schema={"row": pl.UInt64})
    asked = (
        searches.join(paged.lazy(), on=key, how="semi").select("row", "time", "paged", *key).collect(engine="streaming")
    )
    asked = asked.sort(*key, "time", "row")
    same = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in key)
    return asked.filter(pl.col("paged") & same & (pl.col("time") - pl.col("time").shift(1) <= _PAUSE)).select("row")


def _listed(names: Sequence[str]) -> str:
    words = ["the referrers of search engines" if name == REFERRER else f"the parameter {name}" for name in names]
    return " or ".join(words)
