"""k-θ-affinity: every released item, and released items affine to it, were issued by at least k users.

Recount: weights of n-grams and affinity of queries from the original log, for the judge alone (paper 001).

It shares no code with the model of affinity and its kernels: n-grams are strings in polars tables here, nothing is
pruned, and weights are floating-point numbers. Only the n-grams of the queries in question are counted, which makes it
linear in the log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.log import Log
from coterie.core.params import Flag, Range
from coterie.core.promise import Case, Check, Kind
from coterie.promises import _single_queries as single
from coterie.promises._checks import (
    NameOrDigest,
    Question,
    invented,
    no_more_rows,
    recent,
    released_items,
    time_columns,
)
from coterie.promises._words import ItemPromise
from coterie.text.language import FUNCTION_LISTS, name_of_words

_SMALL_ITEMS, _SMALL_CROWDS = 2_000, 200_000  # released items, and their users, up to which all pairs are compared
_FUNCTION_WORDS = "the function words, which are in the run record (--record DIR)"
_CERTIFICATE = "the run record (--record DIR): there are too many pairs to compare them all"
_CLAIMS = dict.fromkeys(("item", "by", "user"), pl.String)  # who covers whom: it saves a search and is not believed


@dataclass(frozen=True, kw_only=True)
class _Numbers(ItemPromise):
    """Its own numbers, which come before those of what accompanies items."""

    k: Annotated[int, Range(2), "smallest number of users behind a released query and those affine to it"]
    theta: Annotated[float, Range(0.1, 1), "cosine from which queries are affine"] = 0.9
    min_users: Annotated[
        int, Range(0), "users from which a word or phrase is a concept; 0: one in ten thousand users, at least 2"
    ] = 0
    min_term_users: Annotated[int, Range(1), "users that each word of a covered query must have"] = 2
    strict: Annotated[bool, Flag(), "no released query has a word of fewer users, not even one of k users"] = False
    function_words: Annotated[
        str,
        NameOrDigest(*FUNCTION_LISTS),
        "words that make no concept alone: the name of the list, or the digest of one that has none",
    ] = "english"


@dataclass(frozen=True, kw_only=True)
class KThetaAffinity(single.OfRowsAlone, single.Accompanied, _Numbers):
    """Every released item, and released items affine to it, were issued by at least k users of the original log."""

    name: ClassVar[str] = "k_theta_affinity"
    releases: ClassVar[Kind] = "text"
    """Released items are what was typed."""
    anywhere = property(single.judged_anywhere)

    @property
    def derived(self) -> Mapping[str, object]:
        """Whether somebody gave a list of function words of their own."""
        return {"own_function_words": self.function_words not in FUNCTION_LISTS}

    @property
    def evidence(self) -> tuple[str, ...]:
        """Who covers whom, and the function words if their list has no name."""
        return ("certificate",) if self.function_words in FUNCTION_LISTS else ("certificate", "function_words")

    def check(self, case: Case) -> Iterator[Check]:
        """Count the users behind each released item and those affine to it, then look at names and details.

        It stops items of one user that are released as if others had typed nearly the same.
        """
        yield from single.whose(case, self)
        item = case.shape.item
        no_more = no_more_rows(item, item)
        if case.original is None:
            yield self._cover(item).open()
            yield no_more.open()
        else:
            original = recent(case.original, self.window)
            table = released_items(case, original)
            yield no_more.answered(invented(table), table.height)
            yield from self._words_and_cover(case, original, table)
        if not case.foreign:
            yield from single.accompaniment(case, self)

    def _cover(self, item: str) -> Question:
        detail = f"at least {self.k} users behind each released {item} and the released ones affine to it"
        return Question(f"cover.{item}", detail, "have fewer", original=True, carries=True)

    def _words_and_cover(self, case: Case, original: Log, table: pl.DataFrame) -> Iterator[Check]:
        """No rare word, where that is promised, and k users behind each item of `table` (item, crowd)."""
        item = case.shape.item
        function_words = self._function_words(case.table("function_words", {"word": pl.String}))
        alone = bool((table["crowd"] >= self.k).all())  # each item has its k users without the others
        claims, needs = (None, "") if alone else self._claims(case, table, function_words)
        compares = not alone and not needs
        # The original is recounted once, for every item that one of the two checks looks at.
        asked = [table["item"]] if self.strict or (compares and claims is None) else []
        asked += [] if claims is None else [claims["item"], claims["by"]]
        recounted = None
        if asked:
            items = pl.concat([part.rename("item") for part in asked]).unique().to_frame()
            recounted = recount(original, items, self.min_users, self.min_term_users, function_words or ())
        if self.strict and recounted is not None:
            yield self._words(item, table, recounted)
        if needs:
            yield self._cover(item).open(needs)
            return
        covered, how = table.select("item", pl.col("crowd").cast(pl.Int64).alias("covered")), ""
        if compares and recounted is not None:
            covered, how = self._covered(table, recounted, claims)
        yield self._cover(item).of_crowds(covered["covered"], self.k, how=how)

    def _claims(
        self, case: Case, table: pl.DataFrame, function_words: frozenset[str] | None
    ) -> tuple[pl.DataFrame | None, str]:
        """Who covers whom by the certificate, where there are too many items to compare all; and what is lacking."""
        if function_words is None:
            return None, _FUNCTION_WORDS
        if table.height <= _SMALL_ITEMS and table["crowd"].sum() <= _SMALL_CROWDS:
            return None, ""
        claims = case.table("certificate", _CLAIMS, nullable=("user",))
        return claims, _CERTIFICATE if claims is None else ""

    def _words(self, item: str, table: pl.DataFrame, recounted: Recount) -> Check:
        """No item has a word of too few users; which words these are does not depend on function words."""
        detail = f"no released {item} has a word of fewer than {self.min_term_users} users"
        rare = Question(f"words.{item}", detail, "have one", original=True, carries=True)
        return rare.answered(recounted.rare.join(table, on="item", how="semi").height, table.height)

    def _covered(
        self, table: pl.DataFrame, recounted: Recount, claims: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, str]:  # fmt: skip
        """item, covered: the users behind each item and those affine to it; and how they were counted."""
        concepts = f"concepts have at least {recounted.tau:,} users"
        if claims is None:
            return covered_by_all(recounted, table, self.theta), f"{concepts}; all pairs compared"
        covered = proved(recounted, claims, table, self.theta, self.k)
        return covered, f"{concepts}; {claims.height:,} lines of the certificate compared, which prove no larger k"

    def _function_words(self, given: pl.DataFrame | None) -> frozenset[str] | None:
        """The function words that the promise names; None where they have no name and were not given."""
        if self.function_words in FUNCTION_LISTS:
            return FUNCTION_LISTS[self.function_words]
        words = frozenset[str]() if given is None else frozenset(given["word"])
        return words if name_of_words(words) == self.function_words else None


# --- recounted from the original --------------------------------------------------------------------


_QUERIES_AT_ONCE = 250_000  # whose n-grams are in memory together
_PAIRS_AT_ONCE = 10_000_000  # (n-gram, user), before distinct ones are counted
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recount:
    """Some queries as vectors, as the original log has them."""

    tau: int
    """The number of users from which an n-gram is a concept."""
    vectors: pl.DataFrame
    """item, gram, weight: the concepts of each query."""
    rare: pl.DataFrame
    """item: queries with a word of too few users."""
    pairs: pl.DataFrame
    """item, user: who asked what, for all queries of the log."""


def recount(
    original: Log, items: pl.DataFrame, min_users: int, min_term_users: int, function_words: Collection[str]
) -> Recount:
    """The vectors of `items` (a column of that name)."""
    pairs = _pairs(original)
    people = pairs["user"].n_unique()
    # No word has more users than there are: a number above that means the same as one more, and fits into a column.
    tau = min(min_users or max(2, people // 10_000), people + 1)
    min_term_users = min(min_term_users, people + 1)
    queries = pairs.group_by("item").agg(pl.col("events").sum(), pl.len().cast(pl.Int64).alias("crowd"))
    queries = queries.with_columns(_words("item").list.len().cast(pl.Int64).alias("words")).with_row_index("q")
    wanted = _grams(items.select("item"))
    kinds = wanted.select("gram", "n").unique().sort("gram").with_row_index("g")
    totals = [float((queries["events"] * (queries["words"] - n).clip(lower_bound=0)).sum()) for n in range(3)]
    counted = _counted(queries, kinds)
    crowded = _crowded(pairs, queries, counted, tau, min_term_users)
    listed = pl.Series(sorted(function_words), dtype=pl.String).implode()
    only_function = pl.col("gram").str.split(" ").list.eval(pl.element().is_in(listed)).list.all()
    concept = (pl.col("frequent") & ~only_function).alias("concept")
    weights = _weights(kinds, counted, totals).join(crowded, on="g").with_columns(concept)
    weighted = wanted.unique().join(weights, on=["gram", "n"])
    rare = weighted.filter((pl.col("n") == 1) & ~pl.col("enough_word")).select("item").unique()
    concepts = weighted.filter("concept").select("item", "gram", "weight")
    vectors = concepts.join(rare, on="item", how="anti")
    return Recount(tau=tau, vectors=vectors, rare=rare, pairs=pairs.select("item", "user"))


def affine(recounted: Recount, pairs: pl.DataFrame, theta: float) -> pl.DataFrame:
    """Those pairs (item, by) whose cosine is at least θ."""
    vectors = recounted.vectors.lazy()
    norms = vectors.group_by("item").agg((pl.col("weight") ** 2).sum().sqrt().alias("norm"))
    both = (
        pairs.lazy()
        .join(vectors, on="item")
        .join(vectors.select(pl.col("item").alias("by"), "gram"), on=["by", "gram"])
        .group_by("item", "by")
        .agg((pl.col("weight") ** 2).sum().alias("common"))
        .join(norms, on="item")
        .join(norms.rename({"item": "by", "norm": "by_norm"}), on="by")
    )
    close = pl.col("common") >= (theta - TOLERANCE) * pl.col("norm") * pl.col("by_norm")
    return both.filter(close).select("item", "by").collect(engine="streaming")


def proved(recounted: Recount, certificate: pl.DataFrame, sizes: pl.DataFrame, theta: float, k: int) -> pl.DataFrame:
    """item, covered: users behind each query and the queries that a certificate (item, by, user) says cover it.

    A line counts if both queries are in `sizes` (item, crowd: the released queries and their users), they are affine,
    and the user asked `by` and not the item; a line without a user counts for all users of `by` if they are k.
    """
    crowd = sizes.select("item", "crowd")
    claims = certificate.unique().join(crowd, on="item", how="semi")
    claims = claims.join(crowd.rename({"item": "by", "crowd": "by_crowd"}), on="by")
    close = affine(recounted, claims.select("item", "by").unique(), theta)
    claims = claims.join(close, on=["item", "by"], how="semi")
    single = claims.filter(pl.col("user").is_not_null())
    named = pl.concat([single.select("user", pl.col(side).alias("item")) for side in ("item", "by")]).unique()
    asked = recounted.pairs.join(named, on=["user", "item"], how="semi")
    single = single.join(asked, left_on=["user", "by"], right_on=["user", "item"], how="semi")
    single = single.join(asked, on=["user", "item"], how="anti")
    others = single.group_by("item").agg(pl.col("user").n_unique().alias("others"))
    whole = claims.filter(pl.col("user").is_null() & (pl.col("by_crowd") >= k))
    whole = whole.group_by("item").agg(pl.col("by_crowd").max().alias("whole"))
    joined = crowd.join(others, on="item", how="left").join(whole, on="item", how="left")
    shown = pl.max_horizontal(pl.col("crowd") + pl.col("others").fill_null(0), pl.col("whole").fill_null(0))
    return joined.select("item", shown.cast(pl.Int64).alias("covered"))


def covered_by_all(recounted: Recount, sizes: pl.DataFrame, theta: float) -> pl.DataFrame:
    """item, covered: users behind each query and all queries of `sizes` that are affine to it; for a few queries."""
    people = recounted.pairs.join(sizes, on="item", how="semi").group_by("item").agg("user")
    table = sizes.select("item").join(people, on="item", how="left").sort("item")
    users = [set(each or ()) for each in table["user"].to_list()]
    near = _matrix(table["item"], recounted) >= theta - TOLERANCE
    np.fill_diagonal(near, True)
    covered = [len(set().union(*(users[j] for j in np.flatnonzero(row)))) for row in near]
    return table.select("item", pl.Series("covered", covered, dtype=pl.Int64))


def _matrix(items: pl.Series, recounted: Recount) -> NDArray[np.float64]:
    """All cosines; 0 for queries without a vector."""
    rows = pl.DataFrame({"item": items}).with_row_index("row")
    cells = recounted.vectors.join(rows, on="item").with_columns((pl.col("gram").rank("dense") - 1).alias("column"))
    matrix = np.zeros((len(items), cells["gram"].n_unique()))
    matrix[cells["row"].to_numpy(), cells["column"].to_numpy()] = cells["weight"].to_numpy()
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    scaled = np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0)
    cosines: NDArray[np.float64] = scaled @ scaled.T
    return cosines


def _pairs(original: Log) -> pl.DataFrame:
    """item, user, events; an event is a distinct time, or a row without one. Rows without a user are nobody's."""
    shape = original.shape
    times = [pl.col(name).alias("time") for name in time_columns(shape)[:1]]
    rows = original.frame.select(pl.col(shape.item).alias("item"), pl.col(shape.subject).alias("user"), *times)
    events = pl.col("time").drop_nulls().n_unique() + pl.col("time").null_count() if times else pl.len()
    pairs = rows.drop_nulls("user").group_by("item", "user").agg(events.cast(pl.Int64).alias("events"))
    return pairs.collect(engine="streaming")


