"""Give each group of documents one vector of terms, under a fresh name for each document."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import ceil

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.shapes import sum_in_order
from coterie.core.threads import in_threads
from coterie.releasing.profiles import named_subjects, whole_groups
from coterie.taxonomies import Taxonomy

SEEDS = "seeds"
"""A table of a plan: the documents that groups were built around."""
DIGITS = 3
"""Weights are rounded: exact means of a few documents could be solved for what each of them has."""
_ROWS_AT_ONCE = 50_000  # of the groups that are folded together; without effect on the result


def least_documents(share: float, size: int) -> int:
    """How many of so many documents must have a term: a share of them, and at least two."""
    return max(2, ceil(share * size - 1e-9))


def common_terms(log: Log, groups: pl.DataFrame, share: float) -> pl.DataFrame:
    """group, term, weight: terms that a share of the documents of a group have, or of their owners, with mean weights.

    `groups`: subject, group.
    """
    from coterie.algorithms import documents as model

    rows = model.term_rows(log).join(groups.lazy().rename({"subject": model.DOC}), on=model.DOC)
    sizes = rows.group_by("group").agg(
        pl.col(model.DOC).n_unique().alias("documents"), pl.col(model.OWNER).n_unique().alias("owners")
    )
    counted = rows.group_by("group", model.TERM).agg(
        pl.col(model.OWNER).n_unique().alias("having"), sum_in_order(model.WEIGHT)
    )
    found = counted.join(sizes.collect(engine="streaming").lazy(), on="group").collect(engine="streaming")
    distinct = found["owners"].unique().to_list()
    least = pl.DataFrame(
        {"owners": distinct, "least": [least_documents(share, size) for size in distinct]},
        schema_overrides={"owners": found["owners"].dtype, "least": pl.UInt32},
    )
    kept = found.join(least, on="owners").filter(pl.col("having") >= pl.col("least"))
    return kept.select("group", model.TERM, rounded(pl.col(model.WEIGHT) / pl.col("documents")))


def subsumers(log: Log, groups: pl.DataFrame, seeds: pl.DataFrame, tree: Taxonomy, run: Run) -> pl.DataFrame:
    """group, term, weight: the concepts that terms of all documents of a group have in common (paper 004).

    Documents are folded in the order of their distance to the one their group was built around, else to the first.
    """
    from coterie.algorithms import documents as model

    leads = seeds.select(pl.col("subject").alias(model.DOC), pl.lit(True).alias("leads"))
    rows = model.term_rows(log).join(groups.lazy().rename({"subject": model.DOC}), on=model.DOC)
    rows = rows.join(leads.lazy(), on=model.DOC, how="left").drop(model.OWNER)

    def work(frame: pl.LazyFrame) -> pl.LazyFrame:
        block = frame.collect(engine="streaming").sort("group")
        parts = list(whole_groups(block, _ROWS_AT_ONCE))
        empty = pl.DataFrame(schema={"group": pl.UInt32, model.TERM: pl.String, model.WEIGHT: pl.Float64})
        return pl.concat([empty, *in_threads(partial(_folded, tree=tree), parts)]).lazy()

    found = run.keep(run.blocks(rows, work, by=["group"])).collect(engine="streaming")
    return found.with_columns(rounded(pl.col(model.WEIGHT)))


def rounded(weight: pl.Expr) -> pl.Expr:
    """Weights with three digits, and none of 0."""
    return pl.max_horizontal(weight.round(DIGITS), pl.lit(10.0**-DIGITS))


def under_names(log: Log, plan: Plan, vectors: pl.DataFrame, run: Run) -> Draft:
    """The vector (group, term, weight) of each document's group under a fresh name for the document.

    Documents of a group without a vector have no name.
    """
    from coterie.algorithms import documents as model

    shape = log.shape
    members = plan.table.collect(engine="streaming").sort("subject")
    everything = log.frame.select(shape.subject).unique().collect(engine="streaming")[shape.subject].sort()
    silent = members.join(vectors, on="group", how="anti")
    subjects = named_subjects(everything, members, run, silent)
    columns = {"released": shape.subject, model.TERM: shape.item, model.WEIGHT: shape.weight}
    rows = subjects.drop_nulls("released").join(vectors, on="group").rename(columns).select(shape.released)
    return Draft(frame=rows.lazy(), subjects=subjects.lazy(), warnings=tuple(_warnings(members, silent, vectors)))


def _folded(rows: pl.DataFrame, tree: Taxonomy) -> pl.DataFrame:
    """group, term, weight of some groups; rows have doc, term, weight, group and whether a group was built around."""
    from coterie.algorithms import documents as model

    found = model.meanings(rows.select(model.DOC, model.TERM, model.WEIGHT), tree)
    places = found.names.to_frame().with_row_index("place")
    members = rows.select(model.DOC, "group", "leads").unique().join(places, on=model.DOC)
    members = members.sort("group", "leads", "place", nulls_last=True)
    numbers, folding = members["group"].unique(maintain_order=True), found.folding
    commons = []
    for (_,), group in members.group_by("group", maintain_order=True):
        seed, *others = group["place"].to_list()
        rest = np.sort(np.array(others, dtype=np.int64))
        nearest_first = rest[np.argsort(folding.between(seed, rest), kind="stable")]
        commons.append(folding.common(np.append(seed, nearest_first)))
    described = found.described(commons)
    return described.select(numbers.gather(described["number"]).alias("group"), model.TERM, model.WEIGHT)


def _warnings(members: pl.DataFrame, silent: pl.DataFrame, vectors: pl.DataFrame) -> Iterator[str]:
    if silent.height:
        yield (
            f"{silent['group'].n_unique():,} of {members['group'].n_unique():,} groups, with {silent.height:,} "
            f"documents, have an empty vector: too few of their documents share a term. Nothing is released of them."
        )
    if vectors.height:
        mean = vectors.height / vectors["group"].n_unique()
        yield f"Released vectors have {mean:.1f} terms on average."
