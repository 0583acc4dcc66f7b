"""Cut what follows the page in the addresses of an access log: `?...`, `;jsessionid=...` and `#...`.

Paths and referrers are cut alike. Tokens, session numbers, names and search terms stand there; without them, addresses
of one page are equal. `keep_params` lists parameters that stay, in alphabetical order, so that `?b=2&a=1` is the page
`?a=1&b=2`; their values stay as they are written, with their percent signs. Case matters in names. `;` ends a
parameter as `&` does. What follows a `;` within the path is always cut. A token that is a part of the path itself
(`/reset/5f3a...`) stays, so publish pages of at least k visitors only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from coterie.core.log import Log
from coterie.steps._spelling import PrepareStep, counted

_NO_PAGE = r"(?s)[?#].*$|;[^/?#]*|%3[bB](?i:jsessionid)[^/?#]*"  # what follows a page, and what stands in its parts
_QUERY = r"(?s)^[^?#]*\?([^#]*)"
_NAMES = re.compile(r"[^\s,=&;?#\"]+(?:,[^\s,=&;?#\"]+)*|")


class ParameterNames:
    """Names of parameters of addresses, separated by commas."""

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is a list of names; an empty one is allowed."""
        return isinstance(value, kind) and _NAMES.fullmatch(str(value)) is not None

    def describe(self, kind: type) -> str:  # noqa: ARG002 (same signature as Range)
        """The allowed values in words."""
        return "names of parameters separated by commas, without spaces, such as 'page,id'"


@dataclass(frozen=True, kw_only=True)
class StripQuery(PrepareStep):
    """Cut what follows the page in paths and referrers."""

    keep_params: Annotated[str, ParameterNames(), "parameters of addresses that stay; none by default"] = ""

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log with shorter addresses; the step counts what it cut."""
        self.only_visits(log)
        kept = sorted(filter(None, self.keep_params.split(",")))
        path, referrer = _page(pl.col("path"), kept), _page(pl.col("referrer"), kept)
        cut = {"path": path, "referrer": pl.when(referrer != "").then(referrer)}
        counts = counted(log, **{name: page.ne_missing(pl.col(name)).sum() for name, page in cut.items()})
        note = f"strip_query: {counts['path']:,} paths and {counts['referrer']:,} referrers were cut to their page."
        return self.done(log, log.frame.with_columns(**cut), counts, note if any(counts.values()) else "")


def _page(address: pl.Expr, kept: list[str]) -> pl.Expr:
    """An address without parameters, or with some of them."""
    page = address.str.replace_all(_NO_PAGE, "")
    if kept:
        parts = address.str.extract(_QUERY).str.replace_all(";", "&", literal=True).str.split("&")
        named = pl.element().str.extract("^([^=]*)")
        query = parts.list.eval(pl.element().filter(named.is_in(kept)).sort()).list.join("&")
        page = pl.when(query != "").then(page + "?" + query).otherwise(page)
    return page
