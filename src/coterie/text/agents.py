"""User agents: which browser and system they name, and whether they are those of a program.

The rules are those of ua-parser, with the engine written in Rust and no other: engines differ in what they find in a
few agents, and the same log must give the same labels everywhere. It is loaded on first use. Labels are in lower case;
`other` stands for what the rules do not know. Rules get new names with new versions of `ua-parser-builtins`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from coterie.errors import MissingError

if TYPE_CHECKING:
    from ua_parser import PartialResult

OTHER = "other"
"""What stands for a browser, a system or a version that is not known."""
VISITOR_PARTS = ("browser", "browser_version", "system", "system_version")
"""The parts that tell visitors of one address apart (paper 004)."""
PARTS = {**dict.fromkeys(VISITOR_PARTS, pl.String()), "bot": pl.Boolean()}
"""What is read from an agent: columns and types of `parse_agents`."""

_LONGEST = 1_000  # characters that are looked at; agents of browsers have up to 500
_PROGRAM = "Spider"
# Programs that the rules take for browsers, or do not know. `+http://` is how robots say where they are described.
_BOT_WORDS = re.compile(
    r"(?<!cu)bot(?![a-z])|robot|crawl|spider|slurp|archiver|scrape|fetch|monitor|checker|validator|headless"
    r"|phantomjs|selenium|curl/|wget/|libwww-perl|python|java/|ruby|perl\b|php/|go-http|http_?client|http-client|okhttp"
    r"|aiohttp|axios|guzzle|scrapy|feed|\brss\b|subscribers|embedly|preview|proxy/|\+https?://",
    re.IGNORECASE,
)


def parse_agents(agents: pl.Series) -> pl.DataFrame:
    """One line for each agent: browser and its first number, system and its first two numbers, whether it is a bot.

    Each distinct agent is looked at once. Where there is no agent, nothing is known: all is null. Rules for robots take
    the label from the agent itself, so that a rare one can point at somebody.
    """
    distinct = agents.cast(pl.String).rename("agent").to_frame().unique(maintain_order=True)
    parts = [_parts(agent) for agent in distinct["agent"]]
    table = distinct.hstack(pl.DataFrame(parts, schema=PARTS, orient="row"))
    given = agents.cast(pl.String).rename("agent").to_frame()
    return given.join(table, on="agent", how="left", nulls_equal=True, maintain_order="left").drop("agent")


def parse_browsers(agents: pl.Series) -> pl.Series:
    """The browser of each agent alone, as `parse_agents` names it: systems and devices cost several times as much."""
    distinct = agents.cast(pl.String).rename("agent").drop_nulls().unique()
    browsers = [_reader(alone=True)(agent[:_LONGEST]).user_agent for agent in distinct]
    labels = [OTHER if browser is None else _label(browser.family) for browser in browsers]
    return (
        agents.cast(pl.String).replace_strict(distinct, labels, default=None, return_dtype=pl.String).alias("browser")
    )


def _parts(agent: str | None) -> tuple[str | bool | None, ...]:
    if agent is None:
        return (None,) * len(PARTS)
    seen = agent[:_LONGEST]
    parsed = _reader()(seen)
    browser, system, device = parsed.user_agent, parsed.os, parsed.device
    bot = (device is not None and device.family == _PROGRAM) or _BOT_WORDS.search(seen) is not None
    return (
        *((_label(browser.family), _label(browser.major)) if browser else (OTHER, OTHER)),
        *((_label(system.family), _label(system.major, system.minor)) if system else (OTHER, OTHER)),
        bot,
    )


def _label(*texts: str | None) -> str:
    return " ".join(".".join(filter(None, texts)).lower().split()) or OTHER


@cache
def _reader(alone: bool = False) -> Callable[[str], PartialResult]:
    """What finds the parts of one agent, or its browser alone."""
    try:
        from ua_parser import Domain, load_lazy_builtins
        from ua_parser.regex import Resolver
    except ImportError:
        raise MissingError(
            "Browsers are recognized by ua-parser with its engine in Rust, which is not installed. Install it with: "
            "pip install 'ua-parser[regex]'."
        ) from None
    resolver = Resolver(load_lazy_builtins())
    return lambda agent: resolver(agent, Domain.USER_AGENT if alone else Domain.ALL)