def _words(column: str) -> pl.Expr:
    """What stands between spaces."""
    return pl.col(column).str.split(" ").list.eval(pl.element().filter(pl.element() != ""))


def _grams(queries: pl.DataFrame) -> pl.DataFrame:
    """gram, n and the columns of `queries`: one row for each n-gram of an item, with repetitions."""
    columns = queries.columns
    words = queries.with_row_index("_query").with_columns(_words("item").alias("_word")).explode("_word")
    words = words.drop_nulls("_word")
    orders = []
    phrase, whole = pl.col("_word"), pl.lit(True)
    for n in (1, 2, 3):
        if n > 1:
            phrase = pl.concat_str(phrase, pl.col("_word").shift(1 - n), separator=" ")
            whole = (pl.col("_query").shift(1 - n) == pl.col("_query")).fill_null(False)
        order = words.select(phrase.alias("gram"), pl.lit(n).alias("n"), *columns, whole.alias("_whole"))
        orders.append(order.filter("_whole").drop("_whole"))
    return pl.concat(orders)


def _counted(queries: pl.DataFrame, kinds: pl.DataFrame) -> pl.DataFrame:
    """g, q, times: how often each of the n-grams in question is in each query."""
    parts = [
        _grams(queries[at : at + _QUERIES_AT_ONCE].select("item", "q"))
        .join(kinds, on=["gram", "n"])
        .group_by("g", "q")
        .len("times")
        for at in range(0, max(queries.height, 1), _QUERIES_AT_ONCE)
    ]
    return pl.concat(parts).join(queries.select("q", "events", "crowd"), on="q")


