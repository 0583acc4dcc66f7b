"""Verify: one checker per promise, with code of its own.

It imports nothing from methods, apply, aggregate or affine_queries: what decided and what applied the decision must not
be what judges it. It looks at the released rows, and at the original where a promise cannot be seen in the release
alone; each check says which. Findings are counts, never values.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import polars as pl

from coterie import taxonomies
from coterie.log import Log
from coterie.promises import (
    Check,
    ConceptKAnonymity,
    KThetaAffinity,
    Promise,
    QueryKAnonymity,
    QueryPromise,
    Status,
    UserKAnonymity,
)
from coterie.recount import covered_by_all, proved, recount
from coterie.recount_concepts import generalized
from coterie.recount_topics import shared_by_all, users_with_topics
from coterie.shapes import Shape
from coterie.taxonomies import Taxonomy
from coterie.text import FUNCTION_LISTS, digest_of, name_of_topics, name_of_words

_NAME = r"^u_[a-z2-7]{16}$"
_PARTS: tuple[Callable[[pl.Expr], pl.Expr], ...] = (lambda h: h // 2**32, lambda h: h % 2**32)
_PAUSE = timedelta(minutes=30)
_DAY = 86_400_000_000  # microseconds
_ORIGINAL = "the original log (--original LOG)"
_RECORD = "the run record, as so many pairs are not compared (--record DIR)"
_OWN_LABELS = "the labels of the taxonomy, which are in the run record (--record DIR)"
_OWN_TOPICS = "the topics and who became whom, which are in the run record (--record DIR)"
_OWN_WORDS = "the function words, which are in the run record (--record DIR)"
_TAXONOMY = "the taxonomy's file, which the run record tells of (--record DIR)"
_SMALL_ITEMS, _SMALL_CROWDS = 2_000, 200_000  # released items, and their users, up to which all pairs are compared


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The checks of one verification and what follows from them."""

    promise: Promise
    checks: tuple[Check, ...]
    foreign: bool = False

    @property
    def sentence(self) -> str:
        """What was checked, in plain words; of foreign rows only the number is examined, not how it came about."""
        if self.foreign and isinstance(self.promise, QueryKAnonymity):
            return f"To be checked: every query in the file was issued by at least {self.promise.k} different users."
        if self.foreign and isinstance(self.promise, KThetaAffinity):
            return (
                f"To be checked: behind every query in the file and those with an affinity of at least "
                f"{self.promise.theta:g} to it are at least {self.promise.k} different users."
            )
        return self.promise.sentence

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.status == "failed")

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """The checks that could not be made with what was given."""
        return tuple(check for check in self.checks if check.status == "not checked")

    @property
    def promise_checked(self) -> bool:
        """Whether everything the promise rests on was checked."""
        return not any(check.carries_promise for check in self.unchecked)

    @property
    def largest_k(self) -> int | None:
        """The largest k that holds; None where it could not be found or nothing was released."""
        found = [check.largest_k for check in self.checks if check.largest_k is not None]
        return min(found) if found and self.promise_checked else None

    @property
    def exit_code(self) -> int:
        """0 the promise holds, 1 it is broken, 3 it could not be checked."""
        if self.broken:
            return 1
        return 0 if self.promise_checked else 3


def verify_rows(
    frame: pl.LazyFrame,
    shape: Shape,
    promise: Promise,
    original: Log | None = None,
    *,
    tables: Mapping[str, pl.LazyFrame] | None = None,
    foreign: bool = False,
) -> Verdict:
    """Check released rows; `foreign` rows were not made by Coterie and need not keep its house rules.

    Of the `tables` of a run record some are looked into. The `certificate` (item, by, user) says who covers whom; it
    saves a search and is not believed. `function_words` (word), `labels` (label), `topics` (topic, word) and the file
    that `taxonomy` (path) names are taken if they have the digest that was promised. `subjects` (original, released)
    says who got which name.
    """
    checks: list[Check] = []
    if not foreign:
        checks += [_columns(frame, shape)]
        if checks[0].status == "failed":
            return Verdict(promise=promise, checks=tuple(checks))
        checks += [_order(frame, shape), _names(frame, shape, promise)]
        checks += [_ids(frame, shape, original)]
    else:
        checks += [_foreign_details(shape, promise)]
    if isinstance(promise, QueryPromise):
        checks += _query_checks(frame, shape, promise, original, tables or {}, foreign)
    else:
        checks += _user_checks(frame, shape, promise, original, tables or {})
    return Verdict(promise=promise, checks=tuple(checks), foreign=foreign)


