"""A synthetic access log: made-up visitors who walk through the pages of a site that does not exist.

Model
    The site is a tree of pages, four levels deep; larger logs have more of them. Some pages are much more popular.
    Nine of ten visitors are people. Most come once and see one page; some return on other days. A session begins on a
    popular page and goes on to pages below, beside or above the last one, to the site's search, or to any page. With
    the first page come styles, scripts, a font and an icon, with each page its images; some people have them already.
    The others are programs: most ask for robots.txt, then for pages in any order, fast, without images; some look for
    weak spots of other software, and one pretends to be a browser.
    People come from a search engine (sometimes with their words in the referrer), from another site, or from nowhere.
    A few addresses carry tokens, session numbers, campaigns or page numbers. Days have nights, weeks have weekends.
    A few visitors log in under a name; some share an address with others; some bring their browser up to date.

Nobody's data: addresses are of ranges that belong to nobody (10.0.0.0/8, 2001:db8::/32), words are made up or everyday
nouns, sites end in .example but for search engines and networks that everybody knows.

Beside two real access logs of about 10,000 lines (1,000 visitors, seed 7; real: the two others):

    rows of programs, rows for assets                     26 and 53 %     (28 and 53 %, 20 and 71 %)
    pages a session, sessions of one page                 2.4 and 56 %    (1.6 and 75 %, 1.5 and 88 %)
    visitors who return, pages without a referrer         14 and 24 %     (12 and 34 %, 5 and 75 %)

People stay longer here on purpose: what keeps the order of pages needs some.

Limits: no trends, one time zone, no proxies, no pages that change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from coterie.core.arrays import Flags, Floats, Ints
from coterie.synth import _kit as kit

FIRST_DAY, DAYS = np.datetime64("2024-04-01", "us"), 28  # four weeks from a Monday
WEEK = (1.0, 1.05, 1.05, 1.0, 0.9, 0.65, 0.7)
LINES_MEAN = 13.0  # of a visitor, about

# The site. Numbers of pages are those for 1,000 visitors.
HEAPS_EXPONENT = 0.5  # how the site grows with its visitors
SECTIONS = kit.split("blog docs articles projects products support news photos downloads about")
SECOND_AT_1000, THIRD_AT_1000 = 45, 170
PAGE_EXPONENT = 0.95
IMAGES = 3  # of a page, at most
SEARCHES_AT_1000, SEARCH_EXPONENT = 300, 0.8
HOSTS_AT_1000, HOST_EXPONENT = 80, 1.1
FORMS = ("/search", "/contact", "/account/login")
ASSETS = ("/static/site.css?v=7", "/static/app.js?v=7", "/static/logo.svg", "/static/text.woff2", "/favicon.ico")
WEAK_SPOTS = (
    "/wp-login.php",
    "/xmlrpc.php",
    "/.env",
    "/.git/config",
    "/admin.php",
    "/phpmyadmin/",
    "/cgi-bin/test.cgi",
)
ROBOTS, FEED = "/robots.txt", "/feed.xml"
MISSING = 30  # pages that are linked to and not there

# Visitors.
PROGRAMS = 0.08
PRETENDERS = 2  # the last of the bots' agents
SHARED_ADDRESS, SIX = 0.15, 0.15  # an address that others have, and one of version 6
PROVIDERS_AT_1000, PROVIDER_EXPONENT = 40, 0.9
NAMED = 0.01
UP_TO_DATE = 0.3
RETURNS, RETURN_AGAIN = 0.13, 0.45

# Sessions of people.
FURTHER, STAY = 0.42, 0.65  # chance of a second page, and of each one after it
PAGES_MAX = 30
BELOW, BESIDE, ABOVE, SEARCH, FORM = 0.38, 0.25, 0.12, 0.05, 0.02  # where to; else to any page
FAVOURITE = 1.8  # above 1: the first pages below another are asked for more often
GAP_MEDIAN, GAP_SIGMA = 40.0, 1.1  # seconds between pages, log-normal
WITH_ASSETS = 0.7
UNCHANGED = 0.2  # of assets
STATUS = {200: 0.925, 304: 0.035, 404: 0.02, 301: 0.015, 206: 0.003, 403: 0.001, 500: 0.001}
REFERRERS = (0.40, 0.28, 0.10, 0.16, 0.06)  # nowhere, a search engine, one with words, another site, a network
SILENT = 0.05  # pages of a session whose browser says not where it comes from
ENGINES = ("https://www.google.com/", "https://www.google.com/", "https://www.bing.com/", "https://duckduckgo.com/")
WITH_WORDS = ("https://www.google.com/search?q=", "https://www.bing.com/search?form=QBLH&q=", "https://duckduckgo.com/?q=",
              "https://search.yahoo.com/search?p=")  # fmt: skip
NETWORKS = ("https://www.facebook.com/", "https://t.co/", "https://www.reddit.com/", "https://l.instagram.com/")
# What follows the page: shares of page views.
MARKS = {"?token={}": 0.010, "?sid={}": 0.008, ";jsessionid={}": 0.004, "?page={}": 0.015,
         "?utm_source=newsletter&utm_campaign=week{}": 0.015, "?gclid={}": 0.006}  # fmt: skip
COUNTED = ("?page={}", "?utm_source=newsletter&utm_campaign=week{}")  # small numbers, not random ones
NEXT_RESULTS = 0.1  # of searches

# Programs.
REQUESTS_MEAN = 22
ASK_FIRST, PRETENDER_ASKS = 0.6, 0.3
PAUSE = 12.0  # seconds
BREAK_IN = 0.15  # of sessions of programs
GARBAGE = 0.0004  # of all rows
_SESSIONS_OF_PROGRAMS = 2.5
_HEAD = "UptimeRobot"


@dataclass(frozen=True)
class _Site:
    """Paths by number: pages in order of their level (those below one stand together), forms, then all the rest."""

    host: str
    paths: pl.Series
    sizes: Ints
    pages: int
    above: Ints
    first_below: Ints
    below: Ints  # how many
    images: Ints  # how many; of page p they begin at first_image[p]
    first_image: Ints
    first_asset: int
    robots: int
    feed: int
    first_weak: int
    first_missing: int
    by_popularity: Ints
    popularity: Floats
    searches: pl.Series
    search_cdf: Floats
    hosts: pl.Series
    host_cdf: Floats


@dataclass(frozen=True)
class _Visitors:
    """Who they are, by number."""

    program: Flags
    agent: Ints  # among browsers, then bots
    updated_on: Ints  # the day, if ever
    address: pl.Series
    name: pl.Series


def days(users: int, seed: int) -> Iterator[pl.DataFrame]:
    """Rows of a synthetic access log, one frame for each day, sorted by time.

    Columns: those of VISITS that a file has. Randomness is keyed by days.
    """
    site, visitors = _site(users, seed), _visitors(users, seed)
    visitor, day = _sessions(visitors, seed)
    ends = np.searchsorted(day, np.arange(DAYS + 1))
    for number, (start, end) in enumerate(pairwise(ends)):
        yield _day(kit.stream(seed, "visits of a day", number), number, visitor[start:end], site, visitors)


def line() -> pl.Expr:
    """A row in the combined log format."""
    written = pl.concat_str(["address", "agent"], separator=" ", ignore_nulls=True)
    name = pl.when(pl.col("user") != written).then("user").fill_null("-")
    garbage = pl.when(pl.col("time").dt.second() % 2 == 0).then(pl.lit("-")).otherwise(pl.lit(r"\x16\x03\x01"))
    request = pl.coalesce(pl.format("{} {} HTTP/1.1", "method", "path"), garbage)
    size = pl.when(pl.col("bytes") > 0).then("bytes").cast(pl.String).fill_null("-")
    return pl.format(
        '{} - {} [{}] "{}" {} {} "{}" "{}"',
        "address",
        name,
        pl.col("time").dt.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        request,
        "status",
        size,
        pl.col("referrer").fill_null("-"),
        pl.col("agent").fill_null("-"),
    )


# --- the site ------------------------------------------------------------------------------------------------------


def _site(users: int, seed: int) -> _Site:
    rng = kit.stream(seed, "site")
    growth = max(1.0, users / 1000) ** HEAPS_EXPONENT
    second, third, hosts = (round(number * growth) for number in (SECOND_AT_1000, THIRD_AT_1000, HOSTS_AT_1000))
    first = len(SECTIONS)
    above = np.concatenate([
        np.zeros(1 + first, np.int64),
        1 + np.sort(kit.pick(rng, kit.zipf(first, 0.7), second)),
        1 + first + np.sort(kit.pick(rng, kit.zipf(second, 0.5), third)),
    ])  # fmt: skip
    pages = len(above)
    words = kit.table_of_words(second + third + hosts + MISSING + 1, rng).to_list()
    names = [*SECTIONS, *words[: second + third]]
    below = np.bincount(above[1:], minlength=pages)
    paths = ["/"]
    for page in range(1, pages):
        paths.append(paths[above[page]] + names[page - 1] + (".html" if page > first + second else "/"))
    images = rng.integers(IMAGES + 1, size=pages)
    pictures = [
        f"/static/img/{name}-{number + 1}.jpg"
        for name, count in zip(["home", *names], images.tolist(), strict=True)
        for number in range(count)
    ]
    missing = [f"/old/{word}.html" for word in words[second + third + hosts : -1]]
    parts = (paths, FORMS, pictures, ASSETS, [ROBOTS, FEED], WEAK_SPOTS, missing)
    begins = np.cumsum([0, *map(len, parts)])
    everything = [path for part in parts for path in part]
    searches = _searches(rng, round(SEARCHES_AT_1000 * growth))
    return _Site(
        host=f"https://www.{words[-1]}.example",
        paths=pl.Series(everything),
        sizes=(9_000 * np.exp(0.9 * rng.standard_normal(len(everything)))).astype(np.int64) + 300,
        pages=pages,
        above=above,
        first_below=np.searchsorted(above[1:], np.arange(pages)) + 1,
        below=below,
        images=images,
        first_image=begins[2] + np.cumsum(images) - images,
        first_asset=int(begins[3]),
        robots=int(begins[4]),
        feed=int(begins[4]) + 1,
        first_weak=int(begins[5]),
        first_missing=int(begins[6]),
        by_popularity=np.concatenate([np.zeros(1, np.int64), 1 + rng.permutation(pages - 1)]),
        popularity=kit.zipf(pages, PAGE_EXPONENT),
        searches=searches,
        search_cdf=kit.zipf(len(searches), SEARCH_EXPONENT),
        hosts=pl.Series([f"https://{word}.example/" for word in words[second + third : second + third + hosts]]),
        host_cdf=kit.zipf(hosts, HOST_EXPONENT),
    )


def _searches(rng: np.random.Generator, size: int) -> pl.Series:
    """What is searched for, as it stands in addresses."""
    lengths = 1 + kit.pick(rng, kit.cumulative((0.35, 0.35, 0.2, 0.1)), size)
    nouns = rng.integers(len(kit.NOUNS), size=(size, 4)).tolist()
    texts = [" ".join(kit.NOUNS[noun] for noun in row[:n]) for row, n in zip(nouns, lengths.tolist(), strict=True)]
    written = kit.with_fakes(rng, pl.Series(texts), lengths)
    return written.str.replace_all("@", "%40", literal=True).str.replace_all(" ", "+", literal=True)


# --- visitors ------------------------------------------------------------------------------------------------------


def _visitors(users: int, seed: int) -> _Visitors:
    rng = kit.stream(seed, "visitors")
    program = rng.random(users) < PROGRAMS
    browser, bot = kit.pick(rng, kit.BROWSER_CDF, users), kit.pick(rng, kit.BOT_CDF, users)
    updates = rng.random(users) < UP_TO_DATE
    named = ~program & (rng.random(users) < NAMED)
    names = kit.spell(rng.integers(100_000, size=users), 3)
    return _Visitors(
        program=program,
        agent=np.where(program, len(kit.BROWSERS) + bot, browser),
        updated_on=np.where(updates, rng.integers(1, DAYS, size=users), DAYS),
        address=_addresses(rng, users),
        name=pl.select(pl.when(pl.Series(named)).then(names)).to_series(),
    )


def _addresses(rng: np.random.Generator, users: int) -> pl.Series:
    """Addresses of providers, who have many; some are shared."""
    growth = max(1.0, users / 1000) ** HEAPS_EXPONENT
    providers = rng.permutation(256)[: round(PROVIDERS_AT_1000 * growth)]
    owner = np.arange(users)
    shared = rng.random(users) < SHARED_ADDRESS
    owner[shared] = rng.integers(max(1, users // 50), size=int(shared.sum()))
    prefix = providers[kit.pick(rng, kit.zipf(len(providers), PROVIDER_EXPONENT), users)][owner]
    host, interface = rng.integers(65_536, size=users)[owner], rng.integers(2**32, size=users)[owner]
    six = (rng.random(users) < SIX)[owner]
    octets = (pl.Series(part) for part in (prefix, host >> 8, host & 255))
    old = pl.select(pl.format("10.{}.{}.{}", *octets)).to_series()
    new = [
        f"2001:db8:{p:x}:{h:x}::{i >> 16:x}:{i & 65_535:x}" if is_six else None
        for p, h, i, is_six in zip(prefix.tolist(), host.tolist(), interface.tolist(), six.tolist(), strict=True)
    ]
    return pl.select(pl.coalesce(pl.Series(new, dtype=pl.String), old)).to_series()


def _sessions(visitors: _Visitors, seed: int) -> tuple[Ints, Ints]:
    """Who comes on which day, by day."""
    rng = kit.stream(seed, "sessions")
    users = len(visitors.program)
    people = 1 + (rng.random(users) < RETURNS) * rng.geometric(1 - RETURN_AGAIN, users)
    count = np.where(visitors.program, 1 + rng.poisson(_SESSIONS_OF_PROGRAMS - 1, users), people)
    visitor = np.repeat(np.arange(users), count)
    day = kit.pick(rng, kit.cumulative(np.resize(WEEK, DAYS)), len(visitor))
    order = np.argsort(day, kind="stable")
    return visitor[order], day[order]


# --- a day ---------------------------------------------------------------------------------------------------------


def _day(rng: np.random.Generator, day: int, visitor: Ints, site: _Site, visitors: _Visitors) -> pl.DataFrame:
    program = visitors.program[visitor]
    views, assets = _people(rng, visitor[~program], site)
    rows = pl.concat([views, assets, _programs(rng, visitor[program], site, visitors)])
    rows = rows.filter(pl.col("second") < 86_400).sort("second", maintain_order=True)
    who = rows["visitor"].to_numpy()
    updated = np.where(visitors.updated_on[who] <= day, _LATER[visitors.agent[who]], visitors.agent[who])
    garbage = pl.Series(rng.random(rows.height) < GARBAGE)
    address, agent = visitors.address.gather(who), pl.when(~garbage).then(_AGENTS.gather(updated))
    start = FIRST_DAY + np.timedelta64(day, "D")
    return rows.select(
        user=pl.coalesce(visitors.name.gather(who), pl.concat_str([address, agent], separator=" ", ignore_nulls=True)),
        address=address,
        time=pl.lit(start) + pl.duration(seconds="second"),
        method=pl.when(~garbage).then("method"),
        path=pl.when(garbage).then(pl.lit("")).otherwise("path"),
        status=pl.when(garbage).then(400).otherwise("status").cast(pl.Int16),
        bytes=pl.when(garbage).then(226).otherwise("bytes").cast(pl.Int64),
        referrer=pl.when(~garbage).then("referrer"),
        agent=agent,
    )


_AGENTS = pl.Series([*kit.BROWSERS, *kit.BOTS])
_LATER = np.concatenate([kit.UPDATED, len(kit.BROWSERS) + np.arange(len(kit.BOTS))])


def _rows(
    visitor: Ints, second: Ints, path: pl.Series, method: pl.Series, status: Ints, sizes: Ints, referrer: pl.Series
) -> pl.DataFrame:
    small = np.isin(status, (301, 302, 403, 404, 500))
    size = np.where(np.isin(status, (304,)), 0, np.where(small, 240 + sizes % 90, sizes))
    columns = {"visitor": visitor, "second": second, "path": path, "method": method, "status": status, "bytes": size}
    return pl.DataFrame({**columns, "referrer": referrer})


def _people(rng: np.random.Generator, visitor: Ints, site: _Site) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What people ask for, and what their browsers ask for besides."""
    walk, lengths = _walk(rng, len(visitor), site)
    seen = walk >= 0
    session = np.repeat(np.arange(len(visitor)), lengths)
    landing = np.diff(session, prepend=-1) > 0
    page = walk[seen]
    hour = kit.pick(rng, kit.cumulative([int(weight) for weight in kit.HOURS.split()]), len(visitor))
    gap = np.where(landing, 0, 2 + GAP_MEDIAN * np.exp(GAP_SIGMA * rng.standard_normal(len(page))))
    elapsed = np.cumsum(gap)
    second = (hour * 3600 + rng.integers(3600, size=len(visitor)))[session]
    second = second + (elapsed - elapsed[landing][session]).astype(np.int64)
    status = np.array(list(STATUS))[kit.pick(rng, kit.cumulative(list(STATUS.values())), len(page))]
    form = page >= site.pages
    status[form] = 200
    lost = status == 404
    page[lost] = site.first_missing + rng.integers(MISSING, size=int(lost.sum()))
    sent = (page > site.pages) & form & (rng.random(len(page)) < 0.5)
    status[sent] = 302
    full = pl.select(pl.concat_str([site.paths.gather(page), _marks(rng, page, site)], ignore_nulls=True)).to_series()
    here = pl.select(site.host + full).to_series()
    inside = pl.when(pl.Series(rng.random(len(page)) >= SILENT)).then(here.shift(1))
    outside = _outside(rng, int(landing.sum()), site).gather(np.maximum(np.cumsum(landing) - 1, 0))
    views = _rows(
        visitor[session],
        second,
        full,
        pl.select(pl.when(pl.Series(sent)).then(pl.lit("POST")).otherwise(pl.lit("GET"))).to_series(),
        status,
        _varied(rng, site.sizes[page]),
        pl.select(pl.when(pl.Series(landing)).then(outside).otherwise(inside)).to_series(),
    )
    fresh = (rng.random(len(visitor)) < WITH_ASSETS)[session]
    return views, _assets(rng, views, page, landing, fresh, here, site)


