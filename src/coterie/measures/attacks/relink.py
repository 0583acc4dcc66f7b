"""Relink: somebody puts the days, sessions or rows of a person together again, because they are about the same things.

A release with a fresh name for each day, session or few searches of a person, or with no names at all, keeps apart what
a person asked. The adversary takes one unit (what stands under one name, or a row without one; `measures/subjects.py`)
and looks for another one of the same person in which something new is to be read: a query that the first one lacks.

    1. Candidates: of all such units of a pool of people the 50 with the most similar words and clicked hosts, by the
       cosine of TF-IDF weights (`measures/learning.py`).
    2. A logistic model ranks them by the cosines of words, hosts and runs of four letters, by the days between them, if
       the release has times, and by the numbers of their queries. It was fitted in the same way on people who are not
       in the pool: whoever attacks may rehearse on those whose answers are known.
    3. The first of them is the guess; among m equals it counts by how many of them are right. Where no unit has a word
       or host in common there is no guess, and that is a failure.

    after.hit          how often the guess is of the same person, and so on as in measures/rates.py; `before` is the
                       same in the original, cut in the same way under other names. Population: up to 200 people with
                       two units in the original, drawn by the seed; those are released who have two in the release
    *.control          what a guess at random would reach: the control
    after.read         queries that are new to whoever had the first unit, mean over right guesses
    after.people       people in the pool, up to 200; there are `after.units` units of theirs
    after.among_25     the same hit rate in pools of 25 people, into which the same people are cut; likewise 50, 100,
                       200, and 400 if there are so many
    lift               released.hit / its control

Pools hold up to 100 units of each person, drawn by the seed; up to 500 units are attacked, one of each person first. An
adversary who knows more than words (vectors of words, language models, public information about people) links more: the
figure is a lower bound. It needs the run record. Where a person has one name for everything there is nothing to put
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from coterie.core.arrays import Floats, Ints, offsets
from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.measures import learning
from coterie.measures.comparison import Comparison
from coterie.measures.learning import Terms, Vectors
from coterie.measures.rates import CHANCE, OF_RELEASED, Rate, Shares, figures_in, mean, sentences
from coterie.measures.subjects import NOUNS, PERSON, keyed, units_of, with_hosts
from coterie.text.language import Language, language_in

needs = frozenset({"record", "text"})
ATTACKED = 500
UNITS_EACH = 100
POOLS = (25, 50, 100, 200, 400)
POOL = 200
"""How many people the main figure is about."""
REHEARSED = 200
"""How many other people the model is fitted on."""
CANDIDATES = 50
LETTERS = 4
_DIGITS = 9
_NO_DAY = -(2**31)
_HIT = Rate(
    "hit",
    "Days, sessions or rows put together again",
    "Units (what stands under one name, or a row without one) for which somebody picks another one of the same person, "
    "with something new to read in it, by words, clicked hosts and letters. In brackets the 95% interval over people. "
    "Lower is safer.",
    unit="",
    beside=(OF_RELEASED, CHANCE),
    risk="linkability",
    attacker="somebody who compares what is linked in the release picks another piece of the same person, with "
    "something new in it",
    control="a pick at random",
)
figures = figures_in("attacks", 70, _HIT.shown)
weighed = (_HIT.weighed,)
findings = sentences(
    "linkability",
    "Somebody who compares what is linked in the release picks another piece of the same person, with something new in "
    "it, in {after.hit} of cases among {after.people}; of what was released in {released.hit}, by chance in "
    "{released.hit.control}, in the original cut in the same way in {before.hit}.",
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """How often the guess is of the same person, in the original and in the release."""
    units = units_of(comparison)
    if units.kind == PERSON:
        raise NotApplicableError("Each person has one name in this release: there is nothing to put together again.")
    if units.after.is_empty():
        raise NotApplicableError("The release is empty: there is nothing to put together again.")
    spoken = language_in(comparison.release.params)
    noun = NOUNS[units.kind]
    seed = comparison.seed
    key = (__name__, seed, spoken, units.cut_by)
    drawn = comparison.of_log((*key, "people"), lambda: People.of(units.before, seed))
    if not drawn.attacked.size:
        raise NotApplicableError("Nobody has two units in the original: there is nothing to put together again.")
    yield from comparison.of_log(key, lambda: list(_scores("before", units.before, drawn, spoken, seed, noun)))
    scores = {score.key: score for score in _scores("after", units.after, drawn, spoken, seed, noun)}
    yield from scores.values()
    right, chance = scores["released.hit"].value, scores["released.hit.control"].value
    yield Score("lift", right / chance if right is not None and chance else None, "times chance")


def _scores(
    moment: str, rows: pl.DataFrame, drawn: People, spoken: Language, seed: int, noun: str
) -> Iterator[Score]:  # fmt: skip
    crowd = Crowd.of(rows, drawn, spoken, seed)
    model = crowd.model()
    unit = f"% of {noun}"
    main = min(POOL, crowd.pool)
    attack = crowd.attack(main, 1, model)
    yield Score(f"{moment}.people", main, "people")
    yield Score(f"{moment}.units", int(crowd.until[main]), noun)
    yield Score(f"{moment}.attacked", attack.height, noun)
    yield from replace(_HIT, unit=unit).scores(moment, _shares(attack, drawn.attacked[drawn.attacked < main]))
    read = attack.filter(pl.col("hit") > 0)["read"].to_numpy()
    yield Score(f"{moment}.read", float(read.mean()) if read.size else None, "queries")
    for size in POOLS:
        if size <= crowd.pool:
            hits = attack if size == main else crowd.attack(size, max(1, main // size), model)
            among = drawn.attacked[drawn.attacked < max(size, main // size * size)]
            yield from mean(f"{moment}.among_{size}", _shares(hits, among).every, unit)


def _shares(attack: pl.DataFrame, people: Ints) -> Shares:
    """Successes over these people, of whom those without attacked units failed."""
    person, hit, chance = (attack[name].to_numpy() for name in ("person", "hit", "chance"))
    return Shares.among(person, hit, chance, failed=np.setdiff1d(people, person))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class People:
    """Who is compared, drawn once from the original: first the pool, then those whom the model is fitted on."""

    table: pl.DataFrame
    """place, person."""
    pool: int
    """How many people are in the largest pool."""
    attacked: Ints
    """The places of those who have two units in the original."""

    @classmethod
    def of(cls, units: pl.DataFrame, seed: int) -> People:
        """From the original in units: unit, person."""
        several = units.group_by("person").agg(several=pl.col("unit").n_unique() > 1)
        rehearsed = min(REHEARSED, several.filter("several").height // 3)
        everybody = keyed(several, seed, "relinked people", "person").sort("drawn", "person")
        pool = min(max(POOLS), everybody.height - rehearsed)
        everybody = everybody.head(pool + rehearsed).with_row_index("place")
        attacked = everybody.filter("several")["place"].to_numpy().astype(np.int64)
        return cls(table=everybody.select("place", "person"), pool=pool, attacked=attacked)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Crowd:
    """Units of people in the order in which they are drawn: first the pool, then those whom the model is fitted on."""

    pool: int
    """How many people are in the largest pool."""
    until: Ints
    """How many units the first so many people have."""
    person: Ints
    day: Ints
    size: Ints
    """How many different queries a unit has."""
    item_start: Ints
    item: Ints
    together: Vectors
    """Words and hosts."""
    kinds: tuple[Vectors, ...]
    """Words, hosts, runs of letters."""

    @classmethod
    def of(cls, rows: pl.DataFrame, drawn: People, spoken: Language, seed: int) -> Crowd:
        """The units of people who were drawn, and which of their units."""
        pool, people = drawn.pool, drawn.table
        theirs = rows.join(people, on="person")
        units = theirs.group_by("place", "unit").agg(pl.col("time", "item").min())
        units = units.sort("place", "time", "item", "unit").select("place", "unit")  # whatever their names are
        units = units.with_columns(turn=pl.int_range(pl.len()).over("place"))
        units = keyed(units, seed, "relinked units", "place", "turn").sort("place", "drawn", "unit")
        units = units.group_by("place", maintain_order=True).head(UNITS_EACH).with_row_index("id")
        rows = theirs.join(units.select("unit", "id"), on="unit").select("id", "item", "page", "time")
        n = units.height
        items = rows.select("id", "item").unique().with_columns(pl.col("item").rank("dense").cast(pl.Int64).alias("no"))
        items = items.sort("id", "no")
        size = np.bincount(items["id"].to_numpy(), minlength=n).astype(np.int64)
        days = rows.group_by("id").agg(pl.col("time").min().dt.date().cast(pl.Int32)).sort("id")
        words, hosts, letters = _terms(rows, spoken)
        both = pl.concat([words, hosts.with_columns(pl.col("term") + "\0")])
        per_person = np.bincount(units["place"].to_numpy(), minlength=people.height)
        return cls(
            pool=pool,
            until=offsets(per_person),
            person=units["place"].to_numpy().astype(np.int64),
            day=days["time"].fill_null(_NO_DAY).to_numpy().astype(np.int64),
            size=size,
            item_start=offsets(size),
            item=items["no"].to_numpy().astype(np.int64),
            together=_vectors(both, n),
            kinds=tuple(_vectors(each, n) for each in (words, hosts, letters)),
        )

    def attack(self, people: int, pools: int, model: Floats) -> pl.DataFrame:
        """person, hit (how right the guess is, 0..1), chance, read (new queries of the guess) of each attacked unit.

        Units of so many people are attacked after each other, among all units of theirs, in so many pools.
        """
        most = ATTACKED // pools
        return pl.concat(self._attack(at * people, (at + 1) * people, most, model) for at in range(pools))

    def _attack(self, first: int, last: int, most: int, model: Floats) -> pl.DataFrame:
        attacked = self._attacked(first, last)[:most]
        left, right, chance = self._candidates(attacked, first, last)
        score = np.round(learning.weighed(self._features(attacked[left], right), model), _DIGITS)
        hit, read = np.zeros(attacked.size), np.zeros(attacked.size)
        where = offsets(np.bincount(left, minlength=attacked.size))
        for place, unit in enumerate(attacked):
            mine = slice(where[place], where[place + 1])
            if where[place + 1] > where[place]:
                best = right[mine][score[mine] == score[mine].max()]
                same = best[self.person[best] == self.person[unit]]
                hit[place] = same.size / best.size
                read[place] = np.mean([self._new(int(unit), int(other)) for other in same]) if same.size else 0.0
        return pl.DataFrame({"person": self.person[attacked], "hit": hit, "chance": chance, "read": read})

    def model(self) -> Floats:
        """Fitted on those who are not in the largest pool; where there are none, more in common is better."""
        people = self.until.size - 1
        attacked = self._attacked(self.pool, people)[:ATTACKED]
        left, right, _ = self._candidates(attacked, self.pool, people)
        columns = self._features(attacked[left], right)
        same = (self.person[attacked[left]] == self.person[right]).astype(np.float64)
        if not same.any() or same.all():
            plain = np.zeros(columns.shape[0])
            plain[1:4] = 1.0
            return plain
        return learning.fit(columns, same)

    def _attacked(self, first: int, last: int) -> Ints:
        """Units of people who have several, one of each person first."""
        turns = np.concatenate([
            np.arange(self.until[place + 1] - self.until[place]) for place in range(first, last)
        ]) if last > first else np.zeros(0, dtype=np.int64)  # fmt: skip
        units = np.arange(self.until[first], self.until[last])
        several = np.diff(self.until)[self.person[units]] > 1
        units, turns = units[several], turns[several]
        return units[np.argsort(turns, kind="stable")]

    def _candidates(self, attacked: Ints, first: int, last: int) -> tuple[Ints, Ints, Floats]:
        """Places of attacked units and their candidates, in order; and the chance of a guess at random for each."""
        from coterie.algorithms.kernels.nearest import nearest_others

        vectors, begin, end = self.together, int(self.until[first]), int(self.until[last])
        near, others, own = nearest_others(
            attacked, begin, end, self.person, *vectors.rows, *vectors.columns, self.item_start, self.item, CANDIDATES
        )
        left, place = np.nonzero(near >= 0)
        return left, near[left, place], own / np.maximum(others, 1)

    def _features(self, left: Ints, right: Ints) -> Floats:
        """What the model looks at, one line for each feature."""
        from coterie.algorithms.kernels.nearest import products

        cosines = [products(*vectors.rows, left, right) for vectors in self.kinds]
        known = (self.day[left] != _NO_DAY) & (self.day[right] != _NO_DAY)
        gap = np.where(known, np.abs(self.day[left] - self.day[right]), 0)
        ones, sizes = np.ones(left.size), (np.log(self.size[left]), np.log(self.size[right]))
        return np.stack([ones, *cosines, np.log1p(gap), known & (gap == 0), known & (gap == 1), *sizes])

    def _new(self, unit: int, other: int) -> int:
        """How many queries of the other are new."""
        theirs, known = (self.item[self.item_start[u] : self.item_start[u + 1]] for u in (other, unit))
        return int(np.setdiff1d(theirs, known).size)


def _vectors(counts: pl.DataFrame, n: int) -> Vectors:
    return Terms.of(counts, n).weighed(counts, n)


def _terms(rows: pl.DataFrame, spoken: Language) -> tuple[pl.DataFrame, ...]:
    """id, term, n for words, hosts and runs of letters."""
    items = rows.select("item").unique()
    words = items.with_columns(term=spoken.keywords(pl.col("item"))).explode("term").drop_nulls("term")
    hosts = with_hosts(rows.drop_nulls("page")).rename({"host": "term"})
    of_rows = (rows.join(words, on="item"), hosts, rows.join(_runs_of_letters(items), on="item"))
    return tuple(each.group_by("id", "term").len("n") for each in of_rows)


def _runs_of_letters(items: pl.DataFrame) -> pl.DataFrame:
    """item, term: the distinct runs of four letters of each item, a space before and after it."""
    runs = [
        (item, run)
        for item in items["item"].to_list()
        for text in (f" {item} ",)
        for run in {text[begin : begin + LETTERS] for begin in range(max(1, len(text) - LETTERS + 1))}
    ]
    return pl.DataFrame(runs, schema={"item": pl.String, "term": pl.String}, orient="row")
