"""Two pages: somebody who knows two pages that a visitor read on one day looks for the name that has both.

Of each attacked visitor the adversary knows a day and two different pages that they asked for on it, drawn at random,
and looks for names under which both pages stand, on that day or without one. A page that the release does not have is
looked for as its longest beginning that it has (`/a/*`).

    guessed       the adversary picks one of the names that fit, and is right
    singled_out   visitors for whom one name alone fits, and it is theirs (% of attacked visitors, 95 % interval)
    pages         further pages of theirs that then stand under the name, mean over those singled out

Population: visitors who asked for two different pages on some day, up to 1,000 drawn by the seed: people, as far as
their agents tell. Those are released who have a name in the release. Control: a name of the release at random. What
`before`, `after` and `released` mean is explained in measures/rates.py. `masked` is a copy of the original as masking
tools leave it: the last 12 bits of an address (of version 6: the last 84) are 0, and an agent with what is left of its
address is a name. In the release, a row without a name leads to no other row; both pages can still stand in it if one
is the referrer of the other, and then each such row is a name of its own. Counts link nothing, so nobody is singled out
in them. It needs the run record, to know whose name is whose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.scores import Score
from coterie.core.shapes import VISITS
from coterie.measures.comparison import Comparison
from coterie.measures.rates import CHANCE, OF_RELEASED, Rate, Shares, figures_in, mean, sentences, titled
from coterie.measures.subjects import drawn, first_drawn
from coterie.text.agents import parse_agents

needs = frozenset({"record"})
ATTACKED = 1_000
_UNIT = "% of visitors"
MASKED_BITS = {4: 12, 6: 84}
"""Bits of an address that masking takes away, by its version: what anonip does unless told otherwise."""
GUESSED = Rate(
    "guessed",
    "Found by two pages and the day",
    "The same where somebody picks one of the names that fit.",
    unit=_UNIT,
    beside=(OF_RELEASED, CHANCE),
    attacker="somebody who knows two pages of a visitor and the day picks one of the names that fit, and is right",
    control="a name of the release at random",
    shape="VISITS",
    names="after.names",
)
SHOWN = {
    "after.singled_out": titled(
        "Singled out by two pages and the day",
        "Visitors for whom somebody who knows two of their pages and the day finds one name that fits, and it is "
        "theirs. In brackets the 95% interval. Lower is safer.",
    ),
    **GUESSED.shown,
    "after.pages": titled("Further pages then read", "Other pages of such a visitor that stand under the name, mean."),
}
figures = figures_in("attacks", 35, SHOWN)
weighed = (GUESSED.weighed,)
findings = sentences(
    "singling out",
    "Somebody who knows two pages that a visitor asked for on one day finds a single name that fits, and it is theirs, "
    "for {after.singled_out} of visitors; in the log itself for {before.singled_out}.",
)
_OF_URL = r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*://)?[^/]*(/.*)$"
_DEEPEST = 32  # segments of the longest beginning of a path
_ANY_DAY = -(2**31)


def measure(comparison: Comparison) -> Iterator[Score]:
    """How many visitors are singled out in the original, in a masked copy of it, and in the release."""
    comparison.require_shape(VISITS, "It is about pages that visitors of a website read")
    visits = _visits(comparison)
    clues = known(visits, comparison.seed)
    yield Score("visitors", clues.height, "visitors attacked")
    own = visits.select(original="visitor", released="visitor").unique()
    yield from _scores("before", clues, visits, visits.select("page", "day", name="visitor"), own)
    hidden = masked(visits)
    yield from _scores("masked", clues, visits, *hidden)
    rows, names = _released(comparison, visits)
    yield from _scores("after", clues, visits, rows, names)


def _scores(
    moment: str, clues: pl.DataFrame, visits: pl.DataFrame, rows: pl.DataFrame, names: pl.DataFrame
) -> Iterator[Score]:  # fmt: skip
    attacked = attack(clues, visits, rows, names)
    alone = attacked.filter("singled_out")
    yield Score(f"{moment}.names", rows["name"].n_unique(), "names")
    targets = attacked.select(
        person="visitor", n=pl.lit(1), success="guessed", control="chance", released=pl.col("chance") > 0
    )
    found = Shares.of(targets)
    if moment == "masked":
        yield from mean(f"{moment}.guessed", found.every, _UNIT)
    else:
        yield from GUESSED.scores(moment, found)
    yield from mean(f"{moment}.singled_out", attacked["singled_out"].cast(pl.Float64).to_numpy(), _UNIT)
    yield Score(f"{moment}.pages", alone["read"].cast(pl.Float64).mean() if alone.height else None, "pages")  # type: ignore[arg-type]


# --- what is known, and where it is looked for ---------------------------------------------------------


def _visits(comparison: Comparison) -> pl.DataFrame:
    """row, visitor, page, day, address, agent of the original's rows with a visitor; days since 1970."""
    shape = comparison.log.shape
    columns = {"visitor": pl.col(shape.subject), "page": pl.col(shape.item), "day": _day(pl.col(shape.time))}
    rows = comparison.log.frame.select("row", "address", "agent", **columns)
    return rows.drop_nulls("visitor").collect(engine="streaming")