def _foreign_details(shape: Shape, promise: Promise) -> Check:
    """What is not looked at in rows that Coterie did not make."""
    if isinstance(promise, QueryPromise):
        others = [n for n in shape.released if n not in (shape.subject, shape.item)]
        detail = (
            f"the promise is about {shape.item} alone; nothing was looked for in {', '.join(others)} or other columns"
        )
    else:
        detail = f"only {', '.join(shape.released)} were compared; other columns of the file can tell people apart"
    return Check(name="details", status="not checked", detail=detail)


# --- house rules -------------------------------------------------------------------------------


def _columns(frame: pl.LazyFrame, shape: Shape) -> Check:
    found = dict(frame.collect_schema())
    expected = {name: shape.schema[name] for name in shape.released}
    wrong = len(set(found) ^ set(expected)) + sum(
        found[name] != dtype for name, dtype in expected.items() if name in found
    )
    if not wrong:
        required = [c.name for c in shape.columns if not c.nullable and c.name in expected]
        wrong = _count(frame.select(pl.sum_horizontal(pl.col(required).null_count())))
    detail = "exactly the released columns of the shape, with their types"
    return _check("columns", wrong, detail, unit="columns or values missing, in excess or of another type")


def _order(frame: pl.LazyFrame, shape: Shape) -> Check:
    """Each row is at least its predecessor, nulls first: nothing of the file order is left."""
    behind = pl.lit(False)
    for name in reversed(shape.order):
        now, before = pl.col(name), pl.col(name).shift(1)
        less = (now < before).fill_null(now.is_null() & before.is_not_null())
        behind = less | (now.eq_missing(before) & behind)
    # The first row has no predecessor.
    count = frame.select(behind.slice(1).sum()).collect(engine="streaming").item()
    return _check("order", count, "rows are sorted by released values only", unit="rows out of order")


def _names(frame: pl.LazyFrame, shape: Shape, promise: Promise) -> Check:
    subject = pl.col(shape.subject)
    users = promise.users if isinstance(promise, QueryPromise) else "pseudonym"
    if users == "drop":
        wrong = frame.select(subject.is_not_null().sum())
        detail = "no row says whose it is"
    else:
        wrong = frame.select((~subject.str.contains(_NAME)).sum())
        detail = "subjects have random names"
    return _check("names", wrong.collect(engine="streaming").item(), detail, unit="rows")


def _ids(frame: pl.LazyFrame, shape: Shape, original: Log | None) -> Check:
    detail = "no original subject is named in the release"
    if original is None:
        return _not_checked("ids", detail)
    subject = shape.subject
    names = frame.select(subject).drop_nulls().unique().collect(engine="streaming")
    found = original.frame.select(subject).join(names.lazy(), on=subject, how="semi").unique()
    count = _count(found.select(pl.len())) if names.height else 0
    return _check("ids", count, detail, unit="original subjects named", needs_original=True)


# --- promises about single queries ---------------------------------------------------------------------------


