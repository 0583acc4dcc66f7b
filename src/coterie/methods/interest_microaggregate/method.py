"""Give every user the same published profile as at least k - 1 others who are interested in the same things.

Paper: none; `docs/interests.md` explains the groups, `docs/phrases.md` the profiles, which are both our own. With
    `publish = queries` profiles and promise are those of `microaggregate` (Navarro-Arribas et al. 2012).
    LSA: S. Deerwester et al., "Indexing by latent semantic analysis", JASIS 41 (1990). Trees: S. Dasgupta and
    Y. Freund, "Random projection trees and low dimensional manifolds", STOC 2008. Diverse groups:
    A. Machanavajjhala et al., "l-diversity", TKDD 1 (2007).

Symbols: k = smallest size of a group; s = similarity of two users, the product of their vectors (`model.py`);
    C = the common profile of several users.

Promise: every released profile, that is everything published under one name, is shared by at least k users, and every
    phrase in it stands, word for word, in queries of at least m different users of the log (`phrase_users`). With
    `publish = queries` a profile is made of whole queries that members of the group typed. Users of one group have more
    in common than with others: anyone who knows that somebody is in a group learns more about their interests than from
    groups of other methods. With `sensitive` the users behind a profile never all have one of the listed topics; the
    judge counts that again from the original, and needs the run record for it. Rows without a user are not released.

Differs:
    - From `microaggregate` it differs in who is grouped with whom, in publishing phrases unless told otherwise, and in
      that with whole queries no member gives more than half of a profile (`max_share`): what is above is given to the
      others in proportion to their rows, and a profile is shorter only where they have too few. Times, with `attrs`
      other than drop, are cut to the month as there (`times`).
    - The papers compare users by the letters of their queries, which keeps hardly more meaning than random groups.
      Here users are similar if they have the same words, words that go together (LSA), or words of similar meaning
      (`embedding`), and a little less so if one has many more rows than the other. Hosts of clicked pages count as
      words, all of a user's together half as much as their words (`hosts`).
    - LSA compares users by the directions along which they differ most at three scales with equal weight: by the first
      quarter of `dimensions`, by the first half, and by all of them; none of fewer than 8 directions but all.
    - Groups are grown around the most similar pairs. Up to 1,200 users they are improved by exchanging two users at a
      time; above, among near neighbours that random-projection trees find.
    - All groups have k to 2k - 1 users, except those that had to be joined because of `sensitive`.
    - Stems and stop words are those of `language`, of English unless said. Text that is written without spaces is cut
      into pairs of letters in every language (`docs/languages.md`).
    - With `choice = herding` each member gives as many queries as in `microaggregate`, and those are chosen whose
      stems, strings and hosts together are nearest to those of the whole group (Chen, Welling and Smola, "Super-samples
      from kernel herding", UAI 2010). Groups with more than 17 million pairs of rows and chosen ones keep those of
      `microaggregate`.

Cost: near linear in rows and users: counting words, LSA on 50,000 users, and for each user the comparison with about
    800 others. Memory: the distinct queries, eight bytes for each query of each user, the matrix of users and words,
    460 bytes for each user and 200 for their neighbours. Figures are in `docs/benchmarks.md`.

Example:
    >>> import coterie, polars
    >>> typed = [("ann", "red roses"), ("bob", "rose garden roses"), ("cyd", "fast cars"), ("dan", "cars fast cars")]
    >>> log = coterie.log(polars.DataFrame(typed, schema=["user", "query"], orient="row"))
    >>> release = coterie.anonymize(log, InterestMicroaggregate(k=2), seed=7)
    >>> release.record.subjects.collect().group_by("group").agg("original").sort("original")["original"].to_list()
    [['ann', 'bob'], ['cyd', 'dan']]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl

from coterie.core import registry
from coterie.core.arrays import Ints
from coterie.core.log import Log
from coterie.core.params import Choice, File, Late, Range, With
from coterie.core.plan import Draft, Plan
from coterie.core.run import Run
from coterie.core.shapes import GROUPS
from coterie.core.threads import in_threads
from coterie.errors import InputError, InternalError, ParameterError
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.releasing.profiles import PHRASES, LargestShare, Publish, PublishesEvents, release_profiles
from coterie.text.language import ENGLISH, LanguageName, language
from coterie.text.words import name_of_topics

if TYPE_CHECKING:
    from coterie.methods.interest_microaggregate.model import Interests

NO_TOPICS = "none"
NO_EMBEDDING = "none"
_BY_INTERESTS = With("partition", "random", is_not=True)
_EMBEDDINGS = Choice(NO_EMBEDDING, *registry.names("embeddings"))


@dataclass(frozen=True, kw_only=True)
class InterestMicroaggregate(PublishesEvents):
    """Give every user the same published profile as at least k - 1 users with like interests."""

    k: Annotated[int, Range(2), Late(), "smallest number of users that share a released profile"] = 5
    embedding: Annotated[
        str,
        _EMBEDDINGS,
        "a model of what words mean, besides which words go together in the log",
    ] = NO_EMBEDDING
    language: Annotated[
        str,
        LanguageName(),
        "language of the log, whose stems and stop words tell which words users share",
    ] = ENGLISH
    dimensions: Annotated[
        int,
        Range(1, 512),
        _BY_INTERESTS,
        "directions of meaning that are learned from the log; users are compared by all, by half and by a quarter",
    ] = 128
    hosts: Annotated[
        str,
        Choice("auto", "off"),
        "hosts of clicked pages count as words, at half weight, where the log has them; or they do not",
    ] = "auto"
    size_weight: Annotated[
        float, Range(0, 1), _BY_INTERESTS, "how much users with unlike numbers of rows are kept apart"
    ] = 0.1
    publish: Publish = PHRASES
    attrs: Annotated[
        str,
        Choice("nearest", "same_string", "drop"),
        "times, ranks, hosts of queries: averaged over the nearest queries, over the same query, or none",
    ] = "drop"
    max_share: LargestShare = 0.5
    sensitive: Annotated[
        str,
        File(NO_TOPICS),
        "file of sensitive topics, one per line as 'name: word word'; no group shares one",
    ] = NO_TOPICS
    sensitive_share: Annotated[
        float,
        Range(0, 1),
        With("sensitive", NO_TOPICS, is_not=True),
        "topics that this share of all users have, or more, may be shared",
    ] = 0.5
    partition: Annotated[
        str,
        Choice("interests", "random"),
        "groups of like interests, or random ones to compare with",
    ] = "interests"

    shown: ClassVar[str] = (
        "k embedding language dimensions hosts size_weight publish phrase_users attrs times choice "
        "max_share sensitive sensitive_share partition"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partition == "random" and self.sensitive != NO_TOPICS:
            raise ParameterError("Random groups do not look at sensitive topics: leave out sensitive, or partition.")

    @property
    def _of_profiles(self) -> UserKAnonymity:
        """With `sensitive`: and no topic of the list that all k have."""
        profiles = super()._of_profiles
        if self.sensitive == NO_TOPICS:
            return profiles
        topics, spoken = name_of_topics(self._topics), language(self.language).name
        return replace(profiles, topics=topics, topic_share=self.sensitive_share, language=spoken)

    def baseline(self) -> InterestMicroaggregate | None:
        """The same with random groups, whatever is sensitive."""
        return None if self.partition == "random" else replace(self, partition="random", sensitive=NO_TOPICS)

    def learn(self, log: Log, run: Run) -> Interests | None:
        """Step 1: a vector of interests for each user; random groups need none."""
        from coterie.methods.interest_microaggregate.model import InterestSettings, interests

        if self.partition == "random":
            return None
        settings = InterestSettings(
            dimensions=self.dimensions,
            hosts=self.hosts == "auto",
            embedding=self.embedding,
            size_weight=self.size_weight,
            language=self.language,
        )
        return interests(log, run, settings)

    def plan(self, learnt: Interests | None, log: Log, run: Run) -> Plan:
        """Step 2: groups of users with similar vectors, then groups without a shared sensitive topic."""
        from coterie.algorithms.groups import numbered, random_groups
        from coterie.algorithms.kernels.grouping import similar_groups

        if learnt is None:
            return Plan(table=random_groups(log, run, self.k))
        seed = int(run.stream("trees of interests").integers(2**62))
        group = similar_groups(self.k, learnt.vectors, seed, in_threads)
        group, notes = self._guarded(group, learnt, log)
        columns = {"subject": learnt.users, "group": group}
        members = numbered(pl.DataFrame(columns, schema_overrides={"group": pl.UInt32}))
        return Plan(
            table=GROUPS.check(members.lazy()),
            evidence={} if self.sensitive == NO_TOPICS else {"topics": self._topics.lazy()},
            notes=notes,
        )

    def regroup(self, groups: pl.LazyFrame, learnt: Interests | None, log: Log, run: Run) -> Plan:
        """Step 2 on earlier groups: unions of similar ones, then unions without a shared sensitive topic."""
        from coterie.algorithms.groups import united
        from coterie.algorithms.kernels.grouping import similar_groups
        from coterie.methods.interest_microaggregate.model import group_vectors

        if learnt is None:
            return Plan(table=united(groups, self.k, run))

        def unite(least: int, members: pl.DataFrame) -> Ints:
            seed = int(run.stream("trees of groups").integers(2**62))
            vectors = group_vectors(learnt, members)
            return similar_groups(least, vectors, seed, in_threads)

        members = united(groups, self.k, run, unite)
        if self.sensitive == NO_TOPICS:
            return Plan(table=members)
        return Plan(table=self._guarded_unions(members, learnt, log), evidence={"topics": self._topics.lazy()})

    def release(self, log: Log, plan: Plan, run: Run) -> Draft:
        """Step 3: the common profile of each group, under a fresh name for each member."""
        return release_profiles(log, plan, run, self)

    def _guarded_unions(self, groups: pl.LazyFrame, learnt: Interests, log: Log) -> pl.LazyFrame:
        """Unions of groups that share no sensitive topic: nobody is exchanged, as groups have to stay together."""
        from coterie.algorithms.groups import numbered
        from coterie.methods.interest_microaggregate.kernels import joined, one_sided
        from coterie.methods.interest_microaggregate.model import places_of, read_topics, topic_owners

        members = groups.collect(engine="streaming")
        places = places_of(learnt, members["subject"])
        topics = read_topics(Path(self.sensitive), language(self.language))
        masks = topic_owners(log, learnt, topics, self.sensitive_share).masks[places]
        number = members["group"].to_numpy().astype(np.int64)
        union = joined(number, masks, learnt.vectors[places])
        if one_sided(union, masks).size:
            raise InputError(
                "All users of the groups that are to be used again share a sensitive topic, so no union of groups "
                "hides it. Make a release on groups of its own, or take the topic out."
            )
        return numbered(members.with_columns(pl.Series("group", union, dtype=pl.UInt32))).lazy()

    @property
    def _topics(self) -> pl.DataFrame:
        """topic, word: for the judge, who does not read the file."""
        from coterie.methods.interest_microaggregate.model import read_topics

        topics = enumerate(read_topics(Path(self.sensitive), language(self.language)))
        return pl.concat(
            pl.DataFrame({"word": words}).select(pl.lit(number).alias("topic"), "word") for number, words in topics
        )

    def _guarded(self, group: Ints, learnt: Interests, log: Log) -> tuple[Ints, tuple[str, ...]]:
        """Groups that share no sensitive topic, and what that cost."""
        from coterie.methods.interest_microaggregate.model import read_topics, topic_owners

        if self.sensitive == NO_TOPICS:
            return group, ()
        from coterie.methods.interest_microaggregate import kernels as diversity

        topics = read_topics(Path(self.sensitive), language(self.language))
        owners = topic_owners(log, learnt, topics, self.sensitive_share)
        mended = diversity.mend(group, owners.masks, learnt.vectors)
        if diversity.one_sided(mended, owners.masks).size or np.bincount(mended).min() < self.k:
            raise InternalError("A group shares a sensitive topic, or is too small, after it was mended.")
        before, after = (diversity.mean_similarity(each, learnt.vectors) for each in (group, mended))
        cost = (
            f"Sensitive topics: all members shared one in {diversity.one_sided(group, owners.masks).size:,} of "
            f"{group.max() + 1:,} groups, in none after users were exchanged or groups joined. Mean similarity within "
            f"groups: {before:.4f} before, {after:.4f} after."
        )
        if not owners.common and not owners.unknown:
            return mended, (cost,)
        return mended, (
            cost,
            f"Of {len(topics):,} sensitive topics {owners.common:,} may be shared, because {self.sensitive_share:.0%} "
            f"of all users or more have them, and nobody has {owners.unknown:,}.",
        )
