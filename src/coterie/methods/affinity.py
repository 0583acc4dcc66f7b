"""Release a rare query if enough other people asked nearly the same.

Paper: C. Carpineto and G. Romano, "k_θ-affinity privacy: releasing infrequent query refinements safely", Information
    Processing and Management 51 (2015); SPEC 6.

Symbols: k = smallest number of users behind a released query and the released queries affine to it; θ = least cosine of
    affine queries; τ = number of users from which an n-gram is a concept; W = weight of a concept; U(q) = users of q;
    V_max = size at which the approximate procedure stops to grow.

Promise: behind every released query, taken together with the released queries affine to it, are at least k different
    users. Two queries are affine if the cosine of their vectors of frequent words and phrases is at least θ. Rows
    without a user count as nobody's. With `attrs = common` a clicked page stays only where k users share query and
    page, and times are cut to the day. The words are released as they were typed: see `docs/limits.md`.

Differs: E-001-1 (distinct users in the closed neighbourhood, minus one), E-001-2 and E-001-4 (degree = core + 1),
    E-001-3 (θ = 1 releases at least what `suppress_rare` does, not the same), E-001-8, E-001-9 (cores by peeling),
    E-001-11 (separate totals per order of n-grams), E-001-14 (queries with a word of fewer than `min_term_users` users
    keep the degree of `suppress_rare`, or 0 with `strict`, and support nobody). Degrees are exact for all queries,
    where the paper samples; above `max_degree` they are lower bounds, never below the number of users. `approximate`
    is the paper's procedure on distinct vectors, neighbours in byte order; a query then leaves the levels that those
    who cover it left, because covers have to be inside the release. An event is a distinct (user, query, time). The
    paper keeps user numbers; we drop them unless asked (`users`), and keep urls that k users share with their ranks,
    and days (`attrs`). Function words are English, none, or those of a UTF-8 file (`function_words`), words separated
    by spaces or line ends.

Cost: one pass over the log to group it by query, then work on distinct queries; near linear for θ of 0.8 and above,
    where affine pairs are few. Memory: the distinct (user, query) pairs, words and edges as numbers, on one machine
    whatever `blocks` is. `approximate` costs more than the exact degrees; it is there to compare with the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from coterie.affine_queries import Affinity as Graph
from coterie.affine_queries import Settings, affinity, certificate
from coterie.apply import release_items
from coterie.log import Log
from coterie.params import Choice, File, Flag, Range, check_params
from coterie.promises import KThetaAffinity
from coterie.run import Draft, Run, enough_subjects
from coterie.shapes import KEEP, QUERIES, Shape
from coterie.text import FUNCTION_LISTS, function_words, name_of_words


@dataclass(frozen=True, kw_only=True)
class Affinity:
    """Release a query if it and the queries affine to it come from at least k different users."""

    k: Annotated[int, Range(2)] = 5
    theta: Annotated[float, Range(0.1, 1)] = 0.9
    min_users: Annotated[int, Range(0)] = 0
    min_term_users: Annotated[int, Range(1)] = 2
    strict: Annotated[bool, Flag()] = False
    function_words: Annotated[str, File(*FUNCTION_LISTS)] = "english"
    approximate: Annotated[bool, Flag()] = False
    v_max: Annotated[int, Range(1)] = 2000
    max_degree: Annotated[int, Range(2)] = 1000
    users: Annotated[str, Choice("drop", "session", "pseudonym")] = "drop"
    attrs: Annotated[str, Choice("common", "keep", "drop")] = "common"

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "experimental"
    param_docs: ClassVar[dict[str, str]] = {
        "k": "smallest number of users behind a released query and those affine to it",
        "theta": "least cosine of two affine queries",
        "min_users": "users that make a word or phrase a concept; 0: a ten-thousandth of all users, at least 2",
        "min_term_users": "queries with a word of fewer users cover nobody and are covered by nobody",
        "strict": "never release a query with a word of fewer than min_term_users users",
        "function_words": "words that make no concept without others (the, of): a list by its name, or a file",
        "approximate": "the paper's procedure: look at v_max queries around each one; a lower bound, for comparison",
        "v_max": "queries the approximate procedure looks at",
        "max_degree": "degrees are exact up to this number; k may be larger",
        "users": "what links rows: nothing, a random name per session, or one per person",
        "attrs": "pages that k users share, with their ranks, and days; all as it was; or none",
    }

    def __post_init__(self) -> None:
        check_params(self, "affinity")

    def promise(self, n_subjects: int) -> KThetaAffinity:
        """At least k users behind each released query and the released queries affine to it."""
        enough_subjects("affinity", self.k, n_subjects)
        return KThetaAffinity(
            k=self.k,
            theta=self.theta,
            min_users=self.min_users,
            min_term_users=self.min_term_users,
            strict=self.strict,
            function_words=name_of_words(function_words(self.function_words)),
            users=self.users,
            attrs=self.attrs,
        )

    def plan(self, log: Log, run: Run) -> pl.LazyFrame:
        """Steps 1-4: the anonymity degree of every query; one plan serves every k up to max_degree."""
        graph = self._graph(log, run)
        columns = {"item": graph.queries.names, "degree": graph.degree}
        return KEEP.check(pl.LazyFrame(columns, schema_overrides={"degree": pl.UInt32}))

    def release(self, log: Log, plan: pl.LazyFrame, run: Run) -> Draft:
        """Step 5: queries of degree k and more stay; and who covers the rare ones among them, for the verifier."""
        kept = plan.filter(pl.col("degree") >= self.k).select("item").collect(engine="streaming")
        draft = release_items(log, kept.lazy(), self.k, self.users, self.attrs, run)
        proof = certificate(self._graph(log, run), kept["item"], self.k)
        tables = {"certificate": proof.lazy(), "degrees": plan}
        if self.function_words not in FUNCTION_LISTS:
            words = sorted(self.settings.function_words)
            tables["function_words"] = pl.LazyFrame({"word": words})
        return Draft(frame=draft.frame, subjects=draft.subjects, warnings=draft.warnings, tables=tables)

    @property
    def settings(self) -> Settings:
        """What degrees depend on beside the log."""
        return Settings(
            theta=self.theta,
            min_users=self.min_users,
            min_term_users=self.min_term_users,
            strict=self.strict,
            function_words=function_words(self.function_words),
            max_degree=max(self.max_degree, self.k),
            v_max=self.v_max if self.approximate else None,
        )

    def _graph(self, log: Log, run: Run) -> Graph:
        settings = self.settings
        return run.once((log, settings), lambda: affinity(log, run, settings))