def _day(time: pl.Expr) -> pl.Expr:
    return time.dt.date().cast(pl.Int32).fill_null(_ANY_DAY)


def known(visits: pl.DataFrame, seed: int) -> pl.DataFrame:
    """visitor, day, one, two: what is known of each attacked visitor, sorted by visitor."""
    agents = visits.select("agent").unique()
    robots = agents.filter(parse_agents(agents["agent"])["bot"].fill_null(False))
    people = visits.filter(pl.col("day") != _ANY_DAY).join(robots, on="agent", how="anti")
    people = people.join(visits.join(robots, on="agent", how="semi"), on="visitor", how="anti")
    read = people.select("visitor", "day", "page").unique().filter(pl.len().over("visitor", "day") > 1)
    visitors = drawn(read["visitor"].unique().sort(), ATTACKED, seed, "visitors of two pages")
    read = read.join(visitors.to_frame(), on="visitor")
    days = first_drawn(read.select("visitor", "day").unique(), ["visitor"], "the day of two pages", seed)
    pages = read.join(days.select("visitor", "day"), on=["visitor", "day"])
    two = first_drawn(pages, ["visitor"], "two pages", seed, 2).group_by("visitor", "day", maintain_order=True)
    return two.agg(one=pl.col("page").first(), two=pl.col("page").last()).sort("visitor")


