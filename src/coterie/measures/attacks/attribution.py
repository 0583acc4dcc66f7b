"""Attribution: somebody who knows a few queries of a person tells which others in the common profile are theirs.

A promise of k users behind each profile bounds how surely a person is given a name (`linkage`). It does not bound what
is learnt about them: strings of a profile that one member alone typed can often be told apart. The adversary

    1. knows 1, 2 or 5 distinct queries of a person, drawn at random, or half of them (never more than half, so that
       something is left to learn); with `days`, also on which days they were typed;
    2. finds the group: the profile that fits best by known queries, by their words or by their stems, weighted as in
       `linkage`; which of these scores is used was found out on other people;
    3. ranks the other strings of that profile by a logistic model, and guesses the first (among equals, any of them).
       The model looks at stems that the string shares with known queries (rare ones of the profile weigh more), how
       many profiles have it, how often it stands there, its length and, with `days`, whether it stands on a day that
       is known. It was fitted on the other half of the people: whoever attacks may rehearse on those whose answers
       are known.

Strings that are known, that stand in a known query or that hold one are no guesses. A guess is right if the person
typed it, or a longer query in which it stands word for word; where no guess is left, that is a failure.

    after.five_queries             users for whom the first guess is right; `before`: the same on the original under
                                   other names, where each person is a group
    after.five_queries.found       users whose group is found
    after.five_queries.chance      right by a random guess among the strings of that profile
    after.five_queries.novel       right, if only strings may be guessed that share no stem with what is known
    after.five_queries.specific    the same, if besides 2 % of the users at most (or one of them) have the string
    given                          the same if the group is told; its control, absent, is the same attack on the profile
                                   of the group without the person. Also before., after., released. (measures/rates.py)
    excess                         given - absent: what it costs a person to be in the log; also `.novel`, `.specific`
    excess.random                  the same difference for a random string of the profile
    bound                          100 / k, to compare with: it bounds none of these figures

The profile without the person is made from the run record and the original, not by running the method again: strings
that no other member has leave it, strings that others have too stand there less often in proportion, and the gap is
filled with further strings of the other members, drawn in proportion to how often they typed them. Where profiles hold
parts of queries, the queries of the others are cut into released strings, and their mean shares fill the profile. Who
is in the group stays as it was.

Population: users with two distinct queries or more, up to 1,000 drawn by the seed from the original, one draw of known
queries each; one who is in no group is a failure in `after.given`, and in no other figure. Intervals are of 95 % over
users. `2 % of the users` is counted among up to 5,000. An adversary with vectors of words,
or with other knowledge of a person, finds more. It is about releases of common profiles; others have no groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core.scores import Glance, Score
from coterie.measures import learning
from coterie.measures.attacks import bound
from coterie.measures.attacks._profiles import (
    FIVE,
    KNOWLEDGE,
    PARTS,
    Known,
    Profiles,
    cut_into,
    difference,
    draw_known,
    everybody_alone,
    find_groups,
    having,
    log1p,
    parts_of,
    profiles_of,
    weighted,
)
from coterie.measures.comparison import Comparison
from coterie.measures.rates import Rate, Shares, figures_in, mean, sentences, titled
from coterie.measures.subjects import keyed
from coterie.text.language import language_in

needs = frozenset({"record", "text"})
effort = 8
ATTACKED = 1_000
_UNIT = "% of users"
COUNTED = 5_000
"""Users among whom it is counted how many have a string."""
SPECIFIC = 0.02
_DIGITS = 9  # of a score, so that equal strings are equally likely
KINDS = ("all", "novel", "specific")
DAYS = "days."
ADVERSARIES = ("", DAYS)
"""What the keys of their scores begin with; the second one also knows on which days queries were typed."""
GIVEN = {
    also: Rate(
        f"{also}given",
        unit=_UNIT,
        risk="inference",
        attacker=f"somebody who knows five queries of a person{days}, and the person's group, names a further one",
        control="the same on the profile of the group without the person",
    )
    for also, days in zip(ADVERSARIES, ("", ", on which days they were typed"), strict=True)
}
SHOWN = {
    "after.one_query": titled(
        "A further query attributed, knowing one",
        "Users of whom somebody who knows one query names a further one in the profile of their group, and is right. "
        "In brackets the 95% interval. One in k does not bound it.",
        beside=(("chance", "after.one_query.chance"),),
    ),
    "after.five_queries": titled(
        "A further query attributed, knowing five",
        "The same for somebody who knows five.",
        beside=(("chance", "after.five_queries.chance"), ("control", "absent")),
    ),
    "after.half": titled(
        "A further query attributed, knowing half",
        "The same for somebody who knows half of their queries.",
        beside=(("chance", "after.half.chance"),),
    ),
    "after.five_queries.novel": titled(
        "One that has nothing in common with the five",
        "The same for guesses that share no word with what is known.",
        beside=(("control", "absent.novel"),),
    ),
    "excess": titled(
        "Attribution excess",
        "What it costs a person to be in the log: how much more often such a guess is right, with five known queries "
        "and the group told, than on the same profile made without the person. Compare it with the line below.",
        before="before.given",
        beside=(("chance", "excess.random"),),
        glance=Glance(
            axis="attribution excess",
            reading="A smaller attribution excess is safer: it is what a person's own rows add to a guess.",
        ),
    ),
    "excess.random": titled(
        "Attribution excess of a random guess",
        "The same for a guess at random among the strings of the profile.",
    ),
}
figures = figures_in("attacks", 40, SHOWN)
weighed = tuple(rate.weighed for rate in GIVEN.values())
_EXCESS, *_OTHERS = sentences(
    "inference",
    "Attribution excess {excess}: somebody who knows five queries of a person, and the person's group, names a further "
    "one correctly that much more often than from the same profile without the person's rows.",
    "With the person such a guess is right in {given} of cases, without in {absent}; a guess at random among the "
    "strings of the profile gains {excess.random}.",
    "Whoever has to find the group first is right in {after.five_queries} of cases, and in {after.five_queries.novel} "
    "if the guess must have no word in common with what was known.",
)
findings = (replace(_EXCESS, headline=True), *_OTHERS)


def measure(comparison: Comparison) -> Iterator[Score]:
    """How often guesses are right, in the original and in the release, and how much of it the person's rows add."""
    profiles = profiles_of(comparison)
    known = draw_known(profiles, comparison.seed, ATTACKED)
    yield Score("users", known.n, "users attacked")
    yield from bound(comparison.release)
    before = _before(comparison)
    dated = not profiles.days.is_empty()
    attack = Attack(profiles, known, comparison.seed, absent=True)
    after = attack.outcomes(ADVERSARIES if dated else ADVERSARIES[:1])
    for prefix in ADVERSARIES:
        yield from before[prefix]
        if prefix not in after:
            yield Score(f"{prefix}excess", None, "does not apply: no times in the release")
            return
        outcomes = after[prefix]
        yield from _successes(f"{prefix}after", outcomes)
        given, absent = (outcomes[place, FIVE, "all"] for place in ("given", "absent"))
        shares = Shares.among(known.users["user"], given, absent, failed=known.groupless)
        yield from GIVEN[prefix].scores("after", shares)
        yield from _excess(prefix, outcomes)