def _walk(rng: np.random.Generator, sessions: int, site: _Site) -> tuple[Ints, Ints]:
    """The pages of each session, one after the other (-1 where it has ended), and how many they are."""
    further = np.where(rng.random(sessions) < FURTHER, rng.geometric(1 - STAY, sessions), 0)
    lengths = np.minimum(1 + further, PAGES_MAX)
    walk = np.full((sessions, int(lengths.max(initial=1))), -1)
    page = site.by_popularity[kit.pick(rng, site.popularity, sessions)]
    for step in range(walk.shape[1]):
        goes_on = lengths > step
        walk[goes_on, step] = page[goes_on]
        page = _next(rng, page, site)
    return walk, lengths


def _next(rng: np.random.Generator, page: Ints, site: _Site) -> Ints:
    size = len(page)
    where = kit.pick(
        rng, kit.cumulative((BELOW, BESIDE, ABOVE, SEARCH, FORM, 1 - BELOW - BESIDE - ABOVE - SEARCH - FORM)), size
    )
    anywhere = site.by_popularity[kit.pick(rng, site.popularity, size)]
    at = np.minimum(page, site.pages - 1)  # forms have no place in the tree: from there to any page
    where[page >= site.pages] = 5
    above, skewed = site.above[at], rng.random(size) ** FAVOURITE
    where[(where == 0) & (site.below[at] == 0)] = 1
    where[(where == 1) & (at == 0)] = 5
    below = site.first_below[at] + (site.below[at] * skewed).astype(np.int64)
    sibling = site.first_below[above] + (site.below[above] * skewed).astype(np.int64)
    form = site.pages + 1 + rng.integers(len(FORMS) - 1, size=size)
    return np.choose(where, (below, sibling, above, np.full(size, site.pages), form, anywhere))