def _query_checks(
    frame: pl.LazyFrame,
    shape: Shape,
    promise: QueryPromise,
    original: Log | None,
    tables: Mapping[str, pl.LazyFrame],
    foreign: bool,
) -> Iterator[Check]:
    if isinstance(promise, KThetaAffinity):
        yield from _covers(frame, shape, promise, original, tables)
    elif isinstance(promise, ConceptKAnonymity):
        tree = taxonomies.promised(promise.taxonomy, tables)
        yield _concept_names(frame, shape, tree)
        became = None
        if original is not None and tree is not None:
            names = frame.select(shape.item).unique().collect(engine="streaming").to_series()
            became = generalized(original, tree, names, promise.paper_compat)
            # From here on the original is what it would be with its queries released as these concepts. Rows without
            # one stay: they are part of sessions.
            rows = original.frame.rename({shape.item: "item"}).join(became.lazy(), on="item", how="left")
            original = replace(original, frame=rows.rename({"concept": shape.item}).drop("item"))
        elif original is not None:
            original = None
        yield from _concepts(frame, shape, promise, original, became, needs=_ORIGINAL if tree else _TAXONOMY)
    else:
        yield from _crowds(frame, [shape.item], shape, promise, original, foreign)
    if not foreign and promise.users != "drop":
        yield _links(frame, shape, promise, original)
    if not foreign:
        yield _identifying(frame, shape)
        yield from _details(frame, shape, promise, original)


def _covers(
    frame: pl.LazyFrame,
    shape: Shape,
    promise: KThetaAffinity,
    original: Log | None,
    tables: Mapping[str, pl.LazyFrame],
) -> Iterator[Check]:
    """At least k users behind each released item and the released items affine to it, and no more rows than there."""
    item, k = shape.item, promise.k
    cover, detail = (
        f"cover.{item}",
        f"at least {k} users behind each released {item} and the released ones affine to it",
    )
    rows_name, invented = f"rows.{item}", f"no {item} has more rows than in the original"
    if original is None:
        yield _not_checked(cover, detail, carries_promise=True)
        yield _not_checked(rows_name, invented)
        return
    released = frame.select(item).drop_nulls().group_by(item).len("released")
    rows = original.frame.select(item, shape.subject).join(released, on=item, how="semi")
    sizes = _sizes(released, rows, [item], pl.col(shape.subject)).collect(engine="streaming").rename({item: "item"})
    more = sizes.filter(pl.col("released") > pl.col("rows")).height
    yield _check(rows_name, more, invented, unit=f"of {sizes.height:,} have invented rows", needs_original=True)
    if promise.strict:
        yield _words(sizes, promise, original, item)
    covered = sizes.select("item", pl.col("crowd").cast(pl.Int64).alias("covered"))
    function_words = _function_words(promise, tables.get("function_words"))
    certificate = tables.get("certificate")
    small = sizes.height <= _SMALL_ITEMS and sizes["crowd"].sum() <= _SMALL_CROWDS
    if (covered["covered"] >= k).all():
        how = ""
    elif function_words is None:
        yield _not_checked(cover, detail, carries_promise=True, needs=_OWN_WORDS)
        return
    elif small:
        found = recount(original, sizes, promise.min_users, promise.min_term_users, function_words)
        covered = covered_by_all(found, sizes, promise.theta)
        how = f" (concepts have {found.tau:,} users; all pairs compared)"
    elif certificate is not None:
        claims = certificate.select(pl.col("item", "by", "user").cast(pl.String)).collect(engine="streaming")
        named = pl.concat([claims["item"], claims["by"]]).unique().alias("item").to_frame()
        found = recount(original, named, promise.min_users, promise.min_term_users, function_words)
        covered = proved(found, claims, sizes, promise.theta, k)
        lines = f"{claims.height:,} lines of the certificate compared, for no larger k"
        how = f" (concepts have {found.tau:,} users; {lines})"
    else:
        yield _not_checked(cover, detail, carries_promise=True, needs=_RECORD)
        return
    broken = covered.filter(pl.col("covered") < k).height
    yield _check(
        cover,
        broken,
        f"{detail}{how}; {sizes.height:,} looked at",
        unit=f"of {sizes.height:,} have fewer",
        needs_original=True,
        carries_promise=True,
        largest_k=None if covered.is_empty() else int(covered["covered"].min()),  # type: ignore[arg-type]
    )


def _function_words(promise: KThetaAffinity, given: pl.LazyFrame | None) -> frozenset[str] | None:
    """The function words that the promise names; None where they have no name and were not given."""
    if promise.function_words in FUNCTION_LISTS:
        return FUNCTION_LISTS[promise.function_words]
    words = frozenset[str]() if given is None else frozenset(given.select("word").collect()["word"])
    return words if name_of_words(words) == promise.function_words else None


