"""How well does the released profile of users tell what they search for later?

The release is made of the earlier part of the log; the later part, which no method saw, is the yardstick. For each user
the overlap (`measures/subjects.py`) of their later queries with

    released     the profile that was released for them
    drawn        the same, drawn down to the size of their own profile where it is longer
    own          their own earlier queries, unprotected
    everybody    a profile of the same size as their own, drawn from the earlier queries of everybody
    stranger     the earlier queries of other users, the mean of 20 drawn at random

is averaged over users, at several levels of the taxonomy (WordNet: 5, 7 and 8). There are two scales:

    above_everybody = 100 (drawn - everybody) / (own - everybody)
    retained        = 100 (released - stranger) / (own - stranger)

On both, 100 % is a profile that tells as much as their own. 0 % is on the first one a profile that tells no more than
what people search for on the whole, and on the second one the profile of a single other person, which tells less: there
a profile that is the same for everybody "retains" about a quarter. Both are means of the levels; `low` and `high` are
95 % intervals over users (1,000 bootstrap samples, groups held fixed). `above_everybody.new` and `retained.new` look at
later queries alone that the user never typed before. Where random groups stand beside a release, in reports and
studies, `ratio` is how many times as much the release keeps, with the paired interval over the same users.

The size of a profile is the number of its words that the taxonomy knows, whatever the strings are that they stand in;
what is drawn is such words, 20 times, and `drawn_down` tells how many users had a longer profile than their own. A draw
is noisier than a profile whose queries were chosen with care, so a longer profile loses a little rather than gains.
`retained` is not freed from size: compare it only between releases with profiles of the same size. Users with fewer
than 10 later queries are not asked; above 2,000 users a random sample is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.core import randomness
from coterie.core.arrays import Floats, Ints
from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import SAMPLES, figures_in, scored, titled, weights
from coterie.measures.subjects import Meaning, drawn, levels_of, overlaps, profile_names

needs = frozenset({"record", "later", "taxonomy"})
SHOWN = {
    "above_everybody": titled(
        "Later searches foretold",
        "How well their profile tells what users searched for afterwards, which no method saw: 0% is a profile "
        "drawn from what everybody searches for, 100% their own unprotected one. In brackets the 95% interval over "
        "users. Compare with random groups.",
        before="100%",
    ),
    "above_everybody.ratio": titled(
        "Later searches foretold, against random groups",
        "How many times as much the release keeps as random groups of the same k do, with the 95% interval "
        "over the same users; no number where random groups keep nothing.",
    ),
    "above_everybody.new": titled(
        "Later searches foretold, never typed before",
        "The same for later queries alone that the user had not typed before.",
        before="100%",
    ),
    "retained": titled(
        "Later searches foretold, better than by a stranger",
        "The same on another scale: 0% is the profile of a stranger, which tells less than one drawn from everybody.",
        before="100%",
    ),
}
figures = figures_in("utility", 90, SHOWN)
LEAST_LATER = 10
MOST_USERS = 2_000
STRANGERS = 20
DRAWS = 20
SCALES = {"above_everybody": ("drawn", "everybody"), "retained": ("released", "stranger")}
"""Which overlap is judged, and which one is 0 %; that of their own profile is 100 %."""
_KINDS = ("released", "drawn", "own", "everybody", "stranger")


def measure(comparison: Comparison) -> Iterator[Score]:
    """What is retained at each level and over all, with its interval."""
    later: pl.DataFrame = comparison.given("later").select("subject", "item").drop_nulls()
    profile_names(comparison)
    earlier = comparison.original.select("subject", "item").drop_nulls()
    released = comparison.released_of_original
    users = _asked(later, earlier, comparison.seed)
    if users.is_empty():
        raise NotApplicableError(f"No user of the original has {LEAST_LATER} later queries.")
    meaning = Meaning.of(comparison.given("taxonomy"), earlier["item"], later["item"], released["item"])
    levels = levels_of(meaning.tree)
    pairs = _strangers(users, earlier["subject"].unique().sort(), comparison.seed)
    mine = later.filter(pl.col("subject").is_in(users.implode()))
    new = mine.join(earlier, on=["subject", "item"], how="anti")
    sizes = _Sizes.of(meaning, users, earlier, released)
    compared = earlier.filter(pl.col("subject").is_in(pl.concat([users, pairs["stranger"]]).unique().implode()))
    of_levels = [(meaning.shares(compared, level), meaning.shares(released, level)) for level in levels]
    of_all: list[pl.DataFrame] = []
    of_new: list[pl.DataFrame] = []
    for tables, wanted in ((of_all, mine), (of_new, new)):
        in_one_size = sizes.overlaps(meaning, levels, wanted, comparison.seed)
        tables += [
            _overlaps(meaning.shares(wanted, level), *profiles, pairs).join(table, on="subject", maintain_order="left")
            for level, profiles, table in zip(levels, of_levels, in_one_size, strict=True)
        ]
    yield Score("users", users.len(), "users with later queries")
    yield Score("drawn_down", 100 * sizes.longer / users.len(), "% of users")
    for scale in SCALES:
        yield from _retained(scale, of_all, scale, comparison.seed)
        yield from _retained(f"{scale}.new", of_new, scale, comparison.seed)
    for level, table in zip(levels, of_all, strict=True):
        for kind in _KINDS:
            yield Score(f"level_{level}.{kind}", _mean(table[kind].to_numpy()), "overlap")
        for scale in SCALES:
            yield from _retained(f"level_{level}.{scale}", [table], scale, comparison.seed)


def _asked(later: pl.DataFrame, earlier: pl.DataFrame, seed: int) -> pl.Series:
    """Users of the original with enough later queries; a sample where there are many."""
    many = later.group_by("subject").len("n").filter(pl.col("n") >= LEAST_LATER)
    users = many.join(earlier, on="subject", how="semi")["subject"].sort()
    return drawn(users, MOST_USERS, seed, "users with later queries")


def _strangers(users: pl.Series, everybody: pl.Series, seed: int) -> pl.DataFrame:
    """subject, stranger: other users for each user, at random."""
    if everybody.len() < 2:
        raise NotApplicableError("It compares users with strangers, and there is one user only.")
    start = randomness.keys(seed, "strangers", users)
    place = pl.DataFrame({"subject": everybody}).with_row_index("place")
    own = pl.DataFrame({"subject": users}).join(place, on="subject", maintain_order="left")["place"].to_numpy()
    steps = [np.random.Generator(np.random.Philox(int(s))).integers(1, everybody.len(), STRANGERS) for s in start]
    who = (own[:, None] + np.stack(steps)) % everybody.len()  # a step of 1 or more never leads to oneself
    asked = users.gather(np.repeat(np.arange(users.len()), STRANGERS))
    return pl.DataFrame({"subject": asked, "stranger": everybody.gather(who.ravel())})


def _overlaps(wanted: pl.DataFrame, before: pl.DataFrame, after: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """released, own, stranger of each user whose later queries reach the level; all given as shares at that level."""
    numbered = pairs.with_row_index("pair")
    wanted_of_pairs = numbered.join(wanted, on="subject").select("pair", "category", "share")
    of_strangers = numbered.join(before, left_on="stranger", right_on="subject").select("pair", "category", "share")
    met = numbered.join(overlaps(wanted_of_pairs, of_strangers, "pair"), on="pair", how="left")
    strangers = met.group_by("subject", maintain_order=True).agg(stranger=pl.col("overlap").fill_null(0.0).mean())
    of_users = wanted.select("subject").unique(maintain_order=True)
    for kind, table in (("released", after), ("own", before)):
        of_users = of_users.join(overlaps(wanted, table, "subject").rename({"overlap": kind}), on="subject", how="left")
    return of_users.join(strangers, on="subject", how="left").fill_null(0.0).sort("subject")


@dataclass(frozen=True, eq=False, repr=False)
class _Sizes:
    """The known words of users, of their released profiles and of everybody, to draw profiles of one size from."""

    users: pl.Series
    own: list[int]
    """How many each user has."""
    released: list[Ints]
    """The concepts in the released profile of each user."""
    concepts: Ints
    upto: Ints
    """The concepts of everybody, and how many words have these and the ones before."""

    @classmethod
    def of(cls, meaning: Meaning, users: pl.Series, earlier: pl.DataFrame, released: pl.DataFrame) -> _Sizes:
        theirs, after = (_concepts(meaning, users, rows) for rows in (earlier, released))
        counts = earlier.group_by("item").len("n").join(meaning.concepts, on="item")
        counts = counts.group_by("concept").agg(pl.col("n").sum().cast(pl.Int64)).sort("concept")
        everybody = counts["concept"].to_numpy().astype(np.int64)
        return cls(users, [each.size for each in theirs], after, everybody, counts["n"].cum_sum().to_numpy())

    @property
    def longer(self) -> int:
        """How many users have a longer profile than their own."""
        return sum(after.size > own for own, after in zip(self.own, self.released, strict=True))

    def overlaps(
        self, meaning: Meaning, levels: Sequence[int], mine: pl.DataFrame, seed: int
    ) -> Iterator[pl.DataFrame]:
        """subject, drawn, everybody: at each level, with what users search for later; the same draws at all levels."""
        categories = [meaning.tree.ancestor_at(level).astype(np.int64) for level in levels]
        wanted = [_by_user(meaning.shares(mine, level)) for level in levels]
        overlap = np.zeros((len(levels), self.users.len(), 2))
        for place, (user, own, after) in enumerate(zip(self.users, self.own, self.released, strict=True)):
            stream = randomness.stream(seed, "profiles of one size", user)
            drawn = after[None, :]
            if after.size > own:
                drawn = stream.permuted(np.broadcast_to(after, (DRAWS, after.size)), axis=1)[:, :own]
            of_all = stream.integers(0, self.upto[-1], (DRAWS, own)) if self.upto.size else np.zeros((1, 0), np.int64)
            everybody = self.concepts[np.searchsorted(self.upto, of_all, side="right")]
            for number, (at_level, shares) in enumerate(zip(categories, wanted, strict=True)):
                if user in shares:
                    overlap[number, place] = [_overlap(*shares[user], at_level[each]) for each in (drawn, everybody)]
        for table in overlap:
            yield pl.DataFrame({"subject": self.users, "drawn": table[:, 0], "everybody": table[:, 1]})


def _concepts(meaning: Meaning, users: pl.Series, rows: pl.DataFrame) -> list[Ints]:
    """The concepts of all words of each user that the taxonomy knows, in an order that the rows do not decide."""
    terms = rows.filter(pl.col("subject").is_in(users.implode())).join(meaning.concepts, on="item")
    lists = terms.sort("subject", "item", "concept").group_by("subject", maintain_order=True).agg("concept")
    of_users = pl.DataFrame({"subject": users}).join(lists, on="subject", how="left", maintain_order="left")
    return [np.array([] if each is None else each, dtype=np.int64) for each in of_users["concept"]]


def _by_user(shares: pl.DataFrame) -> dict[str, tuple[Ints, Floats]]:
    """The categories of each user, in order, and their shares."""
    lists = shares.group_by("subject", maintain_order=True).agg("category", "share")
    return {
        user: (np.array(categories, dtype=np.int64), np.array(parts)) for user, categories, parts in lists.iter_rows()
    }


def _overlap(categories: Ints, shares: Floats, drawn: Ints) -> float:
    """The mean overlap of a profile with drawn ones: a row of categories each, -1 for words above the level."""
    place = np.minimum(np.searchsorted(categories, drawn), categories.size - 1)
    row, column = np.nonzero(categories[place] == drawn)
    cell = row * categories.size + place[row, column]
    counts = np.bincount(cell, minlength=len(drawn) * categories.size).reshape(len(drawn), categories.size)
    total = np.maximum((drawn >= 0).sum(axis=1), 1)
    return float(np.minimum(counts / total[:, None], shares).sum(axis=1).mean())


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def _retained(key: str, tables: Sequence[pl.DataFrame], scale: str, seed: int) -> Iterator[Score]:
    """The share retained, averaged over levels, with the interval of samples of users drawn anew."""
    users = pl.concat([table["subject"] for table in tables]).unique().sort()
    times = weights(seed, users.len())
    place = pl.DataFrame({"subject": users}).with_row_index("place")
    judged, nothing = SCALES[scale]
    of_levels = []
    for table in tables:
        rows = table.join(place, on="subject", maintain_order="left")
        weight = times[:, rows["place"].to_numpy()]
        # Not `@`: the sums of a linear algebra library depend on its threads.
        kept, own, zero = (np.einsum("su,u->s", weight, rows[kind].to_numpy()) for kind in (judged, "own", nothing))
        with np.errstate(divide="ignore", invalid="ignore"):
            of_levels.append(np.where(own > zero, 100 * (kept - zero) / (own - zero), np.nan))
    yield from scored(key, np.mean(of_levels, axis=0) if of_levels else np.full(SAMPLES + 1, np.nan), "%")
