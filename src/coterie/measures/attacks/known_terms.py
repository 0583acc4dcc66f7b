"""Known terms: somebody knows a few terms of a document, looks for its vector, and guesses a further term.

The adversary knows 1, 3 or 10 terms of a document, drawn at random, and takes the released vector that fits best: the
largest sum of ln(1 + n / vectors that have it) over known terms that stand in it, n = released vectors; among equals,
also where nothing fits, any of them. Where names of concepts are released, a known term stands in a vector that has a
concept above its likeliest sense in WordNet.

    after.three_terms           documents whose name is found: the right vector, and then the right one of its names;
                                at most one in k (`bound`). `before`: the same among raw documents
    vector.three_terms          documents whose vector is found, which no promise bounds
    guess.three_terms           documents that have the term of the vector with the largest weight which is not known
    guess.three_terms.chance    how many documents have the guessed term, on average: what the guess is worth without
                                knowing any term
    telling.three_terms         the same for the term that is most usual in that vector compared with all others, which
                                says more about a document, and its chance

A guess of a concept is right if the document has a term below it that is not known. Population: documents with more
terms than are known, up to 1,000 drawn by the seed; those are released that have a vector. Control: a name of the
release at random. `before`, `after` and `released` are explained in measures/rates.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from coterie.core.scores import Score
from coterie.core.shapes import sum_in_order
from coterie.errors import NotApplicableError
from coterie.measures.attacks import bound
from coterie.measures.comparison import Comparison
from coterie.measures.rates import CHANCE, Rate, Shares, figures_in, mean, sentences, titled
from coterie.measures.subjects import DOC, TERM, WEIGHT, DocumentVectors, concepts_of, keyed, vectors_of

needs = frozenset({"record"})
ATTACKED = 1_000
_UNIT = "% of documents"
KNOWLEDGE: Mapping[str, int] = {"one_term": 1, "three_terms": 3, "ten_terms": 10}
_rate = partial(Rate, unit=_UNIT, beside=(CHANCE,))
THREE = _rate(
    "three_terms",
    "Documents found by three terms",
    "Documents whose name somebody finds in the release who knows three of their terms, drawn at random. In brackets "
    "the 95% interval. It is bounded by one in k.",
)
TEN = _rate(
    "ten_terms",
    "Documents found by ten terms",
    "The same for ten.",
    attacker="somebody who knows ten terms of a document finds its name",
    control="a name of the release at random",
    bound="bound",
    shape="TERMS",
)
SHOWN = {
    **THREE.shown,
    **TEN.shown,
    "telling.three_terms": titled(
        "A further, telling term guessed",
        "The same adversary takes the vector that fits best and guesses the term which is most usual in it compared "
        "with all others: documents that really have it. No promise bounds this.",
        beside=(("chance", "telling.three_terms.chance"),),
    ),
    "telling.three_terms.chance": titled(
        "The same without knowing any term",
        "How many documents have the guessed term, on average.",
    ),
}
figures = figures_in("attacks", 15, SHOWN)
weighed = (TEN.weighed,)
findings = sentences(
    "inference",
    "Somebody who knows three terms of a document guesses a further, telling one, and is right in "
    "{telling.three_terms} of cases; {telling.three_terms.chance} of documents have such a term.",
)


def measure(comparison: Comparison) -> Iterator[Score]:
    """What is found and guessed, for each knowledge."""
    vectors = vectors_of(comparison)
    if vectors.after.is_empty():
        raise NotApplicableError("Nothing is released of any document.")
    released = vectors.distinct.rename({"group": "vector"})
    names = vectors.members.join(vectors.after.select(DOC).unique(), on=DOC, how="semi").rename({"group": "vector"})
    raw, alone = vectors.before.rename({DOC: "vector"}), vectors.members.select(DOC, vector=DOC)
    has = _standing(vectors)
    n_documents = vectors.members.height
    yield from bound(comparison.release, _UNIT)
    for key, known in _known(vectors.before, comparison.seed):
        n = known[DOC].n_unique()
        yield Score(f"documents.{key}", n, "documents attacked")
        if not n:
            continue
        own = known.select(DOC).unique().sort(DOC)
        among_raw = _best(known.select(DOC, TERM, standing=TERM), raw.select("vector", standing=TERM))
        yield from _rate(key).scores("before", _shares(_found(own, among_raw, alone), alone))
        best = _best(known.join(has, on=[DOC, TERM]), released.select("vector", standing=TERM))
        found = _found(own, best, names)
        yield from _rate(key).scores("after", _shares(found, names))
        yield Score(f"vector.{key}", 100 * float(found["found"].sum()) / n, _UNIT)
        yield from _guesses(key, own, best, released, known, has, n_documents)


def _known(rows: pl.DataFrame, seed: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """For each knowledge: doc and the known terms, of documents that have more."""
    some = keyed(rows.group_by(DOC).len("n"), seed, "documents attacked", DOC).sort("drawn", DOC)
    terms = keyed(rows, seed, "known terms", DOC, TERM)
    for key, number in KNOWLEDGE.items():
        attacked = some.filter(pl.col("n") > number).head(ATTACKED).select(DOC)
        theirs = terms.join(attacked, on=DOC, how="semi").sort(DOC, "drawn", TERM)
        yield key, theirs.filter(pl.int_range(pl.len()).over(DOC) < number).select(DOC, TERM)


def _standing(vectors: DocumentVectors) -> pl.DataFrame:
    """doc, term, standing: what a term of a document stands for in released vectors; itself, or concepts above it."""
    if not vectors.concepts:
        return vectors.before.select(DOC, TERM, standing=TERM)
    terms = concepts_of(vectors.before[TERM].unique(), named=False)
    names = concepts_of(vectors.after[TERM].unique(), named=True).group_by(TERM, maintain_order=True).first()
    standing = terms.join(names.rename({TERM: "standing"}), on="concept").select(TERM, "standing")
    return vectors.before.select(DOC, TERM).join(standing, on=TERM)


def _best(clues: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """doc, vector, share: the vectors that fit best, each with its part of one choice. A clue counts once in each."""
    n = vectors["vector"].n_unique()
    weight = vectors.group_by("standing").len("having").select("standing", value=(1 + n / pl.col("having")).log())
    fitting = clues.join(vectors, on="standing").join(weight, on="standing")
    of_clue = fitting.group_by(DOC, "vector", TERM).agg(pl.col("value").max())
    scores = of_clue.sort(DOC, "vector", TERM).group_by(DOC, "vector", maintain_order=True).agg(pl.col("value").sum())
    # Sums of the same weights can differ in the last digit.
    best = scores.filter(pl.col("value").round(9) == pl.col("value").round(9).max().over(DOC))
    return best.select(DOC, "vector", share=1 / pl.len().over(DOC))


def _found(own: pl.DataFrame, best: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """doc, vector, found: how surely a document's own vector is found; null and 0 where it has none."""
    theirs = own.join(members.select(DOC, "vector"), on=DOC, how="left", maintain_order="left")
    found = theirs.join(best, on=[DOC, "vector"], how="left", maintain_order="left")
    lost = pl.when(~pl.col(DOC).is_in(best[DOC].unique().implode())).then(1 / members["vector"].n_unique())
    chance = pl.when(pl.col("vector").is_not_null()).then(pl.coalesce("share", lost))
    return found.select(DOC, "vector", found=chance.fill_null(0.0))