def _before(comparison: Comparison) -> dict[str, list[Score]]:
    """How often guesses are right in the original; worked out once for all releases of a log that are compared."""

    def attack() -> dict[str, list[Score]]:
        alone = everybody_alone(comparison)
        known = draw_known(alone, comparison.seed, ATTACKED)
        outcomes = Attack(alone, known, comparison.seed).outcomes(ADVERSARIES)
        # Nothing is left of a group without the person, so without them nobody would guess anything.
        scores = {}
        for prefix, each in outcomes.items():
            given = Shares.among(known.users["user"], each["given", FIVE, "all"], np.zeros(known.n), known.groupless)
            scores[prefix] = [*_successes(f"{prefix}before", each), *GIVEN[prefix].scores("before", given)]
        return scores

    return comparison.of_log((__name__, comparison.seed, language_in(comparison.release.params)), attack)


def _successes(moment: str, outcomes: Outcomes) -> Iterator[Score]:
    for key in KNOWLEDGE:
        yield from mean(f"{moment}.{key}", outcomes["found", key, "all"], _UNIT)
        yield from mean(f"{moment}.{key}.found", outcomes["group", key, "all"], _UNIT)
        yield from mean(f"{moment}.{key}.chance", outcomes["found", key, "random"], _UNIT)
        for kind in KINDS[1:]:
            yield from mean(f"{moment}.{key}.{kind}", outcomes["found", key, kind], _UNIT)


