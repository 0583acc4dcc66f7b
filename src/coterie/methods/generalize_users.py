"""Release every user as a set of concepts that at least k users share.

Paper: Y. He and J. F. Naughton, "Anonymization of set-valued data via top-down, local generalization" (2009), the user
    level that Carpineto and Romano (2015), section 4.4, compare with.

Symbols: k = smallest number of users that share a released set; record = the set of concepts a user's words mean; cut =
    the concepts that cover all items of the records of one group; gain of a concept = its leaves x the items below it.

Promise: every released profile, a set of concepts, is shared by at least k users. Nothing else is released: no times,
    ranks, pages, numbers of searches.

Differs:
    - A term means its likeliest concept. Stop words are not terms, unless `paper_compat`.
    - An item that is not a leaf counts as a leaf of its own below its concept.
    - A left-over group never tries to expand the concept again that it was left over from. Where too few records can
      be moved into it, none is moved before the group of least gain joins it.
    - Users without any word of the taxonomy are left out and counted; the paper has none.

Cost: each record is looked at once for each concept that is expanded above its items: near linear in the number of
    (user, concept) pairs, times the depth of the tree. Memory: these pairs.

Example: WordNet has several concepts called dog, which are told apart by numbers.
    >>> import coterie, polars
    >>> typed = [("ann", "poodle"), ("bob", "beagle"), ("cyd", "piano"), ("dan", "violin")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> coterie.anonymize(log, GeneralizeUsers(k=2)).to_polars()["query"].sort().to_list()
    ['dog (2)', 'dog (2)', 'musical instrument', 'musical instrument']
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie import taxonomies
from coterie.core.arrays import Ints, offsets
from coterie.core.log import Log
from coterie.core.params import Choice, File, Flag, Late, Range
from coterie.core.plan import Draft, Facts, Method, Plan, enough_subjects
from coterie.core.run import Run
from coterie.core.shapes import GROUPS, QUERIES, Shape
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.releasing.profiles import named_subjects, release_texts
from coterie.taxonomies import WORDNET, Taxonomy
from coterie.text.words import digest_of


@dataclass(frozen=True, kw_only=True)
class GeneralizeUsers(Method):
    """Release each user as the most specific set of concepts that at least k users share."""

    k: Annotated[int, Range(2), Late(), "smallest number of users that share a released set of concepts"] = 5
    taxonomy: Annotated[
        str,
        File(WORDNET),
        "the tree of concepts: wordnet, or a FILE of `coterie taxonomy build`",
    ] = WORDNET
    paper_compat: Annotated[bool, Flag(), "stop words are terms too, as in paper 001"] = False
    partition: Annotated[
        str,
        Choice("top_down", "random"),
        "groups that come from the tree, or random ones to compare with",
    ] = "top_down"

    accepts: ClassVar[tuple[Shape, ...]] = (QUERIES,)
    status: ClassVar[str] = "experimental"
    regroups: ClassVar[bool] = True

    def promises(self, facts: Facts) -> tuple[UserKAnonymity, ...]:
        """At least k users share each released set."""
        enough_subjects("generalize_users", self.k, facts)
        labels = WORDNET if self.taxonomy == WORDNET else digest_of(self._tree.names)
        return (UserKAnonymity(k=self.k, labels=labels),)

    def baseline(self) -> GeneralizeUsers | None:
        """The same with random groups of k to 2k - 1, each with the most specific cut that all its members share."""
        return None if self.partition == "random" else replace(self, partition="random")

    def learn(self, log: Log, run: Run) -> UserConcepts:  # noqa: ARG002 (nothing is drawn at random)
        """Step 1: records of users."""
        return _records(log, self._tree, self.paper_compat)

    def plan(self, learnt: UserConcepts, log: Log, run: Run) -> Plan:  # noqa: ARG002 (what was learnt is enough)
        """Step 2: groups of records, and the cut of each group; users without a record are in none."""
        key = run.keys("random partition", learnt.users) if self.partition == "random" else None
        return self._plan(learnt, *partition(learnt.start, learnt.concepts, self._tree, self.k, key))

    def regroup(self, groups: pl.LazyFrame, learnt: UserConcepts, log: Log, run: Run) -> Plan:  # noqa: ARG002
        """Step 2 on earlier groups: the same, or unions of them in random order; users without a record are in none."""
        from coterie.algorithms.groups import united

        known = groups.join(learnt.users.alias("subject").to_frame().lazy(), on="subject", how="semi")
        numbers = learnt.users.alias("subject").to_frame().with_row_index("record")
        members = united(known, self.k, run).collect(engine="streaming").join(numbers, on="subject")
        together = members.group_by("group").agg(pl.col("record").sort().cast(pl.Int64))
        records = [each.to_numpy() for each in together["record"]]
        # None of them can be split.
        return self._plan(learnt, *expanded(learnt.start, learnt.concepts, self._tree, records, len(learnt.users)))

    def _plan(self, learnt: UserConcepts, group: Ints, cuts: list[Ints]) -> Plan:
        """Groups of records, and the concepts that cover each, with names in place of numbers."""
        number = np.repeat(np.arange(len(cuts)), [len(cut) for cut in cuts])
        text = self._tree.names.gather(np.concatenate([*cuts, np.zeros(0, dtype=np.int64)]))
        members = pl.LazyFrame({"subject": learnt.users, "group": group}).filter(pl.col("group") >= 0)
        return Plan(
            table=GROUPS.check(members.cast({"group": pl.UInt32})),
            tables={"cuts": pl.LazyFrame({"group": number, "text": text}, schema_overrides={"group": pl.UInt32})},
            evidence=taxonomies.own_file(self.taxonomy),
        )

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 3: the cut of its group under a fresh name for each user."""
        from coterie.algorithms.groups import user_names

        members = plan.table.collect(engine="streaming").sort("subject")
        subjects = named_subjects(user_names(log, run), members, run)
        lost, name = subjects["group"].null_count(), self._tree.name
        unknown = f"none of their words is in the taxonomy {name}"
        few = f"fewer than {self.k} have a word that is in the taxonomy {name}"
        why = few if members.is_empty() else unknown
        return Draft(
            frame=release_texts(subjects.lazy(), plan.tables["cuts"], log.shape, run),
            subjects=subjects.lazy(),
            warnings=(f"{lost:,} of {subjects.height:,} users are left out: {why}.",) if lost else (),
            in_order=True,
        )

    @property
    def _tree(self) -> Taxonomy:
        return taxonomies.load(self.taxonomy)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class UserConcepts:
    """The concepts of users, users in byte order; those without any are not there."""

    users: pl.Series
    start: Ints
    concepts: Ints
    """Distinct concepts of user u: concepts[start[u]:start[u + 1]]."""


