"""A synthetic search log with the statistics of a real one, and no real person in it.

Why: the AOL log may not be passed on, and its lines are personal data. Demos, tests and benchmarks
use this log instead. No row, word list or user of a real log went into it.

Model
    Shared queries come from a pool of lists: one general list ("weather") and one per topic. The
    position in a list follows Zipf-Mandelbrot, P(r) ~ (r + b)^-s with s = 1. Lists grow with the
    number of users, and b is solved so that the top query keeps its share at every size.
    Personal queries are written for one event: a rare word, or words around a shared head Q in the
    shapes Q+R, R+Q, R+Q+R, or words without a head. Modifiers R are not queries on their own.
    A user has 1 to 4 topics, a session has one: nine of ten times a topic of the user, the first one
    more often than the others. These are the interests by which users can be grouped: a topic has
    queries and modifiers of its own, and none is closer to another. An event is a new query, a next
    page (the query just before, later) or a return to an earlier query of the same user.
    A few personal queries look like personal data and are fake on their face: telephone numbers
    555-01xx, addresses at example.com, streets with made-up names.

Calibration (SPEC 1.1 and 1.4; paper 001 Table 1); the tests hold the tolerances
    lines per user        log-normal, mean 55.7, median 20
    lines per event       36.39 / 28.90; an event is a distinct (user, query, time)
    words, distinct       26.64 20.22 20.56 14.56 17.99 % of queries have 1, 2, 3, 4, 5+ words
    words, events         41.21 24.53 15.69  8.88  9.66 %
    single-user queries   about 90 % of distinct queries
    repeats by the user   30 to 40 % of events: 1 - distinct (user, query) / events
    events with a click   about half
    refinements Q+R       about 40 % of distinct queries of several words: a proper prefix of whole
                          words is itself a query of two or more users
    top query             1 % of events

Shares released from this log by any method are properties of the generator, not results about AOL.
Limits: one language model for all users, no weekly rhythm, no trends. The bytes depend on users,
seed and NumPy's random streams; never on batches or threads.
"""

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from statistics import NormalDist
from typing import IO, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from coterie.core.arrays import Floats, Ints

# Users. Randomness is keyed by blocks of this many users; changing the number changes every log.
BLOCK_USERS = 2_000
ID_STEP = 37  # ids have gaps, as in AOL: 657,426 users end near 24 million
LINES_MEAN, LINES_MEDIAN = 55.7, 20.0
LINES_PER_EVENT = 36.39 / 28.90
EVENTS_MAX = 50_000  # far out in the tail; keeps a user inside the three months
TOPICS_PER_USER, TOPIC_EXPONENT = 4, 0.5
FAVOURITE = 1.5  # above 1: the first topic of a user gets more sessions than the others
OFF_TOPIC_SESSIONS = 0.1

# Events.
EVENTS_PER_SESSION = 5.0
NEXT_PAGE = 0.27  # chance after the first event of a session
RETURN = 0.09  # chance to repeat any earlier query of the user
CLICKED = 0.45
GAP_MEDIAN, GAP_SIGMA = 70.0, 1.0  # seconds between events of a session, log-normal
RANK_EXPONENT, RANK_MAX = 2.0, 500
HOST_SKEW = 2.0  # above 1: popular hosts of a topic answer more queries
FIRST_DAY, DAYS = np.datetime64("2006-03-01", "s"), 92
HOURS = "30 18 11 8 6 8 14 24 36 46 52 54 55 56 57 58 58 57 58 62 66 66 58 44"  # weights