def _excess(prefix: str, outcomes: Outcomes) -> Iterator[Score]:
    for kind in (*KINDS, "random"):
        end = "" if kind == "all" else f".{kind}"
        given, absent = (outcomes[place, FIVE, kind] for place in ("given", "absent"))
        yield from mean(f"{prefix}given{end}", given, _UNIT)
        yield from mean(f"{prefix}absent{end}", absent, _UNIT)
        yield from difference(f"{prefix}excess{end}", given - absent)


Outcomes = dict[tuple[str, str, str], NDArray[np.float64]]
"""place, knowledge, kind -> how right each user's guess is."""


# --- the attack ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Attack:
    """Adversaries, with and without days, against some users of some profiles; what they see is made once."""

    profiles: Profiles
    known: Known
    seed: int
    absent: bool = False
    """Whether profiles without the person are attacked as well."""

    def outcomes(self, adversaries: Sequence[str]) -> dict[str, Outcomes]:
        """How right the guesses of each of them about each user are."""
        users = self.known.users
        own = users["group"].to_numpy().astype(np.int64)
        found = {each: find_groups(self.profiles, self.known, list(KNOWLEDGE), bool(each)) for each in adversaries}
        looked_at = [groups for by_key in found.values() for groups in by_key.values()]
        seen = pl.Series("group", np.concatenate([own, *looked_at]), pl.UInt32).unique()
        rows = self.profiles.rows.join(seen.to_frame(), on="group", how="semi").select(
            pl.col("group").cast(pl.Int64).alias("profile"), "item", pl.col("n").cast(pl.Float64)
        )
        days = self.profiles.days.select(pl.col("group").cast(pl.Int64).alias("profile"), "item", "day")
        relations = _Relations.of(self.profiles, self.known, rows)
        if self.absent:
            without, without_days = _without(self.profiles, self.known, relations, self.seed)
            rows, days = pl.concat([rows, without]), pl.concat([days, without_days])
        view = _View.of(self.profiles, rows, days if DAYS in adversaries else days.clear())
        outcomes: dict[str, Outcomes] = {each: {} for each in adversaries}
        for key in KNOWLEDGE:
            known, tables = self.known.by(key), dict[bytes, pl.DataFrame]()
            for adversary in adversaries:
                groups = found[adversary][key]
                places = {"found": groups, "given": own}
                if self.absent and key == FIVE:
                    places["absent"] = -1 - np.arange(users.height)
                for place in places.values():  # many are the same for all adversaries
                    if place.tobytes() not in tables:
                        tables[place.tobytes()] = self._candidates(known, place, view, relations)
                seen_there = {
                    name: self._with_days(tables[place.tobytes()], known, place, view if adversary == DAYS else None)
                    for name, place in places.items()
                }
                outcomes[adversary]["group", key, "all"] = (groups == own).astype(float)
                outcomes[adversary] |= self._guesses(key, seen_there)
        return outcomes

    def _guesses(self, key: str, tables: dict[str, pl.DataFrame]) -> Outcomes:
        """Fit the model where the group is given, on one half of the users, and let it guess about the other half."""
        rehearsal, models = tables["given"], []
        for fold in (0, 1):
            other = rehearsal.filter(pl.col("fold") != fold)
            models.append(learning.fit(_columns(other), other["theirs"].to_numpy().astype(float)))
        guesses: Outcomes = {}
        for name, table in tables.items():
            scores = np.zeros(table.height)
            for fold, model in enumerate(models):
                here = (table["fold"] == fold).to_numpy()
                scores[here] = learning.weighed(_columns(table.filter(pl.col("fold") == fold)), model)
            judged = table.select("id", "theirs", "novel", "specific", pl.Series("score", np.round(scores, _DIGITS)))
            for kind, eligible in zip(KINDS, (pl.lit(True), pl.col("novel"), pl.col("specific")), strict=True):
                guesses[name, key, kind] = self._by_user(judged.filter(eligible), first=True)
            guesses[name, key, "random"] = self._by_user(judged, first=False)
        return guesses

    def _by_user(self, judged: pl.DataFrame, first: bool) -> NDArray[np.float64]:
        """The share of right ones among the strings with the best score, or among all; 0 where there are none."""
        best = judged.filter(pl.col("score") == pl.col("score").max().over("id")) if first else judged
        means = best.group_by("id").agg((pl.col("theirs").sum() / pl.len()).alias("right"))
        users = self.known.users.select("id").join(means, on="id", how="left", maintain_order="left")
        return users["right"].fill_null(0.0).to_numpy()

    def _candidates(
        self, known: pl.DataFrame, place: NDArray[np.int64], view: _View, relations: _Relations
    ) -> pl.DataFrame:
        """Strings that may be guessed, with what the model looks at, and whether they are right."""
        users, pair = self._users_at(place), ["id", "item"]
        hints = known.join(relations.related, on="item").select("id", item="other").unique()
        theirs = relations.theirs.with_columns(theirs=pl.lit(True))
        table = users.join(view.strings, on="profile").join(hints, on=pair, how="anti")
        table = table.join(theirs, on=["user", "item"], how="left")
        stems = known.join(view.stems, on="item").select("id", "stem").unique()
        shared = users.select("id", "profile").join(stems, on="id").join(view.weights, on=["profile", "stem"])
        shared = shared.group_by(*pair).agg(
            pl.col("weight").sum().alias("shared"),
            pl.col("weight").max().alias("best"),
            pl.col("rarity").sum().alias("shared_rarity"),
            pl.col("rarity").max().alias("best_rarity"),
        )
        table = table.join(shared, on=pair, how="left")
        table = table.with_columns(
            pl.col("shared", "best", "shared_rarity", "best_rarity").fill_null(0), pl.col("theirs").fill_null(False)
        )
        novel = pl.col("shared") == 0
        rare = pl.col("item").is_in(relations.specific.implode())
        return table.with_columns(novel=novel, specific=novel & rare).sort(*pair)

    def _with_days(
        self, table: pl.DataFrame, known: pl.DataFrame, place: NDArray[np.int64], view: _View | None
    ) -> pl.DataFrame:
        """Candidates with what the days tell of each; nothing for somebody who does not know the days."""
        if view is None:
            return table.with_columns(day_weight=pl.lit(0))
        users, pair = self._users_at(place), ["id", "item"]
        on = self.profiles.typed_days.join(users, on="user").join(known, on=pair, how="semi")
        on = on.select("id", "profile", "day").unique().join(view.days, on=["profile", "day"])
        weights = on.group_by(*pair).agg(pl.col("day_weight").max())
        return table.join(weights, on=pair, how="left", maintain_order="left").with_columns(
            pl.col("day_weight").fill_null(0)
        )

    def _users_at(self, place: NDArray[np.int64]) -> pl.DataFrame:
        """id, user, fold, and the profile in which each is looked for."""
        return self.known.users.select("id", "user", "fold").with_columns(pl.Series("profile", place, pl.Int64))


