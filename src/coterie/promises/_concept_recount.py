"""Recount: as which released concept each query of the original comes out, for the judge alone (paper 001).

It shares no code with the model of concepts and its kernels: ways down the tree are lists in polars tables here, and
what was released is taken from the release, not from rules about left-overs. The lexicon, from words to concepts, is
shared.
"""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.taxonomies import Taxonomy


def generalized(original: Log, tree: Taxonomy, released: pl.Series, paper_compat: bool) -> pl.DataFrame:
    """item, concept: the name of the deepest released concept on the way of each query; none without one."""
    queries = original.frame.select(pl.col(original.shape.item).alias("item")).unique()
    items = queries.collect(engine="streaming")["item"]
    terms = tree.classify(items, stop_words=not paper_compat).terms.select("query", "concept").unique()
    ends = _ends(terms, tree)
    wanted, names, parents = set(released), tree.names.to_list(), tree.parent.tolist()
    name_of: dict[int, str] = {}
    for end in ends["end"].unique().to_list():
        concept = end
        while concept >= 0 and names[concept] not in wanted:
            concept = parents[concept]
        if concept >= 0:
            name_of[end] = names[concept]
    named = pl.DataFrame(
        {"end": list(name_of), "concept": list(name_of.values())}, {"end": pl.Int64, "concept": pl.String}
    )
    led = ends.join(named, on="end")
    return led.select(items.gather(led["query"]).alias("item"), "concept")


def _ends(terms: pl.DataFrame, tree: Taxonomy) -> pl.DataFrame:
    """query, end: where each query ends if at each concept it takes the child that most queries there could take."""
    parents = tree.parent.tolist()
    ways = {}
    for concept in terms["concept"].unique().to_list():
        way = [concept]
        while way[-1] > 0:
            way.append(parents[way[-1]])
        ways[concept] = way[::-1]
    table = pl.DataFrame(
        {"concept": list(ways), "way": list(ways.values())}, {"concept": pl.Int32, "way": pl.List(pl.Int64)}
    )
    going = terms.join(table, on="concept").select("query", "way")
    stops = [pl.DataFrame(schema={"query": pl.Int32, "end": pl.Int64})]
    going = going.with_columns(pl.lit(0, pl.Int64).alias("at"))
    level = 0
    while going.height:
        level += 1
        next_ = pl.col("way").list.get(level, null_on_oob=True).alias("next")
        steps = going.select("query", next_).drop_nulls().unique()
        support = steps.group_by("next").len("support")
        taken = (
            steps.join(support, on="next")
            .sort("query", "support", "next", descending=[False, True, False])
            .unique("query", keep="first", maintain_order=True)
            .select("query", pl.col("next").alias("taken"))
        )
        stops.append(going.join(taken, on="query", how="anti").select("query", pl.col("at").alias("end")).unique())
        moved = going.join(taken, on="query").filter(next_ == pl.col("taken"))
        going = moved.select("query", "way", pl.col("taken").alias("at"))
    return pl.concat(stops)