def _words(sizes: pl.DataFrame, promise: KThetaAffinity, original: Log, item: str) -> Check:
    # Which words have few users does not depend on function words.
    rare = recount(original, sizes, promise.min_users, promise.min_term_users, ()).rare.height
    detail = f"no released {item} has a word of fewer than {promise.min_term_users} users"
    unit = f"of {sizes.height:,} have"
    return _check(f"words.{item}", rare, detail, unit=unit, needs_original=True, carries_promise=True)


def _concept_names(frame: pl.LazyFrame, shape: Shape, tree: Taxonomy | None) -> Check:
    detail = f"every released {shape.item} is the name of a concept of the promised taxonomy"
    if tree is None:
        return _not_checked("items", detail, needs=_TAXONOMY)
    unknown = _strange(frame, shape, tree.names.rename(shape.item).to_frame().lazy())
    return _check("items", unknown, detail, unit="are not")


def _concepts(
    frame: pl.LazyFrame,
    shape: Shape,
    promise: ConceptKAnonymity,
    original: Log | None,
    became: pl.DataFrame | None,
    needs: str,
) -> Iterator[Check]:
    """At least k users, or queries, behind each released concept; and its rows are those of the queries it stands for.

    `original` has concepts in place of queries, `became` says which query is which.
    """
    item = shape.item
    meaning, same = f"meaning.{item}", "the rows of each concept are those of the queries that lead to it in the tree"
    if original is None or became is None:
        yield _not_checked(meaning, same, carries_promise=True, needs=needs)
    else:
        key = {"drop": [item], "common": [item, "time"], "keep": [item, "time", "rank", "url"]}[promise.attrs]
        rows = original.frame.select(key).drop_nulls(item)
        if promise.attrs == "common":
            rows = rows.with_columns(pl.col("time").dt.truncate("1d"))
        before, after = rows.group_by(key).len("before"), frame.select(key).group_by(key).len("after")
        both = before.join(after, on=key, how="full", nulls_equal=True, coalesce=True)
        other = both.filter(pl.col("before").ne_missing(pl.col("after"))).select(pl.col(item).n_unique())
        yield _check(meaning, _count(other), same, unit="differ", needs_original=True, carries_promise=True)
    if promise.size == "users":
        yield from _crowds(frame, [item], shape, promise, original)
        return
    crowd, detail = f"crowd.{item}", f"at least {promise.k} different queries behind each released concept"
    if became is None:
        yield _not_checked(crowd, detail, carries_promise=True, needs=needs)
        return
    released = frame.select(pl.col(item).alias("concept")).unique().collect(engine="streaming")
    sizes = released.join(became.group_by("concept").len("crowd"), on="concept", how="left").fill_null(0)
    yield _check(
        crowd,
        sizes.filter(pl.col("crowd") < promise.k).height,
        f"{detail}; {sizes.height:,} looked at",
        unit=f"of {sizes.height:,} have fewer",
        needs_original=True,
        carries_promise=True,
        largest_k=None if sizes.is_empty() else int(sizes["crowd"].min()),  # type: ignore[arg-type]
    )


