"""How well does somebody who knows a person's group guess their main interest?

k users with one profile cannot be told apart, but what they have in common is known of all of them. The main interest
of a user is the category of the taxonomy whose share in their queries exceeds its mean share over users most. Somebody
who knows in which group a person is guesses the main interest of the released profile, found in the same way; somebody
who knows nothing guesses the main interest that most users have. At several levels of the taxonomy (WordNet: 5, 7, 8):

    right       share of users whose main interest is guessed from the profile
    majority    share of users whose main interest is the most frequent one
    gain        right - majority, in percentage points

and their means over the levels, `right`, `majority` and `gain`.
Better groups keep more meaning, and disclose more: both rise together.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.scores import Score
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import figures_in, titled
from coterie.measures.subjects import Meaning, levels_of, profile_names

needs = frozenset({"record", "taxonomy"})
SHOWN = {
    "right": titled(
        "Main interest guessed from the profile",
        "Users whose main interest somebody guesses who knows which profile is theirs, mean over levels of the "
        "taxonomy. It rises with what profiles are good for: the price of groups of like users. Lower is safer.",
    ),
    "majority": titled(
        "Main interest guessed without it",
        "The same by somebody who knows only which main interest is the most frequent.",
    ),
}
figures = figures_in("privacy", 30, SHOWN)


def measure(comparison: Comparison) -> Iterator[Score]:
    """Guesses from profiles and without them, at each level."""
    names = profile_names(comparison)
    own = comparison.original.select("subject", "item").drop_nulls()
    profiles = comparison.released.select("subject", "item").drop_nulls()
    meaning = Meaning.of(comparison.given("taxonomy"), own["item"], profiles["item"])
    levels = []
    for level in levels_of(meaning.tree):
        truth = _main(meaning.shares(own, level), "truth")
        guess = _main(meaning.shares(profiles, level), "guess")
        users = truth.join(names, left_on="subject", right_on="original", how="left").join(
            guess, left_on="released", right_on="subject", how="left"
        )
        if users.is_empty():
            raise NotApplicableError(f"No query has a category at level {level}.")
        right = 100 * users.filter(pl.col("truth") == pl.col("guess")).height / users.height
        majority = 100 * int(users["truth"].unique_counts().to_numpy().max()) / users.height
        levels.append((right, majority))
        yield from _scores(f"level_{level}.", right, majority)
    yield from _scores("", *(sum(numbers) / len(levels) for numbers in zip(*levels, strict=True)))


def _scores(prefix: str, right: float, majority: float) -> Iterator[Score]:
    yield Score(f"{prefix}right", right, "% of users")
    yield Score(f"{prefix}majority", majority, "% of users")
    yield Score(f"{prefix}gain", right - majority, "percentage points")


def _main(shares: pl.DataFrame, name: str) -> pl.DataFrame:
    """subject and the category whose share exceeds its mean over all subjects most; of equals the first."""
    subjects = shares["subject"].n_unique()
    usual = shares.group_by("category", maintain_order=True).agg(pl.col("share").sum() / max(1, subjects))
    above = shares.join(usual, on="category").with_columns(pl.col("share") - pl.col("share_right"))
    ordered = above.sort("subject", "share", "category", descending=[False, True, False])
    return ordered.group_by("subject", maintain_order=True).agg(pl.col("category").first().alias(name))