def _marks(rng: np.random.Generator, page: Ints, site: _Site) -> pl.Series:
    """What follows the page in an address; null for most."""
    kinds = list(MARKS)
    kind = kit.pick(rng, kit.cumulative([1 - sum(MARKS.values()), *MARKS.values()]), len(page)) - 1
    kind[(page >= site.pages) | (page == 0)] = -1
    number = rng.integers(2**62, size=len(page))
    searched = np.flatnonzero(page == site.pages)
    marked = np.flatnonzero(kind >= 0)
    queries = site.searches.gather(kit.pick(rng, site.search_cdf, len(searched)))
    more = pl.Series(rng.random(len(searched)) < NEXT_RESULTS)
    asked = pl.select(pl.format("?q={}{}", queries, pl.when(more).then(pl.lit("&page=2")).otherwise(pl.lit(""))))
    others = [_mark(kinds[k], n) for k, n in zip(kind[marked].tolist(), number[marked].tolist(), strict=True)]
    texts = pl.concat([pl.Series([None], dtype=pl.String), asked.to_series(), pl.Series(others, dtype=pl.String)])
    which = np.zeros(len(page), np.int64)
    which[searched] = 1 + np.arange(len(searched))
    which[marked] = 1 + len(searched) + np.arange(len(marked))
    return texts.rechunk().gather(which)