def _crowds(
    frame: pl.LazyFrame,
    key: list[str],
    shape: Shape,
    promise: QueryPromise,
    original: Log | None,
    foreign: bool = False,
) -> Iterator[Check]:
    """At least k distinct subjects of the original behind each released key, and no more rows than there."""
    what = " and ".join(key)
    detail = f"at least {promise.k} users behind each released {what}"
    invented = f"no {what} has more rows than in the original"
    crowd_name, rows_name = (".".join((kind, *key)) for kind in ("crowd", "rows"))
    subject = pl.col(shape.subject)
    released = frame.select(key).drop_nulls().group_by(key).len("released")
    if original is not None:
        rows = original.frame.select(*key, subject).join(released, on=key, how="semi")
    else:
        rows = frame.select(*key, subject).drop_nulls()
        named = foreign or promise.users == "pseudonym"
        if not named or _count(rows.select(pl.len())) == 0 < _count(released.select(pl.len())):
            yield _not_checked(crowd_name, detail, carries_promise=True)
            yield _not_checked(rows_name, invented)
            return
        detail += " (counted by the names in the release)"
    sizes = _sizes(released, rows, key, subject)
    rare, excess = pl.col("crowd") < promise.k, pl.col("released") > pl.col("rows")
    numbers = sizes.select(
        pl.col("crowd").min().alias("smallest"), rare.sum().alias("rare"), excess.sum().alias("excess"), pl.len()
    )
    smallest, broken, more, total = numbers.collect(engine="streaming").row(0)
    unit = f"of {total:,} have fewer"
    if broken:
        exposed = rows.join(sizes.filter(rare).select(key), on=key, how="semi")
        unit += f", which concerns {_count(exposed.select(subject.drop_nulls().n_unique())):,} users"
    yield _check(
        crowd_name,
        broken,
        f"{detail}; {total:,} looked at",
        unit=unit,
        needs_original=original is not None,
        carries_promise=True,
        largest_k=None if smallest is None else int(smallest),
    )
    if original is None:
        yield _not_checked(rows_name, invented)
    else:
        yield _check(rows_name, more, invented, unit=f"of {total:,} have invented rows", needs_original=True)


def _sizes(released: pl.LazyFrame, rows: pl.LazyFrame, key: list[str], subject: pl.Expr) -> pl.LazyFrame:
    """Released rows of each key, and the users and rows it has among `rows`."""
    found = rows.group_by(key).agg(subject.drop_nulls().n_unique().alias("crowd"), pl.len().alias("rows"))
    return released.join(found, on=key, how="left").with_columns(pl.col("crowd", "rows").fill_null(0))


def _links(frame: pl.LazyFrame, shape: Shape, promise: QueryPromise, original: Log | None) -> Check:
    """What one name links in the release is what one session (or user) of the original had of the released items."""
    unit = "session" if promise.users == "session" else "user"
    detail = f"each name stands for one {unit} of the original"
    if original is None:
        return _not_checked("links", detail)
    kept = original.frame.join(frame.select(shape.item).unique(), on=shape.item, how="semi")
    if unit == "user":
        owners = kept.select(pl.col(shape.subject).alias("_owner"), shape.item)
    elif "session" in original.frame.collect_schema():
        owners = kept.select(pl.struct(shape.subject, "session").alias("_owner"), shape.item, shape.subject)
    else:
        numbered = original.frame.drop_nulls(shape.subject).select(shape.subject, "time", shape.item)
        numbered = numbered.sort(shape.subject, "time").with_columns(
            (
                (pl.col(shape.subject) != pl.col(shape.subject).shift(1))
                | (pl.col("time") - pl.col("time").shift(1) > _PAUSE)
            )
            .fill_null(False)
            .cum_sum()
            .alias("_owner")
        )
        owners = numbered.join(frame.select(shape.item).unique(), on=shape.item, how="semi")
    if shape.subject in owners.collect_schema():
        owners = owners.drop_nulls(shape.subject)
    seeds = [secrets.randbits(63) for _ in range(2)]
    before = (
        _multisets(owners.drop_nulls("_owner"), "_owner", [shape.item], seeds)
        .drop("_owner")
        .group_by(pl.all())
        .len("before")
    )
    names = frame.select(shape.subject, shape.item).drop_nulls()
    after = _multisets(names, shape.subject, [shape.item], seeds).drop(shape.subject).group_by(pl.all()).len("after")
    both = after.join(before, on=[c for c in before.collect_schema() if c != "before"], how="left")
    excess = (pl.col("after").cast(pl.Int64) - pl.col("before").fill_null(0).cast(pl.Int64)).clip(lower_bound=0)
    count = _count(both.select(excess.sum()))
    return _check("links", count, detail, unit="names do not", needs_original=True, carries_promise=True)