# Queries. The two length tables were fitted so that the log as a whole meets paper 001 Table 1.
POOL_SHARE = 0.53  # of new queries
GENERAL_SHARE = 0.35  # of pool queries
GENERAL_HEADS = 0.2  # of the heads inside personal queries
TOP_SHARE = 0.01  # of events
POOL_PER_USER, GENERAL_PER_POOL = 2.0, 0.25
TOPIC_QUERIES_MIN = 20  # shorter lists would make users of small logs repeat themselves too often
TOPIC_TOP_SHARE = 0.1  # of the draws from a topic's list
ONE_WORD_HEADS = 8  # the first queries of the general list
ZIPF_EXPONENT = 1.0
POOL_LENGTHS = (0.570, 0.272, 0.111, 0.035, 0.012)
PERSONAL_LENGTHS = (0.231, 0.209, 0.214, 0.154, 0.192)
POOL_WIDTH, PERSONAL_WIDTH = 5, 12
LONG_STOP = 0.43  # chance to end from the fifth word on: 5+ has 6.3 words (paper 001 Table 2)
SHAPES = (0.40, 0.20, 0.12, 0.28)  # Q+R, R+Q, R+Q+R, no head
ENTITY_SHARE = 0.3  # of pool queries of several words: words that occur only together
MODIFIERS_AT_1000 = 20  # a topic's own, in a log of 1,000 users
HEAPS_EXPONENT = 0.35  # how they grow with the users
MODIFIER_EXPONENT = 0.6
EVERYDAY_MODIFIERS = 0.3  # of modifiers; the others belong to the topic
RARE_WORDS = (1.0, 0.25, 0.10, 0.06, 0.05)  # chance per modifier, by length of the query
RARE_SYLLABLES = 4
FAKE_PERSONAL = 0.01  # of personal queries of 1, 3 or 4 words

MIX = np.uint64(0x9E3779B97F4A7C15)  # an odd multiplier with its bits well spread
HASH_WEIGHTS = 3**31 * np.arange(1, PERSONAL_WIDTH + 1) + 1  # tell the order of words apart


def _split(text: str) -> list[str]:
    return text.split()


# Syllables end at their vowel. Without f, g and sh few of the words made of them are rude.
ONSETS = _split("b c d h j k l m n p r s t v w z br ch cl dr fl pl pr st th tr")
SYLLABLES = [onset + vowel for onset in ONSETS for vowel in "aeiou"]
HEADS = _split("""
    weather maps dictionary recipes games lottery horoscope jokes translation news calculator
    poems music movies radio library hotels flights cars jobs houses furniture flowers shoes
    coupons crossword tattoos baseball football wallpaper ringtones lyrics calendar thesaurus
    quotes trivia chess sudoku astronomy museums stamps coins kites bicycles buses ferries
    campgrounds beaches waterfalls
""")
THEMES = _split("""
    gardening fishing diabetes mortgage puppies knitting basketball asthma roofing yoga camping
    quilting pottery astronauts dinosaurs volcanoes aquariums parrots horses kittens tomatoes
    orchids roses bonsai sailing kayaking surfing skiing golf tennis bowling archery boxing
    cycling running swimming guitar piano violin drums opera ballet jazz photography painting
    sculpture carpentry plumbing insulation kitchens bathrooms carpets curtains mattresses
    refrigerators tractors trucks motorcycles tires brakes engines insurance taxes pensions
    loans scholarships universities kindergarten algebra geometry chemistry physics biology
    grammar spelling genealogy castles pyramids pirates wizards dragons robots rockets
    submarines airplanes trains bridges tunnels lighthouses islands glaciers deserts
    rainforests whales sharks dolphins turtles butterflies bees spiders arthritis allergies
    migraine vitamins cholesterol pregnancy babies toys dolls puzzles cards weddings birthdays
    costumes candles soap jewelry pancakes
""")
TOPICS = len(THEMES)
FOREIGN = _split("café jalapeño piñata crème übersetzung fjörður погода 天気 niño château")
MODIFIERS = _split("""
    free the of in for and how to new best cheap online used pictures reviews home make what
    with a sale store county on city school center map buy old show company pages from list
    world small guide state information street american high club shop service north south west
    east lake park big black white red blue green kids women men baby real tips price parts
    repair rental plans history ideas design lessons software video photos near by at is does
    where can my your 2006 2005 101 official top local fast easy custom discount wholesale
    antique vintage modern natural homemade
""")
STREETS = ("street", "avenue", "road", "lane")