def masked(visits: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows under the names that a masked log has (name, page, day), and whose each is (original, released)."""
    addresses = visits.select("address").drop_nulls().unique()
    short = pl.Series("_masked", [mask(address) for address in addresses["address"]], dtype=pl.String)
    rows = visits.join(addresses.with_columns(short), on="address", how="left")
    name = pl.concat_str(pl.coalesce("_masked", "visitor"), "agent", separator=" ", ignore_nulls=True)
    rows = rows.with_columns(name.alias("name"))
    return rows.select("name", "page", "day"), rows.select(original="visitor", released="name").unique()


def mask(address: str) -> str:
    """An address whose last bits are 0; of several, as proxies list them, the first. Names of hosts stay."""
    text = address.partition(",")[0].strip()
    try:
        number: IPv4Address | IPv6Address = ip_address(text)
    except ValueError:
        return text
    bits = MASKED_BITS[number.version]
    return str(type(number)(int(number) >> bits << bits))


def _released(comparison: Comparison, visits: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same of the release; rows without a name that hold two pages are names of their own."""
    shape, nothing = comparison.release.log.shape, pl.DataFrame(schema={"name": pl.String, "page": pl.String})
    if not shape.subject:
        nobody = pl.DataFrame(schema={"original": pl.String, "released": pl.String})
        return nothing.with_columns(pl.lit(_ANY_DAY).alias("day")), nobody
    led = pl.col("referrer").str.extract(_OF_URL) if "referrer" in shape.released else pl.lit(None, pl.String)
    columns = {"name": pl.col(shape.subject), "page": pl.col(shape.item), "day": _day(pl.col(shape.time))}
    rows = comparison.release.log.frame.select(led=led, **columns)
    table = rows.collect(engine="streaming").with_row_index("released_row")
    bare = table.filter(pl.col("name").is_null() & pl.col("led").is_not_null())
    bare = bare.with_columns(pl.format("row {}", "released_row").alias("name"))
    names = comparison.names.select("original", "released")
    if comparison.record.rows is not None:
        whose = comparison.rows.join(visits.select("row", original="visitor"), on="row")
        theirs = whose.join(bare.select("released_row", released="name"), on="released_row")
        names = pl.concat([names, theirs.select("original", "released")])
    both = pl.concat([bare.select("name", "page", "day"), bare.select("name", pl.col("led").alias("page"), "day")])
    return pl.concat([table.drop_nulls("name").select("name", "page", "day"), both]), names


# --- the attack ------------------------------------------------------------------------------------------


def attack(clues: pl.DataFrame, visits: pl.DataFrame, rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """visitor, candidates, singled_out, guessed, chance, read of each attacked visitor.

    `clues`: visitor, day, one, two. `visits`: visitor, page of the original. `rows`: name, page, day. `names`:
    original, released.
    """
    stand = _Postings.of(rows)
    own = names.join(clues, left_on="original", right_on="visitor", how="semi").unique()
    of_visitor = own.group_by("original").agg("released").iter_rows()
    mine = {who: [stand.numbers[name] for name in theirs if name in stand.numbers] for who, theirs in of_visitor}
    pages = visits.join(clues, on="visitor", how="semi").select("visitor", "page").unique().group_by("visitor")
    read = dict(pages.agg("page").iter_rows())
    lines = []
    for visitor, day, one, two in clues.select("visitor", "day", "one", "two").iter_rows():
        labels = [stand.label(page) for page in (one, two)]
        fits = np.intersect1d(stand.names_with(labels[0], day), stand.names_with(labels[1], day))
        theirs = np.intersect1d(fits, np.array(mine.get(visitor, []), dtype=np.int64))
        alone, more = fits.size == 1 and theirs.size == 1, 0
        if alone:
            further = {stand.label(page) for page in read[visitor]} - {None, *labels}
            more = len(further & stand.pages_of(int(fits[0])))
        lines.append((
            visitor, fits.size, alone, theirs.size / max(1, fits.size),
            len(mine.get(visitor, [])) / max(1, len(stand.numbers)), more,
        ))  # fmt: skip
    schema = {"visitor": pl.String, "candidates": pl.Int64, "singled_out": pl.Boolean}
    return pl.DataFrame(
        lines, schema=schema | {"guessed": pl.Float64, "chance": pl.Float64, "read": pl.Int64}, orient="row"
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Postings:
    """Which names have a page, and on which days."""

    rows: pl.DataFrame
    """page, name, number (of the name), day, sorted."""
    spans: dict[str, tuple[int, int]]
    """Where the rows of each page begin, and how many they are."""
    numbers: dict[str, int]
    """The number of each name."""

    @classmethod
    def of(cls, rows: pl.DataFrame) -> _Postings:
        """`rows`: name, page, day."""
        number = (pl.col("name").rank("dense") - 1).cast(pl.Int64)
        table = rows.unique().with_columns(number=number).sort("page", "number", "day")
        begin = table.with_row_index("begin").group_by("page").agg(pl.col("begin").min(), pl.len())
        spans = {page: (first, count) for page, first, count in begin.iter_rows()}
        return cls(table, spans, dict(table.select("name", "number").unique().iter_rows()))

    def label(self, page: str) -> str | None:
        """What a page is looked for as: itself, or its longest beginning that is there."""
        return next((label for label in _beginnings(page) if label in self.spans), None)

    def names_with(self, label: str | None, day: int) -> NDArray[np.int64]:
        """The names that have it on a day, or without one."""
        if label is None:
            return np.zeros(0, dtype=np.int64)
        here = self.rows.slice(*self.spans[label])
        that_day = (pl.col("day") == day) | (pl.col("day") == _ANY_DAY)
        return here.filter(that_day)["number"].to_numpy()

    def pages_of(self, name: int) -> set[str]:
        """All that stands under a name."""
        return set(self.rows.filter(pl.col("number") == name)["page"])


def _beginnings(path: str) -> Iterator[str]:
    """A path and its beginnings, longest first: `/a/b?c`, `/a/b`, `/a/*`, `/*`."""
    page = path.partition("?")[0]
    yield path
    yield page
    segments = page.split("/")
    for length in range(min(len(segments) - 1, _DEEPEST), 0, -1):
        yield "/".join([*segments[:length], "*"])