def _multisets(frame: pl.LazyFrame, owner: str, columns: Sequence[str], seeds: Sequence[int]) -> pl.LazyFrame:
    """One row for each owner: sums of two hashes under secret keys, which stand for the multiset of its rows."""
    hashes = [pl.struct(columns).hash(seed=seed).alias(f"h{i}") for i, seed in enumerate(seeds)]
    halves = [part(pl.col(h)).sum().alias(f"{h}{i}") for h in ("h0", "h1") for i, part in enumerate(_PARTS)]
    return frame.select(owner, *hashes).group_by(owner).agg(pl.len().alias("n"), *halves)


def _identifying(frame: pl.LazyFrame, shape: Shape) -> Check:
    names = shape.identifying
    given = [pl.col(name).is_not_null() for name in names] or [pl.lit(False)]
    count = frame.select(pl.any_horizontal(given).sum()).collect(engine="streaming").item()
    detail = f"columns that point at a person are empty ({', '.join(names) or 'this shape has none'})"
    return _check("identifying", count, detail, unit="rows with a value", carries_promise=True)


def _details(frame: pl.LazyFrame, shape: Shape, promise: QueryPromise, original: Log | None) -> Iterator[Check]:
    """What accompanies an item: shared by k users, or absent, as the promise says."""
    if promise.attrs == "keep":
        return
    item = shape.item
    if promise.attrs == "drop":
        others = [n for n in shape.released if n not in (shape.subject, item)]
        count = frame.select(
            pl.any_horizontal(pl.col(name).is_not_null() for name in others).sum()
        ).collect(engine="streaming").item()  # fmt: skip
        yield _check("details", count, "no detail accompanies a query", unit="rows with one")
        return
    inexact = (pl.col("time").cast(pl.Int64) % _DAY != 0).sum()
    count = frame.select(inexact).collect(engine="streaming").item()
    yield _check("times", count, "times are whole days", unit="rows with a time of day")
    for rider, detail in (*shape.riders, *zip(shape.details[1:], shape.details, strict=False)):
        alone = pl.col(rider).is_not_null() & pl.col(detail).is_null()
        yield _check(
            f"alone.{rider}", _count(frame.select(alone.sum())), f"{rider} only beside {detail}", unit="rows without"
        )
    key = [item]
    for detail in shape.details:
        key = [*key, detail]
        yield from _crowds(frame, key, shape, promise, original)


# --- user k-anonymity ----------------------------------------------------------------------------


def _user_checks(
    frame: pl.LazyFrame,
    shape: Shape,
    promise: UserKAnonymity,
    original: Log | None,
    tables: Mapping[str, pl.LazyFrame],
) -> Iterator[Check]:
    """Profiles are multisets of everything published under one name; each must have k owners."""
    subject = shape.subject
    yield _people(frame, shape, original)
    yield _labels(frame, shape, promise, tables.get("labels")) if promise.labels else _items(frame, shape, original)
    anonymous = frame.select(pl.col(subject).is_null().sum()).collect(engine="streaming").item()
    if anonymous:
        yield _check("profiles", anonymous, "every row has a name", unit="rows without", carries_promise=True)
        return
    others = [name for name in shape.released if name != subject]
    profiles = _multisets(frame, subject, others, [secrets.randbits(63) for _ in range(2)])
    if promise.topics:
        yield _topics(profiles, shape, promise, original, tables)
    crowds = profiles.drop(subject).group_by(pl.all()).len("crowd")
    smallest, broken, total = (
        crowds.select(
            pl.col("crowd").min().alias("smallest"),
            pl.col("crowd").filter(pl.col("crowd") < promise.k).sum().alias("broken"),
            pl.len().alias("total"),
        )
        .collect(engine="streaming")
        .row(0)
    )
    yield _check(
        "profiles",
        broken,
        f"each of {total:,} different profiles is shared by at least {promise.k} subjects",
        unit="subjects in smaller groups",
        carries_promise=True,
        largest_k=None if smallest is None else int(smallest),
    )


