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

from collections.abc import Iterator

import numpy as np
import polars as pl

from coterie.core.arrays import Floats
from coterie.core.scores import Score
from coterie.core.shapes import QUERIES
from coterie.errors import NotApplicableError
from coterie.measures.comparison import Comparison
from coterie.measures.learning import Terms
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
    from coterie.algorithms.kernels.nearest import nearest

    known = clicked.select(pl.col("item").unique().sort()).with_row_index("id")
    queries = asked.select("item").unique(maintain_order=True).with_row_index("id")
    of_known, of_asked = (_words(each, spoken) for each in (known, queries))
    terms = Terms.of(of_known, known.height)
    base, vectors = terms.weighed(of_known, known.height), terms.weighed(of_asked, queries.height)
    near, cosine = nearest(*vectors.rows, *base.columns, max(1, known.height), NEAR)
    row, rank = np.nonzero(near >= 0)
    votes = pl.DataFrame({"id": row, "query": near[row, rank], "similar": cosine[row, rank]})
    part = (pl.col("n") / pl.col("n").sum().over("item")).alias("part")
    hosts = clicked.join(known, on="item").sort("id", "host").select("host", part, query=pl.col("id").cast(pl.Int64))
    votes = votes.join(hosts, on="query", maintain_order="left_right")
    voted = votes.select("id", "host").unique(maintain_order=True).with_row_index("pair")
    pair = votes.join(voted, on=["id", "host"], maintain_order="left")["pair"].to_numpy()
    sums = np.bincount(pair, (votes["similar"] * votes["part"]).to_numpy(), minlength=voted.height)  # in this order
    voted = voted.with_columns(score=pl.Series([round(score, _DIGITS) for score in sums.tolist()], dtype=pl.Float64))
    of_query = {number: np.array(each) for number, each in voted.group_by("id").agg("score").iter_rows()}
    wanted = asked.join(queries.cast({"id": pl.Int64}), on="item", maintain_order="left")
    wanted = wanted.join(voted, on=["id", "host"], how="left", maintain_order="left").select("id", "score")
    ranks = (0.0 if mine is None else reciprocal_rank(mine, of_query[number]) for number, mine in wanted.iter_rows())
    return np.array(list(ranks))


def _words(queries: pl.DataFrame, spoken: Language) -> pl.DataFrame:
    """id, term, n of queries (id, item)."""
    words = queries.with_columns(term=spoken.keywords(pl.col("item"))).explode("term").drop_nulls("term")
    return words.group_by("id", "term").len("n")