@dataclass(frozen=True, eq=False, repr=False)
class _View:
    """What an adversary sees of profiles."""

    strings: pl.DataFrame
    """profile, item, n, rare, length, total: of a string, the profiles that have it and the weight of its stems."""
    stems: pl.DataFrame
    """item, stem."""
    weights: pl.DataFrame
    """profile, stem, item, weight: ln(1 + strings of the profile / those with the stem), in millionths."""
    days: pl.DataFrame
    """profile, item, day, day_weight: the same for days."""

    @classmethod
    def of(cls, profiles: Profiles, rows: pl.DataFrame, days: pl.DataFrame) -> _View:
        """`rows`: profile, item, n. `days`: profile, item, day."""
        stems = profiles.stems
        sizes = rows.group_by("profile").len("strings")
        in_profiles = rows.select("profile", "item").join(stems, on="item")
        having = in_profiles.group_by("profile", "stem").len("having").join(sizes, on="profile")
        weights = in_profiles.join(weighted(having, "weight"), on=["profile", "stem"])
        spread = profiles.rows.select("group", "item").join(stems, on="item").select("group", "stem").unique()
        spread = spread.group_by("stem").len("having").with_columns(strings=pl.lit(profiles.groups))
        weights = weights.join(weighted(spread, "rarity"), on="stem", how="left")
        totals = weights.group_by("profile", "item").agg(
            pl.col("weight").sum().alias("total"), pl.len().alias("length")
        )
        groups = profiles.rows.group_by("item").len("groups")
        strings = rows.join(totals, on=["profile", "item"], how="left").join(groups, on="item", how="left")
        rarity = log1p(strings.select(profiles.groups / pl.col("groups").fill_null(1)).to_series())
        often = log1p(strings["n"])
        strings = strings.with_columns(
            pl.col("total", "length").fill_null(0), pl.Series("rare", rarity), pl.Series("often", often)
        )
        on_day = days.join(rows, on=["profile", "item"], how="semi")
        of_day = on_day.group_by("profile", "day").len("having").join(sizes, on="profile")
        dated = on_day.join(weighted(of_day, "day_weight"), on=["profile", "day"])
        return cls(strings.drop("n", "groups"), stems, weights, dated)