def _topics(
    profiles: pl.LazyFrame,
    shape: Shape,
    promise: UserKAnonymity,
    original: Log | None,
    tables: Mapping[str, pl.LazyFrame],
) -> Check:
    """Whether all users behind some profile have one sensitive topic."""
    detail = "no profile whose users all have one of the sensitive topics"
    if original is None:
        return _not_checked("topics", detail, carries_promise=True)
    topics = tables["topics"].collect() if "topics" in tables else None
    if topics is None or "subjects" not in tables or name_of_topics(topics) != promise.topics:
        return _not_checked("topics", detail, carries_promise=True, needs=_OWN_TOPICS)
    subject = shape.subject
    same = profiles.rename({subject: "released"}).group_by(pl.exclude("released")).agg("released")
    same = same.with_row_index("group").select("group", "released").explode("released")
    named = tables["subjects"].select(pl.col("original").alias("user"), "released")
    groups = named.join(same, on="released", how="left").select("user", "group").collect(engine="streaming")
    rows = original.frame.select(pl.col(subject).alias("user"), pl.col(shape.item).alias("query")).drop_nulls("user")
    shared = shared_by_all(users_with_topics(rows, topics), groups, promise.topic_share)
    return _check("topics", shared, detail, unit="there are", needs_original=True, carries_promise=True)


def _people(frame: pl.LazyFrame, shape: Shape, original: Log | None) -> Check:
    """Names count as users only where there are no more of them than users."""
    people = "no more names than users in the original"
    if original is None:
        return _not_checked("people", people)
    subject = pl.col(shape.subject)
    names, users = (_count(f.select(subject.drop_nulls().n_unique())) for f in (frame, original.frame))
    return _check("people", max(0, names - users), people, unit="names too many", needs_original=True)


def _items(frame: pl.LazyFrame, shape: Shape, original: Log | None) -> Check:
    items = f"every released {shape.item} is in the original"
    if original is None:
        return _not_checked("items", items)
    unknown = _strange(frame, shape, original.frame.select(shape.item).unique())
    return _check("items", unknown, items, unit="are not", needs_original=True)


def _labels(frame: pl.LazyFrame, shape: Shape, promise: UserKAnonymity, given: pl.LazyFrame | None) -> Check:
    """Labels in place of queries: those of the taxonomy that the promise names, and nothing else anywhere."""
    others = [name for name in shape.released if name not in (shape.subject, shape.item)]
    detail = f"every released {shape.item} is a label of the taxonomy, and {', '.join(others)} are empty"
    if promise.labels == taxonomies.WORDNET:
        tree = taxonomies.load(taxonomies.WORDNET)
        known = pl.concat([tree.labels.rename("label"), tree.names.rename("label")])
    else:
        known = pl.Series(dtype=pl.String) if given is None else given.select("label").collect()["label"]
        if digest_of(known) != promise.labels:
            return _not_checked("labels", detail, carries_promise=True, needs=_OWN_LABELS)
    strange = _strange(frame, shape, known.unique().alias(shape.item).to_frame().lazy())
    details = _count(frame.select(pl.any_horizontal(pl.col(name).is_not_null() for name in others).sum()))
    return _check("labels", strange + details, detail, unit="are not", carries_promise=True)


def _strange(frame: pl.LazyFrame, shape: Shape, known: pl.LazyFrame) -> int:
    """How many released items are not known."""
    return _count(frame.select(shape.item).unique().join(known, on=shape.item, how="anti").select(pl.len()))


# --- small helpers -------------------------------------------------------------------------------


def _count(one_number: pl.LazyFrame) -> int:
    return int(one_number.collect(engine="streaming").item())


def _check(
    name: str,
    broken: int,
    detail: str,
    *,
    unit: str,
    needs_original: bool = False,
    carries_promise: bool = False,
    largest_k: int | None = None,
) -> Check:
    status: Status = "failed" if broken else "passed"
    return Check(
        name=name,
        status=status,
        detail=f"{detail}: {broken:,} {unit}" if broken else detail,
        broken=int(broken),
        needs_original=needs_original,
        carries_promise=carries_promise,
        largest_k=largest_k,
    )


def _not_checked(name: str, detail: str, carries_promise: bool = False, needs: str = _ORIGINAL) -> Check:
    return Check(
        name=name,
        status="not checked",
        detail=f"{detail}: needs {needs}",
        needs_original=True,
        carries_promise=carries_promise,
    )
