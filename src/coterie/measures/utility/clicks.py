"""How well are clicks of other people foretold, with the queries and clicked hosts that were released?

What a search engine would learn from a log: which page people want who search for something. For clicked searches of
people who are not in the original (`--later LOG` has them besides others), the hosts of the nearest released queries
are ranked:

    near      the 15 released queries with the largest cosine of TF-IDF weights of words (`measures/learning.py`)
    score     of a host: Σ over these of the cosine, times the part that the host has of the clicks of that query
    mrr       1 / rank of the host that was clicked, up to rank 10, and 0 below; among equals, the mean over all orders
    popular   the same where hosts are ranked by their clicks in the whole release, the same for all: the control

Numbers are means over people (MRR@10), in percent; `before` is the same with the original. `low` and `high` are 95 %
intervals over people (1,000 bootstrap samples). Up to 20 different searches of each of up to 500 people, drawn by the
seed, are asked about. A release without clicked pages foretells none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from coterie.core.arrays import Floats
from coterie.core.scores import Score
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.learning import Terms, Vectors
from coterie.measures.rates import FIRST, figures_in, of_trials, reciprocal_rank, titled
from coterie.measures.subjects import drawn, first_drawn, with_hosts
from coterie.text.language import Language, language_in

needs = frozenset({"later"})
SHOWN = {
    "mrr": titled(
        "Clicked hosts of other people foretold",
        "Hosts are ranked by the clicks of the released queries that are nearest to what somebody searches "
        "for who is not in the log: 100% means that the clicked one always stands first (MRR@10).",
    ),
}
figures = figures_in("utility", 95, SHOWN, before="before.{}")
NEAR = 15
QUERIES_EACH = 20
MOST_PEOPLE = 500
_DIGITS = 9
_UNIT = f"% MRR@{FIRST}"


def measure(comparison: Comparison) -> Iterator[Score]:
    """MRR of the clicked host, with the release and with the original."""
    comparison.require_shape(QUERIES, "It is about clicks after searches")
    if comparison.release.log.shape.plain is not QUERIES:
        raise NotApplicableError("The release has counts in place of rows, and no clicks.")
    asked = _asked(comparison)
    if asked.is_empty():
        raise NotApplicableError(
            "The later log has no clicked searches of people who are not in the original. Give some: --later LOG, or "
            "'outsiders' in a study."
        )
    yield Score("people", asked["subject"].n_unique(), "people who are not in the log")
    yield Score("queries", asked.height, "clicked searches")
    spoken = language_in(comparison.release.params)
    for prefix, log in (("", comparison.release.log), ("before.", comparison.log)):
        shape = log.shape
        rows = log.frame.select(item=pl.col(shape.item), page=pl.col(shape.page)).collect(engine="streaming")
        clicked = with_hosts(rows.drop_nulls()).group_by("item", "host").len("n")
        values = {"mrr": foretold(asked, clicked, spoken), "popular": popular(asked, clicked)}
        yield from of_trials(prefix, pl.DataFrame({"subject": asked["subject"], **values}), comparison.seed, _UNIT)


def _asked(comparison: Comparison) -> pl.DataFrame:
    """subject, item, host: different clicked searches of people who are not in the original, by the seed."""
    later = comparison.given("later").drop_nulls()
    insiders = comparison.original.select("subject").drop_nulls().unique()
    rows = with_hosts(later.join(insiders, on="subject", how="anti")).select("subject", "item", "host")
    people = drawn(rows["subject"].unique().sort(), MOST_PEOPLE, comparison.seed, "people who click")
    rows = rows.filter(pl.col("subject").is_in(people.implode())).unique()
    return first_drawn(rows, ["subject"], "clicks", comparison.seed, QUERIES_EACH)


def popular(asked: pl.DataFrame, clicked: pl.DataFrame) -> Floats:
    """The value of each search, hosts ranked by all clicks."""
    clicks = clicked.group_by("host").agg(pl.col("n").sum().cast(pl.Int64))
    numbers = clicks["n"].to_numpy()
    wanted = clicks.join(asked.select("host").unique(), on="host", how="semi")
    of_host = {host: reciprocal_rank(n, numbers) for host, n in wanted.iter_rows()}
    return np.array([of_host.get(host, 0.0) for host in asked["host"]])


def foretold(asked: pl.DataFrame, clicked: pl.DataFrame, spoken: Language) -> Floats:
    """The value of each search (item, host), by the nearest queries of `clicked`: item, host, n."""
    from coterie.kernels.nearest import nearest

    base = _Base.of(clicked, spoken)
    queries = asked.select("item").unique(maintain_order=True).with_row_index("id")
    words = _words(queries, spoken)
    vectors = base.terms.weighed(words, queries.height)
    near, cosine = nearest(*vectors.rows, *base.vectors.columns, max(1, len(base.hosts)), NEAR)
    scores: list[dict[str, float]] = []
    for place in range(queries.height):
        of_host: dict[str, float] = defaultdict(float)
        for query, similar in zip(near[place], cosine[place], strict=True):
            if query >= 0:
                for host, part in base.hosts[query]:
                    of_host[host] += float(similar) * part
        scores.append({host: round(score, _DIGITS) for host, score in of_host.items()})
    places = dict(queries.select("item", "id").iter_rows())
    values = []
    for item, host in asked.select("item", "host").iter_rows():
        mine = scores[places[item]]
        values.append(reciprocal_rank(mine[host], np.array(list(mine.values()))) if host in mine else 0.0)
    return np.array(values)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Base:
    """Queries that were clicked after, as vectors, and the hosts of each."""

    terms: Terms
    vectors: Vectors
    hosts: list[list[tuple[str, float]]]

    @classmethod
    def of(cls, clicked: pl.DataFrame, spoken: Language) -> _Base:
        queries = clicked.select(pl.col("item").unique().sort()).with_row_index("id")
        words, n = _words(queries, spoken), queries.height
        terms = Terms.of(words, n)
        part = (pl.col("n") / pl.col("n").sum().over("item")).alias("part")
        rows = clicked.with_columns(part).join(queries, on="item").sort("id", "host")
        hosts: list[list[tuple[str, float]]] = [[] for _ in range(n)]
        for query, host, share in rows.select("id", "host", "part").iter_rows():
            hosts[query].append((host, share))
        return cls(terms=terms, vectors=terms.weighed(words, n), hosts=hosts)


def _words(queries: pl.DataFrame, spoken: Language) -> pl.DataFrame:
    """id, term, n of queries (id, item)."""
    words = queries.with_columns(term=spoken.keywords(pl.col("item"))).explode("term").drop_nulls("term")
    return words.group_by("id", "term").len("n")