@dataclass(frozen=True, eq=False, repr=False)
class _Relations:
    """Who has which string, and which strings stand in which."""

    theirs: pl.DataFrame
    """user, item, n: strings of the profiles that stand in what attacked users and members of their groups typed."""
    related: pl.DataFrame
    """item, other: known queries and the strings that stand in them, or in which they stand."""
    specific: pl.Series
    """Strings that few users have."""

    @classmethod
    def of(cls, profiles: Profiles, known: Known, rows: pl.DataFrame) -> _Relations:
        """`rows`: the profiles that are looked at (profile, item, n)."""
        users = profiles.typed.select("user").unique().sort("user")
        grouped = profiles.members.join(known.users.select("group").unique(), on="group", how="semi").select("user")
        counted = _some(users, known.users.select("user"), COUNTED)
        people = pl.concat([grouped, counted]).unique()
        typed = profiles.typed.join(people, on="user", how="semi")
        # Strings that the members of a group typed may come into its profile when a person is left out.
        inside = typed.join(grouped, on="user", how="semi").select("item")
        released = profiles.strings(pl.concat([rows.select("item"), inside]))
        stands = parts_of(released, profiles.strings(typed))
        within = stands.join(known.queries, left_on="whole", right_on="item", how="semi")
        theirs = having(typed, stands)
        few = max(1.0, SPECIFIC * counted.height)
        having_it = theirs.join(counted, on="user", how="semi").group_by("item").len("users")
        many = having_it.filter(pl.col("users") > few)["item"]
        return cls(
            theirs=theirs,
            related=profiles.related(known.queries, within, released).unique(),
            specific=released.filter(~pl.col("item").is_in(many.implode()))["item"],
        )