def _mark(kind: str, number: int) -> str:
    return kind.format(2 + number % 4 if kind in COUNTED else f"{number:016x}{number * 3:016x}"[:32])


def _outside(rng: np.random.Generator, size: int, site: _Site) -> pl.Series:
    """Where people come from; null for nowhere."""
    words = site.searches.gather(kit.pick(rng, site.search_cdf, size))
    engine = rng.integers(len(WITH_WORDS), size=size)
    asked = pl.select(pl.concat_str(pl.Series(WITH_WORDS).gather(engine), words)).to_series()
    sources = (
        pl.Series([None] * size, dtype=pl.String),
        pl.Series(ENGINES).gather(rng.integers(len(ENGINES), size=size)),
        asked,
        site.hosts.gather(kit.pick(rng, site.host_cdf, size)),
        pl.Series(NETWORKS).gather(rng.integers(len(NETWORKS), size=size)),
    )
    kind = kit.pick(rng, kit.cumulative(REFERRERS), size)
    return pl.concat(sources, rechunk=True).gather(kind * size + np.arange(size))


def _assets(
    rng: np.random.Generator,
    views: pl.DataFrame,
    page: Ints,
    landing: Flags,
    fresh: Flags,
    here: pl.Series,
    site: _Site,
) -> pl.DataFrame:
    """Styles, scripts and icon with the first page of a session, images with each; only for `fresh` browsers."""
    visitor, second, status = (views[name].to_numpy() for name in ("visitor", "second", "status"))
    common = np.where(landing & fresh, len(ASSETS), 0)
    shown = np.isin(status, (200, 304)) & (page < site.pages) & fresh
    pictures = np.where(shown, site.images[np.minimum(page, site.pages - 1)], 0)
    count = common + pictures
    view = np.repeat(np.arange(len(page)), count)
    place = np.arange(len(view)) - (np.cumsum(count) - count)[view]
    picture = site.first_image[np.minimum(page, site.pages - 1)][view] + place - common[view]
    asset = np.where(place < common[view], site.first_asset + place, picture)
    answered = np.where(rng.random(len(view)) < UNCHANGED, 304, 200)
    return _rows(
        visitor[view],
        second[view] + rng.integers(3, size=len(view)),
        site.paths.gather(asset),
        pl.Series(["GET"]).new_from_index(0, len(view)),
        answered,
        site.sizes[asset],
        here.gather(view),
    )


