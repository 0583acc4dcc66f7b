"""Release a rare query if enough other people asked nearly the same.

Paper: C. Carpineto and G. Romano, "k_θ-affinity privacy: releasing infrequent query refinements safely", Information
    Processing and Management 51 (2015).

Symbols: k = smallest number of users behind a released query and the released queries affine to it; θ = least cosine of
    affine queries; τ = number of users from which an n-gram is a concept; W = weight of a concept; U(q) = users of q;
    V_max = size at which the approximate procedure stops growing.

Promise: behind every released query, taken together with the released queries affine to it, are at least k different
    users. Two queries are affine if the cosine of their vectors of frequent words and phrases is at least θ. Rows
    without a user are not counted. With `attrs = common` (url, rank, day) is released as far as k users share it with
    the query. With `window` users, words and phrases are counted in the last days of the log only; of queries that are
    released then, all rows are. The words are released as they were typed: see `docs/limits.md`.

Differs:
    - Distinct users in the closed neighbourhood are counted, minus one.
    - Degree = core + 1.
    - Θ = 1 releases at least what `suppress_rare` does, not exactly the same.
    - Cores are found by peeling.
    - N-grams of each order have totals of their own.
    - Queries with a word of fewer than `min_term_users` users keep the degree of `suppress_rare`, or 0 with
      `strict`, and cover no other query.
    - Degrees are exact for all queries, where the paper samples. Above `max_degree` they are lower bounds, never below
      the number of users.
    - `approximate` is the paper's procedure on distinct vectors, with neighbours in byte order. A query then leaves the
      levels that the queries covering it left, because covers have to be inside the release.
    - An event is a distinct (user, query, time).
    - The paper keeps user numbers. We drop them unless asked (`users`), and keep urls that k users share, with their
      ranks, and days (`attrs`).
    - Function words are those of `language`, none, or those of a UTF-8 file (`function_words`), separated by spaces or
      line ends. Words are what stands between spaces in every language, also where a language has no spaces.

Cost: one pass over the log to group it by query, then work on distinct queries; near linear for θ of 0.8 and above,
    where affine pairs are few. Memory: the distinct (user, query) pairs, words and edges as numbers, on one machine
    whatever `blocks` is. `approximate` costs more than the exact degrees; it is there to compare with the paper.

Example: nobody else typed the last query, but it has the words of one that two others typed.
    >>> import coterie, polars
    >>> typed = [("ann", "cheap red shoes"), ("bob", "cheap red shoes"), ("cyd", "red shoes cheap red shoes")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> release = coterie.anonymize(log, Affinity(k=3, theta=0.8))
    >>> release.to_polars()["query"].n_unique()
    2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import polars as pl

from coterie.core.log import Log
from coterie.core.params import File, Flag, Late, Range
from coterie.core.plan import Facts, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import KEEP
from coterie.promises.k_theta_affinity import KThetaAffinity
from coterie.releasing.items import SHARED, ReleasesItems
from coterie.releasing.names import within
from coterie.text.language import ENGLISH, FUNCTION_LISTS, LanguageName, function_words, language, name_of_words

if TYPE_CHECKING:
    from coterie.methods.affinity.model import AffinityGraph, AffinitySettings

OF_LANGUAGE = "language"


@dataclass(frozen=True, kw_only=True)
class Affinity(ReleasesItems):
    """Release a query if it and the queries affine to it come from at least k different users."""

    k: Annotated[int, Range(2), Late(), "smallest number of users behind a released query and those affine to it"] = 5
    theta: Annotated[float, Range(0.1, 1), "least cosine of two affine queries"] = 0.9
    min_users: Annotated[
        int,
        Range(0),
        "users that make a word or phrase a concept; 0: a ten-thousandth of all users, at least 2",
    ] = 0
    min_term_users: Annotated[
        int,
        Range(1),
        "queries with a word of fewer users neither cover others nor are covered",
    ] = 2
    strict: Annotated[bool, Flag(), "never release a query with a word of fewer than min_term_users users"] = False
    language: Annotated[str, LanguageName(), "language of the log, for its function words"] = ENGLISH
    function_words: Annotated[
        str,
        File(OF_LANGUAGE, ENGLISH, "none"),
        "words that make no concept without others (the, of): those of the language, none, or a file of them",
    ] = OF_LANGUAGE
    approximate: Annotated[
        bool,
        Flag(),
        "the paper's procedure: look at v_max queries around each one; a lower bound, for comparison",
    ] = False
    v_max: Annotated[int, Range(1), "queries the approximate procedure looks at"] = 2000
    max_degree: Annotated[int, Range(2), "degrees are exact up to this number; k may be larger"] = 1000

    shown: ClassVar[str] = (
        f"k theta min_users min_term_users strict language function_words approximate v_max max_degree {SHARED}"
    )
    anywhere: ClassVar[bool] = True

    def promises(self, facts: Facts) -> tuple[KThetaAffinity, ...]:
        """At least k users behind each released query and the released queries affine to it."""
        enough_subjects("affinity", self.k, facts)
        promise = KThetaAffinity(
            k=self.k,
            theta=self.theta,
            min_users=self.min_users,
            min_term_users=self.min_term_users,
            strict=self.strict,
            function_words=name_of_words(self._function_words),
            **self.numbers(facts),
        )
        return (promise,)

    def learn(self, log: Log, run: Run) -> AffinityGraph:
        """Steps 1-4: the anonymity degree of every query, which serves every k up to max_degree."""
        from coterie.methods.affinity.model import affinity

        return affinity(within(log, self.window), run, self.settings)

    def plan(self, learnt: AffinityGraph, log: Log, run: Run) -> Plan:
        """Step 5: queries of degree k and more stay; and who covers the rare ones among them, for the judge."""
        # Degrees that were learnt for a smaller k end at max_degree.
        from coterie.methods.affinity import model as queries

        graph = learnt if self.k <= learnt.max_degree else self.learn(log, run)
        columns = {"item": graph.queries.names, "degree": graph.degree}
        degrees = pl.DataFrame(columns, schema_overrides={"degree": pl.UInt32})
        kept = degrees.filter(pl.col("degree") >= self.k)
        certificate = queries.certificate(graph, kept["item"], self.k)
        evidence = {"certificate": certificate.lazy(), "degrees": degrees.lazy()}
        if name_of_words(self._function_words) not in FUNCTION_LISTS:
            evidence["function_words"] = pl.LazyFrame({"word": sorted(self._function_words)})
        return Plan(table=KEEP.check(kept.lazy()), evidence=evidence, notes=self._typed_by_few(graph))

    def _typed_by_few(self, graph: AffinityGraph) -> tuple[str, ...]:
        """How many released queries one person typed alone, and how many fewer than k did."""
        users = graph.queries.crowd[graph.degree >= self.k]
        alone, few = int((users == 1).sum()), int((users < self.k).sum())
        if not few:
            return ()
        return (
            f"Of {users.size:,} released queries {alone:,} were typed by one person alone, word for word, and {few:,} "
            f"by fewer than {self.k}: others typed nearly the same.",
        )

    @property
    def _function_words(self) -> frozenset[str]:
        if self.function_words == OF_LANGUAGE:
            return language(self.language).function_words
        return function_words(self.function_words)

    @property
    def settings(self) -> AffinitySettings:
        """What degrees depend on besides the log."""
        from coterie.methods.affinity.model import AffinitySettings

        return AffinitySettings(
            theta=self.theta,
            min_users=self.min_users,
            min_term_users=self.min_term_users,
            strict=self.strict,
            function_words=self._function_words,
            max_degree=max(self.max_degree, self.k),
            v_max=self.v_max if self.approximate else None,
        )