def _crowded(
    pairs: pl.DataFrame,
    queries: pl.DataFrame,
    counted: pl.DataFrame,
    tau: int,
    min_term_users: int,
) -> pl.DataFrame:
    """g, frequent, enough_word: whether an n-gram has τ users, and whether a word has enough of them."""
    least, enough = min(tau, min_term_users), max(tau, min_term_users)
    bounds = counted.group_by("g").agg(pl.col("crowd").sum().alias("most"), pl.col("crowd").max().alias("users"))
    # A query with enough users decides for all its n-grams, and too few users of all queries together as well.
    undecided = bounds.filter((pl.col("users") < enough) & (pl.col("most") >= least)).sort("g")
    undecided = undecided.with_columns((pl.col("most").cum_sum() // _PAIRS_AT_ONCE).alias("batch"))
    exact = [pl.DataFrame(schema={"g": pl.UInt32, "users": pl.UInt32})]
    if undecided.height:
        people = pairs.select("user").unique().with_row_index("u")
        asked = (
            counted.join(undecided, on="g", how="semi").select("q").unique().join(queries.select("q", "item"), on="q")
        )
        owners = pairs.join(asked, on="item").join(people, on="user").select("q", "u")
        for batch in undecided.partition_by("batch"):
            postings = counted.select("g", "q").join(batch.select("g"), on="g", how="semi")
            distinct = postings.join(owners, on="q").select("g", "u").unique()
            exact.append(distinct.group_by("g").len("users"))
    crowds = bounds.select("g", "users").join(pl.concat(exact), on="g", how="left", suffix="_exact")
    users = pl.coalesce("users_exact", "users")
    return crowds.select("g", (users >= tau).alias("frequent"), (users >= min_term_users).alias("enough_word"))


def _weights(kinds: pl.DataFrame, counted: pl.DataFrame, totals: list[float]) -> pl.DataFrame:
    """g, gram, n, weight: log2(events + 1) for words, log2(1 + observed / expected by chance) for phrases."""
    sums = counted.group_by("g").agg(
        (pl.col("times") * pl.col("events")).sum().alias("occurrences"), pl.col("events").sum().alias("containing")
    )
    total = pl.col("n").replace_strict({1: totals[0], 2: totals[1], 3: totals[2]}, return_dtype=pl.Float64)
    table = kinds.join(sums, on="g").with_columns((pl.col("occurrences") / total).alias("p"))
    word = pl.col("gram").str.split(" ")
    lookup = table.select("gram", "p")
    parts = {
        "x": word.list.get(0),
        "y": word.list.get(1, null_on_oob=True),
        "z": word.list.get(2, null_on_oob=True),
        "xy": word.list.slice(0, 2).list.join(" "),
        "yz": word.list.slice(1, 2).list.join(" "),
    }
    for name, part in parts.items():
        table = table.with_columns(part.alias("_part")).join(
            lookup.rename({"gram": "_part", "p": f"p_{name}"}), on="_part", how="left"
        ).drop("_part")  # fmt: skip
    p_x, p_y, p_z, p_xy, p_yz = (pl.col(f"p_{name}") for name in parts)
    chance = pl.when(pl.col("n") == 2).then(p_x * p_y).otherwise(p_x * p_y * p_z + p_x * p_yz + p_xy * p_z)
    weight = pl.when(pl.col("n") == 1).then(pl.col("containing") + 1).otherwise(pl.col("p") / chance + 1).log(2)
    return table.select("g", "gram", "n", weight.alias("weight"))