def _records(log: Log, tree: Taxonomy, paper_compat: bool) -> UserConcepts:
    """Step 1: for each user the set of concepts that the words of the queries mean."""
    pairs = log.frame.select(pl.col(log.shape.subject).alias("subject"), pl.col(log.shape.item).alias("item"))
    asked = pairs.drop_nulls().unique().collect(engine="streaming")
    queries = asked.select("item").unique().sort("item").with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("q"))
    terms = tree.classify(queries["item"], stop_words=not paper_compat).terms.select(
        pl.col("query").alias("q"), "concept"
    )
    meant = (
        asked.lazy().join(queries.lazy(), on="item").join(terms.lazy(), on="q").select("subject", "concept").unique()
    )
    table = meant.sort("subject", "concept").collect(engine="streaming")
    sizes = table["subject"].rle().struct.unnest()
    return UserConcepts(
        users=sizes["value"],
        start=offsets(sizes["len"].to_numpy()),
        concepts=table["concept"].to_numpy().astype(np.int64),
    )


def partition(
    start: Ints, concepts: Ints, tree: Taxonomy, k: int, key: NDArray[np.uint64] | None = None
) -> tuple[Ints, list[Ints]]:
    """The group of each record, numbered by first members, and the concepts of each group; none for fewer than k.

    With a `key` for each record, groups are k records in the order of keys, the last up to 2k - 1, and stay together.
    """
    n_records = start.size - 1
    if n_records < k:
        return np.full(n_records, -1, dtype=np.int64), []
    if key is None:
        return expanded(start, concepts, tree, [np.arange(n_records)], k)
    order = np.argsort(key, kind="stable")
    groups = [np.sort(part) for part in np.split(order, np.arange(k, n_records - k + 1, k))]
    return expanded(start, concepts, tree, groups, n_records)  # none can be split


def expanded(start: Ints, concepts: Ints, tree: Taxonomy, groups: list[Ints], least: int) -> tuple[Ints, list[Ints]]:
    """The most specific groups of at least `least` records within the given ones, with their concepts; a group that
    cannot be split stays together. Records in none of them have the number -1.
    """
    from coterie.algorithms.kernels._arrays import Lists
    from coterie.algorithms.kernels.tree import Nodes, children_touched, preorder, split

    n_records = start.size - 1
    place, size = preorder(tree.parent)
    record = np.repeat(np.arange(n_records), np.diff(start))
    has = Lists(start, place[concepts][np.lexsort((place[concepts], record))])
    children = Lists(tree.children[0], tree.children[1].astype(np.int64))
    nodes = Nodes(place, size, tree.leaves.astype(np.int64), children)
    done: list[tuple[Ints, Ints]] = []
    waiting = [(members, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)) for members in groups]
    while waiting:
        members, cut, closed = waiting.pop()
        node, group, cut, closed = split(members, cut, closed, least, has, nodes)
        if node < 0:
            done.append((members, cut))
            continue
        rest, others = members[group < 0], cut != node
        if rest.size:
            waiting.append((rest, cut, closed | ~others))
        for number in np.unique(group[group >= 0]):
            together = members[group == number]
            new = children_touched(together[0], node, has, nodes)
            closed_of_new = np.concatenate([closed[others], np.zeros(new.size, dtype=np.bool_)])
            waiting.append((together, np.concatenate([cut[others], new]), closed_of_new))
    done.sort(key=lambda each: int(each[0][0]))
    result = np.full(n_records, -1, dtype=np.int64)
    for number, (members, _) in enumerate(done):
        result[members] = number
    return result, [np.sort(cut % len(tree)) for _, cut in done]
