"""How much does a model that is trained on the release tell about people who are not in it?

What a search engine or a researcher would do with a log: learn which words go together, and foretell what somebody who
was never seen will search for. Users are cut into three parts, whole groups together, so that nothing of a person is in
a profile that their model has learnt from. For each part, a model of words is trained on the released profiles of the
two others:

    training    profiles x stems, (1 + ln n) · (1 + ln((1 + N) / (1 + N_w))) for n times a stem, N profiles, N_w of
                which have it, rows of length 1; V = its first 24 singular directions (algorithms/kernels/lsa.py)
    trial       x = the same weights of the earlier queries of a person, from the original; the stems w are ranked by
                (V Vᵀ x)_w, without those that the person used before
    truth       the stems that they use later and never before, as far as two users of the original have them earlier

`model` is the mean nDCG@100 of that ranking, in percent: 100 means that the truth stands first. `popularity` ranks the
stems by the number of profiles that have them, the same for everybody; `with_popularity` by the sum of both, each
divided by its largest value. `before` is the same model trained on the original queries of the same people, in the same
three parts, which are other ones for another release. A small log teaches little beyond popularity, and a model of 24
directions needs many more different profiles than that: where a few hundred users share profiles by tens, it is the
size of the log that is measured. Differences of half a point mean nothing.

`low` and `high` are 95 % intervals over users (1,000 bootstrap samples); in reports and studies with random groups
`ratio` compares with these, user by user. A model learns from at most 10,000 profiles and is tried on at most 2,000
users, both drawn by the seed. Stems are those of the language of the release, without stop words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from coterie.core import randomness
from coterie.core.arrays import Floats, Ints
from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.learning import Vectors
from coterie.measures.rates import figures_in, of_trials, titled
from coterie.measures.subjects import drawn, keyed, profile_names
from coterie.text.language import Language, language_in

if TYPE_CHECKING:
    from coterie.algorithms.kernels.lsa import Sparse

needs = frozenset({"record", "later"})
SHOWN = {
    "model": titled(
        "New words foretold by a model trained on it",
        "A model of words learns from the release and is tried on people who are not in it: how well it ranks "
        "the words that they use later for the first time (nDCG@100). Compare with a model trained on the original.",
    ),
    "with_popularity": titled(
        "New words foretold by a model and popularity",
        "The same, where the model also knows how many profiles have a word.",
    ),
}
figures = figures_in("utility", 92, SHOWN, before="before.{}")
PARTS = 3
DIRECTIONS = 24
FIRST = 100
MOST_TRIED = 2_000
MOST_PROFILES = 10_000
_SPARE = 16  # directions more than wanted, which make the wanted ones exact
_AT_ONCE = 100
_DIGITS = 6  # of a score, so that stems of the same users are equal whatever the rounding
_KINDS = ("model", "with_popularity", "popularity")
_UNIT = f"% nDCG@{FIRST}"


def measure(comparison: Comparison) -> Iterator[Score]:
    """nDCG of models trained on the release and on the original, with and without popularity."""
    profile_names(comparison)
    rows = {
        "earlier": comparison.original.select("subject", "item").drop_nulls(),
        "later": comparison.given("later").select("subject", "item").drop_nulls(),
        "released": comparison.released_of_original.drop_nulls(),
    }
    spelled = _stems(language_in(comparison.release.params), pl.concat([each["item"] for each in rows.values()]))
    earlier, later, after = (_counts(each, spelled) for each in rows.values())
    people = _people(comparison, rows["earlier"])
    truth = _truth(earlier, later, people, comparison.seed)
    if truth.is_empty():
        raise NotApplicableError("No user of the original has later words that are new to them and known to others.")
    yield Score("users", truth["subject"].n_unique(), "users with later words that are new to them")
    for prefix, profiles in (("", after), ("before.", earlier)):
        trials = _trials(profiles, earlier, truth, people, comparison.seed)
        yield from of_trials(prefix, trials, comparison.seed, _UNIT)


# --- words -----------------------------------------------------------------------------------------


def _stems(spoken: Language, items: pl.Series) -> pl.DataFrame:
    """item, stem: one row for each word of an item that is no stop word; stems are numbers in the order of the text."""
    distinct = items.unique().sort()
    pieces = pl.DataFrame({"item": distinct, "word": spoken.pieces(distinct)}).explode("word").drop_nulls()
    telling = pieces.filter(~pl.col("word").is_in(sorted(spoken.stop_words)))
    words = telling["word"].unique().sort()
    stems = pl.DataFrame({"word": words, "text": spoken.stems(words)})
    numbers = stems.select(pl.col("text").unique().sort()).with_row_index("stem")
    return telling.join(stems.join(numbers, on="text"), on="word").select("item", "stem")


def _counts(rows: pl.DataFrame, spelled: pl.DataFrame) -> pl.DataFrame:
    """subject, stem, n: how often each user has each stem, in order."""
    items = rows.group_by("subject", "item").len("n")
    counts = items.join(spelled, on="item").group_by("subject", "stem").agg(pl.col("n").sum().cast(pl.Int64))
    return counts.sort("subject", "stem")


def _people(comparison: Comparison, earlier: pl.DataFrame) -> pl.DataFrame:
    """subject, part: everybody in the original, those who share a profile in one part."""
    groups = comparison.record.subjects.select(subject="original", group="group").collect(engine="streaming")
    people = earlier.select(pl.col("subject").unique().sort()).join(groups.drop_nulls(), on="subject", how="left")
    alone = pl.col("group").is_null()
    first = pl.when(alone).then("subject").otherwise(pl.col("subject").min().over("group")).alias("first")
    firsts = keyed(people.select(first.unique()), comparison.seed, "parts of users").sort("drawn", "first")
    parts = firsts.with_columns(part=pl.int_range(pl.len()) % PARTS)
    return people.select("subject", first).join(parts, on="first").select("subject", "part").sort("subject")


def _truth(earlier: pl.DataFrame, later: pl.DataFrame, people: pl.DataFrame, seed: int) -> pl.DataFrame:
    """subject, stem: what the users who are tried use later, never before, and two users of the original earlier."""
    known = earlier.group_by("stem").len("users").filter(pl.col("users") >= 2)
    new = later.join(earlier, on=["subject", "stem"], how="anti").join(known, on="stem", how="semi")
    new = new.join(people, on="subject", how="semi")
    users = drawn(new["subject"].unique().sort(), MOST_TRIED, seed, "users on trial")
    return new.filter(pl.col("subject").is_in(users.implode())).select("subject", "stem").sort("subject")


# --- the model -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class _Model:
    """What is learnt from profiles: stems that two of them have, in order, and for each its weight and direction."""

    stems: Ints
    idf: Floats
    popularity: Floats
    """How many profiles have a stem, over the number of the one that most have."""
    directions: Floats
    """stems x directions."""

    @classmethod
    def of(cls, profiles: pl.DataFrame, seed: int) -> _Model:
        from coterie.algorithms.kernels.lsa import directions

        users = drawn(profiles["subject"].unique().sort(), MOST_PROFILES, seed, "profiles to learn from")
        chosen = profiles.filter(pl.col("subject").is_in(users.implode()))
        common = chosen.group_by("stem").len("users").filter(pl.col("users") >= 2).sort("stem")
        having = common["users"].to_numpy().astype(np.float64)
        stems, n = common["stem"].to_numpy().astype(np.int64), chosen["subject"].n_unique()
        idf = 1 + np.log((1 + n) / (1 + having))
        untrained = cls(stems, idf, having / having.max(initial=1), np.zeros((stems.size, 0)))
        matrix = untrained.weighted(chosen)
        tried = min(DIRECTIONS + _SPARE, matrix.start.size - 1, stems.size)
        if not tried:
            return untrained
        begin = randomness.stream(seed, "directions of words").standard_normal((matrix.start.size - 1, tried))
        axes = directions(matrix, begin)[:, :DIRECTIONS]
        return cls(stems, idf, untrained.popularity, np.ascontiguousarray(axes))

    def weighted(self, counts: pl.DataFrame) -> Sparse:
        """The weights of the stems of each user, who stand in the order of their names; rows of length 1."""
        from coterie.algorithms.kernels.lsa import Sparse

        users = counts.select(pl.col("subject").unique().sort()).with_row_index("row")
        entries = self.inside(counts).join(users, on="subject").sort("row", "feature")
        raw = (1 + np.log(entries["n"].to_numpy())) * self.idf[entries["feature"].to_numpy()]
        rows = Vectors.of(entries, raw, users.height, self.stems.size)
        return Sparse(rows.start, rows.feature.astype(np.int32), rows.weight.astype(np.float32), rows.n_features)

    def inside(self, table: pl.DataFrame) -> pl.DataFrame:
        """The lines of a table (subject, stem ...) whose stem the model knows, with its number there: `feature`."""
        columns = pl.DataFrame({"stem": self.stems}, schema={"stem": pl.Int64}).with_row_index("feature")
        return table.with_columns(pl.col("stem").cast(pl.Int64)).join(columns, on="stem")

    def scores(self, counts: pl.DataFrame) -> Floats:
        """users x stems: what the model expects of users, given how often they had each stem."""
        from coterie.algorithms.kernels.lsa import product, times

        inside = times(self.weighted(counts), self.directions)
        scores = product(inside, np.ascontiguousarray(self.directions.T))
        return np.round(scores, _DIGITS)


def _trials(
    profiles: pl.DataFrame, earlier: pl.DataFrame, truth: pl.DataFrame, people: pl.DataFrame, seed: int
) -> pl.DataFrame:
    """subject and nDCG by each ranking, of all users on trial."""
    tables = []
    for part in range(PARTS):
        here = people.filter(pl.col("part") == part)
        model = _Model.of(profiles.join(here, on="subject", how="anti"), seed)
        users = truth.select(pl.col("subject").unique().sort()).join(here, on="subject", how="semi")["subject"]
        for at in range(0, users.len(), _AT_ONCE):
            tables.append(_tried(model, users.slice(at, _AT_ONCE), earlier, truth))
    return pl.concat(tables)


def _tried(model: _Model, users: pl.Series, earlier: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """subject and nDCG by each ranking, of some users."""
    theirs = earlier.filter(pl.col("subject").is_in(users.implode()))
    having = theirs["subject"].unique().sort()
    gains = np.zeros((users.len(), len(_KINDS)))
    known, wanted = (_by_user(model.inside(table)) for table in (theirs, truth))
    scores = dict(zip(having, model.scores(theirs), strict=True))
    totals = dict(truth.group_by("subject").len().iter_rows())
    for row, user in enumerate(users):
        expected = scores.get(user, np.zeros(model.stems.size))
        together = expected / max(expected.max(initial=0), 1e-12) + model.popularity
        for kind, ranked in enumerate((expected, together, model.popularity)):
            gains[row, kind] = ndcg(ranked, known.get(user, _NONE), wanted.get(user, _NONE), totals[user])
    return pl.DataFrame({"subject": users, **{kind: gains[:, column] for column, kind in enumerate(_KINDS)}})


_NONE = np.zeros(0, dtype=np.int64)


def _by_user(inside: pl.DataFrame) -> dict[str, Ints]:
    """Which columns of the model each user has."""
    lists = inside.sort("subject", "feature").group_by("subject", maintain_order=True).agg("feature")
    return {user: np.array(each, dtype=np.int64) for user, each in lists.iter_rows()}


def ndcg(scores: Floats, known: Ints, wanted: Ints, total: int) -> float:
    """nDCG@100 of a ranking by scores, without what is known; `total` are wanted, some of which have no score.

    Among equal scores the smaller number stands first. What has a score of 0 or less is not foretold.
    """
    left = scores.copy()
    left[known] = -np.inf
    if left.size > FIRST:
        left[left < np.partition(left, left.size - FIRST)[left.size - FIRST]] = -np.inf
    candidates = np.flatnonzero(left > 0)
    first = candidates[np.argsort(-left[candidates], kind="stable")][:FIRST]
    gains = 1 / np.log2(np.arange(2, FIRST + 2))
    hit = np.zeros(left.size, dtype=bool)
    hit[wanted] = True
    return float(gains[: first.size][hit[first]].sum() / gains[: min(total, FIRST)].sum())