def _shares(found: pl.DataFrame, members: pl.DataFrame) -> Shares:
    """Who finds the name: the vector, and then the right one of its names. Control: a name at random."""
    size = members.group_by("vector").len("names")
    targets = found.join(size, on="vector", how="left", maintain_order="left").select(
        person=DOC, n=pl.lit(1), released=pl.col("vector").is_not_null(),
        success=pl.col("found") / pl.col("names").fill_null(1), control=pl.lit(1 / members.height),
    )  # fmt: skip
    return Shares.of(targets)


def _guesses(
    key: str, own: pl.DataFrame, best: pl.DataFrame, released: pl.DataFrame, known: pl.DataFrame, has: pl.DataFrame,
    n_documents: int,
) -> Iterator[Score]:  # fmt: skip
    """How often the first guess is right: the heaviest term of the vector, or the most telling one."""
    n = released["vector"].n_unique()
    usual = released.group_by(TERM).agg(usual=sum_in_order(WEIGHT) / n)
    first = best.sort(DOC, "vector").group_by(DOC, maintain_order=True).first().select(DOC, "vector")
    terms = first.join(released, on="vector").join(usual, on=TERM)
    told = known.join(has, on=[DOC, TERM]).select(DOC, pl.col("standing").alias(TERM)).unique()
    terms = terms.join(told, on=[DOC, TERM], how="anti")
    further = has.join(known, on=[DOC, TERM], how="anti").select(DOC, pl.col("standing").alias(TERM)).unique()
    having = has.select(DOC, "standing").unique().group_by(pl.col("standing").alias(TERM)).len("having")
    for name, rank in (("guess", pl.col(WEIGHT)), ("telling", pl.col(WEIGHT) / pl.col("usual"))):
        ranked = terms.with_columns(rank.round(9).alias("rank")).sort(
            DOC, "rank", TERM, descending=[False, True, False]
        )
        guess = ranked.group_by(DOC, maintain_order=True).first().select(DOC, TERM)
        right = own.join(guess.join(further, on=[DOC, TERM], how="semi").with_columns(right=1.0), on=DOC, how="left")
        chance = guess.join(having, on=TERM)["having"].sum() / n_documents / own.height
        yield from mean(f"{name}.{key}", right["right"].fill_null(0.0).to_numpy(), _UNIT)
        yield Score(f"{name}.{key}.chance", 100 * float(chance), _UNIT)