def _programs(rng: np.random.Generator, visitor: Ints, site: _Site, visitors: _Visitors) -> pl.DataFrame:
    """What programs ask for: robots.txt, then pages in any order, or weak spots."""
    agent = visitors.agent[visitor] - len(kit.BROWSERS)
    heads = np.array([_HEAD in name for name in kit.BOTS])[agent]
    honest = agent < len(kit.BOTS) - PRETENDERS
    count = rng.geometric(1 / REQUESTS_MEAN, len(visitor))
    session = np.repeat(np.arange(len(visitor)), count)
    first = np.diff(session, prepend=-1) > 0
    page = rng.integers(site.pages, size=len(session))
    status = np.array([200, 304, 404, 301])[kit.pick(rng, kit.cumulative((0.88, 0.05, 0.03, 0.04)), len(session))]
    lost = status == 404
    page[lost] = site.first_missing + rng.integers(MISSING, size=int(lost.sum()))
    page[rng.random(len(page)) < 0.02] = site.feed
    breaks_in = (~heads & (rng.random(len(visitor)) < BREAK_IN))[session]
    page[breaks_in] = site.first_weak + rng.integers(len(WEAK_SPOTS), size=int(breaks_in.sum()))
    status[breaks_in] = 404
    asks = first & (rng.random(len(visitor)) < np.where(honest, ASK_FIRST, PRETENDER_ASKS))[session]
    page[asks] = site.robots
    page[heads[session]] = 0
    status[asks | heads[session]] = 200
    gap = np.where(first, 0, 1 + rng.exponential(PAUSE, len(session)))
    elapsed = np.cumsum(gap)
    second = rng.integers(86_400, size=len(visitor))[session] + (elapsed - elapsed[first][session]).astype(np.int64)
    return _rows(
        visitor[session],
        second,
        site.paths.gather(page),
        pl.select(pl.when(pl.Series(heads[session])).then(pl.lit("HEAD")).otherwise(pl.lit("GET"))).to_series(),
        status,
        _varied(rng, site.sizes[page]),
        pl.Series([None], dtype=pl.String).new_from_index(0, len(session)),
    )


def _varied(rng: np.random.Generator, sizes: Ints) -> Ints:
    """Sizes of pages, which change a little."""
    return sizes + (sizes * 0.02 * rng.random(len(sizes))).astype(np.int64)