def _rng(seed: int, purpose: str, block: int = 0) -> np.random.Generator:
    """An independent stream for one purpose and one block."""
    key = blake2b(f"{seed}/{purpose}/{block}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))


def _pick(rng: np.random.Generator, cdf: Floats, size: int | tuple[int, ...]) -> Ints:
    """Positions drawn from a cumulative distribution."""
    position = np.searchsorted(cdf, rng.random(size), side="right")
    return np.minimum(position, len(cdf) - 1).astype(np.int64)


def _cdf(weights: ArrayLike) -> Floats:
    total = np.cumsum(np.asarray(weights, dtype=np.float64))
    return cast(Floats, total / total[-1])


def _zipf(size: int, exponent: float, shift: float = 0.0) -> Floats:
    return _cdf((np.arange(1, size + 1) + shift) ** -exponent)


def _zipf_with_top(size: int, top: float) -> Floats:
    """Zipf-Mandelbrot whose first position has the share `top`, or as near as the size allows."""
    low, high = 0.0, float(size)
    for _ in range(40):
        middle = (low + high) / 2
        too_much = _zipf(size, ZIPF_EXPONENT, middle)[0] > top
        low, high = (middle, high) if too_much else (low, middle)
    return _zipf(size, ZIPF_EXPONENT, high)


def _spell(numbers: Ints, syllables: int) -> pl.Series:
    """Number -> made-up word. One to one: a syllable ends at its vowel, so no two numbers meet."""
    alphabet = pl.Series(SYLLABLES)
    base = len(SYLLABLES)
    digits = [alphabet.gather(numbers // base**place % base) for place in range(syllables)]
    return pl.select(pl.concat_str(digits)).to_series()


def _table_of_words(count: int, rng: np.random.Generator) -> pl.Series:
    """`count` different words: short ones first, in an order that does not look like counting."""
    parts: list[pl.Series] = []
    for syllables in (2, 3, 4):
        space = len(SYLLABLES) ** syllables
        size = min(space, count - sum(map(len, parts)))
        start, stride = int(rng.integers(space)), 2 * int(rng.integers(space // 8)) + 7
        while np.gcd(stride, space) != 1:
            stride += 2
        parts.append(_spell((start + np.arange(size) * stride) % space, syllables))
    return pl.concat(parts, rechunk=True)


@dataclass(frozen=True)
class _Vocabulary:
    """What all users share. `words` are the modifiers, then the heads in the order of the pool."""

    words: pl.Series
    hosts: pl.Series  # one per pool query
    queries: pl.Series  # the pool as text
    parts: Ints  # the pool as rows of `words`: pool x POOL_WIDTH, -1 beyond the length
    lengths: Ints
    parents: Ints  # a one-word pool query of the same list, at least as popular
    general: int  # size of the general list; then come the topics, interleaved by position
    general_cdf: Floats
    topic_cdf: Floats
    own_modifiers: int  # per topic

    def draw(self, rng: np.random.Generator, topics: Ints, general_share: float) -> Ints:
        """One pool query for each entry of `topics`."""
        own = self.general + _pick(rng, self.topic_cdf, len(topics)) * TOPICS + topics
        common = _pick(rng, self.general_cdf, len(topics))
        return np.where(rng.random(len(topics)) < general_share, common, own)


def _vocabulary(users: int, seed: int) -> _Vocabulary:
    rng = _rng(seed, "vocabulary")
    pool = POOL_PER_USER * users
    general = max(2 * len(HEADS), round(pool * GENERAL_PER_POOL))
    rows = max(TOPIC_QUERIES_MIN, round(pool * (1 - GENERAL_PER_POOL) / TOPICS))
    size = general + rows * TOPICS
    own_modifiers = round(MODIFIERS_AT_1000 * max(1.0, users / 1000) ** HEAPS_EXPONENT)
    first_head = len(MODIFIERS) + own_modifiers * (TOPICS + 1)

    words = _table_of_words(first_head + 2 * size, rng)
    topic_heads = first_head + general
    for start, given in ((0, MODIFIERS), (first_head, HEADS), (topic_heads, THEMES + FOREIGN)):
        words.scatter(np.arange(start, start + len(given)), given)
    top = TOP_SHARE / (POOL_SHARE * GENERAL_SHARE)
    general_cdf = _zipf_with_top(general, top)
    topic_cdf = _zipf_with_top(rows, TOPIC_TOP_SHARE)
    plans = (_plan(rng, general_cdf, 1, ONE_WORD_HEADS), _plan(rng, topic_cdf, TOPICS, 1))
    lengths = np.concatenate([plans[0][0], plans[1][0]])
    parents = np.concatenate([plans[0][1], plans[1][1] + general])
    topics = np.concatenate([np.full(general, TOPICS), np.tile(np.arange(TOPICS), rows)])
    parts = _modifiers(rng, topics, POOL_WIDTH, own_modifiers)
    _write_pool(rng, parts, lengths, parents, first_head)
    return _Vocabulary(
        words=words,
        hosts=_hosts(words.slice(first_head, size)),
        queries=_join(parts, words),
        parts=parts,
        lengths=lengths,
        parents=parents,
        general=general,
        general_cdf=general_cdf,
        topic_cdf=topic_cdf,
        own_modifiers=own_modifiers,
    )


def _plan(rng: np.random.Generator, cdf: Floats, lists: int, one_word: int) -> tuple[Ints, Ints]:
    """Lengths and parents of `lists` interleaved lists; the first `one_word` queries have one word.

    The others have fewer single words in return, so that draws from the lists keep POOL_LENGTHS.
    """
    rows = len(cdf)
    shares = np.array(POOL_LENGTHS)
    shares[0] = max(0.0, (shares[0] - cdf[one_word - 1]) / (1 - cdf[one_word - 1]))
    shares[1:] *= (1 - shares[0]) / shares[1:].sum()
    lengths = 1 + _pick(rng, _cdf(shares), (rows, lists))
    lengths[:one_word] = 1
    row = np.arange(rows)[:, None]
    nearest = np.maximum.accumulate(np.where(lengths == 1, row, 0), axis=0)
    above = (row * rng.random((rows, lists)) ** 2).astype(np.int64)
    parents = np.take_along_axis(nearest, above, axis=0) * lists + np.arange(lists)
    return lengths.ravel(), parents.ravel()


def _modifiers(rng: np.random.Generator, topics: Ints, width: int, own_modifiers: int) -> Ints:
    """Words that go around a head: everyday ones, or ones of the topic."""
    shape = (len(topics), width)
    everyday = _pick(rng, _zipf(len(MODIFIERS), MODIFIER_EXPONENT), shape)
    own = _pick(rng, _zipf(own_modifiers, MODIFIER_EXPONENT), shape)
    own += len(MODIFIERS) + topics[:, None] * own_modifiers
    return np.where(rng.random(shape) < EVERYDAY_MODIFIERS, everyday, own)


def _write_pool(rng: np.random.Generator, parts: Ints, lengths: Ints, parents: Ints, first_head: int) -> None:
    """Put heads among the modifiers in `parts`: a query's own, an entity, or its parent refined."""
    size = len(lengths)
    row = np.arange(size)
    shape = _pick(rng, _cdf(SHAPES[:3]), size)
    at = np.choose(shape, (0 * row, lengths - 1, np.minimum(1, lengths - 1)))
    parts[row, at] = first_head + parents
    entity = rng.random(size) < ENTITY_SHARE
    parts[row[entity], lengths[entity] - 1] = first_head + size + row[entity]
    own = entity | (lengths == 1)
    parts[own, 0] = first_head + row[own]
    parts[np.arange(POOL_WIDTH) >= lengths[:, None]] = -1


def _hosts(heads: pl.Series) -> pl.Series:
    plain = heads.str.normalize("NFKD").str.replace_all("[^a-z]", "")
    named = pl.when(plain == "").then(pl.lit("example")).otherwise(plain)
    return pl.select(pl.format("http://www.{}.com", named)).to_series()


def _join(parts: Ints, words: pl.Series) -> pl.Series:
    """Rows of word numbers -> texts. A number beyond `words` is a rare word, spelled here."""
    present = parts >= 0
    numbers = parts[present]
    rare = numbers >= len(words)
    spelled = _spell(numbers[rare] - len(words), RARE_SYLLABLES)
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


def _new_queries(rng: np.random.Generator, topics: Ints, shared: _Vocabulary) -> tuple[pl.Series, Ints, Ints]:
    """Texts; keys, equal for equal queries; and sites, the pool query whose host comes first."""
    from_pool = rng.random(len(topics)) < POOL_SHARE
    drawn = shared.draw(rng, topics[from_pool], GENERAL_SHARE)
    parts, lengths = _personal(rng, topics[~from_pool], shared)
    personal = _decorate(rng, _join(parts, shared.words), lengths)
    order = np.argsort(np.argsort(~from_pool, kind="stable"))  # pool first -> order of events
    texts = pl.concat([shared.queries.gather(drawn), personal], rechunk=True).gather(order)
    keys = np.concatenate([drawn, parts @ HASH_WEIGHTS])[order]
    sites = np.where(shared.lengths[drawn] == 1, drawn, -1)
    return texts, keys, np.concatenate([sites, np.full(len(parts), -1)])[order]


def _personal(rng: np.random.Generator, topics: Ints, shared: _Vocabulary) -> tuple[Ints, Ints]:
    """Words and lengths of queries written for one event."""
    size = len(topics)
    lengths = 1 + _pick(rng, _cdf(PERSONAL_LENGTHS), size)
    longer = np.minimum(5 + rng.geometric(LONG_STOP, size) - 1, PERSONAL_WIDTH)
    lengths = np.where(lengths == 5, longer, lengths)
    parts = _modifiers(rng, topics, PERSONAL_WIDTH, shared.own_modifiers)
    rare = rng.random(parts.shape) < np.array(RARE_WORDS)[np.minimum(lengths, 5) - 1][:, None]
    space = len(SYLLABLES) ** RARE_SYLLABLES
    parts[rare] = len(shared.words) + rng.integers(space, size=np.count_nonzero(rare))

    heads = shared.draw(rng, topics, GENERAL_HEADS)
    heads = np.where(shared.lengths[heads] >= lengths, shared.parents[heads], heads)
    shape = _pick(rng, _cdf(SHAPES), size)
    taken = np.where((shape == 3) | (lengths == 1), 0, shared.lengths[heads])
    rest = lengths - taken
    at = np.choose(shape, (0 * rest, rest, np.minimum(1, rest), 0 * rest))
    for i in range(POOL_WIDTH):
        rows = np.flatnonzero(taken > i)
        parts[rows, at[rows] + i] = shared.parts[heads[rows], i]
    parts[np.arange(PERSONAL_WIDTH) >= lengths[:, None]] = -1
    return parts, lengths


def _decorate(rng: np.random.Generator, texts: pl.Series, lengths: Ints) -> pl.Series:
    """Some single words become addresses of sites, and a few queries fake personal data."""
    single = pl.Series(lengths == 1)
    dice = pl.Series(rng.random(len(texts)))
    texts = pl.select(
        pl.when(single & (dice < 0.3))
        .then(pl.format("www.{}.com", texts))
        .when(single & (dice < 0.45))
        .then(pl.format("{}.com", texts))
        .otherwise(texts)
    ).to_series()
    fake = np.isin(lengths, (1, 3, 4)) & (rng.random(len(texts)) < FAKE_PERSONAL)
    rows = np.flatnonzero(fake)
    numbers = rng.integers(1_000_000, size=len(rows))
    names = [_spell(numbers + step, 3).to_list() for step in (0, 17, 71)]
    fakes = list(map(_fake, lengths[rows].tolist(), numbers.tolist(), *names))
    return texts.scatter(rows, fakes) if fakes else texts


def _fake(length: int, number: int, first: str, last: str, town: str) -> str:
    """A query of `length` words that looks like personal data of somebody who cannot exist."""
    if length == 1:
        area, line = 200 + number % 800, number // 800 % 100
        return f"{first}.{last}@example.com" if number % 2 else f"{area}-555-01{line:02}"
    address = f"{1 + number % 9999} {first} {STREETS[number % len(STREETS)]}"
    return address if length == 3 else f"{address} {town}"


def _activity(rng: np.random.Generator, size: int) -> Ints:
    """Events per user: one from each of `size` equal slices of the log-normal, for small logs."""
    quantiles = np.clip((rng.permutation(size) + rng.random(size)) / size, 1e-9, 1 - 1e-9)
    normal = NormalDist(sigma=np.sqrt(2 * np.log(LINES_MEAN / LINES_MEDIAN)))
    deviation = np.array([normal.inv_cdf(quantile) for quantile in quantiles.tolist()])
    events: Floats = LINES_MEDIAN / LINES_PER_EVENT * np.exp(deviation)
    counts: Ints = np.rint(events.clip(1, EVENTS_MAX)).astype(np.int64)
    return counts


@dataclass(frozen=True)
class _Events:
    """When a block of users searched: sorted by user, then time; times differ within a user."""

    user: Ints
    position: Ints  # among the events of the user
    session: Ints
    seconds: Ints


def _schedule(rng: np.random.Generator, counts: Ints) -> _Events:
    user = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(user)) - (np.cumsum(counts) - counts)[user]
    begins = (position == 0) | (rng.random(len(user)) < 1 / EVENTS_PER_SESSION)
    session = np.cumsum(begins) - 1
    sessions = int(begins.sum())
    hour = _pick(rng, _cdf([int(weight) for weight in HOURS.split()]), sessions)
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
    return _Events(user, position, session[order], seconds)


def _topics(rng: np.random.Generator, events: _Events, users: int) -> Ints:
    """The topic of each event: nearly always one of the user's own, the same within a session."""
    popularity = _zipf(TOPICS, TOPIC_EXPONENT)
    own = _pick(rng, popularity, (users, TOPICS_PER_USER))
    number = rng.integers(1, TOPICS_PER_USER + 1, size=users)
    sessions = int(events.session.max()) + 1
    user = np.empty(sessions, np.int64)
    user[events.session] = events.user
    chosen = own[user, (number[user] * rng.random(sessions) ** FAVOURITE).astype(np.int64)]
    other = _pick(rng, popularity, sessions)
    topic = np.where(rng.random(sessions) < OFF_TOPIC_SESSIONS, other, chosen)
    return topic[events.session]


def _origins(rng: np.random.Generator, events: _Events) -> Ints:
    """For each event the event where its query was first typed: itself, unless it repeats one."""
    here = np.arange(len(events.user))
    follows = np.diff(events.session, prepend=-1) == 0
    next_page = follows & (rng.random(len(here)) < NEXT_PAGE)
    back = (events.position > 0) & (rng.random(len(here)) < RETURN)
    earlier = here - events.position + (events.position * rng.random(len(here))).astype(np.int64)
    origin = np.where(next_page, here - 1, np.where(back, earlier, here))
    while not np.array_equal(origin, further := origin[origin]):
        origin = further
    return origin


def _block(block: int, users: int, seed: int, shared: _Vocabulary) -> pl.DataFrame:
    """The rows of one block of users."""
    first = block * BLOCK_USERS
    size = min(BLOCK_USERS, users - first)
    rng = _rng(seed, "users", block)
    numbers = (first + np.arange(size) + 1) * ID_STEP + rng.integers(ID_STEP, size=size)
    events = _schedule(rng, _activity(rng, size))
    topics = _topics(rng, events, size)
    origins = _origins(rng, events)
    typed = np.flatnonzero(origins == np.arange(len(origins)))
    texts, keys, sites = _new_queries(rng, topics[typed], shared)
    query = np.searchsorted(typed, origins)

    clicks = rng.geometric(CLICKED / (CLICKED + LINES_PER_EVENT - 1), len(origins))
    clicks[rng.random(len(origins)) >= CLICKED] = 0
    line = np.repeat(np.arange(len(origins)), np.maximum(clicks, 1))
    rank = _ranks(rng, line)
    asked = query[line]
    host = _results(keys[asked], sites[asked], rank, topics[typed][asked], shared)
    clicked = pl.Series(clicks > 0).gather(line)
    time = FIRST_DAY + events.seconds.astype("timedelta64[s]")
    return pl.select(
        user=pl.Series(numbers).cast(pl.String).gather(events.user[line]),
        time=pl.Series(time.astype("datetime64[us]")[line]),
        query=texts.gather(asked),
        rank=pl.when(clicked).then(pl.Series(rank, dtype=pl.Int32)),
        url=pl.when(clicked).then(shared.hosts.gather(host)),
    )


def _ranks(rng: np.random.Generator, line: Ints) -> Ints:
    """Ranks of the clicks, rising within an event so that no line comes twice."""
    step = 1 + _pick(rng, _zipf(RANK_MAX, RANK_EXPONENT), len(line))
    total = np.cumsum(step)
    begins = np.diff(line, prepend=-1) > 0
    return np.minimum(total - (total - step)[begins][line], RANK_MAX)


def _results(key: Ints, site: Ints, rank: Ints, topics: Ints, shared: _Vocabulary) -> Ints:
    """The host at a rank: fixed for a query, mostly a popular host of its topic."""
    bits = (key.astype(np.uint64) + np.uint64(1)) * MIX + rank.astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * MIX
    part = (bits >> np.uint64(11)) / 2.0**53
    row = (len(shared.topic_cdf) * part**HOST_SKEW).astype(np.int64)
    return np.where((rank == 1) & (site >= 0), site, shared.general + row * TOPICS + topics)


def batches(users: int, seed: int, *, users_per_batch: int = 20_000) -> Iterator[pl.DataFrame]:
    """Rows of a synthetic log, batch by batch, sorted by user (as a number), then time.

    Columns: user str, time datetime[us], query str, rank i32 or null, url str or null. A batch
    holds whole blocks: `users_per_batch` is rounded up to a multiple of BLOCK_USERS. It has no
    influence on the rows.
    """
    if users < 1:
        raise ValueError(f"users must be at least 1. Got {users!r} instead.")
    shared = _vocabulary(users, seed)
    blocks = range(-(-users // BLOCK_USERS))
    step = max(1, -(-users_per_batch // BLOCK_USERS))
    return (
        pl.concat([_block(block, users, seed, shared) for block in blocks[start : start + step]])
        for start in blocks[::step]
    )


def synthesize(users: int, seed: int = 7) -> pl.DataFrame:
    """A synthetic log in memory; for small logs and tests."""
    return pl.concat(batches(users, seed), rechunk=True)


def write_aol(path: Path, users: int, seed: int, progress: Callable[[int], None] | None = None) -> int:
    """Write a synthetic log in the layout of AOL and return its number of rows.

    A path that ends in .gz or .zst is compressed. `progress` is called with the rows written so far.
    """
    rows = 0
    parts = batches(users, seed)  # before the file is opened: it refuses wrong arguments
    with ExitStack() as stack:
        file = _open(path, stack)
        file.write(b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n")
        for batch in parts:
            batch.select("user", "query", "time", "rank", "url").write_csv(
                file,
                include_header=False,
                separator="\t",
                quote_style="never",
                datetime_format="%Y-%m-%d %H:%M:%S",
            )
            rows += batch.height
            if progress is not None:
                progress(rows)
    return rows


def _open(path: Path, stack: ExitStack) -> IO[bytes]:
    if path.suffix == ".zst":
        import pyarrow as pa  # slow to load, and only needed here

        return cast(IO[bytes], stack.enter_context(pa.output_stream(path, compression="zstd")))
    file = stack.enter_context(path.open("wb"))
    if path.suffix != ".gz":
        return file
    # No name and no date inside: equal logs are equal bytes.
    packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
    return cast(IO[bytes], stack.enter_context(packed))