def _some(users: pl.DataFrame, attacked: pl.DataFrame, most: int) -> pl.DataFrame:
    """Up to `most` users, the attacked ones (a random sample) first."""
    others = users.join(attacked, on="user", how="anti") if users.height > most else users
    return others if users.height <= most else pl.concat([attacked, others.head(most - attacked.height)])


# --- profiles without the person -----------------------------------------------------------------


def _without(profiles: Profiles, known: Known, relations: _Relations, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(profile, item, n) and (profile, item, day) of each attacked user's group without the user: profile = -1 - id."""
    users = known.users.select("id", "user", "group").with_columns(profile=-1 - pl.col("id").cast(pl.Int64))
    others = users.select("profile", "user", "group").join(profiles.members.rename({"user": "other"}), on="group")
    others = others.filter(pl.col("other") != pl.col("user")).select("profile", "group", "user", "other")
    typed = profiles.typed.join(profiles.members, on="user")
    if profiles.rows.join(typed, on=["group", "item"], how="anti").height:
        return _parts_without(profiles, others, relations, seed), profiles.days.clear().select(
            pl.lit(0, pl.Int64).alias("profile"), "item", "day"
        )
    own = relations.theirs.rename({"n": "own"})
    by_group = relations.theirs.join(profiles.members, on="user").group_by("group", "item").agg(total=pl.col("n").sum())
    rows = users.join(profiles.rows, on="group").join(by_group, on=["group", "item"], how="left")
    rows = rows.join(own, on=["user", "item"], how="left").with_columns(pl.col("own", "total").fill_null(0))
    part = pl.when(pl.col("own") > 0).then(1 - pl.col("own") / pl.col("total")).otherwise(1.0)
    rows = rows.with_columns(left=pl.col("n") * part).sort("profile", "item")
    kept = rows.filter(pl.col("left") > 0).select("profile", "item", n="left")
    gaps = rows.group_by("profile", maintain_order=True).agg(
        (pl.col("n") - pl.col("left")).sum().round(6).ceil().cast(pl.Int64).alias("gap")
    )
    refill = others.join(typed, left_on=["group", "other"], right_on=["group", "user"])
    refill = refill.join(profiles.rows, on=["group", "item"], how="anti")
    drawn = _drawn(refill, gaps, profiles, seed)
    days = _days_without(profiles, users, others, kept, drawn)
    return pl.concat([kept, drawn.select("profile", "item", n=pl.lit(1.0))]), days


def _parts_without(
    profiles: Profiles, others: pl.DataFrame, relations: _Relations, seed: int
) -> pl.DataFrame:  # fmt: skip
    """profile, item, n: where profiles are made of parts of queries, what the others' queries can be cut into.

    Mean shares of the other members, as many rows as these have parts on average, filled by largest remainders; parts
    that without the person too few users would have are left out.
    """
    released = profiles.rows.select("item").unique()
    users = relations.theirs.group_by("item").agg(pl.len().alias("users"))
    parts = profiles.texts.join(released, on="item", how="semi").join(users, on="item").sort("item")
    wholes = profiles.texts.join(profiles.typed.select("item").unique(), on="item", how="semi")
    cut = cut_into(parts, wholes).rename({"n": "copies"})
    theirs = profiles.typed.join(cut, left_on="item", right_on="whole").select(
        "user", item="part", n=pl.col("n") * pl.col("copies")
    )
    theirs = theirs.group_by("user", "item").agg(pl.col("n").sum())
    theirs = theirs.with_columns((pl.col("n") / pl.col("n").sum().over("user")).alias("share"))
    rare = parts.filter(pl.col("users") <= profiles.least_users).select("item")
    lost = relations.theirs.join(rare, on="item", how="semi").select("user", "item")
    shares = others.join(theirs, left_on="other", right_on="user")
    shares = shares.join(lost, on=["user", "item"], how="anti").sort("profile", "item", "other")
    sizes = shares.group_by("profile").agg(pl.col("n").sum().alias("rows"), pl.col("other").n_unique().alias("giving"))
    means = shares.group_by("profile", "item", maintain_order=True).agg(pl.col("share").sum()).join(sizes, on="profile")
    wanted = pl.col("share") / pl.col("share").sum().over("profile") * pl.col("rows") / pl.col("giving")
    means = means.with_columns(wanted.alias("wanted")).with_columns(pl.col("wanted").floor().alias("n"))
    means = keyed(means.join(profiles.texts, on="item"), seed, "profiles without a person", "profile", "text")
    means = means.with_columns(
        (pl.col("wanted") - pl.col("n")).round(6).alias("rest"),
        (pl.col("wanted").sum().round() - pl.col("n").sum()).over("profile").alias("left"),
    )
    means = means.sort("profile", "rest", "drawn", descending=[False, True, False])
    more = pl.int_range(pl.len()).over("profile") < pl.col("left")
    return means.with_columns(n=pl.col("n") + more).filter(pl.col("n") > 0).select("profile", "item", "n")


def _drawn(refill: pl.DataFrame, gaps: pl.DataFrame, profiles: Profiles, seed: int) -> pl.DataFrame:
    """profile, item: strings that fill the gaps, drawn without replacement in proportion to n."""
    choices = refill.group_by("profile", "item").agg(pl.col("n").sum()).join(gaps, on="profile")
    choices = choices.filter(pl.col("gap") > 0).join(profiles.texts, on="item").sort("profile", "item")
    choices = keyed(choices, seed, "profiles without a person", "profile", "text")
    uniform = (choices["drawn"].to_numpy().astype(np.float64) + 1) / 2.0**64
    waiting = -np.log(np.minimum(uniform, 1.0)) / choices["n"].to_numpy()  # the first to come are the sample
    ordered = choices.with_columns(pl.Series("waiting", waiting)).sort("profile", "waiting", "item")
    place = pl.int_range(pl.len()).over("profile")
    return ordered.filter(place < pl.col("gap")).select("profile", "item")


def _days_without(
    profiles: Profiles, users: pl.DataFrame, others: pl.DataFrame, kept: pl.DataFrame, drawn: pl.DataFrame
) -> pl.DataFrame:
    """profile, item, day: those of strings that stayed, unless they were the person's alone, and of those that came."""
    key = ["profile", "item", "day"]
    stayed = users.select("profile", "user", "group").join(profiles.days, on="group")
    stayed = stayed.join(kept, on=["profile", "item"], how="semi")
    by_others = others.join(profiles.typed_days, left_on="other", right_on="user")
    alone = stayed.join(profiles.typed_days, on=["user", "item", "day"], how="semi").join(by_others, on=key, how="anti")
    stayed = stayed.join(alone, on=key, how="anti").select(key)
    return pl.concat([stayed, by_others.join(drawn, on=["profile", "item"], how="semi").select(key).unique()])


# --- the model -------------------------------------------------------------------------------------


def _columns(table: pl.DataFrame) -> NDArray[np.float64]:
    """What the model looks at, one line for each feature."""
    weights = ("total", "shared", "best", "shared_rarity", "best_rarity", "day_weight")
    total, shared, best, *rarities, day = (table[name].to_numpy() / PARTS for name in weights)
    others = (table[name].to_numpy() for name in ("rare", "often", "length"))
    part = shared / np.maximum(total, 1e-9)
    return np.stack([np.ones(table.height), shared, part, best, shared > 0, *rarities, *others, day])
