"""Relink: somebody puts the sessions of a person together again, because they are about the same things.

A release with a fresh name for each session (`users = session`), or with several names for each person, keeps what a
person asked apart. The adversary compares names by what stands under them and takes, for each name, the most similar
other one. Similar are names with the same

    words         words of their queries, without stop words
    characters    runs of three characters within their queries
    hosts         hosts of clicked pages, where the release has them

by the cosine of TF-IDF weights, (1 + ln n) ln(names / names that have it); `all` adds the three up, and `best` is the
kind of the four that does best. Text that only one
name has points to nobody. A guess is right if both names are of the same person; among m equally similar names it
counts by how many of them are. Where nothing is alike there is no guess, and that is a failure.

    after.best, after.words ...   names for which the guess is right (% of names, 95 % interval over persons)
    before                        the same for all sessions of the original under names like these
    chance                        what a guess at random among all other names would reach: the control
    lift                          after.best / chance

Up to 500 names of persons with several of them, one of each person first, are attacked among up to 10,000 names, both
drawn by the seed; names of attacked persons are all among these. It needs the run record. Where each person has one
name there is nothing to put together, and where no row has a name nothing to compare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.scores import Figure, Finding, Score, Weighed
from coterie.core.shapes import Shape
from coterie.errors import NotApplicableError
from coterie.measures.attacks import Z
from coterie.measures.comparison import Comparison
from coterie.steps.sessions import Sessions, session_minutes
from coterie.text.hosts import host_of
from coterie.text.language import Language, language_in

needs = frozenset({"record", "text"})
ATTACKED = 500
NAMES = 10_000
KINDS = ("words", "characters", "hosts")
figures = (
    Figure(
        section="attacks",
        order=70,
        key="after.best",
        title="Sessions put together again",
        reading="Names for which somebody picks another name of the same person, by words, characters and clicked "
        "hosts. In brackets the 95% interval. Lower is safer.",
        before="before.best",
        beside=(("chance", "after.chance"),),
    ),
    Figure(
        section="attacks",
        order=70,
        key="after.chance",
        title="Sessions put together by chance",
        reading="The same for a pick at random.",
        before="before.chance",
    ),
)
weighed = (
    Weighed(
        risk="linkability",
        key="after.best",
        before="before.best",
        attacker="somebody who compares what stands under each name picks another name of the same person",
        control="after.chance",
    ),
)
findings = (
    Finding(
        risk="linkability",
        text="Somebody who compares what stands under each name picks another name of the same person in {after.best} "
        "of cases; by chance in {after.chance}, among the sessions of the original in {before.best}.",
        options="--record DIR",
    ),
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """How often the most similar name is of the same person, in the original and in the release."""
    shape = comparison.release.log.shape
    if not shape.subject:
        raise NotApplicableError("The release has counts in place of rows, so there is nothing to put together again.")
    released = _rows(comparison.release.log.frame, shape)
    after = comparison.names.select(person="original", name="released").join(released, on="name")
    if after.is_empty():
        raise NotApplicableError("No row of this release has a name, so there are no sessions to put together again.")
    if after.select("person", "name").unique()["person"].is_unique().all():
        raise NotApplicableError("Each person has one name in this release: there is nothing to put together again.")
    spoken = language_in(comparison.release.params)
    yield from _scores("before", _sessions(comparison), spoken, comparison.seed)
    scores = {score.key: score for score in _scores("after", after, spoken, comparison.seed)}
    yield from scores.values()
    right, chance = scores["after.best"].value, scores["after.chance"].value
    yield Score("lift", right / chance if right is not None and chance else None, "times chance")


def _rows(frame: pl.LazyFrame, shape: Shape) -> pl.DataFrame:
    """name, item, page of all rows that have a name."""
    page = pl.col(shape.page) if shape.page else pl.lit(None, pl.String)
    return frame.select(name=pl.col(shape.subject), item=pl.col(shape.item), page=page).drop_nulls("name").collect()


def _sessions(comparison: Comparison) -> pl.DataFrame:
    """person, name, item, page of the original, under a name for each session."""
    log, shape = comparison.log, comparison.log.shape
    numbered = Sessions(minutes=session_minutes(log))(log).frame.with_columns(
        pl.concat_str(pl.col(shape.subject), pl.col("session").cast(pl.String), separator="\0").alias("_name")
    )
    page = pl.col(shape.page) if shape.page else pl.lit(None, pl.String)
    columns = {"person": pl.col(shape.subject), "name": pl.col("_name"), "item": pl.col(shape.item), "page": page}
    return numbered.select(**columns).drop_nulls("name").collect(engine="streaming")


def _scores(moment: str, rows: pl.DataFrame, spoken: Language, seed: int) -> Iterator[Score]:
    names = _drawn(rows.select("person", "name").unique(), seed)
    attacked = names.filter("attacked")
    yield Score(f"{moment}.names", names.height, "names compared")
    yield Score(f"{moment}.attacked", attacked.height, "names attacked")
    own = names.group_by("person").len("own")
    others = attacked.join(own, on="person", maintain_order="left")["own"].to_numpy() - 1
    people = attacked["person"].rank("dense").to_numpy() - 1
    chance = others / max(1, names.height - 1)
    yield Score(f"{moment}.chance", 100 * float(chance.mean()) if chance.size else None, "% of names")
    guesses = _right(rows.join(names, on=["person", "name"]), names, spoken)
    guesses["best"] = max(guesses.values(), key=lambda right: float(right.sum()))  # of equals the first
    for kind, right in guesses.items():
        yield from _mean(f"{moment}.{kind}", right, people)


def _drawn(names: pl.DataFrame, seed: int) -> pl.DataFrame:
    """person, name, attacked, id: some names, among them all of the persons of whom a name is attacked."""
    key = randomness.keys(seed, "relinked names", names["name"]) if names.height else np.zeros(0, np.uint64)
    names = names.with_columns(pl.Series("key", key)).sort("key", "name")
    several = pl.len().over("person") > 1
    turn = pl.int_range(pl.len()).over("person")
    order = names.with_columns(several=several, turn=turn).sort(~pl.col("several"), "turn", "key", "name")
    order = order.with_columns(attacked=pl.col("several") & (pl.int_range(pl.len()) < ATTACKED))
    kept = pl.col("attacked").any().over("person")
    chosen = order.with_columns(kept=kept).sort(~pl.col("kept"), "key", "name").head(NAMES)
    chosen = chosen.with_columns(alone=pl.len().over("person") == 1)
    chosen = chosen.with_columns(attacked=pl.col("attacked") & ~pl.col("alone"))
    return chosen.sort("key", "name").select("person", "name", "attacked").with_row_index("id")


def _mean(key: str, right: NDArray[np.float64], people: NDArray[np.uint32]) -> Iterator[Score]:
    """The mean in percent; its interval takes the names of a person together, which resemble one another."""
    if right.size == 0:
        yield Score(key, None, "% of names")
        return
    mean = float(right.mean())
    by_person = np.bincount(people, weights=right - mean)
    half = Z * math.sqrt(float((by_person**2).sum())) / right.size
    for end, limit in (("", mean), (".low", mean - half), (".high", mean + half)):
        yield Score(f"{key}{end}", 100 * min(1.0, max(0.0, limit)), "% of names")


# --- which name is most similar ---------------------------------------------------------------------


def _right(rows: pl.DataFrame, names: pl.DataFrame, spoken: Language) -> dict[str, NDArray[np.float64]]:
    """For each kind of text how right the guess about each attacked name is."""
    terms = [_Vectors.of(table, names.height) for table in _terms(rows, spoken)]
    person = names["person"].rank("dense").to_numpy()
    attacked = np.flatnonzero(names["attacked"].to_numpy())
    right = {kind: np.zeros(attacked.size) for kind in (*KINDS, "all")}
    for place, name in enumerate(attacked):
        similar = [each.like(int(name)) for each in terms]
        for kind, score in zip((*KINDS, "all"), [*similar, np.sum(similar, axis=0)], strict=True):
            score = np.round(score, 9)  # so that equally similar names are equal
            score[name] = 0.0
            if score.max() > 0:
                best = np.flatnonzero(score == score.max())
                right[kind][place] = (person[best] == person[name]).mean()
    return right


def _terms(rows: pl.DataFrame, spoken: Language) -> Iterator[pl.DataFrame]:
    """id, term, n for words, characters and hosts."""
    items = rows.select("item").unique()
    words = items.with_columns(term=spoken.keywords(pl.col("item"))).explode("term").drop_nulls("term")
    yield rows.join(words, on="item").group_by("id", "term").len("n")
    yield rows.join(_runs_of_three(items), on="item").group_by("id", "term").len("n")
    pages = rows.select("page").drop_nulls().unique()
    hosts = pages.with_columns(term=pl.Series([host_of(page) for page in pages["page"].to_list()], dtype=pl.String))
    yield rows.join(hosts.filter(pl.col("term") != ""), on="page").group_by("id", "term").len("n")


def _runs_of_three(items: pl.DataFrame) -> pl.DataFrame:
    """item, term: the distinct runs of three characters of each item, a space before and after it."""
    runs = [
        (item, run)
        for item in items["item"].to_list()
        for text in (f" {item} ",)
        for run in {text[begin : begin + 3] for begin in range(max(1, len(text) - 2))}
    ]
    return pl.DataFrame(runs, schema={"item": pl.String, "term": pl.String}, orient="row")


@dataclass(frozen=True, eq=False, repr=False)
class _Vectors:
    """A sparse matrix of names and terms, lines of length 1, sorted by name."""

    names: int
    first: NDArray[np.int64]
    """Where the entries of each name begin."""
    name: NDArray[np.int64]
    term: NDArray[np.int64]
    weight: NDArray[np.float64]
    terms: int

    @classmethod
    def of(cls, counts: pl.DataFrame, names: int) -> _Vectors:
        """`counts`: id, term, n. Terms of one name alone add to its length only."""
        table = counts.with_columns(having=pl.len().over("term"), number=pl.col("term").rank("dense") - 1)
        table = table.sort("id", "number")
        name, often = table["id"].to_numpy().astype(np.int64), table["n"].to_numpy()
        weight = (1 + np.log(often)) * np.log(names / table["having"].to_numpy()) if table.height else np.zeros(0)
        length = np.sqrt(np.bincount(name, weights=weight**2, minlength=names))
        weight = weight / np.maximum(length[name], 1e-12)
        shared = (table["having"] > 1).to_numpy()
        name, weight, term = name[shared], weight[shared], table["number"].to_numpy().astype(np.int64)[shared]
        first = np.searchsorted(name, np.arange(names + 1))
        return cls(names, first, name, term, weight, int(term.max()) + 1 if term.size else 0)

    def like(self, name: int) -> NDArray[np.float64]:
        """The cosine of one name with all."""
        begin, end = self.first[name], self.first[name + 1]
        own = np.zeros(self.terms)
        own[self.term[begin:end]] = self.weight[begin:end]
        weights = own[self.term] * self.weight
        return np.bincount(self.name, weights=weights, minlength=self.names).astype(np.float64)
