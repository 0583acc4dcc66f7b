"""Two words: somebody who knows two words of a search, and not the search, looks for people who typed them together.

An acquaintance knows what a person is about, not what they typed: a name and a place, an illness and a medicine. Of up
to 20 different searches of each attacked user that have three words or more (stop words do not count), the adversary
knows two words, drawn by the seed, looks at all rows that have both, and guesses among the people behind them:

    found               success is 1 / people if the person is one of them, and 0 if not
    after.wrong         of the searches for which they are of one person: those where it is another person (%)
    after.words         further words that stand in these rows, mean over those of one person, the right one
    after.people        people behind these rows, median over searches for which there are any
    after.alone         searches for which all these rows are of one person, and it is the right one: found for certain
    after.outsiders     searches of people who are not in the log (`--outsiders LOG`) for which they are of one person,
                        so that an adversary who is certain is wrong: it is shown and never subtracted

Population: people of the original who have such a search, up to 1,000 drawn by the seed; a search is released if a row
of this person has both words. Control: a guess among all people of the original, 1 / people. `before`, `after` and
`released` are explained in measures/rates.py. A promise that every two words of a released query were typed together by
k people says that k people fit in the *original*; in the release fewer may be left, often not the right one. Who is
behind a row is what the run record says, so it needs one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core.scores import Score
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.rates import Rate, Shares, figures_in, mean, sentences, share_of, titled
from coterie.measures.subjects import drawn, first_drawn, people_behind, rarer_first
from coterie.text.language import Language, language_in

needs = frozenset({"record", "text"})
ATTACKED = 1_000
QUERIES_EACH = 20
LEAST_WORDS = 3
_UNIT = "% of queries"
FOUND = Rate(
    "found",
    "Found by two words of a search",
    "Searches by two words of which somebody finds the person: one in the number of people whose rows have both, if "
    "the person is among them, mean over users. In brackets the 95% interval. Lower is safer.",
    unit=_UNIT,
    attacker="somebody who knows two words of a search guesses who typed it among the people whose rows have both",
    control="a guess among all people of the log",
    shape="QUERIES",
)
SHOWN = {
    **FOUND.shown,
    "after.outsiders": titled(
        "Found by two words, though not in the log",
        "The same for people who are not in the log: how often the attacker is wrong.",
    ),
}
figures = figures_in("attacks", 33, SHOWN)
weighed = (FOUND.weighed,)
findings = sentences(
    "singling out",
    "Somebody who knows two words of a search guesses who typed it among the people whose rows have both, and is right "
    "in {after.found} of cases; of what was released in {released.found}; in the log itself in {before.found}.",
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """How often two words lead to one person, in the original and in the release."""
    comparison.require_shape(QUERIES, "It is about words of queries")
    after = people_behind(comparison)
    before = comparison.pairs_before.select(person="subject", item="item")
    spoken = language_in(comparison.release.params)
    people = before["person"].unique().sort()
    users = drawn(people, ATTACKED, comparison.seed, "users of two words").alias("subject").to_frame()
    typed = comparison.pairs_before.join(users, on="subject", how="semi")
    clues = known(typed, spoken, comparison.seed)
    if clues.is_empty():
        raise NotApplicableError(f"No query of this log has {LEAST_WORDS} words that are no stop words.")
    outside = None
    if comparison.has("outsiders"):
        others = comparison.given("outsiders").select("subject", "item").drop_nulls().unique()
        outside = known(others, spoken, comparison.seed)
    yield Score("users", clues["subject"].n_unique(), "users attacked")
    yield Score("queries", clues.height, "queries")
    chance = pl.lit(1 / people.len())
    for moment, rows in (("before", before), ("after", after)):
        words = words_of(rows, spoken)
        hits = attack(clues, rows, words).with_columns(n=pl.lit(1))
        targets = hits.select("n", person="subject", released="own", success=1 / pl.col("people"), control=chance)
        yield from FOUND.scores(moment, Shares.of(targets))
        certain = (pl.col("people") == 1) & pl.col("own")
        yield from mean(f"{moment}.alone", share_of(hits, certain), _UNIT)
        alone = hits.filter(pl.col("people") == 1)
        right = pl.col("person") == pl.col("subject")
        wrong = alone.select((~right).mean()).item() if alone.height else None
        yield Score(f"{moment}.wrong", None if wrong is None else 100 * wrong, "% of those left alone")
        theirs = alone.filter(right)
        further = theirs["further"].to_numpy()
        yield Score(f"{moment}.words", float(further.mean()) if further.size else None, "words")
        some = hits.filter(pl.col("people") > 0)["people"]
        yield Score(f"{moment}.people", None if some.is_empty() else float(np.median(some.to_numpy())), "people")
        if outside is not None:
            foreign = attack(outside, rows, words).with_columns(n=pl.lit(1))
            yield from mean(f"{moment}.outsiders", share_of(foreign, pl.col("people") == 1), _UNIT)


def words_of(rows: pl.DataFrame, spoken: Language) -> pl.DataFrame:
    """item, word: the distinct words of all items, without stop words."""
    items = rows.select(pl.col("item").unique().sort())
    return items.with_columns(word=spoken.keywords(pl.col("item"))).explode("word").drop_nulls("word")


def known(typed: pl.DataFrame, spoken: Language, seed: int) -> pl.DataFrame:
    """subject, item, one, two: two words of some queries of each user (subject, item), drawn by the seed."""
    long = words_of(typed, spoken).with_columns(words=pl.len().over("item")).filter(pl.col("words") >= LEAST_WORDS)
    queries = typed.join(long, on="item", how="semi").sort("subject", "item")
    queries = first_drawn(queries, ["subject"], "queries of two words", seed, QUERIES_EACH)
    words = queries.join(long.select("item", "word"), on="item")
    two = first_drawn(words, ["subject", "item"], "two words", seed, 2).sort("subject", "item", "word")
    pairs = two.group_by("subject", "item", maintain_order=True)
    return pairs.agg(one=pl.col("word").first(), two=pl.col("word").last())


def attack(clues: pl.DataFrame, rows: pl.DataFrame, words: pl.DataFrame) -> pl.DataFrame:
    """subject, item, one, two, and of the rows that have both words: people, person (one of them), further (words).

    `own`: whether the user is one of these people. `rows`: person, item, each pair once; `words`: item, word.
    """
    having = rarer_first(clues.select("one", "two").unique(), "one", "two", words.rename({"word": "value"}))
    items = having.join(words, left_on="first", right_on="word")
    items = items.join(words, left_on=["item", "second"], right_on=["item", "word"], how="semi")
    items = items.select("one", "two", "item")
    key = ["one", "two"]
    typed = items.join(rows, on="item")
    behind = typed.group_by(key).agg(
        pl.col("person").n_unique().cast(pl.Int64).alias("people"), pl.col("person").min()
    )  # fmt: skip
    left = behind.filter(pl.col("people") == 1)
    written = items.join(left, on=key, how="semi").join(words, on="item")
    read = written.group_by(key).agg((pl.col("word").n_unique().cast(pl.Int64) - 2).alias("further"))
    found = clues.join(behind, on=key, how="left", maintain_order="left")
    found = found.join(read, on=key, how="left", maintain_order="left")
    own = typed.select(*key, subject="person", own=pl.lit(True)).unique()
    found = found.join(own, on=[*key, "subject"], how="left", maintain_order="left")
    return found.with_columns(pl.col("people").fill_null(0), pl.col("own").fill_null(False))
