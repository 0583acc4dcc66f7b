"""What the generators of synthetic logs share: random streams, made-up words, texts from numbers, user agents; and
events: how many, when, which repeat one, what is clicked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from coterie.core.arrays import Floats, Ints
from coterie.core.registry import table_at

ZIPF_EXPONENT = 1.0
MIX = np.uint64(0x9E3779B97F4A7C15)  # an odd multiplier with its bits well spread
RARE_SYLLABLES = 4
FAKE_PERSONAL = 0.01  # of personal queries of 1, 3 or 4 words


def split(text: str) -> list[str]:
    return text.split()


def _plural(noun: str) -> str:
    """The plural of a noun, or the noun where that takes more than an s."""
    return noun if noun.endswith(("s", "x", "y", "f", "o", "ch", "sh", "man", "fish", "deer", "sheep")) else noun + "s"


WORDS = table_at("synth", "data/words.toml")
# Syllables end at their vowel. Without f, g and sh few of the words made of them are rude.
ONSETS = split("b c d h j k l m n p r s t v w z br ch cl dr fl pl pr st th tr")
SYLLABLES = [onset + vowel for onset in ONSETS for vowel in "aeiou"]
HEADS, FOREIGN, MODIFIERS = (split(WORDS[name]) for name in ("heads", "foreign", "modifiers"))
FIELDS = {name: split(nouns) for name, nouns in WORDS["fields"].items()}
"""Everyday nouns by field: neighbouring fields are related, and the most general words of a field come first."""
NOUNS = list(dict.fromkeys(word for field in FIELDS.values() for word in field))
PLURALS = [_plural(noun) for noun in NOUNS]
STREETS = ("street", "avenue", "road", "lane")


def stream(seed: int, purpose: str, block: int = 0) -> np.random.Generator:
    """An independent stream for one purpose and one block."""
    key = blake2b(f"{seed}/{purpose}/{block}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))


def pick(rng: np.random.Generator, cdf: Floats, size: int | tuple[int, ...]) -> Ints:
    """Positions drawn from a cumulative distribution."""
    position = np.searchsorted(cdf, rng.random(size), side="right")
    return np.minimum(position, len(cdf) - 1).astype(np.int64)


def cumulative(weights: ArrayLike) -> Floats:
    total = np.cumsum(np.asarray(weights, dtype=np.float64))
    return cast(Floats, total / total[-1])


def zipf(size: int, exponent: float, shift: float = 0.0) -> Floats:
    return cumulative((np.arange(1, size + 1) + shift) ** -exponent)


def zipf_with_top(size: int, top: float) -> Floats:
    """Zipf-Mandelbrot whose first position has the share `top`, or as near as the size allows."""
    low, high = 0.0, float(size)
    for _ in range(40):
        middle = (low + high) / 2
        too_much = zipf(size, ZIPF_EXPONENT, middle)[0] > top
        low, high = (middle, high) if too_much else (low, middle)
    return zipf(size, ZIPF_EXPONENT, high)


def spell(numbers: Ints, syllables: int) -> pl.Series:
    """Number -> made-up word. One to one: a syllable ends at its vowel, so no two numbers meet."""
    alphabet = pl.Series(SYLLABLES)
    base = len(SYLLABLES)
    digits = [alphabet.gather(numbers // base**place % base) for place in range(syllables)]
    return pl.select(pl.concat_str(digits)).to_series()


def table_of_words(count: int, rng: np.random.Generator) -> pl.Series:
    """`count` different words: short ones first, in an order that does not look like counting."""
    parts: list[pl.Series] = []
    for syllables in (2, 3, 4):
        space = len(SYLLABLES) ** syllables
        size = min(space, count - sum(map(len, parts)))
        start, stride = int(rng.integers(space)), 2 * int(rng.integers(space // 8)) + 7
        while np.gcd(stride, space) != 1:
            stride += 2
        parts.append(spell((start + np.arange(size) * stride) % space, syllables))
    return pl.concat(parts, rechunk=True)


def join(parts: Ints, words: pl.Series) -> pl.Series:
    """Rows of word numbers -> texts. A number beyond `words` is a rare word, spelled here."""
    present = parts >= 0
    numbers = parts[present]
    rare = numbers >= len(words)
    spelled = spell(numbers[rare] - len(words), RARE_SYLLABLES)
    nothing = pl.Series([None], dtype=pl.String)
    texts = pl.concat([words.gather(numbers[~rare]), spelled, nothing], rechunk=True)
    where = np.empty(len(numbers), np.int64)
    where[~rare] = np.arange(len(numbers) - len(spelled))
    where[rare] = len(numbers) - len(spelled) + np.arange(len(spelled))
    lookup = np.full(parts.shape, len(texts) - 1)
    lookup[present] = where
    columns = [texts.gather(column).alias(str(i)) for i, column in enumerate(lookup.T)]
    joined = pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)
    return pl.DataFrame(columns).select(joined).to_series()


def decorate(rng: np.random.Generator, texts: pl.Series, lengths: Ints) -> pl.Series:
    """Some single words become addresses of sites, and a few queries fake personal data."""
    dice = pl.Series(np.where(lengths == 1, rng.random(len(texts)), 1))
    return with_fakes(rng, as_sites(texts, dice < 0.3, dice < 0.45), lengths)


def as_sites(names: pl.Series, with_www: pl.Series, with_end: pl.Series) -> pl.Series:
    """Some names become addresses of sites: `www.name.com`, or `name.com`."""
    address = pl.when(with_www).then(pl.format("www.{}.com", names)).when(with_end).then(pl.format("{}.com", names))
    return pl.select(address.otherwise(names)).to_series()


def with_fakes(rng: np.random.Generator, texts: pl.Series, lengths: Ints) -> pl.Series:
    """A few queries become fake personal data."""
    fake = np.isin(lengths, (1, 3, 4)) & (rng.random(len(texts)) < FAKE_PERSONAL)
    rows = np.flatnonzero(fake)
    numbers = rng.integers(1_000_000, size=len(rows))
    names = [spell(numbers + step, 3).to_list() for step in (0, 17, 71)]
    fakes = list(map(_fake, lengths[rows].tolist(), numbers.tolist(), *names))
    return texts.scatter(rows, fakes) if fakes else texts


def _fake(length: int, number: int, first: str, last: str, town: str) -> str:
    """A query of `length` words that looks like personal data of somebody who cannot exist."""
    if length == 1:
        area, line = 200 + number % 800, number // 800 % 100
        return f"{first}.{last}@example.com" if number % 2 else f"{area}-555-01{line:02}"
    address = f"{1 + number % 9999} {first} {STREETS[number % len(STREETS)]}"
    return address if length == 3 else f"{address} {town}"


def as_hosts(heads: pl.Series) -> pl.Series:
    plain = heads.str.normalize("NFKD").str.replace_all("[^a-z]", "")
    named = pl.when(plain == "").then(pl.lit("example")).otherwise(plain)
    return pl.select(pl.format("http://www.{}.com", named)).to_series()


_MARKS = {"~": "AppleWebKit/537.36 (KHTML, like Gecko)", "^": "AppleWebKit/605.1.15 (KHTML, like Gecko)"}


# What browsers and programs call themselves (`data/agents.toml`): a weight, versions that `{}` stands for (later ones
# are more frequent), and marks for words that nearly all have.
def _table(lines: str) -> tuple[list[str], Floats, Ints]:
    """The agents, how frequent they are, and which one each becomes when it is brought up to date."""
    agents: list[str] = []
    weights: list[float] = []
    following: list[int] = []
    for line in lines.splitlines():
        weight, versions, agent = (part.strip() for part in line.split("|", 2))
        for mark, words in _MARKS.items():
            agent = agent.replace(mark, words)
        written = [agent.format(version) for version in versions.split()]
        shares = range(1, len(written) + 1)
        last = len(agents) + len(written) - 1
        following += [min(len(agents) + place, last) for place in shares]
        weights += [float(weight) * share / sum(shares) for share in shares]
        agents += written
    return agents, cumulative(weights), np.array(following)


_LISTS = table_at("synth", "data/agents.toml")
BROWSERS, BROWSER_CDF, UPDATED = _table(_LISTS["browsers"])
BOTS, BOT_CDF, _ = _table(_LISTS["bots"])


# --- events ------------------------------------------------------------------------------------------

# Users. Randomness is keyed by blocks of this many users; changing the number changes every log.
BLOCK_USERS = 2_000
ID_STEP = 37  # ids have gaps, as in AOL: 657,426 users end near 24 million
LINES_MEAN, LINES_MEDIAN = 55.7, 20.0
LINES_PER_EVENT = 36.39 / 28.90
EVENTS_MAX = 50_000  # far out in the tail; keeps a user inside the three months

# Events.
EVENTS_PER_SESSION = 5.0
NEXT_PAGE = 0.27  # chance after the first event of a session
CLICKED = 0.45
GAP_MEDIAN, GAP_SIGMA = 70.0, 1.0  # seconds between events of a session, log-normal
RANK_EXPONENT, RANK_MAX = 2.0, 500
FIRST_DAY, DAYS = np.datetime64("2006-03-01", "s"), 92
HOURS = "30 18 11 8 6 8 14 24 36 46 52 54 55 56 57 58 58 57 58 62 66 66 58 44"  # weights


def activity(rng: np.random.Generator, size: int) -> Ints:
    """Events per user: one from each of `size` equal slices of the log-normal, for small logs."""
    quantiles = np.clip((rng.permutation(size) + rng.random(size)) / size, 1e-9, 1 - 1e-9)
    normal = NormalDist(sigma=np.sqrt(2 * np.log(LINES_MEAN / LINES_MEDIAN)))
    deviation = np.array([normal.inv_cdf(quantile) for quantile in quantiles.tolist()])
    events: Floats = LINES_MEDIAN / LINES_PER_EVENT * np.exp(deviation)
    counts: Ints = np.rint(events.clip(1, EVENTS_MAX)).astype(np.int64)
    return counts


@dataclass(frozen=True)
class Schedule:
    """When a block of users searched: sorted by user, then time; times differ within a user."""

    user: Ints
    position: Ints  # among the events of the user
    session: Ints
    seconds: Ints


def schedule(rng: np.random.Generator, counts: Ints) -> Schedule:
    user = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(user)) - (np.cumsum(counts) - counts)[user]
    begins = (position == 0) | (rng.random(len(user)) < 1 / EVENTS_PER_SESSION)
    session = np.cumsum(begins) - 1
    sessions = int(begins.sum())
    hour = pick(rng, cumulative([int(weight) for weight in HOURS.split()]), sessions)
    start = (rng.integers(DAYS, size=sessions) * 24 + hour) * 3600
    start += rng.integers(3600, size=sessions)
    gap = 1 + GAP_MEDIAN * np.exp(GAP_SIGMA * rng.standard_normal(len(user)))
    elapsed = np.cumsum(np.where(begins, 0, gap))
    seconds = start[session] + (elapsed - elapsed[begins][session]).astype(np.int64)

    order = np.lexsort((seconds, user))
    # At least a second between two events of a user, and none after the last day.
    far = user * (4 * DAYS * 86_400)
    seconds = np.maximum.accumulate(seconds[order] - position + far) - far + position
    seconds = np.minimum(seconds, DAYS * 86_400 - (counts[user] - position))
    return Schedule(user, position, session[order], seconds)


def first_typed(rng: np.random.Generator, events: Schedule, returns: float | Floats, habit: float = 1.0) -> Ints:
    """For each event the event where its query was first typed: itself, unless it repeats one.

    A query is repeated as the next page, or, with the chance `returns` (of all events, or of each), any earlier one of
    the user is. A `habit` above 1 prefers those of long ago.
    """
    here = np.arange(len(events.user))
    follows = np.diff(events.session, prepend=-1) == 0
    next_page = follows & (rng.random(len(here)) < NEXT_PAGE)
    back = (events.position > 0) & (rng.random(len(here)) < returns)
    earlier = here - events.position + (events.position * rng.random(len(here)) ** habit).astype(np.int64)
    origin = np.where(next_page, here - 1, np.where(back, earlier, here))
    while not np.array_equal(origin, further := origin[origin]):
        origin = further
    return origin


def ranks(rng: np.random.Generator, line: Ints) -> Ints:
    """Ranks of the clicks, rising within an event so that no line comes twice."""
    step = 1 + pick(rng, zipf(RANK_MAX, RANK_EXPONENT), len(line))
    total = np.cumsum(step)
    begins = np.diff(line, prepend=-1) > 0
    return np.minimum(total - (total - step)[begins][line], RANK_MAX)


def begin(rng: np.random.Generator, block: int, users: int) -> tuple[np.random.Generator, pl.Series]:
    """The stream of a block, and the ids of its users."""
    first = block * BLOCK_USERS
    size = min(BLOCK_USERS, users - first)
    numbers = (first + np.arange(size) + 1) * ID_STEP + rng.integers(ID_STEP, size=size)
    return rng, pl.Series(numbers).cast(pl.String)


def lines(
    rng: np.random.Generator,
    users: pl.Series,
    events: Schedule,
    queries: pl.Series,
    hosts: Callable[[Ints, Ints], pl.Series],
) -> pl.DataFrame:
    """The rows of a block: one for each click of an event, or one without. `hosts` are those of (event, rank)."""
    size = len(events.user)
    clicks = rng.geometric(CLICKED / (CLICKED + LINES_PER_EVENT - 1), size)
    clicks[rng.random(size) >= CLICKED] = 0
    line = np.repeat(np.arange(size), np.maximum(clicks, 1))
    rank = ranks(rng, line)
    clicked = pl.Series(clicks > 0).gather(line)
    time = FIRST_DAY + events.seconds.astype("timedelta64[s]")
    return pl.select(
        user=users.gather(events.user[line]),
        time=pl.Series(time.astype("datetime64[us]")[line]),
        query=queries.gather(line),
        rank=pl.when(clicked).then(pl.Series(rank, dtype=pl.Int32)),
        url=pl.when(clicked).then(hosts(line, rank)),
    )
